package bind

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// levels binds the two levels: variables first, as each level may read the
// other's, then constraints, objectives, lets, start, settings and report.
func (b *binder) levels(prob *ir.Problem) {
	up, low := b.prog.Upper, b.prog.Lower
	if up == nil || low == nil {
		b.unchecked(b.modelName())
		return
	}
	if !b.allVariables(prob) {
		return
	}
	r := newRows(b, prob)
	r.lower(low)
	r.upper(up)
	b.objective(&prob.Upper, up)
	b.objective(&prob.Lower, low)
	b.followers(prob)
	for _, d := range b.prog.File.Decls {
		if let, ok := d.(*lang.Let); ok { // what is wrong in it is reported even if nothing uses it
			if s := b.symbol(let.Name.Name); s != nil {
				b.let(s)
			}
		}
	}
	b.start(prob)
	b.settings(prob)
	b.report()
	r.domain()
	r.restate()
	r.penalized()
	r.unite()
}

// allVariables lays out the variables of the levels that there are.
func (b *binder) allVariables(prob *ir.Problem) bool {
	ok := true
	if up := b.prog.Upper; up != nil {
		ok = b.variables(&prob.Upper, up, false)
	}
	if low := b.prog.Lower; low != nil {
		ok = b.variables(&prob.Lower, low, true) && ok
	}
	b.dx, b.dy = prob.Upper.Dim, prob.Lower.Dim
	return ok
}

// variables lays out the variables of a level.
func (b *binder) variables(l *ir.Level, decl *ir.LevelDecl, lower bool) bool {
	ok := true
	for _, v := range decl.Vars {
		dims, good := b.dims(&v.Type, v.Name.Name)
		if !good {
			ok = false
			continue
		}
		b.within(min(b.limit, b.mostVariables+perNumber*b.numbers), v.Type.Span(), v.Name.Name, sizesOf(dims)...)
		shape := expr.ShapeOf(sizesOf(dims))
		l.Vars = append(l.Vars, ir.Variable{Name: v.Name.Name, Shape: shape, Offset: l.Dim, Span: v.Name.Span(),
			Axes: exported(dims), Integer: v.Kind != lang.ContinuousVar && !lower})
		node := b.graph.Var(v.Name.Name, lower, l.Dim, shape, v.Name.Span())
		if shape.Len() == 0 { // nothing to decide
			node = b.graph.Fill(0, shape, v.Name.Span())
		}
		b.vars[v.Name.Name] = array(node, dims)
		l.Dim += shape.Len()
		if most := b.mostVariables + perNumber*b.numbers; b.prob.Upper.Dim+b.prob.Lower.Dim > most {
			b.beyond(v.Type.Span(), "%s has %d entries: with the variables before it, these are more than %d in all", v.Name.Name, shape.Len(), most)
		}
	}
	if ok && l.Dim == 0 && !lower {
		b.errorf(diag.BindShapes, decl.Block.Span(), "the %s level has no variable entries", decl.Block.Word())
		return false
	}
	return ok
}

// objective binds a level's objective, negated where it is maximized, and its
// lets.
func (b *binder) objective(l *ir.Level, decl *ir.LevelDecl) {
	for _, let := range decl.Lets {
		s := b.symbol(let.Name.Name)
		if s == nil {
			continue
		}
		v := b.let(s)
		if v.bad() || v.isCondition() {
			continue
		}
		l.Lets = append(l.Lets, b.top().num(v).named(s.Name, let.Value.Span()))
	}
	if decl.Objective == nil {
		b.unchecked(decl.Block.Span())
		return
	}
	x := decl.Objective.Value
	l.Maximize, l.Span = decl.Objective.Maximize, x.Span()
	v := b.top().numeric(x)
	if v.bad() {
		return
	}
	if f := elab.Objective(decl.Block.Word(), decl.Objective, v.typ); f != nil { // multipliers whose number is known from here on
		b.top().fault(f)
		return
	}
	if !b.finite(v.node) {
		return
	}
	v.node = b.top().collected(v.node, x.Span())
	if l.Maximize {
		v = b.top().map1(expr.Neg, v, x.Span())
	}
	l.Objective = v.node
}

