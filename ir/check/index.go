package check

import (
	"fmt"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// index checks x[i], A[i, j], A[i, :], y[2..n].
func (c *checker) index(s *scope, e *lang.Index) value {
	x := c.expr(s, e.X)
	texts := x.typ.Kind == ir.TextType
	if !texts {
		x = c.numeric(s, e.X, x)
	}
	if isUnknown(x.typ) {
		for i := range e.Subs {
			c.subscript(s, e, &e.Subs[i], nil)
		}
		return unknownOf(x)
	}
	groups, fault := elab.Subscripts(e, x.typ, s.rangesOverTuples)
	if fault != nil {
		return c.fault(s, fault, x)
	}
	sizes := make([]ir.Dim, len(groups)) // nil for a single index
	for i, subs := range groups {
		var n *poly
		if set := setOf(dim(x.typ, i)); set != nil && set.lo == nil {
			n = c.alongSet(s, e, subs, set)
		} else {
			n = c.subscript(s, e, &subs[0], dim(x.typ, i))
		}
		if n != nil {
			sizes[i] = n
		}
	}
	if texts {
		return c.textEntry(s, e, sizes)
	}
	return x.withType(elab.Selection(x.typ, sizes))
}

// rangesOverTuples reports an index over a set of tuples.
func (s *scope) rangesOverTuples(name string) bool {
	v, ok := s.find(name)
	return ok && v.typ.Kind == ir.LabelType && len(v.set.tuple()) > 1
}

// subscript checks one subscript against the size n of its dimension (nil if
// unknown), which may be a set of numbers, and returns the size it selects, nil for a
// single index. What is out of range of numbers that do not start at 1 is found when
// the model is bound.
func (c *checker) subscript(s *scope, e *lang.Index, sub *lang.Subscript, n *poly) *poly {
	if sub.All {
		if n == nil {
			return c.unknownSize()
		}
		return n
	}
	for _, x := range []lang.Expr{sub.Lo, sub.Hi} {
		end := c.endName(s, x)
		if end == nil {
			continue
		}
		d := c.errorf(s, diag.UnknownName, end.Span(), "`end` is not declared")
		d.Detail = "the last index of a dimension is its size"
		if size := c.withoutEnd(end, n); size != "" {
			d.Fix = "write `" + size + "`"
		}
		if sub.Hi == nil {
			return nil
		}
		return c.unknownSize()
	}
	if sub.Hi == nil {
		return c.single(s, e, sub.Lo, n)
	}
	lo := c.integer(s, sub.Lo, "the start of a range")
	hi := c.integer(s, sub.Hi, "the end of a range")
	if lo == nil || hi == nil {
		return c.unknownSize()
	}
	if places(n) {
		c.inRange(s, sub.Lo.Span(), lo, nil)
		c.inRange(s, sub.Hi.Span(), hi, n)
	}
	size := hi.sub(lo).plus(1)
	if k, ok := size.constant(); ok && k.Sign() < 0 {
		c.errorf(s, diag.IndexRange, sub.Span(), "the range `%s` ends before it starts", elab.QuoteSpan(sub.Span()))
	}
	return c.bounded(s, size, sub.Span())
}

// single checks a subscript without a range: an index, or a vector of indices
// known before solving, which selects as many entries.
func (c *checker) single(s *scope, e *lang.Index, x lang.Expr, n *poly) *poly {
	if operates(x) && places(n) {
		if i := c.integer(s, x, "an index"); i != nil {
			c.inRange(s, x.Span(), i, n)
		}
		return nil
	}
	switch v := c.expr(s, x); {
	case v.typ.Kind == ir.VectorType && v.deps == 0:
		return dim(v.typ, 0)
	case v.typ.Kind == ir.LabelType && setOf(n) != nil && (v.set != nil || v.text):
		c.elementOf(s, e, x, v, setOf(n))
	case v.typ.Kind == ir.LabelType:
		c.labelOfPlain(s, x, v, n)
	default:
		if i := c.asInteger(s, x, v, "an index"); i != nil && places(n) {
			c.inRange(s, x.Span(), i, n)
		}
	}
	return nil
}

func operates(x lang.Expr) bool {
	switch x.(type) {
	case *lang.Binary, *lang.Unary:
		return true
	}
	return false
}

// places reports a dimension whose subscripts count from 1, as all do but those over
// other numbers.
func places(n *poly) bool {
	set := setOf(n)
	if set == nil || set.lo == nil {
		return true
	}
	first, ok := set.lo.constant()
	return ok && first.Cmp(one) == 0
}

// inRange reports an index that certainly falls outside 1..n, for the indices
// around it taken at their extremes. n may be nil.
func (c *checker) inRange(s *scope, at diag.Span, i, n *poly) {
	if low := extreme(s, i, -1); low != nil {
		if v, ok := withDefaults(low).constant(); ok && v.Cmp(one) < 0 {
			d := c.errorf(s, diag.IndexRange, at, "the index `%s` is out of range", elab.QuoteSpan(at))
			d.Detail = "indexing starts at 1" + reaches(i, low) + inBrackets(defaultsNote(low))
			return
		}
	}
	if n == nil {
		return
	}
	high := extreme(s, i, 1)
	if high == nil {
		return
	}
	if exceeds(withDefaults(high), withDefaults(n)) {
		d := c.errorf(s, diag.IndexRange, at, "the index `%s` is out of range", elab.QuoteSpan(at))
		d.Detail = fmt.Sprintf("the last index is %s%s", n, reaches(i, high))
		if !exceeds(high, n) {
			d.Detail += inBrackets(defaultsNote(n, high))
		}
	}
}

// exceeds reports whether a is certainly greater than b.
func exceeds(a, b *poly) bool {
	v, fixed := a.constant()
	w, also := b.constant()
	if fixed && also {
		return v.Cmp(w) > 0
	}
	v, fixed = a.sub(b).constant()
	return fixed && v.Sign() > 0
}

func inBrackets(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// reaches says how far an index that moves goes.
func reaches(i, extreme *poly) string {
	if !hasKind(i, indexAtom) {
		return ""
	}
	return ", and this reaches " + extreme.String()
}

// extreme replaces the indices in p by the bounds that make it least (sign
// -1) or greatest (+1). nil: not known, or a condition may keep it from being
// reached.
func extreme(s *scope, p *poly, sign int) *poly {
	// A bound may itself hold outer indices, so several rounds; a
	// comprehension nested deeper than that is left to binding.
	for range 8 {
		a := first(p, indexAtom)
		if a == nil {
			return p
		}
		k := p.linearIn(a)
		if k == nil || a.filtered || a.lo == nil || a.hi == nil || s.guarded || emptyRange(a) {
			return nil
		}
		bound := a.hi
		if k.Sign()*sign < 0 {
			bound = a.lo
		}
		if p = p.substitute(a, bound); p == nil {
			return nil
		}
	}
	return nil
}

// emptyRange reports whether an index certainly takes no value.
func emptyRange(a *atom) bool {
	v, ok := a.size.constant()
	return ok && v.Sign() <= 0
}

// ranges says that an index goes from lo to hi, either of which may be nil.
func (a *atom) ranges(lo, hi *poly) {
	if a.lo, a.hi = lo, hi; lo != nil && hi != nil {
		a.size = hi.sub(lo).plus(1)
	}
}

// A span is how many values an index takes, or the indices of a tuple together; of a
// range it tells where that starts. size is nil where it is not known.
type span struct {
	size *poly
	lo   *poly
	set  bool // the values are the elements of an index set
}

// binders opens a scope with the indices of a comprehension or family. A
// later range may use earlier indices. filtered: a condition follows.
func (c *checker) binders(s *scope, bs []lang.Binder, filtered bool) *scope {
	in := c.child(s)
	for i := range bs {
		b := &bs[i]
		if b.Hi == nil {
			if set, v := c.rangedSet(in, b); set != nil {
				c.elements(in, b, set, filtered)
				in.spans = append(in.spans, span{size: set.size, set: true})
				continue
			} else if b.Tuple != nil {
				c.tupleOf(in, b, v)
				in.spans = append(in.spans, span{})
				continue
			}
		}
		a := c.newAtom(b.Name.Name, indexAtom)
		a.filtered = filtered
		var own span
		if b.Hi == nil {
			own.size = c.indexSet(in, b)
		} else {
			lo := c.integer(in, b.Lo, "the start of a range")
			if a.ranges(lo, c.integer(in, b.Hi, "the end of a range")); a.size != nil {
				own = span{size: a.size, lo: lo}
			}
		}
		in.spans = append(in.spans, own)
		c.hides(in, b.Name)
		in.names[b.Name.Name] = value{typ: elab.Int, size: atomPoly(a)}
	}
	return in
}

// indexSet checks S in `i in S`, a vector of integers known before solving, and gives its
// length, nil after an error.
func (c *checker) indexSet(s *scope, b *lang.Binder) *poly {
	v := c.operand(s, b.Lo)
	switch {
	case isUnknown(v.typ):
	case v.typ.Kind != ir.VectorType:
		d := c.errorf(s, diag.NotInteger, b.Lo.Span(), "an index ranges over lo..hi or over a vector of integers, but `%s` is %s",
			elab.Quote(b.Lo), elab.KindOf(v.typ))
		if elab.IsScalar(v.typ) {
			d.Fix = fmt.Sprintf("did you mean `%s in 1..%s`?", b.Name.Name, elab.OperandText(b.Lo))
		}
	case v.deps != 0:
		c.errorf(s, diag.NotFixed, b.Lo.Span(), "the values of the index `%s` depend on %s", b.Name.Name, c.readText(s, b.Lo, v.deps))
	default:
		return dim(v.typ, 0)
	}
	return nil
}

// hides warns of an index that hides another name, and reports one that is
// declared twice in the same place.
func (c *checker) hides(s *scope, index lang.Ident) {
	name := index.Name
	if _, twice := s.names[name]; twice {
		c.errorf(s, diag.DeclaredTwice, index.Span(), "the index `%s` is declared twice", name)
		return
	}
	if s.parent.local(name) {
		c.warnf(diag.Hides, index.Span(), "the index `%s` hides the `%s` around it", name, name)
		return
	}
	if e := c.symbols[name]; e != nil && !s.library() {
		d := c.warnf(diag.Hides, index.Span(), "the index `%s` hides the declared `%s`", name, name)
		d.Related = []diag.Related{{Span: e.name.Span(), Message: "declared here"}}
	}
}

// comprehension checks sum(i in 1..n if c: e), and prod, max, min.
func (c *checker) comprehension(s *scope, e *lang.Comprehension) value {
	if e.Fn.Name == "" {
		return c.arrayOf(s, e)
	}
	in := c.binders(s, e.Binders, e.Cond != nil)
	if e.Cond != nil {
		c.condition(in, e.Cond)
	}
	body := c.operand(in, e.Body)
	fn := e.Fn.Name
	op, known := elab.Reductions[fn]
	if !known {
		d := c.errorf(s, diag.NotReduction, e.Fn.Span(), "`%s` does not range over indices", fn)
		d.Detail = "sum, prod, max and min do"
		d.Fix = diag.Meant(fn, []string{"sum", "prod", "max", "min"})
		return unknownOf(body)
	}
	if isUnknown(body.typ) {
		return unknownOf(body)
	}
	if fn != "sum" && !elab.IsScalar(body.typ) {
		c.errorf(s, diag.NeedsScalar, e.Body.Span(), "`%s` over indices takes scalars, but `%s` is %s", fn, elab.Quote(e.Body), elab.KindOf(body.typ))
		return unknownOf(body)
	}
	for _, d := range body.typ.Dims {
		if mentions(d.(*poly), in) {
			c.errorf(s, diag.VaryingSize, e.Body.Span(), "the terms of this sum have different sizes").Detail =
				elab.SizeOf(e.Body, body.typ) + ", which moves with the index"
			return unknownOf(body)
		}
	}
	return c.sized(s, e, applied(body.typ, op.Info(), site{at: e.Span(), what: fn}, body))
}

// arrayOf types [i in 1..n, j in 1..m: e]: one entry for each combination of
// the indices, whose ranges do not depend on each other.
func (c *checker) arrayOf(s *scope, e *lang.Comprehension) value {
	in := c.binders(s, e.Binders, e.Cond != nil)
	if e.Cond != nil {
		c.errorf(s, diag.VaryingSize, e.Cond.Span(), "an array has an entry for each combination of its indices, without a condition").Fix =
			"write the cases with `if c then a else b`"
	}
	body := c.operand(in, e.Body)
	if isUnknown(body.typ) {
		return unknownOf(body)
	}
	if !elab.IsScalar(body.typ) {
		c.errorf(s, diag.NeedsScalar, e.Body.Span(), "the entries of an array are scalars, but `%s` is %s", elab.Quote(e.Body), elab.KindOf(body.typ))
		return unknownOf(body)
	}
	var dims []ir.Dim
	for i, d := range in.spans {
		b := &e.Binders[i]
		switch {
		case d.size == nil:
			return unknownOf(body)
		case mentionsIndex(b.Lo, e.Binders[:i]) || mentionsIndex(b.Hi, e.Binders[:i]):
			c.errorf(s, diag.VaryingSize, b.Span(), "the range of `%s` moves with another index, so that this is no array", b.Name.Name).Fix =
				"let it start at the same number for all, and add the other index where this one is used, or write out the cases with `if`"
			return unknownOf(body)
		}
		dims = append(dims, c.bounded(s, d.size, b.Span()))
	}
	return join(elab.Array(dims...), body)
}

// mentions reports whether a size moves with an index of the scope.
func mentions(p *poly, s *scope) bool {
	for _, a := range p.atoms() {
		if a.kind != indexAtom {
			continue
		}
		for _, v := range s.names {
			if v.size != nil && v.size.linearIn(a) != nil {
				return true
			}
		}
	}
	return false
}
