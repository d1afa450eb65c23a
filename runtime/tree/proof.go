package tree

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// Statement is what a proof is to show: that f is at least Bound, or with +Inf that nothing is feasible. Model and Digest, which may
// be "", say what it is of.
type Statement struct {
	Bound         float64
	Model, Digest string
	// Accepts, optional, is what verifies each line as it comes, and says why it refuses one: in the place of a leaf another may come, or a branch.
	Accepts func(line []byte) error
}

// WriteProof writes what shows a statement by the trees of a search, as JSON objects, one a line (the format is
// that of certify.VerifyTree). Leaves are solved again for their weights, and a subtree whose relaxation alone shows the statement
// is one leaf. The memory it takes is that of the trees.
func WriteProof(ctx context.Context, w io.Writer, sys *kkt.System, st *State, what Statement) error {
	f, _, err := newForest(ctx, sys, sys.Parts(), Options{Gap: st.Gap, Resume: st})
	if err != nil {
		return err
	}
	if math.IsInf(what.Bound, -1) {
		return errors.New("there is no bound to prove")
	}
	out := bufio.NewWriter(w)
	head := map[string]any{"tree": 1}
	if what.Digest != "" {
		head["model"], head["digest"] = what.Model, what.Digest
	}
	if len(f.parts) == 1 && f.parts[0].quad.Weights != nil {
		head["duality"] = true
	}
	lines := lineWriter{out, what.Accepts}
	if err := lines.line(head); err != nil {
		return err
	}
	claims := f.claims(what.Bound)
	for k, s := range f.parts {
		if math.IsInf(claims[k], -1) { // another part shows that nothing is feasible
			continue
		}
		pw := &proofWriter{of: sys, s: s, p: s.newPlunger(), claim: claims[k], lineWriter: lines, bounds: boundRows(s.sys)}
		pw.p.thorough, pw.p.enough = true, pw.claim
		if len(f.parts) > 1 {
			of := map[string]any{"columns": s.part.Cols}
			if s.quad.Weights != nil {
				of["duality"] = true
			}
			if err := pw.line(map[string]any{"part": of}); err != nil {
				return err
			}
		}
		if err := pw.tree(ctx); err != nil {
			return err
		}
	}
	return out.Flush()
}

// claims are what the trees are to show of their parts, for a bound of the sum; -Inf is nothing.
func (f *forest) claims(bound float64) []float64 {
	out := make([]float64, len(f.parts))
	less, leaves := f.bound()-bound, f.leaves()
	for k, s := range f.parts {
		switch b := s.bound(); {
		case len(f.parts) == 1:
			out[k] = bound
		case math.IsInf(bound, 1) && !math.IsInf(b, 1):
			out[k] = math.Inf(-1)
		case math.IsInf(bound, 1):
			out[k] = b
		default: // by what is left open of it, and as much to each: a part whose terms are 0 has rounding, too
			share := 1 / float64(len(f.parts))
			if leaves > 0 {
				share = (share + s.leaves(s.latest())/leaves) / 2
			}
			out[k] = b - less*share
		}
	}
	return out
}

