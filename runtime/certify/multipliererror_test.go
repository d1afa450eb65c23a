package certify

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// The errors of multipliers cover what these are off by, however rows and entries of y are scaled, and are no more than what the entries leave next to the condition of the rows; a multiplier of a row with small coefficients
// among larger ones is found to be positive.
func TestMultiplierErrors(t *testing.T) {
	rng := members.Rand(t, 51)
	off := 0
	for c := range 200 {
		n := 4 + rng.IntN(20)
		k := 1 + rng.IntN(n/2)
		scale := func() float64 { return math.Pow(10, float64(c%3)*(4*rng.Float64()-2)) }
		columns := make([]float64, n)
		for j := range columns {
			columns[j] = scale()
		}
		rows := &problem.Rows{A: sparse.FromEntries(k+1, 1, nil), Rhs: make([]float64, k+1), Kind: make([]problem.Kind, k+1)}
		entries, lambda, force, grad := []sparse.Entry{}, make([]float64, k+1), make([]float64, n), make([]float64, n)
		for i := range k + 1 { // the last has no multiplier
			row := scale()
			if i < k {
				lambda[i] = (0.5 + rng.Float64()) / row
			}
			for j := range n {
				v := rng.NormFloat64() * row * columns[j]
				if (i+j)%5 == 0 {
					v *= 1e-9
				}
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
				grad[j] += v * lambda[i]
			}
		}
		rows.B = sparse.FromEntries(k+1, n, entries)
		for j := range force {
			force[j] = 1e4 * math.Abs(columns[j]) // its terms cancel
		}
		g := formula(func(dx, dy, x, y []float64) float64 {
			copy(dy, grad)
			clear(dx)
			return 0
		})
		wrong := append([]float64(nil), lambda...)
		relative := []float64{0, 1e-12, 1e-3}[c%4%3]
		for i := range k {
			wrong[i] *= 1 + relative*rng.NormFloat64()
		}
		v := &verification{doc: &Document{X: []float64{0}, Y: make([]float64, n), Lambda: wrong}, p: &problem.Problem{Dx: 1, Dy: n, G: g, Rows: rows}, d: &deriver{g: g}}
		errs := v.multiplierErrors(force)
		if !math.IsInf(errs[k], 1) {
			t.Errorf("case %d: a multiplier of 0 has the error %g", c, errs[k])
		}
		for i := range k {
			if d := math.Abs(wrong[i] - lambda[i]); d > errs[i] {
				t.Errorf("case %d: multiplier %d is off by %g, not %g", c, i, d, errs[i])
			}
			if !(errs[i] > 0) {
				t.Errorf("case %d: no error", c)
			}
			if relative < 1e-3 && errs[i] > 1e-6*lambda[i] {
				off++
			}
		}
	}
	if off > 40 { // of some 700: rows that are near to dependent
		t.Errorf("%d errors are large", off)
	}
	// Rows that depend on each other to rounding, or nearly so, say nothing of each other's multipliers.
	for c := range 50 {
		const n = 6
		rows := &problem.Rows{A: sparse.FromEntries(3, 1, nil), Rhs: make([]float64, 3), Kind: make([]problem.Kind, 3)}
		entries, u, w := []sparse.Entry{}, 1+rng.Float64(), -1-rng.Float64()
		for j := range n {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			for i, v := range [3]float64{a, b, u*a + w*b + float64(c%2)*1e-7*rng.NormFloat64()} {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
			}
		}
		rows.B = sparse.FromEntries(3, n, entries)
		g := formula(func(dx, dy, x, y []float64) float64 { rows.B.AddMulVecT(dy, 1, []float64{1, 1, 1}); return 0 })
		v := &verification{doc: &Document{X: []float64{0}, Y: make([]float64, n), Lambda: []float64{1, 1, 1}}, p: &problem.Problem{Dx: 1, Dy: n, G: g, Rows: rows}, d: &deriver{g: g}}
		for i, e := range v.multiplierErrors([]float64{3, 3, 3, 3, 3, 3}) {
			if !math.IsInf(e, 1) {
				t.Errorf("multiplier %d of dependent rows has the error %g", i, e)
			}
		}
	}
}

// A row of many entries, some of which are small: its multiplier is positive beyond doubt, and it is no biactive one.
func TestSmallEntriesSayLittle(t *testing.T) {
	rng := members.Rand(t, 52)
	for c := range 40 {
		n := 30
		entries, grad := []sparse.Entry{}, make([]float64, n)
		for j := range n {
			v := rng.NormFloat64()
			if j == 3 {
				v = 1e-7
			}
			entries = append(entries, sparse.Entry{Row: 0, Col: j, Val: v})
			grad[j] = 2 * v
		}
		q := make([]float64, n)
		for j := range q {
			q[j] = 1e5 * rng.NormFloat64()
		}
		// g = |y|^2/2 + (grad + (1 - x) q)'y at x = 1 and y = 0: forces of 1e5 cancel.
		g := formula(func(dx, dy, x, y []float64) float64 {
			s := 0.0
			clear(dx)
			for j, t := range y {
				s += t*t/2 + (grad[j]+(1-x[0])*q[j])*t
				dx[0] -= q[j] * t
				dy[j] = t + grad[j] + (1-x[0])*q[j]
			}
			return s
		})
		p := &problem.Problem{Dx: 1, Dy: n, F: g, G: g, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			Rows:  &problem.Rows{A: sparse.FromEntries(1, 1, nil), Rhs: []float64{0}, Kind: make([]problem.Kind, 1), B: sparse.FromEntries(1, n, entries)},
			Facts: problem.Facts{StrongConvexity: 1, Convex: true, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true}}
		x, y, lambda := []float64{1}, make([]float64, n), []float64{2}
		v := &verification{doc: &Document{X: x, Y: y, Lambda: lambda}, p: p, d: newDeriver(p, x, y, lambda)}
		if at := v.pointOfSystem(); !(at.mult[0] > tolerance.Parted) {
			t.Errorf("case %d: the multiplier counts for %g", c, at.mult[0])
		}
	}
}
