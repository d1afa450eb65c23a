package outer

import (
	"encoding/json"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// quasiNewton is a positive definite approximation of the curvature of F's pieces, by
// damped BFGS updates (Powell 1978) with the last pairs, as many as limit says:
//
//	H = Scale I + Q (T - Scale I) Q'
//
// where the columns of Q are an orthonormal basis of what the pairs span, and T is the
// BFGS matrix of the pairs in its coordinates: the limited-memory matrix in a compact
// form (Byrd, Nocedal and Schnabel 1994), positive definite to the last bit as each
// update is made in full. With r columns making Q costs O(r^2 N),
// products O(r N). Values are immutable; update returns a new one.
type quasiNewton struct {
	N       int
	Scale   float64  // curvature of the initial matrix
	Updates int      // accepted pairs
	Pairs   []secant // oldest first

	basis [][]float64   // Q, columns
	inner *mat.SymDense // T; both follow from Scale and Pairs
}

// limit is how many pairs are kept: with two columns of Q each, making it costs what as many as DenseOrder columns do of as many entries.
func (q quasiNewton) limit() int {
	return max(1, int(tolerance.DenseOrder/2*math.Sqrt(tolerance.DenseOrder/float64(q.N))))
}

// secant is a step between points of one piece, and the change of the gradient there
// that the curvature has learned, with s'y > 0.
type secant struct{ S, Y []float64 }

func newQuasiNewton(n int, curvature float64) quasiNewton {
	return quasiNewton{N: n, Scale: curvature}
}

// multiply returns H v.
func (q quasiNewton) multiply(v []float64) []float64 {
	out := floats.ScaleTo(make([]float64, q.N), q.Scale, v)
	c := each.Of(q.basis, func(col []float64) float64 { return linalg.Dot(col, v) })
	for a, col := range q.basis {
		t := -q.Scale * c[a]
		for b, w := range c {
			t += q.inner.At(a, b) * w
		}
		floats.AddScaled(out, t, col)
	}
	return out
}

// curvature returns H, plus a diagonal (len N), for the step's quadratic program.
func (q quasiNewton) curvature(diagonal []float64) *qp.Hessian {
	d := each.Below(q.N, func(i int) float64 { return q.Scale + diagonal[i] })
	if len(q.basis) == 0 {
		return qp.Diagonal(d)
	}
	r := len(q.basis)
	m := mat.NewSymDense(r, nil)
	for a := range r {
		for b := a; b < r; b++ {
			v := q.inner.At(a, b)
			if a == b {
				v -= q.Scale
			}
			m.SetSym(a, b, v)
		}
	}
	return qp.LowRank(d, q.basis, m)
}

// update takes a pair s = x+ - x, y = g+ - g of gradients of one piece, known to
// within noise. Pairs of negative or little curvature are damped, so that H stays
// positive definite. A pair that noise could have made shows that there is no more
// curvature along s than noise/|s|, and H learns that much of it, from above alone.
func (q quasiNewton) update(s, y []float64, noise float64) quasiNewton {
	ss, sy, yy := linalg.Dot(s, s), linalg.Dot(s, y), linalg.Dot(y, y)
	if ss == 0 || math.IsNaN(yy) || math.IsInf(yy, 0) {
		return q
	}
	hs := q.multiply(s)
	shs := linalg.Dot(s, hs)
	if math.Sqrt(yy) <= 2*noise {
		most := 2 * noise / math.Sqrt(ss)
		if most*ss >= 0.2*shs {
			return q
		}
		y = linalg.Plus(make([]float64, q.N), most, s)
		sy = most * ss
	} else if q.Updates == 0 && sy > 1e-8*math.Sqrt(ss*yy) {
		// The first pair knows the scale better than the initial step
		// (Nocedal and Wright, (6.20)).
		q = newQuasiNewton(q.N, yy/sy)
		hs = q.multiply(s)
		shs = linalg.Dot(s, hs)
	}
	q.Updates++
	if sy < 0.2*shs {
		theta := 0.8 * shs / (shs - sy)
		y = linalg.Plus(hs, theta, linalg.Minus(y, hs))
	}
	kept := q.Pairs[max(0, len(q.Pairs)+1-q.limit()):]
	q.Pairs = append(append(make([]secant, 0, len(kept)+1), kept...), secant{s, y})
	q.compact()
	return q
}

// compact makes Q and T from the pairs.
func (q *quasiNewton) compact() {
	q.basis, q.inner = nil, nil
	coordinates := make([][]float64, 0, 2*len(q.Pairs)) // of S and Y, in turns
	for _, p := range q.Pairs {
		coordinates = append(coordinates, each.Of([][]float64{p.S, p.Y}, q.express)...)
	}
	r := len(q.basis)
	if r == 0 {
		return
	}
	t := mat.NewSymDense(r, nil)
	for a := range r {
		t.SetSym(a, a, q.Scale)
	}
	var ts mat.VecDense
	for k := 0; k < len(coordinates); k += 2 {
		s := mat.NewVecDense(r, append(coordinates[k], make([]float64, r-len(coordinates[k]))...))
		y := mat.NewVecDense(r, append(coordinates[k+1], make([]float64, r-len(coordinates[k+1]))...))
		ts.MulVec(t, s)
		t.SymRankOne(t, -1/mat.Dot(s, &ts), &ts)
		t.SymRankOne(t, 1/mat.Dot(s, y), y)
	}
	q.inner = t
}

// express returns the coordinates of v in Q, to which it adds what they lack.
func (q *quasiNewton) express(v []float64) []float64 {
	rest, size := linalg.Clone(v), linalg.Norm(v)
	c := make([]float64, len(q.basis), len(q.basis)+1)
	for range 2 { // twice is enough (Kahan)
		for a, col := range q.basis {
			t := linalg.Dot(col, rest)
			c[a] += t
			floats.AddScaled(rest, -t, col)
		}
	}
	// What rounding leaves of a vector in the span is no direction.
	if left := linalg.Norm(rest); left > 1e-14*size && len(q.basis) < q.N {
		floats.Scale(1/left, rest)
		q.basis = append(q.basis, rest)
		c = append(c, left)
	}
	return c
}

// UnmarshalJSON restores what follows from the pairs.
func (q *quasiNewton) UnmarshalJSON(encoded []byte) (err error) {
	defer must.Catch(&err)
	type plain quasiNewton
	must.Do(json.Unmarshal(encoded, (*plain)(q)))
	must.Do(q.valid())
	q.compact()
	return nil
}

// valid reports what keeps numbers that were written down from being a curvature.
func (q *quasiNewton) valid() error {
	if !(q.Scale > 0) || !linalg.Finite([]float64{q.Scale}) {
		return fmt.Errorf("its curvature is not that of %d entries of x", q.N)
	}
	for _, p := range q.Pairs {
		if len(p.S) != q.N || len(p.Y) != q.N || !linalg.Finite(p.S) || !linalg.Finite(p.Y) || !(linalg.Dot(p.S, p.Y) > 0) {
			return fmt.Errorf("its curvature has learned from something that is no step of %d entries of x", q.N)
		}
	}
	return nil
}