// tree writes the tree of a part, behind what it adds to the model.
func (pw *proofWriter) tree(ctx context.Context) error {
	s, sys, claim := pw.s, pw.s.sys, pw.claim
	if err := pw.interiors(ctx); err != nil {
		return err
	}
	if c := s.concave; c != nil {
		for k, v := range c.V {
			var of *entries
			for j, t := range v {
				of = of.add(s.part.Cols[j], t/sys.ColScale[j])
			}
			square := map[string]any{"weight": c.Weight[k], "of": of}
			if !math.IsInf(c.Lo[k], 0) {
				square["lo"] = c.Lo[k]
			}
			if !math.IsInf(c.Hi[k], 0) {
				square["hi"] = c.Hi[k]
			}
			if err := pw.line(map[string]any{"concave": square}); err != nil {
				return err
			}
		}
	}
	if err := pw.choices(); err != nil {
		return err
	}
	if s.lift != nil {
		for _, line := range s.lift.proofLines(pw) {
			if err := pw.line(line); err != nil {
				return err
			}
		}
	}
	root := &node{fix: make([]kkt.Fix, len(sys.Pairs))}
	stack, more := []*node{root}, len(s.records)+tolerance.Branches
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if done, err := pw.p.narrow(ctx, n, func(r narrowed) error { return pw.ranged(n, r) }); err != nil || !done {
			return errors.Join(err, ctx.Err())
		}
		r := &s.records[n.id]
		if r.Kind != inner || float64(r.Bound) >= claim {
			done, err := pw.leaf(ctx, n)
			if err != nil {
				return err
			}
			if done {
				continue
			}
			if r.Kind != inner {
				// Rounding has it that this leaf does not show what it did when it was closed, or the engine fails: its children may. Those of leaves that are refused are no more than the search's own, and those that are looked at anyway.
				k := pw.refusedFor(n)
				if k < 0 {
					k = pw.p.anyOpen(n, &activeset.Solution{Z: pw.without})
				}
				if pw.refused != nil {
					if more--; more < 0 || len(pw.left.equations) == 0 {
						k = -1
					}
				}
				if k >= 0 && k < len(sys.Pairs) {
					first := int32(len(s.records))
					s.records = append(s.records, record{Kind: closed, Bound: r.Bound}, record{Kind: closed, Bound: r.Bound})
					r = &s.records[n.id]
					*r = record{Kind: inner, Branch: int32(k), First: first, Bound: infinite(math.Inf(-1))}
				}
			}
			if r.Kind != inner {
				if pw.refused != nil {
					return fmt.Errorf("a leaf at depth %d does not verify: %w", n.depth, pw.refused)
				}
				return fmt.Errorf("a leaf at depth %d does not show the bound %g", n.depth, claim)
			}
		}
		k := int(r.Branch)
		branch := map[string]any{}
		if k >= 0 {
			branch[s.branchOn(k)] = pw.row(sys.Pairs[k].Row)
		} else {
			k = len(sys.Pairs) - 1 - k
			if j, _ := s.entry(k); j < 0 {
				branch["along"], branch["at"] = -1-j, r.At
			} else {
				branch["entry"], branch["at"] = s.part.Cols[j], r.At
			}
		}
		if err := pw.line(branch); err != nil {
			return err
		}
		for side := 1; side >= 0; side-- {
			c := n.child(s, k, side, r.At, n.basis)
			c.id = r.First + int32(side)
			stack = append(stack, c)
		}
	}
	return nil
}

// ranged writes what shows a range of a slope at n.
func (pw *proofWriter) ranged(n *node, r narrowed) error {
	row, bound, scale := slices.Clone(r.sol.Row), slices.Clone(r.sol.Bound), pw.s.lift.slopes[r.k].scale
	from := len(row) - slopeRows*(len(pw.s.lift.slopes)-r.k)
	clear(row[from+1 : from+slopeRows]) // strong duality has their place
	for _, of := range [2][]float64{row, bound} {
		floats.Scale(scale, of)
	}
	side := "least"
	if r.most {
		side = "most"
	}
	return pw.line(map[string]any{"range": map[string]any{"slope": r.k, side: r.value, "by": pw.weights(n, nil, row, bound, nil)}})
}

// interiors writes what bounds multipliers and y: reduced costs of columns with an end may be off by rounding.
func (pw *proofWriter) interiors(ctx context.Context) error {
	all, _, err := pw.s.sys.Interiors(ctx)
	if err != nil {
		return err
	}
	for _, in := range all {
		over := func(numbers []int, vals []float64) (of *entries) {
			for k, v := range vals {
				of = of.add(numbers[k], v)
			}
			return of
		}
		y, rows := make([]int, len(in.Y)), make([]int, len(in.Rows))
		for k, j := range in.Y {
			y[k] = pw.answer(j)
		}
		for k, i := range in.Rows {
			rows[k] = pw.row(i)
		}
		slopes := func(numbers, entry []int, vals func(k int) []float64) (by []map[string]any) {
			for k, c := range entry {
				if of := over(numbers, vals(k)); of != nil {
					by = append(by, map[string]any{"entry": pw.s.part.Cols[c], "of": of})
				}
			}
			return by
		}
		line := map[string]any{"answer": y[0]}
		put := func(name string, of *entries) {
			if of != nil {
				line[name] = of
			}
		}
		put("at", over(y, in.At))
		put("curvature", over(y, in.Curvature))
		put("multipliers", over(rows, in.Mult))
		if by := slopes(y, in.Entry, func(k int) []float64 { return in.By[k] }); by != nil {
			line["by"] = by
		}
		moved := slices.Sorted(maps.Keys(in.MultBy))
		if by := slopes(rows, moved, func(k int) []float64 { return in.MultBy[moved[k]] }); by != nil {
			line["slopes"] = by
		}
		if err := pw.line(map[string]any{"interior": line}); err != nil {
			return err
		}
	}
	return nil
}

