package sequential_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/runtime/problem"
)

// counted counts the calls for a value and a gradient in y, of which each step of Newton's method for an answer has two or more.
type counted struct {
	problem.Function
	calls *int
}

func (c counted) ValueGradY(dst, x, y []float64) float64 {
	*c.calls++
	return c.Function.ValueGradY(dst, x, y)
}

func (c counted) Clone() problem.Function { return counted{c.Function.Clone(), c.calls} }

// Answers beside large multipliers take Newton's method some tens of steps: the rounding of rows that hold, times these, is no violation that further ones could mend.
func TestAnswersBesideLargeMultipliers(t *testing.T) {
	most := 0
	seeds := slices.Collect(members.SeedsOf(t, 100, 2000))
	for _, seed := range append(seeds, 63268471, 975606104) { // of the last two an answer took 600 steps
		rng := rand.New(rand.NewPCG(seed, 16))
		p := kkttest.RandomSmooth(rng, 3, 4, 6, 0, true)
		g := p.G.(*kkttest.Smooth)
		for j := range p.Dy {
			g.C[p.Dx+j] *= 100
		}
		at := randomIn(rng, p.Dx, 1)
		for i := range p.Rows.Len() { // rows of terms that cancel
			if cols, vals := p.Rows.A.Row(i); len(cols) > 0 {
				for t := range vals {
					vals[t] *= 100
				}
				p.Rows.Rhs[i] = p.Rows.A.RowDot(i, at) + 0.1
			}
		}
		calls := 0
		p.G = counted{g, &calls}
		v, y := solver(t, p, false), make([]float64, p.Dy)
		for range 20 {
			x := randomIn(rng, p.Dx, 1e-5)
			for j := range x {
				x[j] += at[j]
			}
			before := calls
			if _, _, err := v.Answer(t.Context(), x, y); err != nil {
				t.Errorf("seed %d, x %v: %v", seed, x, err)
			}
			most = max(most, calls-before)
		}
	}
	if t.Logf("%d calls at most", most); most > 100 {
		t.Errorf("an answer took %d calls", most)
	}
}

// randomIn is a point of a box around 0.
func randomIn(rng *rand.Rand, n int, size float64) []float64 {
	x := make([]float64, n)
	for j := range x {
		x[j] = size * (2*rng.Float64() - 1)
	}
	return x
}
