package check

import (
	"fmt"
	"math"
	"sort"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// An intrinsic is a function that the language itself provides: the
// elementwise functions and reductions of the expression graph's table of
// primitives, typed here by their class, and the structural functions, which
// read or make shapes.
type intrinsic struct {
	min, max int // number of arguments
	// typ types a structural function; ok is false after a reported error. nil for
	// primitives.
	typ func(c *checker, s *scope, e *lang.Call, args []value) (v value, ok bool)
	// sizes says that the arguments are sizes or names, which typ checks itself.
	sizes bool
	// yields says that a name of the model goes before this one.
	yields bool
	// uses holds what help says, one for each form.
	uses []Builtin
}

// Builtin describes one form of a function that the language itself
// provides, for help and completion.
type Builtin struct {
	Name      string
	Signature string // as a user writes it
	Doc       string
	Domain    string // where it is defined; "" is everywhere
	Smooth    bool   // may be applied to variables in an objective
}

// Builtins lists the functions of the language itself in order of name.
func Builtins() []Builtin {
	var out []Builtin
	for _, in := range intrinsics {
		out = append(out, in.uses...)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return a.Name < b.Name || a.Name == b.Name && a.Signature < b.Signature
	})
	return out
}

// intrinsics is fixed at start (by init, for its functions lead back to it).
var intrinsics = map[string]*intrinsic{}

func init() {
	structural := func(in intrinsic, uses ...Builtin) {
		in.uses = uses
		intrinsics[uses[0].Name] = &in
	}
	structural(intrinsic{min: 1, max: 1, typ: typeStructural},
		Builtin{"length", "length(v)", "number of entries of a vector, an int", "", true})
	structural(intrinsic{min: 1, max: 1, typ: typeStructural},
		Builtin{"rows", "rows(M)", "number of rows of a matrix, an int", "", true})
	structural(intrinsic{min: 1, max: 1, typ: typeStructural},
		Builtin{"cols", "cols(M)", "number of columns of a matrix, an int", "", true})
	structural(intrinsic{min: 1, max: 1, typ: typeStructural, sizes: true},
		Builtin{"eye", "eye(n)", "identity matrix of n rows and columns", "", true})
	structural(intrinsic{min: 1, max: 2, typ: typeStructural, sizes: true},
		Builtin{"ones", "ones(n)", "vector of n ones", "", true},
		Builtin{"ones", "ones(m, n)", "m x n matrix of ones", "", true})
	structural(intrinsic{min: 1, max: 2, typ: typeStructural, sizes: true},
		Builtin{"zeros", "zeros(n)", "vector of n zeros", "", true},
		Builtin{"zeros", "zeros(m, n)", "m x n matrix of zeros", "", true})
	structural(intrinsic{min: 1, max: 1, typ: typeStructural},
		Builtin{"diag", "diag(v)", "diagonal matrix with the entries of a vector", "", true},
		Builtin{"diag", "diag(M)", "diagonal of a square matrix, a vector", "", true})
	structural(intrinsic{min: 2, max: 2, typ: typeStructural},
		builtin(expr.Outer.Info()))
	structural(intrinsic{min: 1, max: 1, typ: typeDual, sizes: true},
		Builtin{dualName, "dual(row)", "multipliers of a named constraint of the lower level, for the upper level and the report", "", true})
	structural(intrinsic{min: 1, max: 1, typ: typeCard, sizes: true, yields: true},
		Builtin{"card", "card(S)", "number of elements of an index set, an int", "", true})
	structural(intrinsic{min: 1, max: 1, typ: typeOrd, sizes: true, yields: true},
		Builtin{"ord", "ord(c)", "position of a label in its set, from 1, an int", "", true})
	structural(intrinsic{min: 1, max: 1, typ: typeNext, sizes: true, yields: true},
		Builtin{"next", "next(c)", "label that follows c in its set", "not the last label", true})
	structural(intrinsic{min: 1, max: 1, typ: typeNext, sizes: true, yields: true},
		Builtin{"prev", "prev(c)", "label before c in its set", "not the first label", true})
	for i := range expr.Primitives {
		p := &expr.Primitives[i]
		for arity := 1; arity <= 2; arity++ {
			if elab.Primitive(p.Name, arity) != p {
				continue
			}
			in := intrinsics[p.Name]
			if in == nil {
				in = &intrinsic{min: arity, max: arity}
				intrinsics[p.Name] = in
			}
			in.min, in.max = min(in.min, arity), max(in.max, arity)
			in.uses = append(in.uses, builtin(p))
		}
	}
}

