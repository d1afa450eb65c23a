package bind

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// Functions with a kink, abs, max and min of expressions that are linear in the
// variables, are restated in the objectives, in the rows of the lower level and in the
// upper constraints that are not part of X. Each of them is made of the larger of two expressions,
//
//	abs(u) = 2 max(u, 0) - u,   min(u, v) = -max(-u, -v),
//
// and max(u, v) is the value of a hidden variable t of the lower level under the rows
// t >= u and t >= v (ir.Restated says what presses t against them). Hidden variables
// stand behind those that the model declares, and their rows behind its rows.
type restater struct {
	*rows
	with  map[*expr.Node]*expr.Node
	kinks []*expr.Node       // abs, max and min of two, arguments before users
	level map[*expr.Node]int // how many kinks lie one above another up to a node
	dim   int                // lower variables with the hidden ones
	at    int                // the next hidden entry
	curve *expr.Node         // ir.Restated.Curve
}

// restate replaces the kinks of the problem, once all of its parts are bound. Those
// in the report stay: they are evaluated only.
func (r *rows) restate() {
	p, b := r.prob, r.b
	if b.list.HasErrors() || p.Lower.Objective == nil || p.Upper.Objective == nil {
		return
	}
	s := &restater{rows: r, dim: b.dy, at: b.dy}
	roots := []**expr.Node{&p.Lower.Objective, &p.Upper.Objective}
	for i := range r.coupled {
		roots = append(roots, &r.coupled[i])
	}
	for _, rows := range r.kinked {
		for i := range rows.of.values {
			roots = append(roots, &rows.of.values[i])
		}
	}
	trees := map[*expr.Node]*expr.Node{}
	for _, root := range roots {
		s.flatten(root, trees)
	}
	levels := s.find(roots)
	if levels == 0 {
		return
	}
	for _, n := range s.kinks {
		rows := 2 * n.Shape.Len() // beside a variable each two, as constraints over their indices would lay
		b.rowsFit(n.Span, "`"+elab.QuoteSpan(n.Span)+"`, restated,", rows)
		b.indexedRows += rows
		s.dim += n.Shape.Len()
	}
	p.Restated = &ir.Restated{Declared: b.dy}
	if len(p.Duals) > 0 {
		s.shiftDuals(roots)
		s.find(roots)
	}
	p.B.Cols = s.dim
	for l := 1; l <= levels; l++ {
		if !s.lay(l, levels) {
			return
		}
	}
	for _, root := range roots {
		*root = s.replaced(*root)
	}
	p.Lower.Dim, b.dy = s.dim, s.dim
	s.coefficients()
	p.Restated.Curve = s.curve
}

func (s *restater) replaced(n *expr.Node) *expr.Node {
	return s.b.graph.Replace(n, s.with)
}

// flatten makes trees of max and min of two out of those of all entries.
func (s *restater) flatten(root **expr.Node, trees map[*expr.Node]*expr.Node) {
	g := s.b.graph
	for _, n := range expr.Reachable(*root) {
		if n.Deps == 0 || n.Op != expr.MaxAll && n.Op != expr.MinAll || trees[n] != nil {
			continue
		}
		of := g.Replace(n.Args[0], trees)
		if n.Op == expr.MaxAll {
			trees[n] = s.tree(of, n.Span)
			continue
		}
		largest := s.tree(g.Unary(expr.Neg, of, n.Span), n.Span)
		trees[n] = g.Unary(expr.Neg, largest, n.Span)
	}
	*root = g.Replace(*root, trees)
}

// find lists the kinks below the roots, and says how many lie one above another.
func (s *restater) find(roots []**expr.Node) (levels int) {
	s.kinks, s.with, s.level = nil, map[*expr.Node]*expr.Node{}, map[*expr.Node]int{}
	for _, root := range roots {
		for _, n := range expr.Reachable(*root) {
			if _, seen := s.level[n]; seen {
				continue
			}
			l := 0
			for _, a := range n.Args {
				l = max(l, s.level[a])
			}
			if n.Deps != 0 && (n.Op == expr.Abs || n.Op == expr.Max || n.Op == expr.Min) {
				l++
				s.kinks = append(s.kinks, n)
			}
			s.level[n] = l
			levels = max(levels, l)
		}
	}
	return levels
}

