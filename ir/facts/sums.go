package facts

import (
	"fmt"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/ir/expr"
)

// Sums are the sums of several entries of y (len dy each), one a row, and the entries alone, in which a scalar node is not linear in y: at each x it is a function of them, and a linear function of y with coefficients that are affine in x.
// So is a traveller's cost in the flows of links, which are sums over all travellers. n is nil where there are no such sums, or where they are too many to list.
func Sums(graph *expr.Builder, root *expr.Node, dx, dy int) (n *sparse.CSR, alone []bool) {
	w := &curved{graph: graph, joint: NewDegrees(graph, expr.DependsX|expr.DependsY), inY: NewDegrees(graph, expr.DependsY), alone: make([]bool, dy), seen: map[*expr.Node]bool{}}
	w.walk(root, false)
	supports := NewSupports(graph)
	var rows []entry
	for _, atom := range w.atoms {
		of := supports.Of(atom)
		if of == nil {
			return nil, nil
		}
		for e := range atom.Shape.Len() {
			if cols := of.Of(e); len(cols) == 1 {
				w.alone[cols[0]] = true
			} else if len(cols) > 1 {
				rows = append(rows, entry{atom, e, cols})
			}
		}
	}
	return w.coefficients(rows, dx), w.alone
}

// curved looks for the affine parts of a node that something which is not linear in y reads.
type curved struct {
	graph      *expr.Builder
	joint, inY *Degrees
	alone      []bool
	atoms      []*expr.Node
	seen       map[*expr.Node]bool // by whether something not linear reads it
}

// entry is one of an affine node, with the entries of y that it reads.
type entry struct {
	of   *expr.Node
	at   int
	cols []int32
}

func (w *curved) walk(n *expr.Node, below bool) {
	if was, seen := w.seen[n]; n.Deps&expr.DependsY == 0 || seen && (was || !below) {
		return
	}
	w.seen[n] = below
	switch {
	case !below && w.inY.Affine(n):
		if w.joint.Of(n).Deg > 2 { // its coefficients are not affine in x
			Reads(w.graph, n, true, w.alone)
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

// coefficients are those of the sums, of which one that repeats another, or a multiple of it, is left out; nil where that takes long, or one reads no entry that is not in others of other entries: what they change by along the entries of y, of which those move together that no sum reads two of.
func (w *curved) coefficients(rows []entry, dx int) *sparse.CSR {
	read := make([][]int, len(w.alone)) // of each entry of y, the rows that read it
	for i, r := range rows {
		for _, j := range r.cols {
			read[j] = append(read[j], i)
		}
	}
	if !owned(rows, read) {
		return nil
	}
	var groups []map[int]int // of entries of y that move together: of each row that reads one, which
	for j, of := range read {
		apart := func(g map[int]int) bool {
			return !slices.ContainsFunc(of, func(i int) bool { _, is := g[i]; return is })
		}
		k := slices.IndexFunc(groups, apart)
		if k < 0 {
			k = len(groups)
			groups = append(groups, map[int]int{})
		}
		for _, i := range of {
			groups[k][i] = j
		}
	}
	work := 0.0
	for _, n := range expr.Reachable(each.Of(rows, func(r entry) *expr.Node { return r.of })...) {
		work += float64(n.Shape.Len())
	}
	if float64(len(groups))*work > maxWork {
		return nil
	}
	x, y := make([]float64, dx), make([]float64, len(w.alone))
	values := func() []float64 {
		at := map[*expr.Node][]float64{}
		return each.Of(rows, func(r entry) float64 {
			if at[r.of] == nil {
				at[r.of] = must.Get(expr.Eval(r.of, x, y)).Values()
			}
			return at[r.of][r.at]
		})
	}
	base, found := values(), make([]map[int]float64, len(rows))
	for _, g := range groups {
		clear(y)
		for _, j := range g {
			y[j] = 1
		}
		moved := values()
		for i, j := range g {
			if found[i] == nil {
				found[i] = map[int]float64{}
			}
			found[i][j] = moved[i] - base[i]
		}
	}
	out, known := sparse.Empty(len(w.alone)), map[string]bool{}
	for i, r := range rows {
		key := fmt.Sprint(r.cols, each.Of(r.cols, func(j int32) float64 { return found[i][int(j)] / found[i][int(r.cols[0])] }))
		if known[key] {
			continue
		}
		known[key] = true
		for _, j := range r.cols {
			out.Append(int(j), found[i][int(j)])
		}
		out.EndRow()
	}
	return out
}

// owned reports that each of the rows reads an entry of y that only rows with the same entries read, given which rows read each entry.
func owned(rows []entry, read [][]int) bool {
	same := map[string]int{}
	class := each.Of(rows, func(r entry) int {
		key := fmt.Sprint(r.cols)
		if _, known := same[key]; !known {
			same[key] = len(same)
		}
		return same[key]
	})
	own := each.Of(read, func(of []int) bool {
		return !slices.ContainsFunc(of, func(i int) bool { return class[i] != class[of[0]] })
	})
	return !slices.ContainsFunc(rows, func(r entry) bool {
		return !slices.ContainsFunc(r.cols, func(j int32) bool { return own[j] })
	})
}
