package tree

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// concave splits an f that is not convex, and each constraint of the leader that is not: with the eigenvectors V_k of its Hessian that have negative eigenvalues and w_k = V_k'z,
//
//	f(z) = convex(z) - sum of Weight_k w_k^2,
//
// and where w_k is in [l, u], -w_k^2 >= l u - (l + u) w_k: the secant is the convex envelope (Falk and Soland 1969; for the splitting, Rosen and Pardalos 1986). A node
// branches on w_k, too, and its relaxation minimizes convex(z) plus the secants: of one node and another, bounds of rows and the linear part differ.
// Vectors are in the relaxation's units.
type concave struct {
	Weight []float64   `json:"weight"`
	V      [][]float64 `json:"v"`
	Of     []int       `json:"of"` // the constraint, in ascending order; -1 for f
	Lo, Hi []float64   `json:"-"`  // what the columns' boxes say of w; may be infinite
	plain  *sparse.CSR // the Hessian of f; nil where its own is convex
}

// columns are those that a quadratic reads.
func columns(q *sparse.CSR) (at []int) {
	return each.WhereBelow(q.Rows, q.Reads)
}

// add splits the quadratic q, of f or of a constraint, by the eigenvectors of its connected parts in units of `length`, one for each column of all; it reports whether they were found. A secant lacks the
// square of its direction's range, to which columns are to add alike: eigenvectors that add one of range 1 to one of range 1000 would have the range of the second for both.
func (c *concave) add(of int, q *sparse.CSR, box *activeset.Bounds, length []float64) bool {
	var parts [][]int
	for _, part := range sparse.Apart(q, nil) {
		if q.Reads(part[0]) {
			parts = append(parts, part)
		}
	}
	eigen, top := make([]mat.EigenSym, len(parts)), 0.0
	for n, at := range parts {
		dense := mat.NewSymDense(len(at), nil)
		for a, i := range at {
			for b, j := range at[:a+1] {
				dense.SetSym(a, b, q.At(i, j)*length[i]*length[j])
			}
		}
		if !eigen[n].Factorize(dense, true) {
			return false
		}
		top = max(top, linalg.NormInf(eigen[n].Values(nil)))
	}
	for n, at := range parts {
		var vectors mat.Dense
		eigen[n].VectorsTo(&vectors)
		for k, value := range eigen[n].Values(nil) {
			if value > tolerance.Sign*top {
				break // in ascending order
			}
			v, free := make([]float64, q.Rows), false
			for a, i := range at {
				if t := vectors.At(a, k); math.Abs(t) > 0x1p-50 { // rounding of a unit vector
					v[i] = t / length[i]
					free = free || math.IsInf(box.Lo[i], 0) || math.IsInf(box.Hi[i], 0)
				}
			}
			// What is flat must be shown to be flat: a box does that for a proof, else the direction has a secant of its own.
			if value >= -tolerance.Sign*top && !free {
				continue
			}
			// The convex part keeps a little curvature along v, that rounding does not make it concave.
			c.Weight = append(c.Weight, (max(0, -value)+tolerance.Sign*top)/2)
			c.V = append(c.V, v)
			c.Of = append(c.Of, of)
		}
	}
	return len(parts) > 0 // else what it has is below all numbers in these units
}

// end is that of the directions of f.
func (c *concave) end() int { return sort.SearchInts(c.Of, 0) }

// part are the directions of f, or of a constraint.
func (c *concave) part(of int) (first, end int) {
	first = sort.SearchInts(c.Of, of)
	return first, sort.SearchInts(c.Of, of+1)
}

// boxes sets what the columns' boxes say of each w.
func (c *concave) boxes(box *activeset.Bounds) {
	c.Lo, c.Hi = make([]float64, len(c.V)), make([]float64, len(c.V))
	for k, v := range c.V {
		for j, t := range v {
			switch {
			case t > 0:
				c.Lo[k] += t * box.Lo[j]
				c.Hi[k] += t * box.Hi[j]
			case t < 0:
				c.Lo[k] += t * box.Hi[j]
				c.Hi[k] += t * box.Lo[j]
			}
		}
	}
}

