package tree

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// Statement is what a proof is to show: that f is at least Bound, or with +Inf that nothing is feasible. Model and Digest, which may
// be "", say what it is of.
type Statement struct {
	Bound         float64
	Model, Digest string
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
	if err := writeLine(out, head); err != nil {
		return err
	}
	claims := f.claims(what.Bound)
	for k, s := range f.parts {
		if math.IsInf(claims[k], -1) { // another part shows that nothing is feasible
			continue
		}
		pw := &proofWriter{of: sys, s: s, p: s.newPlunger(), claim: claims[k], out: out, bounds: boundRows(s.sys)}
		pw.p.cutoff, pw.p.thorough, pw.p.enough = math.Inf(1), true, pw.claim
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
	stack := []*node{root}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
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
				// Rounding has it that this leaf does not show what it did when it was closed, or the engine fails: its children may.
				if k := pw.p.anyOpen(n, &activeset.Solution{}); k >= 0 && k < len(sys.Pairs) {
					first := int32(len(s.records))
					s.records = append(s.records, record{Kind: closed, Bound: r.Bound}, record{Kind: closed, Bound: r.Bound})
					r = &s.records[n.id]
					*r = record{Kind: inner, Branch: int32(k), First: first, Bound: infinite(math.Inf(-1))}
				}
			}
			if r.Kind != inner {
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

// interiors writes what bounds multipliers and y: reduced costs of columns with an end may be off by rounding.
func (pw *proofWriter) interiors(ctx context.Context) error {
	all, _, err := pw.s.sys.Interiors(ctx)
	if err != nil {
		return err
	}
	for _, in := range all {
		over := func(vals []float64) (of *entries) {
			for k, v := range vals {
				of = of.add(pw.answer(in.Y[k]), v)
			}
			return of
		}
		var by []map[string]any
		for k, c := range in.Entry {
			if of := over(in.By[k]); of != nil {
				by = append(by, map[string]any{"entry": pw.s.part.Cols[c], "of": of})
			}
		}
		line := map[string]any{"answer": pw.answer(in.Y[0]), "at": over(in.At), "by": by, "curvature": over(in.Curvature)}
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
	return r.Bound - max(kkt.Tolerance*max(math.Abs(r.Bound), r.Scale), r.open)
}

type proofWriter struct {
	of    *kkt.System // whose numbers a proof has
	s     *search     // of a part
	p     *plunger
	claim float64
	out   *bufio.Writer
	last  *activeset.Basis
	// bounds are the rows behind the bounds of variables (boundRows).
	bounds [][2]int
}

func (pw *proofWriter) line(v any) error { return writeLine(pw.out, v) }

func writeLine(out *bufio.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return out.WriteByte('\n')
}

// closer is how often multiples of constraints whose bound falls short are found again, from tangents at the solution itself. What they lack is as the square of how far the tangents' points are
// from it: where constraints hold within their tolerance (holds), the points may be half of its digits away, and one step more leaves rounding.
const closer = 2

// leaf writes n as a leaf; it reports false where its relaxation does not show the claim.
func (pw *proofWriter) leaf(ctx context.Context, n *node) (bool, error) {
	if len(pw.p.cuts)-pw.p.shared > mostTangents {
		pw.p.cuts, pw.p.relax, pw.last = pw.p.cuts[:pw.p.shared:pw.p.shared], cutting{}, nil
	}
	sol := pw.p.solve(ctx, n, pw.last) // from nothing where that fails
	z, row, bound := sol.Z, sol.Row, sol.Bound
	switch sol.Status {
	case activeset.Optimal:
		n.basis, pw.last = sol.Basis, sol.Basis
	case activeset.Infeasible:
		z, row, bound = nil, sol.FarkasRow, sol.FarkasBound
		if row == nil {
			row, bound = pw.crossed()
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
	cuts := pw.p.cuts[:min(len(pw.p.cuts), len(row)-len(pw.s.relaxation().RowHi))] // those that the relaxation had
	if weights := pw.s.weightsOf(row, cuts); weights != nil {
		done, err := pw.curvedLeaf(ctx, n, weights, kind)
		for round := 0; !done && err == nil && z != nil && round < closer; round++ {
			for k, w := range weights {
				if w > 0 {
					pw.p.cuts = append(pw.p.cuts, tangent{k, slices.Clone(z[:pw.s.sys.N])})
				}
			}
			if sol, _ = pw.p.once(ctx, n, sol.Basis); sol.Status != activeset.Optimal {
				break
			}
			z = sol.Z
			if weights = pw.s.weightsOf(sol.Row, pw.p.cuts); weights == nil {
				break
			}
			done, err = pw.curvedLeaf(ctx, n, weights, kind)
		}
		return done, err
	}
	if z != nil && sol.Value < pw.claim {
		return false, nil
	}
	return true, pw.line(map[string]any{kind: pw.weights(n, z, row[:len(row)-len(cuts)], bound, nil)})
}

// curvedLeaf writes n as a leaf of a kind, with multiples of the leader's constraints that are not affine in the objective, and in the place of their tangents: near the best multiples the bound that
// they show varies to second order.
func (pw *proofWriter) curvedLeaf(ctx context.Context, n *node, weights []float64, kind string) (bool, error) {
	s, of := pw.s, pw.s.relaxation()
	cost, konst, need := make([]float64, of.N), 0.0, 0.0
	var q *sparse.CSR
	if kind == "bound" {
		cost, konst = pw.p.secants(pw.p.relax.solver, n, of)
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
		return true, pw.line(map[string]any{"empty": pw.weights(n, nil, sol.FarkasRow, sol.FarkasBound, nil)})
	case sol.Status != activeset.Optimal || !(value >= need) || kind == "empty" && value == 0:
		return false, nil
	}
	return true, pw.line(map[string]any{kind: pw.weights(n, sol.Z, sol.Row, sol.Bound, weights)})
}

// crossed are weights for the two bounds of a variable that are both to hold, but are not one.
func (pw *proofWriter) crossed() (row, bound []float64) {
	b := &pw.p.bounds
	row, bound = make([]float64, len(b.RowLo)), make([]float64, len(b.Lo))
	for j := range b.Lo {
		if b.Lo[j] > b.Hi[j] {
			bound[j] = math.Inf(1)
			break
		}
	}
	return row, bound
}

// leafWeights are the weights of a leaf, in the model's units.
type leafWeights struct {
	Z            *entries `json:"z,omitempty"`
	Stationarity *entries `json:"stationarity,omitempty"`
	Lower        *entries `json:"lower,omitempty"`
	Upper        *entries `json:"upper,omitempty"`
	Extended     *entries `json:"extended,omitempty"`
	Coupled      *entries `json:"coupled,omitempty"`
	Levels       *entries `json:"levels,omitempty"`
	Duality      *entries `json:"duality,omitempty"`
	Along        *entries `json:"along,omitempty"`
	Curved       *entries `json:"curved,omitempty"`
}

// curvedIndex is the place of constraint k in a proof: coupled constraints, then balls of X.
func (pw *proofWriter) curvedIndex(k int) int {
	c := &pw.s.sys.Curved[k]
	if c.Coupled >= 0 {
		return c.Coupled
	}
	n := c.Ball
	if coupled := pw.s.sys.P.Coupled; coupled != nil {
		n += len(coupled.Kind)
	}
	return n
}

// entries of a vector that are not zero.
type entries struct {
	At  []int     `json:"at"`
	Val []float64 `json:"val"`
}

func (e *entries) add(at int, v float64) *entries {
	if v == 0 {
		return e
	}
	if e == nil {
		e = &entries{}
	}
	e.At, e.Val = append(e.At, at), append(e.Val, v)
	return e
}

// weights turns the multipliers of a relaxation, or weights that refute it, into those of the model's rows. The bounds of an entry of y are
// rows there. Signs that rounding has left wrong become zero, and so does what is rounding next to the largest: zeros are exact.
func (pw *proofWriter) weights(n *node, z, row, bound, curved []float64) *leafWeights {
	s := pw.s.sys
	w := &leafWeights{}
	noise := 0.0
	for _, of := range [2][]float64{row, bound} {
		for _, v := range of {
			if !math.IsInf(v, 0) {
				noise = max(noise, math.Abs(v))
			}
		}
	}
	noise *= 0x1p-52 * float64(len(row)+len(bound)) // a rounding of each
	reads := make([]bool, s.N)
	bends := func(of *sparse.CSR) {
		for j := range reads {
			if of != nil {
				_, vals := of.Row(j)
				reads[j] = reads[j] || anyOf(vals)
			}
		}
	}
	bends(pw.s.bends)
	for k, t := range curved {
		if t > 0 {
			w.Curved = w.Curved.add(pw.curvedIndex(k), t)
			bends(s.Curved[k].Hess)
		}
	}
	if z != nil {
		for j, v := range z[:s.N] {
			if reads[j] {
				w.Z = w.Z.add(pw.s.part.Cols[j], v*s.ColScale[j])
			}
		}
	}
	held := make([]bool, s.M)
	for k, f := range n.fix {
		held[s.Pairs[k].Row] = f == kkt.SlackZero
	}
	lower := make([]float64, s.M)
	for r, o := range s.Origin {
		v := row[r] * s.RowScale[r]
		if math.Abs(row[r]) <= noise {
			continue
		}
		switch o.Kind {
		case kkt.Stationarity:
			w.Stationarity = w.Stationarity.add(pw.answer(o.Index), v)
		case kkt.LowerRow:
			if v >= 0 || held[o.Index] || s.P.Rows.Kind[o.Index] == problem.Equal {
				lower[o.Index] = v
			}
		case kkt.UpperRow:
			if v <= 0 || s.P.X.Kind[o.Index] == problem.Equal {
				w.Upper = w.Upper.add(o.Index, v)
			}
		case kkt.ExtendedRow:
			w.Extended = w.Extended.add(o.Index, min(v, 0))
		case kkt.CoupledRow:
			if v <= 0 || s.P.Coupled.Kind[o.Index] == problem.Equal {
				w.Coupled = w.Coupled.add(o.Index, v)
			}
		}
	}
	rest := row[len(s.Origin):]
	if c := pw.s.concave; c != nil {
		for k, v := range rest[:len(c.V)] {
			if math.Abs(v) > noise {
				w.Along = w.Along.add(k, v)
			}
		}
		rest = rest[len(c.V):]
	}
	if l := pw.s.lift; l != nil {
		l.weights(w, pw, rest, noise)
	}
	for j, of := range pw.bounds {
		v := bound[j] / s.ColScale[j]
		if math.Abs(bound[j]) <= noise || of == [2]int{-1, -1} {
			continue
		}
		if math.IsInf(v, 1) { // both bounds are to hold, and the upper one less the lower one is positive; or else they contradict each other as they are
			apart := 1.0
			if !held[of[0]] || !held[of[1]] {
				apart = -1
			}
			for side, sign := range [2]float64{-apart, apart} {
				_, coef := s.P.Rows.Bound(of[side])
				lower[of[side]] = sign / coef
			}
			continue
		}
		side := 0
		if v < 0 {
			side = 1
		}
		if other := of[1-side]; other >= 0 && held[other] && !(of[side] >= 0 && held[of[side]]) {
			side = 1 - side // the entry is held at its other bound
		}
		if i := of[side]; i >= 0 {
			_, coef := s.P.Rows.Bound(i)
			lower[i] = v / coef
		}
	}
	for i, v := range lower {
		w.Lower = w.Lower.add(pw.row(i), v)
	}
	return w
}

func anyOf(vals []float64) bool {
	for _, v := range vals {
		if v != 0 {
			return true
		}
	}
	return false
}

// boundRows are, for each variable, the rows of the lower level behind its lower and upper bound; -1 for none.
func boundRows(s *kkt.System) [][2]int {
	of := make([][2]int, s.N)
	for j := range of {
		of[j] = [2]int{-1, -1}
	}
	for _, p := range s.Pairs {
		if v := p.Slack.Var; v >= 0 {
			side := 0
			if p.Slack.Upper {
				side = 1
			}
			of[v][side] = p.Row
		}
	}
	return of
}
