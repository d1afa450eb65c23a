package curvature

import (
	"math"
	"slices"
)

// effort says how near to the least eigenvalue of a block of several columns a bound
// is to come.
type effort struct {
	// give is the part of the eigenvalue that a bound for a large block may lose,
	// which usually saves all factorizations but one.
	give float64
	// again asks for the cheapest proof first, of a bound that loses half of the
	// eigenvalue at most: it is that of a claim which was proved with other numbers.
	again bool
	// before is what the earlier proof found, at which a cheap one begins.
	before extreme
}

// Orders up to which the eigenvalues themselves cost no more than a cheap proof, and
// the length of its recurrence. The spectra of random matrices, whose ends are dense,
// are told to a fifth of their width by thirty steps at any order.
const (
	smallOrder   = 40
	recheckSteps = 30
)

// recheck bounds the smallest eigenvalue of the symmetric n x n matrix a from below by
// one factorization as a rule, at most three. A Rayleigh quotient t, which is above the
// eigenvalue, says where to try, and what is lost: the bound is at least
// t - |t|/2, or else recheck is not ok.
func recheck(a []float64, n int, e effort, cols []int, work *budget) (out extreme, ok bool) {
	if !work.spend(2 * recheckSteps * float64(n) * float64(n+2*recheckSteps)) {
		return out, false
	}
	var start []float64
	if slices.Equal(e.before.cols, cols) {
		start = e.before.vector
	}
	out.cols = cols
	out.estimate, out.vector, _ = lanczos(n, recheckSteps, start, productWith(a, n))
	if !finiteNumber(out.estimate) || out.estimate == 0 {
		return out, false
	}
	within := func(part float64) float64 { return out.estimate - part*math.Abs(out.estimate) }
	// The bound itself is below the shift, by rounding.
	const nearly, half = 0.1, 0.49
	if low := e.before.bound; low > 0 && within(half) > low {
		// The estimate has not come down to where the eigenvalue was: either it has
		// risen, or there is more below. From below the spectrum the inverse tells.
		bound, factor, certified := certify(a, n, (1-nearly)*low, work)
		if !certified || !work.spend(2*inverseSteps*float64(n)*float64(n+inverseSteps)) {
			return out, false
		}
		out.estimate, out.vector, _ = inverseIteration(a, n, factor, out.vector)
		if out.bound = bound; bound >= within(half) {
			return out, true
		}
	}
	for _, part := range []float64{nearly, half} {
		if bound, _, certified := certify(a, n, within(part), work); certified {
			out.bound = bound
			return out, bound >= within(0.5)
		}
	}
	return out, false
}
