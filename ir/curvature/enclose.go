package curvature

import (
	"math"
	"slices"

	"bilevelc/ir/expr"
)

// Slopes encloses derivatives of a scalar expression at one point along directions of y:
// interval arithmetic with every operation rounded outwards (Moore 1966; Rump 2010), forward with
// the values. What rounding leaves open of an inner expression enters with the derivative of
// that expression along the direction, and not with each of its entries: where the direction leaves
// a steep term flat, its rounding is small, which bounds of a gradient entry by entry would not
// show. Data that an expression computes from data alone count as they were computed. It is not
// safe for concurrent use.
type Slopes struct {
	study *study
	nodes []*expr.Node
	x, y  []float64
}

// NewSlopes is for the point (x, y), which it copies.
func NewSlopes(graph *expr.Builder, root *expr.Node, x, y []float64) *Slopes {
	return &Slopes{newStudy(graph, root, expr.DependsY, at(x, y), &budget{left: math.Inf(1)}), expr.Reachable(root),
		slices.Clone(x), slices.Clone(y)}
}

// At reports that they are those of a point.
func (s *Slopes) At(x, y []float64) bool {
	return s != nil && slices.Equal(s.x, x) && slices.Equal(s.y, y)
}

// Along encloses the derivative along a direction (len y): the whole line where nothing is known, as outside of a
// domain.
func (s *Slopes) Along(direction []float64) Interval {
	if !s.study.varies(s.study.root) {
		return point(0)
	}
	t := &tangents{study: s.study, direction: direction, of: map[*expr.Node][]Interval{}}
	for _, n := range s.nodes {
		if t.varies(n) {
			t.of[n] = t.tangent(n)
		}
	}
	return t.of[s.study.root][0]
}

// tangents are the derivatives of the entries of nodes along a direction of y.
type tangents struct {
	*study
	direction []float64
	of        map[*expr.Node][]Interval
}

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
				return jet{entry(t.rangeOf(a), k), entry(t.of[a], k), wholeLine()}
			}).d1
		}
	case n.Op == expr.Dot || class == expr.Product:
		// The product rule: a sum of the operation with one argument's tangents in its place.
		for place, a := range n.Args {
			if !t.varies(a) {
				continue
			}
			part := make([]Interval, len(out))
			t.enclosed(part, n, place, t.of[a])
			for k := range out {
				out[k] = out[k].add(part[k])
			}
		}
	case n.Op == expr.Sum || class == expr.Structural:
		t.enclosed(out, n, 0, t.of[n.Args[0]])
	case n.Op == expr.Prod:
		u, d := t.rangeOf(n.Args[0]), t.of[n.Args[0]]
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
		d, whole := t.of[n.Args[0]], t.rangeOf(n)[0]
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
