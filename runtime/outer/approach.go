package outer

import (
	"context"
	"errors"
	"math"

	"bilevelc/runtime/central"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// pathful is a Hyperobjective whose lower level has a central path.
type pathful interface {
	oracle.Hyperobjective
	Central() *central.Path // nil where it has none
	Problem() *problem.Problem
}

// approach is the way from the start to where bundles take over: descent on F_mu, which
// is smooth, for a mu that falls from where the barrier is as strong as the rows to where
// it makes no difference (central.Path). Each stage is one step of the run and begins at
// what this says of it alone.
type approach struct {
	Stage int
	X, Y  []float64
	Scale float64 // mu of the first stage
	Limit float64 // of forces, see central.Path.Begin
	Start float64 // F at the run's start
}

// The stages. Each mu is a tenth of the one before: a minimizer of one is then a start
// for the next from which a few steps lead on. The values of the last differ from those
// of F by a part of 1e-5, which bundles make up for in a few steps; from nearer they would begin
// where kinks can no longer be told from the point itself.
//
// An approach is for problems with ApproachFrom variables of both levels or more: with
// fewer, a search from the start and another by way of followers that react less cost as
// little, and of the small public test problems they leave fewer at a point that is not
// the best (Bard's of 1988 ends at 25 behind an approach, at its optimum 17 without).
const (
	ApproachFrom   = 64
	approachStages = 7
	approachRatio  = 0.1
	approachSteps  = 400 // of one stage: what one of a few hundred variables took
	approachFew    = 50  // evaluations of F_mu in one stage, and as many more for each entry of x:
	approachEach   = 10  // one that crawls along the edge of D, where F_mu ends, is left
	// A stage is done when as many steps have lowered F_mu by less than a part of it:
	// well below what the next stage changes, but for the last, which only that of the
	// one before matters to.
	approachSlow  = 5
	approachGains = 1e-6
)

// prepare makes the run begin with an approach, where the lower level has a path.
func (m *goldstein) prepare(ctx context.Context, run *Run) error {
	s := &m.state
	h, ok := run.h.(pathful)
	if !ok || !m.Settings.Continuation || len(run.projector.Balls()) > 0 {
		return nil
	}
	if p := h.Problem(); p.Dx+p.Dy < ApproachFrom {
		return nil
	}
	path := h.Central()
	if path == nil {
		return nil
	}
	pt, err := h.Value(ctx, s.Center.X)
	if err != nil {
		return ignoring(err)
	}
	x := s.Center.X
	scale := path.Scale(x, pt.Lower.Y, pt.Lower.Lambda)
	y := pt.Lower.Y
	path.Begin(y, path.Forces(x, y))
	if !(scale > 0) || path.At(ctx, x, scale) != nil {
		// On the edge of D, or next to it, rows have no inside.
		if x, y, scale, err = m.enter(ctx, run, path, pt); err != nil || x == nil {
			return ignoring(err)
		}
	}
	s.Approach = &approach{X: clone(x), Y: clone(y), Scale: scale, Limit: path.Forces(x, y), Start: s.Center.F}
	m.path = path
	return nil
}

// enter finds a point inside D near the start at which the path begins.
func (m *goldstein) enter(ctx context.Context, run *Run, path *central.Path, from *oracle.Point) (x, y []float64, scale float64, err error) {
	if run.projector.Everywhere() {
		return nil, nil, 0, nil
	}
	for _, share := range []float64{1, 0.3, 0.1, 0.01} {
		inside := run.projector.Inside(from.X, share)
		x = make([]float64, len(from.X))
		if inside.Project(x, from.X) != nil {
			continue
		}
		pt, err := run.h.Value(ctx, x)
		if err != nil {
			if outside(err) {
				continue
			}
			return nil, nil, 0, err
		}
		y := inside.Witness(x)
		if y == nil {
			continue
		}
		y = clone(y)
		if scale = path.Scale(x, pt.Lower.Y, pt.Lower.Lambda); !(scale > 0) {
			continue
		}
		path.Begin(y, path.Forces(x, y))
		if path.At(ctx, x, scale) == nil {
			return x, y, scale, nil
		}
	}
	return nil, nil, 0, nil
}

// advance does one stage of the approach.
func (m *goldstein) advance(ctx context.Context, run *Run) error {
	s := &m.state
	a := *s.Approach
	before := a.X
	if h, ok := run.h.(pathful); ok && m.path == nil {
		m.path = h.Central()
	}
	if m.path == nil {
		return stuck("the state is of a problem whose lower level has a central path")
	}
	mu := a.Scale * math.Pow(approachRatio, float64(a.Stage))
	m.path.Begin(a.Y, a.Limit)
	d := &smoothDescent{run: run, path: m.path, mu: mu, reach: m.Settings.InitialStep * run.size(a.X)}
	x, err := d.minimize(ctx, a.X)
	if err != nil {
		return err
	}
	led := x != nil
	if led {
		a.X, a.Y = x, clone(m.path.Y())
		// Rounding may leave x outside D, where values of F mean nothing.
		inside := make([]float64, len(x))
		var now *Sample
		err := run.Project(inside, x)
		if err == nil {
			now, err = run.Gradient(ctx, inside)
		}
		switch {
		case err != nil && !outside(err):
			return err
		case err == nil && now.F < s.Center.F:
			s.LastStep = distance(now.X, s.Center.X)
			s.Center = *now
		}
		led = err == nil
	}
	if a.Stage++; a.Stage < approachStages && (led || a.Stage == 1) {
		s.Approach = &a
		return nil
	}
	s.Approach = nil
	s.Continued = "the central path of the follower led nowhere lower than the start"
	if s.Center.F < a.Start-run.noise(&s.Center) {
		s.Approached, s.Continued = true, "reached along the central path of the follower, from the start"
	}
	m.rescale(run)
	if moved := distance(a.X, before); led && moved > 0 {
		// What is left of the way is about a tenth of the last stage's.
		s.H = newQuasiNewton(len(a.X), math.Max(s.H.Scale, norm(s.Center.G)/moved))
	}
	return nil
}

// smoothDescent minimizes F_mu over X from a point: a projected limited-memory BFGS
// method. Steps go along the two-loop direction (Nocedal 1980) on the face of X that
// the point is on and that its gradient holds it to, and are projected onto X
// (Bertsekas 1982); lengths satisfy the weak Wolfe conditions, as far as X lets them.
type smoothDescent struct {
	run   *Run
	path  *central.Path
	mu    float64
	reach float64 // longest step

	set   *problem.Set
	pairs []pair
}

type pair struct{ s, y []float64 }

// approachMemory is the number of pairs kept: their products cost as much as the
// factorization of a path's point does.
const approachMemory = 100

// The constants of the line search.
const (
	decreasing = 1e-4
	flattening = 0.5
	mostTrials = 30
)

// minimize returns where descent from x has come to; nil where the path was not found
// at x itself.
func (d *smoothDescent) minimize(ctx context.Context, x []float64) ([]float64, error) {
	d.set = d.run.h.(pathful).Problem().X
	c, err := d.evaluate(ctx, x)
	if err != nil || c == nil {
		return nil, err
	}
	var before []float64
	fresh := true
	limit := d.run.Evaluations + approachFew + approachEach*len(x)
	for range approachSteps {
		if d.run.Evaluations > limit {
			break
		}
		face := d.faceAt(c)
		direction := d.direction(face, c)
		slope := dot(direction, c.G)
		if !(slope < 0) {
			if len(d.pairs) == 0 {
				break
			}
			d.pairs = nil
			continue
		}
		next, err := d.search(ctx, c, direction, slope)
		if err != nil {
			return nil, err
		}
		if next == nil {
			if fresh {
				break
			}
			d.pairs, fresh = nil, true
			continue
		}
		fresh = false
		p := pair{minus(next.X, c.X), minus(next.G, c.G)}
		if dot(p.s, p.y) > 1e-10*norm(p.s)*norm(p.y) {
			if len(d.pairs) == approachMemory {
				d.pairs = d.pairs[1:]
			}
			d.pairs = append(d.pairs, p)
		}
		before = append(before, c.F)
		c = next
		if k := len(before) - approachSlow; k >= 0 && before[k]-c.F <= approachGains*math.Abs(c.F) {
			break
		}
	}
	// The point of the path is that of the last trial.
	if _, err := d.evaluate(ctx, c.X); err != nil {
		return nil, err
	}
	return c.X, nil
}

// evaluate returns F_mu and its gradient at x; nil where the path was not found.
func (d *smoothDescent) evaluate(ctx context.Context, x []float64) (*Sample, error) {
	if err := d.run.check(ctx); err != nil {
		return nil, err
	}
	d.run.Evaluations++
	s := &Sample{X: clone(x), G: make([]float64, len(x))}
	var err error
	if s.F, err = d.path.Evaluate(ctx, s.G, x, d.mu); err != nil {
		if errors.Is(err, central.ErrOff) {
			return nil, nil
		}
		return nil, err
	}
	return s, nil
}

// search returns a lower point along the projected direction; nil where it finds none.
func (d *smoothDescent) search(ctx context.Context, c *Sample, direction []float64, slope float64) (*Sample, error) {
	low, high, t := 0.0, math.Inf(1), 1.0
	if length := norm(direction); length > d.reach {
		t = d.reach / length
	}
	most := 4 * t
	var best *Sample
	x := make([]float64, len(c.X))
	for range mostTrials {
		if err := d.run.projector.ProjectUpper(x, plus(c.X, t, direction)); err != nil {
			if !outside(err) {
				return nil, err
			}
			return best, nil
		}
		s, err := d.evaluate(ctx, x)
		if err != nil {
			return nil, err
		}
		moved := minus(x, c.X)
		if s != nil && s.F < c.F && (best == nil || s.F < best.F) {
			best = s
		}
		switch {
		case s == nil || s.F >= c.F || s.F > c.F+decreasing*dot(c.G, moved):
			high = t
			if t*norm(direction) <= 1e-14*d.run.size(c.X) {
				return best, nil
			}
		case t < most && dot(s.G, moved) < flattening*t*slope:
			low = t
		default:
			return s, nil
		}
		if math.IsInf(high, 1) {
			t = math.Min(2*t, most)
			continue
		}
		if low > 0 && high-low <= 0.1*high {
			return best, nil
		}
		t = (low + high) / 2
	}
	return best, nil
}

// face is the part of X's boundary that a point is held to.
type face struct {
	fixed []bool      // entries at a bound
	rows  [][]float64 // orthonormal basis of the active rows on the other entries
}

// hold is how near a bound or row counts as on it, relative to the size of x: what
// projections round to.
const hold = 1e-12

// faceAt finds the face by the signs of the multipliers that explain the gradient best:
// bounds and rows that would be left by a step downhill do not hold.
func (d *smoothDescent) faceAt(c *Sample) *face {
	n, near := len(c.X), hold*d.run.size(c.X)
	f := &face{fixed: make([]bool, n)}
	d.span(f, c, near)
	for range 10 {
		rest := clone(c.G)
		f.project(rest, true)
		changed := false
		for j, x := range c.X {
			if d.set == nil || d.set.Lo == nil {
				break
			}
			// The multiplier of a bound is what the rows leave of the gradient there.
			held := x <= d.set.Lo[j]+near && rest[j] > 0 || x >= d.set.Hi[j]-near && rest[j] < 0
			if held != f.fixed[j] {
				f.fixed[j], changed = held, true
			}
		}
		if !changed {
			break
		}
		d.span(f, c, near)
	}
	return f
}

// span makes the basis of the rows of X that the point is on and that a step downhill
// would cross, on the entries that are not fixed.
func (d *smoothDescent) span(f *face, c *Sample, near float64) {
	f.rows = nil
	if d.set == nil || d.set.E == nil {
		return
	}
	for i, kind := range d.set.Kind {
		cols, vals := d.set.E.Row(i)
		size, slope := 0.0, 0.0
		row := make([]float64, len(c.X))
		for t, j := range cols {
			size = math.Hypot(size, vals[t])
			slope -= vals[t] * c.G[j]
			if !f.fixed[j] {
				row[j] = vals[t]
			}
		}
		if kind != problem.Equal && (d.set.Rhs[i]-d.set.E.RowDot(i, c.X) > near*size || slope <= 0) {
			continue
		}
		for range 2 {
			for _, q := range f.rows {
				row = plus(row, -dot(row, q), q)
			}
		}
		if rest := norm(row); rest > 1e-10*size {
			for j := range row {
				row[j] /= rest
			}
			f.rows = append(f.rows, row)
		}
	}
}

// project takes out of v what is normal to the face; of the rows alone where the bounds
// are asked for.
func (f *face) project(v []float64, bounds bool) {
	for _, q := range f.rows {
		t := dot(v, q)
		for j, w := range q {
			v[j] -= t * w
		}
	}
	if bounds {
		return
	}
	for j, fixed := range f.fixed {
		if fixed {
			v[j] = 0
		}
	}
}

// direction is minus the inverse curvature of the pairs, on the face, times the
// gradient; without pairs one of the length of the reach.
func (d *smoothDescent) direction(f *face, c *Sample) []float64 {
	v := make([]float64, len(c.G))
	for j, g := range c.G {
		if !f.fixed[j] {
			v[j] = -g
		}
	}
	f.project(v, false)
	type used struct {
		pair
		rho, alpha float64
	}
	var on []used
	for _, p := range d.pairs {
		// Products on the face are those of vectors of which one is in it.
		s, y := p.s, p.y
		if len(f.rows) > 0 {
			s = clone(s)
			f.project(s, false)
		}
		sy, ss, yy := 0.0, 0.0, 0.0
		for j, fixed := range f.fixed {
			if !fixed {
				sy += s[j] * y[j]
				ss += s[j] * s[j]
				yy += y[j] * y[j]
			}
		}
		if sy > 1e-10*math.Sqrt(ss*yy) && sy > 0 {
			on = append(on, used{pair{s, y}, 1 / sy, 0})
		}
	}
	if len(on) == 0 {
		if length := norm(v); length > 0 {
			for j := range v {
				v[j] *= d.reach / length
			}
		}
		return v
	}
	for i := len(on) - 1; i >= 0; i-- {
		u := &on[i]
		u.alpha = u.rho * masked(u.s, v, f.fixed)
		for j, fixed := range f.fixed {
			if !fixed {
				v[j] -= u.alpha * u.y[j]
			}
		}
	}
	last := on[len(on)-1]
	scale := 1 / (last.rho * masked(last.y, last.y, f.fixed))
	for j := range v {
		v[j] *= scale
	}
	for i := range on {
		u := &on[i]
		beta := u.rho * masked(u.y, v, f.fixed)
		for j, fixed := range f.fixed {
			if !fixed {
				v[j] += (u.alpha - beta) * u.s[j]
			}
		}
	}
	f.project(v, false)
	return v
}

// masked is the product over the entries that are not fixed.
func masked(a, b []float64, fixed []bool) float64 {
	s := 0.0
	for j, v := range a {
		if !fixed[j] {
			s += v * b[j]
		}
	}
	return s
}
