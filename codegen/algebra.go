package codegen

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// algebra applies local identities. Contract: no broadcast feeds an
// elementwise operation; numbers stand in opLin only (as coefficients and
// bias), pulled out of products, sums and slices; sums of products are dot
// products; powers with small numbers are products and roots; operations on
// numbers are done. 0 * e stays: e may be undefined.
func algebra(f *form) *form {
	uses := f.uses()
	links := f.links(uses)
	s := &simplifier{once: map[int]bool{}}
	i := -1
	return rewrite(f, false, func(r *rewriter, v val) int {
		i++
		s.rewriter = r
		j := 0
		if links[i] { // the sum it enters takes it apart
			j = s.emit(v)
		} else {
			j = s.simplify(v)
		}
		s.once[j] = uses[i] == 1
		return j
	})
}

// links marks the sums whose only use is another sum of the same shape: links
// of a chain, which its end takes apart as a whole.
func (f *form) links(uses []int) []bool {
	link := make([]bool, len(f.vals))
	for i := range f.vals {
		v := &f.vals[i]
		if v.op != opLin {
			continue
		}
		for _, a := range v.args {
			u := &f.vals[a]
			link[a] = u.op == opLin && uses[a] == 1 && u.shape == v.shape
		}
	}
	return link
}

// simplifier holds what the rules look up: once tells which values of the new
// form have one user.
type simplifier struct {
	*rewriter
	once map[int]bool
}

// simplify returns the value that stands for v.
func (s *simplifier) simplify(v val) int {
	if n, ok := s.computed(&v); ok {
		return n
	}
	switch {
	case v.op == opLin:
		return s.lin(v)
	case v.op == opCopy:
		if a := s.val(v.args[0]); a.shape == v.shape {
			return v.args[0]
		} else if a.op == opCopy { // a wider copy of a copied scalar
			v.args = a.args
		}
		return s.emit(v)
	case v.op.elementwise():
		return s.elementwise(v)
	case v.op == opSum:
		return s.sum(v)
	case v.op == opDot:
		return s.dot(v)
	case v.op == opMatVec:
		for k := range 2 {
			if n, ok := s.scaledOut(v, k); ok {
				return n
			}
		}
		if c, u, ok := s.scalarTimes(v.args[1]); ok {
			v.args = []int{v.args[0], u}
			return s.mul(c, s.simplify(v), v.shape)
		}
	case v.op == opGather || v.op == opScatterAdd || v.op == opTranspose:
		if n, ok := s.scaledOut(v, 0); ok {
			return n
		}
	}
	return s.emit(v)
}

// scaledOut takes a number out of argument k of an operation that is linear in it.
func (s *simplifier) scaledOut(v val, k int) (int, bool) {
	c, u, ok := s.scaled(v.args[k])
	if !ok {
		return 0, false
	}
	v.args = slices.Clone(v.args)
	v.args[k] = u
	return s.scale(c, s.simplify(v)), true
}

// scale is c times value i, in normal form.
func (s *simplifier) scale(c float64, i int) int {
	return s.lin(val{op: opLin, args: []int{i}, coef: []float64{c}, shape: s.val(i).shape})
}

// mul is the product of two values.
func (s *simplifier) mul(a, b int, shape expr.Shape) int {
	return s.simplify(val{op: opMul, args: []int{a, b}, shape: shape})
}

// scaled takes a number out: value i is c times value u of the same shape.
func (s *simplifier) scaled(i int) (c float64, u int, ok bool) {
	v := s.val(i)
	if v.op == opLin && len(v.args) == 1 && v.bias == 0 && s.val(v.args[0]).shape == v.shape {
		return v.coef[0], v.args[0], true
	}
	return 0, 0, false
}

// scalarTimes takes a scalar out: value i is scalar c times array u.
func (s *simplifier) scalarTimes(i int) (c, u int, ok bool) {
	v := s.val(i)
	if v.op != opMul || v.shape.Rank == 0 {
		return 0, 0, false
	}
	for k := range 2 {
		if s.val(v.args[k]).shape.Rank == 0 {
			return v.args[k], v.args[1-k], true
		}
	}
	return 0, 0, false
}

// computed does an operation on numbers.
func (s *simplifier) computed(v *val) (int, bool) {
	if v.shape.Rank != 0 || !v.op.elementwise() && v.op != opSum && v.op != opProd && v.op != opLogSumExp {
		return 0, false
	}
	var in [2]float64
	sum := v.bias
	for k, a := range v.args {
		c, ok := s.val(a).number()
		if !ok {
			return 0, false
		}
		if k < 2 {
			in[k] = c
		}
		if v.op == opLin {
			sum += v.coef[k] * c
		}
	}
	var res [1]float64
	switch {
	case v.op == opLin:
		res[0] = sum
	case v.op == opSum || v.op == opProd || v.op == opLogSumExp:
		res[0] = in[0]
	case len(v.args) == 1:
		unary(v.op, res[:], in[:1])
	default:
		binary(v.op, res[:], in[:1], 0, in[1:], 0)
	}
	return s.number(res[0]), true
}