// tree is the largest entry of an array by pairs, in as few levels as there can be.
func (s *restater) tree(n *expr.Node, at diag.Span) *expr.Node {
	g := s.b.graph
	part := func(n *expr.Node, from, size int) *expr.Node {
		return g.Gather(n, expr.Sequence(from, size), expr.VectorShape(size), at)
	}
	entry := func(n *expr.Node, k int) *expr.Node {
		return g.Gather(n, []int{k}, expr.ScalarShape(), at)
	}
	var left []*expr.Node // scalars that remained alone
	size := n.Shape.Len()
	for size > 1 {
		half := size / 2
		if size%2 == 1 {
			left = append(left, entry(n, size-1))
		}
		n = g.Binary(expr.Max, part(n, 0, half), part(n, half, half), at)
		size = half
	}
	out := entry(n, 0)
	for _, m := range slices.Backward(left) {
		out = g.Binary(expr.Max, out, m, at)
	}
	return out
}

// shiftDuals makes room for the hidden variables before the multipliers that the
// upper level reads.
func (s *restater) shiftDuals(roots []**expr.Node) {
	b, p, g := s.b, s.prob, s.b.graph
	shift := map[*expr.Node]*expr.Node{}
	for _, n := range slices.Clone(g.Nodes()) {
		if n.Op == expr.Var && n.Lower && n.Offset >= b.dy {
			shift[n] = g.Var(n.Name, true, n.Offset+s.dim-b.dy, n.Shape, n.Span)
		}
	}
	move := func(n **expr.Node) { *n = g.Replace(*n, shift) }
	for i := range p.Report {
		move(&p.Report[i].Node)
	}
	for _, l := range []*ir.Level{&p.Upper, &p.Lower} {
		for i := range l.Lets {
			move(&l.Lets[i].Node)
		}
	}
	for _, root := range roots {
		move(root)
	}
}

// kink is one place where functions with a kink are applied: the hidden variable is
// the larger of its sides.
type kink struct {
	n     *expr.Node
	sides [2]*expr.Node
	forms [2]*form // nil where the coefficients are not known
}

// lay gives the kinks of one level, of those that lie one above another, their hidden
// variables and rows.
func (s *restater) lay(level, levels int) bool {
	var all []*kink
	mass := make([]float64, s.dim) // sums of |coefficients| in the columns of the lower level
	a := s.b.affine(s.dim)
	for _, n := range s.kinks {
		if s.level[n] != level {
			continue
		}
		k := &kink{n: n, sides: s.sidesOf(n)}
		for i, side := range k.sides {
			f, bad := a.of(side)
			switch {
			case bad == nil:
			case bad.Opaque: // data was not supplied
				continue
			default:
				s.refuse(n, bad)
				return false
			}
			f = f.broadcast(n.Shape.Len())
			for j := range f.len() {
				if !f.finite(j) {
					s.b.errorf(diag.BindNotFinite, n.Span, "a part of `%s` is not finite", elab.QuoteSpan(n.Span))
					return false
				}
				for _, c := range f.varying(j) {
					if c.col >= s.b.dx {
						mass[c.col-s.b.dx] += math.Abs(c.val)
					}
				}
			}
			k.forms[i] = f
		}
		all = append(all, k)
	}
	for _, k := range all {
		s.hide(k, k.units(s.b.dx, mass, levels))
	}
	return true
}

// sidesOf are the two expressions of which a kink takes the larger.
func (s *restater) sidesOf(n *expr.Node) [2]*expr.Node {
	g := s.b.graph
	u := s.replaced(n.Args[0])
	if n.Op == expr.Abs {
		return [2]*expr.Node{u, g.Fill(0, n.Shape, n.Span)}
	}
	v := s.replaced(n.Args[1])
	if n.Op == expr.Min {
		u, v = g.Unary(expr.Neg, u, n.Span), g.Unary(expr.Neg, v, n.Span)
	}
	return [2]*expr.Node{u, v}
}

