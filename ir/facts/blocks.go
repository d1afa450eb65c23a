package facts

import (
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// Blocks finds the independent followers of a bound model: the
// finest partition of the entries of y that its expressions show, such that
// the lower objective is a sum of functions of x and one block each and no row
// of the lower level touches two blocks. Given x, each block can then be
// solved on its own. They are ascending, in the order of their first
// entries; nil where there are no two, or the graph is too large to look at.
//
// Backward from the objective, an entry is used: it is added to g, perhaps
// times something that y does not enter; or it is held: something other than a
// sum is made of it, and whatever it depends on belongs together. Entries that
// belong together are joined in a union-find structure whose first elements
// are the entries of y. The partition is never finer than g and the rows
// allow; it may be coarser where terms cancel.
func Blocks(p *ir.Problem) [][]int {
	a := analyze(p)
	if a == nil {
		return nil
	}
	return a.class.Members(a.n)
}

// partition is what is known of every entry of the nodes that depend on y.
type partition struct {
	*flow
	n       int    // entries of y, the first elements
	held    []bool // of each element: what it depends on belongs together
	class   sparse.Classes
	blocks  int    // classes that hold an entry of y
	holding []bool // of each root: its class holds an entry of y
}

// analyze returns nil where everything is one block.
func analyze(p *ir.Problem) *partition {
	a := &partition{n: p.Lower.Dim, blocks: p.Lower.Dim}
	if a.n < 2 {
		return nil
	}
	if a.flow = follow(p.Graph, p.Lower.Objective, expr.DependsY, a.n); a.flow == nil {
		return nil
	}
	elements := len(a.depends)
	a.held = make([]bool, elements)
	a.class, a.holding = sparse.NewClasses(elements), each.Below(elements, func(i int) bool { return i < a.n })
	for i := range p.B.Rows {
		cols, _ := p.B.Row(i)
		for _, j := range cols {
			a.join(cols[0], j)
		}
	}
	if a.blocks > 1 {
		a.backward(a.visit)
	}
	if a.blocks < 2 {
		return nil
	}
	return a
}

// visit finds whether a used entry is held, and joins what belongs together.
func (a *partition) visit(n *node, e int) bool {
	at := n.base + e
	a.held[at] = a.held[at] || a.binds(n, e)
	product := n.Op.Info().Bilinear
	hold := func(with int, arg *node, k int) {
		a.held[arg.base+k] = true
		a.join(with, arg.base+k)
	}
	a.each(n, e, func(t expr.Summand) bool {
		p, q := t.P, t.Q
		left, right := a.varies(n.args[0], p), a.varies(n.args[1], q)
		if left && right && product && !a.held[at] {
			hold(n.args[1].base+q, n.args[0], p)
			hold(n.args[0].base+p, n.args[1], q)
			return a.blocks > 1
		}
		if left && a.held[at] {
			hold(at, n.args[0], p)
		}
		if right && a.held[at] {
			hold(at, n.args[1], q)
		}
		return a.blocks > 1
	})
	return a.blocks > 1
}

// binds reports whether entry e of n is more than a sum of terms with at most
// one factor that y enters, for another reason than products.
func (a *partition) binds(n *node, e int) bool {
	if n.Op == expr.Div {
		return a.varies(n.args[1], expr.Place(n.Args[1], e))
	}
	return !n.sums
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
