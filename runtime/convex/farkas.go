package convex

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Farkas looks for a proof that no y satisfies rows and bounds: lambda >= 0 on
// inequalities and z, with B'lambda + z = 0, such that r'lambda plus the
// bounds' share (lo_j z_j for z_j > 0, hi_j z_j else) is positive. It minimizes
// the sum of the squared violations of the rows, whose residuals are such a
// proof, with a little of the distance from the last point, of which a few rounds leave nothing. Load and Set must be called before, and again afterwards.
func (s *Solver) Farkas(ctx context.Context) (lambda, z []float64, found bool) {
	clear(s.quad.Val)
	for j := range s.y {
		s.quad.Val[s.kkt.Lower[s.kkt.Diagonal[j]]] = tolerance.HalfDigits
	}
	clear(s.y)
	for j := range s.y {
		if !math.IsInf(s.lo[j], 0) {
			s.y[j] = math.Max(0, s.lo[j])
		}
		if !math.IsInf(s.hi[j], 0) {
			s.y[j] = math.Min(s.y[j], s.hi[j])
		}
	}
	for range 6 {
		for j, v := range s.y {
			s.c[j] = -tolerance.HalfDigits * v
		}
		if !s.bound(ctx, 1, 1) {
			return nil, nil, false
		}
		if lambda, z, found = s.proof(); found {
			return lambda, z, true
		}
	}
	return nil, nil, false
}

// proof makes a proof of lambda, the violations, if it is one.
func (s *Solver) proof() (lambda, z []float64, found bool) {
	lambda, z = make([]float64, s.m), make([]float64, s.n)
	worst := linalg.NormInf(s.lambda)
	if worst == 0 {
		return nil, nil, false
	}
	for i, l := range s.lambda {
		// What the interior point leaves on rows that do not press.
		if s.active[i] && (s.equal[i] || l > 1e-9*worst) {
			lambda[i] = l
		}
	}
	s.subtractRowForces(z, lambda)
	gain, size, error := 0.0, 0.0, 0.0
	for i, l := range lambda {
		gain += s.r[i] * l
		size += math.Abs(s.r[i] * l)
	}
	for j, v := range z {
		bound := s.lo[j]
		if v < 0 {
			bound = s.hi[j]
		}
		if v == 0 || math.IsInf(bound, 0) {
			error = math.Max(error, math.Abs(v))
			z[j] = 0
			continue
		}
		gain += bound * v
		size += math.Abs(bound * v)
	}
	// 1e-6 is what B'lambda + z may be, relative to what the proof shows: an infeasibility that is to be trusted is not of the size of
	// rounding errors.
	if !(gain > tolerance.Sign*math.Max(size, worst)) || error*math.Max(1, s.size()) > 1e-6*gain || error > 1e-6*worst {
		return nil, nil, false
	}
	for i, f := range s.f {
		lambda[i] *= f
	}
	for j, e := range s.e {
		z[j] /= e
	}
	return lambda, z, true
}
