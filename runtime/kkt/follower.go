package kkt

import (
	"cmp"
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Follower solves the lower level of a system at one x: a convex quadratic or linear program in y, whose
// optimal set may hold more than one answer. It keeps factors and the last basis between calls, and is not safe for
// concurrent use.
type Follower struct {
	s       *System
	program *activeset.Program
	solver  *activeset.Apart
	part    []int // of each entry of y, its block; nil where the program is solved as a whole
	last    *activeset.Basis
	bounds  []int // of each entry of y and side: the lower row behind Lo (2j) and Hi (2j+1); -1 for none
	rowOf   []int // of each row of the program, that of the relaxation
	refuted []float64
	ray     []float64 // of the last program without a bound
	sharp   bool
	// Work is what the solves have taken so far (activeset.Solution.Work).
	Work int64
}

// FollowerStatus is how a lower solve ended.
type FollowerStatus = activeset.Status

// NewFollower prepares the lower level of s.
func NewFollower(s *System) (*Follower, error) {
	f := &Follower{s: s, bounds: slices.Repeat([]int{-1}, 2*s.Ny)}
	for _, p := range s.Pairs {
		if v := p.Slack.Var; v >= 0 {
			k := 2 * (v - s.Nx)
			if p.Slack.Upper {
				k++
			}
			f.bounds[k] = p.Row
		}
	}
	b := activeset.Bounds{Lo: append([]float64(nil), s.Relaxation.Lo[s.Nx:s.Nx+s.Ny]...), Hi: append([]float64(nil), s.Relaxation.Hi[s.Nx:s.Nx+s.Ny]...)}
	a := sparse.Empty(s.Ny)
	for r, o := range s.Origin {
		if o.Kind != LowerRow {
			continue
		}
		for j, v := range s.Relaxation.A.Entries(r) {
			if j >= s.Nx && j < s.Nx+s.Ny {
				a.Append(j-s.Nx, v)
			}
		}
		a.EndRow()
		b.RowLo, b.RowHi = append(b.RowLo, s.Relaxation.RowLo[r]), append(b.RowHi, s.Relaxation.RowHi[r])
		f.rowOf = append(f.rowOf, r)
	}
	f.program = &activeset.Program{N: s.Ny, C: make([]float64, s.Ny), A: a, Bounds: b}
	f.program.Q = f.scaledHessian(s.H)
	blocks := each.Of(s.blocks, func(b Block) []int { return b.Y })
	if len(blocks) > 1 {
		f.part = s.part
	}
	var err error
	f.solver, err = activeset.NewApart(f.program, blocks)
	return f, err
}

// joined solves the program as a whole from now on where a Hessian joins blocks.
func (f *Follower) joined(h *sparse.CSR) error {
	for i := 0; f.part != nil && i < h.Rows; i++ {
		for j := range h.Nonzeros(i) {
			if f.part[i] != f.part[j] {
				f.part = nil
				var err error
				f.solver, err = activeset.NewApart(f.program, nil)
				return err
			}
		}
	}
	return nil
}

// at is the program's objective and bounds at x: rows move by A x.
func (f *Follower) at(x []float64) (c []float64, b *activeset.Bounds) {
	s := f.s
	c = append([]float64(nil), s.Q...)
	for j := range c {
		c[j] = (c[j] + s.G.RowDot(j, x)) * s.ColScale[s.Nx+j]
	}
	b = &activeset.Bounds{Lo: f.program.Lo, Hi: f.program.Hi}
	for k, r := range f.rowOf {
		i := s.Origin[r].Index
		moved := s.P.Rows.A.RowDot(i, x) * s.RowScale[r]
		b.RowLo, b.RowHi = append(b.RowLo, f.program.RowLo[k]+moved), append(b.RowHi, f.program.RowHi[k]+moved)
	}
	return c, b
}

// Solve is z = (x, y, lambda, u) with an answer of the follower to x and multipliers of its rows. Other statuses than Optimal come without z: at this x no
// y is feasible, or g falls without bound.
func (f *Follower) Solve(ctx context.Context, x []float64) (z []float64, status activeset.Status) {
	c, b := f.at(x)
	z, status = f.feasible(ctx, x, f.program.Q, c, b)
	for k := 0; k < len(c) && status == activeset.Unbounded && f.heldBack(x, c); k++ {
		z, status = f.feasible(ctx, x, f.program.Q, c, b)
	}
	return z, status
}

// heldBack moves the linear terms at x, k products of rounded numbers in entry j, up to (k+2) units of rounding of their terms each, as widened moves sides of rows, against the last ray, and reports whether g may be constant along
// it then: at the edge of the x to which the follower has an answer, as in y >= 0 with g = (x[1] + x[2] - 0.3) y, it has one.
func (f *Follower) heldBack(x, c []float64) bool {
	s, fall := f.s, 0.0
	moved := slices.Clone(c)
	for j, t := range f.ray {
		if t == 0 {
			continue
		}
		cols, _ := s.G.Row(j)
		by := float64(len(cols)+2) * 0x1p-53 * s.G.AddTerms(math.Abs(s.Q[j]), j, x) * f.Unit(j)
		if moved[j] += math.Copysign(by, t); math.Abs(c[j]) <= by && math.IsInf(f.program.Lo[j], -1) && math.IsInf(f.program.Hi[j], 1) {
			moved[j] = 0 // else it falls the other way
		}
		fall += moved[j] * t
	}
	copy(c, moved)
	return fall >= 0
}

// feasible is minimize at an x where rows hold to the rounding of their terms.
func (f *Follower) feasible(ctx context.Context, x []float64, h *sparse.CSR, c []float64, b *activeset.Bounds) (z []float64, status activeset.Status) {
	if z, status = f.minimize(ctx, x, h, c, b); status != activeset.Infeasible {
		return z, status
	}
	refuted := f.refuted
	if z, status = f.minimize(ctx, x, h, c, f.widened(x, b)); status == activeset.Infeasible {
		f.refuted = refuted
	}
	return z, status
}

// Loss is how much more g is at y than at the follower's best answer to x, by signs that rounding alone leaves open: ties are decided to Tolerance of their terms, and an answer that is one
// to that may lose as much. Beside it is what its terms leave open, up to which it is 0; NaN where no best answer was found.
func (f *Follower) Loss(ctx context.Context, x, y []float64) (loss, open float64) {
	last := f.last
	f.sharp = true
	z, status := f.Solve(ctx, x)
	f.sharp, f.last = false, last
	if status != activeset.Optimal {
		return math.NaN(), 0
	}
	s, size := f.s, 0.0 // of the terms of g
	for j, best := range s.Y(z) {
		step, most := y[j]-best, math.Max(math.Abs(y[j]), math.Abs(best))
		size += math.Abs(s.Q[j]) * most
		loss += s.Q[j] * step
		for c, v := range s.G.Entries(j) {
			loss += v * x[c] * step
			size += math.Abs(v*x[c]) * most
		}
		for c, v := range s.H.Entries(j) { // of 1/2 y'Hy: H times the mean of both answers
			loss += v * (y[c] + s.Y(z)[c]) / 2 * step
			size += math.Abs(v*y[c]) * most
		}
	}
	// A loss is also what the multipliers weigh of the slacks of rows, each of which is a difference of its terms.
	rows := s.P.Rows
	for i, t := range s.Lambda(z) {
		if t != 0 {
			size += math.Abs(t) * (math.Abs(rows.Rhs[i]) + rows.A.RowTerms(i, x) + rows.B.RowTerms(i, y))
		}
	}
	// Both answers hold to the accuracy of programs: of several best ones another may be the one that is compared with, whose g is the same to that.
	if open = tolerance.Feasibility * size; loss <= open {
		return 0, open
	}
	return loss, open
}

// widened moves the sides of rows at x outward by the rounding of their terms, which are products of rounded numbers: k of them err by (k+2) units of it (Higham, Accuracy and
// Stability of Numerical Algorithms, section 3.1). A row that holds to that holds.
func (f *Follower) widened(x []float64, b *activeset.Bounds) *activeset.Bounds {
	for k, r := range f.rowOf {
		i := f.s.Origin[r].Index
		cols, _ := f.s.P.Rows.A.Row(i)
		terms := f.s.P.Rows.A.AddTerms(math.Abs(f.s.P.Rows.Rhs[i]), i, x)
		by := float64(len(cols)+2) * 0x1p-53 * terms * f.s.RowScale[r]
		b.RowLo[k], b.RowHi[k] = b.RowLo[k]-by, b.RowHi[k]+by
	}
	return b
}

// Minimize is Solve with 1/2 y'H y + c'y in the place of g, in the model's units: H symmetric and positive semidefinite, len c is Ny.
func (f *Follower) Minimize(ctx context.Context, x []float64, h *sparse.CSR, c []float64) (z []float64, status activeset.Status) {
	cost := each.Below(len(c), func(j int) float64 { return c[j] * f.Unit(j) })
	_, b := f.at(x)
	if f.joined(h) != nil {
		return nil, activeset.Failed
	}
	return f.feasible(ctx, x, f.scaledHessian(h), cost, b)
}

// scaledHessian is a Hessian in y in the relaxation's units; nil for 0.
func (f *Follower) scaledHessian(h *sparse.CSR) *sparse.CSR {
	if h.NNZ() == 0 {
		return nil
	}
	return h.InUnits(f.s.ColScale[f.s.Nx : f.s.Nx+f.s.Ny])
}

// once solves a program of its own.
func (f *Follower) once(ctx context.Context, p *activeset.Program) *activeset.Solution {
	solver, err := apart(p)
	if err != nil {
		return &activeset.Solution{Status: activeset.Failed}
	}
	sol := solver.Solve(ctx, nil, nil, activeset.Options{})
	f.Work += sol.Work
	return sol
}

// minimize solves the program with another objective and other bounds.
func (f *Follower) minimize(ctx context.Context, x []float64, h *sparse.CSR, c []float64, b *activeset.Bounds) (z []float64, status activeset.Status) {
	f.solver.SetObjective(h, c)
	sol := f.solver.Solve(ctx, b, f.last, activeset.Options{Sharp: f.sharp})
	f.Work += sol.Work
	f.refuted = nil
	if sol.Status == activeset.Infeasible {
		f.refuted = f.refutation(sol)
	}
	f.ray = sol.Ray
	if sol.Status != activeset.Optimal {
		return nil, sol.Status
	}
	f.last = sol.Basis
	return f.join(x, sol), sol.Status
}

// apart is the solver of a program part by part, as nothing joins them.
func apart(p *activeset.Program) (*activeset.Apart, error) {
	return activeset.NewApart(p, sparse.Apart(cmp.Or(p.Q, sparse.FromEntries(p.N, p.N, nil)), p.A))
}

// Rates are how an answer and its multipliers move along dx (len Nx), len N, where b bounds the directions of the relaxation's rows and columns along which they stay what they are to first order: the rates' own KKT system, the pairs of which are
// those that b leaves both sides of, is that of a convex quadratic program in y's (Ralph and Dempe 1995), and each of its solutions has a side 0 where another's is positive. Other statuses than Optimal: there are none.
func (f *Follower) Rates(ctx context.Context, dx []float64, b *activeset.Bounds) (dz []float64, status activeset.Status) {
	s := f.s
	c := each.Below(s.Ny, func(j int) float64 { return s.G.RowDot(j, dx) * f.Unit(j) })
	own := &activeset.Bounds{Lo: b.Lo[s.Nx : s.Nx+s.Ny], Hi: b.Hi[s.Nx : s.Nx+s.Ny]}
	for _, r := range f.rowOf {
		moved := s.P.Rows.A.RowDot(s.Origin[r].Index, dx) * s.RowScale[r]
		own.RowLo, own.RowHi = append(own.RowLo, b.RowLo[r]+moved), append(own.RowHi, b.RowHi[r]+moved)
	}
	f.solver.SetObjective(f.program.Q, c)
	sol := f.solver.Solve(ctx, own, nil, activeset.Options{})
	if f.Work += sol.Work; sol.Status != activeset.Optimal {
		return nil, sol.Status
	}
	dz = make([]float64, s.N)
	copy(dz, dx)
	f.place(dz, sol.Z)
	f.weights(s.Lambda(dz), sol.Row, sol.Bound)
	return dz, sol.Status
}

// join is z of a solution in the program's units.
func (f *Follower) join(x []float64, sol *activeset.Solution) []float64 {
	s := f.s
	z := make([]float64, s.N)
	copy(z, x)
	f.place(z, sol.Z)
	s.press(x, s.Y(z))
	lambda := s.Lambda(z)
	f.weights(lambda, sol.Row, sol.Bound)
	for i, kind := range s.P.Rows.Kind {
		if kind == problem.AtMost {
			lambda[i] = math.Max(0, lambda[i])
		}
	}
	if e := s.P.X.Extended; e.Extra() > 0 {
		copy(z[s.Nx+s.Ny+s.M:], e.Least(x)[s.Nx:])
	}
	return z
}

// Refuted are weights of the rows (len M) that show that no y is feasible where the last Solve found none: all >= 0 on inequalities; nil where a
// row contradicts itself.
func (f *Follower) Refuted() []float64 { return f.refuted }

// refutation turns Farkas weights of the program into those of rows.
func (f *Follower) refutation(sol *activeset.Solution) []float64 {
	if sol.FarkasRow == nil && sol.FarkasBound == nil {
		return nil
	}
	out := make([]float64, f.s.M)
	f.weights(out, sol.FarkasRow, sol.FarkasBound)
	return out
}

// weights sets dst (len M) to weights of the program's rows and bounds, as those of the lower rows behind them.
func (f *Follower) weights(dst, rows, bounds []float64) {
	for k, r := range f.rowOf {
		dst[f.s.Origin[r].Index] = rows[k] * f.s.RowScale[r]
	}
	for j, v := range bounds {
		side := 2 * j
		if v < 0 {
			side++
		}
		if i := f.bounds[side]; i >= 0 && v != 0 {
			_, coef := f.s.P.Rows.Bound(i)
			dst[i] = v / f.Unit(j) / coef
		}
	}
}

// Unit is the length of entry j of y in the relaxation's units.
func (f *Follower) Unit(j int) float64 { return f.s.ColScale[f.s.Nx+j] }
