package lower

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// The forces on one entry of y may be larger by ten digits than those on another, as far out along
// a ray of x: tolerances and rounding relative to the largest force then say nothing of the
// smallest. An entry that is stationary beside forces of its own is left where it is, then, and
// the others are solved without it, beside theirs: a step of Gauss and Seidel, which counts only if
// it leaves the large ones what they were.

// badlyScaled reports that some entries are not stationary beside their own forces, up to a part
// tolerance.Sign of these and by more than rounding, while others have far larger ones: of these it tells
// the forces, which are 0 for the others. What forces an entry is made of is not known; they are at least as large as what is seen of
// them: the gradient, the forces of rows and what curvature, at least mu, makes of y: product sets its
// argument to H y, or reports that it is not known. rest is that of assess.
func (s *Solution) badlyScaled(q *polyhedron, obj Objective, grad, rest []float64, mu float64, product func(hy []float64) bool) (large []float64, ok bool) {
	forces := make([]float64, q.n)
	off := s.offBounds(q)
	unresolved := func(j int) bool { return off[j] || math.Abs(rest[j]) > tolerance.Sign*forces[j] }
	some := func() bool {
		for j := range rest {
			if off[j] || math.Abs(rest[j]) > tolerance.Sign*mu*math.Abs(s.Y[j]) && unresolved(j) {
				return true
			}
		}
		return false
	}
	for j, v := range grad {
		forces[j] = math.Abs(v)
	}
	if !some() {
		return nil, false
	}
	for i, l := range s.Lambda {
		if l == 0 {
			continue
		}
		for j, v := range q.rows.B.Entries(i) {
			if t := math.Abs(l * v); t > forces[j] {
				forces[j] = t
			}
		}
	}
	hy := make([]float64, q.n)
	if !some() || !product(hy) {
		return nil, false
	}
	least := math.Inf(1)
	for j, v := range hy {
		if forces[j] = math.Max(forces[j], math.Abs(v)); unresolved(j) {
			least = math.Min(least, forces[j])
		}
	}
	hides := false
	for j, v := range forces {
		if !hides && v > tolerance.Hiding*least { // one that is all rounding does not
			rounding := roundingOf(obj, j, s.Y)
			hides = v > tolerance.Margin*rounding || math.IsInf(rounding, 1)
		}
	}
	if !hides {
		return nil, false
	}
	most, joined := 0.0, s.joined(q, forces)
	for j := range rest {
		if unresolved(j) && (off[j] || math.Abs(rest[j]) > tolerance.Margin*(roundingOf(obj, j, s.Y)+q.sums()*joined[j])) {
			most = math.Max(most, forces[j])
			ok = true
		}
	}
	if !ok {
		return nil, false
	}
	large, ok = make([]float64, q.n), false
	for j, v := range forces {
		if v > tolerance.Hiding*most {
			large[j], ok = v, true
		}
	}
	return large, ok
}

// hidden takes back Solved where entries are badly scaled and cannot be solved apart.
func (s *Solution) hidden() {
	if s.Status == Solved {
		s.Status, s.Reason = Inaccurate, "the forces on some entries of y are larger by so much that those on others are lost in their rounding"
	}
}

// offBounds reports the entries that are beyond a bound, or short of one that has a multiplier, by more than
// rounding: what is small beside the largest y may be so.
func (s *Solution) offBounds(q *polyhedron) []bool {
	off, sizes := make([]bool, q.n), q.sizes(nil, s.Y)
	for i, j := range q.bound {
		if j < 0 {
			continue
		}
		slack, near := q.slack(i, s.Y), q.near(i, s.Y, sizes)
		off[j] = off[j] || slack < -near || slack > near && s.Lambda[i] > 0
	}
	return off
}

