package relaxation

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/qp"
)

// Normal is an element of the normal cone of all rows at a point within Radius of
// (x, s): Lambda on the rows of the lower level, >= 0 on inequalities, and Upper (len
// Dx), of the bounds and rows of X. With it
//
//	Norm = |(grad_x f + A'Lambda + Upper, Unit (grad_y f - B'Lambda))|,
//
// and where y is the follower's answer and lies within its rows next to x, F falls by no
// more than Norm |(d, dy/Unit)| to first order in a direction d along which y moves by dy.
type Normal struct {
	Radius float64
	Lambda []float64
	Upper  []float64
	Norm   float64
	Terms  float64 // |(grad_x f, Unit grad_y f)|
}

// Normal is the one that makes Norm least, at (x, y); nil where it was not found. It is
// that of the projected gradient: the step d that minimizes grad f'd/|grad f| + |d|^2/2 in
// units of radius over the rows is the negative sum over |grad f|, and |d| <= 1.
func (r *Relaxation) Normal(ctx context.Context, x, y []float64, radius float64) *Normal {
	z, g := r.join(x, y), make([]float64, r.n)
	r.evaluate(g, z)
	out := &Normal{Radius: radius, Lambda: make([]float64, r.p.Rows.Len()), Upper: make([]float64, r.p.Dx), Terms: norm(g)}
	if !(out.Terms > 0) || math.IsInf(out.Terms, 1) {
		return nil
	}
	linear, lo, hi := make([]float64, r.n), make([]float64, r.n), make([]float64, r.n)
	// What rounding leaves of z outside of the rows counts as on them; what a step of
	// length 1 does not reach takes no part.
	for j, v := range z {
		linear[j], lo[j], hi[j] = g[j]/out.Terms, math.Inf(-1), math.Inf(1)
		if d := (r.lo[j] - v) / radius; d > -beyond {
			lo[j] = math.Min(0, d)
		}
		if d := (r.hi[j] - v) / radius; d < beyond {
			hi[j] = math.Max(0, d)
		}
	}
	near := &qp.Problem{H: qp.Identity(r.n), C: linear, Lo: lo, Hi: hi, Context: ctx, A: sparse.Empty(r.n)}
	var of []int
	for i, side := range r.side {
		cols, vals := r.rows.Row(i)
		away := (r.rows.RowDot(i, z) - side) / radius
		if !r.equal[i] && away > beyond*norm(vals) {
			continue
		}
		of = append(of, i)
		for k, j := range cols {
			near.A.Append(j, -vals[k])
		}
		near.A.EndRow()
		if r.equal[i] {
			away = 0
		}
		near.B, near.Equal = append(near.B, math.Max(0, away)), append(near.Equal, r.equal[i])
	}
	s := qp.Solve(near, nil)
	if s.Status != qp.Solved {
		return nil
	}
	lambda := make([]float64, r.rows.Rows)
	for k, i := range of {
		if lambda[i] = s.Lambda[k] * out.Terms; !r.equal[i] {
			lambda[i] = math.Max(0, lambda[i])
		}
	}
	copy(out.Lambda, lambda)
	rest := append([]float64(nil), g...)
	r.rows.AddMulVecT(rest, -1, lambda)
	for j := range out.Upper {
		// What is left at a bound is its own.
		if b := s.Bound[j]; b != 0 && b*rest[j] < 0 {
			out.Upper[j], rest[j] = -rest[j], 0
		}
	}
	out.Norm = norm(rest)
	for i := range r.p.X.Kind {
		r.p.X.E.AddRow(out.Upper, i, lambda[r.p.Rows.Len()+i])
	}
	return out
}

// beyond is a distance that no step of length 1 comes near.
const beyond = 2

func norm(v []float64) float64 {
	s := 0.0
	for _, t := range v {
		s += t * t
	}
	return math.Sqrt(s)
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i, t := range a {
		s += t * b[i]
	}
	return s
}
