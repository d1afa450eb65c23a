package tree

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// Leaves of a proof: each shows the claim by weights of its relaxation's rows (proofweights.go), as they are or moved inside of their signs (proofinward.go), or is branched on once more.

// leaf writes n as a leaf; it reports false where its relaxation does not show the claim. Multiples of constraints whose bound falls short are found again, by steps of Newton's method (Nocedal and Wright 2006, section 18.1) from the solution. What they lack
// is as the square of how far that is from the program's: where constraints hold within their tolerance, half of its digits, and two steps leave rounding.
func (pw *proofWriter) leaf(ctx context.Context, n *node) bool {
	pw.refused, pw.left, pw.without, pw.short = nil, nil, nil, nil
	if len(pw.p.cuts)-pw.p.shared > plunge {
		pw.p.cuts, pw.p.relax, pw.last = pw.p.cuts[:pw.p.shared:pw.p.shared], cutting{}, nil
	}
	pw.p.cutoff = math.Inf(1)
	if r := &pw.s.records[n.id]; r.Kind == closed && float64(r.Bound) > pw.claim {
		// As the search did it ends with the bound that it needs: what is left of a thin node's relaxation beyond may be empty by no more than rounding, or not be solved at all.
		pw.p.cutoff = pw.claim + (float64(r.Bound)-pw.claim)/2
	}
	sol := pw.withoutRanges(ctx, n)
	if sol == nil {
		sol = pw.p.solve(ctx, n, pw.last) // from nothing where that fails
	}
	pw.p.cutoff = math.Inf(1)
	if sol.Status == activeset.Failed || sol.Status == activeset.Infeasible && !pw.refutes(sol) {
		if empty := pw.beyondRange(ctx, n); empty != nil {
			sol = empty
		}
	}
	z, row := sol.Z, sol.Row
	switch sol.Status {
	case activeset.Optimal, activeset.CutOff:
		n.basis, pw.last = sol.Basis, sol.Basis
	case activeset.Infeasible:
		z, row = nil, sol.FarkasRow
		if row == nil {
			row = make([]float64, len(pw.p.bounds.RowLo))
		}
	default:
		must.Do(ctx.Err())
		return false
	}
	kind := "bound"
	if z == nil {
		kind = "empty"
	}
	cuts := pw.p.cuts[:min(len(pw.p.cuts), len(row)-pw.s.rows())] // those that the relaxation had
	if weights := pw.s.weightsOf(row, cuts); weights != nil {
		done := pw.curvedLeaf(ctx, n, weights, kind)
		if done || z == nil {
			return done
		}
		for round := 0; !done && weights != nil && round < someRounds; round++ {
			cost, _, _ := pw.p.secants(pw.p.relaxation(n).C)
			next, tangents := pw.p.newton(ctx, pw.p.relaxation(n), nil, z, cost, weights)
			if next == nil {
				break
			}
			z = next.Z
			if weights = pw.s.weightsOf(next.Row, tangents); weights != nil {
				done = pw.curvedLeaf(ctx, n, weights, kind)
			}
		}
		must.Do(ctx.Err())
		return done
	}
	if z != nil && sol.Value < pw.claim {
		return false
	}
	b, weights := pw.p.relax.bounds(pw.p), func(z, row, bound []float64) *leafWeights {
		return pw.weights(n, z, row[:len(row)-len(cuts)], bound, nil)
	}
	for {
		done := pw.accepted(ctx, kind, pw.p.relax.program, b, sol, sol.Value-pw.claim, weights)
		if done || pw.left == nil {
			return done
		}
		if b = pw.left.without(); b == nil {
			return false
		}
		_, konst, _ := pw.p.secants(pw.p.relax.of.C)
		sol, kind = pw.p.relax.solver.Solve(ctx, b, nil, activeset.Options{}), "bound"
		switch sol.Value += konst + pw.s.quad.Const; {
		case sol.Status == activeset.Infeasible:
			kind = "empty"
		case sol.Status != activeset.Optimal || sol.Value < pw.claim:
			must.Do(ctx.Err())
			pw.without = sol.Z
			return false
		}
	}
}

