// Package oracle evaluates the hyperobjective F(x) = f(x, y*(x)) and its
// (approximate) gradient with first-order access to f and g alone. One file a
// method; each registers a Spec.
package oracle

import (
	"context"

	"bilevelc/runtime/lower"
)

// Point is what is known of F at one x.
type Point struct {
	X     []float64 // len Dx
	F     float64   // f(x, y~)
	Grad  []float64 // len Dx; nil where only a value was asked for
	Lower *lower.Solution
	// FError and GradError are the oracle's own estimates of |F~ - F| and
	// |Grad - grad F(x)|.
	FError, GradError float64
	// Strict reports that strict complementarity holds at x with a margin, so
	// that F is differentiable there.
	Strict bool
}

// Hyperobjective is F as the outer methods see it. Points outside the set
// where the lower level is feasible give an *InfeasibleError.
type Hyperobjective interface {
	Dim() int
	Value(ctx context.Context, x []float64) (*Point, error)
	Gradient(ctx context.Context, x []float64) (*Point, error)
	// Project sets dst to the nearest point of X and { x : some y is
	// feasible }, both polyhedra (and balls).
	Project(dst, x []float64) error
}
