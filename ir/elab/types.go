// Package elab holds the rules of the language that hold with and without data:
// the types of operations, what a name leads to, and how an error in an expression
// is told. Package check applies them to symbolic sizes, package bind to numbers.
//
// The rules are functions of types. What they need of a size is Size; a rule
// that does not apply is a Fault, which the caller locates and reports.
//
// Both packages give an expression a value that carries its ir.Type. A dimension is a
// polynomial over params in check, a number in bind, and tells which index set it is over.
// Who finds what:
//
//   - check alone: names, cycles, levels, numbers of arguments; what is a condition, a label,
//     an integer, affine, or fixed before solving; which sets go together. bind trusts it and
//     does not ask again: what it calls unchecked is a fault of check;
//   - both, by the rules here: shapes, which may be undecided before there are data, what
//     functions give that read or make shapes, what those of the model declare of theirs, and
//     how subscripts are dealt out to dimensions;
//   - bind alone: places in sets and arrays, the graph, rows.
//
// The walk over a tree is not shared. A value of check collects what an expression reads and
// where it curves, and each operand is looked at once. A value of bind holds all tuples of the
// indices around it: branches are elaborated for the tuples that take them, chains of products
// in the order that costs least, and bodies anew where sizes move with an index.
package elab

import (
	"slices"

	"bilevelc/ir"
)

// Size is a dimension of a type. The sizes of types that meet are of one kind.
type Size interface {
	ir.Dim
	// Compare decides whether two sizes are equal.
	Compare(other ir.Dim) Agreement
	// Difference says why they are not, to follow a list of shapes in a sentence.
	Difference(other ir.Dim) string
	// Plus is the sum of two sizes.
	Plus(other ir.Dim) ir.Dim
	// Over is the index set that a dimension of this size is over, and how many labels an element
	// of it has: 0 where there is no set.
	Over() (set string, labels int)
}

// Agreement is the outcome of comparing two sizes.
type Agreement uint8

// Undecided sizes are equal under some data, and are compared again when the
// model is bound.
const (
	Agree Agreement = iota
	Differ
	Undecided
)

// compare decides whether two sizes are equal.
func compare(a, b ir.Dim) Agreement { return a.(Size).Compare(b) }

// The types of scalars and conditions.
var (
	Unknown = ir.Type{Kind: ir.AnyType}
	Real    = ir.Type{Kind: ir.RealType}
	Int     = ir.Type{Kind: ir.IntType}
	Bool    = ir.Type{Kind: ir.BoolType}
)

// Vector is a column of n entries.
func Vector(n ir.Dim) ir.Type { return ir.Type{Kind: ir.VectorType, Dims: []ir.Dim{n}} }

// Row is what the transpose of a vector is.
func Row(n ir.Dim) ir.Type { return ir.Type{Kind: ir.RowVectorType, Dims: []ir.Dim{n}} }

// Matrix has m rows and n columns.
func Matrix(m, n ir.Dim) ir.Type { return ir.Type{Kind: ir.MatrixType, Dims: []ir.Dim{m, n}} }

// Array is the type of the given dimensions: a scalar where there are none.
func Array(dims ...ir.Dim) ir.Type {
	switch len(dims) {
	case 0:
		return Real
	case 1:
		return Vector(dims[0])
	case 2:
		return Matrix(dims[0], dims[1])
	}
	return ir.Type{Kind: ir.ArrayType, Dims: dims}
}

// IsScalar reports whether t is a number: real or int.
func IsScalar(t ir.Type) bool { return t.Kind == ir.RealType || t.Kind == ir.IntType }

// IsArray reports whether t has entries that are numbers.
func IsArray(t ir.Type) bool {
	return t.Kind == ir.VectorType || t.Kind == ir.RowVectorType || t.Kind == ir.MatrixType || t.Kind == ir.ArrayType
}

// AsReal is t, or real where it is int.
func AsReal(t ir.Type) ir.Type {
	if t.Kind == ir.IntType {
		return Real
	}
	return t
}

// Disagree reports whether two types of one kind certainly differ in size.
func Disagree(a, b ir.Type) bool {
	return !slices.EqualFunc(a.Dims, b.Dims, func(u, v ir.Dim) bool { return compare(u, v) != Differ })
}

// Fits reports whether a value of type got may be given where want is declared.
func Fits(want, got ir.Type) bool {
	if IsScalar(want) || IsScalar(got) {
		return IsScalar(want) && IsScalar(got)
	}
	return want.Kind == got.Kind && !Disagree(want, got)
}

// Transposed is the type of x'.
func Transposed(t ir.Type) ir.Type {
	switch t.Kind {
	case ir.VectorType:
		return Row(t.Dims[0])
	case ir.RowVectorType:
		return Vector(t.Dims[0])
	case ir.MatrixType:
		return Matrix(t.Dims[1], t.Dims[0])
	}
	return t
}
