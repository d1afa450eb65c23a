package codegen

import (
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// rewriter builds a form from another, value by value: at maps the values of
// the old form to those of the new one. With share set, a value that equals an
// earlier one is not made twice.
type rewriter struct {
	old, form *form
	at        []int
	share     bool
	made      map[valKey]int // the last value with that key
	before    []int          // of each value the one before with its key, or -1
}

// rewrite applies to to every value in order; to sees the value with its
// arguments renumbered and returns the index of the value that stands for it.
func rewrite(f *form, share bool, to func(r *rewriter, v val) int) *form {
	r := &rewriter{old: f, form: &form{dx: f.dx, dy: f.dy, builder: f.builder, vals: make([]val, 0, len(f.vals))}, at: make([]int, len(f.vals)),
		share: share, made: map[valKey]int{}}
	for i := range f.vals {
		v := f.vals[i]
		v.args = mapped(v.args, r.at)
		r.at[i] = to(r, v)
	}
	for _, o := range f.outs {
		o.v = r.at[o.v]
		r.form.outs = append(r.form.outs, o)
	}
	return r.form.keep(r.form.outs, nil)
}

// mapped is args renumbered by at.
func mapped(args []int, at []int) []int {
	return each.Of(args, func(a int) int { return at[a] })
}

// val is value i of the new form.
func (r *rewriter) val(i int) *val { return &r.form.vals[i] }

// emit appends v, or finds the value that equals it.
func (r *rewriter) emit(v val) int {
	if v.op != opVar && v.op != opHeld {
		v.stage = r.form.stageOf(v.args)
	}
	if !r.share {
		r.form.vals = append(r.form.vals, v)
		return len(r.form.vals) - 1
	}
	k := keyOf(&v)
	last, ok := r.made[k]
	if !ok {
		last = -1
	}
	for i := last; i >= 0; i = r.before[i] {
		if equalVals(r.val(i), &v) {
			return i
		}
	}
	i := len(r.form.vals)
	r.form.vals, r.before, r.made[k] = append(r.form.vals, v), append(r.before, last), i
	return i
}

// number is a scalar constant.
func (r *rewriter) number(c float64) int {
	return r.emit(val{op: opConst, shape: expr.ScalarShape(), array: data.Scalar(c)})
}

// valKey gathers what is cheap to compare of a value.
type valKey struct {
	op             op
	shape          expr.Shape
	a, b           int
	number         float64
	offset         int
	lower          bool
	transA, transB bool
	length         int
}

func keyOf(v *val) valKey {
	k := valKey{op: v.op, shape: v.shape, a: -1, b: -1, offset: v.offset, lower: v.lower, transA: v.transA,
		transB: v.transB, length: len(v.args) + len(v.index)}
	if len(v.args) > 0 {
		k.a = v.args[0]
	}
	if len(v.args) > 1 {
		k.b = v.args[1]
	}
	if c, ok := v.number(); ok {
		k.number = c
	}
	return k
}

// equalVals compares all but the stage.
func equalVals(u, v *val) bool {
	if u.op != v.op || u.shape != v.shape || u.lower != v.lower || u.offset != v.offset || u.transA != v.transA ||
		u.transB != v.transB || u.symmetric != v.symmetric || u.byRows != v.byRows || u.alpha != v.alpha || u.bias != v.bias ||
		u.loop != v.loop || !slices.Equal(u.args, v.args) || !slices.Equal(u.coef, v.coef) || !slices.Equal(u.index, v.index) {
		return false
	}
	a, ok := u.number()
	b, ok2 := v.number()
	if ok && ok2 {
		return a == b || a != a && b != b
	}
	return u.node == v.node && u.array == v.array
}
