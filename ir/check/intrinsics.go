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
	// typ types a call with so many arguments, which are known values.
	typ func(c *checker, s *scope, e *lang.Call, args []value) value
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
	add := func(in intrinsic, arity int, use Builtin) {
		of := intrinsics[use.Name]
		if of == nil {
			of, in.min = &in, arity
			intrinsics[use.Name] = of
		}
		of.min, of.max, of.uses = min(of.min, arity), max(of.max, arity), append(of.uses, use)
	}
	reads, makes := intrinsic{typ: (*checker).structural}, intrinsic{typ: (*checker).structural, sizes: true}
	add(reads, 1, Builtin{"length", "length(v)", "number of entries of a vector, an int", "", true})
	add(reads, 1, Builtin{"rows", "rows(M)", "number of rows of a matrix, an int", "", true})
	add(reads, 1, Builtin{"cols", "cols(M)", "number of columns of a matrix, an int", "", true})
	add(makes, 1, Builtin{"eye", "eye(n)", "identity matrix of n rows and columns", "", true})
	add(makes, 1, Builtin{"ones", "ones(n)", "vector of n ones", "", true})
	add(makes, 2, Builtin{"ones", "ones(m, n)", "m x n matrix of ones", "", true})
	add(makes, 1, Builtin{"zeros", "zeros(n)", "vector of n zeros", "", true})
	add(makes, 2, Builtin{"zeros", "zeros(m, n)", "m x n matrix of zeros", "", true})
	add(reads, 1, Builtin{"diag", "diag(v)", "diagonal matrix with the entries of a vector", "", true})
	add(reads, 1, Builtin{"diag", "diag(M)", "diagonal of a square matrix, a vector", "", true})
	add(reads, 2, builtin(expr.Outer.Info()))
	add(intrinsic{typ: (*checker).dual, sizes: true}, 1,
		Builtin{dualName, "dual(row)", "multipliers of a named constraint of the lower level, for the upper level and the report", "", true})
	of := func(typ func(c *checker, s *scope, e *lang.Call, args []value) value) intrinsic {
		return intrinsic{typ: typ, sizes: true, yields: true}
	}
	add(of((*checker).card), 1, Builtin{"card", "card(S)", "number of elements of an index set, an int", "", true})
	add(of((*checker).ord), 1, Builtin{"ord", "ord(c)", "position of a label in its set, from 1, an int", "", true})
	add(of((*checker).neighbour), 1, Builtin{"next", "next(c)", "label that follows c in its set", "not the last label", true})
	add(of((*checker).neighbour), 1, Builtin{"prev", "prev(c)", "label before c in its set", "not the first label", true})
	for i := range expr.Primitives {
		for arity := 1; arity <= 2; arity++ {
			if p := &expr.Primitives[i]; elab.Primitive(p.Name, arity) == p {
				add(intrinsic{typ: (*checker).primitive}, arity, builtin(p))
			}
		}
	}
}

func builtin(p *expr.Primitive) Builtin {
	return Builtin{Name: p.Name, Signature: p.Signature, Doc: p.Doc, Domain: p.Domain, Smooth: p.Smooth}
}

// primitive types the functions of the table of primitives.
func (c *checker) primitive(s *scope, e *lang.Call, args []value) value {
	p := elab.Primitive(e.Fn.Name, len(args))
	var t ir.Type
	switch p.Class {
	case expr.Elementwise1:
		u := args[0].typ
		t = elab.AsReal(u)
		if elab.IsScalar(u) && args[0].deps == 0 && (p.Op == expr.Floor || p.Op == expr.Sign || p.Op == expr.Abs && u.Kind == ir.IntType) {
			t = elab.Int
		}
	case expr.Elementwise2:
		var fault *elab.Fault
		if t, fault = elab.Combined(e, args[0].typ, args[1].typ); fault != nil {
			return c.fault(s, fault, args...)
		}
	case expr.Reduction:
		t = elab.Real
	}
	v := c.sized(s, e, applied(t, p, site{at: e.Span(), what: p.Name}, args...))
	if p.Class != expr.Elementwise1 || args[0].num == nil {
		return v
	}
	// The text fixes the number that it is a function of.
	u := *args[0].num
	n := p.Eval1(u)
	if p.Inside != nil && !p.Inside(u, 0) || math.IsNaN(n) || math.IsInf(n, 0) {
		d := c.errorf(s, diag.NotReal, e.Span(), "`%s` is not a real number", elab.Quote(e))
		if p.Domain != "" {
			d.Detail = fmt.Sprintf("`%s(u)` needs %s, and u is %v", p.Name, p.Domain, u)
		}
		return unknownOf(args...)
	}
	if v.num = &n; t.Kind == ir.IntType && math.Abs(n) < 1<<53 {
		v.size = constPoly(int64(n))
	}
	return v
}

// structural types a function that reads or makes shapes.
func (c *checker) structural(s *scope, e *lang.Call, args []value) value {
	types := each.Of(args, func(a value) ir.Type { return a.typ })
	t, size, fault := elab.Structural(e, types, func(x lang.Expr) ir.Dim { return c.size(s, x) })
	switch {
	case fault != nil:
		return c.fault(s, fault, args...)
	case size != nil:
		return sizeValue(size.(*poly))
	case e.Fn.Name == expr.Outer.Info().Name:
		return applied(t, expr.Outer.Info(), site{at: e.Span(), what: "*"}, args...)
	}
	return join(t, args...)
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