// lin flattens a sum: nested sums that have no other user, scaled values,
// numbers; equal terms are gathered. Terms keep their order.
func (s *simplifier) lin(v val) int {
	out := val{op: opLin, shape: v.shape, bias: v.bias}
	at := map[int]int{}
	type term struct {
		c float64
		i int
	}
	var todo []term // a stack
	push := func(c float64, v *val) {
		for k := len(v.args) - 1; k >= 0; k-- {
			todo = append(todo, term{c * v.coef[k], v.args[k]})
		}
	}
	push(1, &v)
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		a := s.val(t.i)
		n, isNumber := a.number()
		_, seen := at[t.i]
		switch {
		case isNumber:
			if part := t.c * n; len(out.args) > 0 && math.IsInf(out.bias+part, 0) && !math.IsInf(out.bias, 0) && !math.IsInf(part, 0) {
				sum := s.emit(out) // what comes before stays apart
				out = val{op: opLin, shape: v.shape, args: []int{sum}, coef: []float64{1}}
				at = map[int]int{sum: 0}
			}
			out.bias += t.c * n
		case a.op == opCopy && v.shape.Rank != 0: // a scalar, repeated
			todo = append(todo, term{t.c, a.args[0]})
		case a.op == opLin && a.shape == v.shape && (len(a.args) == 1 || s.once[t.i]) && s.flat(t.c, a, out.bias):
			out.bias += t.c * a.bias
			push(t.c, a)
		case a.op == opLin && a.shape == v.shape && s.once[t.i]: // it stays; a link was not yet simplified
			if t.i = s.lin(*a); s.val(t.i).op != opLin {
				todo = append(todo, t)
				continue
			}
			out.args, out.coef = append(out.args, t.i), append(out.coef, t.c)
		case seen && !math.IsInf(out.coef[at[t.i]]+t.c, 0):
			out.coef[at[t.i]] += t.c
		default:
			at[t.i] = len(out.args)
			out.args, out.coef = append(out.args, t.i), append(out.coef, t.c)
		}
	}
	if len(out.args) == 0 {
		n := s.number(out.bias)
		if v.shape.Rank == 0 {
			return n
		}
		return s.emit(val{op: opCopy, args: []int{n}, shape: v.shape})
	}
	if len(out.args) == 1 && out.coef[0] == 1 && out.bias == 0 {
		if s.val(out.args[0]).shape == v.shape {
			return out.args[0]
		}
		return s.emit(val{op: opCopy, args: out.args, shape: v.shape})
	}
	return s.emit(out)
}

// elementwise simplifies an elementwise operation other than opLin, opCopy.
func (s *simplifier) elementwise(v val) int {
	if v.shape.Rank != 0 {
		args := append([]int(nil), v.args...)
		scalars := 0
		for k, a := range args {
			if u := s.val(a); u.op == opCopy && s.val(u.args[0]).shape.Rank == 0 {
				args[k] = u.args[0]
			}
			if s.val(args[k]).shape.Rank == 0 {
				scalars++
			}
		}
		v.args = args
		if scalars == len(args) { // one scalar, repeated
			one := v
			one.shape = expr.ScalarShape()
			return s.emit(val{op: opCopy, args: []int{s.simplify(one)}, shape: v.shape})
		}
	}
	switch v.op {
	case opMul:
		return s.product(v)
	case opDiv:
		return s.quotient(v)
	case opPow:
		return s.power(v)
	case opSquare:
		if c, u, ok := s.scaled(v.args[0]); ok && folds(c*c, c) {
			v.args = []int{u}
			return s.scale(c*c, s.emit(v))
		}
	}
	return s.emit(v)
}

func (s *simplifier) product(v val) int {
	for k, a := range v.args {
		other := v.args[1-k]
		if !s.joint(v) {
			break
		}
		if c, ok := s.val(a).number(); ok {
			return s.lin(val{op: opLin, args: []int{other}, coef: []float64{c}, shape: v.shape})
		}
		if c, u, ok := s.scaled(a); ok {
			return s.scale(c, s.mul(u, other, v.shape))
		}
	}
	if v.args[0] == v.args[1] {
		return s.emit(val{op: opSquare, args: v.args[:1], shape: v.shape})
	}
	if v.args[0] > v.args[1] {
		v.args = []int{v.args[1], v.args[0]}
	}
	return s.emit(v)
}

