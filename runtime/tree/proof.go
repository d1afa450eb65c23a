package tree

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// Statement is what a proof is to show: that f is at least Bound, or with +Inf that nothing is feasible. Model and Digest, which may
// be "", say what it is of.
type Statement struct {
	Bound         float64
	Model, Digest string
	// Accepts is what verifies each line as it comes, and says why it refuses one, as a leaf that shows less than a least bound: in the place of a leaf another may come, or a branch.
	Accepts func(line []byte, least float64) error
}

// WriteProof writes what shows a statement by the trees of a search, as JSON objects, one a line (the format is
// that of certify.VerifyTree). Leaves are solved again for their weights, and a subtree whose relaxation alone shows the statement
// is one leaf. The memory it takes is that of the trees.
func WriteProof(ctx context.Context, w io.Writer, sys *kkt.System, st *State, what Statement) (err error) {
	defer must.Catch(&err)
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
	if len(f.parts) == 1 {
		f.parts[0].vanishing(sys, head)
	}
	lines := lineWriter{out, what.Accepts}
	lines.line(head)
	claims := f.claims(what.Bound)
	for k, s := range f.parts {
		if math.IsInf(claims[k], -1) { // another part shows that nothing is feasible
			continue
		}
		pw := &proofWriter{of: sys, s: s, p: s.newPlunger(), claim: claims[k], lineWriter: lines, bounds: boundRows(s.sys)}
		pw.p.thorough, pw.p.enough = true, pw.claim
		if len(f.parts) > 1 {
			of := map[string]any{"columns": s.part.Cols}
			s.vanishing(sys, of)
			pw.line(map[string]any{"part": of})
		}
		pw.tree(ctx)
	}
	return out.Flush()
}

