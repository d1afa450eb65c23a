package check

import (
	"fmt"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// param checks `param n: int = 5`. An int param is an atom of symbolic sizes,
// which remembers its default.
func (c *checker) param(e *entry, d *lang.Param) value {
	if d.Type.Kind != lang.KindReal && d.Type.Kind != lang.KindInt {
		c.errorf(c.global, diag.WrongKind, d.Type.Span(), "a param is a scalar, not a %s", d.Type.Kind).Fix =
			fmt.Sprintf("declare it as `data %s: %s`", d.Name.Name, elab.Quote(&d.Type))
		return unknownValue
	}
	if d.Type.Kind == lang.KindReal {
		if d.Default != nil {
			c.fixedScalar(d.Default, "the default of `"+d.Name.Name+"`")
		}
		return value{typ: elab.Real}
	}
	return c.integerSymbol(e, d.Default, "the default of `"+d.Name.Name+"`")
}

// integerSymbol is a declared int: an atom with the default's symbolic value.
func (c *checker) integerSymbol(e *entry, def lang.Expr, what string) value {
	a := c.newAtom(e.symbol.Name, paramAtom)
	if def != nil {
		a.def = c.integer(c.global, def, what)
	}
	return value{typ: elab.Int, size: atomPoly(a)}
}

// fixedScalar checks a number that must be known before solving.
func (c *checker) fixedScalar(e lang.Expr, what string) value {
	v := c.operand(c.global, e)
	switch {
	case isUnknown(v.typ):
	case !elab.IsScalar(v.typ):
		c.errorf(c.global, diag.DeclaredType, e.Span(), "%s is a scalar, but `%s` is %s", what, elab.Quote(e), elab.KindOf(v.typ))
		return unknownValue
	case v.deps != 0:
		c.unfixed(e, v, what)
		return unknownValue
	}
	return v
}

// unfixed reports a value that depends on variables where it must not.
func (c *checker) unfixed(e lang.Expr, v value, what string) {
	d := c.errorf(c.global, diag.NotFixed, e.Span(), "%s depends on %s", what, c.readText(c.global, e, v.deps))
	d.Detail = "it must be known before the model is solved"
	if c.row != "" {
		d.Fix = "leave it out, as -inf or inf, and write a row: `" + c.row + "`"
	}
}

// data checks `data c: vector[n]`, its literal or its generator.
func (c *checker) data(e *entry, d *lang.Data) value {
	c.columns(d)
	if d.Type.Kind == lang.KindText {
		return c.texts(d)
	}
	t := c.written(&d.Type)
	if d.Gen != nil {
		c.generator(d)
	}
	if d.Type.Kind == lang.KindInt {
		return c.integerSymbol(e, d.Value, "the value of `"+d.Name.Name+"`")
	}
	if d.Value == nil {
		return value{typ: t}
	}
	c.fitting(d.Value, t, "the value of `"+d.Name.Name+"`", false)
	return value{typ: t}
}

// fitting checks what is known before solving and has a type, or, where one number may stand
// for all entries, is a scalar.
func (c *checker) fitting(e lang.Expr, t ir.Type, what string, scalar bool) value {
	v := c.operand(c.global, e)
	switch {
	case isUnknown(v.typ) || isUnknown(t):
	case v.deps != 0:
		c.unfixed(e, v, what)
	case !elab.Fits(t, v.typ) && !(scalar && elab.IsScalar(v.typ)):
		c.misfit(e, v.typ, t, what)
	}
	return v
}

func (c *checker) misfit(e lang.Expr, got, want ir.Type, what string) {
	d := c.errorf(c.global, diag.DeclaredType, e.Span(), "%s does not have the declared shape", what)
	d.Detail = fmt.Sprintf("declared %s, given %s", want, got)
	if want.Kind == got.Kind {
		for i := range want.Dims {
			if note := defaultsNote(dim(want, i), dim(got, i)); note != "" {
				d.Detail += " (" + note + ")"
				break
			}
		}
	}
	switch {
	case elab.IsArray(got) && elab.Fits(want, elab.Transposed(got)):
		d.Fix = fmt.Sprintf("did you mean `%s`?", elab.TransposedText(e))
	case elab.IsArray(want) && elab.IsScalar(got):
		d.Fix = "give every entry, or multiply `ones(...)` by the number"
	case want.Kind == ir.MatrixType && got.Kind == ir.VectorType:
		d.Fix = "a matrix is a list of its rows: `[[1, 2], [3, 4]]`"
	}
}

func (c *checker) generator(d *lang.Data) {
	g := d.Gen
	of, fix := familyOf(g.Name.Name, generators)
	if of == nil {
		e := c.errorf(c.global, diag.UnknownGenerator, g.Name.Span(), "there is no generator `%s`", g.Name.Name)
		e.Detail = "data are drawn by `normal(mean, deviation)` or `uniform(low, high)`"
		e.Fix = fix
		return
	}
	if d.Type.Kind == lang.KindInt {
		c.errorf(c.global, diag.WrongKind, d.Type.Span(), "`%s` draws reals, not ints", g.Name.Name).Fix = "declare it as `real`"
		return
	}
	if len(g.Args) != 2 {
		c.errorf(c.global, diag.Arity, g.Span(), "`%s` takes two arguments, but is given %d", g.Name.Name, len(g.Args)).Detail =
			"it is `" + of.Signature + "`"
		return
	}
	var nums [2]*float64
	for i, a := range g.Args {
		nums[i] = c.fixedScalar(a, fmt.Sprintf("the %s of `%s`", of.args[i], g.Name.Name)).num
	}
	switch {
	case g.Name.Name == "normal" && nums[1] != nil && *nums[1] < 0:
		c.errorf(c.global, diag.EmptySet, g.Args[1].Span(), "a deviation cannot be negative")
	case g.Name.Name == "uniform" && nums[0] != nil && nums[1] != nil && *nums[0] > *nums[1]:
		c.errorf(c.global, diag.EmptySet, g.Span(), "the range of `uniform` is empty: its low end is above its high end")
	}
}

// written is the type that a declaration writes, whose number of dimensions the parser has seen to.
func (c *checker) written(t *lang.TypeExpr) ir.Type {
	switch t.Kind {
	case lang.KindText:
		c.errorf(c.global, diag.WrongKind, t.Span(), "texts are data, not variables")
		return elab.Unknown
	case lang.KindBad: // the parser has reported it
		return elab.Unknown
	case lang.KindInt:
		return elab.Int
	}
	return elab.Array(c.sizes(t.Dims)...)
}

// sizes checks written dimensions.
func (c *checker) sizes(written []lang.Expr) []ir.Dim {
	return each.Of(written, func(e lang.Expr) ir.Dim { return c.size(c.global, e) })
}
