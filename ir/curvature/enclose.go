package curvature

import (
	"math"
	"slices"

	"bilevelc/internal/each"
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
	return &Slopes{graph: graph, root: root, degrees: facts.NewDegrees(graph, expr.DependsX|expr.DependsY)}
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
	t := &tangents{study: s.valuesAt(x, y), Slopes: s, of: map[*expr.Node][]Interval{}}
	return t.tangent(s.root)[0]
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
	*Slopes
	of map[*expr.Node][]Interval
}

// tangent is that of a node that y enters.
func (t *tangents) tangent(n *expr.Node) []Interval {
	kept := t.of
	if t.Slopes.degrees.Affine(n) {
		kept = t.same
	}
	if known := kept[n]; known != nil {
		return known
	}
	out := make([]Interval, n.Shape.Len())
	if n.Op == expr.Var {
		for k := range out {
			out[k] = point(t.direction[n.Offset+k])
		}
	} else if f := t.fused(n); f != nil {
		leaf := t.tangent(f.leaf)
		for k, j := range t.slopesOf(n) {
			out[k] = j.d1.mul(entry(leaf, k))
		}
	} else {
		var of [2][]Interval
		for i, a := range n.Args {
			if t.varies(a) {
				of[i] = t.tangent(a)
			}
		}
		t.partials(n, t.varies, func(e, arg, p int, d Interval) { out[e] = out[e].add(d.mul(of[arg][p])) })
	}
	kept[n] = each.Of(out, Interval.sound)
	return kept[n]
}
