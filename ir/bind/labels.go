package bind

import (
	"fmt"
	"strconv"

	"bilevelc/internal/each"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file finds the positions that labels take: as subscripts, in
// comparisons, and through ord, next and prev.

// rangesOverTuples reports an index over a set of tuples.
func (e *elaborator) rangesOverTuples(name string) bool {
	v, ok := e.scope.find(name)
	return ok && v.set != nil && v.set.parts != nil
}

// along evaluates the subscripts of a dimension.
func (e *elaborator) along(subs []lang.Subscript, d dim, x *lang.Index) (selector, bool) {
	set, first := d.set, 1
	if set != nil {
		first = set.lo
	}
	if len(subs) == 1 && subs[0].All {
		return selector{width: d.n, all: true, pos: expr.Sequence(0, d.n)}, true
	}
	if len(subs) == 1 {
		v := e.expr(subs[0].Lo)
		if set == nil && v.set != nil { // of an array whose dimensions are known from here on
			e.errorf(diag.BindLabels, e.at(x), "`%s` is a label, but this dimension of `%s` is indexed by numbers", elab.Quote(subs[0].Lo), elab.Quote(x.X))
			return selector{}, false
		}
		if set == nil || set.number && v.set == nil {
			sel, ok := e.subscript(subs[0], v, first)
			return sel, ok && e.inRange(sel, subs[0], x, d.n, first)
		}
		return e.oneElement(subs[0].Lo, v, set)
	}
	parts := make([]selector, len(subs))
	var s *space
	for i := range subs {
		el, ok := e.oneElement(subs[i].Lo, e.expr(subs[i].Lo), set.parts[i])
		if !ok {
			return selector{}, false
		}
		parts[i], s = el, join(s, el.space)
	}
	n := s.size()
	at := each.Of(parts, func(p selector) []int { return s.to(p.space) })
	sel := selector{single: true, width: 1, space: s, pos: make([]int, n)}
	for k := range n {
		labels := each.Below(len(parts), func(i int) string { return set.parts[i].word(parts[i].pos[at[i][k]]) })
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

// written is a label that is written out, as an element of a set of its own.
func written(label string) value {
	return element(1, &boundSet{labels: []string{label}, n: 1, texts: true})
}

// written reports the set of a label that is written out.
func (s *boundSet) written() bool { return s.name == "" }

// asLabel is v, the value of x, where labels are expected: a number is one.
func asLabel(x lang.Expr, v value) value {
	if n, ok := elab.Bare(x).(*lang.Number); ok {
		return written(n.Text)
	}
	return v
}

// oneElement is the place of v, the value of x, which must be an element of a set.
func (e *elaborator) oneElement(x lang.Expr, v value, set *boundSet) (selector, bool) {
	out := selector{single: true, width: 1, space: v.space}
	switch v = asLabel(x, v); {
	case v.bad():
		return out, false
	case v.set == nil && set.number:
		ints, ok := e.integers(v, e.at(x), "an index")
		if !ok {
			return out, false
		}
		out.pos = make([]int, len(ints))
		for k, i := range ints {
			if out.pos[k] = i - set.lo; out.pos[k] < 0 || out.pos[k] >= set.n {
				e.errorf(diag.BindIndex, e.at(x), "index %d is outside %d..%d", i, set.lo, set.lo+set.n-1)
				return out, false
			}
		}
		return out, true
	}
	out.pos = make([]int, len(v.ints))
	for k, i := range v.ints {
		if v.set == set {
			out.pos[k] = i - 1
			continue
		}
		labels := v.set.element(i - 1)
		switch out.pos[k] = set.find(labels...); {
		case out.pos[k] >= 0:
			continue
		case set.fake || v.set.fake:
			out.pos[k] = 0
			continue
		}
		what := tupleText(labels)
		switch {
		case v.set.written():
			what = "`" + what + "`"
		case v.set.texts:
			what = "`" + elab.Quote(x) + "` is " + what + ", which"
		}
		d := e.errorf(diag.BindLabels, e.at(x), "%s is not in `%s`", what, set.name)
		if d.Detail = v.space.happens(k); v.set.texts {
			e.b.nearLabel(d, set, labels)
		}
		return out, false
	}
	return out, true
}

// compareLabels is == or != of labels, u of x.X and v of x.Y.
func (e *elaborator) compareLabels(x *lang.Binary, u, v value) value {
	u, ok := e.among(x.X, u, v)
	v, ok2 := e.among(x.Y, v, u)
	if !ok || !ok2 {
		return value{}
	}
	out := value{typ: elab.Bool, space: join(u.space, v.space)}
	if u.unknownText() || v.unknownText() {
		return e.unknownCondition(x, out.space)
	}
	same := func(i, j int) bool { return word(u.set, i) == word(v.set, j) }
	if u.set != nil && u.set == v.set {
		same = func(i, j int) bool { return i == j }
	}
	at, to := out.space.to(u.space), out.space.to(v.space)
	out.bools = each.Below(len(at), func(k int) bool { return same(u.ints[at[k]], v.ints[to[k]]) == (x.Op == lang.Eq) })
	return out
}

// among is v, the value of a side y of a comparison, as an element of a set or an
// integer; where it is a label that is written out, it is one of those of the other side.
func (e *elaborator) among(y lang.Expr, v, other value) (value, bool) {
	if v = asLabel(y, v); v.set == nil {
		ints, ok := e.integers(v, e.at(y), "what is compared with a text")
		return intsAt(ints, v.space), ok
	}
	if !v.set.written() {
		return v, true
	}
	root, label := other.set.root(), v.set.labels[0]
	k := root.find(label)
	if k < 0 && !root.fake {
		what, detail := "`"+lang.LabelText(label)+"` is not in `"+root.name+"`", ""
		if root.texts {
			what = "no entry of `" + root.name + "` is " + lang.LabelText(label)
			detail = "it holds " + some(root.labels)
		}
		d := e.errorf(diag.BindLabels, e.at(elab.Bare(y)), "%s", what)
		d.Detail = detail
		e.b.nearLabel(d, root, []string{label})
		return value{}, false
	}
	return element(k+1, root), true
}

// unknownText reports a text, or an integer, of data that were not supplied.
func (v value) unknownText() bool {
	return v.ints == nil || v.set != nil && v.set.texts && v.set.fake
}

// word is an element of a set as a text, or an integer where there is no set.
func word(set *boundSet, i int) string {
	if set == nil {
		return strconv.Itoa(i)
	}
	return set.word(i - 1)
}

// ofElement elaborates ord, next and prev.
func (e *elaborator) ofElement(x *lang.Call) value {
	v := e.expr(x.Args[0])
	switch {
	case v.bad():
		return v
	case v.set == nil:
		return e.unchecked(x)
	case x.Fn.Name == "ord":
		v.set = nil
		return v
	}
	step, which := 1, "following"
	there := fmt.Sprintf("if ord(%s) < card(%s)", elab.Quote(x.Args[0]), v.set.name)
	if x.Fn.Name == "prev" {
		step, which, there = -1, "preceding", fmt.Sprintf("if ord(%s) > 1", elab.Quote(x.Args[0]))
	}
	ints := make([]int, len(v.ints))
	for k, i := range v.ints {
		if ints[k] = i + step; ints[k] >= 1 && ints[k] <= v.set.n {
			continue
		}
		d := e.errorf(diag.BindLabels, e.at(x), "%s has no %s label in `%s`", tupleText(v.set.element(i-1)), which, v.set.name)
		if d.Detail = v.space.happens(k); v.space != nil {
			d.Fix = "leave it out by a condition"
			if _, ok := elab.Bare(x.Args[0]).(*lang.Name); ok && !v.set.written() {
				d.Fix += ", as in `" + there + "`"
			}
		}
		return value{}
	}
	v.ints = ints
	return v
}

// component is one label of the elements of a set of tuples, as an index.
func component(set *boundSet, i int, v value) value {
	part := set.parts[i]
	ints := each.Of(v.ints, func(t int) int { return set.tuples[t-1][i] + 1 })
	out := value{typ: elab.Int, space: v.space, ints: ints, set: part}
	if part.number {
		for k := range ints {
			ints[k] += part.lo - 1
		}
		out.set = nil
	}
	return out
}
