package bind

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// rows collects the constraints of both levels as sparse rows.
type rows struct {
	b      *binder
	prob   *ir.Problem
	affine affine
	onLine map[int]int // constraints without a name by line

	upperLevel bool     // the constraints at hand are the upper level's
	lo, hi     []origin // of the bounds of x
	coupled    []*expr.Node
	kinked     []*kinkedRows
	folded     []diag.Span // of X.ExtendedRows
}

// origin is where a bound of x comes from.
type origin struct {
	at    diag.Span
	terms float64 // the size of the terms that the bound was computed from
}

func newRows(b *binder, prob *ir.Problem) *rows {
	r := &rows{b: b, prob: prob, onLine: map[int]int{}, affine: b.affine(b.dy)}
	for _, l := range []*ir.LevelDecl{b.prog.Upper, b.prog.Lower} {
		if l == nil { // of an expression that does not read it
			continue
		}
		for _, c := range l.Constraints {
			if c.Name == nil && c.Span().Source != nil {
				r.onLine[c.Span().Source.Pos(c.Span().Start).Line]++
			}
		}
	}
	return r
}

// lower fills Rows, A, B and Rhs: the sets of the variables, then the
// constraints, in the order of the model.
func (r *rows) lower(decl *ir.LevelDecl) {
	p := r.prob
	p.A, p.B = sparse.Empty(r.b.dx), sparse.Empty(r.b.dy)
	emit := func(rel relation) {
		if f := rel.family; f.Named { // dual may ask for it
			r.b.families[f.Name] = rel.over
		}
		if rel.values != nil {
			r.placeKinked(rel)
			return
		}
		reserve(p.A, p.B, rel.form)
		if rel.form != nil {
			p.Rhs, p.Rows = slices.Grow(p.Rhs, rel.form.len()), slices.Grow(p.Rows, rel.form.len())
		}
		r.each(&rel, func(rel *relation, k int, terms []coefficient, rest coefficient) {
			split(p.A, p.B, terms, 1)
			r.endRow(ir.Row{Equal: rel.equal, Family: rel.family, Index: k, Name: rel.family.EntryName(k)}, 0-rest.val)
		})
	}
	for k, v := range decl.Vars {
		for _, rel := range r.set(v, p.Lower.Vars[k]) {
			r.b.owned[v] = append(r.b.owned[v], rel.family)
			emit(rel)
		}
	}
	for _, c := range decl.Constraints {
		for _, rel := range r.constraint(c) {
			r.b.owned[c] = append(r.b.owned[c], rel.family)
			emit(rel)
		}
	}
}

// endRow ends the open row of A and B.
func (r *rows) endRow(row ir.Row, rhs float64) {
	p := r.prob
	p.A.EndRow()
	p.B.EndRow()
	p.Rhs, p.Rows = append(p.Rhs, rhs), append(p.Rows, row)
}

// upper fills X: rows on a single entry become bounds, the tightest wins.
func (r *rows) upper(decl *ir.LevelDecl) {
	p := r.prob
	n := r.b.dx
	p.X.Lo, p.X.Hi, p.X.E = slices.Repeat([]float64{math.Inf(-1)}, n), slices.Repeat([]float64{math.Inf(1)}, n), sparse.Empty(n)
	r.lo, r.hi = make([]origin, n), make([]origin, n)
	keep := func(rel *relation, k int, terms []coefficient, rest coefficient) {
		if len(terms) == 1 {
			r.bound(terms[0].col, terms[0].val, rest.val, rel.equal, origin{rel.at, rest.size / math.Abs(terms[0].val)})
			return
		}
		for _, c := range terms {
			p.X.E.Append(c.col, c.val)
		}
		p.X.E.EndRow()
		p.X.Rhs = append(p.X.Rhs, 0-rest.val)
		p.X.Rows = append(p.X.Rows, ir.Row{Equal: rel.equal, Family: rel.family, Index: k, Name: rel.family.EntryName(k)})
	}
	for k, v := range decl.Vars {
		for _, rel := range r.set(v, p.Upper.Vars[k]) {
			r.each(&rel, keep)
		}
		r.ball(v, k)
		r.ends(v, k)
	}
	r.upperLevel = true
	for _, c := range decl.Constraints {
		for _, rel := range r.constraint(c) {
			switch {
			case rel.values == nil:
				r.each(&rel, keep)
			case !r.fold(rel, keep):
				r.couple(rel)
			}
		}
	}
	r.upperLevel = false
	r.within()
	for j := range n {
		r.coincide(j)
		if p.X.Lo[j] > p.X.Hi[j] {
			r.noneBetween("x", j)
		}
	}
	r.whole(decl)
}

// noneBetween reports bounds of entry j of x between which nothing lies.
func (r *rows) noneBetween(what string, j int) {
	x := &r.prob.X
	d := r.b.errorf(diag.BindEmptySet, r.lo[j].at, "no %s satisfies the bounds: `%s` must be at least %v and at most %v",
		what, r.prob.Upper.EntryName(j), x.Lo[j], x.Hi[j])
	if r.hi[j].at != r.lo[j].at {
		d.Related = []diag.Related{{Span: r.hi[j].at, Message: "the other bound is here"}}
	}
}

