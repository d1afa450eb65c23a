package expr

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/each"
)

// The logarithm of what is made of exponentials is that of their values, and has no exponential left that may overflow.
func TestLogOfExponentials(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(3)
		x := each.Below(n, func(int) float64 { return rng.NormFloat64() })
		m := newMaker(t)
		v := m.x(n)
		var grow func(depth int, scalar bool) (*Node, []float64)
		grow = func(depth int, scalar bool) (*Node, []float64) {
			kind := rng.IntN(6)
			if depth == 0 {
				kind = rng.IntN(2)
			}
			if scalar && kind < 2 {
				kind = 5 // a sum over a vector
			}
			switch kind {
			case 0:
				c := each.Below(n, func(int) float64 { return math.Exp(rng.NormFloat64()) })
				return m.vector(c...), c
			case 1:
				a := rng.NormFloat64()
				out := each.Below(n, func(j int) float64 { return math.Exp(a * x[j]) })
				return m.op1(Exp, m.op2(Mul, m.Number(a), v)), out
			case 5:
				if !scalar {
					return grow(depth-1, false)
				}
				u, a := grow(max(0, depth-1), false)
				if rng.IntN(2) == 0 {
					w, b := grow(max(0, depth-1), false)
					sum := 0.0
					for j := range a {
						sum += a[j] * b[j]
					}
					return m.Dot(u, w, nowhere), []float64{sum}
				}
				sum := 0.0
				for _, t := range a {
					sum += t
				}
				return m.Reduce(Sum, u, nowhere), []float64{sum}
			}
			u, a := grow(depth-1, scalar)
			w, b := grow(depth-1, scalar)
			if kind == 2 && rng.IntN(2) == 0 { // a number on either side
				c := math.Exp(rng.NormFloat64())
				w, b = m.Number(c), make([]float64, len(a))
				for j := range b {
					b[j] = c
				}
				if rng.IntN(2) == 0 {
					u, w, a, b = w, u, b, a
				}
			}
			out := each.Below(len(a), func(j int) float64 { return map[int]float64{2: a[j] + b[j], 3: a[j] * b[j], 4: a[j] / b[j]}[kind] })
			return m.op2(map[int]Op{2: Add, 3: Mul, 4: Div}[kind], u, w), out
		}
		of, values := grow(3, rng.IntN(2) == 0)
		log := m.op1(Log, of)
		got, err := Eval(log, x, nil)
		if err != nil {
			t.Fatal(err)
		}
		for j, a := range values {
			if want := math.Log(a); math.Abs(got.Dense[j]-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("seed %d: log %v is %v, not %v", seed, a, got.Dense[j], want)
			}
		}
		for _, node := range Reachable(log) {
			if log.Deps != 0 && (node.Op == Exp || node.Op == Log && node.Deps != 0) {
				t.Errorf("seed %d: an exponential or a logarithm is left", seed)
			}
		}
	}
}