// withoutRanges is a solution of a relaxation without the rows of McCormick, whose weights are as large as ranges are narrow and have as much rounding, where that is enough; nil else.
func (pw *proofWriter) withoutRanges(ctx context.Context, n *node) *activeset.Solution {
	if n.slopes == nil {
		return nil
	}
	bare := *n
	bare.slopes, pw.p.first = nil, true
	sol := pw.p.solve(ctx, &bare, pw.last)
	pw.p.first = false
	switch enough := sol.Value >= pw.claim; {
	case sol.Status == activeset.Stopped, sol.Status == activeset.Infeasible && pw.refutes(sol), enough && (sol.Status == activeset.Optimal || sol.Status == activeset.CutOff):
		return sol
	}
	return nil
}

// refutes reports that the weights of the infeasible relaxation of a leaf show that by more than their accuracy.
func (pw *proofWriter) refutes(sol *activeset.Solution) bool {
	return refutes(pw.p.relax.program, pw.p.relax.bounds(pw.p), sol)
}

// refutes reports that the weights of an infeasible program show that by more than their accuracy, next to which a cut of tighten is near: what they leave of columns counts with their boxes.
func refutes(of *activeset.Program, b *activeset.Bounds, sol *activeset.Solution) bool {
	if sol.FarkasRow == nil {
		return true
	}
	plain := *of
	plain.Q = nil
	v, terms := shows(&plain, make([]float64, plain.N), b, &activeset.Solution{Row: sol.FarkasRow})
	return v > tolerance.Target*terms
}

// beyondRange shows that nothing is feasible at a node whose last decision is about a direction, as tighten found it: by the end of the direction's range without that decision. The solution is that of an
// empty relaxation; nil where there is none.
func (pw *proofWriter) beyondRange(ctx context.Context, n *node) *activeset.Solution {
	if len(n.box) == 0 || n.box[len(n.box)-1].Index >= 0 {
		return nil
	}
	s, last := pw.s, n.box[len(n.box)-1]
	k := int(-1 - last.Index)
	row, sign := s.sys.Relaxation.A.Rows+k, 1.0
	if pw.p.bounds.RowHi[row] >= s.concave.Hi[k] {
		sign = -1
	}
	linear, b := *pw.p.relax.program, *pw.p.relax.bounds(pw.p)
	linear.Q, linear.C = nil, make([]float64, linear.N)
	for j, t := range s.concave.V[k] {
		linear.C[j] = sign * t
	}
	end := math.Max(sign*b.RowLo[row], sign*b.RowHi[row])
	b.RowLo, b.RowHi = slices.Clone(b.RowLo), slices.Clone(b.RowHi)
	b.RowLo[row], b.RowHi[row] = math.Inf(-1), math.Inf(1)
	linear.Bounds = b
	sol := activeset.Once(ctx, &linear)
	if sol.Status != activeset.Optimal || sol.Value <= end {
		return nil
	}
	sol.Status, sol.FarkasRow, sol.FarkasBound = activeset.Infeasible, sol.Row, sol.Bound
	sol.FarkasRow[row] -= sign
	return sol
}

