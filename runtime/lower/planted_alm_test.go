package lower

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"
)

var plans = []plan{
	{n: 1, condition: 1},
	{n: 1, condition: 1, atBound: 1},
	{n: 10, condition: 1, active: 3, inactive: 5},
	{n: 10, condition: 100, active: 10, inactive: 5},
	{n: 20, condition: 1e4, active: 5, inactive: 10, equal: 4},
	{n: 20, condition: 1e8, active: 5, inactive: 10, atBound: 3, boxed: true},
	{n: 50, condition: 1e2, active: 10, inactive: 20, weak: 5},
	{n: 50, condition: 1e2, active: 10, inactive: 20, duplicates: 8},
	{n: 50, condition: 1e2, active: 10, inactive: 20, redundant: 8, equal: 3},
	{n: 50, condition: 1e3, active: 10, inactive: 20, badScale: 1e4},
	{n: 50, condition: 1e2, atBound: 25, boxed: true, equal: 1},
	{n: 50, condition: 1e6, atBound: 50, boxed: true},
	{n: 100, condition: 1e4, active: 20, inactive: 60, atBound: 20, boxed: true, equal: 5, weak: 3, duplicates: 3},
	{n: 200, condition: 1e4, active: 20, inactive: 20},
	{n: 200, condition: 4e4, active: 100, inactive: 60},
	{n: 200, condition: 1e8, active: 20, inactive: 20},
	{n: 200, condition: 1e2, active: 0, inactive: 20, atBound: 150, boxed: true},
	{n: 200, condition: 1e2, active: 200, inactive: 0},
}

func (c plan) String() string {
	return fmt.Sprintf("n %d cond %g act %d inact %d weak %d eq %d bnd %d dup %d red %d scale %g", c.n, c.condition, c.active,
		c.inactive, c.weak, c.equal, c.atBound, c.duplicates, c.redundant, c.badScale)
}

func TestPlantedALM(t *testing.T) {
	for _, c := range plans {
		made := c.build(7)
		p := made.problem.Counted()
		solver := NewALM(DefaultALM())
		start := time.Now()
		s := solver.Solve(context.Background(), p, G(p, made.x), made.x, nil)
		t.Logf("%v: %v, %d calls %d changes %v, y %.1e lambda %.1e bound %.1e stat %.1e primal %.1e weak %d dep %d", c, s.Status, p.Calls().GradG,
			solver.active.changes, time.Since(start).Round(time.Microsecond), distance(s.Y, made.y), distance(s.Lambda, made.lambda), s.ErrorBound,
			s.Residuals.Stationarity, s.Residuals.Primal, len(s.Weak), len(s.Dependent))
		// The data carry rounding that the condition number amplifies.
		if d := distance(s.Y, made.y); d > 1e-9+1e-14*c.condition*math.Sqrt(float64(c.n)) {
			t.Errorf("%v: y is off by %g", c, d)
		}
	}
}
