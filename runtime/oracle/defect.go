package oracle

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// derivative is how the lower solutions of a family of problems move, per unit of the
// perturbation: y and lambda.
type derivative struct{ y, lambda []float64 }

// quotient is what is per unit of two vectors that are width apart.
func quotient(to, from []float64, width float64) []float64 {
	return each.Below(len(to), func(j int) float64 { return (to[j] - from[j]) / width })
}

// extrapolated is Richardson's extrapolation from steps t and t/2.
func extrapolated(whole, half []float64) []float64 {
	return each.Below(len(half), func(j int) float64 { return (4*half[j] - whole[j]) / 3 })
}

// gross is the relative error of a derivative which says nothing.
const gross = 1e-2

// defect is the error of a derivative as its own equations at y* show it,
//
//	H y' + q - B'lambda' = 0, B_I y' + b_I' = 0,
//
// relative to H y' (and to q, if that is less), with H y' by short differences of grad_y g
// along y', one gradient each. A derivative that was found by moving y much further than
// the length on which g is curved satisfies the equation of that secant, and agrees with the
// one of half the move; here it shows. step is the perturbation that moved y. What rounding
// may have made is no defect but uncertain: the same of what the roundings may hide. NaN
// gradients, outside the domain, say nothing.
func (d *differences) defect(v derivative, step, scale float64) (off, uncertain float64) {
	at, p, n := d.at, d.at.Problem, len(v.y)
	speed := linalg.Norm(v.y)
	if speed == 0 || math.IsInf(speed, 0) || math.IsNaN(speed) {
		return 0, 0
	}
	forces, moved, z := make([]float64, n), make([]float64, n), make([]float64, n)
	p.Rows.B.AddMulVecT(forces, 1, v.lambda)
	held := linalg.Norm(forces)
	linalg.Axpy(forces, -1, d.rhs.q)
	uncertain = math.Inf(1)
	off = d.leaves(v, step)
	terms := 0.0
	// Over the length at which a difference of gradients is best known, relative to that on which g is taken to be curved (At.size), and one half way
	// to rounding, for a g that is curved on a much shorter one.
	for _, share := range []float64{tolerance.HalfDigits, math.Sqrt(tolerance.HalfDigits * tolerance.Roundoff)} {
		length := math.Min(share*scale, 0x1p-10*step*speed) / speed
		copy(z, at.Lower.Y)
		linalg.Axpy(z, length, v.y)
		p.G.GradY(moved, at.X, z)
		miss, size := 0.0, 0.0
		for j := range moved {
			product := (moved[j] - d.base[j]) / length
			size = math.Hypot(size, product)
			miss = math.Hypot(miss, product-forces[j])
		}
		if math.IsNaN(size) || math.IsInf(size, 0) || size == 0 {
			continue
		}
		// The terms of the gradient are those that are seen, and those that y makes with
		// this curvature; where that leaves a defect they are measured.
		terms = math.Max(terms, d.held+size*linalg.Norm(at.Lower.Y)/speed)
		rounding := func() float64 {
			return tolerance.SumRounding*(terms/length+held+linalg.Norm(d.rhs.q)+linalg.Norm(at.Lower.Lambda)/step) + d.force
		}
		least := math.Min(size, d.slope)
		if miss > rounding()+tolerance.Target*least {
			terms = math.Max(terms, math.Max(termsOf(p, at.X, at.Lower.Y, d.base), 2*enclosed(p, at.X, at.Lower.Y)/tolerance.SumRounding))
		}
		off = math.Max(off, (miss-rounding())/least)
		uncertain = math.Min(uncertain, rounding()/least)
	}
	return off, uncertain
}

// leaves is the largest part of a derivative, beyond rounding, that is across a row held on the face: the ends it was
// taken from are not on it, as where a solver has stopped short.
func (d *differences) leaves(v derivative, step float64) float64 {
	rows, worst := d.at.Problem.Rows, 0.0
	moved := d.rhs.moved(d.at.Problem, step).Rows // where the perturbation moves them
	speed := linalg.Norm(v.y)
	for _, i := range d.at.Face {
		length := linalg.RowNorm(rows.B, i)
		if length == 0 {
			continue
		}
		across := rows.B.RowDot(i, v.y) + (moved.Rhs[i]-rows.Rhs[i])/step
		known := tolerance.SumRounding * linalg.Norm(d.at.Lower.Y) / step
		worst = math.Max(worst, (math.Abs(across)/length-known)/speed)
	}
	return worst
}
