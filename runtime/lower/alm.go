package lower

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
)

func init() {
	registry.Register("alm", Spec{
		Name: "alm",
		Summary: "augmented Lagrangian with an L-BFGS inner solver to find the active rows, " +
			"then an active-set polish by conjugate gradients with gradient differences",
		Reference: "stands in for the exact dual oracle that the paper assumes (def:dual_oracle)",
		Settings:  method.Describe(DefaultALM()),
		New: func(values method.Values) (Solver, error) {
			settings := DefaultALM()
			if err := method.Apply(&settings, values); err != nil {
				return nil, err
			}
			return NewALM(settings), nil
		},
	})
}

// ALMSettings are the settings of the solver `alm`.
type ALMSettings struct {
	Tolerance   float64 `setting:"tolerance" doc:"stationarity, relative to the size of the gradient's terms, at which a solve that rounding stopped counts as solved" min:"0" max:"1"`
	Identify    float64 `setting:"identify" doc:"relative residual at which the augmented Lagrangian hands its active rows to the polish" min:"0" max:"1"`
	Corrections int     `setting:"corrections" doc:"changes of the working set that the polish may make from its first guess before the augmented Lagrangian is called in" min:"0"`
	Memory      int     `setting:"memory" doc:"pairs kept by L-BFGS" min:"1"`
	MaxOuter    int     `setting:"max_outer" doc:"multiplier updates in one identification" min:"1"`
	MaxInner    int     `setting:"max_inner" doc:"L-BFGS steps between multiplier updates" min:"1"`
}

// DefaultALM returns the defaults. The identification tolerance and the
// memory are those with the fewest gradient calls on the paper's experiment.
func DefaultALM() ALMSettings {
	return ALMSettings{Tolerance: DefaultTolerance, Identify: 1e-3, Corrections: 200, Memory: 20, MaxOuter: 30, MaxInner: 500}
}

// ALM is the default lower solver.
type ALM struct {
	settings   ALMSettings
	poly       polyhedron
	projection projection
	augmented  augmented
	active     activeSet
	guess      []int
}

// NewALM returns a solver; its settings must be valid.
func NewALM(settings ALMSettings) *ALM { return &ALM{settings: settings} }

// Solve implements Solver. From a warm start, and for a quadratic objective,
// whose curvature each face leaves to the next, the polish begins at once; the
// augmented Lagrangian is called in where it meets too many wrong rows.
func (a *ALM) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	s := &Solution{Y: make([]float64, p.Dy), Lambda: make([]float64, p.Rows.Len()), ErrorBound: math.Inf(1)}
	a.poly.set(p, x)
	a.projection.set(&a.poly)
	if !a.poly.consistent(x, &a.active.face, s) {
		return s
	}
	if c := a.projection.crossing(); c != nil {
		return a.finish(s, stalled, c)
	}
	a.active.reset(obj, &a.poly, &a.projection, a.settings.Tolerance)
	a.guess = a.guess[:0]
	warmed := warm != nil && len(warm.Y) == p.Dy && finite(warm.Y)
	if warmed {
		copy(s.Y, warm.Y)
		a.guess = append(append(a.guess, warm.Active...), warm.Weak...)
	}
	if warmed || a.active.known.Quadratic {
		end, err := a.polish(ctx, s.Y, a.settings.Corrections)
		if err != nil || end != stalled || a.active.changes < a.settings.Corrections {
			return a.finish(s, end, err)
		}
	}
	if err := a.identify(ctx, s.Y, warm); err != nil {
		return a.finish(s, stalled, err)
	}
	// Far beyond the number of faces that solves meet (a small multiple of the
	// rows that are wrong), so that only a breakdown ends there.
	end, err := a.polish(ctx, s.Y, 1000+20*(a.poly.m+a.poly.n))
	return a.finish(s, end, err)
}

