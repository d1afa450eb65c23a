package truth

import "math"

// LeastCurvature is the least eigenvalue of the Hessian of G in y at a point, found by bisection
// on whether H - t I has a Cholesky factor, and no less than what it is by the rounding of that; where
// rows is set that along the equality rows, +Inf where they leave no direction.
func (e *Evaluator) LeastCurvature(p *Point, rows bool) float64 {
	h, _ := e.g.hessian(p.X, p.Y)
	if rows {
		basis := e.tangent()
		if len(basis) == 0 {
			return math.Inf(1)
		}
		reduced := make([][]float64, len(basis))
		for i, u := range basis {
			reduced[i] = make([]float64, len(basis))
			for j, v := range basis {
				for k := range h {
					reduced[i][j] += u[k] * dot(h[k], v)
				}
			}
		}
		h = reduced
	}
	trace := 0.0
	for j := range h {
		trace += h[j][j]
	}
	low, high := 0.0, trace
	for range 100 {
		mid := (low + high) / 2
		if Definite(h, mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return high + 0x1p-50*float64(len(h))*trace
}

// tangent is an orthonormal basis of the y that the equality rows allow moves along: the unit
// vectors without their parts along the rows and along each other.
func (e *Evaluator) tangent() [][]float64 {
	var normals, out [][]float64
	add := func(to *[][]float64, v []float64) {
		size := math.Sqrt(dot(v, v))
		v = append([]float64(nil), v...)
		for range 2 {
			for _, u := range append(normals[:len(normals):len(normals)], out...) {
				axpy(v, -dot(u, v), u)
			}
		}
		if left := math.Sqrt(dot(v, v)); left > 1e-9*size {
			for j := range v {
				v[j] /= left
			}
			*to = append(*to, v)
		}
	}
	for _, i := range e.equal {
		add(&normals, e.rows[i].C)
	}
	for j := range e.s.Dy {
		unit := make([]float64, e.s.Dy)
		unit[j] = 1
		add(&out, unit)
	}
	return out
}

// Definite tells whether h - t I is positive definite.
func Definite(h [][]float64, t float64) bool {
	n := len(h)
	l := make([][]float64, n)
	for i := range l {
		l[i] = make([]float64, i+1)
		for j := 0; j <= i; j++ {
			v := h[i][j]
			if i == j {
				v -= t
			}
			for k := range j {
				v -= l[i][k] * l[j][k]
			}
			if i == j {
				if v <= 0 {
					return false
				}
				l[i][i] = math.Sqrt(v)
			} else {
				l[i][j] = v / l[j][j]
			}
		}
	}
	return true
}
