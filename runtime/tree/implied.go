package tree

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// smallPart is a part of the lower level that shares entries of x with others, with a system of its own: its stationarity and rows, over its y, multipliers and the entries of x that it reads. Of as few pairs as have
// tolerance.Branches branches, all are looked at: at a node a pair has the side on which the system has a point for some x of the box there, and is open where both have (probing: Savelsbergh 1994). A branch on an entry of x, in whose halves
// many followers have decided, does what one on a pair of each would.
type smallPart struct {
	sys     *kkt.System // relaxation and pairs
	cols    []int       // of the search's, ascending
	rows    []int
	pairs   []int // of the search's
	entries []int // of x, which are columns, too
}

// findSmall sets the parts that are small, and the entries of x that they share, which are branched on.
func (s *search) findSmall() {
	if s.choices != nil {
		return
	}
	sys := s.sys
	readers := make([]int, sys.Nx)
	var all []*smallPart
	for _, p := range parts(sys) {
		of := &smallPart{pairs: each.WhereBelow(len(sys.Pairs), func(k int) bool { return slices.Contains(p.rows, sys.Pairs[k].Row) })}
		if len(of.pairs) > bits.Len(tolerance.Branches)-1 {
			continue
		}
		of.entries, of.cols = p.columns(sys)
		for _, c := range of.entries {
			readers[c]++
		}
		all = append(all, of)
	}
	s.shared = each.WhereBelow(sys.Nx, func(c int) bool { return readers[c] > 1 && !slices.Contains(s.whole, c) && s.boxed(c) })
	all = each.Where(all, func(of *smallPart) bool {
		return slices.ContainsFunc(of.entries, func(c int) bool { return slices.Contains(s.shared, c) })
	})
	if len(s.shared) >= len(all) { // a branch on a pair of one follower says as much
		s.shared = nil
		return
	}
	for _, of := range all {
		of.restrict(sys)
	}
	s.smallParts, s.split = all, s.shared
}

// columns are those of a part, and of them the entries of x that it reads.
func (p part) columns(sys *kkt.System) (entries, all []int) {
	read := make([]bool, sys.Nx)
	for _, j := range p.y {
		for c := range sys.G.Nonzeros(j) {
			read[c] = true
		}
	}
	for _, i := range p.rows {
		for c := range sys.P.Rows.A.Nonzeros(i) {
			read[c] = true
		}
	}
	entries = each.WhereBelow(sys.Nx, func(c int) bool { return read[c] })
	all = slices.Concat(entries, each.Of(p.y, func(j int) int { return sys.Nx + j }), each.Of(p.rows, func(i int) int { return sys.Nx + sys.Ny + i }))
	return entries, all
}

// isSmall reports that a part is one that is small.
func (s *search) isSmall(p part) bool {
	return slices.ContainsFunc(s.smallParts, func(of *smallPart) bool { return slices.Contains(of.cols, s.sys.Nx+p.y[0]) })
}

// boxed reports that an entry of x has a finite box.
func (s *search) boxed(c int) bool {
	set := s.sys.P.X
	return set.Lo != nil && linalg.Finite([]float64{set.Lo[c], set.Hi[c]})
}

// restrict makes the system of a part.
func (of *smallPart) restrict(sys *kkt.System) {
	of.sys = &kkt.System{}
	of.sys.Relaxation, of.rows = overColumns(sys.Relaxation, of.cols)
	side := func(d kkt.Side) kkt.Side {
		return kkt.Side{Row: slices.Index(of.rows, d.Row), Var: slices.Index(of.cols, d.Var), Upper: d.Upper}
	}
	for _, k := range of.pairs {
		p := sys.Pairs[k]
		of.sys.Pairs = append(of.sys.Pairs, kkt.Pair{Row: p.Row, Slack: side(p.Slack), Mult: side(p.Mult)})
	}
}