// finite reports data-only parts of an expression that are NaN or infinite.
// Parts that are made of sums and products only are finite as the data is, and
// are not computed here: they may be large.
func (b *binder) finite(root *expr.Node) bool {
	ok := true
	seen := map[*expr.Node]bool{}
	check := func(n *expr.Node) {
		if n.Deps != 0 || n.Opaque || seen[n] || !hasDomain(n) {
			return
		}
		seen[n] = true
		if fault := expr.Trace(n, nil, nil); fault != nil {
			ok = false
			b.errorf(diag.BindNotFinite, n.Span, "a part that depends on data only is not finite: %s", fault.What())
		}
	}
	check(root)
	for _, n := range expr.Reachable(root) {
		if n.Deps == 0 {
			continue
		}
		for _, a := range n.Args {
			check(a)
		}
	}
	return ok
}

// hasDomain reports whether a node is made with an operation that finite
// operands can make infinite or NaN.
func hasDomain(n *expr.Node) bool {
	return slices.ContainsFunc(expr.Reachable(n), func(m *expr.Node) bool { return m.Op.Info().Inside != nil || m.Op == expr.Exp })
}

// start lays out the starting point. Variables without one start at 0, or at
// the nearest bound.
func (b *binder) start(prob *ir.Problem) {
	if b.prog.Solve == nil || b.list.HasErrors() {
		return
	}
	for i := range b.prog.Solve.Items {
		item := &b.prog.Solve.Items[i]
		if !item.Start {
			continue
		}
		at := slices.IndexFunc(prob.Upper.Vars, func(v ir.Variable) bool { return v.Name == item.Name.Name })
		if at < 0 {
			b.unchecked(item.Name.Span())
			continue
		}
		target := &prob.Upper.Vars[at]
		e := b.top()
		v := e.numeric(item.Value)
		vals, ok := e.constant(v, item.Value.Span(), "the start of "+target.Name)
		if !ok {
			continue
		}
		if !v.isScalar() && v.item() != target.Shape {
			b.errorf(diag.BindShapes, item.Value.Span(), "`%s` is %s, but its start is %s", target.Name, target.Shape, v.describe())
			continue
		}
		if prob.Start == nil {
			prob.Start = each.Below(prob.Upper.Dim, func(j int) float64 { return min(max(0, prob.X.Lo[j]), prob.X.Hi[j]) })
		}
		for k := range target.Shape.Len() {
			at := vals[k%len(vals)]
			if prob.Start[target.Offset+k] = at; target.Integer && at != math.Trunc(at) {
				b.errorf(diag.BindNotInteger, item.Value.Span(), "`%s` takes whole numbers only, but starts at %v", target.EntryName(k), at)
				break
			}
		}
	}
	for j, v := range prob.Start {
		if v-v != 0 { // NaN or infinite
			b.errorf(diag.BindNotFinite, b.prog.Solve.Span(), "entry %d of the start is %v", j+1, v)
			return
		}
	}
}

// settings reads the other entries of the solve block: a name that is no
// scalar of the model is a word.
func (b *binder) settings(prob *ir.Problem) {
	if b.prog.Solve == nil {
		return
	}
	for i := range b.prog.Solve.Items {
		item := &b.prog.Solve.Items[i]
		if item.Start {
			continue
		}
		out := ir.Setting{Name: item.Name.Name, Span: item.Span()}
		if name, ok := item.Value.(*lang.Name); ok {
			if v, ok := b.known[name.Name]; !ok || !v.isScalar() {
				out.Word, out.IsWord = name.Name, true
				prob.Settings = append(prob.Settings, out)
				continue
			}
		}
		if v, known, _ := b.fixedNumber(item.Value, "the setting `"+item.Name.Name+"`"); known {
			out.Value = v
			prob.Settings = append(prob.Settings, out)
		}
	}
}

// report binds the report's expressions.
func (b *binder) report() {
	if b.prog.Report == nil {
		return
	}
	for _, item := range b.prog.Report.Items {
		b.reportItem(item.Name.Name, item.Value)
	}
}

// reportItem binds an item of the report.
func (b *binder) reportItem(name string, x lang.Expr) {
	b.reporting = true
	v := b.top().reported(x)
	b.reporting = false
	if !v.bad() {
		b.prob.Report = append(b.prob.Report, v.named(name, x.Span()))
	}
}
