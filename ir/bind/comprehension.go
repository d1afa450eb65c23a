package bind

import (
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file enumerates iteration spaces and reduces bodies over them. The
// body is elaborated once, for all tuples together.

func (e *elaborator) comprehension(x *lang.Comprehension) value {
	op, array := elab.Reductions[x.Fn.Name], x.Fn.Name == ""
	around := e.b.unsized
	e.b.unsized = false
	defer func() { e.b.unsized = e.b.unsized || around }()
	inner, ok := e.iterate(x.Binders, x.Cond)
	if !ok {
		return value{}
	}
	before := len(e.b.list)
	body := inner.numeric(x.Body)
	if body.bad() {
		switch nothing, ok := ofNone[op]; {
		case e.space == nil && e.b.again(before):
			return e.unroll(x, op, inner.space)
		case array && e.b.none(inner.space, before):
			return e.arrayOf(x, e.num(scalarInt(0)), inner.space)
		case ok && e.b.none(inner.space, before):
			return scalarInt(nothing)
		}
		return value{}
	}
	if array {
		return e.arrayOf(x, body, inner.space)
	}
	at := e.at(x)
	if inner.space.mask != nil && inner.space.mask.Deps != 0 && op != expr.Sum {
		e.errorf(diag.BindShapes, e.at(x.Cond), "`%s` cannot leave out terms by a condition on variables", x.Fn.Name).Fix = "a sum can"
		return value{}
	}
	if inner.space.mask != nil { // unknown which terms there are: an unknown result
		body = e.map2(expr.Mul, unknown(inner.space.mask, inner.space).factor(e), body, at)
	}
	if op == expr.Sum {
		return e.sumOver(body, inner.space, e.space, at)
	}
	return e.reduce(op, e.lift(body, inner.space, at).node, inner.space.up, e.space, at)
}

// iterate enumerates the tuples of binders under a condition, as one space
// below the current one, and returns the elaborator of the body.
func (e *elaborator) iterate(binders []lang.Binder, cond lang.Expr) (*elaborator, bool) {
	cur := *e
	var made []*space // one a binder
	for k := range binders {
		next, ok := cur.extend(&binders[k])
		if !ok {
			return nil, false
		}
		made = append(made, next)
		cur = *cur.within(next).withIndices(next)
	}
	if cond != nil {
		c := cur.condition(cond)
		if c.bad() {
			return nil, false
		}
		if c.unknown != nil {
			cur.space.mask = e.lift(c.factor(e), cur.space, e.at(cond)).node
		} else {
			cur = *cur.within(subspace(cur.space, c.boolsAt(cur.space), true))
		}
	}
	if cur.space.parent == e.space { // one binder, no condition
		return &cur, true
	}
	// One level below the outer space, with the indices at hand.
	s := &space{parent: e.space, depth: e.space.level() + 1, n: cur.space.n, up: cur.space.to(e.space), mask: cur.space.mask}
	for _, m := range made {
		at := cur.space.to(m)
		for _, i := range m.indices {
			if m != cur.space {
				i.at = pick(i.at, at)
			}
			s.indices = append(s.indices, i)
		}
		own := m.spans[0]
		if own.values = s.indices[len(s.indices)-1].at; len(m.indices) > 1 {
			own.values = pick(m.spans[0].values, at)
		}
		s.spans = append(s.spans, own)
	}
	return e.within(s).withIndices(s), true
}

// withIndices declares the indices of s, which is e's space.
func (e *elaborator) withIndices(s *space) *elaborator {
	for _, i := range s.indices {
		v := intsAt(i.at, s)
		v.set = i.set
		e = e.with(i.name, v)
	}
	return e
}

func intsAt(ints []int, s *space) value {
	return value{typ: elab.Int, space: s, ints: ints}
}

func pick[T any](list []T, at []int) []T {
	return each.Of(at, func(i int) T { return list[i] })
}

// extend makes the space of one more binder below the current one, with the
// indices that it declares.
func (e *elaborator) extend(bd *lang.Binder) (*space, bool) {
	set := e.setOf(bd.Lo)
	if bd.Hi != nil || set == nil {
		return e.extendInts(bd, nil)
	}
	first := 1
	if set.number {
		first = set.lo
	}
	out, ok := e.extendInts(bd, expr.Sequence(first, set.n))
	if !ok {
		return nil, false
	}
	out.spans[0].set, out.spans[0].first, out.spans[0].counts = set, first, true
	if bd.Tuple == nil || set.parts == nil {
		if !set.number {
			out.indices[0].set = set
		}
		return out, true
	}
	whole := intsAt(out.indices[0].at, out)
	out.indices = nil
	for i, n := range bd.Tuple {
		v := component(set, i, whole)
		out.indices = append(out.indices, spaceIndex{n.Name, v.ints, v.set})
	}
	return out, true
}

// extendInts makes the space of a binder over given values, or over the range
// or vector that it names.
func (e *elaborator) extendInts(bd *lang.Binder, given []int) (*space, bool) {
	parents := e.space.size()
	var up, at []int // the parent of each tuple, and the index there
	add := func(t, i int) {
		e.b.meter.Step()
		up, at = append(up, t), append(at, i)
	}
	made := func(own span) *space {
		own.values = at
		return &space{parent: e.space, depth: e.space.level() + 1, n: len(up), up: up, indices: []spaceIndex{{name: bd.Name.Name, at: at}}, spans: []span{own}}
	}
	if given == nil && bd.Hi == nil {
		v := e.expr(bd.Lo)
		if !v.bad() && (v.item().Rank != 1 || v.space != nil) {
			e.errorf(diag.BindShapes, e.at(bd.Lo), "`%s` ranges over a vector of integers, not %s", bd.Name.Name, v.describe())
			return nil, false
		}
		var ok bool
		if given, ok = e.integers(v, e.at(bd.Lo), "an index"); !ok {
			return nil, false
		}
		if given == nil { // not supplied
			given = expr.Sequence(1, v.item().Rows)
		}
	}
	if given != nil {
		e.roomWithin(bd, parents*len(given))
		up, at = make([]int, 0, parents*len(given)), make([]int, 0, parents*len(given))
		for t := range parents {
			for _, i := range given {
				add(t, i)
			}
		}
		return made(span{dim: dim{n: len(given)}}), true
	}
	los, ok := e.bound(bd.Lo)
	his, ok2 := e.bound(bd.Hi)
	if !ok || !ok2 {
		return nil, false
	}
	ends := func(t int) (lo, hi int) { return los[min(t, len(los)-1)], his[min(t, len(his)-1)] }
	total := 0
	for t := range parents {
		// Each length is below 2^54, and the sum stops at the limit.
		lo, hi := ends(t)
		if total += max(hi-lo+1, 0); total > e.b.tuples {
			break
		}
	}
	e.roomWithin(bd, total)
	up, at = make([]int, 0, total), make([]int, 0, total)
	var own span
	switch { // no tuple around it says how many values it has
	case parents > 0:
	case len(los) == 1 && len(his) == 1:
		own.n = max(his[0]-los[0]+1, 0)
	default:
		e.b.unsized = true
	}
	for t := range parents {
		lo, hi := ends(t)
		for i := lo; i <= hi; i++ {
			add(t, i)
		}
		if n := max(hi-lo+1, 0); t == 0 {
			own.n = n
		} else if n != own.n {
			own.n = -1
		}
	}
	if len(los) == 1 {
		own.first, own.counts = los[0], true
	}
	return made(own), true
}

// roomWithin counts a space of n tuples within the spaces around it, which stay in memory
// meanwhile, and ends the binding where they are too many.
func (e *elaborator) roomWithin(bd *lang.Binder, n int) {
	around := 0
	for s := e.space; s != nil; s = s.parent {
		around += s.n
	}
	what := "the iteration space"
	if around > 0 {
		what = "the iteration space, with those around it,"
	}
	e.b.within(e.b.tuples, e.at(bd), what, around+n)
	e.b.budget += around         // they are paid for
	e.b.spend(e.at(bd), what, n) // its place in the space around, beside its value
}

// bound evaluates an end of a range: one number for each tuple of the current
// space, or one for all.
func (e *elaborator) bound(x lang.Expr) ([]int, bool) {
	v := e.expr(x)
	ints, ok := e.integers(v, e.at(x), "the end of a range")
	if !ok {
		return nil, false
	}
	if ints == nil { // not supplied
		ints, v.space = []int{e.b.filler()}, nil
	}
	if v.space == nil {
		return ints[:1], true
	}
	return pick(ints, e.space.to(v.space)), true
}

// sumOver sums the instances of a value of the inner space into the outer one
// that is its parent.
func (e *elaborator) sumOver(v value, inner, outer *space, at diag.Span) value {
	if v.space.level() < inner.level() { // the same for all tuples: count times it
		return e.map2(expr.Mul, e.tupleCount(inner, outer), v, at)
	}
	g := e.b.graph
	out := shaped(v.typ, outer)
	switch {
	case outer == nil && v.isScalar():
		out.node = e.sumEntries(v.node, at)
	case outer == nil:
		if s, vec, ok := scalarTimesVectors(v); ok {
			s, vec = e.lift(s, inner, at), e.lift(vec, inner, at)
			out.node = g.MatVec(vec.node, true, s.node, at)
			break
		}
		flat := e.reshape(v.node, expr.MatrixShape(inner.n, v.item().Len()), at)
		out.node = e.reshape(g.MatVec(flat, true, e.ones(inner.n), at), v.item(), at)
	case v.isScalar():
		out.node = e.segmentSums(v.node, inner.up, outer.n, at)
	default:
		out.node = g.ScatterAdd(v.node, instances(inner.up, v.item().Len()), outer.shape(v.item()), at)
	}
	return out
}

// tupleCount is the number of tuples, for each tuple of the outer space.
func (e *elaborator) tupleCount(inner, outer *space) value {
	if outer == nil {
		return scalarInt(inner.n)
	}
	counts := make([]int, outer.n)
	for _, t := range inner.up {
		counts[t]++
	}
	return intsAt(counts, outer)
}

// scalarTimesVectors recognises a batched scalar times a vector.
func scalarTimesVectors(v value) (scalar, vector value, ok bool) {
	if v.product == nil || v.item().Rank != 1 {
		return value{}, value{}, false
	}
	u, w := v.product[0], v.product[1]
	if w.isScalar() {
		u, w = w, u
	}
	return u, w, u.isScalar() && w.item().Rank == 1
}

// itemSum sums the entries of each instance.
func (e *elaborator) itemSum(v value, at diag.Span) value {
	if v.isScalar() {
		return v
	}
	out := value{typ: elab.Real, space: v.space}
	if v.space == nil {
		out.node = e.sumEntries(v.node, at)
		return out
	}
	if p := v.product; p != nil && v.item().Rank == 1 && p[0].item() == p[1].item() && (p[0].space == nil || p[1].space == nil) {
		u, w := p[0], p[1] // sum(u .* w) with one of them fixed: a matrix times a vector
		n := dim{n: u.item().Rows}
		u.typ, w.typ = elab.Row(n), elab.Vector(n)
		return e.product(u, w, at)
	}
	size := v.item().Len()
	flat := e.reshape(v.node, expr.MatrixShape(v.space.n, size), at)
	out.node = e.b.graph.MatVec(flat, false, e.ones(size), at)
	return out
}

// itemReduce is a product, maximum, minimum or log-sum-exp of the entries of each instance.
func (e *elaborator) itemReduce(op expr.Op, v value, at diag.Span) value {
	var seg []int
	if v.space != nil {
		size := v.item().Len()
		seg = each.Below(v.node.Shape.Len(), func(k int) int { return k / size })
	}
	return e.reduce(op, v.node, seg, v.space, at)
}

// ofNone is what reductions make of nothing, those that make anything of it.
var ofNone = map[expr.Op]int{expr.Sum: 0, expr.Prod: 1}

// nothing says that a reduction has no value.
const nothing = "%s of nothing: the range is empty"

// reduce is such a reduction of the entries of a node that belong to each tuple of a space.
func (e *elaborator) reduce(op expr.Op, n *expr.Node, seg []int, outer *space, at diag.Span) value {
	switch {
	case outer != nil:
		return e.segments(op, n, seg, outer, at)
	case n.Shape.Len() == 0 && op != expr.Prod:
		e.errorf(diag.BindEmptyRange, at, nothing, op)
		return value{}
	}
	return unbatched(e.b.graph.Reduce(op, n, at))
}

// segments reduces the entries of each segment. Known numbers are reduced
// here; otherwise segments of different lengths get a node of their own each, as the graph has no
// operation for them: they are written out, and counted so.
func (e *elaborator) segments(op expr.Op, n *expr.Node, seg []int, outer *space, at diag.Span) value {
	members := make([][]int, outer.n)
	for k, t := range seg {
		members[t] = append(members[t], k)
	}
	out := value{typ: elab.Real, space: outer}
	g := e.b.graph
	var known []float64
	if n.Deps == 0 && !n.Opaque {
		known = e.b.value(n).Values()
	}
	vals := make([]float64, outer.n)
	columns := len(seg) / max(outer.n, 1)
	alike := !slices.ContainsFunc(members, func(ks []int) bool { return len(ks) != columns })
	if known == nil && alike && columns > 0 && columns <= outer.n && pairwise[op] != 0 {
		// As many operations on all segments at once as one of them has members.
		for j := range columns {
			index := each.Of(members, func(ks []int) int { return ks[j] })
			column := e.b.graph.Gather(n, index, expr.VectorShape(outer.n), at)
			if j > 0 {
				column = g.Binary(pairwise[op], out.node, column, at)
			}
			out.node = column
		}
		return out
	}
	var parts []*expr.Node
	if known == nil {
		e.b.expand(segmentSteps * outer.n)
	}
	for t, ks := range members {
		if len(ks) == 0 && op != expr.Prod {
			e.errorf(diag.BindEmptyRange, at, nothing, op).Detail =
				outer.happens(t)
			return value{}
		}
		if known != nil {
			part := each.Of(ks, func(k int) float64 { return known[k] })
			r := g.Reduce(op, g.Const("", data.Vector(part), at), at)
			vals[t] = e.b.value(r).Dense[0]
			continue
		}
		part := e.b.graph.Gather(n, ks, expr.VectorShape(len(ks)), at)
		parts = append(parts, g.Reduce(op, part, at))
	}
	if known != nil || outer.n == 0 {
		out.node = g.Const("", data.Vector(vals), at)
	} else {
		out.node = e.halves(parts, at)
	}
	return out
}

// halves is the vector of scalars, put together by halves: one by one into all would take
// the square of their number.
func (e *elaborator) halves(parts []*expr.Node, at diag.Span) *expr.Node {
	g, n, half := e.b.graph, len(parts), (len(parts)+1)/2
	if n == 1 {
		return g.ScatterAdd(parts[0], []int{0}, expr.VectorShape(1), at)
	}
	head := g.ScatterAdd(e.halves(parts[:half], at), expr.Sequence(0, half), expr.VectorShape(n), at)
	tail := g.ScatterAdd(e.halves(parts[half:], at), expr.Sequence(half, n-half), expr.VectorShape(n), at)
	return e.plus(head, tail, at)
}
