package ir

import (
	"strings"

	"bilevelc/internal/each"
)

// The words a user reads for the kinds of types.
func (k TypeKind) String() string {
	return [...]string{"unknown", "real", "int", "condition", "vector", "row vector", "matrix", "array", "set", "label", "text"}[k]
}

// String spells a type as it is written in a model: vector[n], matrix[m, n];
// a row vector, which cannot be written as a type, is row[n].
func (t Type) String() string {
	switch t.Kind {
	case VectorType:
		return "vector[" + t.dim(0) + "]"
	case RowVectorType:
		return "row[" + t.dim(0) + "]"
	case MatrixType:
		return "matrix[" + t.dim(0) + ", " + t.dim(1) + "]"
	case ArrayType:
		return "[" + t.dims(", ") + "]"
	case TextType:
		return "text[" + t.dims(", ") + "]"
	}
	return t.Kind.String()
}

// Size spells the shape as messages do: "dh x dy", "n", "1 x n", "a scalar".
func (t Type) Size() string {
	switch t.Kind {
	case RealType, IntType:
		return "a scalar"
	case VectorType:
		return t.dim(0)
	case RowVectorType:
		return "1 x " + t.dim(0)
	case MatrixType:
		return t.dim(0) + " x " + t.dim(1)
	case ArrayType:
		return t.dims(" x ")
	}
	return "a " + t.Kind.String()
}

func (t Type) dims(between string) string {
	parts := each.Below(len(t.Dims), t.dim)
	return strings.Join(parts, between)
}

func (t Type) dim(i int) string {
	if i >= len(t.Dims) || t.Dims[i] == nil {
		return "?"
	}
	return t.Dims[i].String()
}
