package activeset

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// Onto moves a point z (len N, in units in which entries are about 1) onto the rows of a that the bounds hold, to the rounding of their own terms where those vanish: entries that are at a bound but
// for rounding, or beyond it by what a solver tolerates, are put there, rows as well, and the others take the least change that the equations need. z stays as it is.
func (b *Bounds) Onto(a *sparse.CSR, z []float64) []float64 {
	at := append([]float64(nil), z...)
	free, beyond := make([]bool, len(at)), make([]float64, len(at))
	for j, t := range at {
		beyond[j] = math.Max(0, math.Max(b.Lo[j]-t, t-b.Hi[j]))
		switch near := tolerance.Feasibility * math.Max(1, math.Abs(t)); {
		case t-b.Lo[j] <= near:
			at[j] = b.Lo[j]
		case b.Hi[j]-t <= near:
			at[j] = b.Hi[j]
		default:
			free[j] = true
		}
	}
	holds, side := make([]bool, a.Rows), make([]float64, a.Rows)
	terms := func(i int, x []float64) float64 { return a.AddTerms(0, i, x) }
	for i := range holds {
		value := a.RowDot(i, at)
		lo, hi := value-b.RowLo[i], b.RowHi[i]-value
		if side[i] = b.RowLo[i]; hi < lo {
			side[i] = b.RowHi[i]
		}
		holds[i] = b.RowLo[i] == b.RowHi[i] || math.Min(lo, hi) <= tolerance.Feasibility*terms(i, at)
	}
	r := make([]float64, a.Rows)
	classes, place := sparse.NewClasses(len(at)), slices.Repeat([]int{-1}, len(at))
	moving := make([]int, a.Rows) // of each row that holds: the first entry of it that may move, or -1
	for i, h := range holds {
		moving[i] = -1
		for j := range a.Nonzeros(i) {
			if h && free[j] {
				if moving[i] < 0 {
					moving[i] = j
				}
				classes.Join(moving[i], j)
			}
		}
	}
	of, count := classes.Number(len(at))
	parts := make([][]int, count) // the rows, by the classes of what they join
	for i, j := range moving {
		if j >= 0 {
			parts[of[j]] = append(parts[of[j]], i)
		}
	}
	// solve adds the least change that the equations need to x.
	solve := func(x []float64) {
		for _, rows := range parts {
			if !slices.ContainsFunc(rows, func(i int) bool { return r[i] != 0 }) {
				continue
			}
			var entries []int
			for _, i := range rows {
				for j := range a.Nonzeros(i) {
					if free[j] && place[j] < 0 {
						place[j] = len(entries)
						entries = append(entries, j)
					}
				}
			}
			m := a.Part(rows, place, len(entries))
			d, rest := each.Of(entries, func(j int) float64 { return x[j] }), each.Of(rows, func(i int) float64 { return r[i] })
			back := func(dst, r []float64) {
				clear(dst)
				m.AddMulVecT(dst, 1, r)
			}
			sparse.LeastSquares(d, rest, 2*min(len(entries), len(rows)), m.MulVec, back, func(before, now float64) bool { return now <= 0x1p-104*before }) // twice what it takes without rounding; a double's last place, squared
			for k, j := range entries {
				x[j], place[j] = d[k], -1
			}
		}
	}
	residual := func(x []float64) (worst float64) {
		for i := range r {
			r[i] = 0
			if holds[i] {
				r[i] = side[i] - a.RowDot(i, x)
				if math.Abs(r[i]) <= float64(a.Ptr[i+1]-a.Ptr[i]+1)*0x1p-53*terms(i, x) {
					r[i] = 0 // rounding of the sum, which a long way along directions that hardly change any row would lower, too
				}
			}
			worst = math.Max(worst, math.Abs(r[i]))
		}
		return worst
	}
	before, carried := residual(z), 0.0 // what entries beyond their bounds hide
	for i, h := range holds {
		if h {
			carried = math.Max(carried, terms(i, beyond))
		}
	}
	best, least := at, residual(at)
	x := append([]float64(nil), at...)
	for range 2 { // the second round takes what the rounding of the first has left
		residual(x)
		solve(x)
		for j := range x {
			if math.Abs(x[j]) <= tolerance.Feasibility*math.Abs(best[j]) { // all of it was to go
				x[j] = 0
			}
			x[j] = math.Min(math.Max(x[j], b.Lo[j]), b.Hi[j])
		}
		worst := residual(x)
		if !(worst < least) {
			break
		}
		best, least = append([]float64(nil), x...), worst
	}
	if least > before+carried { // what is at a bound was not
		return z
	}
	// settled puts what elimination leaves of 0 there, beside the unit, and the other entries onto the rows.
	settled := func(at []float64) []float64 {
		for j, t := range at {
			if math.Abs(t) <= tolerance.FewRoundings {
				at[j], free[j] = 0, false
			}
		}
		worst, next := residual(at), append([]float64(nil), at...)
		if worst == 0 {
			return at
		}
		solve(next)
		for j, t := range next {
			next[j] = math.Min(math.Max(t, b.Lo[j]), b.Hi[j])
		}
		if residual(next) < worst {
			return next
		}
		return at
	}
	best = settled(best)
	// Terms that cancel leave an entry to their rounding, which may be on the other side of a tie: of the points within it the one at hand is to be the solution in twice the digits, rounded.
	low, known := make([]float64, len(best)), make([]float64, len(best))
	for range 2 {
		for i := range r {
			if r[i] = 0; holds[i] {
				r[i] = left(a, i, side[i], best, low)
			}
		}
		solve(low)
	}
	for i, h := range holds {
		if h {
			for j, v := range a.Entries(i) {
				known[j] = math.Max(known[j], tolerance.SumRounding*math.Max(math.Abs(side[i]), terms(i, best))/math.Abs(v))
			}
		}
	}
	near := append([]float64(nil), best...)
	within := true
	for j, t := range low {
		within = within && math.Abs(t) <= known[j]
		near[j] = math.Min(math.Max(near[j]+t, b.Lo[j]), b.Hi[j])
	}
	over := func(i int, x []float64) float64 {
		value := a.RowDot(i, x)
		return math.Max(b.RowLo[i]-value, value-b.RowHi[i])
	}
	for i := range holds { // a row whose terms are small beside those that others have is met by them, not to the rounding of others
		within = within && over(i, near) <= math.Max(over(i, best), tolerance.SumRounding*math.Max(math.Abs(side[i]), terms(i, near)))
	}
	if within && residual(near) <= least { // else directions that hardly change any row have taken it away
		best = near
	}
	return settled(best)
}

// left is what side is above the product of row i with x + low, in twice the digits of a double (Ogita, Rump and Oishi 2005).
func left(a *sparse.CSR, i int, side float64, x, low []float64) float64 {
	sum, rest := a.AddDot(side, -1, i, x)
	return sum + (rest - a.RowDot(i, low))
}
