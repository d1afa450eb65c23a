package convex_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "bilevelc/runtime/convex"
)

// exactly checks the optimality conditions of a point at which rows that are held are met to
// rounding: a proof that it is the minimizer, of any that is as near as that.
func (p *program) exactly(s *Solver) error {
	if err := p.optimal(s); err != nil {
		return err
	}
	y := make([]float64, p.n)
	s.Y(y, p.lo, p.hi)
	state, active := s.State()
	rounding := 1e-12 * (1 + Largest(y)) * (1 + Largest(p.r))
	for i := range active {
		switch v := p.b.RowDot(i, y) - p.r[i]; {
		case v < -rounding, (p.equal[i] || active[i]) && v > rounding:
			return fmt.Errorf("row %d: off by %.2g", i, v)
		}
	}
	// An equality holds whatever gives way: bounds and inequalities do.
	for i, skip := range active {
		if !p.equal[i] || skip {
			continue
		}
		cols, _ := p.b.Row(i)
		for _, j := range cols {
			if state[j] == Lower || state[j] == Upper {
				return fmt.Errorf("equality %d is not held, but the bound of y[%d] is", i, j)
			}
		}
	}
	return nil
}

// Where more rows and bounds meet in a point than it takes to hold it, and the right-hand sides
// then move by a little, some no longer hold with the others, however little they are off:
// from the answer before the move, and from scratch, what is found satisfies all rows to
// rounding.
func TestBesideAVertex(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 81))
	moves := 0
	for k := range 600 {
		p := random(rng, true)
		s := p.solver(t)
		if end := s.Minimize(context.Background()); end != Optimal {
			t.Errorf("%d: outcome %d", k, end)
			continue
		}
		by := math.Pow(10, -6-6*rng.Float64())
		// Feasible by construction: at the answer, moved within the bounds.
		y := make([]float64, p.n)
		s.Y(y, p.lo, p.hi)
		for j := range y {
			y[j] = min(max(y[j]+by*rng.NormFloat64(), p.lo[j]), p.hi[j])
		}
		for i := range p.r {
			at := p.b.RowDot(i, y)
			if p.equal[i] {
				p.r[i] = at
			} else if p.r[i] = min(at, p.r[i]+by*rng.NormFloat64()); rng.IntN(3) == 0 {
				p.r[i] = at
			}
		}
		if len(s.Skipped()) > 0 {
			continue // rows that depend on others take no part here
		}
		s.Set(p.lo, p.hi, p.r)
		moves++
		if s.ActiveSet(20) {
			if err := p.exactly(s); err != nil {
				t.Errorf("%d, moved by %.1g: %v", k, by, err)
			}
		}
		s = p.solver(t)
		if end := s.Minimize(context.Background()); end != Optimal {
			t.Errorf("%d, moved by %.1g: outcome %d", k, by, end)
		} else if err := p.exactly(s); err != nil {
			t.Errorf("%d, moved by %.1g, from scratch: %v", k, by, err)
		}
		s.Reduce()
		if err := p.exactly(s); err != nil {
			t.Errorf("%d, moved by %.1g, reduced: %v", k, by, err)
		}
	}
	if moves < 300 {
		t.Errorf("%d moves", moves)
	}
}