// identify runs the augmented Lagrangian from the feasible point nearest to y
// and makes the rows that it found to press the guess. Whatever it ends with
// is a starting point for the polish.
func (a *ALM) identify(ctx context.Context, y []float64, warm *Solution) error {
	if err := a.active.enter(y, a.guess); err != nil {
		return err
	}
	w := &a.active
	w.obj.ValueGrad(w.grad, y)
	if !finite(w.grad) {
		return nil
	}
	w.curvature.move(y, w.grad)
	stiffness := 0.0
	if w.curvature.apply(w.s, w.grad) && norm2(w.grad) > 0 {
		stiffness = norm2(w.s) / norm2(w.grad)
	}
	if stiffness == 0 {
		stiffness = 1
	}
	a.augmented.reset(a.settings, w.obj, &a.projection, warm)
	a.augmented.identify(ctx, y, stiffness)
	a.guess = a.augmented.pressed(a.guess[:0], &a.projection, y)
	return nil
}

// polish runs the active-set method from y and the guess.
func (a *ALM) polish(ctx context.Context, y []float64, limit int) (outcome, error) {
	if err := a.active.enter(y, a.guess); err != nil {
		return stalled, err
	}
	return a.active.minimize(ctx, y, limit), nil
}

// finish fills in the solution from the state of the polish.
func (a *ALM) finish(s *Solution, end outcome, err error) *Solution {
	var none *conflict
	if errors.As(err, &none) {
		s.Status, s.Reason, s.Witness = Infeasible, a.poly.explain(none.witness), none.witness
		return s
	}
	if err != nil {
		s.Status, s.Reason = Failed, err.Error()
		return s
	}
	w := &a.active
	s.Value = w.value
	s.Status, s.Reason = end.status()
	switch end {
	case notFinite:
		return s
	case descending:
		s.Witness = append([]float64(nil), w.d...)
	}
	w.face.multipliers(s.Lambda, w.grad)
	for i, l := range s.Lambda {
		if !a.poly.equal(i) && l < 0 {
			s.Lambda[i] = 0
		}
	}
	s.assess(&a.poly, &w.face, w.grad, w.known)
	return s
}

// consistent reports whether the rows that do not involve y and the equalities
// leave anything to solve; if not it says so in s. f is used as workspace.
func (q *polyhedron) consistent(x []float64, f *face, s *Solution) bool {
	if i := q.emptyRow(x); i >= 0 {
		s.Status = Infeasible
		s.Reason = fmt.Sprintf("%s does not involve y and does not hold at this x", q.rows.RowName(i))
		s.Witness = make([]float64, q.m)
		s.Witness[i] = math.Copysign(1, q.rhs[i])
		return false
	}
	f.reset(q)
	for i := 0; i < q.m; i++ {
		if !q.equal(i) || q.norm[i] == 0 || f.add(i) {
			continue
		}
		combination := make([]float64, q.m)
		f.combination(combination, i)
		if q.disagreement(combination, i) <= inconsistency {
			continue
		}
		for t := range combination {
			combination[t] = -combination[t]
		}
		combination[i]++
		s.Status, s.Witness = Dependent, combination
		s.Reason = fmt.Sprintf("equality %s depends on %s and contradicts them", q.rows.RowName(i), q.names(combination, i))
		return false
	}
	return true
}

// explain names the rows of a Farkas vector.
func (q *polyhedron) explain(witness []float64) string {
	return fmt.Sprintf("no y satisfies %s together", q.names(witness, -1))
}

// names lists the rows with a nonzero coefficient, but for one, those with
// the largest share first.
func (q *polyhedron) names(combination []float64, but int) string {
	var rows []int
	for i, c := range combination {
		if c != 0 && i != but {
			rows = append(rows, i)
		}
	}
	share := func(i int) float64 { return math.Abs(combination[i]) * q.norm[i] }
	sort.SliceStable(rows, func(i, j int) bool { return share(rows[i]) > share(rows[j]) })
	const shown = 6
	text := ""
	for k, i := range rows {
		if k == shown {
			return fmt.Sprintf("%s and %d more", text, len(rows)-shown)
		}
		if k > 0 {
			text += ", "
		}
		text += q.rows.RowName(i)
	}
	return text
}
