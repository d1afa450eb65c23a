package outer

import (
	"errors"
	"math"

	"bilevelc/runtime/qp"

	"gonum.org/v1/gonum/mat"
)

// quasiNewton is a positive definite approximation of the curvature of F's
// pieces: a damped BFGS matrix (Powell 1978) up to denseLimit entries of x, and
// its diagonal scale alone beyond. Values are immutable; update returns a new one.
type quasiNewton struct {
	N       int
	Scale   float64   // curvature of the initial matrix
	Updates int       // accepted pairs
	H       []float64 // N x N, row-major; nil while it is Scale times the identity
}

// denseLimit is where factorizing H, of order N^3, would begin to cost more than
// lower levels of that size do.
const denseLimit = 1000

func newQuasiNewton(n int, curvature float64) quasiNewton {
	return quasiNewton{N: n, Scale: curvature}
}

// multiply returns H v.
func (q quasiNewton) multiply(v []float64) []float64 {
	out := make([]float64, q.N)
	for i := range out {
		if q.H == nil {
			out[i] = q.Scale * v[i]
		} else {
			out[i] = dot(q.H[i*q.N:(i+1)*q.N], v)
		}
	}
	return out
}

// factorize returns H, plus a diagonal (len N, or nil), for the step's quadratic
// program.
func (q quasiNewton) factorize(diagonal []float64) (*qp.Hessian, error) {
	if q.H == nil {
		d := make([]float64, q.N)
		for i := range d {
			d[i] = q.Scale
			if diagonal != nil {
				d[i] += diagonal[i]
			}
		}
		return qp.Diagonal(d), nil
	}
	full := q.H
	if diagonal != nil {
		full = clone(q.H)
		for i, v := range diagonal {
			full[i*q.N+i] += v
		}
	}
	h, ok := qp.Dense(mat.NewSymDense(q.N, full))
	if !ok {
		return nil, errors.New("the curvature matrix is no longer positive definite")
	}
	return h, nil
}

// update takes a pair s = x+ - x, y = g+ - g of gradients of one piece, known to
// within noise. Pairs of negative or little curvature are damped, so that H stays
// positive definite. A pair that noise could have made shows that there is no more
// curvature along s than noise/|s|, and H learns that much of it, from above alone.
func (q quasiNewton) update(s, y []float64, noise float64) quasiNewton {
	ss, sy, yy := dot(s, s), dot(s, y), dot(y, y)
	if ss == 0 || math.IsNaN(yy) || math.IsInf(yy, 0) {
		return q
	}
	hs := q.multiply(s)
	shs := dot(s, hs)
	if math.Sqrt(yy) <= 2*noise {
		most := 2 * noise / math.Sqrt(ss)
		if most*ss >= 0.2*shs {
			return q
		}
		y = plus(make([]float64, q.N), most, s)
		sy, yy = most*ss, most*most*ss
	} else if q.Updates == 0 && sy > 1e-8*math.Sqrt(ss*yy) {
		// The first pair knows the scale better than the initial step
		// (Nocedal and Wright, (6.20)).
		q.Scale, q.H = yy/sy, nil
		hs = q.multiply(s)
		shs = dot(s, hs)
	}
	q.Updates++
	if q.N > denseLimit {
		if sy > 1e-8*math.Sqrt(ss*yy) {
			q.Scale = yy / sy
		} else {
			q.Scale /= 5
		}
		return q
	}
	if sy < 0.2*shs {
		theta := 0.8 * shs / (shs - sy)
		y = plus(hs, theta, minus(y, hs))
		sy = dot(s, y)
	}
	h := make([]float64, q.N*q.N)
	for i := range q.N {
		row := h[i*q.N : (i+1)*q.N]
		if q.H == nil {
			row[i] = q.Scale
		} else {
			copy(row, q.H[i*q.N:])
		}
		a, b := hs[i]/shs, y[i]/sy
		for j := range row {
			row[j] += b*y[j] - a*hs[j]
		}
	}
	// Symmetric to the last bit.
	for i := range q.N {
		for j := range i {
			v := (h[i*q.N+j] + h[j*q.N+i]) / 2
			h[i*q.N+j], h[j*q.N+i] = v, v
		}
	}
	q.H = h
	return q
}
