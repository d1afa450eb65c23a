package qp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Projector projects onto X and D = { x : some y is feasible }, where X is
// bounds, rows and balls, and D the set on which the lower level's rows have a
// solution. D is a polyhedron without an explicit description: its facets may be
// too many to list. Where it takes part the projection is found over (x, y)
// jointly, with the rows as they are; where some y is feasible at every x, or at
// the projection onto X already, it does not.
type Projector struct {
	set      *problem.Set
	rows     *problem.Rows
	recourse *Recourse
	dx, dy   int
	inner    int // entries of s in joint: dy; 0 where D takes no part, and rows on u alone are there
	ctx      context.Context

	upper *constraints // on x: the rows of X, and those of the lower level that read x alone
	joint *constraints // on (x, s, u) with y = unit s: those, the other rows of the lower level, and those of X on u
	unit  float64
	u     []float64  // of the last point: the next guess
	outer *Projector // onto X alone; nil where that is what this one, or its upper, does

	sparseX, sparse *structured // of upper, and of joint
	ws              Workspace
	warm, jointWarm []int
}

// EmptySetError says that X, or X with D, has no point. Rows are names of the
// constraints that contradict each other.
type EmptySetError struct {
	Lower bool     // the lower level's rows take part; else X alone is empty
	Rows  []string // may be empty where bounds alone contradict each other
}

func (e *EmptySetError) Error() string {
	what := "the upper level's constraints contradict each other"
	if e.Lower {
		what = "no x of the upper level leaves the lower level a feasible y"
	}
	if len(e.Rows) == 0 {
		return what
	}
	return what + ": " + strings.Join(e.Rows, ", ")
}

// StalledError says that a projection did not end for numerical reasons.
type StalledError struct{ Reason string }

func (e *StalledError) Error() string { return "projection: " + e.Reason }

// NewProjector prepares projections of points of len dx for the X and the
// rows of a problem.
func NewProjector(set *problem.Set, rows *problem.Rows, dx, dy int) *Projector {
	p := &Projector{set: withoutPoints(set, dx), rows: rows, dx: dx, dy: dy, inner: dy, recourse: newRecourse(rows, dy),
		u: make([]float64, set.Extended.Extra())}
	if set.Extended != nil {
		if p.recourse.Always() {
			p.inner = 0
		} else {
			p.outer = NewProjector(set, noRows(dx), dx, 0)
		}
	}
	p.assemble()
	return p
}

// noRows are those of a lower level without any.
func noRows(dx int) *problem.Rows { return &problem.Rows{A: sparse.Empty(dx), B: sparse.Empty(0)} }

// contains reports whether x, which satisfies upper, is in X and D, or nothing shows that
// it is not.
func (p *Projector) contains(x []float64) (bool, error) {
	within := true
	p.set.Extended.Each(x, func(j int) float64 { return math.Abs(x[j]) }, func(_ int, excess, terms float64) {
		within = within && excess <= tolerance.SumRounding*terms
	})
	if !within {
		return false, nil
	}
	return p.recourse.contains(x)
}

// Attend makes the context end the searches from now on, with its cause as the
// error.
func (p *Projector) Attend(ctx context.Context) { p.ctx, p.recourse.ctx = ctx, ctx }

// Balls are the balls of X.
func (p *Projector) Balls() []problem.Ball { return p.set.Balls }

// ProjectorState is all that a Projector remembers between calls. A Projector
// with the same state gives the same results bit for bit.
type ProjectorState struct {
	Warm, JointWarm []int
	Witness         []float64
	RecourseWarm    []int
}

// State returns a copy of what the Projector remembers.
func (p *Projector) State() ProjectorState {
	return ProjectorState{
		Warm:         slices.Clone(p.warm),
		JointWarm:    slices.Clone(p.jointWarm),
		Witness:      append(slices.Clone(p.recourse.y), p.u...),
		RecourseWarm: slices.Clone(p.recourse.warm),
	}
}

