package lower

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// The forces on one entry of y may be larger by ten digits than those on another, as far out along
// a ray of x: tolerances and rounding relative to the largest force then say nothing of the
// smallest. An entry that is stationary beside forces of its own is left where it is, then, and
// the others are solved without it, beside theirs: a step of Gauss and Seidel, which counts only if
// it leaves the large ones what they were.

// far is how much larger the forces on an entry are than those on one that they hide: with less
// the tolerance tells both.
const far = 1e3

// outweighed reports that some entries are not stationary beside their own forces, up to a part
// `blurred` of these, while others have far larger ones, of which it tells. What forces an entry is
// made of is not known; they are at least as large as what is seen of them: the gradient, the pull
// of rows and what curvature makes of y.
func (g *stage) outweighed(s *Solution) (large []bool, ok bool) {
	w, q := &g.active, &g.poly
	rest, forces := slices.Clone(w.grad), make([]float64, q.n)
	for j, v := range w.grad {
		forces[j] = math.Abs(v)
	}
	for i, l := range s.Lambda {
		if l == 0 {
			continue
		}
		cols, vals := q.rows.B.Row(i)
		for k, j := range cols {
			rest[j] -= l * vals[k]
			forces[j] = math.Max(forces[j], math.Abs(l*vals[k]))
		}
	}
	// What is small beside the largest y may be off its bounds, too.
	off := make([]bool, q.n)
	sizes := q.sizes(nil, s.Y)
	for i, j := range q.bound {
		if j < 0 {
			continue
		}
		slack, near := q.slack(i, s.Y), q.rounding(i, s.Y)+feasibility*(sizes[q.of[i]]+q.size[i])
		off[j] = off[j] || slack < -near || slack > near && s.Lambda[i] > 0
	}
	// open reports an entry that its forces do not show to be stationary.
	open := func(j int) bool { return off[j] || math.Abs(rest[j]) > blurred*forces[j] }
	some := false
	for j := range rest {
		some = some || off[j] || math.Abs(rest[j]) > blurred*w.known.Mu*math.Abs(s.Y[j]) && open(j)
	}
	if !some {
		return nil, false
	}
	bent := make([]float64, q.n)
	if h := w.curvature.hessian; h != nil {
		h.multiply(bent, s.Y)
	} else {
		if w.curvature.gradients += 2; !w.changeBySize(bent, s.Y, func(int) float64 { return 1 }) {
			return nil, false
		}
	}
	most := 0.0
	for j, v := range bent {
		if forces[j] = math.Max(forces[j], math.Abs(v)); open(j) {
			most = math.Max(most, forces[j])
		}
	}
	large = make([]bool, q.n)
	for j, v := range forces {
		large[j] = most > 0 && v > far*most
		ok = ok || large[j]
	}
	return large, ok
}

// apart solves for the entries that are not large, the others staying where they are, and makes
// the solution that of the whole. Where that fails, or the large ones are stationary no longer, it
// says so and the solution stays.
func (g *stage) apart(ctx context.Context, s *Solution, large []bool) bool {
	w, q := &g.active, &g.poly
	part, entries, of := g.small(s, large)
	if len(entries) == 0 {
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
	for t, j := range entries {
		y[j] = inner.Y[t]
	}
	working := w.face.rows(nil)
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
	if !g.stay(large, working, grad, lambda) {
		return false
	}
	copy(s.Y, y)
	copy(s.Lambda, lambda)
	copy(w.grad, grad)
	w.value, s.Value = value, value
	weak, dependent := rowsBut(s.Weak, of), rowsBut(s.Dependent, of)
	w.gather(working)
	s.assess(q, &w.face, w.grad, linalg.Norm(w.grad), w.known)
	// Which rows hold is told by forces beside their like.
	s.Weak, s.Dependent, s.Active = weak, dependent, rowsBut(s.Active, of)
	for _, list := range []struct {
		to   *[]int
		rows []int
	}{{&s.Weak, inner.Weak}, {&s.Dependent, inner.Dependent}, {&s.Active, inner.Active}} {
		for _, t := range list.rows {
			*list.to = append(*list.to, of[t])
		}
		slices.Sort(*list.to)
	}
	s.MinMultiplier = math.Inf(1)
	for _, i := range s.Active {
		if !q.equal(i) {
			s.MinMultiplier = math.Min(s.MinMultiplier, s.Lambda[i])
		}
	}
	s.Status, s.Reason = Solved, "stationary, entry by entry, beside the forces of its own"
	return true
}

// rowsBut are the given rows without those of a part.
func rowsBut(rows, part []int) (out []int) {
	for _, i := range rows {
		if !slices.Contains(part, i) {
			out = append(out, i)
		}
	}
	return out
}

// small is the problem of the entries that are not large, at the y of the solution, with these
// entries and the rows of the whole that it has.
func (g *stage) small(s *Solution, large []bool) (part *problem.Problem, entries, of []int) {
	q := &g.poly
	place := make([]int, q.n)
	for j := range place {
		if !large[j] {
			place[j] = len(entries)
			entries = append(entries, j)
		}
	}
	rows := &problem.Rows{}
	var b []sparse.Entry
	for i := range q.m {
		side, involved := q.rhs[i], false
		cols, vals := q.rows.B.Row(i)
		for k, j := range cols {
			if large[j] {
				side -= vals[k] * s.Y[j]
			} else if vals[k] != 0 {
				involved = true
				b = append(b, sparse.Entry{Row: len(of), Col: place[j], Val: vals[k]})
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

// stay reports whether large entries are stationary with a gradient and multipliers (len m), up to
// the tolerance of solvers: it sets those of the bounds that hold them.
func (g *stage) stay(large []bool, working []int, grad, lambda []float64) bool {
	q := &g.poly
	for j := range large {
		if !large[j] {
			continue
		}
		bound, rest, forces := -1, grad[j], math.Abs(grad[j])
		over, vals := q.cols.Row(j)
		for k, i := range over {
			if q.bound[i] == j && slices.Contains(working, i) {
				bound = i
				continue
			}
			rest -= vals[k] * lambda[i]
			forces = math.Max(forces, math.Abs(vals[k]*lambda[i]))
		}
		if bound < 0 {
			before := g.active.grad[j]
			if forces = math.Max(forces, math.Abs(before)); math.Abs(rest) > math.Max(defaultTolerance*forces, 2*math.Abs(before)) {
				return false
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
	for t, j := range o.entries {
		o.y[j] = y[t]
	}
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
