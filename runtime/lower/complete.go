package lower

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"bilevelc/runtime/linalg"
)

// When the whole of a Hessian is measured, and how.

// pays reports whether as many gradients as H has columns are expected to be no more than those that conjugate gradients take from y, so many for
// each product, of which there are sqrt(C/mu)/2 log(2/part) until a part of the residual is left (Saad 2003, section 6.11). Where C
// is not known, the curvature along the gradient stands in for it.
func (w *activeSet) pays(y []float64, gradients, part float64) bool {
	if !(w.known.Mu > 0) || w.curvature.limit < w.n {
		return false
	}
	largest := w.known.C
	if largest == 0 {
		if !w.defined(y) {
			return false
		}
		w.curvature.move(y, w.grad)
		if !w.curvature.apply(make([]float64, w.n), w.grad) {
			return false
		}
		largest = w.curvature.largest
	}
	return gradients*math.Sqrt(largest/w.known.Mu)/2*math.Log(2/part) >= float64(w.n)
}

// columns measures H of a quadratic along the axes: n + 1 gradients, and no algebra.
// They are taken around 0, wherever the point is, where most of what they are products
// of is 0.
func (c *curvature) columns() bool {
	origin := c.atZero()
	if !linalg.Finite(origin) {
		return false
	}
	at, grad := slices.Clone(c.at), slices.Clone(c.grad)
	defer c.move(at, grad)
	clear(c.probe)
	c.move(c.probe, origin)
	h := c.axes(c.step())
	if h == nil {
		return false
	}
	c.recall(remember(c.n, h))
	return true
}

// axes is H, n x n, by forward differences over t along the axes, n gradients; nil where they are not finite.
func (c *curvature) axes(t float64) []float64 {
	c.work()
	copy(c.probe, c.at)
	h, size := make([]float64, c.n*c.n), linalg.Norm(c.grad)
	for j := range c.n {
		column := h[j*c.n : (j+1)*c.n]
		c.column(column, j, t)
		if !c.quadratic && !linalg.Finite(column) {
			c.column(column, j, -t) // the objective may end at a bound
		}
		if c.quadratic && c.largest == 0 {
			if length := linalg.Norm(column); length > 0 && length*t < size { // see difference
				c.column(column, j, powerOfTwo(16*size/length))
			}
		}
		if !linalg.Finite(column) {
			return nil
		}
	}
	return h
}

// column sets dst to the difference along entry j over t, as represented: probe is the point.
func (c *curvature) column(dst []float64, j int, t float64) {
	c.probe[j] = c.at[j] + t
	t = c.probe[j] - c.at[j]
	gradOf(c.obj, dst, c.probe)
	c.probe[j] = c.at[j]
	c.gradients++
	for i, g := range c.grad {
		dst[i] = (dst[i] - g) / t
	}
}

// assembled is H = (HV)'V, n x n, from a basis of n directions.
func (c *curvature) assembled() []float64 {
	h := make([]float64, c.n*c.n)
	general := func(a []float64) blas64.General {
		return blas64.General{Rows: c.n, Cols: c.n, Stride: c.n, Data: a}
	}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, general(c.hv), general(c.v), 0, general(h))
	return h
}