// Fits reports what keeps a state from being one of this Projector.
func (p *Projector) Fits(s ProjectorState) error {
	if n := len(s.Witness); n != 0 && n != p.dy+len(p.u) {
		return fmt.Errorf("a feasible y has %d entries, not %d", n, p.dy+len(p.u))
	}
	// Rows, and two bounds of each variable.
	for _, warm := range []struct {
		what  string
		list  []int
		limit int
	}{
		{"of the lower level", s.RecourseWarm, len(p.recourse.use) + 2*p.dy},
		{"of X", s.Warm, p.upper.e.Rows + 2*p.dx},
		{"of X and the lower level", s.JointWarm, p.joint.e.Rows + 2*p.joint.e.Cols},
	} {
		for _, i := range warm.list {
			if i < 0 || i >= warm.limit {
				return fmt.Errorf("there is no row %d %s", i+1, warm.what)
			}
		}
	}
	return nil
}

// Restore returns the Projector to a state.
func (p *Projector) Restore(s ProjectorState) {
	p.warm, p.jointWarm = slices.Clone(s.Warm), slices.Clone(s.JointWarm)
	copy(p.recourse.y, s.Witness)
	if len(s.Witness) > p.dy {
		copy(p.u, s.Witness[p.dy:])
	}
	p.recourse.warm = slices.Clone(s.RecourseWarm)
}

// Project sets dst to the point of X and D nearest to x; the two may be the same
// slice.
func (p *Projector) Project(dst, x []float64) error { return p.ProjectWithin(dst, x, nil) }

// ProjectWithin is Project onto the part of X and D that satisfies further cuts.
func (p *Projector) ProjectWithin(dst, x []float64, extra []Cut) (err error) {
	defer must.Catch(&err)
	x = slices.Clone(x) // rounds below read it after dst is written
	on := &search{constraints: p.upper.with(extra)}
	must.Do(p.projectX(dst, x, on))
	inside := must.Get(p.contains(dst))
	if !inside {
		on = &search{constraints: p.joint.with(extra), joint: true}
		must.Do(p.projectX(dst, x, on))
	}
	p.refine(dst, on)
	return nil
}

// refine moves a projected point by the least step after which the rows that it crosses by more than their rounding, k + 2 units of the terms of k products (Higham, Accuracy and Stability of Numerical
// Algorithms, section 3.1), hold: a program in the step knows their sides to the rounding of what is left, not of terms of 1e10 that cancel. The point stays where that finds no better one.
func (p *Projector) refine(dst []float64, on *search) {
	z := slices.Concat(dst, on.center)
	left := func(z []float64) (side []float64, crossed float64) {
		side = make([]float64, on.e.Rows)
		for i := range side {
			at, terms := on.e.RowDot(i, z), math.Abs(on.side[i])+on.e.RowTerms(i, z)
			side[i] = on.side[i] - at
			h := -side[i]
			if on.equal[i] {
				h = math.Abs(h)
			}
			if cols, _ := on.e.Row(i); h > float64(len(cols)+2)*0x1p-53*terms {
				crossed = math.Max(crossed, h/terms)
			}
		}
		return side, crossed
	}
	side, crossed := left(z)
	if crossed == 0 {
		return
	}
	weight := append(slices.Repeat([]float64{1}, p.dx), slices.Repeat([]float64{nearness}, len(z)-p.dx)...)
	q := &Problem{H: Diagonal(weight), C: make([]float64, len(z)), A: on.e, Equal: on.equal, B: side, Context: p.ctx}
	if p.set.Lo != nil {
		q.Lo, q.Hi = slices.Repeat([]float64{math.Inf(-1)}, len(z)), slices.Repeat([]float64{math.Inf(1)}, len(z))
		for j, v := range dst {
			q.Lo[j], q.Hi[j] = p.set.Lo[j]-v, p.set.Hi[j]-v
		}
	}
	s := p.sparse.of(on.e, on.equal).decide(q, weight)
	if s == nil {
		s = Solve(q, &p.ws)
	}
	if s.Status != Solved {
		return
	}
	moved := linalg.Plus(z, 1, s.Z)
	for j := range dst {
		moved[j] = p.clamp(j, moved[j])
	}
	if _, after := left(moved); after < crossed {
		copy(dst, moved)
		if on.joint {
			copy(on.center, moved[p.dx:])
			p.remember(on.center)
		}
	}
}

