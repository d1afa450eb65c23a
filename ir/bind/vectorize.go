package bind

import (
	"slices"
	"strconv"
	"strings"

	"bilevelc/internal/each"
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

// addend is a term of a sum, and how often it occurs in it, less how often it
// is subtracted.
type addend struct {
	node  *expr.Node
	times float64
}

// collected rewrites a scalar sum of many terms.
func (e *elaborator) collected(root *expr.Node, at diag.Span) *expr.Node {
	terms := summands(root)
	if len(terms) < minTerms {
		return root
	}
	var order []string
	groups := map[string][]addend{}
	for _, t := range terms {
		key := pattern(t.node)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], t)
	}
	var total *expr.Node
	add := func(n *expr.Node, times float64) {
		op := expr.Add
		if times < 0 {
			op, times = expr.Sub, -times
		}
		if times != 1 {
			n = e.b.graph.Binary(expr.Mul, e.b.graph.Number(times), n, at)
		}
		switch {
		case total != nil:
			total = e.b.graph.Binary(op, total, n, at)
		case op == expr.Sub:
			total = e.b.graph.Unary(expr.Neg, n, at)
		default:
			total = n
		}
	}
	for _, key := range order {
		group := groups[key]
		if len(group) < minTerms {
			for _, t := range group {
				add(t.node, t.times)
			}
			continue
		}
		nodes, times, same := make([]*expr.Node, len(group)), make([]float64, len(group)), true
		for k, t := range group {
			nodes[k], times[k] = t.node, t.times
			same = same && t.times == times[0]
		}
		v := e.stacked(nodes)
		if same {
			add(e.sumEntries(v, at), times[0])
			continue
		}
		v = e.b.graph.Binary(expr.Mul, e.b.graph.Const("", data.Vector(times), diag.Span{}), v, at)
		add(e.sumEntries(v, at), 1)
	}
	return total
}

// summands lists the terms of nested sums, differences and negations in order,
// each once: sums share their parts, and a sum of n operations can add up 2^n
// terms.
func summands(root *expr.Node) []addend {
	var out []addend
	times := map[*expr.Node]float64{root: 1}
	place := map[*expr.Node]int{} // of the terms in out
	inner := []*expr.Node{}       // sums
	stack := []*expr.Node{root}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, seen := place[n]; seen {
			continue
		}
		if n.Deps == 0 || n.Op != expr.Add && n.Op != expr.Sub && n.Op != expr.Neg {
			place[n] = len(out)
			out = append(out, addend{node: n})
			continue
		}
		place[n] = -1
		inner = append(inner, n)
		for i := range n.Args {
			stack = append(stack, n.Args[len(n.Args)-1-i])
		}
	}
	// Users before arguments, so that each sum knows how often it is added.
	slices.SortFunc(inner, func(a, b *expr.Node) int { return b.ID - a.ID })
	for _, n := range inner {
		first, last := times[n], times[n]
		if n.Op == expr.Neg {
			first = -first
		}
		if n.Op == expr.Sub {
			last = -last
		}
		times[n.Args[0]] += first
		if len(n.Args) > 1 {
			times[n.Args[1]] += last
		}
	}
	for k := range out {
		out[k].times = times[out[k].node]
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
func (e *elaborator) stacked(nodes []*expr.Node) *expr.Node {
	first := nodes[0]
	if !slices.ContainsFunc(nodes, func(n *expr.Node) bool { return n != first }) {
		return first
	}
	g := e.b.graph
	if isEntry(first) {
		index := each.Of(nodes, func(n *expr.Node) int { return n.Index[0] })
		return e.b.graph.Gather(first.Args[0], index, expr.VectorShape(len(nodes)), first.Span)
	}
	if _, ok := first.Number(); ok {
		vals := make([]float64, len(nodes))
		for k, n := range nodes {
			vals[k], _ = n.Number()
		}
		return g.Const("", data.Vector(vals), first.Span)
	}
	args := each.Below(len(first.Args), func(i int) *expr.Node {
		return e.stacked(each.Of(nodes, func(n *expr.Node) *expr.Node { return n.Args[i] }))
	})
	if len(args) == 1 {
		return g.Unary(first.Op, args[0], first.Span)
	}
	return g.Binary(first.Op, args[0], args[1], first.Span)
}