// convex is the Hessian of the convex part of f or of a constraint, which has the Hessian q.
func (c *concave) convex(of int, q *sparse.CSR) *sparse.CSR {
	entries := []sparse.Entry{}
	first, end := c.part(of)
	if first == end {
		return q
	}
	for k, v := range c.V[first:end] {
		for i, a := range v {
			if a == 0 {
				continue
			}
			for j, b := range v {
				if b != 0 {
					entries = append(entries, sparse.Entry{Row: i, Col: j, Val: 2 * c.Weight[first+k] * a * b})
				}
			}
		}
	}
	return sparse.Add(1, q, 1, sparse.FromEntries(q.Rows, q.Cols, entries))
}

// secant adds to a linear part `by` times that of the secant of direction k over [lo, hi], and returns the constant.
func (c *concave) secant(cost []float64, k int, lo, hi, by float64) (konst float64) {
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) { // only where nothing is feasible
		return 0
	}
	by *= c.Weight[k]
	for j, t := range c.V[k] {
		cost[j] -= by * (lo + hi) * t
	}
	return by * lo * hi
}

// rows appends the rows V to those of a relaxation.
func (c *concave) rows(p *activeset.Program) {
	a := p.A.Clone()
	for k, v := range c.V {
		for j, t := range v {
			if t != 0 {
				a.Append(j, t)
			}
		}
		a.EndRow()
		p.RowLo = append(append([]float64(nil), p.RowLo...), c.Lo[k])
		p.RowHi = append(append([]float64(nil), p.RowHi...), c.Hi[k])
	}
	p.A = a
}

// w is V_k'z.
func (c *concave) w(k int, z []float64) float64 {
	return each.SumBelow(len(c.V[k]), func(j int) float64 { return c.V[k][j] * z[j] })
}

// terms is the sum of the absolute terms of the convex part at z: that of f and of the squares, which its Hessian is the difference of.
func (c *concave) terms(z []float64) (sum float64) {
	if c.plain == nil {
		return 0
	}
	for i, t := range z {
		for j, v := range c.plain.Entries(i) {
			sum += math.Abs(0.5 * t * v * z[j])
		}
	}
	end := c.end()
	for k, v := range c.V[:end] {
		w := each.SumBelow(len(v), func(j int) float64 { return math.Abs(v[j] * z[j]) })
		sum += c.Weight[k] * w * w
	}
	return sum
}

// lack is by how much the secants of a box are below f at z, of direction k.
func (c *concave) lack(k int, lo, hi float64, z []float64) float64 {
	w := c.w(k, z)
	return c.Weight[k] * max(0, w-lo) * max(0, hi-w)
}

// splitConcave prepares a search whose objective, or a constraint of the leader, is not convex: it adds the rows V, tightens the range of each w by linear programs over the
// relaxation (as records of branches with an empty side, which proofs have, too), or says why there is no bound.
func (s *search) splitConcave(ctx context.Context, kept *concave) (why string) {
	f, bent := s.productHess != nil && !s.convex(), s.bent()
	if !f && len(bent) == 0 {
		return ""
	}
	c := &concave{}
	if f {
		c.plain = s.productHess
	}
	if kept != nil {
		c.Weight, c.V, c.Of = kept.Weight, kept.V, kept.Of
	} else {
		if f && !c.add(-1, s.productHess, &s.prog.Bounds, s.lengths(ctx, s.productHess)) {
			return "the eigenvalues of the Hessian of the upper objective were not found"
		}
		for _, k := range bent {
			if h := s.curved[k].Hess; !c.add(k, h, &s.prog.Bounds, s.lengths(ctx, h)) {
				return "the eigenvalues of the Hessian of a constraint of the upper level were not found"
			}
		}
	}
	c.boxes(&s.prog.Bounds)
	s.concave = c
	for k := range s.curved {
		of := &s.curved[k]
		of.first, of.end = c.part(k)
		of.convex = c.convex(k, of.Hess)
	}
	s.concave.rows(s.prog)
	if f {
		s.prog.Q = c.convex(-1, s.productHess)
	}
	if kept != nil {
		return ""
	}
	return s.tighten(ctx)
}

