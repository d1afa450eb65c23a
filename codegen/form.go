package codegen

import (
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// op is an operation of the form.
type op uint8

const (
	opConst op = iota // constant: val.array
	opVar             // a whole variable: val.lower, val.offset
	opHeld            // a result of the x stage: slot val.offset

	// elementwise, one argument of the result's shape, or a scalar
	opSquare
	opCopy // the argument itself; repeats a scalar over the shape

	// elementwise, two arguments, each of the result's shape or a scalar
	opMul
	opDiv
	opPow
	opPosPow // max(args[0], 0) .^ args[1]

	// opLin is the sum of val.coef[k] * args[k], plus val.bias: every sum,
	// difference, negation and scaling by a number.
	opLin

	// reductions of all entries
	opSum
	opProd
	opLogSumExp
	opDot // of two arrays of equal length, entry by entry

	// products
	opMatVec // args matrix, vector (, base): val.alpha * M v (+ base)
	opMatMul
	opOuter

	// structure
	opTranspose
	opGather
	opScatterAdd
	opProdExcept

	// opFused is a loop over blocks (fuse.go); opPart is its k-th result,
	// k = val.offset, for results beyond the first.
	opFused
	opPart

	// opZero occurs in compiled programs only: entries of a gradient that no
	// output covers.
	opZero

	// opFunction + o is the function o of package expr of one argument, entry by
	// entry: its value, kernel and Go text come from the table there.
	opFunction
)

// function is the operation of package expr behind an op from opFunction on.
func (o op) function() *expr.Primitive { return expr.Op(o - opFunction).Info() }

var opNames = [...]string{
	opConst: "const", opVar: "var", opHeld: "held", opSquare: "square", opCopy: "copy", opMul: "mul",
	opDiv: "div", opPow: "pow", opPosPow: "pospow", opLin: "lin", opSum: "sum", opProd: "prod", opLogSumExp: "logsumexp", opDot: "dot",
	opMatVec: "matvec", opMatMul: "matmul", opOuter: "outer", opTranspose: "transpose", opGather: "gather",
	opScatterAdd: "scatteradd", opProdExcept: "prodexcept", opFused: "fused", opPart: "part", opZero: "zero",
}

func (o op) String() string {
	if o >= opFunction {
		return o.function().Symbol
	}
	return opNames[o]
}

// elementwise reports whether entry k of the result depends on entries k (and
// on scalars) only.
func (o op) elementwise() bool { return o >= opSquare && o <= opLin || o >= opFunction }

// stage says how often a value must be computed.
type stage uint8

const (
	dataStage stage = iota // once, when the program is compiled
	xStage                 // once for each x
	yStage                 // on every call
)

func (s stage) String() string { return [...]string{"data", "x", "y"}[s] }

// val is one value of a form.
type val struct {
	op    op
	args  []int
	shape expr.Shape
	stage stage

	array          *data.Array // opConst; nil until its value is needed
	node           *expr.Node  // opConst: where array comes from
	lower          bool        // opVar
	offset         int         // opVar: first entry in x or y; opPart: which result
	index          []int       // opGather, opScatterAdd
	transA, transB bool        // opMatVec, opMatMul
	symmetric      bool        // opMatVec: the matrix equals its transpose
	alpha          float64     // opMatVec
	byRows         bool        // opMatVec: a step of a loop along the matrix's rows
	coef           []float64   // opLin, parallel to args
	bias           float64     // opLin
	loop           *loop       // opFused
}

// target says where an output goes.
type target uint8

const (
	toValue target = iota // the value
	toX                   // the gradient in x
	toY                   // the gradient in y
	toHeld                // kept by the x stage for the y stage: slot output.offset
)

// output is a result of a form. A gradient's output is the entries from
// offset on, as many as the value has.
type output struct {
	to        target
	offset, v int
}

// form is a program in static single assignment: arguments precede users.
type form struct {
	vals    []val
	outs    []output
	dx, dy  int // lengths of x and y
	builder *expr.Builder
}

// uses counts the uses of every value, outputs included.
func (f *form) uses() []int {
	n := make([]int, len(f.vals))
	for i := range f.vals {
		for _, a := range f.vals[i].args {
			n[a]++
		}
	}
	for _, o := range f.outs {
		n[o.v]++
	}
	return n
}

// number is the value of a scalar constant.
func (v *val) number() (float64, bool) {
	if v.op == opConst && v.shape.Rank == 0 && v.array != nil {
		return v.array.Dense[0], true
	}
	return 0, false
}

// constant fetches the array of an opConst value; one that there is not ends the compilation.
func (f *form) constant(i int) *data.Array {
	v := &f.vals[i]
	if v.array == nil {
		v.array = must.Get(f.builder.Value(v.node))
	}
	return v.array
}
