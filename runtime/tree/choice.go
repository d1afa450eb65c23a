package tree

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// choice is a part of the lower level that takes one of several options: y_t >= 0, of which one equation with equal coefficients is all that reads them, sum y_t = Total, and of which
// neither f nor g has products but with entries of x. The follower's answers to an x, and the multipliers beside them, leave a face of the simplex for y, and f is linear there: a
// vertex, y_t = Total for one option and 0 for the others, is as good for the leader as any other point. The search looks at vertices alone: a branch on y_t holds it at 0, or all
// others. f has its products x_c y_t as columns of the relaxation (lift), which are what they say at every vertex (McCormick 1976): branches on options are enough, as in
// games in which a leader commits to a strategy (Conitzer and Sandholm 2006).
type choice struct {
	row   int // the equation
	total float64
	y     []int // the options, as entries of y
	pairs []int // of y_t >= 0
}

// findChoices sets the choices of an f that is not convex, of those options that f has products of, and with entries of x in finite ranges alone.
func (s *search) findChoices() {
	sys := s.sys
	s.productHess = s.scaled.Hess
	if s.scaled.Hess == nil || sys.Objective.Convex {
		return
	}
	pairOf := slices.Repeat([]int{-1}, sys.Ny)
	for k, p := range sys.Pairs {
		if v := p.Slack.Var; v >= 0 && !p.Slack.Upper {
			pairOf[v-sys.Nx] = k
		}
	}
	s.low, s.high = s.reach()
	readers := sys.Relaxation.A.T()
	byRows := sys.P.Rows.B.T()
	option := func(row, j int) (products int, is bool) {
		k, col := pairOf[j], sys.Nx+j
		if k < 0 || sys.P.Rows.Rhs[sys.Pairs[k].Row] != 0 || sys.P.Rows.A.Reads(sys.Pairs[k].Row) || sys.H.Reads(j) {
			return 0, false
		}
		for i, v := range byRows.Entries(j) {
			if v != 0 && i != row && i != sys.Pairs[k].Row {
				return 0, false
			}
		}
		for r, v := range readers.Entries(col) {
			if v != 0 && sys.Origin[r] != (kkt.Origin{Kind: kkt.LowerRow, Index: row}) {
				return 0, false
			}
		}
		for k := range s.curved {
			if s.curved[k].Lin[col] != 0 || s.curved[k].Hess.Reads(col) {
				return 0, false
			}
		}
		for c := range s.scaled.Hess.Nonzeros(col) {
			if c >= sys.Nx || math.IsInf(s.low[c], 0) || math.IsInf(s.high[c], 0) {
				return 0, false
			}
			products++
		}
		return products, true
	}
	s.optionOf = slices.Repeat([]int{-1}, len(sys.Pairs))
	for i, kind := range sys.P.Rows.Kind {
		if kind != problem.Equal || sys.P.Rows.A.Reads(i) {
			continue
		}
		cols, vals := sys.P.Rows.B.Row(i)
		of, products, all := choice{row: i}, 0, true
		for e, j := range cols {
			n, is := option(i, j)
			if all = all && is && vals[e] == vals[0]; !all {
				break
			}
			of.y, of.pairs, products = append(of.y, j), append(of.pairs, pairOf[j]), products+n
		}
		if all && products > 0 {
			if of.total = -sys.P.Rows.Rhs[i] / vals[0]; of.total > 0 {
				for _, k := range of.pairs {
					s.optionOf[k] = len(s.choices)
				}
				s.choices = append(s.choices, of)
			}
		}
	}
	if s.choices == nil {
		return
	}
	entries, options := []sparse.Entry{}, make([]bool, sys.N)
	for _, of := range s.choices {
		for _, j := range of.y {
			options[sys.Nx+j] = true
		}
	}
	for i := range sys.N {
		for j, v := range s.scaled.Hess.Entries(i) {
			if !options[i] && !options[j] {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
			}
		}
	}
	s.productHess = sparse.FromEntries(sys.N, sys.N, entries)
	if s.productHess.NNZ() == 0 {
		s.productHess = nil
	}
}

// convex reports that what relaxations have of f, beside columns for products, is convex.
func (s *search) convex() bool {
	return s.sys.Objective.Convex || (s.choices != nil || s.products != nil) && kkt.Semidefinite(s.productHess)
}

// others are the pairs of the other options of the choice that a pair is of.
func (s *search) others(pair int) (all []int) {
	if s.choices == nil || s.optionOf[pair] < 0 {
		return nil
	}
	all = append(all, each.Where(s.choices[s.optionOf[pair]].pairs, func(k int) bool { return k != pair })...)
	return all
}

// atVertices makes a branch one of vertices: each choice takes the option that f falls on fastest, of those that it takes at z (relaxation's units; nil for
// anywhere).
func (s *search) atVertices(fix []kkt.Fix, z []float64) {
	for _, of := range s.choices {
		best, least := -1, math.Inf(1)
		for n, k := range of.pairs {
			col := s.sys.Nx + of.y[n]
			slope := 0.0
			switch {
			case z == nil && fix[k] == kkt.SlackZero:
				continue
			case z != nil && z[col]*s.sys.ColScale[col] <= tolerance.Sign*of.total:
				continue
			case z != nil:
				slope = (s.prog.C[col] + s.scaled.Hess.RowDot(col, z)) / s.sys.ColScale[col]
			}
			if slope < least {
				best, least = k, slope
			}
		}
		if best < 0 {
			best = of.pairs[0]
		}
		for _, k := range of.pairs {
			fix[k] = kkt.SlackZero
		}
		fix[best] = kkt.MultZero
	}
}

// loose reports, for each choice, whether a product of it is not that of its factors at the solution z of a relaxation.
func (s *search) loose(z []float64) []bool {
	out := make([]bool, len(s.choices))
	if s.lift == nil {
		return out
	}
	for k := range s.lift.cols {
		of := &s.lift.cols[k]
		if of.choice >= 0 && s.lift.apart(s, k, z) > tolerance.Sign {
			out[of.choice] = true
		}
	}
	return out
}

// between reports that an option is neither taken nor left at z, by their pairs' slack.
func (s *search) between(pair int, slack float64) (rest float64, is bool) {
	of := &s.choices[s.optionOf[pair]]
	total := of.total / s.sys.ColScale[s.sys.Pairs[pair].Slack.Var]
	rest = total - slack
	return rest, min(slack, rest) > tolerance.Sign*total
}

// choices writes the choices of a part.
func (pw *proofWriter) choices() {
	for _, of := range pw.s.choices {
		pw.line(map[string]any{"choice": map[string]any{"row": pw.row(of.row)}})
	}
}

// branchOn is the word that a proof has for a branch on a pair.
func (s *search) branchOn(pair int) string {
	if s.choices != nil && s.optionOf[pair] >= 0 {
		return "option"
	}
	return "pair"
}