// row is the number of a row of the part's lower level in the whole, answer that of an entry of y.
func (pw *proofWriter) row(i int) int {
	s := pw.s
	return s.part.Cols[s.sys.Nx+s.sys.Ny+i] - pw.of.Nx - pw.of.Ny
}

func (pw *proofWriter) answer(j int) int { return pw.s.part.Cols[pw.s.sys.Nx+j] - pw.of.Nx }

// Claim is the bound that a proof is written for: the search's, less what relaxations leave open.
func (r *Result) Claim() float64 {
	if math.IsInf(r.Bound, 0) {
		return r.Bound
	}
	return r.Bound - max(tolerance.Sign*max(math.Abs(r.Bound), r.Scale), r.open)
}

type proofWriter struct {
	of    *kkt.System // whose numbers a proof has
	s     *search     // of a part
	p     *plunger
	claim float64
	lineWriter
	last *activeset.Basis
	// bounds are the rows behind the bounds of variables (boundRows).
	bounds  [][2]int
	refused error // why the last leaf was not accepted
	left    *leftNothing
	without []float64 // a point of its relaxation without rows; nil where there is none
}

// lineWriter writes objects, one a line, that are accepted.
type lineWriter struct {
	out     *bufio.Writer
	accepts func(line []byte) error
}

func (w lineWriter) line(v any) error {
	wrong, err := w.try(v)
	if wrong != nil {
		return fmt.Errorf("what was written does not verify: %w", wrong)
	}
	return err
}

// try writes an object unless it is refused, and says why it is.
func (w lineWriter) try(v any) (wrong, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if w.accepts != nil {
		if wrong := w.accepts(text); wrong != nil {
			return wrong, nil
		}
	}
	if _, err := w.out.Write(text); err != nil {
		return nil, err
	}
	return nil, w.out.WriteByte('\n')
}

