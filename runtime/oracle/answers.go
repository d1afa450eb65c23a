package oracle

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/tolerance"
)

// byAnswers adds to dst what the follower's answer brings, as addition of v: by differences of the answers to
// x beside at.X, on its face, in each entry of x. Where the curvatures of g are far apart (lower.Solution.RoundingBound) y
// itself is known to rounding, but the gradients of g, which other differences are of, are not: what
// rounding leaves of y along a steep direction is a large force. Where g is quadratic in (x, y) such
// a difference is exact over any step; elsewhere it is extrapolated. It returns an estimate of the error, and
// false where answers are not known that way, and has then added nothing.
func byAnswers(ctx context.Context, dst []float64, at *At, v *adjointRHS) (error float64, ok bool, err error) {
	p := at.Problem
	// 16 is the number of entries of x up to which a gradient is made of answers to other x: beyond it their solves cost more than the one
	// of a perturbed g.
	if !(at.Lower.RoundingBound > 0) || !p.Facts.QuadraticInY || p.Dx > 16 {
		return 0, false, nil
	}
	face := lower.NewFaceSolver()
	defer face.Release()
	x, part := slices.Clone(at.X), make([]float64, p.Dx)
	sizes := extents(p, at.X)
	size := 0.0 // of what is differenced, and its rounding
	var roundingBound float64
	moved := func(j int, to float64) (float64, bool) {
		x[j] = at.X[j] + to
		s := face.OnFace(ctx, p, lower.G(p, x), x, at.held(), at.Lower)
		x[j] = at.X[j]
		if s.Status != lower.Solved || !(s.RoundingBound > 0) {
			return 0, false
		}
		value := linalg.Dot(v.q, s.Y)
		size, roundingBound = math.Max(size, linalg.Norm(v.q)*linalg.Norm(s.Y)), math.Max(roundingBound, linalg.Norm(v.q)*s.RoundingBound)
		for i, w := range v.w {
			value += w * s.Lambda[i]
			size = math.Max(size, math.Abs(w*s.Lambda[i]))
		}
		return value, true
	}
	for j := range part {
		room := math.Max(math.Abs(at.X[j]), sizes[j])
		if room == 0 {
			room = 1
		}
		best := math.Inf(1)
		for step := room / tolerance.Shorten; best > tolerance.Target*math.Abs(part[j]) && step > tolerance.HalfDigits*room; step /= tolerance.Shorten {
			size, roundingBound = 0, 0
			long, ok := difference(moved, j, step, at.X[j], p.X.Lo[j], p.X.Hi[j])
			short, also := difference(moved, j, step/2, at.X[j], p.X.Lo[j], p.X.Hi[j])
			if ctx.Err() != nil {
				return 0, false, context.Cause(ctx)
			}
			if !ok || !also {
				return 0, false, nil
			}
			// Three times more: the next terms, if they fall like the first.
			off := math.Abs(long-short) + 16*(roundingBound+tolerance.SumRounding*size)/step
			if off < best {
				best, part[j] = off, (4*short-long)/3
			}
		}
		error = math.Hypot(error, best)
	}
	if !(error < math.Inf(1)) {
		return 0, false, nil
	}
	direct := linalg.Norm(dst)
	linalg.Axpy(dst, 1, part)
	at.Terms = direct + linalg.Norm(part)
	return error + tolerance.FewRoundings*linalg.Norm(dst), true, nil
}

// difference is that of a function of entry j of x, to second order: central where there is room
// within the bounds of x, or none on either side, and else over one side.
func difference(of func(j int, to float64) (float64, bool), j int, step, x, lo, hi float64) (float64, bool) {
	up, down := x+2*step <= hi, x-2*step >= lo
	values := func(at ...float64) ([]float64, bool) {
		out := make([]float64, len(at))
		for k, t := range at {
			var ok bool
			if out[k], ok = of(j, t); !ok {
				return nil, false
			}
		}
		return out, true
	}
	if up == down {
		v, ok := values(step, -step)
		if !ok {
			return 0, false
		}
		return (v[0] - v[1]) / (2 * step), true
	}
	if down {
		step = -step
	}
	v, ok := values(0, step, 2*step)
	if !ok {
		return 0, false
	}
	return (4*v[1] - 3*v[0] - v[2]) / (2 * step), true
}
