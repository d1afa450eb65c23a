package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/stdlib"
)

// call checks f(a, b). A model's own function goes before a primitive or
// library function of that name; a value does not hide a library function, for
// only functions are called. Inside the library, only the library and the
// primitives are seen.
func (c *checker) call(s *scope, e *lang.Call) value {
	name := e.Fn.Name
	if entry := c.symbols[name]; entry != nil && !s.library() {
		if fn, ok := entry.symbol.Decl.(*lang.Fn); ok {
			entry.used = true
			return c.invoke(s, fn, false, e, c.passed(s, e))
		}
		if c.program.Library[name] == nil {
			return c.notFunction(s, e, entry)
		}
	}
	if in := intrinsics[name]; in != nil {
		if !c.arity(s, e, in.min, in.max, in.uses[0].Signature) {
			if name == "sum" && len(e.Args) > 0 { // the others are no values, as in sum(A, rows)
				c.operand(s, e.Args[0])
				return unknownValue
			}
			c.arguments(s, e)
			return unknownValue
		}
		if in.sizes {
			return in.typ(c, s, e, nil)
		}
		args := c.arguments(s, e)
		if slices.ContainsFunc(args, value.unknown) {
			return unknownOf(args...)
		}
		return in.typ(c, s, e, args)
	}
	if slices.Contains(multiplierWords, name) {
		c.errorf(s, diag.UnknownFunction, e.Fn.Span(), "there is no function `%s`", name).Fix =
			"write `dual(NAME)` for the multiplier of a named constraint of the lower level"
		return unknownValue
	}
	args := c.arguments(s, e)
	if fn := c.program.Library[name]; fn != nil {
		return c.invoke(s, fn, true, e, args)
	}
	d := c.errorf(s, diag.UnknownFunction, e.Fn.Span(), "there is no function `%s`", name)
	if w := elsewhere[name]; w != "" {
		d.Fix = w
	} else if near := c.nearest(name, c.functionNames); near != "" {
		d.Fix = "did you mean `" + near + "`?"
	}
	return unknownValue
}

// elsewhere says how the language writes what other languages call.
var elsewhere = map[string]string{
	"transpose": "write `A'` for the transpose of A",
	"inv":       "there is no inverse; state `M * z == v` as a constraint on a variable z",
	"norm":      "write `norm2(v)` for the length of v, `sumsq(v)` for its square",
	"pow":       "write `u ^ v` for scalars, `u .^ v` entry by entry",
	"power":     "write `u ^ v` for scalars, `u .^ v` entry by entry",
	"sqr":       "write `square(u)`, entry by entry, or `u ^ 2`; `sumsq(v)` is the sum of squares",
	"ln":        "write `log(u)`",
	"len":       "write `length(v)`, `rows(A)` or `cols(A)`",
	"size":      "write `length(v)`, `rows(A)` or `cols(A)`",
	"inner":     "write `u' * v` or `dot(u, v)`",
	"relu":      "write `softplus(u)`, its smooth stand-in",
}

// multiplierWords are what others call `dual`.
var multiplierWords = []string{"multiplier", "multipliers", "lambda", "shadow", "shadowprice", "shadow_price", "marginal"}

// arguments checks the arguments of a call.
func (c *checker) arguments(s *scope, e *lang.Call) []value {
	return each.Of(e.Args, func(a lang.Expr) value { return c.operand(s, a) })
}

// passed checks the arguments of a call of a function written in the
// language, which may be labels.
func (c *checker) passed(s *scope, e *lang.Call) []value {
	args := make([]value, len(e.Args))
	for i, a := range e.Args {
		if args[i] = c.expr(s, a); args[i].typ.Kind != ir.LabelType || args[i].set == nil && !args[i].text {
			args[i] = c.numeric(s, a, args[i])
		}
	}
	return args
}

func (c *checker) arity(s *scope, e *lang.Call, least, most int, signature string) bool {
	n := len(e.Args)
	if n >= least && n <= most {
		return true
	}
	want := fmt.Sprint(least)
	if most > least {
		want = fmt.Sprintf("%d or %d", least, most)
	}
	d := c.errorf(s, diag.Arity, e.Span(), "`%s` takes %s argument%s, but is given %d", e.Fn.Name, want, diag.Plural(most), n)
	d.Detail = "it is `" + signature + "`"
	if name := e.Fn.Name; n > most && (name == "max" || name == "min") {
		d.Fix = "write `" + name + "([a, b, c])`, which takes any number"
	} else if n > most && name == "sum" {
		d.Fix = "write `rowsums(A)` for the sum of each row, `colsums(A)` for that of each column"
	}
	return false
}

