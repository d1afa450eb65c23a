package lower

import (
	"context"
	"sync/atomic"
	"testing"

	"bilevelc/runtime/problem"
)

// tally counts the calls that really reach a function, apart from the counters under
// test.
type tally struct {
	problem.Function
	values, gradients *atomic.Int64
}

func (f tally) Value(x, y []float64) float64 { f.values.Add(1); return f.Function.Value(x, y) }
func (f tally) GradX(dst, x, y []float64)    { f.gradients.Add(1); f.Function.GradX(dst, x, y) }
func (f tally) GradY(dst, x, y []float64)    { f.gradients.Add(1); f.Function.GradY(dst, x, y) }
func (f tally) ValueGradY(dst, x, y []float64) float64 {
	f.values.Add(1)
	f.gradients.Add(1)
	return f.Function.ValueGradY(dst, x, y)
}
func (f tally) ValueGrad(dstX, dstY, x, y []float64) float64 {
	f.values.Add(1)
	f.gradients.Add(1)
	return f.Function.ValueGrad(dstX, dstY, x, y)
}
func (f tally) Clone() problem.Function { return tally{f.Function.Clone(), f.values, f.gradients} }

// Every call to a follower's part of g is charged, and every call to g as a whole.
func TestFollowersAreChargedWhatTheyCall(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		easy := plan{n: 20, condition: 2, active: 1, inactive: 1}
		hard := plan{n: 20, condition: 1000, active: 6, inactive: 6, boxed: true}
		made := besides(easy.build(seed), hard.build(seed+10), easy.build(seed+20))
		var values, gradients atomic.Int64
		p := made.problem
		p.G = tally{p.G, &values, &gradients}
		for k := range p.Parts {
			p.Parts[k] = tally{p.Parts[k], &values, &gradients}
		}
		solver, err := New("alm", nil, p, 2)
		if err != nil {
			t.Fatal(err)
		}
		counted := p.Counted()
		var warm *Solution
		for range 3 {
			warm = solver.Solve(context.Background(), counted, G(counted, made.x), made.x, warm)
		}
		if c := counted.Calls(); c.G != values.Load() || c.GradG != gradients.Load() || c.GradG == 0 {
			t.Errorf("seed %d: %d values and %d gradients are charged, %d and %d were called", seed, c.G, c.GradG, values.Load(), gradients.Load())
		}
	}
}