func builtin(p *expr.Primitive) Builtin {
	return Builtin{Name: p.Name, Signature: p.Signature, Doc: p.Doc, Domain: p.Domain, Smooth: p.Smooth}
}

// apply checks a call of an intrinsic with the right number of arguments.
func (c *checker) apply(s *scope, e *lang.Call, in *intrinsic, args []value) value {
	var v value
	var ok bool
	if in.typ != nil {
		v, ok = in.typ(c, s, e, args)
	} else {
		v, ok = c.numericCall(s, e, elab.Primitive(e.Fn.Name, len(args)), args)
	}
	if !ok {
		return unknownOf(args...)
	}
	return v
}

// numericCall types the functions of the table of primitives.
func (c *checker) numericCall(s *scope, e *lang.Call, p *expr.Primitive, args []value) (value, bool) {
	var t ir.Type
	switch p.Class {
	case expr.Elementwise1:
		t = elab.AsReal(args[0].typ)
		if elab.IsScalar(t) && args[0].deps == 0 && wholeNumber(p.Op, args[0].typ) {
			t = elab.Int
		}
	case expr.Elementwise2:
		var fault *elab.Fault
		if t, fault = elab.Combined(e, args[0].typ, args[1].typ); fault != nil {
			return c.faulty(s, fault)
		}
	case expr.Reduction:
		t = elab.Real
	}
	v := applied(t, p, site{at: e.Span(), what: p.Name}, args...)
	if t.Kind == ir.IntType {
		v.size = c.opaque(s, e.Span()) // inDomain knows better where it is a number
	}
	return v, c.inDomain(s, e, p, args, &v)
}

// inDomain evaluates a function of one number that the text fixes, and
// reports one outside its domain.
func (c *checker) inDomain(s *scope, e *lang.Call, p *expr.Primitive, args []value, v *value) bool {
	if p.Class != expr.Elementwise1 || args[0].num == nil {
		return true
	}
	u := *args[0].num
	n := p.Eval1(u)
	if p.Inside != nil && !p.Inside(u, 0) || math.IsNaN(n) || math.IsInf(n, 0) {
		d := c.errorf(s, diag.NotReal, e.Span(), "`%s` is not a real number", elab.Quote(e))
		if p.Domain != "" {
			d.Detail = fmt.Sprintf("`%s(u)` needs %s, and u is %v", p.Name, p.Domain, u)
		}
		return false
	}
	v.num = &n
	if v.typ.Kind == ir.IntType && math.Abs(n) < 1<<53 {
		v.size = constPoly(int64(n))
	}
	return true
}

// wholeNumber reports whether an elementwise function of a scalar of type t
// is an int.
func wholeNumber(op expr.Op, t ir.Type) bool {
	return op == expr.Floor || op == expr.Sign || op == expr.Abs && t.Kind == ir.IntType
}

// faulty reports what is wrong with a call.
func (c *checker) faulty(s *scope, f *elab.Fault) (value, bool) {
	c.fault(s, f)
	return value{}, false
}

// typeStructural types a function that reads or makes shapes.
func typeStructural(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	types := each.Of(args, func(a value) ir.Type { return a.typ })
	t, size, fault := elab.Structural(e, types, func(x lang.Expr) ir.Dim { return c.size(s, x) })
	switch {
	case fault != nil:
		return c.faulty(s, fault)
	case size != nil:
		return sizeValue(size.(*poly)), true
	}
	if e.Fn.Name == expr.Outer.Info().Name {
		return applied(t, expr.Outer.Info(), site{at: e.Span(), what: "*"}, args...), true
	}
	return join(t, args...), true
}

// sizeValue is an int that is known before solving.
func sizeValue(p *poly) value {
	v := value{typ: elab.Int, size: p}
	if r, ok := p.constant(); ok {
		n, _ := r.Float64()
		v.num = &n
	}
	return v
}