// notFunction reports a call of something that has a value.
func (c *checker) notFunction(s *scope, e *lang.Call, entry *entry) value {
	entry.used = true
	v := c.resolve(entry)
	at, parts, ends := e.Fn.Span(), make([]string, len(e.Args)), false
	for i, a := range e.Args {
		parts[i] = elab.Quote(a)
		if end := c.endName(s, a); end != nil && i < len(v.typ.Dims) {
			at, parts[i], ends = e.Span(), c.withoutEnd(a, v.typ.Dims[i]), true
		} else {
			c.operand(s, a)
		}
	}
	d := c.errorf(s, diag.FunctionValue, at, "`%s` is not a function", e.Fn.Name)
	d.Related = append(d.Related, diag.Related{Span: entry.name.Span(), Message: "it is declared here"})
	switch args := strings.Join(parts, ", "); {
	case ends && slices.Contains(parts, ""):
		d.Fix = "an entry is written in square brackets, with the number or the label of the last one"
	case len(parts) == len(v.typ.Dims) && len(parts) > 0:
		d.Fix = fmt.Sprintf("did you mean `%s[%s]`?", e.Fn.Name, args)
	case len(parts) == 1:
		d.Fix = fmt.Sprintf("did you mean `%s * (%s)`?", e.Fn.Name, args)
	}
	return unknownValue
}

// endName is where an expression reads `end` without a declaration, which is the last index to MATLAB and Julia; nil
// where it does not.
func (c *checker) endName(s *scope, x lang.Expr) *lang.Name {
	return lang.FindName(x, func(n *lang.Name, _ *lang.Scope) bool {
		return n.Name == "end" && !s.local(n.Name) && c.symbols[n.Name] == nil
	})
}

// withoutEnd is the text of a subscript with the size of its dimension in the place of `end`; "" where its entries are
// not counted from 1.
func (c *checker) withoutEnd(x lang.Expr, d ir.Dim) string {
	size := d.(*poly)
	if size == nil || !places(size) || setOf(size) != nil {
		return ""
	}
	out := lang.Rewrite(x, nil, func(x lang.Expr, _ *lang.Scope) lang.Expr {
		if n, ok := x.(*lang.Name); ok && n.Name == "end" {
			text := size.String()
			if len(size.terms) > 1 {
				text = "(" + text + ")"
			}
			return &lang.Name{At: n.At, Name: text}
		}
		return nil
	})
	return lang.FormatExpr(out)
}

// functionNames lists every function that a call could mean.
func (c *checker) functionNames() []string {
	out := slices.AppendSeq(slices.Collect(maps.Keys(intrinsics)), maps.Keys(c.program.Library))
	out = append(out, c.declared(func(k ir.SymbolKind) bool { return k == ir.FnSymbol })...)
	slices.Sort(out)
	return out
}

// function checks a function of the model on its own, with what its
// parameters say of their types; a parameter without a type is unknown, so
// that names and what does not hang on it are still checked.
func (c *checker) function(fn *lang.Fn) {
	in := c.child(c.global)
	in.frame = &frame{fn: fn}
	declared := map[string]bool{}
	for i := range fn.Params {
		p := &fn.Params[i]
		if declared[p.Name.Name] {
			c.errorf(in, diag.DeclaredTwice, p.Name.Span(), "the parameter `%s` is declared twice", p.Name.Name)
		}
		declared[p.Name.Name] = true
		if p.Type != nil && p.Type.Kind == lang.KindInt { // sizes of others may use it
			in.names[p.Name.Name] = c.parameter(in, p)
		}
	}
	for i := range fn.Params {
		if p := &fn.Params[i]; p.Type == nil || p.Type.Kind != lang.KindInt {
			in.names[p.Name.Name] = c.parameter(in, p)
		}
	}
	c.body(in, fn)
	if in.frame.failed {
		c.failed[fn] = true
	}
}

// parameter is a parameter of which only the declaration is known: its
// missing sizes are its own.
func (c *checker) parameter(s *scope, p *lang.FnParam) value {
	if p.Type == nil {
		return unknownValue
	}
	if p.Type.Kind == lang.KindInt {
		return value{typ: elab.Int, size: atomPoly(c.newAtom(p.Name.Name, opaqueAtom))}
	}
	var dims []ir.Dim
	for i, word := range map[lang.TypeKind][]string{lang.KindVector: {"length"}, lang.KindMatrix: {"rows", "cols"}}[p.Type.Kind] {
		if i < len(p.Type.Dims) {
			dims = append(dims, c.parameterSize(s, p.Type.Dims[i]))
		} else {
			dims = append(dims, atomPoly(c.newAtom(word+"("+p.Name.Name+")", opaqueAtom)))
		}
	}
	return value{typ: elab.Array(dims...)}
}

