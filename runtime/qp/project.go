package qp

import (
	"fmt"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Projector projects onto X and D = { x : some y is feasible }, where X is
// bounds, rows and balls, and D the set on which the lower level's rows have a
// solution. D is a polyhedron without an explicit description; the Projector
// learns it, one facet at a time, from the Farkas vectors of the points where no
// y exists (Benders' feasibility cuts), and keeps what it learned. Facets are
// finitely many, so every projection ends with a point of D, and it is the
// nearest one, as what is known of D contains D.
type Projector struct {
	set      *problem.Set
	recourse *Recourse
	dx       int
	Cuts     []Cut // facets of D known so far

	e     *sparse.CSR // rows of X, then cuts
	side  []float64
	equal []bool
	ws    Workspace
	warm  []int
}

// EmptySetError says that X, or X with D, has no point. Rows are names of the
// constraints that contradict each other.
type EmptySetError struct {
	Lower  bool     // the lower level's rows take part; else X alone is empty
	Rows   []string // may be empty where bounds alone contradict each other
	Farkas []float64
}

func (e *EmptySetError) Error() string {
	what := "the upper level's constraints contradict each other"
	if e.Lower {
		what = "no x of the upper level leaves the lower level a feasible y"
	}
	if len(e.Rows) == 0 {
		return what
	}
	return fmt.Sprintf("%s: %v", what, e.Rows)
}

// StalledError says that a projection did not end for numerical reasons.
type StalledError struct{ Reason string }

func (e *StalledError) Error() string { return "projection: " + e.Reason }

// NewProjector prepares projections of points of len dx for the X and the
// rows of a problem.
func NewProjector(set *problem.Set, rows *problem.Rows, dx, dy int) *Projector {
	p := &Projector{set: set, recourse: NewRecourse(rows, dy), dx: dx}
	p.assemble()
	return p
}

// assemble builds the rows of X and cuts as one matrix.
func (p *Projector) assemble() {
	m := len(p.set.Kind)
	e := &sparse.CSR{Cols: p.dx, Ptr: []int{0}}
	p.side, p.equal = nil, nil
	for i := 0; i < m; i++ {
		cols, vals := p.set.E.Row(i)
		e.Col, e.Val = append(e.Col, cols...), append(e.Val, vals...)
		e.Ptr = append(e.Ptr, len(e.Col))
		p.side, p.equal = append(p.side, p.set.Rhs[i]), append(p.equal, p.set.Kind[i] == problem.Equal)
	}
	e.Rows = m
	p.e = e
	for _, c := range p.Cuts {
		p.appendCut(c)
	}
}

func (p *Projector) appendCut(c Cut) {
	for j, v := range c.Normal {
		if v != 0 {
			p.e.Col, p.e.Val = append(p.e.Col, j), append(p.e.Val, v)
		}
	}
	p.e.Ptr = append(p.e.Ptr, len(p.e.Col))
	p.e.Rows++
	p.side, p.equal = append(p.side, c.Side), append(p.equal, c.Equal)
	// The numbers of bounds moved up by one.
	p.warm = nil
}

// Balls are the balls of X.
func (p *Projector) Balls() []problem.Ball { return p.set.Balls }

// ProjectorState is all that a Projector remembers between calls. A Projector
// with the same state gives the same results bit for bit.
type ProjectorState struct {
	Cuts         []Cut
	Warm         []int
	Witness      []float64
	RecourseWarm []int
}

// State returns a copy of what the Projector remembers.
func (p *Projector) State() ProjectorState {
	return ProjectorState{
		Cuts:         append([]Cut(nil), p.Cuts...),
		Warm:         append([]int(nil), p.warm...),
		Witness:      append([]float64(nil), p.recourse.y...),
		RecourseWarm: append([]int(nil), p.recourse.warm...),
	}
}

// Fits reports what keeps a state from being one of this Projector.
func (p *Projector) Fits(s ProjectorState) error {
	for _, c := range s.Cuts {
		if len(c.Normal) != p.dx {
			return fmt.Errorf("a cut has %d entries, not %d", len(c.Normal), p.dx)
		}
	}
	if n := len(s.Witness); n != 0 && n != len(p.recourse.y) {
		return fmt.Errorf("a feasible y has %d entries, not %d", n, len(p.recourse.y))
	}
	for _, i := range s.RecourseWarm {
		if i < 0 || i >= p.recourse.rows.Len() {
			return fmt.Errorf("there is no row %d", i+1)
		}
	}
	for _, i := range s.Warm { // rows of X, cuts, and two bounds of each entry of x
		if i < 0 || i >= len(p.set.Kind)+len(s.Cuts)+2*p.dx {
			return fmt.Errorf("there is no row %d of X", i+1)
		}
	}
	return nil
}

// Restore returns the Projector to a state.
func (p *Projector) Restore(s ProjectorState) {
	p.Cuts = append([]Cut(nil), s.Cuts...)
	p.assemble()
	p.warm = append([]int(nil), s.Warm...)
	copy(p.recourse.y, s.Witness)
	p.recourse.warm = append([]int(nil), s.RecourseWarm...)
}

// Witness returns some y that is feasible at x, or nil where there is none; it
// is shared with the Projector until its next use.
func (p *Projector) Witness(x []float64) []float64 {
	y, _ := p.recourse.Feasible(x)
	return y
}

// maxCuts bounds the facets learned in one projection. Facets are as many as
// the bases of the rows in the worst case; seen are a few.
const maxCuts = 500

// Project sets dst to the point of X and D nearest to x; the two may be the same
// slice.
func (p *Projector) Project(dst, x []float64) error {
	x = append([]float64(nil), x...) // rounds below read it after dst is written
	for range maxCuts {
		if err := p.projectX(dst, x); err != nil {
			return err
		}
		learned, err := p.learn(dst)
		if err != nil || !learned {
			return err
		}
	}
	return &StalledError{fmt.Sprintf("more than %d facets of the set where the lower level is feasible", maxCuts)}
}

// ProjectWithin is Project onto the part of X and D that satisfies further cuts
// too, which are not kept.
func (p *Projector) ProjectWithin(dst, x []float64, extra []Cut) error {
	known := len(p.Cuts)
	p.SetCuts(append(p.Cuts[:known:known], extra...))
	err := p.Project(dst, x)
	learned := p.Cuts[known+len(extra):]
	p.SetCuts(append(p.Cuts[:known:known], learned...))
	return err
}

// SetCuts replaces the facets of D that are known.
func (p *Projector) SetCuts(cuts []Cut) {
	p.Cuts, p.warm = cuts, nil
	p.assemble()
}

// learn adds the cut that separates x from D, if x is outside D.
func (p *Projector) learn(x []float64) (bool, error) {
	if p.recourse.always {
		return false, nil
	}
	y, farkas := p.recourse.Feasible(x)
	if y != nil {
		return false, nil
	}
	if farkas == nil {
		return false, &StalledError{"the lower level's rows are neither feasible nor infeasible to working precision"}
	}
	c := p.recourse.Cut(farkas)
	if norm2(c.Normal) == 0 {
		return false, p.empty(nil, farkas)
	}
	// The violation that the Farkas vector proves may be too small, in x, to
	// move it: then x counts as a point of D.
	if h := dot(c.Normal, x) - c.Side; math.Abs(h) <= 1e-12*(1+math.Abs(c.Side)+norm2(x)) {
		return false, nil
	}
	p.Cuts = append(p.Cuts, c)
	p.appendCut(c)
	return true, nil
}

// empty names the rows of X and of the lower level that take part in a proof.
func (p *Projector) empty(upper, lower []float64) *EmptySetError {
	e := &EmptySetError{Farkas: lower}
	for i, u := range upper {
		if u == 0 {
			continue
		}
		if i < len(p.set.Name) {
			e.Rows = append(e.Rows, p.set.Name[i])
		} else if i >= len(p.set.Kind) {
			e.Lower = true
		}
	}
	for i, u := range lower {
		if u != 0 {
			e.Lower = true
			if i < len(p.recourse.rows.Name) {
				e.Rows = append(e.Rows, p.recourse.rows.Name[i])
			}
		}
	}
	return e
}

// projectX projects onto X and the known cuts. A ball |x_S - c| <= r enters
// through its multiplier theta >= 0: minimizing |z - x|^2 + theta |z_S - c|^2
// over the polyhedron gives a |z_S - c| that falls with theta, and the root of
// |z_S - c| = r is found on 1/|z_S - c|, which is linear in theta where no row
// binds. Several balls, whose blocks do not overlap, take turns.
func (p *Projector) projectX(dst, x []float64) error {
	theta := make([]float64, len(p.set.Balls))
	// In turns, each ball's root is exact given the others'; they interact
	// through rows only, and seldom.
	const turns = 100
	for range turns {
		if err := p.projectPolyhedron(dst, x, theta); err != nil {
			return err
		}
		settled := true
		for k := range p.set.Balls {
			changed, err := p.solveBall(k, dst, x, theta)
			if err != nil {
				return err
			}
			settled = settled && !changed
		}
		if settled {
			return nil
		}
	}
	return &StalledError{"the balls of the upper level's set do not settle"}
}

// radius is |x_S - c|.
func radius(b *problem.Ball, x []float64) float64 {
	s := 0.0
	for j := b.Start; j < b.End; j++ {
		s = math.Hypot(s, x[j]-center(b, j))
	}
	return s
}

// center is the entry of a ball's center that belongs to x_j.
func center(b *problem.Ball, j int) float64 {
	if b.Center == nil {
		return 0
	}
	return b.Center[j-b.Start]
}

// solveBall finds the multiplier of ball k given the others, with dst the
// projection for the current multipliers on entry and return.
func (p *Projector) solveBall(k int, dst, x, theta []float64) (changed bool, err error) {
	b := &p.set.Balls[k]
	// A distance within this of the radius is on the sphere.
	tolerance := 4e-16 * (b.Radius + norm2(dst))
	at := func(t float64) (float64, error) {
		theta[k] = t
		err := p.projectPolyhedron(dst, x, theta)
		return radius(b, dst), err
	}
	r := radius(b, dst)
	if math.Abs(r-b.Radius) <= tolerance || (r < b.Radius && theta[k] == 0) {
		return false, nil
	}
	start := theta[k]
	lo, hi := 0.0, math.Inf(1)
	rlo := r
	if theta[k] != 0 {
		if rlo, err = at(0); err != nil {
			return false, err
		}
		if rlo <= b.Radius {
			return start != 0, nil
		}
	}
	if b.Radius == 0 {
		return false, &StalledError{fmt.Sprintf("ball %s has radius 0", b.Name)}
	}
	// Secant steps on 1/r, kept within the bracket.
	t, tPrev, invPrev := rlo/b.Radius-1, 0.0, 1/rlo
	for range 200 {
		if r, err = at(t); err != nil {
			return false, err
		}
		if r > b.Radius {
			lo = t
		} else {
			hi = t
		}
		if math.Abs(r-b.Radius) <= tolerance || hi-lo <= 1e-15*lo {
			break
		}
		if t > 1e18 {
			return false, p.ballEmpty(b)
		}
		slope := (1/r - invPrev) / (t - tPrev)
		tPrev, invPrev = t, 1/r
		next := t + (1/b.Radius-1/r)/slope
		if !(next > lo && next < hi) {
			if math.IsInf(hi, 1) {
				next = 2*t + 1
			} else {
				next = (lo + hi) / 2
			}
		}
		t = next
	}
	return math.Abs(theta[k]-start) > 1e-14*(1+start), nil
}

func (p *Projector) ballEmpty(b *problem.Ball) error {
	return &EmptySetError{Rows: []string{b.Name}, Lower: len(p.Cuts) > 0}
}

// projectPolyhedron minimizes |z - x|^2 + sum_k theta_k |z_Sk - c_k|^2 over
// bounds, rows and cuts.
func (p *Projector) projectPolyhedron(dst, x, theta []float64) error {
	weight := make([]float64, p.dx)
	target := append([]float64(nil), x...)
	for j := range weight {
		weight[j] = 1
	}
	for k, t := range theta {
		b := &p.set.Balls[k]
		for j := b.Start; j < b.End; j++ {
			weight[j] += t
			target[j] += t * center(b, j)
		}
	}
	if p.e.Rows == 0 {
		for j, w := range weight {
			if p.set.Lo != nil && p.set.Lo[j] > p.set.Hi[j] {
				return p.empty(nil, nil)
			}
			dst[j] = p.clamp(j, target[j]/w)
		}
		return nil
	}
	for j := range target {
		target[j] = -target[j]
	}
	s := Solve(&Problem{H: Diagonal(weight), C: target, A: p.e, Equal: p.equal, B: p.side,
		Lo: p.set.Lo, Hi: p.set.Hi, Warm: p.warm}, &p.ws)
	switch s.Status {
	case Infeasible:
		return p.empty(s.Farkas, nil)
	case Failed:
		return &StalledError{"the quadratic program of the projection failed"}
	}
	p.warm = s.Active
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
