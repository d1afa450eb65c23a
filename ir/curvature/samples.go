package curvature

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
)

// feasibleTolerance is how far sampled points may be outside of a row, relative to its size
// and right-hand side.
const feasibleTolerance = 1e-9

// sampleScale is the size of sampled entries that no set bounds.
const sampleScale = 4

// upperSample is a point of X: the start, the middle, the corners of its box,
// then random corners and random points, each moved into X.
func (pr *prover) upperSample(k int, random *rand.Rand, work *budget) ([]float64, bool) {
	x := make([]float64, pr.Upper.Dim)
	for i, r := range pr.everywhere.x {
		r = r.meet(Interval{-sampleScale, sampleScale}.add(point(r.middle())))
		switch {
		case k == 0:
			x[i] = r.middle()
		case k == 1:
			x[i] = r.Lo
		case k == 2:
			x[i] = r.Hi
		case k%2 == 1 && random.IntN(2) == 0:
			x[i] = r.Lo
		case k%2 == 1:
			x[i] = r.Hi
		default:
			x[i] = r.Lo + random.Float64()*(r.Hi-r.Lo)
		}
	}
	if k == 3 && len(pr.Start) == len(x) {
		copy(x, pr.Start)
	}
	rows := halfspaces{m: pr.X.E, rhs: pr.X.Rhs, sign: 1, equal: func(i int) bool { return pr.X.Rows[i].Equal }}
	return x, rows.project(x, work, func() {
		for i, r := range pr.everywhere.x {
			x[i] = min(max(x[i], r.Lo), r.Hi)
		}
		for _, b := range pr.X.Balls {
			v := pr.Upper.Vars[b.Var]
			part := x[v.Offset : v.Offset+v.Shape.Len()]
			if size := math.Sqrt(floats.Dot(part, part)); size > b.Radius {
				floats.Scale(b.Radius/size, part)
			}
		}
		pr.X.Extended.Each(x, none, func(i int, excess, _ float64) {
			if normal, h := pr.X.Extended.Cut(i, x); h > 0 {
				if size := floats.Dot(normal, normal); size > 0 {
					for j, v := range normal {
						x[j] -= h / size * v
					}
				}
			}
		})
	}) && pr.extendedHolds(x)
}

// none is the size of an entry that does not count.
func none(int) float64 { return 0 }

// extendedHolds reports whether the rows of X on further variables hold at x.
func (pr *prover) extendedHolds(x []float64) bool {
	holds := true
	pr.X.Extended.Each(x, func(j int) float64 { return math.Abs(x[j]) }, func(_ int, excess, terms float64) {
		holds = holds && excess <= feasibleTolerance*terms
	})
	return holds
}

// lowerSample is a y that the lower level's rows admit at x: the middle of its
// box, then points with some entries at the ends, each moved onto the rows.
func (pr *prover) lowerSample(k int, x []float64, random *rand.Rand, work *budget) ([]float64, bool) {
	y := make([]float64, pr.Lower.Dim)
	for j, r := range pr.feasible.y {
		r = r.meet(Interval{-sampleScale, sampleScale}.add(point(r.middle())))
		switch pick := random.IntN(4); {
		case k == 0:
			y[j] = r.middle()
		case pick == 0:
			y[j] = r.Lo
		case pick == 1:
			y[j] = r.Hi
		default:
			y[j] = r.Lo + random.Float64()*(r.Hi-r.Lo)
		}
	}
	// A x - B y <= b: the rows of -B with right-hand side b - A x.
	rhs := each.Below(len(pr.Rows), func(i int) float64 { return pr.Rhs[i] - pr.A.RowDot(i, x) })
	rows := halfspaces{m: pr.B, rhs: rhs, sign: -1, equal: func(i int) bool { return pr.Rows[i].Equal }}
	return y, rows.project(y, work, func() {})
}

// halfspaces are rows sign m_i z <= rhs_i, or = where equal.
type halfspaces struct {
	m     *sparse.CSR
	rhs   []float64
	sign  float64
	equal func(i int) bool
}

// project moves z into the set by cyclic projections, between which others
// projects onto the rest of it, and reports success: no row violated by more
// than feasibleTolerance, within the budget.
func (h halfspaces) project(z []float64, work *budget, others func()) bool {
	others()
	const rounds = 400
	for range rounds {
		if !work.spend(6 * float64(len(h.m.Val))) { // two products, and a correction
			return false
		}
		worst := 0.0
		for i := range h.m.Rows {
			_, vals := h.m.Row(i)
			size := floats.Dot(vals, vals)
			if size == 0 {
				continue
			}
			gap := h.sign*h.m.RowDot(i, z) - h.rhs[i]
			if gap <= 0 && !h.equal(i) {
				continue
			}
			worst = max(worst, math.Abs(gap)/(math.Sqrt(size)+math.Abs(h.rhs[i])))
			h.m.AddRow(z, i, -h.sign*gap/size)
		}
		if worst <= feasibleTolerance {
			others()
			return true
		}
		others()
	}
	return false
}
