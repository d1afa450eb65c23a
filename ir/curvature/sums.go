package curvature

import (
	"fmt"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
)

// Sums are the sums of several entries of y (len dy each), one a row, and the entries alone, in which a scalar node is not linear in y: at each x it is a function of them, and a linear function of y with coefficients that are affine in x.
// So is a traveller's cost in the flows of links, which are sums over all travellers. n is nil where there are no such sums, where one reads no entry that is not in others of other entries, or where they are too many to list.
func Sums(graph *expr.Builder, root *expr.Node, dx, dy int) (n *sparse.CSR, alone []bool) {
	free := domain{slices.Repeat([]Interval{wholeLine()}, dx), slices.Repeat([]Interval{wholeLine()}, dy)}
	w := &curved{study: newStudy(graph, root, expr.DependsY, free, &budget{left: sumsWork}),
		joint: facts.NewDegrees(graph, expr.DependsX|expr.DependsY), alone: make([]bool, dy), seen: map[*expr.Node]bool{}}
	w.walk(root, false)
	var rows []linear
	products := 0.0
	for _, atom := range w.atoms {
		j := w.jacobianOf(atom)
		if j.unknown {
			return nil, nil
		}
		for e := range atom.Shape.Len() {
			var row linear
			j.visit(e, func(col int, v Interval) { row = append(row, coefficient{col, v.middle()}) })
			slices.SortFunc(row, func(a, b coefficient) int { return a.col - b.col })
			if len(row) == 1 {
				w.alone[row[0].col] = true
			} else if len(row) > 1 {
				rows = append(rows, row)
				products += float64(len(row)) * float64(len(row))
			}
		}
	}
	if products > sumsWork || !owned(rows, dy) {
		return nil, w.alone
	}
	n = sparse.Empty(dy)
	known := map[string]bool{} // of one that repeats another, or a multiple of it, the first stays
	for _, r := range rows {
		key := fmt.Sprint(each.Of(r, func(c coefficient) coefficient { return coefficient{c.col, c.val / r[0].val} }))
		if known[key] {
			continue
		}
		known[key] = true
		for _, c := range r {
			n.Append(c.col, c.val)
		}
		n.EndRow()
	}
	return n, w.alone
}

// sumsWork bounds the operations that finding the coefficients takes, and the products of two of one sum: about a second.
const sumsWork = 2e8

// curved looks for the affine parts of a node that something which is not linear in y reads.
type curved struct {
	*study
	joint *facts.Degrees // in x and y
	alone []bool
	atoms []*expr.Node
	seen  map[*expr.Node]bool // by whether something not linear reads it
}

// linear is an entry of such a part as a function of y: its coefficients, by their columns.
type linear []coefficient

type coefficient struct {
	col int
	val float64
}

func (w *curved) walk(n *expr.Node, below bool) {
	if was, seen := w.seen[n]; n.Deps&expr.DependsY == 0 || seen && (was || !below) {
		return
	}
	w.seen[n] = below
	switch {
	case !below && w.affine(n):
		if w.joint.Of(n).Deg > 2 { // its coefficients are not affine in x
			facts.Reads(w.graph, n, true, w.alone)
		}
		return
	case below && w.joint.Affine(n):
		w.atoms = append(w.atoms, n)
		return
	case below, n.Op.Info().Linear:
	case n.Op.Info().Bilinear && (n.Args[0].Deps == 0 || n.Args[1].Deps == 0), n.Op == expr.Div && n.Args[1].Deps == 0:
	default:
		below = true
	}
	for _, a := range n.Args {
		w.walk(a, below)
	}
}

// owned reports that each of the rows reads an entry of y that only rows with the same entries read.
func owned(rows []linear, dy int) bool {
	const open, shared = -1, -2
	same, class := map[string]int{}, slices.Repeat([]int{open}, dy) // the rows with the same entries that read one
	for _, r := range rows {
		key := fmt.Sprint(each.Of(r, func(c coefficient) int { return c.col }))
		if _, known := same[key]; !known {
			same[key] = len(same)
		}
		for _, c := range r {
			switch class[c.col] {
			case open:
				class[c.col] = same[key]
			case same[key]:
			default:
				class[c.col] = shared
			}
		}
	}
	return !slices.ContainsFunc(rows, func(r linear) bool {
		return !slices.ContainsFunc(r, func(c coefficient) bool { return class[c.col] >= 0 })
	})
}
