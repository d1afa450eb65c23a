package check

import (
	"fmt"
	"math/big"
	"testing"

	"bilevelc/ir/elab"
	"pgregory.net/rapid"
)

// A random polynomial by the operations, and the same computed on numbers.
type sample struct {
	poly  *poly
	value *big.Rat
}

func drawPoly(t *rapid.T, atoms []*atom, at map[*atom]int64) sample {
	out := sample{constPoly(1), big.NewRat(1, 1)}
	for range rapid.IntRange(1, 5).Draw(t, "operations") {
		var other sample
		if rapid.Bool().Draw(t, "atom") {
			a := rapid.SampledFrom(atoms).Draw(t, "which")
			other = sample{atomPoly(a), big.NewRat(at[a], 1)}
		} else {
			k := rapid.Int64Range(-4, 4).Draw(t, "number")
			other = sample{constPoly(k), big.NewRat(k, 1)}
		}
		switch rapid.IntRange(0, 3).Draw(t, "operation") {
		case 0:
			out = sample{out.poly.add(other.poly), new(big.Rat).Add(out.value, other.value)}
		case 1:
			out = sample{out.poly.sub(other.poly), new(big.Rat).Sub(out.value, other.value)}
		case 2:
			out = sample{out.poly.mul(other.poly), new(big.Rat).Mul(out.value, other.value)}
		case 3:
			out = sample{out.poly.scale(big.NewRat(1, 3)), new(big.Rat).Mul(out.value, big.NewRat(1, 3))}
		}
	}
	return out
}

// Polynomials compute as numbers do: replacing the atoms by numbers, one
// after the other, gives the number that the operations give; and those that
// are equal in normal form are equal as numbers.
func TestPolyComputes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var atoms []*atom
		at := map[*atom]int64{}
		for i := range 3 {
			a := &atom{id: i, name: fmt.Sprintf("n%d", i)}
			atoms = append(atoms, a)
			at[a] = rapid.Int64Range(-5, 5).Draw(t, "value")
		}
		p, q := drawPoly(t, atoms, at), drawPoly(t, atoms, at)
		for _, s := range []sample{p, q} {
			r := s.poly
			for _, a := range atoms {
				r = r.substitute(a, constPoly(at[a]))
			}
			if v, ok := r.constant(); !ok || v.Cmp(s.value) != 0 {
				t.Fatalf("%s at %v is %s, not %s", s.poly, at, r, s.value.RatString())
			}
		}
		if p.poly.key() == q.poly.key() && p.value.Cmp(q.value) != 0 {
			t.Fatalf("%s and %s have one key, but are %s and %s", p.poly, q.poly, p.value, q.value)
		}
		if pq, qp := p.poly.add(q.poly), q.poly.add(p.poly); pq.key() != qp.key() || compare(pq, qp) != elab.Agree {
			t.Fatalf("%s + %s depends on the order", p.poly, q.poly)
		}
		if pq, qp := p.poly.mul(q.poly), q.poly.mul(p.poly); pq.key() != qp.key() {
			t.Fatalf("%s * %s depends on the order", p.poly, q.poly)
		}
	})
}

func TestPolyText(t *testing.T) {
	n, m := atomPoly(&atom{id: 1, name: "n"}), atomPoly(&atom{id: 2, name: "m"})
	for _, c := range []struct {
		p    *poly
		want string
	}{
		{constPoly(0), "0"},
		{n.plus(-1), "n - 1"},
		{constPoly(1).sub(n), "1 - n"},
		{n.scale(big.NewRat(1, 5)), "n/5"},
		{n.scale(big.NewRat(3, 2)).add(m), "3*n/2 + m"},
		{m.sub(n), "m - n"},
		{n.scale(big.NewRat(-1, 1)), "-n"},
		{n.mul(n).mul(m).plus(2), "n^2*m + 2"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}

// The verdicts of the documented rule.
func TestCompare(t *testing.T) {
	param := func(id int, def *poly) *poly {
		return atomPoly(&atom{id: id, name: fmt.Sprintf("p%d", id), def: def})
	}
	n, m := param(1, constPoly(4)), param(2, constPoly(4))
	free, other := param(3, nil), param(4, nil)
	fifth := param(5, n.scale(big.NewRat(1, 2)))
	opaque := atomPoly(&atom{id: 6, name: "floor(n)", kind: opaqueAtom})
	for _, c := range []struct {
		a, b *poly
		want elab.Agreement
	}{
		{n.add(m), m.add(n), elab.Agree},
		{n.scale(big.NewRat(1, 2)).add(n.scale(big.NewRat(1, 2))), n, elab.Agree},
		{n, n.plus(1), elab.Differ},
		{free, free.plus(1), elab.Differ},
		{n, constPoly(4), elab.Undecided},
		{n, constPoly(5), elab.Differ},
		{n, m, elab.Undecided},
		{n, m.plus(1), elab.Differ},
		{fifth, n.scale(big.NewRat(1, 2)), elab.Undecided},
		{fifth, n, elab.Differ},
		{free, constPoly(3), elab.Undecided},
		{free, other, elab.Differ},
		{free, n, elab.Differ},
		{free, other.scale(big.NewRat(2, 1)), elab.Undecided},
		{free.plus(1), other, elab.Undecided},
		{free, free.scale(big.NewRat(2, 1)), elab.Differ},
		{free, free.add(other), elab.Differ},
		{opaque, n, elab.Undecided},
		{opaque, opaque, elab.Agree},
	} {
		if got := compare(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %d, not %d", c.a, c.b, got, c.want)
		}
		if compare(c.b, c.a) != compare(c.a, c.b) {
			t.Errorf("%s and %s: the order matters", c.a, c.b)
		}
	}
}
