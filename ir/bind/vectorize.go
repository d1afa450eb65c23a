package bind

import (
	"strconv"
	"strings"

	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// A sum that is written out term by term, as programs that write models do,
// is a graph of thousands of scalars. Terms of one form, such as
// (y[1] - c[1])^2 + (y[2] - c[2])^2 + ..., are collected here into one sum over
// vectors, as if they had been written as a comprehension.

// minTerms is the least number of terms that are collected. Below it scalars
// are fast enough, and messages keep pointing at the term they are about.
const minTerms = 64

// signed is a term of a sum.
type signed struct {
	node     *expr.Node
	negative bool
}

// collected rewrites a scalar sum of many terms.
func (e *elab) collected(root *expr.Node, at diag.Span) *expr.Node {
	terms := summands(root)
	if len(terms) < minTerms {
		return root
	}
	var order []string
	groups := map[string][]signed{}
	for _, t := range terms {
		key := pattern(t.node)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], t)
	}
	var total *expr.Node
	add := func(n *expr.Node, op expr.Op) {
		switch {
		case total != nil:
			total = e.must(e.b.graph.Binary(op, total, n, at))
		case op == expr.Sub:
			total = e.must(e.b.graph.Unary(expr.Neg, n, at))
		default:
			total = n
		}
	}
	for _, key := range order {
		group := groups[key]
		if len(group) < minTerms {
			for _, t := range group {
				add(t.node, map[bool]expr.Op{false: expr.Add, true: expr.Sub}[t.negative])
			}
			continue
		}
		nodes, signs, negative := make([]*expr.Node, len(group)), make([]float64, len(group)), 0
		for k, t := range group {
			nodes[k], signs[k] = t.node, 1
			if t.negative {
				signs[k] = -1
				negative++
			}
		}
		v := e.stacked(nodes)
		op := expr.Add
		switch {
		case negative == len(group):
			op = expr.Sub
		case negative > 0:
			v = e.must(e.b.graph.Binary(expr.Mul, e.b.graph.Const("", data.Vector(signs), diag.Span{}), v, at))
		}
		if v.Shape.Rank == 0 { // one term many times
			v = e.must(e.b.graph.Binary(expr.Mul, e.b.graph.Number(float64(len(group))), v, at))
		}
		add(e.sumEntries(v, at), op)
	}
	return total
}

// summands lists the terms of nested sums, differences and negations in order.
func summands(root *expr.Node) []signed {
	var out []signed
	stack := []signed{{root, false}}
	for len(stack) > 0 {
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := t.node
		switch {
		case n.Deps == 0 || n.Op != expr.Add && n.Op != expr.Sub && n.Op != expr.Neg:
			out = append(out, t)
		case n.Op == expr.Neg:
			stack = append(stack, signed{n.Args[0], !t.negative})
		default:
			stack = append(stack, signed{n.Args[1], t.negative != (n.Op == expr.Sub)}, signed{n.Args[0], t.negative})
		}
	}
	return out
}

// maxPattern bounds the operations of a term that is compared; a longer one is
// a term of its own. Written out, shared parts can be of any length.
const maxPattern = 256

// pattern spells a scalar expression with the numbers and the indices of
// entries left out: terms of equal patterns differ in those only.
func pattern(n *expr.Node) string {
	var s strings.Builder
	size := 0
	var walk func(n *expr.Node)
	walk = func(n *expr.Node) {
		if size++; size > maxPattern {
			return
		}
		switch c := n.Op.Info().Class; {
		case n.Shape.Rank == 0 && (c == expr.Elementwise1 || c == expr.Elementwise2):
			s.WriteString(n.Op.String() + "(")
			for _, a := range n.Args {
				walk(a)
				s.WriteByte(' ')
			}
			s.WriteByte(')')
		case isEntry(n):
			s.WriteString("[" + strconv.Itoa(n.Args[0].ID) + "]")
		default:
			if _, ok := n.Number(); ok && n.Name == "" {
				s.WriteByte('#')
				return
			}
			s.WriteString(strconv.Itoa(n.ID))
		}
	}
	if walk(n); size > maxPattern {
		return strconv.Itoa(n.ID)
	}
	return s.String()
}

func isEntry(n *expr.Node) bool { return n.Op == expr.Gather && n.Shape.Rank == 0 }

// stacked is the vector of scalar nodes of equal patterns, or their common
// node.
func (e *elab) stacked(nodes []*expr.Node) *expr.Node {
	first, same := nodes[0], true
	for _, n := range nodes[1:] {
		same = same && n == first
	}
	if same {
		return first
	}
	g := e.b.graph
	if isEntry(first) {
		index := make([]int, len(nodes))
		for k, n := range nodes {
			index[k] = n.Index[0]
		}
		return e.gather(first.Args[0], index, expr.VectorShape(len(nodes)), first.Span)
	}
	if _, ok := first.Number(); ok {
		vals := make([]float64, len(nodes))
		for k, n := range nodes {
			vals[k], _ = n.Number()
		}
		return g.Const("", data.Vector(vals), first.Span)
	}
	args := make([]*expr.Node, len(first.Args))
	for i := range args {
		column := make([]*expr.Node, len(nodes))
		for k, n := range nodes {
			column[k] = n.Args[i]
		}
		args[i] = e.stacked(column)
	}
	if len(args) == 1 {
		return e.must(g.Unary(first.Op, args[0], first.Span))
	}
	return e.must(g.Binary(first.Op, args[0], args[1], first.Span))
}
