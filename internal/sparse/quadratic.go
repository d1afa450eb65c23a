package sparse

import "math"

// Quadratic is 1/2 z'Hess z + Lin'z + Const, with a symmetric Hess that may be nil.
type Quadratic struct {
	Hess  *CSR
	Lin   []float64
	Const float64
}

// Value is the quadratic at z.
func (q *Quadratic) Value(z []float64) float64 {
	v := q.Const
	for j, c := range q.Lin {
		if z[j] == 0 {
			continue
		}
		if v += c * z[j]; q.Hess != nil {
			v += 0.5 * z[j] * q.Hess.RowDot(j, z)
		}
	}
	return v
}

// Terms is the sum of the absolute terms of Value.
func (q *Quadratic) Terms(z []float64) float64 {
	sum := math.Abs(q.Const)
	for j, c := range q.Lin {
		if sum += math.Abs(c * z[j]); q.Hess != nil {
			sum += 0.5 * math.Abs(z[j]) * q.Hess.RowTerms(j, z)
		}
	}
	return sum
}

// Gradient sets dst to the quadratic's gradient at z.
func (q *Quadratic) Gradient(dst, z []float64) {
	copy(dst, q.Lin)
	if q.Hess != nil {
		for j := range q.Lin {
			dst[j] += q.Hess.RowDot(j, z)
		}
	}
}

// GradientTerms sets dst to the sums of the absolute terms of the gradient's entries at z.
func (q *Quadratic) GradientTerms(dst, z []float64) {
	for j, c := range q.Lin {
		if dst[j] = math.Abs(c); q.Hess != nil {
			dst[j] = q.Hess.AddTerms(dst[j], j, z)
		}
	}
}
