package check

import (
	"fmt"
	"math"
	"sort"

	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
)

// An intrinsic is a function that the language itself provides: the
// elementwise functions and reductions of the expression graph's table of
// primitives, typed here by their class, and the structural functions below.
type intrinsic struct {
	name     string
	min, max int // number of arguments
	// typ is the result's type; ok is false after a reported error.
	typ func(c *checker, s *scope, e *lang.Call, args []value) (v value, ok bool)
	ops map[int]*expr.Primitive // by number of arguments; nil for structural ones
	// sizes says that the arguments are sizes, which typ checks itself.
	sizes bool
}

// intrinsics is fixed at start (by init, for its functions lead back to it).
var intrinsics = map[string]*intrinsic{}

func init() {
	structural := map[string]*intrinsic{
		"length": {min: 1, max: 1, typ: typeLength},
		"rows":   {min: 1, max: 1, typ: typeRows},
		"cols":   {min: 1, max: 1, typ: typeCols},
		"eye":    {min: 1, max: 1, typ: typeEye, sizes: true},
		"ones":   {min: 1, max: 2, typ: typeFilled, sizes: true},
		"zeros":  {min: 1, max: 2, typ: typeFilled, sizes: true},
		"diag":   {min: 1, max: 1, typ: typeDiag},
		"outer":  {min: 2, max: 2, typ: typeOuter},
	}
	for name, in := range structural {
		in.name = name
		intrinsics[name] = in
	}
	for i := range expr.Primitives {
		p := &expr.Primitives[i]
		arity := map[expr.Class]int{expr.Elementwise1: 1, expr.Elementwise2: 2, expr.Reduction: 1}[p.Class]
		if p.Name == "" || arity == 0 {
			continue
		}
		in := intrinsics[p.Name]
		if in == nil {
			in = &intrinsic{name: p.Name, min: arity, max: arity, typ: typeNumeric, ops: map[int]*expr.Primitive{}}
			intrinsics[p.Name] = in
		}
		in.min, in.max = min(in.min, arity), max(in.max, arity)
		in.ops[arity] = p
	}
}

// isPrimitive reports whether a name belongs to the language itself.
func isPrimitive(name string) bool { return intrinsics[name] != nil }

// Primitives lists the functions that the language itself provides, in order
// of name.
func Primitives() []string {
	out := make([]string, 0, len(intrinsics))
	for name := range intrinsics {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// apply checks a call of an intrinsic with the right number of arguments.
func (c *checker) apply(s *scope, e *lang.Call, in *intrinsic, args []value) value {
	v, ok := in.typ(c, s, e, args)
	if !ok {
		return unknownValue
	}
	return v
}

// typeNumeric types the functions of the table of primitives.
func typeNumeric(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	p := intrinsics[e.Fn.Name].ops[len(args)]
	var t ir.Type
	switch p.Class {
	case expr.Elementwise1:
		t = real2(args[0].typ)
		if isScalar(t) && args[0].deps == 0 && wholeNumber(p.Op, args[0].typ) {
			t = intType
		}
	case expr.Elementwise2:
		var problem string
		if t, problem = broadcast(args[0].typ, args[1].typ); problem != "" {
			c.errorf(s, codeElementwise, e.Span(), "the arguments of `%s` have different shapes", p.Name).Detail =
				sizeOf(e.Args[0], args[0].typ) + ", " + sizeOf(e.Args[1], args[1].typ) + problem
			return value{}, false
		}
	case expr.Reduction:
		t = realType
	}
	v := join(t, args...)
	if t.Kind == ir.IntType {
		v.size = c.opaque(s, e.Span()) // inDomain knows better where it is a number
	}
	if p.Class != expr.Reduction || p.Op != expr.Sum {
		v = v.bend(site{at: e.Span(), what: p.Name})
	}
	if !p.Smooth && v.deps != 0 {
		v.kinks = merge(v.kinks, []site{{at: e.Span(), what: p.Name}})
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
		d := c.errorf(s, codeUndefined, e.Span(), "`%s` is not a real number", quote(e))
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

// argument reports an argument of the wrong kind.
func (c *checker) argument(s *scope, e *lang.Call, i int, v value, want string) (value, bool) {
	c.errorf(s, codeArgument, e.Args[i].Span(), "`%s` takes %s, but `%s` is %s", e.Fn.Name, want, quote(e.Args[i]), kindOf(v.typ))
	return value{}, false
}

func typeLength(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	t := args[0].typ
	if t.Kind != ir.VectorType && t.Kind != ir.RowVectorType {
		return c.argument(s, e, 0, args[0], "a vector")
	}
	return sizeValue(dim(t, 0)), true
}

func typeRows(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	if args[0].typ.Kind != ir.MatrixType {
		return c.argument(s, e, 0, args[0], "a matrix")
	}
	return sizeValue(dim(args[0].typ, 0)), true
}

func typeCols(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	if args[0].typ.Kind != ir.MatrixType {
		return c.argument(s, e, 0, args[0], "a matrix")
	}
	return sizeValue(dim(args[0].typ, 1)), true
}

// sizeValue is an int that is known before solving.
func sizeValue(p *poly) value {
	v := value{typ: intType, size: p}
	if r, ok := p.constant(); ok {
		n, _ := r.Float64()
		v.num = &n
	}
	return v
}

func typeEye(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	n := c.size(s, e.Args[0])
	return value{typ: matrixType(n, n)}, true
}

func typeFilled(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	m := c.size(s, e.Args[0])
	if len(e.Args) == 1 {
		return value{typ: vectorType(m)}, true
	}
	return value{typ: matrixType(m, c.size(s, e.Args[1]))}, true
}

// typeDiag types diag(v), the diagonal matrix, and diag(A), the diagonal.
func typeDiag(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	t := args[0].typ
	switch t.Kind {
	case ir.VectorType:
		return join(matrixType(dim(t, 0), dim(t, 0)), args...), true
	case ir.MatrixType:
		if compare(dim(t, 0), dim(t, 1)) == differ {
			c.errorf(s, codeArgument, e.Args[0].Span(), "`diag` of a matrix takes a square one").Detail = sizeOf(e.Args[0], t)
			return value{}, false
		}
		return join(vectorType(dim(t, 0)), args...), true
	}
	return c.argument(s, e, 0, args[0], "a vector or a square matrix")
}

func typeOuter(c *checker, s *scope, e *lang.Call, args []value) (value, bool) {
	for i, v := range args {
		if v.typ.Kind != ir.VectorType {
			return c.argument(s, e, i, v, "two vectors")
		}
	}
	v := join(matrixType(dim(args[0].typ, 0), dim(args[1].typ, 0)), args...)
	if args[0].deps != 0 && args[1].deps != 0 {
		v = v.bend(site{at: e.Span(), what: "*"})
	}
	return v, true
}
