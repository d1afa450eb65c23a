// Package expr is the intermediate representation of a bound model: a shared
// graph of tensor operations with numeric shapes, over data (constants) and
// the variables x (upper level) and y (lower level). Functions are inlined,
// comprehensions are tensor operations over their iteration space, names are
// gone but for messages. The graph is built through a Builder, which checks
// shapes, shares equal nodes and folds small constants.
//
// Vectors are rank 1 and have no orientation; the binder turns x' * P * y into
// Dot(MatVec(P', x), y). A scalar operand of an elementwise operation
// broadcasts; nothing else does.
package expr

import (
	"fmt"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// Shape of a node: rank 0, 1 (Rows entries, Cols 1) or 2.
type Shape struct {
	Rank       int
	Rows, Cols int
}

// Shapes of each rank.
func ScalarShape() Shape         { return Shape{0, 1, 1} }
func VectorShape(n int) Shape    { return Shape{1, n, 1} }
func MatrixShape(m, n int) Shape { return Shape{2, m, n} }

// Len is the number of entries.
func (s Shape) Len() int { return s.Rows * s.Cols }

// Dims lists the sizes, as many as the rank.
func (s Shape) Dims() []int { return []int{s.Rows, s.Cols}[:s.Rank] }

func (s Shape) String() string {
	switch s.Rank {
	case 0:
		return "scalar"
	case 1:
		return fmt.Sprintf("vector[%d]", s.Rows)
	}
	return fmt.Sprintf("matrix[%d, %d]", s.Rows, s.Cols)
}

// Deps is the set of things a node's value depends on besides data: nothing
// (stage "data", computed once), x only (once for each x), y.
type Deps uint8

// The bits of Deps.
const (
	DependsX Deps = 1 << iota
	DependsY
)

// Op is the operation of a node.
type Op uint8

// The operations. Primitives (prim.go) gives each one's name, domain,
// smoothness and meaning in one table.
const (
	Const Op = iota // Value; no arguments
	Var             // a whole declared variable: Name, Level, Offset

	// elementwise, one argument
	Neg
	Exp
	Log
	Sqrt
	Tanh
	Sin
	Cos
	Log1pExp // log(1 + exp(u)), stable
	Sigmoid  // 1/(1+exp(-u)), stable; the derivative of Log1pExp
	Atan
	Erf
	NormalCDF
	Abs   // not smooth: data, report only
	Floor // not smooth
	Sign  // not smooth

	// elementwise, two arguments
	Add
	Sub
	Mul
	Div
	Pow    // base .^ exponent; the exponent depends on data only where the base varies, or exp(e log b) is meant
	PosPow // max(base, 0) .^ exponent of data above 1: continuously differentiable, 0 for base <= 0; made by simplify.go
	Max    // not smooth
	Min    // not smooth

	// reductions of all entries to a scalar
	Sum
	Prod
	LogSumExp
	MaxAll // not smooth
	MinAll // not smooth

	// products
	Dot    // vector, vector -> scalar
	MatVec // matrix (TransA: its transpose), vector -> vector
	MatMul // matrix (TransA), matrix (TransB) -> matrix
	Outer  // vector u, vector v -> u v'

	// structure
	Transpose
	Gather     // out[k] = arg.flat[Index[k]], Index[k] < 0: zero; any shape in and out
	ScatterAdd // out[Index[k]] += arg.flat[k], Index[k] < 0: dropped; any shape in and out
)

// Node is one operation of the graph. Nodes are immutable and shared; they
// are numbered in topological order.
type Node struct {
	ID    int
	Op    Op
	Args  []*Node
	Shape Shape
	Deps  Deps

	Value          *data.Array // Const
	Name           string      // Const that is named data, Var
	Lower          bool        // Var: a variable of the lower level
	Offset         int         // Var: first entry within x or y
	Index          []int       // Gather, ScatterAdd
	TransA, TransB bool        // MatVec, MatMul

	// Opaque reports that the value depends on data that was not supplied:
	// a Const without Value, or what is made of one.
	Opaque bool

	// Span is where the model says this, for run-time messages.
	Span diag.Span

	owner *Builder // remembers the values of nodes without Deps
}
