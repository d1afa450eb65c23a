package curvature

import (
	"math"
	"slices"

	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
)

// Slopes encloses derivatives of a scalar expression at points along directions of y:
// interval arithmetic with every operation rounded outwards (Moore 1966; Rump 2010), forward with
// the values. What rounding leaves open of an inner expression enters with the derivative of
// that expression along the direction, and not with each of its entries: where the direction leaves
// a steep term flat, its rounding is small, which bounds of a gradient entry by entry would not
// show. Data that an expression computes from data alone count as they were computed.
//
// The values at the last few points are kept, and what derivatives along the last direction are
// the same at every point: many directions at a few points cost one product with each matrix a
// direction. It is not safe for concurrent use.
type Slopes struct {
	graph     *expr.Builder
	root      *expr.Node
	nodes     []*expr.Node
	degrees   *facts.Degrees // in x and y
	points    []*pointValues // the last one first
	direction []float64
	same      map[*expr.Node][]Interval // along direction, of nodes that are affine in x and y
}

// pointValues are the values of all nodes at a point.
type pointValues struct {
	*study
	x, y []float64
}

// keptPoints is how many points Slopes keeps the values of: a point and some around it.
const keptPoints = 5

// NewSlopes is for a scalar expression of a graph.
func NewSlopes(graph *expr.Builder, root *expr.Node) *Slopes {
	return &Slopes{graph: graph, root: root, nodes: expr.Reachable(root),
		degrees: facts.NewDegrees(graph, expr.DependsX|expr.DependsY)}
}

// Along encloses the derivative at a point (x, y) along a direction (len y): the whole line where nothing is known,
// as outside of a domain.
func (s *Slopes) Along(direction, x, y []float64) Interval {
	if s.root.Deps&expr.DependsY == 0 {
		return point(0)
	}
	if s.same == nil || !slices.Equal(s.direction, direction) {
		s.direction, s.same = slices.Clone(direction), map[*expr.Node][]Interval{}
	}
	t := &tangents{study: s.valuesAt(x, y), direction: direction, of: map[*expr.Node][]Interval{}}
	for _, n := range s.nodes {
		if !t.varies(n) {
			continue
		}
		known, ok := s.same[n]
		if !ok {
			known = t.tangent(n)
			if s.degrees.Affine(n) {
				s.same[n] = known
			}
		}
		t.of[n] = known
	}
	return t.of[s.root][0]
}

// valuesAt are those at a point, of which it keeps a copy.
func (s *Slopes) valuesAt(x, y []float64) *study {
	known := func(p *pointValues) bool { return slices.Equal(p.x, x) && slices.Equal(p.y, y) }
	var p *pointValues
	if k := slices.IndexFunc(s.points, known); k >= 0 {
		p = s.points[k]
		s.points = slices.Delete(s.points, k, k+1)
	} else {
		p = &pointValues{newStudy(s.graph, s.root, expr.DependsY, at(x, y), &budget{left: math.Inf(1)}), slices.Clone(x), slices.Clone(y)}
		s.points = s.points[:min(len(s.points), keptPoints-1)]
	}
	s.points = slices.Insert(s.points, 0, p)
	return p.study
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
		if i != place && a.Deps != 0 { // data are not copied
			findings.values[a] = t.rangeOf(a)
		}
	}
	of.findings = &findings
	rules[n.Op].enclose(&of, out, &with)
}