// joined is, of each entry, the largest of the forces on those that rows with a multiplier join to it, and on
// itself where there are such rows: multipliers are known to the rounding of these. It is 0 for entries that only
// bounds hold; and those that a bound holds tell nothing of multipliers.
func (s *Solution) joined(q *polyhedron, forces []float64) []float64 {
	classes, some, held := sparse.NewClasses(q.n), make([]bool, q.n), make([]bool, q.n)
	for _, i := range s.Active {
		if j := q.bound[i]; j >= 0 {
			held[j] = true
		}
	}
	for i := range q.m {
		if q.bound[i] >= 0 || !q.equal(i) && s.Lambda[i] == 0 && !slices.Contains(s.Active, i) && !slices.Contains(s.Weak, i) {
			continue
		}
		cols, _ := q.rows.B.Row(i)
		first := -1
		for _, j := range cols {
			if held[j] {
				continue
			}
			if some[j] = true; first < 0 {
				first = j
			}
			classes.Join(first, j)
		}
	}
	largest, out := make([]float64, q.n), make([]float64, q.n)
	for j, v := range forces {
		largest[classes.Of(j)] = math.Max(largest[classes.Of(j)], v)
	}
	for j := range out {
		if some[j] {
			out[j] = largest[classes.Of(j)]
		}
	}
	return out
}

// sums is the rounding of a sum of as many terms as y has entries, relative to the largest, with room for
// what solutions of systems of them make of it.
func (q *polyhedron) sums() float64 { return 64 * float64(q.n) * tolerance.Roundoff }

// roundingOf is the rounding in entry j of the gradient of an objective at y; +Inf where it is not known.
func roundingOf(obj Objective, j int, y []float64) float64 {
	if o, ok := obj.(*among); ok {
		o.at(y)
		return roundingOf(o.of, o.entries[j], o.y)
	}
	g, slope := plusLinear(obj)
	if g == nil {
		return math.Inf(1)
	}
	e := make([]float64, len(y))
	e[j] = 1
	lo, hi, ok := slopeOf(g, e, y)
	if !ok || !(hi-lo < math.Inf(1)) {
		return math.Inf(1)
	}
	if slope != nil {
		hi += tolerance.Roundoff * math.Abs(slope[j])
	}
	return hi - lo
}

// badlyScaled is that of the solution where the stage stands.
func (g *stage) badlyScaled(s *Solution, rest []float64) (large []float64, ok bool) {
	w := &g.active
	return s.badlyScaled(&g.poly, w.obj, w.grad, rest, w.known.Mu, func(hy []float64) bool {
		// Not by an H that is known: what rounding has left in it beside larger entries, times these entries of y, is no term.
		w.curvature.gradients += 2
		return w.changeBySize(hy, s.Y, func(int) float64 { return 1 })
	})
}

// apart solves for the entries that are not large, the others staying where they are, and makes
// the solution that of the whole. Where that fails, or the large ones are stationary no longer, it
// says so and the solution stays.
func (g *stage) apart(ctx context.Context, s *Solution, large []float64) bool {
	w, q := &g.active, &g.poly
	part, entries, of := g.small(s, large)
	if len(entries) == 0 || len(entries) == g.poly.n {
		return false
	}
	warm := &Solution{Y: make([]float64, len(entries)), Lambda: make([]float64, len(of))}
	for t, j := range entries {
		warm.Y[t] = s.Y[j]
	}
	for t, i := range of {
		if warm.Lambda[t] = s.Lambda[i]; slices.Contains(s.Active, i) {
			warm.Active = append(warm.Active, t)
		}
	}
	settings := defaultALM()
	settings.Recycle = false
	inner := newALM(settings).Solve(ctx, part, newAmong(w.obj, s.Y, entries), q.x, warm)
	if inner.Status != Solved {
		return false
	}
	y, lambda := slices.Clone(s.Y), slices.Clone(s.Lambda)
	linalg.Scatter(y, entries, inner.Y)
	working := w.face.rows()
	for t, i := range of {
		lambda[i] = inner.Lambda[t]
		working = slices.DeleteFunc(working, func(k int) bool { return k == i && !slices.Contains(inner.Working, t) })
		if slices.Contains(inner.Working, t) && !slices.Contains(working, i) {
			working = append(working, i)
		}
	}
	slices.Sort(working)
	grad := make([]float64, q.n)
	value := w.obj.ValueGrad(grad, y)
	if !g.stay(large, working, y, grad, lambda) {
		return false
	}
	copy(s.Y, y)
	copy(s.Lambda, lambda)
	copy(w.grad, grad)
	w.value, s.Value = value, value
	w.gather(working)
	s.assess(q, &w.face, w.grad, linalg.Norm(w.grad), w.known)
	s.Status, s.Reason = Solved, "stationary, entry by entry, beside the forces of its own"
	return true
}

