package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/ir/data"
)

// Class groups operations by what their arguments and results are.
type Class uint8

// The classes.
const (
	Leaf         Class = iota // no arguments
	Elementwise1              // f(u) entry by entry
	Elementwise2              // f(u, v) entry by entry, a scalar broadcasts
	Reduction                 // all entries to a scalar
	Product                   // linear-algebra products
	Structural                // moves entries
)

// Primitive describes one operation: everything that help, checks, evaluation
// and run-time messages say about it comes from here. A smooth function of one
// argument that is defined everywhere is its constant in expr.go and its row
// here, and nothing else: gradients, proofs, compiled programs and Go source
// range over the rows, and so do the tests. What other operations need beside
// their row are rules in tables that Require holds to this one.
type Primitive struct {
	Op        Op
	Name      string // the function's name in the language, or "" where it is written as an operator
	Symbol    string // in messages and dumps
	Class     Class
	Signature string // as a user writes it
	Doc       string
	Domain    string // where it is defined; "" is everywhere
	Smooth    bool   // continuously differentiable in the interior of its domain
	Kinked    bool   // piecewise linear and continuous: rows restate it
	Linear    bool   // in all its arguments together: it is neither curved in nor couples what it adds up
	Bilinear  bool   // its entries are sums of products of an entry of each of its two arguments (see Terms)

	// The value, by class.
	Eval1 func(u float64) float64                       // Elementwise1
	Eval2 func(u, v float64) float64                    // Elementwise2
	Fold  func(u []float64) float64                     // Reduction, of at least one entry
	Apply func(n *Node, args []*data.Array) *data.Array // Product, Structural
	// Inside reports whether the operation is defined at u (and v). nil:
	// everywhere.
	Inside func(u, v float64) bool

	// Of smooth functions of one argument:

	// Slope is the derivative at u, where the value is z.
	Slope func(a Algebra, u, z Term) Term
	// Go is the value in Go, with %s for the argument. It imports math, or
	// kernel of package codegen, and rounds as Eval1 does.
	Go string
	// Increasing: strictly, wherever it is defined.
	Increasing bool
	// Curves are the value and two derivatives for proofs. nil: package
	// curvature has a rule of its own, as for poles and periods.
	Curves *Curves
}