// leaf writes n as a leaf; it reports false where its relaxation does not show the claim. Multiples of constraints whose bound falls short are found again, by steps of Newton's method (Nocedal and Wright 2006, section 18.1) from the solution. What they lack
// is as the square of how far that is from the program's: where constraints hold within their tolerance, half of its digits, and two steps leave rounding.
func (pw *proofWriter) leaf(ctx context.Context, n *node) (bool, error) {
	pw.refused, pw.left, pw.without = nil, nil, nil
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
	case activeset.Stopped:
		return false, ctx.Err()
	default:
		return false, nil
	}
	kind := "bound"
	if z == nil {
		kind = "empty"
	}
	cuts := pw.p.cuts[:min(len(pw.p.cuts), len(row)-pw.s.rows())] // those that the relaxation had
	if weights := pw.s.weightsOf(row, cuts); weights != nil {
		done, err := pw.curvedLeaf(ctx, n, weights, kind)
		if done || err != nil || z == nil {
			return done, err
		}
		known := pw.p.cuts
		for round := 0; !done && err == nil && weights != nil && round < someRounds; round++ {
			// Without tangents at other points: beside those the ones at z would hold within tolerance, and move nothing.
			pw.p.cuts, pw.p.relax = nil, cutting{}
			for k, w := range weights {
				if w > 0 {
					pw.p.cuts = append(pw.p.cuts, tangent{k, slices.Clone(z[:pw.s.sys.N])})
				}
			}
			_, cost := pw.p.once(ctx, n, nil)
			next := pw.p.newton(ctx, &pw.p.relax, nil, z, cost, weights)
			if next == nil {
				break
			}
			z = next.Z
			if weights = pw.s.weightsOf(next.Row, pw.p.cuts); weights != nil {
				done, err = pw.curvedLeaf(ctx, n, weights, kind)
			}
		}
		pw.p.cuts, pw.p.relax, pw.last = known, cutting{}, nil
		return done, errors.Join(err, ctx.Err())
	}
	if z != nil && sol.Value < pw.claim {
		return false, nil
	}
	b, weights := pw.p.relax.bounds(&pw.p.bounds), func(z, row, bound []float64) *leafWeights {
		return pw.weights(n, z, row[:len(row)-len(cuts)], bound, nil)
	}
	for {
		done, err := pw.accepted(ctx, kind, pw.p.relax.program, b, sol, sol.Value-pw.claim, weights)
		if done || err != nil || pw.left == nil {
			return done, err
		}
		if b = pw.left.without(); b == nil {
			return false, nil
		}
		_, konst, _ := pw.p.secants(pw.p.relax.solver, n, pw.p.relax.of)
		sol, kind = pw.p.relax.solver.Solve(ctx, b, nil, activeset.Options{Cutoff: math.Inf(1)}), "bound"
		switch sol.Value += konst + pw.s.quad.Const; {
		case sol.Status == activeset.Infeasible:
			kind = "empty"
		case sol.Status == activeset.Stopped:
			return false, ctx.Err()
		case sol.Status != activeset.Optimal || sol.Value < pw.claim:
			pw.without = sol.Z
			return false, nil
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

// refutes reports that the weights of an infeasible relaxation show that by more than their accuracy, next to which a cut of tighten is near: what they leave of columns counts with their boxes.
func (pw *proofWriter) refutes(sol *activeset.Solution) bool {
	if sol.FarkasRow == nil {
		return true
	}
	plain, b := *pw.p.relax.program, pw.p.relax.bounds(&pw.p.bounds)
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
	linear, b := *pw.p.relax.program, *pw.p.relax.bounds(&pw.p.bounds)
	linear.Q, linear.C = nil, make([]float64, linear.N)
	for j, t := range s.concave.V[k] {
		linear.C[j] = sign * t
	}
	end := math.Max(sign*b.RowLo[row], sign*b.RowHi[row])
	b.RowLo, b.RowHi = slices.Clone(b.RowLo), slices.Clone(b.RowHi)
	b.RowLo[row], b.RowHi[row] = math.Inf(-1), math.Inf(1)
	solver, err := activeset.New(&linear)
	if err != nil {
		panic(err) // a system holds finite numbers
	}
	sol := solver.Solve(ctx, &b, nil, activeset.Options{Cutoff: math.Inf(1)})
	if sol.Status != activeset.Optimal || sol.Value <= end {
		return nil
	}
	sol.Status, sol.FarkasRow, sol.FarkasBound = activeset.Infeasible, sol.Row, sol.Bound
	sol.FarkasRow[row] -= sign
	return sol
}

// curvedLeaf writes n as a leaf of a kind, with multiples of the leader's constraints that are not affine in the objective, and in the place of their tangents: near the best multiples the bound that
// they show varies to second order.
func (pw *proofWriter) curvedLeaf(ctx context.Context, n *node, weights []float64, kind string) (bool, error) {
	s, of := pw.s, pw.p.relaxation(n)
	cost, konst, need := make([]float64, of.N), 0.0, 0.0
	var q *sparse.CSR
	if kind == "bound" {
		cost, konst, _ = pw.p.secants(pw.p.relax.solver, n, of)
		konst, need, q = konst+s.quad.Const, pw.claim, of.Q
	}
	for k, w := range weights {
		konst += w * s.curved[k].konst
	}
	plain := *of
	plain.Q, plain.C = s.lagrangian(q, cost, weights)
	solver, err := activeset.New(&plain)
	if err != nil {
		return false, err
	}
	sol := solver.Solve(ctx, &pw.p.bounds, nil, activeset.Options{Cutoff: math.Inf(1)})
	switch value := sol.Value + konst; {
	case sol.Status == activeset.Stopped:
		return false, ctx.Err()
	case sol.Status == activeset.Infeasible && sol.FarkasRow != nil: // without the constraints
		return pw.accepted(ctx, "empty", &plain, &pw.p.bounds, sol, 0, func(_, row, bound []float64) *leafWeights { return pw.weights(n, nil, row, bound, nil) })
	case sol.Status != activeset.Optimal || !(value >= need) || kind == "empty" && value == 0:
		return false, nil
	}
	return pw.accepted(ctx, kind, &plain, &pw.p.bounds, sol, sol.Value+konst-need, func(z, row, bound []float64) *leafWeights { return pw.weights(n, z, row, bound, weights) })
}
