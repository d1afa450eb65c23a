package curvature

import (
	"math"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// roots finds what is known of the roots u^p, 0 < p < 1, of f: those whose u is not shown to be above 0 over X are to be of a multiple of the distance of one entry of x from a bound of X. f is then
//
//	f = F(z, s),   s_k = (a_k |x_j - bound_j|)^p_k,   with dF/ds_k of one sign over X,
//
// and F differentiable where its other operations are: at the bound the slope of f in x_j has no end, of that sign. nil where a root is of another kind, or the sign is open.
func (pr *prover) roots(f *expr.Node) *ir.Roots {
	s := pr.study(f, expr.DependsX|expr.DependsY, pr.feasible, pr.budget())
	out := &ir.Roots{}
	var slopes map[*expr.Node][]Interval // of f in what each node is, once there is a root to ask it for
	for _, m := range s.nodes() {
		if m.Deps == 0 {
			continue
		}
		for k := range m.Shape.Len() {
			if !s.rootAt(m, k) {
				continue
			}
			at, ok := s.distance(pr.Problem, m.Args[0], expr.Place(m.Args[0], k))
			if !ok {
				return nil
			}
			if slopes == nil {
				slopes = s.slopesAt()
			}
			if out.Steep, ok = steep(out.Steep, at, slopes[m][k]); !ok {
				return nil
			}
		}
	}
	if s.work.ended() || slices.ContainsFunc(pr.Coupled, func(r ir.Row) bool { return r.Degree > 2 }) { // which may have roots
		return nil
	}
	return out
}

// rootAt reports that entry k of a node is a root, of what is not shown to be above 0.
func (s *study) rootAt(m *expr.Node, k int) bool {
	switch m.Op {
	case expr.Sqrt:
	case expr.Pow:
		if p := s.known(m.Args[1]); p != nil {
			if v := p.Values()[expr.Place(m.Args[1], k)]; v <= 0 || v >= 1 {
				return false
			}
		}
	default:
		return false
	}
	return !(entry(s.rangeOf(m.Args[0]), k).Lo > 0)
}

// distance is the bound of X from which entry k of a node is a multiple of the distance; false where it is none.
func (s *study) distance(p *ir.Problem, u *expr.Node, k int) (at ir.Steep, ok bool) {
	if !s.affine(u) {
		return at, false
	}
	j := s.jacobianOf(u)
	if j.unknown {
		return at, false
	}
	entries, slope := 0, Interval{}
	j.visit(k, func(col int, v Interval) { at.Entry, slope, entries = col, v, entries+1 })
	if entries != 1 || at.Entry >= p.Upper.Dim || !(slope.Lo > 0 || slope.Hi < 0) {
		return at, false
	}
	at.Upper = slope.Hi < 0
	x, bound := make([]float64, p.Upper.Dim), p.X.Lo[at.Entry]
	if at.Upper {
		bound = p.X.Hi[at.Entry]
	}
	if math.IsInf(bound, 0) {
		return at, false
	}
	x[at.Entry] = bound
	value, err := expr.Eval(u, x, make([]float64, p.Lower.Dim+len(p.Duals)+len(p.Coupled)))
	return at, err == nil && value.Values()[k] == 0
}

// slopesAt encloses the derivatives of the root in all nodes that it leads to.
func (s *study) slopesAt() map[*expr.Node][]Interval {
	b := &backward{study: s, weights: map[*expr.Node][]Interval{}, gradient: true}
	b.push(s.root, func(int) Interval { return point(1) })
	for _, n := range slices.Backward(s.nodes()) {
		if w := b.weights[n]; w != nil && n.Op != expr.Var {
			b.pushBack(n, w)
		}
	}
	return b.weights
}

// steep adds a bound to those that are known, with the slope of f in a root of the distance from it; false where its sign is open, or not that of another root there.
func steep(known []ir.Steep, at ir.Steep, slope Interval) ([]ir.Steep, bool) {
	if at.Rises = slope.Lo > 0; !at.Rises && !(slope.Hi < 0) {
		return known, false
	}
	for _, other := range known {
		if other.Entry == at.Entry && other.Upper == at.Upper {
			return known, other.Rises == at.Rises
		}
	}
	return append(known, at), true
}