// curvedLeaf writes n as a leaf of a kind, with multiples of the leader's constraints that are not affine in the objective, and in the place of their tangents: near the best multiples the bound that
// they show varies to second order.
func (pw *proofWriter) curvedLeaf(ctx context.Context, n *node, weights []float64, kind string) bool {
	s, of := pw.s, pw.p.relaxation(n)
	cost, konst, need := make([]float64, of.N), 0.0, 0.0
	var q *sparse.CSR
	if kind == "bound" {
		cost, konst, _ = pw.p.secants(of.C)
		konst, need, q = konst+s.quad.Const, pw.claim, of.Q
	}
	cost, more := s.lagrangian(cost, weights, pw.p.in)
	konst += more
	plain := *of
	plain.Q, plain.C = s.withCurvature(q, weights, len(cost)), cost
	plain.Bounds = pw.p.bounds
	sol := activeset.Once(ctx, &plain)
	switch value := sol.Value + konst; {
	case sol.Status == activeset.Infeasible && sol.FarkasRow != nil: // without the constraints
		return pw.accepted(ctx, "empty", &plain, &pw.p.bounds, sol, 0, func(_, row, bound []float64) *leafWeights { return pw.weights(n, nil, row, bound, nil) })
	case sol.Status != activeset.Optimal || !(value >= need) || kind == "empty" && value == 0:
		must.Do(ctx.Err())
		return false
	}
	return pw.accepted(ctx, kind, &plain, &pw.p.bounds, sol, sol.Value+konst-need, func(z, row, bound []float64) *leafWeights { return pw.weights(n, z, row, bound, weights) })
}

// accepted writes the weights of a leaf that shows more than its claim by slack, or that it is empty, as they are or inward. It reports false where both are refused.
func (pw *proofWriter) accepted(ctx context.Context, kind string, of *activeset.Program, b *activeset.Bounds, sol *activeset.Solution, slack float64, weights func(z, row, bound []float64) *leafWeights) bool {
	plain, z, row, bound := *of, sol.Z, sol.Row, sol.Bound
	keep := func(before, after float64) bool { return after >= before-slack }
	if sol.Status == activeset.Infeasible {
		plain.Q, z, row, bound = nil, nil, sol.FarkasRow, sol.FarkasBound
		keep = func(before, after float64) bool { return after > before/2 }
	}
	if row == nil { // bounds of a variable, both of which are to hold, contradict each other, as the boxes of the leaf then do
		row, bound = make([]float64, len(pw.p.bounds.RowLo)), make([]float64, len(b.Lo))
	}
	written := map[string]any{kind: weights(z, row, bound)}
	if pw.refused = pw.try(written, pw.claim); pw.refused == nil {
		return true
	}
	if pw.short == nil {
		pw.short = written
	}
	pw.left = newLeftNothing(&plain, b, sol.Z, row, bound)
	moved, left := pw.left.inward(ctx, keep)
	if moved == nil || pw.try(map[string]any{kind: weights(z, moved, left)}, pw.claim) != nil {
		return false
	}
	pw.refused, pw.left = nil, nil
	return true
}

// refusedFor is the open pair to branch on where a leaf was refused: one whose multiplier it was refused for; -1 where there is none. With that at 0 its cost may be anything.
func (pw *proofWriter) refusedFor(n *node) int {
	if pw.left == nil {
		return -1
	}
	for _, j := range slices.Concat(pw.left.dependent, pw.left.equations) {
		for k, f := range n.fix {
			if f == kkt.Open && pw.s.sys.Pairs[k].Mult.Var == j {
				return k
			}
		}
	}
	return -1
}

// widest is the direction along which the secant of a leaf may lack most, and the middle of its range; -1 where no range is more than rounding, or one has no end. Each half lacks a quarter: what rounding leaves of a
// leaf's weights is as the slopes and ranges of secants.
func (pw *proofWriter) widest(n *node) (dir int, at float64) {
	c := pw.s.concave
	if c == nil {
		return -1, 0
	}
	dir, most := -1, 0.0
	in := pw.p.ranges(n)
	for k, weight := range c.Weight {
		lo, width := in.lo[k], in.hi[k]-in.lo[k]
		if lack := weight * width * width; lack > most && !math.IsInf(width, 1) && width > tolerance.Sign*math.Max(math.Abs(lo), math.Abs(in.hi[k])) {
			dir, at, most = k, lo+width/2, lack
		}
	}
	return dir, at
}
