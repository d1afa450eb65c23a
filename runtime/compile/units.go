package compile

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/expr"
)

// Units are those in which the lower level is solved: y = units times z, entry by entry, and z
// is what Numeric, with its solvers and its verification, sees. nil stands for units of 1.
//
// Where entries of y curve g by very different amounts, because one is in grams and another in
// megatons, or a coefficient is 1e150, no rounding is small beside all of them: in units in
// which they curve alike it is. They are powers of two, so that going there and back again
// rounds nothing.
type Units []float64

// InUnits is the problem in units for y, with its proof, where that is better solved than as
// it stands; else the problem itself. What the proof of the problem leaves unknown is then
// taken from there.
func InUnits(bound *ir.Problem, proof *curvature.Proof, limits curvature.Options) (*ir.Problem, Units) {
	if bound.Plain != nil || bound.Restated != nil || len(bound.Unbound) > 0 || !proof.IllConditioned() {
		return bound, nil // followers with ties or kinks have terms of their own units
	}
	u := curvature.Units(bound, limits)
	if u == nil {
		return bound, nil
	}
	in, err := bound.InUnits(u)
	if err != nil {
		return bound, nil
	}
	limits.Earlier = nil
	inner := curvature.Prove(in, limits)
	if !proof.InUnits(inner, u) {
		return bound, nil
	}
	in.Facts = inner.Facts()
	return in, u
}

// Leave is y of a z; a slice of its own where there are units.
func (u Units) Leave(z []float64) []float64 {
	if u == nil {
		return z
	}
	return each.Below(len(z), func(j int) float64 { return u[j] * z[j] })
}

// Enter is z of a y.
func (u Units) Enter(y []float64) []float64 {
	if u == nil {
		return y
	}
	return each.Below(len(y), func(j int) float64 { return y[j] / u[j] })
}

// LeaveError bounds the error of y for one of z.
func (u Units) LeaveError(of float64) float64 {
	largest := 1.0
	for j, v := range u {
		if j == 0 || v > largest {
			largest = v
		}
	}
	if of == 0 || math.IsNaN(of) {
		return of
	}
	return largest * of
}

// trace explains the first value or gradient of the model's own expression that was not finite.
func (u Units) trace(root *expr.Node, x, z []float64) *expr.Fault {
	y := z
	if u != nil { // multipliers and weights may follow z
		y = append(u.Leave(z[:len(u)]), z[len(u):]...)
	}
	if f := expr.Trace(root, x, y); f != nil {
		return f
	}
	return expr.TraceSlope(root, x, y)
}
