package codegen

import (
	"bilevelc/internal/each"
	"slices"
)

// entry is one way to call a program.
type entry uint8

const (
	entryValue entry = iota
	entryGradX
	entryGradY
	entryValueGradY
	entryValueGrad
	entryCount
)

func (e entry) String() string {
	return [...]string{"Value", "GradX", "GradY", "ValueGradY", "ValueGrad"}[e]
}

// returns are the outputs of the entries.
var returns = [entryCount][]target{
	entryValue: {toValue}, entryGradX: {toX}, entryGradY: {toY}, entryValueGradY: {toValue, toY}, entryValueGrad: {toValue, toX, toY},
}

// wants reports whether the entry returns an output.
func (e entry) wants(t target) bool { return slices.Contains(returns[e], t) }

// keep returns the form with the given outputs and only the values that they
// need (dead code goes), stopping at values for which leaf gives a
// replacement without arguments.
func (f *form) keep(outs []output, leaf func(i int) (val, bool)) *form {
	need := make([]bool, len(f.vals))
	replaced := make([]*val, len(f.vals))
	for _, o := range outs {
		need[o.v] = true
	}
	for i := len(f.vals) - 1; i >= 0; i-- {
		if !need[i] {
			continue
		}
		if leaf != nil {
			if v, ok := leaf(i); ok {
				replaced[i] = &v
				continue
			}
		}
		for _, a := range f.vals[i].args {
			need[a] = true
		}
	}
	kept := 0
	for _, is := range need {
		if is {
			kept++
		}
	}
	g := &form{dx: f.dx, dy: f.dy, builder: f.builder, vals: make([]val, 0, kept)}
	at := make([]int, len(f.vals))
	for i := range f.vals {
		if !need[i] {
			continue
		}
		v := f.vals[i]
		if replaced[i] != nil {
			v = *replaced[i]
		}
		v.args = mapped(v.args, at)
		at[i] = len(g.vals)
		g.vals = append(g.vals, v)
	}
	for _, o := range outs {
		o.v = at[o.v]
		g.outs = append(g.outs, o)
	}
	return g
}

// boundary lists the values of a stage that later ones or outputs read, as outputs of target
// toHeld, with the slot of each.
func (f *form) boundary(s stage) (held []output, slot map[int]int) {
	slot = map[int]int{}
	need := func(i int) {
		v := &f.vals[i]
		if _, known := slot[i]; !known && v.stage == s && v.op != opVar && v.op != opConst {
			slot[i] = len(held)
			held = append(held, output{toHeld, len(held), i})
		}
	}
	for i := range f.vals {
		if f.vals[i].stage > s {
			for _, a := range f.vals[i].args {
				need(a)
			}
		}
	}
	for _, o := range f.outs {
		need(o.v)
	}
	return held, slot
}

// split separates the stages: hold computes, as outputs of target toHeld, all
// values of the x stage that later work reads; the returned forms compute the
// outputs of each entry from them.
func (f *form) split() (hold *form, entries [entryCount]*form) {
	held, slot := f.boundary(xStage)
	hold = f.keep(held, nil)
	for e := range entryCount {
		outs := each.Where(f.outs, func(o output) bool { return e.wants(o.to) })
		entries[e] = f.keep(outs, func(i int) (val, bool) {
			s, ok := slot[i]
			return val{op: opHeld, shape: f.vals[i].shape, stage: xStage, offset: s}, ok
		})
	}
	return hold, entries
}