// vanishing says what vanishes of what bounds are of: products that strong duality cancels, and shares of those of multipliers and slacks.
func (s *search) vanishing(of *kkt.System, line map[string]any) {
	if s.path != nil {
		return
	}
	if s.sys.Objective.Weights != nil {
		line["duality"] = true
	}
	var shares *entries
	for k, v := range s.shares {
		shares = shares.add(s.part.Cols[s.sys.Nx+s.sys.Blocks()[k].Y[0]]-of.Nx, v)
	}
	if shares != nil {
		line["shares"] = shares
	}
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
func (pw *proofWriter) tree(ctx context.Context) {
	s, sys, claim := pw.s, pw.s.sys, pw.claim
	pw.interiors(ctx)
	if s.path != nil {
		pw.path()
		return
	}
	if c := s.concave; c != nil {
		for k, v := range c.V {
			var of *entries
			for j, t := range v {
				of = of.add(s.part.Cols[j], t/sys.ColScale[j])
			}
			square := map[string]any{"weight": c.Weight[k], "of": of}
			if of := c.Of[k]; of >= 0 {
				square["curved"] = pw.curvedIndex(of)
				if sys.Curved[of].Negated {
					square["negated"] = true
				}
			}
			if !math.IsInf(c.Lo[k], 0) {
				square["lo"] = c.Lo[k]
			}
			if !math.IsInf(c.Hi[k], 0) {
				square["hi"] = c.Hi[k]
			}
			pw.line(map[string]any{"concave": square})
		}
	}
	for k, of := range sys.Curved {
		if of.Dual {
			pw.line(map[string]any{"dual": map[string]any{"curved": pw.curvedIndex(k), "negated": of.Negated}})
		}
	}
	pw.choices()
	if s.lift != nil {
		for _, line := range s.lift.proofLines(pw) {
			pw.line(line)
		}
	}
	root := &node{fix: make([]kkt.Fix, len(sys.Pairs))}
	refutations := map[*node]*refuted{} // nodes that stand for them
	stack, more := []*node{root}, len(s.records)+tolerance.Branches
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if no := refutations[n]; no != nil {
			pw.refute(ctx, no)
			continue
		}
		later, has := pw.implied(ctx, n)
		for _, no := range later {
			refutations[&no.n] = no
			stack = append(stack, &no.n)
		}
		if !has {
			continue
		}
		if !pw.p.narrow(ctx, n, func(r narrowed) { pw.ranged(n, r) }) {
			must.Do(ctx.Err())
		}
		r := &s.records[n.id]
		if r.Kind != inner || float64(r.Bound) >= claim {
			if pw.leaf(ctx, n) {
				continue
			}
			if r.Kind != inner {
				// Rounding has it that this leaf does not show what it did when it was closed, or the engine fails: its children may. Those of leaves that are refused are no more than the search's own, and those that are looked at anyway.
				k := pw.refusedFor(n)
				if k < 0 {
					k = pw.p.anyOpen(n, &activeset.Solution{Z: pw.without})
				}
				if pw.refused != nil {
					if more--; more < 0 {
						k = -1
					}
				}
				if k >= 0 && k < len(sys.Pairs) {
					r = s.branched(n.id, int32(k), 0)
				} else if dir, at := pw.widest(n); dir >= 0 && more > 0 {
					more--
					r = s.branched(n.id, int32(-1-len(s.whole)-dir), at)
				}
			}
			if r.Kind != inner && pw.short != nil && pw.try(pw.short, math.Inf(-1)) == nil { // rounding has it that this is all that there is to show
				continue
			}
			must.Be(r.Kind == inner || pw.refused == nil, "a leaf at depth %d does not verify: %w", n.depth, pw.refused)
			must.Be(r.Kind == inner, "a leaf at depth %d does not show the bound %g", n.depth, claim)
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
		pw.line(branch)
		for side := 1; side >= 0; side-- {
			c := n.child(s, k, side, r.At, n.basis)
			c.id = r.First + int32(side)
			stack = append(stack, c)
		}
	}
}

// branched makes an inner node of a leaf, with leaves for children that have its bound.
func (s *search) branched(id, branch int32, at float64) *record {
	first, bound := int32(len(s.records)), s.records[id].Bound
	s.records = append(s.records, record{Kind: closed, Bound: bound}, record{Kind: closed, Bound: bound})
	r := &s.records[id]
	*r = record{Kind: inner, Branch: branch, At: at, First: first, Bound: infinite(math.Inf(-1))}
	return r
}

// ranged writes what shows a range of a slope at n.
func (pw *proofWriter) ranged(n *node, r narrowed) {
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
	pw.line(map[string]any{"range": map[string]any{"slope": r.k, side: r.value, "by": pw.weights(n, nil, row, bound, nil)}})
}

// over are the values, which are not zero, at their numbers.
func over(numbers []int, vals []float64) (of *entries) {
	for k, v := range vals {
		of = of.add(numbers[k], v)
	}
	return of
}

// interiors writes what bounds multipliers and y: reduced costs of columns with an end may be off by rounding.
func (pw *proofWriter) interiors(ctx context.Context) {
	all, _, err := pw.s.sys.Interiors(ctx)
	must.Do(err)
	for _, in := range all {
		y, rows := each.Of(in.Y, pw.answer), each.Of(in.Rows, pw.row)
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
		put("squares", over(rows, in.Squares))
		put("multipliers", over(rows, in.Mult))
		if by := slopes(y, in.Entry, func(k int) []float64 { return in.By[k] }); by != nil {
			line["by"] = by
		}
		moved := slices.Sorted(maps.Keys(in.MultBy))
		if by := slopes(rows, moved, func(k int) []float64 { return in.MultBy[moved[k]] }); by != nil {
			line["slopes"] = by
		}
		pw.line(map[string]any{"interior": line})
	}
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
	short   any       // the first that was not accepted of the last leaf, which may show less than the claim; nil where there is none
}

// lineWriter writes objects, one a line, that are accepted.
type lineWriter struct {
	out     *bufio.Writer
	accepts func(line []byte, least float64) error
}

func (w lineWriter) line(v any) {
	refused := w.try(v, math.Inf(-1))
	must.Be(refused == nil, "what was written does not verify: %w", refused)
}

// try writes an object unless it is refused, as a leaf that shows less than a least bound, and says why it is.
func (w lineWriter) try(v any, least float64) (refused error) {
	text := must.Get(json.Marshal(v))
	if refused = w.accepts(text, least); refused == nil {
		must.Get(w.out.Write(append(text, '\n')))
	}
	return refused
}