func (s *simplifier) quotient(v val) int {
	if c, ok := s.val(v.args[1]).number(); ok {
		// Not where 1/c would overflow or lose digits.
		if inv := 1 / c; !math.IsInf(inv, 0) && math.Abs(inv) >= 0x1p-1022 {
			return s.lin(val{op: opLin, args: v.args[:1], coef: []float64{inv}, shape: v.shape})
		}
	}
	if n, ok := s.scaledOut(v, 0); ok {
		return n
	}
	return s.emit(v)
}

// power turns small powers into products and roots.
func (s *simplifier) power(v val) int {
	c, ok := s.val(v.args[1]).number()
	base := v.args[0]
	if !ok || s.val(base).shape != v.shape {
		return s.emit(v)
	}
	square := func(i int) int { return s.simplify(val{op: opSquare, args: []int{i}, shape: v.shape}) }
	switch c {
	case 0: // u^0 is 1 for every u
		n := s.number(1)
		if v.shape.Rank == 0 {
			return n
		}
		return s.emit(val{op: opCopy, args: []int{n}, shape: v.shape})
	case 1:
		return base
	case 2:
		return square(base)
	case 3:
		return s.mul(base, square(base), v.shape)
	case 4:
		return square(square(base))
	case 0.5:
		return s.emit(val{op: opFunction + op(expr.Sqrt), args: []int{base}, shape: v.shape})
	case -1:
		return s.simplify(val{op: opDiv, args: []int{s.number(1), base}, shape: v.shape})
	case -2:
		return s.simplify(val{op: opDiv, args: []int{s.number(1), square(base)}, shape: v.shape})
	}
	return s.emit(v)
}

func (s *simplifier) sum(v val) int {
	a := v.args[0]
	u := s.val(a)
	if u.shape.Rank == 0 {
		return a
	}
	if c, w, ok := s.scaled(a); ok {
		return s.scale(c, s.simplify(val{op: opSum, args: []int{w}, shape: v.shape}))
	}
	if c, w, ok := s.scalarTimes(a); ok {
		return s.mul(c, s.simplify(val{op: opSum, args: []int{w}, shape: v.shape}), v.shape)
	}
	switch u.op {
	case opCopy: // a scalar, n times
		return s.scale(float64(u.shape.Len()), u.args[0])
	case opMul:
		return s.simplify(val{op: opDot, args: u.args, shape: v.shape})
	case opSquare:
		return s.simplify(val{op: opDot, args: []int{u.args[0], u.args[0]}, shape: v.shape})
	case opTranspose:
		return s.emit(val{op: opSum, args: u.args, shape: v.shape})
	}
	return s.emit(v)
}

func (s *simplifier) dot(v val) int {
	for k, a := range v.args {
		other := v.args[1-k]
		if c, u, ok := s.scaled(a); ok && s.joint(v) {
			if a == other {
				return s.scale(c*c, s.simplify(val{op: opDot, args: []int{u, u}, shape: v.shape}))
			}
			return s.scale(c, s.simplify(val{op: opDot, args: []int{u, other}, shape: v.shape}))
		}
		if c, u, ok := s.scalarTimes(a); ok {
			return s.mul(c, s.simplify(val{op: opDot, args: []int{u, other}, shape: v.shape}), v.shape)
		}
		if u := s.val(a); u.op == opCopy { // a scalar against every entry
			return s.mul(u.args[0], s.simplify(val{op: opSum, args: []int{other}, shape: v.shape}), v.shape)
		}
	}
	if v.args[0] > v.args[1] {
		v.args = []int{v.args[1], v.args[0]}
	}
	return s.emit(v)
}

// foldData computes what depends on data only. Contract: afterwards every
// value of the data stage is a constant.
func foldData(f *form) *form {
	held, slot := f.boundary(dataStage)
	if len(held) == 0 {
		return f
	}
	arrays := computeData(f.keep(held, nil))
	return f.keep(f.outs, func(i int) (val, bool) {
		k, ok := slot[i]
		if !ok {
			return val{}, false
		}
		return val{op: opConst, shape: f.vals[i].shape, array: arrays[k]}, true
	})
}

// computeData runs a form of the data stage and returns its outputs.
func computeData(f *form) []*data.Array {
	p := &Program{threads: 1, dataAt: map[*float64]int{}}
	pl := planner{program: p, f: fuse(f, true), arena: &arena{}}
	pl.plan()
	p.hold = pl.code
	p.lay(pl.arena.size)
	e := p.NewEvaluator()
	for i := range pl.code {
		e.run(&pl.code[i])
	}
	return each.Of(pl.f.outs, func(o output) *data.Array {
		return expr.NewArray(pl.f.vals[o.v].shape, slices.Clone(e.at(pl.place[o.v])))
	})
}
