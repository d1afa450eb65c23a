package facts

import "bilevelc/ir/expr"

// dependence is what is known of an entry of a node: each says less than the one before.
type dependence uint8

const (
	zero    dependence = iota // it is 0 whatever the variables are
	fixed                     // the variables of interest do not enter it
	varying                   // they may
)

// flow says of every entry of the nodes below a scalar one how it depends on the
// variables of one level, and whether the scalar is made of it. Entries of all nodes are
// numbered as elements, of which the first are the variables themselves.
type flow struct {
	graph   *expr.Builder
	wrt     expr.Deps
	nodes   []*node // that depend on variables of either level, in topological order
	depends []dependence
	used    []bool // it varies, and the root is made of it
}

// node is one of the graph.
type node struct {
	*expr.Node
	terms expr.Terms
	base  int      // the element of its first entry
	args  [2]*node // nil: there is none, or it is data of which nothing is to be known
	sums  bool     // its entries are sums of its terms
	zeros bool     // some of its entries, or those of its arguments, are 0
}

// follow finds how the entries of the nodes depend on n variables of one level; nil where
// there are too many, or too many products of them.
func follow(graph *expr.Builder, root *expr.Node, wrt expr.Deps, n int) *flow {
	f := &flow{graph: graph, wrt: wrt, depends: make([]dependence, n)}
	known, work := map[*expr.Node]*node{}, 0.0
	for _, m := range expr.Reachable(root) {
		if m.Deps == 0 {
			continue
		}
		info := m.Op.Info()
		made := &node{Node: m, base: len(f.depends), sums: info.Linear || info.Bilinear}
		known[m] = made
		f.nodes = append(f.nodes, made)
		if m.Op == expr.Var && m.Deps == wrt {
			made.base = m.Offset
		} else {
			f.depends = append(f.depends, make([]dependence, m.Shape.Len())...)
		}
		if m.Op != expr.Var {
			made.terms = graph.Terms(m)
			work += made.terms.Work
		}
		for i, a := range m.Args {
			if a.Deps == 0 && info.Linear && known[a] == nil {
				known[a] = f.dataNode(a)
			}
			made.args[i] = known[a]
		}
		if work > maxWork || float64(len(f.depends)) > maxWork {
			return nil
		}
		f.forward(made)
	}
	f.used = make([]bool, len(f.depends))
	return f
}

// dataNode tells the zeros of an argument of a sum; those of products have no terms.
func (f *flow) dataNode(n *expr.Node) *node {
	made := &node{Node: n, base: len(f.depends)}
	value := f.graph.Known(n)
	for k := range n.Shape.Len() {
		d := fixed
		if value != nil && value.At(k) == 0 {
			d, made.zeros = zero, true
		}
		f.depends = append(f.depends, d)
	}
	return made
}

// of is how entry k of a node depends on the variables.
func (f *flow) of(n *node, k int) dependence {
	if n == nil {
		return fixed
	}
	return f.depends[n.base+k]
}

// enters reports whether the variables enter a node.
func (f *flow) enters(n *node) bool { return n != nil && n.Deps&f.wrt != 0 }

// varies reports whether the variables enter entry k of a node; it may be -1, for none.
func (f *flow) varies(n *node, k int) bool { return k >= 0 && f.of(n, k) == varying }

// forward finds the dependence of the entries of one node.
func (f *flow) forward(n *node) {
	least, most := fixed, fixed
	if f.enters(n) {
		most = varying
	}
	if n.sums {
		least = zero
	}
	for _, a := range n.args {
		n.zeros = n.zeros || a != nil && a.zeros
	}
	d := least
	add := func(t expr.Summand) bool {
		if t.P >= 0 {
			d = max(d, f.of(n.args[0], t.P))
		}
		if t.Q >= 0 {
			d = max(d, f.of(n.args[1], t.Q))
		}
		return d < most
	}
	for e := range n.Shape.Len() {
		if d = least; n.Op == expr.Var {
			d = most
		} else {
			f.each(n, e, add)
		}
		f.depends[n.base+e] = d
		n.zeros = n.zeros || d == zero
	}
}

// each calls visit for the terms of entry e of a node until it returns false. Terms that are
// 0 are left out of sums.
func (f *flow) each(n *node, e int, visit func(t expr.Summand) bool) {
	if !n.sums || !n.zeros {
		n.terms.Each(e, visit)
		return
	}
	n.terms.Each(e, func(t expr.Summand) bool {
		if t.P >= 0 && f.of(n.args[0], t.P) == zero || t.Q >= 0 && f.of(n.args[1], t.Q) == zero {
			return true
		}
		return visit(t)
	})
}

// root is the scalar, where it depends on variables.
func (f *flow) root() *node { return f.nodes[len(f.nodes)-1] }

// backward marks the entries that the root is made of, and calls at for each that is one,
// users before arguments, until it returns false.
func (f *flow) backward(at func(n *node, e int) bool) {
	mark := func(n *node, k int) {
		if f.varies(n, k) {
			f.used[n.base+k] = true
		}
	}
	if len(f.nodes) > 0 {
		mark(f.root(), 0)
	}
	for i := len(f.nodes) - 1; i >= 0; i-- {
		n := f.nodes[i]
		if n.Op == expr.Var || !f.enters(n) {
			continue
		}
		below := func(t expr.Summand) bool {
			mark(n.args[0], t.P)
			mark(n.args[1], t.Q)
			return true
		}
		for e := range n.Shape.Len() {
			if !f.used[n.base+e] {
				continue
			}
			if at != nil && !at(n, e) {
				return
			}
			f.each(n, e, below)
		}
	}
}