// parameterSize is a size written in a parameter's type where the function is
// checked on its own: a name that the model does not declare is the
// function's own size.
func (c *checker) parameterSize(s *scope, e lang.Expr) *poly {
	name, own := elab.OwnSize(c.program, e, s.local, s.library())
	if !own {
		return c.size(s, e)
	}
	p := atomPoly(c.newAtom(name, opaqueAtom))
	s.names[name] = value{typ: elab.Int, size: p}
	return p
}

// body checks a function's body in a scope that holds its parameters, and
// returns its value, whose sites lie in the body.
func (c *checker) body(in *scope, fn *lang.Fn) value {
	c.active[fn] = true
	v := c.operand(in, fn.Body)
	delete(c.active, fn)
	if !isUnknown(v.typ) {
		if f := elab.Result(fn, v.typ, sizesIn{c, in}); f != nil {
			c.fault(in, f)
		}
	}
	return v
}

// sizesIn are the sizes of a function's types, in the scope of its body.
type sizesIn struct {
	c  *checker
	in *scope
}

// Own implements elab.Sizes.
func (s sizesIn) Own(x lang.Expr, n ir.Dim) bool {
	name, own := elab.OwnSize(s.c.program, x, s.in.local, s.in.library())
	if own {
		s.in.names[name] = value{typ: elab.Int, size: n.(*poly)}
	}
	return own
}

// Written implements elab.Sizes.
func (s sizesIn) Written(x lang.Expr) ir.Dim {
	if p := s.c.integer(s.in, x, "a size"); p != nil {
		return p
	}
	return nil
}

// invoke checks a call of a function of the model or of the library.
func (c *checker) invoke(s *scope, fn *lang.Fn, library bool, e *lang.Call, args []value) value {
	if !c.arity(s, e, len(fn.Params), len(fn.Params), stdlib.Signature(fn)) {
		return unknownOf(args...)
	}
	if c.active[fn] {
		c.errorf(s, diag.Recursion, e.Span(), "`%s` calls itself", fn.Name.Name).Detail =
			"functions are expanded where they are called, so they cannot be recursive"
		return unknownOf(args...)
	}
	if slices.ContainsFunc(args, value.unknown) || c.failed[fn] {
		return unknownOf(args...)
	}
	in := c.child(&scope{})
	in.frame = &frame{fn: fn, library: library, call: e.Span(), caller: s.frame}
	for i := range fn.Params {
		a := args[i]
		a.curving, a.kinks = nil, nil // they stay with the caller
		in.names[fn.Params[i].Name.Name] = a
	}
	for i := range fn.Params {
		if f := elab.Parameter(e, fn, i, args[i].typ, sizesIn{c, in}); f != nil {
			return c.fault(s, f, args...)
		}
	}
	key := memoKey(fn, args)
	raw, known := c.memo[key]
	if !known {
		raw = c.body(in, fn)
		if in.frame.failed {
			raw = unknownOf(raw)
		}
		// A library function that fails is checked at every call, for each
		// such call is an error of its own.
		if !in.frame.failed || !library {
			c.memo[key] = raw
		}
	}
	return c.returned(raw, in.frame, args)
}

// returned is the value of a call: the body's, with its sites as the caller
// should see them, and those of the arguments.
func (c *checker) returned(raw value, f *frame, args []value) value {
	v := raw
	v.curving, v.kinks = outside(raw.curving, f), outside(raw.kinks, f)
	if isUnknown(v.typ) {
		return unknownOf(append([]value{v}, args...)...)
	}
	if v.deps == 0 {
		v.curving, v.kinks = nil, nil
		return v
	}
	for _, a := range args {
		if v.degree == curved {
			v.curving = merge(v.curving, a.curving)
		}
		v.kinks = merge(v.kinks, a.kinks)
	}
	return v
}

// outside turns sites of a body into what the caller is told: for a library
// function the call itself, for others the place in the body and the call.
func outside(sites []site, f *frame) []site {
	if len(sites) == 0 {
		return nil
	}
	if f.library {
		return []site{{at: f.call, what: f.fn.Name.Name}}
	}
	return each.Of(sites, func(s site) site {
		related := append([]diag.Related(nil), s.related...)
		s.related = append(related, diag.Related{Span: f.call, Message: fmt.Sprintf("in this call of `%s`", f.fn.Name.Name)})
		return s
	})
}

// memoKey identifies calls that give the same value: what a body's check may
// use of its arguments.
func memoKey(fn *lang.Fn, args []value) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%p", fn)
	for _, a := range args {
		fmt.Fprintf(&b, "|%d %d %d", a.typ.Kind, a.deps, a.degree)
		for _, d := range a.typ.Dims {
			b.WriteString("," + d.(*poly).key())
		}
		if a.size != nil {
			b.WriteString(" s" + a.size.key())
		}
		if a.num != nil {
			fmt.Fprintf(&b, " n%v", *a.num)
		}
		if a.set != nil {
			b.WriteString(" in " + a.set.name)
		}
	}
	return b.String()
}
