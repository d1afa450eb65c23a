package curvature

import (
	"context"
	"math"

	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
	"bilevelc/lang/diag"
)

// study is second-order differentiation of one scalar node over one domain:
// ranges forward, weights backward, Jacobians on demand. Everything in it is
// computed once and kept.
type study struct {
	graph *expr.Builder
	root  *expr.Node
	wrt   expr.Deps // differentiate in y (DependsY), or in x and y
	dom   domain
	work  *budget
	// coarse studies bound each part by a diagonal matrix and take known
	// matrices apart by their structure: cheap, and free of rounding.
	coarse bool

	// shares are the variables of x whose entries are >= 0 and sum up to at most
	// the given number.
	shares map[*expr.Node]float64

	own, foreign diag.Span // of the objective studied and of the other one

	*findings
}

// findings are what a study found out, shared by all studies of one root over
// one domain.
type findings struct {
	examined bool // escape is known
	escape   *escape

	values        map[*expr.Node][]Interval
	leaves        map[*expr.Node]*expr.Node
	fusions       map[*expr.Node]*fusion
	slopes        map[*expr.Node][]jet
	degrees       *facts.Degrees
	elementwiseOf map[*expr.Node]*expr.Node // the node u .* v for the node u'v
	jacs          map[*expr.Node]*jacobian
	products      map[productKey]*jacobian // see otherOf
	scratch       *rowScratch              // see rowSums
	left, right   []item                   // see addPair
}

// budget counts floating point operations against Options.MaxWork, and ends
// with Options.Context.
type budget struct {
	left float64
	ctx  context.Context // nil: none
}

// spend reports whether cost is still affordable, and takes it.
func (b *budget) spend(cost float64) bool {
	if cost > b.left || b.ended() {
		return false
	}
	b.left -= cost
	return true
}

// ended reports that the context has ended: then nothing is affordable. Loops
// ask it about every tenth of a second.
func (b *budget) ended() bool {
	if b.ctx != nil && b.ctx.Err() != nil {
		b.left = 0
		return true
	}
	return false
}

func newStudy(graph *expr.Builder, root *expr.Node, wrt expr.Deps, dom domain, work *budget) *study {
	return &study{graph: graph, root: root, wrt: wrt, dom: dom, work: work, findings: &findings{
		values: map[*expr.Node][]Interval{}, leaves: map[*expr.Node]*expr.Node{},
		fusions: map[*expr.Node]*fusion{}, slopes: map[*expr.Node][]jet{},
		degrees: facts.NewDegrees(graph, wrt), elementwiseOf: map[*expr.Node]*expr.Node{}, jacs: map[*expr.Node]*jacobian{}, products: map[productKey]*jacobian{}}}
}

// cols is the number of variables differentiated in: z is y, or x then y.
func (s *study) cols() int {
	if s.wrt&expr.DependsX != 0 {
		return len(s.dom.x) + len(s.dom.y)
	}
	return len(s.dom.y)
}

// column is the place in z of the first entry of a variable.
func (s *study) column(v *expr.Node) int {
	if v.Lower && s.wrt&expr.DependsX != 0 {
		return len(s.dom.x) + v.Offset
	}
	return v.Offset
}

// varies reports whether n depends on the variables differentiated in.
func (s *study) varies(n *expr.Node) bool { return n.Deps&s.wrt != 0 }

// known returns the value of a node that depends on supplied data only.
func (s *study) known(n *expr.Node) *data.Array { return s.graph.Known(n) }

// affine reports that the second derivative of n vanishes identically.
func (s *study) affine(n *expr.Node) bool { return s.degrees.Affine(n) }

// exponent is the exponent of a Pow node where it is one known number.
func (s *study) exponent(n *expr.Node) (float64, bool) { return facts.Exponent(s.graph, n) }

// entry is values[k], where a scalar stands for all entries.
func entry(values []Interval, k int) Interval {
	if len(values) == 1 {
		return values[0]
	}
	return values[k]
}

// rangeOf encloses the entries of n, row-major.
func (s *study) rangeOf(n *expr.Node) []Interval {
	if r, ok := s.values[n]; ok {
		return r
	}
	r := s.computeRange(n)
	if s.work.ended() {
		fill(r, wholeLine())
	}
	for k := range r {
		r[k] = r[k].sound()
	}
	s.values[n] = r
	return r
}

func (s *study) computeRange(n *expr.Node) []Interval {
	out := make([]Interval, n.Shape.Len())
	class := n.Op.Info().Class
	elementwise := class == expr.Elementwise1 || class == expr.Elementwise2
	if v := s.known(n); n.Deps == 0 && (v != nil || !elementwise) { // of data that were not supplied, functions still have ranges
		if v == nil {
			return fill(out, wholeLine())
		}
		for k, e := range v.Values() {
			if out[k] = point(e); math.IsInf(e, 0) {
				out[k] = wholeLine()
			}
		}
		return out
	}
	if elementwise {
		if s.fused(n) != nil {
			for k, j := range s.slopesOf(n) {
				out[k] = j.v
			}
			return out
		}
		for k := range out {
			out[k] = s.composite(n, func(a *expr.Node) jet { return constant(entry(s.rangeOf(a), k)) }).v
		}
		return out
	}
	rules[n.Op].enclose(s, out, n)
	return out
}

