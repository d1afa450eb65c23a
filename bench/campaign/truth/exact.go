package truth

import (
	"math"
	"math/big"

	"bilevelc/internal/exact"
)

// exactly is the minimizer of q on a flat computed in rational arithmetic; nil where its planes have no point in common, or the point
// is beyond one of the others, by more than a share of what given numbers make of the plane's terms: x may be given in doubles, next to a
// tie that none of them holds, and what is left of its terms by a difference of 0 says nothing of their size. Where nothing is given, nothing is loose.
func (f flat) exactly(q *Quadratic, planes []plane, share float64) []float64 {
	n := len(f.w0)
	e := exactFlat{w0: zeros(n), given: make([]float64, n), share: share}
	for _, i := range f.free {
		e.z = append(e.z, unit(n, i))
	}
	for _, p := range f.on {
		if !e.restrict(exactPlane(p)) {
			return nil
		}
	}
	h, c := make([][]*big.Rat, n), rationals(q.C)
	for i, row := range q.H {
		h[i] = rationals(row)
	}
	for _, z := range e.z { // z'(H w + c) = 0; planes of other directions may come to hold at once
		p := rationalPlane{a: zeros(n), b: new(big.Rat).Neg(exact.Dot(c, z))}
		for i, v := range z {
			if v.Sign() != 0 {
				addRat(p.a, v, h[i])
			}
		}
		if !e.restrict(p) {
			return nil
		}
	}
	for _, p := range planes {
		if v, given := exactPlane(p).beyond(e.w0, e.given); float(v) > share*given {
			return nil
		}
	}
	w := make([]float64, n)
	for i, v := range e.w0 {
		w[i], _ = v.Float64()
	}
	return w
}

// exactFlat is a flat in rational numbers; given is what given numbers made of its point, and a share of that is their rounding.
type exactFlat struct {
	w0    []*big.Rat
	z     [][]*big.Rat
	given []float64
	share float64
}

type rationalPlane struct {
	a     []*big.Rat
	b     *big.Rat
	given bool // b is a double that was computed
}

func exactPlane(p plane) rationalPlane {
	return rationalPlane{rationals(p.a), rational(p.b), p.given}
}

// unit is entry i of a basis.
func unit(n, i int) []*big.Rat {
	v := zeros(n)
	v[i] = ratio(1, 1)
	return v
}

// addRat adds t b to a.
func addRat(a []*big.Rat, t *big.Rat, b []*big.Rat) {
	for i, v := range b {
		if v.Sign() != 0 {
			a[i] = new(big.Rat).Add(a[i], new(big.Rat).Mul(t, v))
		}
	}
}

// beyond is a'w - b, and the size of what is made of given numbers in it, as made is of the entries of w.
func (p rationalPlane) beyond(w []*big.Rat, made []float64) (v *big.Rat, given float64) {
	v = new(big.Rat).Neg(p.b)
	if p.given {
		given = math.Abs(float(p.b))
	}
	for i, a := range p.a {
		if a.Sign() != 0 {
			v.Add(v, new(big.Rat).Mul(a, w[i]))
			given += math.Abs(float(a)) * made[i]
		}
	}
	return v, given
}

// restrict is flat.restrict without rounding; false where nothing is left.
func (e *exactFlat) restrict(p rationalPlane) bool {
	h, given := p.beyond(e.w0, e.given)
	best := -1
	g := make([]*big.Rat, len(e.z))
	for r, z := range e.z {
		if g[r] = exact.Dot(p.a, z); g[r].Sign() != 0 {
			best = r
		}
	}
	if best < 0 {
		return math.Abs(float(h)) <= e.share*given
	}
	zb := e.z[best]
	inverse := new(big.Rat).Inv(g[best])
	addRat(e.w0, h.Neg(h).Mul(h, inverse), zb)
	for i, v := range zb {
		e.given[i] += math.Abs(float(v)*float(inverse)) * given
	}
	var rest [][]*big.Rat
	for r, z := range e.z {
		if r == best {
			continue
		}
		if g[r].Sign() != 0 {
			addRat(z, g[r].Neg(g[r]).Mul(g[r], inverse), zb)
		}
		rest = append(rest, z)
	}
	e.z = rest
	return true
}
