package bind

import (
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file finds the positions that labels take: as subscripts, in
// comparisons, and through ord, next and prev.

// elements is a list of elements of a set, one or one a tuple of a space:
// positions from 0.
type elements struct {
	space *space
	pos   []int
}

// rangesOverTuples reports an index over a set of tuples.
func (e *elaborator) rangesOverTuples(name string) bool {
	v, ok := e.scope.find(name)
	return ok && v.set != nil && v.set.parts != nil
}

// along evaluates the subscripts of a dimension over a set.
func (e *elaborator) along(subs []lang.Subscript, d dim, x *lang.Index) (selector, bool) {
	set := d.set
	if len(subs) == 1 && subs[0].All {
		return selector{width: d.n, all: true, pos: expr.Sequence(0, d.n)}, true
	}
	if set.number {
		if v, ok := e.labelIndex(subs[0].Lo); (!ok || v.set == nil) && e.textsOf(subs[0].Lo) == nil {
			return e.alongNumbers(subs[0], d, x)
		}
	}
	if len(subs) == 1 {
		el, ok := e.oneElement(subs[0].Lo, set)
		return selector{single: true, width: 1, space: el.space, pos: el.pos}, ok
	}
	parts := make([]elements, len(subs))
	var s *space
	for i := range subs {
		el, ok := e.oneElement(subs[i].Lo, set.parts[i])
		if !ok {
			return selector{}, false
		}
		parts[i], s = el, join(s, el.space)
	}
	n := s.size()
	at := make([][]int, len(parts))
	for i, p := range parts {
		at[i] = s.to(p.space)
	}
	sel := selector{single: true, width: 1, space: s, pos: make([]int, n)}
	for k := range n {
		labels := make([]string, len(parts))
		for i, p := range parts {
			labels[i] = set.parts[i].element(p.pos[at[i][k]])[0]
		}
		if sel.pos[k] = set.find(labels...); sel.pos[k] >= 0 {
			continue
		}
		if set.fake {
			sel.pos = make([]int, n)
			sel.opaque = e.b.graph.Number(0)
			return sel, true
		}
		e.errorf(diag.BindLabels, e.at(x), "%s is not in `%s`", tupleText(labels), set.name).Detail = s.happens(k)
		return selector{}, false
	}
	return sel, true
}

// labelIndex is the value of an index that is read by name; ok is false for
// other expressions.
func (e *elaborator) labelIndex(x lang.Expr) (value, bool) {
	n, ok := x.(*lang.Name)
	if !ok {
		return value{}, false
	}
	return e.scope.find(n.Name)
}

// alongNumbers evaluates a subscript of a dimension over a set of numbers.
func (e *elaborator) alongNumbers(sub lang.Subscript, d dim, x *lang.Index) (selector, bool) {
	sel, ok := e.subscript(sub, d.n)
	if !ok {
		return sel, false
	}
	if shift := d.set.lo - 1; shift != 0 && sel.opaque == nil {
		pos := make([]int, len(sel.pos))
		for k, p := range sel.pos {
			pos[k] = p - shift
		}
		sel.pos = pos
	}
	return sel, e.inRange(sel, sub, x, d)
}

// oneElement evaluates an expression that must be an element of a set.
func (e *elaborator) oneElement(x lang.Expr, set *boundSet) (elements, bool) {
	switch x.(type) {
	case *lang.Text, *lang.Number:
		k := set.find(lang.LabelOf(x))
		if k < 0 && set.fake {
			k = 0
		}
		if k < 0 {
			e.notIn(x, set)
			return elements{}, false
		}
		return elements{pos: []int{k}}, true
	}
	v := e.expr(x)
	isText := v.kind == integer && v.set != nil && v.set.texts
	switch {
	case v.bad():
		return elements{}, false
	case v.set == nil && set.number:
		ints, ok := e.integers(v, e.at(x), "an index")
		if !ok {
			return elements{}, false
		}
		out := elements{space: v.space, pos: make([]int, len(ints))}
		for k, i := range ints {
			if out.pos[k] = i - set.lo; out.pos[k] < 0 || out.pos[k] >= set.n {
				e.errorf(diag.BindIndex, e.at(x), "index %d is outside %d..%d", i, set.lo, set.lo+set.n-1)
				return elements{}, false
			}
		}
		return out, true
	case isText:
	case v.kind != integer || v.set == nil || v.set.root() != set.root():
		e.errorf(diag.BindShapes, e.at(x), "an element of `%s` is needed, not %s", set.name, v.describe())
		return elements{}, false
	}
	out := elements{space: v.space, pos: make([]int, len(v.ints))}
	for k, i := range v.ints {
		labels := v.set.element(i - 1)
		if isText {
			out.pos[k] = set.find(labels...)
		} else {
			out.pos[k] = v.set.in(set, i-1)
		}
		switch {
		case out.pos[k] >= 0:
			continue
		case set.fake || v.set.fake:
			out.pos[k] = 0
			continue
		case isText:
			d := e.errorf(diag.BindLabels, e.at(x), "`%s` is %s, which is not in `%s`", elab.Quote(x), tupleText(labels), set.name)
			d.Detail = v.space.happens(k)
			e.b.nearLabel(d, set, labels)
		default:
			e.errorf(diag.BindLabels, e.at(x), "%s is not in `%s`", tupleText(labels), set.name).Detail = v.space.happens(k)
		}
		return elements{}, false
	}
	return out, true
}

// notIn reports a label that a set does not have.
func (e *elaborator) notIn(x lang.Expr, set *boundSet) {
	label := lang.LabelOf(x)
	e.b.nearLabel(e.errorf(diag.BindLabels, e.at(x), "`%s` is not in `%s`", lang.LabelText(label), set.name), set, []string{label})
}

// compareLabels is == or != of labels.
func (e *elaborator) compareLabels(x *lang.Binary) (value, bool) {
	left, right := elab.Bare(x.X), elab.Bare(x.Y)
	u, v := e.labelSide(left), e.labelSide(right)
	if u.set != nil && u.set.texts || v.set != nil && v.set.texts {
		return e.compareTexts(x, u, v), true
	}
	set, of, other := u.set, left, right
	if set == nil {
		set, of, other = v.set, right, left
	}
	if set == nil {
		return value{}, false
	}
	root := set.root()
	a, ok := e.oneElement(of, root)
	var c elements
	switch other.(type) {
	case *lang.Text, *lang.Number:
		if c = (elements{pos: []int{root.find(lang.LabelOf(other))}}); c.pos[0] < 0 && !root.fake {
			e.notIn(other, root)
			return value{}, true
		}
	default:
		var fine bool
		c, fine = e.oneElement(other, root)
		ok = ok && fine
	}
	if !ok {
		return value{}, true
	}
	out := value{kind: boolean, space: join(a.space, c.space)}
	at, ct := out.space.to(a.space), out.space.to(c.space)
	out.bools = make([]bool, len(at))
	for k := range at {
		out.bools[k] = (a.pos[at[k]] == c.pos[ct[k]]) == (x.Op == lang.Eq)
	}
	return out, true
}

// labelSide is a side, bare, of a comparison as far as it may be an index over a set.
func (e *elaborator) labelSide(x lang.Expr) value {
	switch x := x.(type) {
	case *lang.Name:
		v, _ := e.scope.find(x.Name)
		return v
	case *lang.Index:
		if e.textsOf(x) != nil {
			return e.expr(x)
		}
	case *lang.Call:
		if x.Fn.Name == "next" || x.Fn.Name == "prev" {
			return e.expr(x)
		}
	}
	return value{}
}

// ofSet elaborates card, ord, next and prev; ok is false for other names.
func (e *elaborator) ofSet(x *lang.Call) (v value, ok bool) {
	switch x.Fn.Name {
	case "card", "ord", "next", "prev":
	default:
		return value{}, false
	}
	if len(x.Args) != 1 {
		return value{}, false
	}
	if x.Fn.Name == "card" {
		if s := e.setOf(x.Args[0]); s != nil {
			return scalarInt(s.n), true
		}
		return value{}, false
	}
	v = e.expr(x.Args[0])
	if v.bad() || v.set == nil {
		return value{}, v.bad()
	}
	if x.Fn.Name == "ord" {
		v.set = nil
		return v, true
	}
	step := 1
	if x.Fn.Name == "prev" {
		step = -1
	}
	ints := make([]int, len(v.ints))
	for k, i := range v.ints {
		if ints[k] = i + step; ints[k] >= 1 && ints[k] <= v.set.n {
			continue
		}
		d := e.errorf(diag.BindLabels, e.at(x), "%s has no %s label in `%s`", tupleText(v.set.element(i-1)),
			map[int]string{1: "following", -1: "preceding"}[step], v.set.name)
		d.Detail, d.Fix = v.space.happens(k), "leave it out by a condition, as in `if ord(c) > 1`"
		return value{}, true
	}
	v.ints = ints
	return v, true
}

// component is one label of the elements of a set of tuples, as an index.
func component(set *boundSet, i int, v value) value {
	part := set.parts[i]
	ints := make([]int, len(v.ints))
	for k, t := range v.ints {
		ints[k] = set.tuples[t-1][i] + 1
	}
	out := value{kind: integer, item: expr.ScalarShape(), space: v.space, ints: ints, set: part}
	if part.number {
		for k := range ints {
			ints[k] += part.lo - 1
		}
		out.set = nil
	}
	return out
}