// lengths are powers of two next to the ranges of the columns that q reads: those of their boxes, or where these have no end those over the relaxation; 1 where there is none, or nothing but their accuracy,
// and at most: a range of many units is one that rows leave, and has the rounding of rows in those units.
func (s *search) lengths(ctx context.Context, q *sparse.CSR) []float64 {
	linear := *s.prog
	linear.Q = nil
	var solver *activeset.Solver
	var last *activeset.Basis
	out := make([]float64, q.Rows)
	for _, j := range columns(q) {
		ends := [2]float64{linear.Lo[j], linear.Hi[j]}
		for side, sign := range [2]float64{1, -1} {
			if !math.IsInf(ends[side], 0) {
				continue
			}
			if solver == nil {
				solver = newSolver(&linear)
			}
			cost := make([]float64, len(linear.C))
			cost[j] = sign
			solver.SetObjective(nil, cost)
			sol := solver.Solve(ctx, nil, last, activeset.Options{})
			s.Work += sol.Work
			if last = sol.Basis; sol.Status != activeset.Optimal {
				break
			}
			ends[side] = sol.Z[j]
		}
		out[j] = 1
		if width := ends[1] - ends[0]; width > tolerance.Sign*max(1, math.Abs(ends[0])) && !math.IsInf(width, 1) {
			_, e := math.Frexp(min(width, 0.5))
			out[j] = math.Ldexp(1, e)
		}
	}
	return out
}

// tighten finds the range of each w over the relaxation of the root, one linear program a side.
func (s *search) tighten(ctx context.Context) string {
	c, linear := s.concave, *s.prog
	linear.Q = nil
	solver, root := newSolver(&linear), s.open[0]
	var last *activeset.Basis
	for k := range c.V {
		for side, sign := range [2]float64{1, -1} {
			cost := make([]float64, len(linear.C))
			for j, t := range c.V[k] {
				cost[j] = sign * t
			}
			solver.SetObjective(nil, cost)
			sol := solver.Solve(ctx, nil, last, activeset.Options{})
			s.Work += sol.Work
			s.Tried++
			last = sol.Basis
			lo, hi := root.limits(s, s.index(k))
			outer := [2]float64{lo, hi}[side]
			switch sol.Status {
			case activeset.Infeasible:
				return "" // the root's relaxation says so
			case activeset.Optimal:
				end := sign * sol.Value
				margin := tolerance.Target * max(1, math.Abs(end))
				at := end - sign*margin
				// A cut that takes less than a thousandth of the range is not worth a leaf.
				if math.IsInf(outer, 0) || math.Abs(at-outer) > 1e-3*(hi-lo) && (side == 0) == (at > lo) {
					s.cut(root, k, side, at)
				}
			}
			lo, hi = root.limits(s, s.index(k))
			if math.IsInf([2]float64{lo, hi}[side], 0) {
				return fmt.Sprintf("%s is not convex, and %s has no bound over the system without the products of its pairs", s.whose(k), s.direction(k))
			}
		}
	}
	return ""
}

// whose names the function that direction k is of.
func (s *search) whose(k int) string {
	if of := s.concave.Of[k]; of >= 0 {
		if at := s.sys.Curved[of].Coupled; at >= 0 {
			return fmt.Sprintf("constraint `%s` of the upper level", s.sys.P.Coupled.Name[at])
		}
	}
	return "the upper objective"
}

// direction names w_k by the largest of its entries.
func (s *search) direction(k int) string {
	most := 0
	for j, t := range s.concave.V[k] {
		if math.Abs(t) > math.Abs(s.concave.V[k][most]) {
			most = j
		}
	}
	switch sys := s.sys; {
	case most < sys.Nx:
		return fmt.Sprintf("a combination of variables along which it curves down (mostly entry %d of x)", most)
	case most < sys.Nx+sys.Ny:
		return fmt.Sprintf("a combination of variables along which it curves down (mostly entry %d of y)", most-sys.Nx)
	}
	return fmt.Sprintf("a combination of variables along which it curves down (mostly multiplier %d of the lower level)", most-s.sys.Nx-s.sys.Ny)
}

