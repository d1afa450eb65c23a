package activeset

import (
	"context"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Solve is that of Solver.
func (s *Condensed) Solve(ctx context.Context, b *Bounds, warm *Basis, opts Options) *Solution {
	c := s.of
	if b == nil {
		b = &c.program.Bounds
	}
	if b.check(c.program.N, c.program.rows()) != nil {
		return &Solution{Status: Failed}
	}
	if !s.fits(b) {
		return s.asItStands(ctx, b, warm, opts)
	}
	inner := opts
	if opts.Cutoff != nil {
		inner.Cutoff = new(*opts.Cutoff - s.constant)
	}
	kept := s.bounds(b)
	sol := s.inner.Solve(ctx, &kept, c.lesser(warm), inner)
	out := s.whole(sol, b)
	if out.Status == Optimal && !s.refined(sol, out, b) || out.Status == Unbounded || out.Status == Infeasible && !s.proves(out, b) { // rays are those of the program as it stands
		again := s.asItStands(ctx, b, out.Basis, opts)
		again.Work += out.Work
		return again
	}
	return out
}

// asItStands solves the program itself.
func (s *Condensed) asItStands(ctx context.Context, b *Bounds, warm *Basis, opts Options) *Solution {
	if s.plain == nil {
		p := *s.of.program
		p.Q, p.C = s.objective.Hess, s.objective.Lin
		plain, err := New(&p)
		if err != nil {
			panic(err) // its condensation was made
		}
		s.plain = plain
	}
	return s.plain.Solve(ctx, b, warm, opts)
}

// lesser is a basis of the condensed program.
func (c *Condensation) lesser(b *Basis) *Basis {
	if b == nil || len(b.Var) != c.program.N || len(b.Row) != c.program.rows() {
		return nil
	}
	return &Basis{Var: linalg.Gather(b.Var, c.cols.kept), Row: linalg.Gather(b.Row, c.rows.kept)}
}

// whole is a solution of the program from one of the condensed one.
func (s *Condensed) whole(in *Solution, b *Bounds) *Solution {
	c := s.of
	n, m := c.program.N, c.program.rows()
	out := &Solution{Status: in.Status, Iterations: in.Iterations, Work: in.Work}
	if in.Basis != nil {
		out.Basis = &Basis{Var: make([]State, n), Row: make([]State, m)}
		linalg.Scatter(out.Basis.Var, c.cols.kept, in.Basis.Var)
		linalg.Scatter(out.Basis.Row, c.rows.kept, in.Basis.Row)
		for _, i := range c.rows.gone {
			out.Basis.Row[i] = AtLower
		}
	}
	if in.FarkasRow != nil {
		out.FarkasBound = make([]float64, n)
		left := make([]float64, n)
		out.FarkasRow = c.multipliers(in.FarkasRow, left)
		for k, j := range c.cols.kept {
			if in.FarkasBound[k] != 0 {
				out.FarkasBound[j] = left[j]
			}
		}
	}
	if in.Z == nil {
		return out
	}
	out.Z, out.Value = c.point(in.Z, s.at), in.Value+s.constant
	s.equations(out.Z, b)
	if in.Status == Optimal {
		out.Value = s.objective.Value(out.Z)
	}
	if in.Row == nil {
		return out
	}
	grad := make([]float64, n)
	s.objective.Gradient(grad, out.Z)
	out.Row, out.Bound = c.multipliers(in.Row, grad), make([]float64, n)
	linalg.Scatter(out.Bound, c.cols.kept, in.Bound)
	out.Work += int64(2 * len(s.at) * (len(s.at) + len(in.Z)))
	return out
}

// point is z with these entries that are kept and `at` for T times the sides.
func (c *Condensation) point(kept, at []float64) []float64 {
	z := make([]float64, c.program.N)
	linalg.Scatter(z, c.cols.kept, kept)
	gone, w := linalg.Clone(at), c.w.RawMatrix()
	linalg.Gemv(gone, -1, w.Data, w.Rows, w.Cols, false, kept)
	linalg.Scatter(z, c.cols.gone, gone)
	return z
}

// equations takes what rounding leaves of the equations out of what is gone of z.
func (s *Condensed) equations(z []float64, b *Bounds) {
	c := s.of
	r := each.Of(c.rows.gone, func(i int) float64 { return b.RowLo[i] - c.program.A.RowDot(i, z) })
	for k, by := range c.solve(r, false) {
		z[c.cols.gone[k]] += by
	}
}

// multipliers are those of all rows, from those of the kept ones, such that g - A'row is 0 where variables are gone; g changes.
func (c *Condensation) multipliers(kept, g []float64) []float64 {
	row := make([]float64, c.program.rows())
	linalg.Scatter(row, c.rows.kept, kept)
	for i, v := range kept {
		if v != 0 {
			c.program.A.AddRow(g, c.rows.kept[i], -v)
		}
	}
	for range 2 { // once more for what rounding leaves
		for k, v := range c.solve(linalg.Gather(g, c.cols.gone), true) {
			row[c.rows.gone[k]] += v
			c.program.A.AddRow(g, c.rows.gone[k], -v)
		}
	}
	return row
}

// proves reports that the weights of an infeasible program cancel on its own data, to what they do where it is solved as it stands, and that the sum over sides is positive.
func (s *Condensed) proves(sol *Solution, b *Bounds) bool {
	if sol.FarkasRow == nil {
		return false
	}
	g, terms, sum, size := linalg.Clone(sol.FarkasBound), make([]float64, s.of.program.N), 0.0, 0.0
	add := func(w, lo, hi float64) {
		if w < 0 {
			lo = hi
		}
		if w != 0 {
			sum, size = sum+w*lo, size+math.Abs(w*lo)
		}
	}
	for j, w := range g {
		terms[j] = math.Abs(w)
		add(w, b.Lo[j], b.Hi[j])
	}
	for i, w := range sol.FarkasRow {
		add(w, b.RowLo[i], b.RowHi[i])
		if w != 0 {
			for j, v := range s.of.program.A.Entries(i) {
				g[j] += w * v
				terms[j] += math.Abs(w * v)
			}
		}
	}
	for j, v := range g {
		if !(math.Abs(v) <= tolerance.Feasibility*terms[j]) {
			return false
		}
	}
	return sum > tolerance.FewRoundings*float64(len(g)+len(sol.FarkasRow))*size
}

// rest is what is left of the equations of the working set, and the sums of the absolute terms of that: of the gradient less A'row at inactive variables, and of A z less its side at active rows; 0 elsewhere.
type rest struct{ cols, colTerms, rows, rowTerms []float64 }

// rest also sets the multipliers of variables to what the gradient less A'row is.
func (s *Condensed) rest(sol *Solution, b *Bounds) (r rest) {
	p := s.of.program
	r = rest{make([]float64, p.N), make([]float64, p.N), make([]float64, p.rows()), make([]float64, p.rows())}
	s.objective.Gradient(r.cols, sol.Z)
	s.objective.GradientTerms(r.colTerms, sol.Z)
	for i, u := range sol.Row {
		if u != 0 {
			for j, v := range p.A.Entries(i) {
				r.cols[j] -= u * v
				r.colTerms[j] += math.Abs(u * v)
			}
		}
		side := b.RowLo[i]
		switch sol.Basis.Row[i] {
		case Inactive:
			continue
		case AtUpper:
			side = b.RowHi[i]
		}
		r.rows[i], r.rowTerms[i] = p.A.RowDot(i, sol.Z)-side, math.Abs(side)+p.A.RowTerms(i, sol.Z)
	}
	for j, side := range sol.Basis.Var {
		if sol.Bound[j] = 0; side != Inactive {
			sol.Bound[j], r.cols[j] = r.cols[j], 0
		}
	}
	return r
}

// refined takes steps of iterative refinement until the equations of the working set hold; it reports false where three, which gain the digits that the tableau has each, leave more.
func (s *Condensed) refined(in, out *Solution, b *Bounds) bool {
	for range 3 {
		r := s.rest(out, b)
		if r.small() {
			return true
		}
		if !s.refine(r, in, out, b) {
			return false
		}
	}
	last := s.rest(out, b)
	return last.small()
}

// small reports that what is left is no more than tolerance.Rounded of its terms, or of 1.
func (r *rest) small() bool {
	for k, v := range r.cols {
		if !(math.Abs(v) <= tolerance.Rounded*math.Max(1, r.colTerms[k])) {
			return false
		}
	}
	for k, v := range r.rows {
		if !(math.Abs(v) <= tolerance.Rounded*math.Max(1, r.rowTerms[k])) {
			return false
		}
	}
	return true
}

// refine takes a step of iterative refinement on the equations of the working set, of which r is left: the condensed program's tableau solves them. in and out are the solutions of both programs.
func (s *Condensed) refine(r rest, in, out *Solution, b *Bounds) bool {
	c := s.of
	dz, du := s.inner.correction(linalg.Gather(r.cols, c.cols.kept), linalg.Gather(r.rows, c.rows.kept))
	if !linalg.Finite(dz) || !linalg.Finite(du) {
		return false
	}
	in.Z, in.Row = linalg.Plus(in.Z, 1, dz), linalg.Plus(in.Row, 1, du)
	again := s.whole(in, b)
	out.Z, out.Row, out.Value = again.Z, again.Row, again.Value
	return true
}