// overColumns is a program over some of the columns of another, in ascending order, with those of its rows that read no others, and its cost of them.
func overColumns(from *activeset.Program, cols []int) (prog *activeset.Program, rows []int) {
	prog = &activeset.Program{N: len(cols), C: linalg.Gather(from.C, cols), A: sparse.Empty(len(cols))}
	prog.Lo, prog.Hi = linalg.Gather(from.Lo, cols), linalg.Gather(from.Hi, cols)
	at := make(map[int]int, len(cols))
	for k, j := range cols {
		at[j] = k
	}
	for r := range from.A.Rows {
		read, vals := from.A.Row(r)
		if len(read) == 0 || slices.ContainsFunc(read, func(j int) bool { _, in := at[j]; return !in }) {
			continue
		}
		rows = append(rows, r)
		for e, j := range read {
			prog.A.Append(at[j], vals[e])
		}
		prog.A.EndRow()
	}
	prog.RowLo, prog.RowHi = linalg.Gather(from.RowLo, rows), linalg.Gather(from.RowHi, rows)
	return prog, rows
}

// bounds are those of a node, with these sides of the pairs.
func (of *smallPart) bounds(s *search, n *node, fix []kkt.Fix) *activeset.Bounds {
	b := &activeset.Bounds{}
	of.sys.Bounds(b, fix)
	for _, c := range n.box {
		if k, in := slices.BinarySearch(of.cols, int(c.Index)); in {
			scale := s.sys.ColScale[c.Index]
			b.Lo[k], b.Hi[k] = c.Lo/scale, c.Hi/scale
		}
	}
	return b
}

// refutation is given the branches and leaves that show that a system has no point, a parent before its children.
type refutation struct {
	branch func(pair int)
	leaf   func(fix []kkt.Fix, sol *activeset.Solution)
}

// pointOf is a point of small part m at a node, with these sides of its pairs; nil where there is none, by more than rounding, and empty where that is not known.
func (p *plunger) pointOf(n *node, m int, fix []kkt.Fix, told refutation) []float64 {
	of := p.s.smallParts[m]
	if p.probes == nil {
		p.probes = make([]*activeset.Solver, len(p.s.smallParts))
	}
	if p.probes[m] == nil {
		p.probes[m] = newSolver(of.sys.Relaxation)
	}
	b := of.bounds(p.s, n, fix)
	sol := p.probes[m].Solve(context.Background(), b, nil, activeset.Options{})
	p.Work += sol.Work
	switch {
	case sol.Status == activeset.Infeasible && refutes(of.sys.Relaxation, b, sol):
		if told.leaf != nil {
			told.leaf(fix, sol)
		}
		return nil
	case sol.Status != activeset.Optimal:
		return []float64{}
	}
	for k, pair := range of.sys.Pairs {
		if fix[k] != kkt.Open || min(pair.Slack.Above(of.sys.Relaxation, sol.Z), pair.Mult.Above(of.sys.Relaxation, sol.Z)) <= 0 {
			continue
		}
		if told.branch != nil {
			told.branch(of.pairs[k])
		}
		for side := range kkt.Fix(2) {
			child := slices.Clone(fix)
			child[k] = kkt.SlackZero + side
			if z := p.pointOf(n, m, child, told); z != nil {
				return z
			}
		}
		return nil
	}
	return sol.Z
}

// sides notes the sides that pairs have at a point.
func (of *smallPart) sides(z []float64, has [][2]bool) {
	from := of.sys.Relaxation
	for k, pair := range of.sys.Pairs {
		for side, of := range [2]kkt.Side{pair.Slack, pair.Mult} {
			has[k][side] = has[k][side] || of.Above(from, z) <= 0
		}
	}
}