// held is what of large entries bounds hold: curvature does not move these when others move.
func (g *stage) held(large []float64) []float64 {
	q, held := &g.poly, make([]float64, len(large))
	for i, j := range q.bound {
		if j >= 0 && g.active.face.holds(i) {
			held[j] = large[j]
		}
	}
	return held
}

// small is the problem of the entries that are not large, at the y of the solution, with these
// entries and the rows of the whole that it has.
func (g *stage) small(s *Solution, large []float64) (part *problem.Problem, entries, of []int) {
	q := &g.poly
	place := make([]int, q.n)
	for j := range place {
		if large[j] == 0 {
			place[j] = len(entries)
			entries = append(entries, j)
		}
	}
	rows := &problem.Rows{}
	var b []sparse.Entry
	for i := range q.m {
		side, involved := q.rhs[i], false
		for j, v := range q.rows.B.Entries(i) {
			if large[j] > 0 {
				side -= v * s.Y[j]
			} else if v != 0 {
				involved = true
				b = append(b, sparse.Entry{Row: len(of), Col: place[j], Val: v})
			}
		}
		if involved {
			rows.Kind = append(rows.Kind, q.rows.Kind[i])
			rows.Rhs = append(rows.Rhs, -side)
			rows.Name = append(rows.Name, q.rows.RowName(i))
			of = append(of, i)
		}
	}
	rows.A = sparse.FromEntries(len(of), len(q.x), nil)
	rows.B = sparse.FromEntries(len(of), len(entries), b)
	return &problem.Problem{Dx: len(q.x), Dy: len(entries), Rows: rows}, entries, of
}

// stay reports whether entries of large forces are stationary at y with a gradient and multipliers (len m), up
// to the tolerance of solvers beside these forces or the gradient's rounding: it sets those of the bounds that hold them.
func (g *stage) stay(large []float64, working []int, y, grad, lambda []float64) bool {
	q := &g.poly
	columns := q.transposed()
	for j := range large {
		if large[j] == 0 {
			continue
		}
		bound, rest := -1, grad[j]
		for i, v := range columns.Entries(j) {
			if q.bound[i] == j && slices.Contains(working, i) {
				bound = i
				continue
			}
			rest -= v * lambda[i]
		}
		if bound < 0 {
			if math.Abs(rest) > tolerance.SolveAccuracy*large[j] {
				if rounding := roundingOf(g.active.obj, j, y); math.IsInf(rounding, 1) || math.Abs(rest) > tolerance.Margin*rounding {
					return false
				}
			}
			continue
		}
		if lambda[bound] = rest / q.coef[bound]; lambda[bound] < 0 && !q.equal(bound) {
			return false
		}
	}
	return true
}

// among is an objective as a function of some entries of y, the others being constants.
type among struct {
	of      Objective
	entries []int
	y, grad []float64 // of the whole
}

func newAmong(of Objective, y []float64, entries []int) *among {
	return &among{of: of, entries: entries, y: slices.Clone(y), grad: make([]float64, len(y))}
}

func (o *among) at(y []float64) {
	linalg.Scatter(o.y, o.entries, y)
}

func (o *among) read(dst []float64) {
	for t, j := range o.entries {
		dst[t] = o.grad[j]
	}
}

// Value implements Objective.
func (o *among) Value(y []float64) float64 {
	o.at(y)
	return o.of.Value(o.y)
}

// ValueGrad implements Objective.
func (o *among) ValueGrad(dst, y []float64) float64 {
	o.at(y)
	v := o.of.ValueGrad(o.grad, o.y)
	o.read(dst)
	return v
}

// Grad implements gradient.
func (o *among) Grad(dst, y []float64) {
	o.at(y)
	gradOf(o.of, o.grad, o.y)
	o.read(dst)
}

// Curvature implements knownObjective: a part of a Hessian is no flatter and no steeper than the
// whole. What solvers keep of one belongs to the whole.
func (o *among) Curvature() Curvature {
	c := curvatureOf(o.of)
	c.Fixed = false
	return c
}
