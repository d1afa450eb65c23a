package linalg

// Refinement improves solutions of linear systems. The zero value is ready; it is not safe for
// concurrent use.
type Refinement struct{ rest, before []float64 }

// Refine improves x, an approximate solution of M x = b, by solves with K, a
// matrix near M: residual sets r to b - M x, and solve its first argument to the solution of
// K x = r, in place. It stops where a step no longer
// halves the residual's largest entry, after at most `steps`, or where that is at
// most `enough`, and returns it; x is the best seen.
func (f *Refinement) Refine(x []float64, solve, residual func(r, x []float64), steps int, enough float64) float64 {
	if cap(f.rest) < len(x) {
		f.rest, f.before = make([]float64, len(x)), make([]float64, len(x))
	}
	r, before := f.rest[:len(x)], f.before[:len(x)]
	residual(r, x)
	least := NormInf(r)
	for step := 0; step < steps && least > enough; step++ {
		copy(before, x)
		solve(r, r)
		for i, d := range r {
			x[i] += d
		}
		residual(r, x)
		now := NormInf(r)
		if !(now < least) {
			copy(x, before)
			break
		}
		stalled := now > least/2
		least = now
		if stalled {
			break
		}
	}
	return least
}
