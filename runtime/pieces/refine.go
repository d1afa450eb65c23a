package pieces

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// clamped is a point of the branch whose bounds are set, in the relaxation's units, with entries that are beyond their bounds by rounding put onto them, in the model's: along a ray, f may fall at the rate of an entry.
func (v *Solver) clamped(z []float64) []float64 {
	for j, t := range z {
		if to := math.Max(v.bounds.Lo[j], math.Min(v.bounds.Hi[j], t)); math.Abs(to-t) <= tolerance.Feasibility*math.Max(1, math.Abs(t)) {
			z[j] = to
		}
	}
	out := v.s.Unscaled(z)
	v.s.P.Rows.Within(v.s.Y(out))
	return out
}

// refine moves a point of the branch whose bounds are set onto its equations (see activeset.Bounds.Onto).
func (v *Solver) refine(z []float64) []float64 {
	return v.s.Unscaled(v.bounds.Onto(v.s.Relaxation.A, v.s.Scaled(z)))
}

// recede moves a direction in the relaxation's units onto the equations of those along which the branch whose bounds are set has no end: what is left of the difference of two points is what the solver tolerates of theirs.
func (v *Solver) recede(d []float64) []float64 {
	b := activeset.Bounds{RowLo: ends(v.bounds.RowLo), RowHi: ends(v.bounds.RowHi), Lo: ends(v.bounds.Lo), Hi: ends(v.bounds.Hi)}
	_, e := math.Frexp(linalg.NormInf(d))
	unit := each.Of(d, func(t float64) float64 { return math.Ldexp(t, -e) })
	unit = b.Onto(v.s.Relaxation.A, unit)
	for j, t := range unit {
		unit[j] = math.Ldexp(t, e)
	}
	return unit
}

// ends are the bounds of the rates at which what has these bounds may change without end.
func ends(bounds []float64) []float64 {
	return each.Of(bounds, func(t float64) float64 {
		if math.IsInf(t, 0) {
			return t
		}
		return 0
	})
}