// units are those of the hidden variable: r_k^2 = 2 levels sum_j |D_kj| mass_j, the
// larger one of the two sides' rows D_k. The row sums of R^-2 |D D'| are at most
// 1/(2 levels) then, and so is its spectral radius; over all levels that of
// D' R^-2 D is at most 1/2 (see ir.Restated). Where only x takes part any unit will
// do, that of its coefficients as well as another. It is the next power of two, which
// rounds nothing: rows that depend on each other still do.
func (k *kink) units(dx int, mass []float64, levels int) []float64 {
	unit := slices.Repeat([]float64{1}, k.n.Shape.Len())
	for i := range unit {
		most, x := 0.0, 0.0
		for _, f := range k.forms {
			if f == nil {
				continue
			}
			sum := 0.0
			for _, c := range f.varying(i) {
				if c.col >= dx {
					sum += math.Abs(c.val) * mass[c.col-dx]
				} else {
					x = math.Hypot(x, c.val)
				}
			}
			most = max(most, sum)
		}
		if most > 0 {
			unit[i] = power(math.Sqrt(2 * float64(levels) * most))
		} else if x > 0 {
			unit[i] = power(x)
		}
	}
	return unit
}

// power is the least power of two that is at least v > 0.
func power(v float64) float64 {
	half, exponent := math.Frexp(v)
	if half == 0.5 {
		exponent--
	}
	return math.Ldexp(1, exponent)
}

// hide makes the hidden variable of a kink, its rows and its term of the curve.
func (s *restater) hide(k *kink, unit []float64) {
	g, p, n, at := s.b.graph, s.prob, k.n, k.n.Span
	text := elab.QuoteSpan(at)
	hidden := g.Var(fmt.Sprintf("kink %d, `%s`", s.at-p.Restated.Declared+1, text), true, s.at, n.Shape, at)
	p.Lower.Vars = append(p.Lower.Vars, ir.Variable{Name: hidden.Name, Shape: n.Shape, Offset: s.at, Span: at, Hidden: true})
	p.Restated.Kinks = append(p.Restated.Kinks, ir.Kink{Variable: hidden, Text: text, Span: at})
	scale := g.Const("", expr.NewArray(n.Shape, unit), at)
	var term *expr.Node
	for i, side := range k.sides {
		gap := hidden
		if k.forms[i] == nil { // abstract binding: only what needs no coefficients
			p.Unbound = append(p.Unbound, &ir.Family{Name: hidden.Name, Span: at, Hidden: true})
		} else {
			s.press(k, k.forms[i], unit)
			gap = g.Binary(expr.Sub, hidden, g.Binary(expr.Div, side, scale, at), at)
		}
		if term == nil {
			term = gap
		} else {
			term = g.Binary(expr.Mul, term, gap, at)
		}
	}
	term = g.Reduce(expr.Sum, term, at)
	if s.curve != nil {
		term = g.Binary(expr.Add, s.curve, term, at)
	}
	s.curve = term
	s.at += n.Shape.Len()
	value := g.Binary(expr.Mul, scale, hidden, at)
	switch n.Op {
	case expr.Min:
		value = g.Unary(expr.Neg, value, at)
	case expr.Abs:
		value = g.Binary(expr.Sub, g.Binary(expr.Mul, g.Number(2), value, at), k.sides[0], at)
	}
	s.with[n] = value
}

// press adds the rows D/r - t <= 0 of one side of the hidden variable at s.at.
func (s *restater) press(k *kink, f *form, unit []float64) {
	p := s.prob
	family := &ir.Family{Name: "`" + elab.QuoteSpan(k.n.Span) + "`", Shape: k.n.Shape, Span: k.n.Span, Sign: 1, Hidden: true}
	for i, r := range unit {
		split(p.A, p.B, f.varying(i), r)
		p.B.Append(s.at+i, 1)
		s.endRow(ir.Row{Family: family, Index: i, Name: family.Name}, 0-f.rest(i).val/r)
	}
}

// refuse reports a kink whose argument is not linear.
func (s *restater) refuse(n, bad *expr.Node) {
	at := n.Span
	d := s.b.errorf(diag.NonsmoothFunction, at, "`%s` has a kink, and its argument is not linear in the variables", elab.QuoteSpan(at))
	what := "`" + elab.QuoteSpan(bad.Span) + "` is " + article(bad.Op) + " of variables"
	if bad.Op == expr.Var {
		what = "`" + elab.QuoteSpan(bad.Span) + "` is a multiplier"
	}
	d.Detail = what + "; a kink is restated by rows of the lower level, which are linear"
	d.Fix = "use a smooth function such as smoothabs(u, eps), smoothmax(u, v, eps) or softplus(u); or, in the upper level and where it is to be small, " +
		"an upper variable that constraints keep above each of the arguments"
}
