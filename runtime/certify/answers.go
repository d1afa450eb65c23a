package certify

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/tolerance"
)

// byAnswers is sensitivity where the curvatures of g are so far apart: by differences of answers on
// the face of at, which are known to rounding, in each entry of x. Where g is quadratic in (x, y)
// they are exact over any step; nil where two steps show that it is not, or they are not to be had.
func (d *deriver) byAnswers(at *derived, cy, cv []float64) []float64 {
	// Where curvatures of g are further apart than 1/HalfDigits gradients of g along a steep direction, where y is a double, are off by more than the
	// tolerances allow along a flat one.
	if !d.p.Facts.QuadraticInY || d.near == nil || !(d.near.largest() > 1/tolerance.HalfDigits*at.system.least()) {
		return nil
	}
	size := 0.0
	value := func(j int, to float64) (float64, bool) {
		x := append([]float64(nil), at.x...)
		x[j] = to
		there, err := d.onFace(x, at.y, at.face)
		if err != nil {
			return 0, false
		}
		sum := floats.Dot(cy, there.y)
		for k, i := range at.active {
			sum -= cv[k] * there.lambda[i]
		}
		size = math.Max(size, math.Abs(sum))
		return sum, true
	}
	grad := make([]float64, d.p.Dx)
	for j := range grad {
		quotient := func(step float64) (float64, bool) {
			up, down := math.Min(at.x[j]+step, d.p.X.Hi[j]), math.Max(at.x[j]-step, d.p.X.Lo[j])
			if up == down {
				up, down = at.x[j]+step, at.x[j]-step
			}
			a, ok := value(j, up)
			b, also := value(j, down)
			return (a - b) / (up - down), ok && also
		}
		step := shares[1] * d.s.width[j]
		if step == 0 {
			step = shares[1] * d.s.x
		}
		long, ok := quotient(step)
		short, also := quotient(step / 2)
		if !ok || !also || math.Abs(long-short) > tolerance.Weak*math.Max(math.Abs(short), size/d.s.x) {
			return nil
		}
		grad[j] = short
	}
	return grad
}
