package certify

import (
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// convexity shows that Q is positive semidefinite, one connected part at a time, or else finds the deficit of parts whose entries all
// have finite boxes, lo to hi. Where Q has squares that a proof adds, plain is Q without them.
func (t *treeObjective) convexity(plain [][]treeEntry, lo, hi []float64) {
	classes := sparse.NewClasses(len(t.q))
	for _, i := range t.curved {
		for _, e := range t.q[i] {
			classes.Join(i, e.col)
		}
	}
	for _, part := range classes.Members(len(t.q)) {
		if len(part) > 1 || len(t.q[part[0]]) > 0 {
			t.convexPart(part, plain, each.Of(part, func(j int) int { return exponent(max(square(t.q, j), square(plain, j)), hi[j]-lo[j]) }))
		}
	}
}

// midpoints is a symmetric matrix of intervals by the numbers in their middle. radius bounds the 2-norm of what these are off by, by their sums in a row, and trace is at least that of absolute values.
type midpoints struct {
	n             int
	mid, off      []float64 // n x n, and of each row
	radius, trace float64
	exact         bool
}

func newMidpoints(n int) *midpoints {
	return &midpoints{n: n, mid: make([]float64, n*n), off: make([]float64, n), exact: true}
}

func (m *midpoints) set(i, j int, v interval) {
	mid := v.mid()
	m.mid[i*m.n+j], m.exact = mid, m.exact && v.exact() && v.finite()
	m.off[i] = up(m.off[i] + up(math.Max(v.hi-mid, mid-v.lo)))
	if m.radius = math.Max(m.radius, m.off[i]); i == j {
		m.trace = up(m.trace + math.Abs(mid))
	}
}

// semidefinite shows that each of the matrices is positive semidefinite: in doubles, or the one that there is in rational numbers, whose digits grow with the size.
func (m *midpoints) semidefinite() bool {
	return definite(m.mid, m.n, m.trace, m.radius, 0) || m.exact && math.Pow(float64(m.n), 4) <= tolerance.Second && semidefiniteExactly(m.mid, m.n)
}

// square is the size of the coefficient of a column's square.
func square(q [][]treeEntry, j int) float64 {
	if j < len(q) {
		for _, e := range q[j] {
			if e.col == j {
				return e.val.size()
			}
		}
	}
	return 0
}

// exponent is that of the power of two in which a square with a coefficient has one next to 1; where it is 0, that next to the width of a box.
func exponent(coef, width float64) int {
	if coef > 0 {
		width = 1 / math.Sqrt(coef)
	}
	if !(width > 0) || math.IsInf(width, 1) {
		width = 1
	}
	_, e := math.Frexp(width)
	return e
}

// convexPart is convexity of a part, whose columns are measured in these powers of two, so that squares have coefficients next to 1, in Q or in plain: what rounding leaves open is as the largest of these in such units, and would be far more than all of a column that is small in others.
func (t *treeObjective) convexPart(part []int, plain [][]treeEntry, units []int) {
	n, at := len(part), places(part)
	m := newMidpoints(n)
	measured := func(k int, e treeEntry) interval {
		by := units[k] + units[at[e.col]]
		out := interval{math.Ldexp(e.val.lo, by), math.Ldexp(e.val.hi, by)}
		if math.Ldexp(out.lo, -by) != e.val.lo || math.Ldexp(out.hi, -by) != e.val.hi { // below the normal numbers
			out = interval{math.Nextafter(out.lo, math.Inf(-1)), math.Nextafter(out.hi, math.Inf(1))}
		}
		return out
	}
	for k, i := range part {
		for _, e := range t.q[i] {
			m.set(k, at[e.col], measured(k, e))
		}
	}
	if m.semidefinite() {
		return
	}
	trace := m.trace
	if plain != nil { // squares cancel what f has: their rounding is relative to that
		for k, i := range part {
			for _, e := range plain[i] {
				trace = up(trace + measured(k, e).size())
			}
		}
	}
	must.Be(trace > 0 && !math.IsInf(trace, 1), "the objective is not convex")
	// What a little of the identity makes definite lacks no more than that.
	for c := 16 * float64(n) * 0x1p-52 * trace; c <= 0x1p-30*trace; c *= 8 {
		if !definite(m.mid, n, trace, m.radius, c) {
			continue
		}
		for k, j := range part {
			t.deficit[j] = math.Ldexp(c, -2*units[k])
		}
		return
	}
	must.Be(false, "the objective is not shown to be convex")
}

// up is the next double above v.
func up(v float64) float64 {
	if v == 0 {
		return 0
	}
	return math.Nextafter(v, math.Inf(1))
}

// definite shows that each symmetric matrix within radius (a bound of the 2-norm) of mid + shift I is positive definite: the
// floating-point Cholesky factorization of it minus a bound of its own rounding ends (Rump 2006).
func definite(mid []float64, n int, trace, radius, shift float64) bool {
	eps := 0x1p-53
	// gamma_(n+1)/(1 - gamma_(n+1)) trace, and (4n + 2) n underflows, doubled for the roundings here.
	bound := 2*float64(n+2)*eps/(1-2*float64(n+2)*eps)*(trace+float64(n)*shift) + float64(n*(4*n+2))*0x1p-1074
	less := up(up(radius) + 2*bound)
	a := append([]float64(nil), mid...)
	for i := range n {
		a[i*n+i] = math.Nextafter(math.Nextafter(a[i*n+i]+shift, math.Inf(-1))-less, math.Inf(-1))
		for j := range i { // both triangles are one number up to the radius
			a[i*n+j] = mid[i*n+j]
		}
	}
	for i := range n {
		for j := range i + 1 { // its bound holds for sums in any order
			v := a[i*n+j] - floats.Dot(a[i*n:i*n+j], a[j*n:j*n+j])
			switch {
			case j < i:
				a[i*n+j] = v / a[j*n+j]
			case !(v > 0):
				return false
			default:
				a[i*n+i] = math.Sqrt(v)
			}
		}
	}
	return true
}

// semidefiniteExactly decides whether a symmetric matrix of doubles is positive semidefinite, by elimination with diagonal pivots in
// rational numbers.
func semidefiniteExactly(mid []float64, n int) bool {
	a := each.Below(n, func(i int) []*big.Rat { return each.Of(mid[i*n:i*n+n], rat) })
	left := each.Number(n)
	for len(left) > 0 {
		p := -1
		for k, i := range left {
			switch a[i][i].Sign() {
			case -1:
				return false
			case 1:
				if p < 0 || a[i][i].Cmp(a[left[p]][left[p]]) > 0 {
					p = k
				}
			}
		}
		if p < 0 { // the diagonal is zero: so must all be
			for _, i := range left {
				for _, j := range left {
					if a[i][j].Sign() != 0 {
						return false
					}
				}
			}
			return true
		}
		r := left[p]
		left = slices.Delete(left, p, p+1)
		factor, product := new(big.Rat), new(big.Rat)
		for _, i := range left {
			if a[i][r].Sign() == 0 {
				continue
			}
			factor.Quo(a[i][r], a[r][r])
			for _, j := range left {
				if a[r][j].Sign() != 0 {
					a[i][j].Sub(a[i][j], product.Mul(factor, a[r][j]))
				}
			}
		}
	}
	return true
}