// Primitives is the table of all operations, indexed by Op.
var Primitives = [...]Primitive{
	Const: {Symbol: "const", Class: Leaf, Smooth: true, Doc: "data, a literal, or a number"},
	Var:   {Symbol: "var", Class: Leaf, Smooth: true, Doc: "a declared variable"},

	Neg: {Linear: true, Symbol: "-", Class: Elementwise1, Smooth: true, Signature: "-u", Doc: "negation",
		Eval1: func(u float64) float64 { return -u }, Go: "-%s",
		Slope: func(a Algebra, _, _ Term) Term { return a.Number(-1) }},
	Exp: {Name: "exp", Symbol: "exp", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "exp(u)",
		Doc: "exponential, entry by entry", Eval1: math.Exp, Go: "math.Exp(%s)",
		Slope: func(_ Algebra, _, z Term) Term { return z }},
	Log: {Name: "log", Symbol: "log", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "log(u)",
		Doc: "natural logarithm, entry by entry", Domain: "u > 0", Eval1: math.Log,
		Inside: func(u, _ float64) bool { return u > 0 }, Go: "math.Log(%s)",
		Slope: func(a Algebra, u, _ Term) Term { return a.Div(a.Number(1), u) }},
	Sqrt: {Name: "sqrt", Symbol: "sqrt", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "sqrt(u)",
		Doc: "square root, entry by entry; differentiable where u > 0", Domain: "u >= 0", Eval1: math.Sqrt,
		Inside: func(u, _ float64) bool { return u >= 0 }, Go: "math.Sqrt(%s)",
		Slope: func(a Algebra, _, z Term) Term { return a.Div(a.Number(0.5), z) }},
	Tanh: {Name: "tanh", Symbol: "tanh", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "tanh(u)",
		Doc: "hyperbolic tangent, entry by entry", Eval1: math.Tanh, Go: "math.Tanh(%s)", Curves: tanhCurves,
		Slope: func(a Algebra, _, z Term) Term { return a.Sub(a.Number(1), a.Mul(z, z)) }},
	Sin: {Name: "sin", Symbol: "sin", Class: Elementwise1, Smooth: true, Signature: "sin(u)",
		Doc: "sine of radians, entry by entry", Eval1: math.Sin, Go: "math.Sin(%s)",
		Slope: func(a Algebra, u, _ Term) Term { return a.Apply(Cos, u) }},
	Cos: {Name: "cos", Symbol: "cos", Class: Elementwise1, Smooth: true, Signature: "cos(u)",
		Doc: "cosine of radians, entry by entry", Eval1: math.Cos, Go: "math.Cos(%s)",
		Slope: func(a Algebra, u, _ Term) Term { return a.Apply(Neg, a.Apply(Sin, u)) }},
	Log1pExp: {Name: "log1pexp", Symbol: "log1pexp", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "log1pexp(u)",
		Doc: "log(1 + exp(u)), entry by entry, without overflow", Eval1: log1pExp, Go: "kernel.Log1pExpOf(%s)", Curves: log1pExpCurves,
		Slope: func(a Algebra, u, _ Term) Term { return a.Apply(Sigmoid, u) }},
	Sigmoid: {Name: "sigmoid", Symbol: "sigmoid", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "sigmoid(u)",
		Doc: "1 / (1 + exp(-u)), entry by entry, without overflow", Eval1: sigmoid, Go: "kernel.SigmoidOf(%s)", Curves: sigmoidCurves,
		Slope: func(a Algebra, _, z Term) Term { return a.Sub(z, a.Mul(z, z)) }},
	Atan: {Name: "atan", Symbol: "atan", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "atan(u)",
		Doc: "inverse tangent in radians, entry by entry", Eval1: math.Atan, Go: "math.Atan(%s)", Curves: atanCurves,
		Slope: func(a Algebra, u, _ Term) Term { return a.Div(a.Number(1), a.Add(a.Number(1), a.Mul(u, u))) }},
	Erf: {Name: "erf", Symbol: "erf", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "erf(u)",
		Doc: "error function, entry by entry", Eval1: math.Erf, Go: "math.Erf(%s)", Curves: erfCurves,
		Slope: func(a Algebra, u, _ Term) Term {
			return a.Mul(a.Number(2/math.Sqrt(math.Pi)), a.Apply(Exp, a.Apply(Neg, a.Mul(u, u))))
		}},
	NormalCDF: {Name: "normal_cdf", Symbol: "normal_cdf", Class: Elementwise1, Smooth: true, Increasing: true, Signature: "normal_cdf(u)",
		Doc: "distribution function of the standard normal distribution, entry by entry", Eval1: normalCDF,
		Go: "0.5 * math.Erfc(-%s/math.Sqrt2)", Curves: normalCurves,
		Slope: func(a Algebra, u, _ Term) Term {
			return a.Mul(a.Number(1/math.Sqrt(2*math.Pi)), a.Apply(Exp, a.Mul(a.Number(-0.5), a.Mul(u, u))))
		}},
	Abs: {Kinked: true, Name: "abs", Symbol: "abs", Class: Elementwise1, Signature: "abs(u)",
		Doc: "absolute value, entry by entry", Eval1: math.Abs},
	Floor: {Name: "floor", Symbol: "floor", Class: Elementwise1, Signature: "floor(u)",
		Doc: "largest integer that is at most u, entry by entry", Eval1: math.Floor},
	Sign: {Name: "sign", Symbol: "sign", Class: Elementwise1, Signature: "sign(u)",
		Doc: "-1, 0 or 1, entry by entry", Eval1: sign},

	Add: {Linear: true, Symbol: "+", Class: Elementwise2, Smooth: true, Signature: "u + v", Doc: "sum, entry by entry",
		Eval2: func(u, v float64) float64 { return u + v }},
	Sub: {Linear: true, Symbol: "-", Class: Elementwise2, Smooth: true, Signature: "u - v", Doc: "difference, entry by entry",
		Eval2: func(u, v float64) float64 { return u - v }},
	Mul: {Bilinear: true, Symbol: ".*", Class: Elementwise2, Smooth: true, Signature: "u .* v", Doc: "product, entry by entry",
		Eval2: func(u, v float64) float64 { return u * v }},
	Div: {Symbol: "./", Class: Elementwise2, Smooth: true, Signature: "u ./ v", Doc: "quotient, entry by entry",
		Domain: "v != 0", Eval2: func(u, v float64) float64 { return u / v },
		Inside: func(_, v float64) bool { return v != 0 }},
	Pow: {Symbol: "^", Class: Elementwise2, Smooth: true, Signature: "u .^ v", Doc: "power, entry by entry",
		Domain: "u > 0, or v an integer (positive where u is 0)", Eval2: math.Pow, Inside: powInside},
	PosPow: {Symbol: "pos^", Class: Elementwise2, Smooth: true, Signature: "max(u, 0) .^ v",
		Doc: "power above 1 of the positive part, entry by entry", Eval2: posPow},
	Max: {Kinked: true, Name: "max", Symbol: "max", Class: Elementwise2, Signature: "max(u, v)", Doc: "the larger, entry by entry",
		Eval2: math.Max},
	Min: {Kinked: true, Name: "min", Symbol: "min", Class: Elementwise2, Signature: "min(u, v)", Doc: "the smaller, entry by entry",
		Eval2: math.Min},

	Sum: {Linear: true, Name: "sum", Symbol: "sum", Class: Reduction, Fold: total, Smooth: true, Signature: "sum(u)", Doc: "sum of all entries"},
	Prod: {Name: "prod", Symbol: "prod", Class: Reduction, Fold: multiplied, Smooth: true, Signature: "prod(u)",
		Doc: "product of all entries"},
	LogSumExp: {Name: "logsumexp", Symbol: "logsumexp", Class: Reduction, Fold: logSumExp, Smooth: true, Signature: "logsumexp(u)",
		Doc: "log(sum(exp(u))), without overflow"},
	MaxAll: {Kinked: true, Name: "max", Symbol: "max", Class: Reduction, Fold: slices.Max[[]float64], Signature: "max(u)", Doc: "largest entry"},
	MinAll: {Kinked: true, Name: "min", Symbol: "min", Class: Reduction, Fold: slices.Min[[]float64], Signature: "min(u)", Doc: "smallest entry"},

	Dot: {Bilinear: true, Symbol: "dot", Class: Product, Apply: dot, Smooth: true, Signature: "u' * v", Doc: "inner product of two vectors"},
	MatVec: {Bilinear: true, Symbol: "matvec", Class: Product, Apply: matVec, Smooth: true, Signature: "M * v",
		Doc: "product of a matrix and a vector"},
	MatMul: {Bilinear: true, Symbol: "matmul", Class: Product, Apply: matMul, Smooth: true, Signature: "M * N", Doc: "product of two matrices"},
	Outer: {Bilinear: true, Name: "outer", Symbol: "outer", Class: Product, Apply: outer, Smooth: true, Signature: "outer(u, v)",
		Doc: "u * v', the outer product of two vectors"},

	Transpose: {Linear: true, Symbol: "transpose", Class: Structural, Apply: transpose, Smooth: true, Signature: "M'", Doc: "transpose of a matrix"},
	Gather:    {Linear: true, Symbol: "gather", Class: Structural, Apply: gather, Smooth: true, Signature: "v[i]", Doc: "chosen entries"},
	ScatterAdd: {Linear: true, Symbol: "scatter", Class: Structural, Apply: scatterAdd, Smooth: true,
		Doc: "sums of entries by the place they belong to"},
}

