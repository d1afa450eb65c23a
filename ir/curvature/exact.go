package curvature

import (
	"math"
	"math/big"
	"slices"

	"bilevelc/internal/each"
)

// exactPart is w (a b' + b a')/2 with rows that are known exactly. The weight
// is exact too, or known to be positive with a = b, where its size does not
// matter to the null space.
type exactPart struct {
	w    float64
	a, b map[int]float64
}

// exactParts lists the parts of the Hessian at the point of a study; not ok
// where they are not exact enough for its null space.
func (s *study) exactParts() (parts []exactPart, ok bool) {
	ok = true
	positive, rounded := true, false
	row := func(j *jacobian, k int) map[int]float64 {
		out := map[int]float64{}
		j.visit(k, func(c int, v Interval) {
			ok = ok && v.isPoint()
			out[c] = v.Lo
		})
		return out
	}
	for _, t := range s.differentiate(false).terms {
		p := s.signed(&t, false)
		if t.square() {
			p.a = s.jacobianOf(t.arg)
			p.pairs = func(visit func(i, j, k int)) {
				for k := range p.a.rows {
					visit(k, k, k)
				}
			}
		}
		if p.a.unknown || p.b != nil && p.b.unknown {
			return nil, false
		}
		p.pairs(func(i, j, k int) {
			w := entry(t.w, k)
			if w.isZero() {
				return
			}
			ok = ok && !math.IsInf(w.Lo, 0) && !math.IsInf(w.Hi, 0)
			e := exactPart{w: w.Lo, a: row(p.a, i)}
			if e.b = e.a; !t.square() {
				e.w, e.b = 2*w.Lo, row(p.b, j)
				positive = false
			}
			if len(e.a) == 0 || len(e.b) == 0 {
				return
			}
			rounded = rounded || !w.isPoint() || len(t.w) == 1 && p.a.rows > 1
			positive = positive && w.Hi > 0
			if !w.isPoint() {
				e.w = 1
			}
			if ok {
				parts = append(parts, e)
			}
		})
	}
	// With inexact weights, J v = 0 for all rows is still enough where all
	// parts are squares: v' H v is a sum of weights times (a' v)^2.
	return parts, ok && (!rounded || positive)
}

// exactHessian adds the parts up in rational arithmetic.
func exactHessian(parts []exactPart, n int) [][]*big.Rat {
	h := each.Below(n, func(int) []*big.Rat { return each.Below(n, func(int) *big.Rat { return new(big.Rat) }) })
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	half := big.NewRat(1, 2)
	for _, p := range parts {
		w := new(big.Rat).Mul(rat(p.w), half)
		for i, a := range p.a {
			wa := new(big.Rat).Mul(w, rat(a))
			for j, b := range p.b {
				e := new(big.Rat).Mul(wa, rat(b))
				h[i][j].Add(h[i][j], e)
				h[j][i].Add(h[j][i], e)
			}
		}
	}
	return h
}

// nullVector solves m v = 0 by elimination and returns a solution of length 1
// (rounded), or nil where there is only 0. It changes m.
func nullVector(m [][]*big.Rat) []float64 {
	n := len(m)
	pivots, row := []int{}, 0
	isPivot := make([]bool, n)
	for c := 0; c < n && row < n; c++ {
		best := -1
		for i := row; i < n; i++ {
			if m[i][c].Sign() != 0 {
				best = i
				break
			}
		}
		if best < 0 {
			continue
		}
		m[row], m[best] = m[best], m[row]
		for i := range m {
			if i == row || m[i][c].Sign() == 0 {
				continue
			}
			ratio := new(big.Rat).Quo(m[i][c], m[row][c])
			for j := c; j < n; j++ {
				m[i][j].Sub(m[i][j], new(big.Rat).Mul(ratio, m[row][j]))
			}
		}
		pivots, isPivot[c] = append(pivots, c), true
		row++
	}
	free := slices.Index(isPivot, false)
	if free < 0 {
		return nil
	}
	v := unit(n, free)
	for i, c := range pivots {
		f, _ := new(big.Rat).Quo(m[i][free], m[i][c]).Float64()
		v[c] = -f
	}
	normalize(v)
	return v
}