// cut records a branch of the root, the only open node, on w_k at a value beyond which nothing is feasible: side 0 keeps w >= at, side 1 w <= at.
func (s *search) cut(root *node, k, side int, at float64) {
	branch := s.directions() + k
	keep := 1 - side
	first := int32(len(s.records))
	s.records[root.id] = record{Kind: inner, Branch: int32(-1 - len(s.whole) - k), At: at, First: first, Bound: infinite(math.Inf(-1))}
	for of := range 2 {
		kind := empty
		if of == keep {
			kind = openNode
		}
		s.records = append(s.records, record{Kind: kind, Bound: infinite(math.Inf(-1))})
	}
	child := root.child(s, branch, keep, at, nil)
	root.box, root.id = child.box, first+int32(keep)
}

// index is what the changes of a node call direction k: entries of x are their own.
func (s *search) index(k int) int { return -1 - k }

// ranges are those of w at a node.
func (p *plunger) ranges(n *node) (in ranges) {
	c := p.s.concave
	if c == nil {
		return in
	}
	in = ranges{slices.Clone(c.Lo), slices.Clone(c.Hi)}
	for _, b := range n.box {
		if b.Index < 0 {
			in.lo[-1-b.Index], in.hi[-1-b.Index] = b.Lo, b.Hi
		}
	}
	return in
}

// at are ranges that are the point z.
func (c *concave) at(z []float64) ranges {
	w := each.Below(len(c.V), func(k int) float64 { return c.w(k, z) })
	return ranges{w, w}
}

// secants are the linear part of f with secants over the ranges of p in the place of its concave part, the constant that they add, and the sum of the absolute terms of that.
func (p *plunger) secants(linear []float64) (cost []float64, konst, size float64) {
	c := p.s.concave
	if c == nil {
		return linear, 0, 0
	}
	cost = slices.Clone(linear)
	end := c.end()
	for k := range end {
		t := c.secant(cost, k, p.in.lo[k], p.in.hi[k], 1)
		konst, size = konst+t, size+math.Abs(t)
	}
	return cost, konst, size
}

// convexConcave minimizes f on a branch from z, or from the middle of the ranges of w where z is nil: concave parts are replaced by their tangents at the last point
// until f no longer falls (Yuille and Rangarajan 2003). Its end is stationary on the branch, with the multipliers of the solution, whose value is f there. linear is the linear part of f there.
func (p *plunger) convexConcave(ctx context.Context, linear, z []float64) (best *activeset.Solution) {
	c, known := p.s.concave, len(p.cuts)
	defer func() { // tangents of inner approximations are those of one point each
		if end := c.end(); end < len(c.V) && len(p.cuts) > known {
			p.cuts, p.pieces, p.last = p.cuts[:known:known], cutting{}, nil
		}
	}()
	middle := func(k int) float64 {
		if t := c.Lo[k] + c.Hi[k]; !math.IsInf(t, 0) && !math.IsNaN(t) {
			return t / 2
		}
		return 0
	}
	if z != nil {
		p.in = c.at(z)
	} else {
		w := each.Below(len(c.V), middle)
		p.in = ranges{w, w}
	}
	for range tolerance.Halvings { // the steps converge linearly
		cost, _, _ := p.secants(linear)
		sol := p.onBranch(ctx, cost)
		if sol.Status != activeset.Optimal {
			if best == nil {
				return sol
			}
			return best
		}
		sol.Value = p.s.scaled.Value(sol.Z)
		if best != nil && !(sol.Value < best.Value-tolerance.Sign*p.s.terms(&candidate{z: sol.Z})) {
			return best
		}
		best, p.in = sol, c.at(sol.Z)
	}
	return best
}
