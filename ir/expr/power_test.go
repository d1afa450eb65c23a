package expr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/ir/data"
)

// TestSmoothPowers: powers above 1 of functions with a kink have the values that they have as
// written, at random points and at the kink, and no part with a kink, but for the square of a
// positive part; powers up to 1, and of others, stay as they are.
func TestSmoothPowers(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 3))
	exponents := []float64{0.5, 1, 1.25, 1.852, 2, 2.5, 3, 4, 5.7, 6, 7}
	seen := map[string]int{}
	for range 3000 {
		m := newMaker(t)
		n := 1 + rng.IntN(3)
		shape := VectorShape(n)
		x := m.x(n)
		u := m.op2(Sub, m.op2(Mul, x, m.Number(1+rng.Float64())), m.Fill(math.Round(2*rng.NormFloat64()), shape, nowhere))
		p := make([]float64, n)
		p[0] = exponents[rng.IntN(len(exponents))]
		for i := range p {
			p[i] = p[0]
			if rng.IntN(4) == 0 {
				p[i] = exponents[rng.IntN(len(exponents))]
			}
		}
		least, square := math.Inf(1), false
		for _, e := range p {
			least, square = min(least, e), square || e == 2
		}
		zero := m.Number(0)
		if rng.IntN(2) == 0 {
			zero = m.Fill(0, shape, nowhere)
		}
		var base *Node
		of := func(v float64) float64 { return math.Abs(v) }
		smooth, name := least > 1, "abs"
		switch rng.IntN(5) {
		case 0:
			base = m.op1(Abs, u)
		case 1:
			name, base, of = "max", m.op2(Max, zero, u), func(v float64) float64 { return max(v, 0) }
			smooth = smooth && !square
		case 2:
			name, base, of = "min", m.op2(Min, u, zero), func(v float64) float64 { return min(v, 0) }
			smooth = true // integers above 2, all even or all odd
			for _, e := range p {
				smooth = smooth && e == math.Trunc(e) && e > 2 && math.Mod(e, 2) == math.Mod(p[0], 2)
			}
		case 3:
			name, base = "norm", m.op1(Sqrt, m.op2(Add, m.op2(Pow, u, m.Number(2)), m.op2(Mul, u, u)))
			of = func(v float64) float64 { return math.Sqrt(2) * math.Abs(v) }
			smooth = least >= 2
		default: // the other argument is not 0
			name, base, of = "other", m.op2(Max, m.Fill(0.25, shape, nowhere), u), func(v float64) float64 { return max(v, 0.25) }
			smooth = false
		}
		var exponent *Node = m.Const("p", data.Vector(p), nowhere)
		node := m.op2(Pow, base, exponent)
		kinks := false
		for _, k := range Reachable(node) {
			kinks = kinks || k.Deps != 0 && (!k.Op.Info().Smooth || k.Op == Sqrt)
		}
		if smooth && kinks || !smooth && least <= 1 && !kinks || name == "other" && !kinks {
			t.Fatalf("%s, exponents %v: parts with a kink: %v\n%s", name, p, kinks, Format(node))
		}
		seen[fmt.Sprintf("%s %v", name, smooth)]++
		point := random(rng, n)
		if rng.IntN(3) == 0 { // at the kink
			point = make([]float64, n)
		}
		got, err := Eval(node, point, nil)
		at, err2 := Eval(u, point, nil)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for i, v := range got.Dense {
			want := math.Pow(of(at.Dense[i]), p[i])
			if math.Abs(v-want) > 1e-13*(1+math.Abs(want)) && !(math.IsNaN(v) && math.IsNaN(want)) {
				t.Fatalf("%s of %v to the power %v is %v, not %v", name, at.Dense[i], p[i], v, want)
			}
		}
	}
	for _, name := range []string{"abs true", "abs false", "max true", "max false", "min true", "min false", "norm true", "norm false", "other false"} {
		if seen[name] < 20 {
			t.Errorf("%s: seen %d times", name, seen[name])
		}
	}
}
