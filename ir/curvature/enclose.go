package curvature

import (
	"math"

	"bilevelc/ir/expr"
)

// Slope encloses the derivative of a scalar expression at one point along a direction of y (len
// y): interval arithmetic with every operation rounded outwards (Moore 1966; Rump 2010), forward
// with the values. What rounding leaves open of an inner expression enters with the derivative of
// that expression along the direction, and not with each of its entries: where the direction leaves
// a steep term flat, its rounding is small, which bounds of a gradient entry by entry would not
// show. Data that an expression computes from data alone count as they were computed. The whole
// line where nothing is known, as outside of a domain.
func Slope(graph *expr.Builder, root *expr.Node, direction, x, y []float64) Interval {
	s := newStudy(graph, root, expr.DependsY, at(x, y), &budget{left: math.Inf(1)})
	t := &tangents{study: s, direction: direction, of: map[*expr.Node][]Interval{}}
	for _, n := range expr.Reachable(root) {
		if s.varies(n) {
			t.of[n] = t.tangent(n)
		}
	}
	if !s.varies(root) {
		return point(0)
	}
	return t.at(root)[0].sound()
}

// tangents are the derivatives of the entries of nodes along a direction of y.
type tangents struct {
	*study
	direction []float64
	of        map[*expr.Node][]Interval
}

// at are the tangents of a node that varies.
func (t *tangents) at(n *expr.Node) []Interval { return t.of[n] }

func (t *tangents) tangent(n *expr.Node) []Interval {
	out := make([]Interval, n.Shape.Len())
	class := n.Op.Info().Class
	switch {
	case n.Op == expr.Var:
		for k := range out {
			out[k] = point(t.direction[n.Offset+k])
		}
	case class == expr.Elementwise1 || class == expr.Elementwise2:
		for k := range out {
			out[k] = t.composite(n, func(a *expr.Node) jet {
				if !t.varies(a) {
					return constant(entry(t.rangeOf(a), k))
				}
				return jet{entry(t.rangeOf(a), k), entry(t.at(a), k), wholeLine()}
			}).d1
		}
	case n.Op == expr.Dot || class == expr.Product:
		// The product rule: a sum of the operation with one argument's tangents in its place.
		for place, a := range n.Args {
			if !t.varies(a) {
				continue
			}
			part := make([]Interval, len(out))
			t.enclosed(part, n, place, t.at(a))
			for k := range out {
				out[k] = out[k].add(part[k])
			}
		}
	case n.Op == expr.Sum || class == expr.Structural:
		t.enclosed(out, n, 0, t.at(n.Args[0]))
	case n.Op == expr.Prod:
		u, d := t.rangeOf(n.Args[0]), t.at(n.Args[0])
		for k := range u {
			part := d[k]
			for j, v := range u {
				if j != k {
					part = part.mul(v)
				}
			}
			out[0] = out[0].add(part)
		}
	case n.Op == expr.LogSumExp:
		d, whole := t.at(n.Args[0]), t.rangeOf(n)[0]
		for k, u := range t.rangeOf(n.Args[0]) {
			out[0] = out[0].add(unary(expr.Exp, u.sub(whole)).v.meet(Interval{0, 1}).mul(d[k]))
		}
	default: // a largest or smallest entry
		fill(out, wholeLine())
	}
	for k := range out {
		out[k] = out[k].sound()
	}
	return out
}

// enclosed sets out to what an operation that is linear in one of its arguments makes of other
// entries in its place.
func (t *tangents) enclosed(out []Interval, n *expr.Node, place int, entries []Interval) {
	stand := *n.Args[place]
	with := *n
	with.Args = append([]*expr.Node(nil), n.Args...)
	with.Args[place] = &stand
	of := *t.study
	findings := *t.findings
	findings.values = map[*expr.Node][]Interval{&stand: entries}
	for i, a := range n.Args {
		if i != place {
			findings.values[a] = t.rangeOf(a)
		}
	}
	of.findings = &findings
	rules[n.Op].enclose(&of, out, &with)
}