// search is one projection onto X, or onto X and D.
type search struct {
	*constraints
	joint  bool
	center []float64 // of the proximal rounds in s and u
}

// outcome turns the status of a quadratic program over the set into an error.
func (p *Projector) outcome(s *Solution, c *constraints) error {
	switch s.Status {
	case Solved:
		return nil
	case Infeasible:
		return c.empty(s.Farkas)
	case Stopped:
		return context.Cause(p.ctx)
	}
	return &StalledError{"rounding leaves open whether the constraints of x can be satisfied: " +
		"some of them are nearly dependent, and nearly contradict each other"}
}

// projectX projects onto X, or X and D. A ball |x_S - c| <= r enters
// through its multiplier theta >= 0: minimizing |z - x|^2 + theta |z_S - c|^2
// over the polyhedron gives a |z_S - c| that falls with theta, and the root of
// |z_S - c| = r is found on 1/|z_S - c|, which is linear in theta where no row
// binds. Several balls, whose blocks do not overlap, take turns.
func (p *Projector) projectX(dst, x []float64, on *search) (err error) {
	defer must.Catch(&err)
	theta := make([]float64, len(p.set.Balls))
	// In turns, each ball's root is exact given the others'; they interact
	// through rows only, and seldom.
	for range tolerance.Steps {
		must.Do(p.projectPolyhedron(dst, x, theta, on))
		settled := true
		for k := range p.set.Balls {
			changed := must.Get(p.solveBall(k, dst, x, theta, on))
			settled = settled && !changed
		}
		if settled {
			return nil
		}
	}
	return &StalledError{"the balls of the upper level's set do not settle"}
}

// projectPolyhedron minimizes |z - x|^2 + sum_k theta_k |z_Sk - c_k|^2 over
// bounds and rows.
func (p *Projector) projectPolyhedron(dst, x, theta []float64, on *search) error {
	weight := make([]float64, p.dx, p.joint.e.Cols)
	target := append(make([]float64, 0, p.joint.e.Cols), x...)
	for j := range weight {
		weight[j] = 1
	}
	for k, t := range theta {
		b := &p.set.Balls[k]
		for j := b.Start; j < b.End; j++ {
			weight[j] += t
			target[j] += t * b.At(j)
		}
	}
	if on.e.Rows == 0 {
		for j, w := range weight {
			if p.set.Lo != nil && p.set.Lo[j] > p.set.Hi[j] {
				return on.empty(nil)
			}
			dst[j] = p.clamp(j, target[j]/w)
		}
		return nil
	}
	for j := range target {
		target[j] = -target[j]
	}
	if on.joint {
		return p.projectJointly(dst, target, weight, on)
	}
	q := &Problem{H: Diagonal(weight), C: target, A: on.e, Equal: on.equal, B: on.side,
		Lo: p.set.Lo, Hi: p.set.Hi, Warm: p.warm, Context: p.ctx}
	k := p.sparseX.of(on.e, on.equal)
	if on.constraints == p.upper {
		p.sparseX = k
	}
	s := k.decide(q, weight)
	if s == nil {
		s = Solve(q, &p.ws)
	}
	if err := p.outcome(s, on.constraints); err != nil {
		return err
	}
	if on.constraints == p.upper {
		p.warm = s.Active
	}
	for j, v := range s.Z {
		dst[j] = p.clamp(j, v)
	}
	return nil
}

// clamp puts v into the bounds of x_j exactly.
func (p *Projector) clamp(j int, v float64) float64 {
	if p.set.Lo == nil {
		return v
	}
	return math.Min(math.Max(v, p.set.Lo[j]), p.set.Hi[j])
}
