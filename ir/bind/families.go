package bind

import (
	"fmt"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// relation is one relation of a constraint or set, lowered to h <= 0 or h = 0:
// an affine form with one entry a row.
type relation struct {
	family *ir.Family
	equal  bool
	idle   bool    // no variable is written in it
	over   indexed // all rows as an array over sets
	dims   []dim   // of h, where it is over sets
	form   *form   // nil where coefficients are unknown (abstract binding), or where values are used
	// values are the entries of h in order, of a relation of the upper level that
	// is not affine, or reads the lower variables, and of one of the lower level
	// with kinks; nil for others.
	values []*expr.Node
	at     diag.Span
}

// relationOf is that of a family, as h <= 0 or h = 0, without its form.
func relationOf(f *ir.Family, h value, equal bool, at diag.Span) relation {
	f.Shape, f.Axes = familyShape(h)
	return relation{family: f, equal: equal, at: at}
}

// constraint lowers a constraint: one relation, or one for each link of a
// chain.
func (r *rows) constraint(c *lang.Constraint) []relation {
	e := r.b.top()
	r.b.unsized = false
	if len(c.Binders) > 0 {
		inner, ok := e.iterate(c.Binders, c.Cond)
		if !ok {
			return nil
		}
		e = inner
		r.b.rowsFit(c.Span(), thisConstraint, e.space.n*len(c.Ops))
	}
	before := len(r.b.list)
	out := r.links(e, c)
	if e.space != nil && r.b.again(before) {
		return r.unrolled(c, e.space)
	}
	if e.space != nil && len(out) < len(c.Ops) && r.b.none(e.space, before) {
		return nil
	}
	return out
}

// thisConstraint is what a message calls the one that it points to.
const thisConstraint = "this constraint"

// rowsFit ends the binding where the model may not have n more rows over indices.
func (b *binder) rowsFit(at diag.Span, what string, n int) {
	if most := b.mostRows + perNumber*b.numbers; b.indexedRows+n > most {
		b.beyond(at, "%s has %d rows: with those before it, the constraints over indices are beyond %d rows in all", what, n, most)
	}
}

// links lowers the relations of a chain where e is.
func (r *rows) links(e *elaborator, c *lang.Constraint) []relation {
	terms, ok := all(c.Terms, e.numeric)
	if !ok {
		return nil
	}
	idle := !slices.ContainsFunc(c.Terms, r.b.readsVariable)
	var out []relation
	for k, op := range c.Ops {
		u, v, sign := terms[k], terms[k+1], 1.0
		if op == lang.GreaterEq {
			u, v, sign = v, u, -1
		}
		if _, f := elab.Relation(c, k, terms[k].typ, terms[k+1].typ); f != nil {
			e.fault(f)
			continue
		}
		at := c.Terms[k].Span().To(c.Terms[k+1].Span())
		h := e.lift(e.map2(expr.Sub, u, v, at), e.space, at)
		if e.space != nil {
			r.b.rowsFit(c.Span(), thisConstraint, h.node.Shape.Len())
			r.b.indexedRows += h.node.Shape.Len()
		}
		name, named := r.nameOf(c, k)
		rel := relationOf(&ir.Family{Name: name, Named: named, Span: c.Span(), Sign: sign}, h, op == lang.Equal, at)
		rel.idle, rel.dims, rel.over = idle, h.dims(), indexedRows(rel.family, c, h)
		if e.space != nil && e.space.mask != nil || !r.formOf(&rel, h.node) {
			rel.form = nil
		}
		if r.upperLevel && (rel.form == nil || rel.form.reads(r.b.dx)) {
			rel.form = nil
			if !r.b.opts.Abstract {
				rel.values = []*expr.Node{h.node}
			}
		}
		out = append(out, rel)
	}
	return out
}

// readsVariable reports whether a variable is written in an expression, in the
// lets that it names or in the functions that it calls.
func (b *binder) readsVariable(x lang.Expr) bool {
	return b.reads(x, func(s *ir.Symbol) bool { return s.Kind == ir.VarSymbol || s.Deps != 0 })
}

// reads reports whether an expression leads to a name of the model that is one of those.
func (b *binder) reads(x lang.Expr, one func(*ir.Symbol) bool) bool {
	return elab.Reads(x, b.prog, func(_ lang.Expr, s *ir.Symbol, _ []*lang.Name) bool { return s != nil && one(s) }) != nil
}

// formOf makes the affine form of a relation; false where it cannot.
func (r *rows) formOf(rel *relation, n *expr.Node) bool {
	var bad *expr.Node
	switch rel.form, bad = r.affine.of(n); {
	case bad == nil:
		return true
	case bad.Opaque, r.upperLevel: // data was not supplied, or it is one of the constraints that are not part of X
	case bad.Op.Info().Kinked:
		rel.values = []*expr.Node{n}
	default:
		r.b.unchecked(rel.at)
	}
	return false
}

// article spells an operation: "a product", "exp".
func article(op expr.Op) string {
	switch op {
	case expr.Mul, expr.Dot, expr.MatVec, expr.MatMul, expr.Outer:
		return "a product"
	case expr.Div:
		return "a quotient"
	case expr.Pow:
		return "a power"
	}
	return op.String()
}

// nameOf is the name of link k of a constraint: the user's or the place, and
// in a chain .lower and .upper, or the link's number.
func (r *rows) nameOf(c *lang.Constraint, k int) (name string, named bool) {
	if c.Name != nil {
		name, named = c.Name.Name, true
	} else {
		p := c.Span().Source.Pos(c.Span().Start)
		name = fmt.Sprintf("line %d", p.Line)
		if r.onLine[p.Line] > 1 {
			name = fmt.Sprintf("line %d:%d", p.Line, p.Column)
		}
	}
	if len(c.Ops) == 1 {
		return name, named
	}
	if len(c.Ops) == 2 && c.Ops[0] == c.Ops[1] && c.Ops[0] != lang.Equal {
		if (k == 0) == (c.Ops[0] == lang.LessEq) {
			return name + ".lower", named
		}
		return name + ".upper", named
	}
	return fmt.Sprintf("%s.%d", name, k+1), named
}

// familyShape is the shape of the rows of h, and the axes by which they are named. Where
// the indices go over all places of an array, these are the places; else the family has
// one axis for all of its indices, with their values as its labels.
func familyShape(h value) (expr.Shape, []ir.Axis) {
	dims, s := h.dims(), h.space
	if s == nil {
		return h.item(), exported(dims)
	}
	if sizes, counts := s.grid(); counts && exported(dims) == nil {
		dims = append(plain(sizes), dims...)
		return expr.ShapeOf(sizesOf(dims)), exported(dims)
	}
	axes := append([]ir.Axis{indexAxis(s)}, exportedAll(dims)...)
	return expr.ShapeOf([]int{s.n, h.item().Len()}[:min(len(axes), 2)]), axes
}

// indexAxis is the axis of a family's index tuples.
func indexAxis(s *space) ir.Axis {
	return ir.Axis{Size: s.n, Labels: each.Below(s.n, s.labels)}
}

// grid recognises indices that run over all places of an array, row by row, and gives its
// sizes, or none; counts says that they are numbers which count from 1.
func (s *space) grid() (sizes []int, counts bool) {
	counts = s.n > 0
	for k, left := 0, s.n; k < len(s.indices); k++ {
		i, run := s.indices[k], 1 // tuples for one value of the index, out of those for one of each before it
		for k < len(s.indices)-1 && run < left && i.at[run] == i.at[0] {
			run++
		}
		if s.n == 0 || left%run != 0 {
			return nil, false
		}
		for t, v := range i.at {
			if v != i.at[t%left-t%run] {
				return nil, false
			}
			counts = counts && i.set == nil && v == t%left/run+1
		}
		sizes, left = append(sizes, left/run), run
	}
	return sizes, counts
}