// imply gives pairs of small parts at a node the sides that they have there, and reports whether there are any. told, unless it is nil, is given each pair that has no point on some side, and the sides that have none, before n changes.
func (p *plunger) imply(n *node, told func(m, k int, none [2]bool)) bool {
	shared := true
	for m, of := range p.s.smallParts {
		has := make([][2]bool, len(of.pairs)) // sides of which a point is known
		for i, k := range of.pairs {
			if n.fix[k] != kkt.Open || has[i][0] && has[i][1] {
				continue
			}
			fix, none := linalg.Gather(n.fix, of.pairs), [2]bool{}
			for side := range none {
				if has[i][side] {
					continue
				}
				fix[i] = kkt.SlackZero + kkt.Fix(side)
				z := p.pointOf(n, m, fix, refutation{})
				if none[side] = z == nil; len(z) > 0 {
					of.sides(z, has)
				}
			}
			if none == [2]bool{} {
				continue
			}
			if told != nil {
				told(m, k, none)
			}
			if none[0] && none[1] {
				return false
			}
			if shared {
				n.fix, shared = slices.Clone(n.fix), false
			}
			n.fix[k] = kkt.SlackZero
			if none[0] {
				n.fix[k] = kkt.MultZero
			}
		}
	}
	return true
}

// splitOptions are the entries of x that several small parts read, with what the pairs of these lack at z together: a branch on it moves them all.
func (p *plunger) splitOptions(n *node, lacks map[int]float64) map[int]float64 {
	off := map[int]float64{}
	for _, of := range p.s.smallParts {
		sum := each.Sum(of.pairs, func(k int) float64 { return lacks[k] })
		for _, c := range of.entries {
			if sum > 0 && slices.Contains(p.s.shared, c) && n.splittable(p.s, c) {
				off[c] += sum
			}
		}
	}
	return off
}

// splittable reports that the box of an entry is more than what two values of it may differ by.
func (n *node) splittable(s *search, c int) bool {
	lo, hi := n.limits(s, c)
	return hi-lo > tolerance.Target*(1+math.Abs(lo)+math.Abs(hi))
}

// implied writes the branches on pairs that a node implies, and what shows of each that one side of it has no point. It gives back the first sides of those whose second has none, which come before that, and reports whether n has a point.
func (pw *proofWriter) implied(ctx context.Context, n *node) (later []*refuted, is bool) {
	is = pw.p.imply(n, func(m, k int, none [2]bool) {
		pw.line(map[string]any{"pair": pw.row(pw.s.sys.Pairs[k].Row)})
		for side, no := range none {
			of := &refuted{m: m, n: *n}
			of.n.fix = slices.Clone(n.fix)
			of.n.fix[k] = kkt.SlackZero + kkt.Fix(side)
			if side == 1 && no && !none[0] {
				later = append(later, of)
			} else if no {
				pw.refute(ctx, of)
			}
		}
	})
	return later, is
}

// refuted is a node at which small part m has no point.
type refuted struct {
	m int
	n node
}

// refute writes what shows it.
func (pw *proofWriter) refute(ctx context.Context, no *refuted) {
	of := pw.s.smallParts[no.m]
	pw.p.pointOf(&no.n, no.m, linalg.Gather(no.n.fix, of.pairs), refutation{
		branch: func(pair int) { pw.line(map[string]any{"pair": pw.row(pw.s.sys.Pairs[pair].Row)}) },
		leaf: func(fix []kkt.Fix, sol *activeset.Solution) {
			at := no.n
			at.fix = slices.Clone(at.fix)
			linalg.Scatter(at.fix, of.pairs, fix)
			row, bound := make([]float64, pw.s.rows()), make([]float64, pw.s.sys.N)
			if sol.FarkasRow != nil {
				linalg.Scatter(row, of.rows, sol.FarkasRow)
				linalg.Scatter(bound, of.cols, sol.FarkasBound)
			}
			if pw.try(map[string]any{"empty": pw.weights(&at, nil, row, bound, nil)}, pw.claim) != nil {
				must.Be(pw.leaf(ctx, &at), "a part of the lower level that has no point does not verify: %w", pw.refused)
			}
		},
	})
}