// couple keeps a relation that is not part of X.
func (r *rows) couple(rel relation) {
	k := 0
	for _, h := range rel.values {
		r.coupled = append(r.coupled, h)
		for range h.Shape.Len() {
			r.prob.Coupled = append(r.prob.Coupled, ir.Row{Equal: rel.equal, Family: rel.family, Index: k, Name: rel.family.EntryName(k)})
			k++
		}
	}
}

// penalized makes the upper objective with a weight on each coupled constraint,
// once it is known how many multipliers are read, and what kinks are restated by, of which their degrees are.
func (r *rows) penalized() {
	p, g := r.prob, r.b.graph
	if len(r.coupled) == 0 || p.Upper.Objective == nil {
		return
	}
	p.Penalized = p.Upper.Objective
	offset, degrees, row := r.b.dy+len(p.Duals), facts.NewDegrees(g, expr.DependsX|expr.DependsY), 0
	for k, h := range r.coupled {
		for range h.Shape.Len() {
			p.Coupled[row].Degree = degrees.Of(h).Deg
			row++
		}
		weight := g.Var(fmt.Sprintf("weights %d", k+1), true, offset, h.Shape, h.Span)
		offset += h.Shape.Len()
		term := g.Reduce(expr.Sum, g.Binary(expr.Mul, weight, h, h.Span), h.Span)
		p.Penalized = g.Binary(expr.Add, p.Penalized, term, h.Span)
	}
}

// bound takes coef x_j + rest <= 0 (or = 0) as a bound of x_j.
func (r *rows) bound(j int, coef, rest float64, equal bool, from origin) {
	x := &r.prob.X
	at := 0 - rest/coef
	if (equal || coef > 0) && at < x.Hi[j] {
		x.Hi[j], r.hi[j] = at, from
	}
	if (equal || coef < 0) && at > x.Lo[j] {
		x.Lo[j], r.lo[j] = at, from
	}
}

// coincide makes one number of bounds of x_j that cross by no more than their
// terms decide: 3 x = 0.3 and x = 0.1 differ by a unit in the last place. It is
// the one with the smaller terms, whose rounding is less.
func (r *rows) coincide(j int) {
	x := &r.prob.X
	terms := r.lo[j].terms + r.hi[j].terms
	if by := x.Lo[j] - x.Hi[j]; by > 0 && by <= constantTolerance*terms {
		x.Crossed = append(x.Crossed, ir.Crossed{Index: j, By: by, Terms: terms})
		if r.lo[j].terms <= r.hi[j].terms {
			x.Hi[j] = x.Lo[j]
		} else {
			x.Lo[j] = x.Hi[j]
		}
	}
}

// reserve makes room for the rows of a form that splits into A and B.
func reserve(a, b *sparse.CSR, f *form) {
	if f == nil {
		return
	}
	left := 0
	for _, c := range f.terms {
		if c.col < a.Cols {
			left++
		}
	}
	a.Col, a.Val = slices.Grow(a.Col, left), slices.Grow(a.Val, left)
	right := len(f.terms) - f.len() - left
	b.Col, b.Val = slices.Grow(b.Col, right), slices.Grow(b.Val, right)
	a.Ptr, b.Ptr = slices.Grow(a.Ptr, f.len()), slices.Grow(b.Ptr, f.len())
}

// split adds coefficients in (x, y) over a number to the open rows of A and B, the second
// negated, and leaves zeros out.
func split(a, b *sparse.CSR, terms []coefficient, over float64) {
	for _, c := range terms {
		switch v := c.val / over; {
		case v == 0:
		case c.col < a.Cols:
			a.Append(c.col, v)
		default:
			b.Append(c.col-a.Cols, -v)
		}
	}
}

// constantTolerance decides whether numbers contradict each other, relative to
// the terms that they were summed from: the feasibility tolerance to which linear
// programming codes work, far above rounding, and with the seven digits that are
// left the contradiction is one of the data.
const constantTolerance = 1e-9

