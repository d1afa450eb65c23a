package facts

import (
	"fmt"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// maxPairs bounds the products that one node is written out to.
const maxPairs = 1 << 22

// Split returns for each group of entries of y, a union of blocks, an
// expression of x and of a variable of its own, the group's entries in their
// order from offset 0, that is g up to what the group does not enter. Its size
// is that of the group's part of g. An error means that the groups are not
// independent, or that a part would be too large to write out.
func Split(p *ir.Problem, groups [][]int) ([]*expr.Node, error) {
	a := analyze(p)
	if a == nil {
		return nil, fmt.Errorf("the lower level of %s is one block", p.Name)
	}
	group := map[int]int{} // of each class
	for k, entries := range groups {
		for _, j := range entries {
			class := a.class.Of(j)
			if at, seen := group[class]; seen && at != k {
				return nil, fmt.Errorf("groups %d and %d of %s depend on each other", at+1, k+1, p.Name)
			}
			group[class] = k
		}
	}
	roots := make([]*expr.Node, len(groups))
	for k, entries := range groups {
		var err error
		if roots[k], err = a.cut(fmt.Sprintf("follower %d", k+1), entries); err != nil {
			return nil, err
		}
	}
	return roots, nil
}

// cutting is one group's part of the graph. Of an entry that is held, or that
// y does not enter, it has the value; of another the sum of the terms that the
// group enters.
type cutting struct {
	*partition
	within []bool // of each element: the group enters it
	needed []bool
	list   map[*node][]int // needed entries, ascending
	made   map[*node]*expr.Node
	pos    []int // of a needed element in its node's list
}

// term is one term of the entry at position row of a node's list.
type term struct{ row, p, q int }

func (a *partition) cut(name string, entries []int) (*expr.Node, error) {
	c := &cutting{partition: a, within: make([]bool, len(a.depends)), needed: make([]bool, len(a.depends)),
		list: map[*node][]int{}, made: map[*node]*expr.Node{}, pos: make([]int, len(a.depends))}
	for _, j := range entries {
		c.within[j] = true
	}
	for _, n := range a.nodes {
		if n.Op == expr.Var {
			continue
		}
		for e := range n.Shape.Len() {
			a.flow.each(n, e, func(t expr.Summand) bool {
				in := c.in(n.args[0], t.P) || c.in(n.args[1], t.Q)
				c.within[n.base+e] = in
				return !in
			})
		}
	}
	if len(a.nodes) == 0 || !c.in(a.root(), 0) {
		return a.graph.Number(0), nil
	}
	root := a.root()
	c.needed[root.base] = true
	for i := len(a.nodes) - 1; i >= 0; i-- {
		if c.enters(a.nodes[i]) {
			c.need(a.nodes[i])
		}
	}
	own := a.graph.Var(name, true, 0, expr.VectorShape(len(entries)), root.Span)
	place := make(map[int]int, len(entries))
	for t, j := range entries {
		place[j] = t
	}
	for _, n := range a.nodes {
		if len(c.list[n]) == 0 {
			continue
		}
		made := c.make(n, own, place)
		if made == nil {
			return nil, fmt.Errorf("cutting %s at %v: the products are too many", n.Op, n.Span)
		}
		c.made[n] = made
	}
	return c.made[root], nil
}

// in reports whether the group enters entry k of a node; it may be -1, for none.
func (c *cutting) in(n *node, k int) bool { return c.varies(n, k) && c.within[n.base+k] }

// each calls with the terms that the needed entry e of n keeps; p or q is -1
// where an argument has no part.
func (c *cutting) each(n *node, e int, visit func(p, q int)) {
	at := n.base + e
	whole := c.held[at] || c.depends[at] != varying
	product := n.Op.Info().Bilinear
	c.flow.each(n, e, func(t expr.Summand) bool {
		p, q := t.P, t.Q
		left, right := c.in(n.args[0], p), c.in(n.args[1], q)
		switch {
		case whole, product && (left || right), n.Op == expr.Div && left, left && right:
			visit(p, q)
		case product, n.Op == expr.Div:
		case left:
			visit(p, -1)
		case right:
			visit(-1, q)
		}
		return true
	})
}

// need marks what the needed entries of a node are made of, and lists them.
func (c *cutting) need(n *node) {
	mark := func(arg *node, k int) {
		if k >= 0 && c.enters(arg) && c.of(arg, k) != zero {
			c.needed[arg.base+k] = true
		}
	}
	for e := range n.Shape.Len() {
		if !c.needed[n.base+e] {
			continue
		}
		c.pos[n.base+e] = len(c.list[n])
		c.list[n] = append(c.list[n], e)
		if n.Op == expr.Var {
			continue
		}
		c.each(n, e, func(p, q int) {
			mark(n.args[0], p)
			mark(n.args[1], q)
		})
	}
}

// operand is a vector of entries of argument i of n, 0 where the index is
// negative; a scalar where the argument is one and no entry is missing.
func (c *cutting) operand(n *node, i int, index []int) *expr.Node {
	at, arg := index, n.args[i]
	from := n.Args[i]
	if c.enters(arg) {
		at = make([]int, len(index))
		for r, k := range index {
			at[r] = -1
			if k >= 0 && c.of(arg, k) != zero {
				at[r] = c.pos[arg.base+k]
			}
		}
		if from = c.made[arg]; from == nil { // no entry is there
			return c.graph.Fill(0, expr.VectorShape(len(at)), arg.Span)
		}
	}
	if n.Args[i].Shape.Rank == 0 && !slices.Contains(at, -1) {
		return from
	}
	return c.graph.Gather(from, at, expr.VectorShape(len(at)), n.Args[i].Span)
}

// make writes the needed entries of a node: a scalar for a scalar, a vector
// for anything else; nil where the products are too many.
func (c *cutting) make(n *node, own *expr.Node, place map[int]int) *expr.Node {
	b, list := c.graph, c.list[n]
	shape := expr.VectorShape(len(list))
	if n.Shape.Rank == 0 {
		shape = n.Shape
	}
	if n.Op == expr.Var {
		index := each.Of(list, func(e int) int { return place[n.Offset+e] })
		return b.Gather(own, index, shape, n.Span)
	}
	var terms []term
	for r, e := range list {
		c.each(n, e, func(p, q int) { terms = append(terms, term{r, p, q}) })
	}
	switch {
	case n.Op == expr.MatVec && n.Args[0].Deps&expr.DependsY == 0:
		return c.matrixVector(n, terms)
	case n.Op == expr.MatMul && (n.Args[0].Deps&n.Args[1].Deps)&expr.DependsY == 0:
		if made := c.matrixMatrix(n, terms); made != nil {
			return made
		}
	}
	if len(terms) > maxPairs {
		return nil
	}
	if sums(n.Op) {
		return c.sum(n, terms, shape)
	}
	// Elementwise: one entry of each argument at the most. A sum with nothing is what it is a sum of: chains of sums are as long as the group's part of them.
	left, right := make([]int, len(list)), make([]int, len(list))
	for r := range list {
		left[r], right[r] = -1, -1
	}
	for _, t := range terms {
		left[t.row], right[t.row] = max(left[t.row], t.p), max(right[t.row], t.q)
	}
	none := func(index []int) bool { return slices.Max(index) < 0 }
	if n.Op == expr.Add && none(left) {
		if v := c.operand(n, 1, right); v.Shape == shape {
			return v
		}
	}
	u := c.operand(n, 0, left)
	if (n.Op == expr.Add || n.Op == expr.Sub) && none(right) && u.Shape == shape {
		return u
	}
	var w *expr.Node
	if len(n.Args) == 1 {
		w = b.Unary(n.Op, u, n.Span)
	} else {
		w = b.Binary(n.Op, u, c.operand(n, 1, right), n.Span)
	}
	if w.Shape == shape {
		return w
	}
	// Scalars stand for a vector, or a vector of one entry for a scalar.
	return b.Gather(w, make([]int, shape.Len()), shape, n.Span)
}

// sums reports whether an entry of the operation is made of any number of
// terms, or of one that is elsewhere in its argument.
func sums(op expr.Op) bool {
	class := op.Info().Class
	return class == expr.Structural || class == expr.Product || class == expr.Reduction
}

// sum adds up terms, or reduces them.
func (c *cutting) sum(n *node, terms []term, shape expr.Shape) *expr.Node {
	b := c.graph
	rows, left, right := make([]int, len(terms)), make([]int, len(terms)), make([]int, len(terms))
	for i, t := range terms {
		rows[i], left[i], right[i] = t.row, t.p, t.q
	}
	vector := expr.VectorShape(len(terms))
	u := c.operand(n, 0, left)
	if u.Shape != vector {
		u = b.Gather(u, make([]int, len(terms)), vector, n.Span)
	}
	if n.Op.Info().Class == expr.Reduction {
		return b.Reduce(n.Op, u, n.Span)
	}
	if len(n.Args) == 2 {
		v := c.operand(n, 1, right)
		if n.Op == expr.Dot {
			return b.Dot(u, v, n.Span)
		}
		u = b.Binary(expr.Mul, u, v, n.Span)
	}
	if slices.Equal(rows, expr.Sequence(0, shape.Len())) { // one term a row
		return b.Gather(u, rows, shape, n.Span)
	}
	return b.ScatterAdd(u, rows, shape, n.Span)
}
