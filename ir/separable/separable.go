// Package separable finds the independent followers of a bound model: the
// finest partition of the entries of y that its expressions show, such that
// the lower objective is a sum of functions of x and one block each and no row
// of the lower level touches two blocks. Given x, each block can then be
// solved on its own.
//
// Input is an ir.Problem, output a partition (Blocks), and on request the
// objective of some of the blocks as an expression of its own (Split).
//
// The method works on the entries of the tensors of the expression graph.
// Backward from the objective, an entry is used: it is added to g, perhaps
// times something that y does not enter; or it is held: something other than a
// sum is made of it, and whatever it depends on belongs together. Entries that
// belong together are joined in a union-find structure whose first elements
// are the entries of y.
//
// Invariants: the partition is sound, that is, never finer than g and the rows
// allow; it may be coarser where terms cancel. Zeros of data, and nothing else
// that is numeric, separate. The time is linear in the entries of the graph
// and of its data, but for products of matrices, which take as long as one
// evaluation; beyond maxWork there is one block.
package separable

import (
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/analysis"
	"bilevelc/ir/expr"
)

// maxWork bounds the entries and products that are looked at: about a second.
const maxWork = 2e8

// Blocks returns the blocks, each ascending, in the order of their first
// entries; nil where there are no two.
func Blocks(p *ir.Problem) [][]int {
	a := analyze(p)
	if a == nil {
		return nil
	}
	return a.classes()
}

// partition is what is known of every entry of the nodes that depend on y.
type partition struct {
	graph *expr.Builder
	root  *expr.Node
	n     int                // entries of y, the first elements
	nodes []*expr.Node       // that the objective uses and y enters, in topological order
	base  map[*expr.Node]int // the element of a node's first entry
	terms map[*expr.Node]analysis.Terms

	depends []bool // of each element: y enters
	used    []bool // it adds to the objective
	held    []bool // what it depends on belongs together

	class   sparse.Classes
	blocks  int    // classes that hold an entry of y
	holding []bool // of each root: its class holds an entry of y
}

// analyze returns nil where everything is one block.
func analyze(p *ir.Problem) *partition {
	a := &partition{graph: p.Graph, root: p.Lower.Objective, n: p.Lower.Dim, blocks: p.Lower.Dim,
		base: map[*expr.Node]int{}, terms: map[*expr.Node]analysis.Terms{}}
	if a.n < 2 {
		return nil
	}
	elements, ok := a.collect()
	if !ok {
		return nil
	}
	a.depends, a.used, a.held = make([]bool, elements), make([]bool, elements), make([]bool, elements)
	a.class, a.holding = sparse.NewClasses(elements), make([]bool, elements)
	for i := range a.holding {
		a.holding[i] = i < a.n
	}
	for i := range p.B.Rows {
		cols, vals := p.B.Row(i)
		first := -1
		for k, j := range cols {
			if vals[k] == 0 {
				continue
			}
			if first >= 0 {
				a.join(first, j)
			}
			first = j
		}
	}
	if a.root.Deps&expr.DependsY != 0 {
		a.forward()
		a.backward()
	}
	if a.blocks < 2 {
		return nil
	}
	return a
}

// collect numbers the entries of the nodes; it reports false where there are
// too many, or too many products of them.
func (a *partition) collect() (elements int, ok bool) {
	reached := map[*expr.Node]bool{}
	var visit func(*expr.Node)
	visit = func(n *expr.Node) {
		if n.Deps&expr.DependsY == 0 || reached[n] {
			return
		}
		reached[n] = true
		for _, arg := range n.Args {
			visit(arg)
		}
		a.nodes = append(a.nodes, n)
	}
	visit(a.root)
	elements = a.n
	work := 0.0
	for _, n := range a.nodes {
		if n.Op == expr.Var {
			a.base[n] = n.Offset
			continue
		}
		a.base[n] = elements
		elements += n.Shape.Len()
		a.terms[n] = analysis.TermsOf(a.graph, n)
		work += a.terms[n].Work
		if work > maxWork || float64(elements) > maxWork {
			return 0, false
		}
	}
	return elements, true
}

// forward finds the entries that y enters.
func (a *partition) forward() {
	for _, n := range a.nodes {
		base := a.base[n]
		for e := range n.Shape.Len() {
			if n.Op == expr.Var {
				a.depends[base+e] = true
				continue
			}
			a.terms[n].Each(e, func(p, q int) bool {
				enters := p >= 0 && a.enters(n.Args[0], p) || q >= 0 && a.enters(n.Args[1], q)
				a.depends[base+e] = enters
				return !enters
			})
		}
	}
}

// enters reports whether y enters entry k of a node.
func (a *partition) enters(n *expr.Node, k int) bool {
	return n.Deps&expr.DependsY != 0 && a.depends[a.base[n]+k]
}

// backward finds what is used and held, and joins what belongs together.
func (a *partition) backward() {
	a.used[a.base[a.root]] = true
	for i := len(a.nodes) - 1; i >= 0 && a.blocks > 1; i-- {
		n := a.nodes[i]
		if n.Op == expr.Var {
			continue
		}
		for e := range n.Shape.Len() {
			if at := a.base[n] + e; a.used[at] && a.depends[at] {
				a.held[at] = a.held[at] || a.binds(n, e)
				a.descend(n, e)
			}
		}
	}
}

// binds reports whether entry e of n is more than a sum of terms with at most
// one factor that y enters, for another reason than products.
func (a *partition) binds(n *expr.Node, e int) bool {
	if n.Op == expr.Div {
		return a.enters(n.Args[1], analysis.Place(n.Args[1], e))
	}
	return !n.Op.Info().Linear && !analysis.Product(n.Op)
}

// descend passes what is known of entry e of n on to what it is made of.
func (a *partition) descend(n *expr.Node, e int) {
	at := a.base[n] + e
	hold := func(with int, arg *expr.Node, k int) {
		from := a.base[arg] + k
		a.used[from], a.held[from] = true, true
		a.join(with, from)
	}
	a.terms[n].Each(e, func(p, q int) bool {
		left := p >= 0 && a.enters(n.Args[0], p)
		right := q >= 0 && a.enters(n.Args[1], q)
		together := a.held[at] || left && right && analysis.Product(n.Op)
		switch {
		case together && left && right && !a.held[at]:
			hold(a.base[n.Args[1]]+q, n.Args[0], p)
			hold(a.base[n.Args[0]]+p, n.Args[1], q)
		case together:
			if left {
				hold(at, n.Args[0], p)
			}
			if right {
				hold(at, n.Args[1], q)
			}
		default:
			if left {
				a.used[a.base[n.Args[0]]+p] = true
			}
			if right {
				a.used[a.base[n.Args[1]]+q] = true
			}
		}
		return a.blocks > 1
	})
}

// join makes one class of two.
func (a *partition) join(i, j int) {
	i, j = a.class.Of(i), a.class.Of(j)
	if i == j {
		return
	}
	if a.holding[i] && a.holding[j] {
		a.blocks--
	}
	a.class.Join(i, j)
	a.holding[i] = a.holding[i] || a.holding[j]
}

// classes lists the classes of the entries of y.
func (a *partition) classes() [][]int {
	number := map[int]int{}
	var blocks [][]int
	for j := range a.n {
		root := a.class.Of(j)
		k, seen := number[root]
		if !seen {
			k = len(blocks)
			number[root] = k
			blocks = append(blocks, nil)
		}
		blocks[k] = append(blocks[k], j)
	}
	return slices.Clip(blocks)
}
