package curvature

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
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

	inside map[*expr.Node]bool // what rows keep from being below 0 over the domain (ir.Problem.Inside)

	own, foreign diag.Span // of the objective studied and of the other one

	*findings
}

// nodes are those that the root leads to, arguments before users.
func (s *study) nodes() []*expr.Node {
	if s.reached == nil {
		s.reached = expr.Reachable(s.root)
	}
	return s.reached
}

// findings are what a study found out, shared by all studies of one root over
// one domain.
type findings struct {
	reached  []*expr.Node // what the root leads to, arguments before users; nil until it is asked for
	examined bool         // escape is known
	escape   *escape

	values      map[*expr.Node][]Interval
	summands    map[*expr.Node]expr.Terms
	leaves      map[*expr.Node]*expr.Node
	fusions     map[*expr.Node]*fusion
	slopes      map[*expr.Node][]jet
	degrees     *facts.Degrees
	jacs        map[*expr.Node]*jacobian
	products    map[product]*expr.Node // that the graph does not have
	scratch     *rowScratch            // see rowSums
	left, right []item                 // see addPair
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
		values: map[*expr.Node][]Interval{}, summands: map[*expr.Node]expr.Terms{}, leaves: map[*expr.Node]*expr.Node{},
		fusions: map[*expr.Node]*fusion{}, slopes: map[*expr.Node][]jet{},
		degrees: facts.NewDegrees(graph, wrt), jacs: map[*expr.Node]*jacobian{}, products: map[product]*expr.Node{}}}
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
		if r[k] = r[k].sound(); s.inside[n] {
			r[k] = Interval{max(r[k].Lo, 0), max(r[k].Hi, 0)}
		}
	}
	s.values[n] = r
	return r
}

func (s *study) computeRange(n *expr.Node) []Interval {
	out := make([]Interval, n.Shape.Len())
	if v := s.known(n); n.Deps == 0 && (v != nil || !elementwise(n)) { // of data that were not supplied, functions still have ranges
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
	if elementwise(n) {
		if s.fused(n) != nil {
			return each.Of(s.slopesOf(n), func(j jet) Interval { return j.v })
		}
		return each.Below(len(out), func(k int) Interval {
			return s.composite(n, func(a *expr.Node) jet { return constant(entry(s.rangeOf(a), k)) }).v
		})
	}
	switch fold := rules[n.Op].fold; {
	case n.Op == expr.Var:
		from := s.dom.x
		if n.Lower {
			from = s.dom.y
		}
		copy(out, from[n.Offset:n.Offset+len(out)])
	case fold != nil:
		out[0] = fold(s.rangeOf(n.Args[0]))
	default:
		s.sumRange(out, n)
	}
	return out
}

func fill(out []Interval, v Interval) []Interval {
	for k := range out {
		out[k] = v
	}
	return out
}

// termsOf lists the terms of the entries of n.
func (s *study) termsOf(n *expr.Node) expr.Terms {
	t, ok := s.summands[n]
	if !ok {
		t = s.graph.Terms(n)
		s.summands[n] = t
	}
	return t
}

// factors are the ranges of the entries of the arguments of a sum of products; nil for
// those that are data in the terms already.
func (s *study) factors(n *expr.Node) (of [2][]Interval) {
	t := s.termsOf(n)
	for i, a := range n.Args {
		if !t.Data[i] {
			of[i] = s.rangeOf(a)
		}
	}
	return of
}

// sumRange encloses the entries of a sum of products; both factors may be the same number.
func (s *study) sumRange(out []Interval, n *expr.Node) {
	t, of := s.termsOf(n), s.factors(n)
	square := n.Op.Info().Bilinear && n.Args[0] == n.Args[1]
	var total Interval
	add := func(m expr.Summand) bool {
		var v Interval
		switch {
		case square && m.P == m.Q:
			v = of[0][m.P].sqr()
		case m.P >= 0 && of[0] != nil:
			v = multiple(of[0][m.P], m, of[1], m.Q)
		default:
			v = multiple(of[1][m.Q], m, nil, -1)
		}
		total = total.add(v)
		return true
	}
	for e := range out {
		if e%endedRows == 0 && s.work.ended() {
			return
		}
		total = Interval{}
		t.Each(e, add)
		out[e] = total
	}
}

// multiple is u with the factor of a term and with entry k of another argument, where it has
// one that is not in that factor.
func multiple(u Interval, m expr.Summand, other []Interval, k int) Interval {
	if k >= 0 && other != nil {
		u = u.mul(other[k])
	}
	switch {
	case m.A == 1:
		return u
	case m.A == -1:
		return u.neg()
	case math.IsInf(m.A, 0):
		return wholeLine()
	}
	return u.times(m.A)
}

// partials calls visit with the derivatives of the entries of an operation, entry after
// entry: d is that of entry e in entry p of an argument that is wanted. It ends early with
// the context; what is made of them must then not be used (see budget.ended).
func (s *study) partials(n *expr.Node, wanted func(a *expr.Node) bool, visit func(e, arg, p int, d Interval)) {
	var want [2]bool
	for i, a := range n.Args {
		want[i] = wanted(a)
	}
	one, info := point(1), n.Op.Info()
	switch slopes := rules[n.Op].slopes; {
	case slopes != nil:
		for p, d := range slopes(s.rangeOf(n.Args[0])) {
			visit(0, 0, p, d)
		}
	case info.Linear || info.Bilinear:
		t, of := s.termsOf(n), s.factors(n)
		e := 0
		add := func(m expr.Summand) bool {
			if m.P >= 0 && want[0] {
				visit(e, 0, m.P, multiple(one, m, of[1], m.Q))
			}
			if m.Q >= 0 && want[1] {
				visit(e, 1, m.Q, multiple(one, m, of[0], m.P))
			}
			return true
		}
		for e = range n.Shape.Len() {
			if e%endedRows == 0 && s.work.ended() {
				return
			}
			t.Each(e, add)
		}
	default: // entry by entry
		for e := range n.Shape.Len() {
			var u [2]jet
			for i, a := range n.Args {
				u[i] = constant(entry(s.rangeOf(a), e))
			}
			for i, a := range n.Args {
				if want[i] {
					v := u
					v[i].d1 = one
					visit(e, i, expr.Place(a, e), s.elementwise(n, v[0], v[1]).sound().d1)
				}
			}
		}
	}
}

// logSumExpRange: increasing in every entry. The sum of m terms carries a
// relative error of m units, which the logarithm turns into an absolute one.
func logSumExpRange(u []Interval) Interval {
	at := func(end func(Interval) float64) Interval {
		ends := each.Of(u, end)
		top := slices.Max(ends)
		if math.IsInf(top, 0) {
			return fuzz(top)
		}
		total := each.Sum(ends, func(e float64) float64 { return math.Exp(e - top) })
		slack := float64(len(u)+ulps) * 0x1p-52 * (1 + math.Abs(top))
		v := fuzz(top + math.Log(total))
		return Interval{v.Lo - slack, v.Hi + slack}
	}
	return Interval{at(func(e Interval) float64 { return e.Lo }).Lo, at(func(e Interval) float64 { return e.Hi }).Hi}
}
