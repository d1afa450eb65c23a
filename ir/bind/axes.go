package bind

import (
	"fmt"
	"slices"
	"strconv"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
)

// A dim is one dimension of an array: how many entries it has, and the set that
// it is over, if any.
type dim struct {
	n   int
	set *boundSet
}

// String implements ir.Dim.
func (d dim) String() string { return strconv.Itoa(d.n) }

// Compare implements elab.Size: which sets two dimensions are over is no matter of
// their sizes, and is compared before there are numbers.
func (d dim) Compare(other ir.Dim) elab.Agreement {
	if d.n == other.(dim).n {
		return elab.Agree
	}
	return elab.Differ
}

// Difference implements elab.Size.
func (d dim) Difference(other ir.Dim) string {
	return fmt.Sprintf("; %s and %s are different sizes", d, other)
}

// Plus implements elab.Size.
func (d dim) Plus(other ir.Dim) ir.Dim { return dim{n: d.n + other.(dim).n} }

// Over implements elab.Size.
func (d dim) Over() (set string, labels int) {
	if d.set != nil {
		return d.set.name, len(d.set.partSets())
	}
	return "", 0
}

// arrayOver is the type of an array of the given dimensions.
func arrayOver(dims []dim) ir.Type {
	out := each.Of(dims, func(d dim) ir.Dim { return d })
	return elab.Array(out...)
}

// plain are dimensions of the given sizes, over no sets.
func plain(sizes []int) []dim { return each.Of(sizes, func(n int) dim { return dim{n: n} }) }

// shaped is a number of a type, without its node.
func shaped(t ir.Type, s *space) value { return value{typ: elab.AsReal(t), space: s} }

// dims evaluates the written dimensions of a type.
func (b *binder) dims(t *lang.TypeExpr, name string) ([]dim, bool) {
	out := make([]dim, len(t.Dims))
	for k, d := range t.Dims {
		if s := b.top().setOf(d); s != nil {
			out[k] = dim{s.n, s}
			continue
		}
		n, ok := b.top().size(d, "the size of `"+name+"`")
		if !ok {
			return nil, false
		}
		out[k] = dim{n: n}
	}
	return out, true
}

func sizesOf(dims []dim) []int {
	return each.Of(dims, func(d dim) int { return d.n })
}

// overSets reports dimensions of which some are over sets.
func overSets(dims []dim) bool {
	return slices.ContainsFunc(dims, func(d dim) bool { return d.set != nil })
}

// dims lists the dimensions of a value.
func (v value) dims() []dim {
	return each.Of(v.typ.Dims, func(d ir.Dim) dim { return d.(dim) })
}

// exported are the dimensions as the bound problem keeps them: nil where there
// are no labels and the shape says it all.
func exported(axes []dim) []ir.Axis {
	out := exportedAll(axes)
	if len(axes) > 2 || slices.ContainsFunc(out, func(a ir.Axis) bool { return a.Labels != nil }) {
		return out
	}
	return nil
}

// exportedAll is exported for names: with labels where there are some.
func exportedAll(dims []dim) []ir.Axis {
	return each.Of(dims, func(d dim) ir.Axis {
		if d.set != nil {
			return d.set.axis()
		}
		return ir.Axis{Size: d.n}
	})
}