func fill(out []Interval, v Interval) []Interval {
	for k := range out {
		out[k] = v
	}
	return out
}

// dotRange knows that both factors may be the same vector.
func (s *study) dotRange(n *expr.Node) Interval {
	u := s.rangeOf(n.Args[0])
	var total Interval
	if n.Args[0] == n.Args[1] {
		for _, e := range u {
			total = total.add(e.sqr())
		}
		return total
	}
	v := s.rangeOf(n.Args[1])
	for k := range u {
		total = total.add(u[k].mul(v[k]))
	}
	return total
}

// productRange encloses MatVec, MatMul and Outer entry by entry.
func (s *study) productRange(out []Interval, n *expr.Node) {
	if n.Op == expr.MatVec {
		if m := s.known(n.Args[0]); m != nil { // do not copy large data
			v := s.rangeOf(n.Args[1])
			eachEntry(m, func(i, j int, a float64) {
				if n.TransA {
					i, j = j, i
				}
				out[i] = out[i].add(v[j].mul(point(a)))
			})
			return
		}
	}
	u, v := s.rangeOf(n.Args[0]), s.rangeOf(n.Args[1])
	s.eachProduct(n, func(i, j, k int) { out[k] = out[k].add(u[i].mul(v[j])) })
}

// eachProduct visits the scalar products that a MatVec, MatMul or Outer node
// is made of: entry i of the first argument times entry j of the second is
// added to entry k of the result. It ends early with the context; what is made
// of the products must then not be used (see budget.ended).
func (s *study) eachProduct(n *expr.Node, visit func(i, j, k int)) {
	a, b := n.Args[0].Shape, n.Args[1].Shape
	switch n.Op {
	case expr.Outer:
		for i := range a.Rows {
			if s.work.ended() {
				return
			}
			for j := range b.Rows {
				visit(i, j, i*b.Rows+j)
			}
		}
	case expr.MatVec:
		for i := range a.Rows {
			if s.work.ended() {
				return
			}
			for j := range a.Cols {
				if n.TransA {
					visit(i*a.Cols+j, i, j)
				} else {
					visit(i*a.Cols+j, j, i)
				}
			}
		}
	case expr.MatMul:
		inner := a.Cols
		if n.TransA {
			inner = a.Rows
		}
		for r := range n.Shape.Rows {
			if s.work.ended() {
				return
			}
			for c := range n.Shape.Cols {
				for t := range inner {
					i, j := r*a.Cols+t, t*b.Cols+c
					if n.TransA {
						i = t*a.Cols + r
					}
					if n.TransB {
						j = c*b.Cols + t
					}
					visit(i, j, r*n.Shape.Cols+c)
				}
			}
		}
	}
}

// products is how many visits eachProduct makes.
func products(n *expr.Node) float64 {
	a := n.Args[0].Shape
	switch n.Op {
	case expr.Outer:
		return float64(a.Rows) * float64(n.Args[1].Shape.Rows)
	case expr.MatVec:
		return float64(a.Rows) * float64(a.Cols)
	}
	inner := a.Cols
	if n.TransA {
		inner = a.Rows
	}
	return float64(n.Shape.Len()) * float64(inner)
}

// eachEntry visits the nonzero entries of a matrix.
func eachEntry(m *data.Array, visit func(i, j int, a float64)) {
	if m.Sparse != nil {
		for i := range m.Sparse.Rows {
			cols, vals := m.Sparse.Row(i)
			for k, j := range cols {
				visit(i, j, vals[k])
			}
		}
		return
	}
	cols := m.Shape[1]
	for k, a := range m.Dense {
		if a != 0 {
			visit(k/cols, k%cols, a)
		}
	}
}

// logSumExpRange: increasing in every entry. The sum of m terms carries a
// relative error of m units, which the logarithm turns into an absolute one.
func logSumExpRange(u []Interval) Interval {
	at := func(end func(Interval) float64) Interval {
		top := math.Inf(-1)
		for _, e := range u {
			top = max(top, end(e))
		}
		if math.IsInf(top, 0) {
			return fuzz(top)
		}
		total := 0.0
		for _, e := range u {
			total += math.Exp(end(e) - top)
		}
		slack := float64(len(u)+ulps) * 0x1p-52 * (1 + math.Abs(top))
		v := fuzz(top + math.Log(total))
		return Interval{v.Lo - slack, v.Hi + slack}
	}
	return Interval{at(func(e Interval) float64 { return e.Lo }).Lo, at(func(e Interval) float64 { return e.Hi }).Hi}
}