// each calls keep for the rows of a relation that vary, with their nonzero
// coefficients. Rows that cannot bind are left out, rows that cannot hold are
// errors.
func (r *rows) each(rel *relation, keep func(rel *relation, k int, terms []coefficient, rest coefficient)) {
	if rel.form == nil {
		if r.b.opts.Abstract {
			r.prob.Unbound = append(r.prob.Unbound, rel.family)
		}
		return
	}
	dropped := 0
	for k := range rel.form.len() {
		r.b.meter.Step()
		terms, rest := rel.form.nonzero(k), rel.form.rest(k)
		if math.IsInf(rest.val, -1) && !rel.equal {
			continue // an infinite bound
		}
		if !rel.form.finite(k) {
			r.b.errorf(diag.BindNotFinite, rel.at, "`%s` has a coefficient that is not finite", rel.family.EntryName(k))
			return
		}
		if len(terms) > 0 {
			keep(rel, k, terms, rest)
			continue
		}
		if excess := violation(rest.val, rel.equal); excess > constantTolerance*rest.size {
			d := r.b.errorf(diag.BindNeverHolds, rel.at, "`%s` does not hold, whatever the variables are", rel.family.EntryName(k))
			d.Detail = fmt.Sprintf("No variable takes part in it, and its sides differ by %v.", math.Abs(rest.val))
			return
		}
		dropped++
	}
	if dropped > 0 && !rel.idle { // of an idle one the checker has warned
		what := "`" + rel.family.Name + "` always holds"
		if n := rel.form.len(); n > 1 {
			what = fmt.Sprintf("%d of the %d rows of `%s` always hold", dropped, n, rel.family.Name)
		}
		d := r.b.errorf(diag.BindAlwaysHolds, rel.at, "%s: no variable takes part", what)
		d.Severity = diag.Warning
		d.Detail = "It is left out."
	}
}

func violation(h float64, equal bool) float64 {
	if equal {
		return math.Abs(h)
	}
	return h
}

// set lowers the set of a variable to relations; a ball is none.
func (r *rows) set(decl *lang.Var, v ir.Variable) []relation {
	if decl.Set == nil {
		return nil
	}
	e, g, at := r.b.top(), r.b.graph, decl.Set.Span()
	x := r.b.vars[v.Name]
	args := make([]value, len(decl.Set.Args))
	for k, a := range decl.Set.Args {
		if args[k] = e.numeric(a); args[k].bad() {
			return nil
		}
		if !args[k].isScalar() && args[k].item() != v.Shape {
			r.b.errorf(diag.BindShapes, a.Span(), "`%s` is %s, but this bound is %s", v.Name, v.Shape, args[k].describe())
			return nil
		}
	}
	relate := func(what string, sign float64, h value, equal bool) relation {
		if !h.isScalar() {
			h.typ = x.typ
		}
		rel := relationOf(&ir.Family{Name: v.Name + "." + what, Span: at, Sign: sign}, h, equal, at)
		r.formOf(&rel, h.node)
		return rel
	}
	nonneg := func() relation { return relate("nonneg", -1, e.map1(expr.Neg, x, at), false) }
	switch decl.Set.Name.Name {
	case "nonneg":
		return []relation{nonneg()}
	case "box":
		if !r.boxHolds(decl, v, args) {
			return nil
		}
		return []relation{
			relate("lower", -1, e.map2(expr.Sub, args[0], x, at), false),
			relate("upper", 1, e.map2(expr.Sub, x, args[1], at), false),
		}
	case "simplex":
		if !args[0].node.Opaque {
			if s, ok := e.constant(args[0], at, "the sum of a simplex"); ok && !(s[0] >= 0) {
				r.b.errorf(diag.BindEmptySet, at, "no `%s` is in this simplex: nonnegative numbers do not sum to %v", v.Name, s[0])
				return nil
			}
		}
		total := unbatched(g.Reduce(expr.Sum, x.node, at))
		return []relation{nonneg(), relate("simplex", 1, e.map2(expr.Sub, total, args[0], at), true)}
	}
	return nil
}

// boxHolds checks that no lower bound is above its upper bound.
func (r *rows) boxHolds(decl *lang.Var, v ir.Variable, args []value) bool {
	if args[0].node.Opaque || args[1].node.Opaque {
		return true
	}
	e := r.b.top()
	lo, ok := e.constant(args[0], decl.Set.Span(), "a bound")
	hi, ok2 := e.constant(args[1], decl.Set.Span(), "a bound")
	if !ok || !ok2 {
		return false
	}
	for k := range v.Shape.Len() {
		a, c := lo[k%len(lo)], hi[k%len(hi)]
		if !(a-c <= constantTolerance*(math.Abs(a)+math.Abs(c))) && !(a <= c) {
			r.b.errorf(diag.BindEmptySet, decl.Set.Span(), "the box of `%s` is empty: from %v to %v",
				v.EntryName(k), a, c)
			return false
		}
	}
	return true
}

// ball adds the ball of an upper variable to X.
func (r *rows) ball(decl *lang.Var, k int) {
	if decl.Set == nil || decl.Set.Name.Name != "ball" {
		return
	}
	radius, known, _ := r.b.fixedNumber(decl.Set.Args[0], "the radius of a ball")
	if !known {
		return
	}
	if !(radius >= 0) {
		r.b.errorf(diag.BindEmptySet, decl.Set.Args[0].Span(), "the radius of a ball is at least 0, not %v", radius)
		return
	}
	if radius == 0 { // a point
		v := r.prob.Upper.Vars[k]
		for j := range v.Shape.Len() {
			r.bound(v.Offset+j, 1, 0, true, origin{at: decl.Set.Span()})
		}
		return
	}
	r.prob.X.Balls = append(r.prob.X.Balls, ir.Ball{Var: k, Radius: radius})
}