// A row without one of its parts ends the program when it starts: it would
// give wrong numbers later.
func init() {
	for op := range Primitives {
		p := &Primitives[op]
		p.Op = Op(op)
		if missing := p.missing(); missing != "" {
			panic(fmt.Sprintf("expr: operation %d (%s) lacks %s", op, p.Symbol, missing))
		}
	}
}

// missing says which part a row lacks, "" where it is complete.
func (p *Primitive) missing() string {
	value := p.Class == Leaf
	switch p.Class {
	case Elementwise1:
		value = p.Eval1 != nil
	case Elementwise2:
		value = p.Eval2 != nil
	case Reduction:
		value = p.Fold != nil
	case Product, Structural:
		value = p.Apply != nil
	}
	switch {
	case p.Symbol == "" || p.Doc == "":
		return "a symbol and a doc line"
	case p.Name != "" && p.Signature == "":
		return "a signature"
	case (p.Domain == "") != (p.Inside == nil):
		return "a domain in words and as a condition"
	case !value:
		return "a value"
	case p.Class == Elementwise1 && p.Smooth && p.Slope == nil:
		return "a derivative"
	case p.Class == Elementwise1 && p.Smooth && strings.Count(p.Go, "%s") != 1:
		return "its Go text"
	}
	return ""
}

// Require panics unless a table of another package has a rule for exactly the
// operations that need one there. Packages call it when they start.
func Require[R any](what string, rules map[Op]R, needs func(p *Primitive) bool) {
	for op := range Primitives {
		p := &Primitives[op]
		if _, has := rules[Op(op)]; has != needs(p) {
			panic(fmt.Sprintf("%s: %s (%s) is there: %v, is needed: %v", what, p.Symbol, p.Signature, has, !has))
		}
	}
}

// Info returns the operation's entry in Primitives.
func (op Op) Info() *Primitive { return &Primitives[op] }

func (op Op) String() string { return Primitives[op].Symbol }

// log1pExp is log(1 + e^u). Beyond 34 in size the smaller term is below half a unit in
// the last place (e^-34 < 2^-49, and 2^-49 against 34 is below 2^-53).
func log1pExp(u float64) float64 {
	if u > 34 {
		return u
	}
	return math.Log1p(math.Exp(u))
}

func sigmoid(u float64) float64 {
	if u >= 0 {
		return 1 / (1 + math.Exp(-u))
	}
	e := math.Exp(u)
	return e / (1 + e)
}

func sign(u float64) float64 {
	switch {
	case u > 0:
		return 1
	case u < 0:
		return -1
	}
	return u // 0, -0 and NaN
}

func posPow(u, v float64) float64 {
	if u <= 0 {
		return 0
	}
	return math.Pow(u, v)
}

func powInside(u, v float64) bool {
	switch {
	case u > 0:
		return true
	case v != math.Trunc(v):
		return u == 0 && v > 0
	}
	return u != 0 || v >= 0
}
