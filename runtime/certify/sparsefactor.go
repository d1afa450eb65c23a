package certify

import (
	"math"

	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"bilevelc/internal/sparse"
)

// sparseFactor is a factorization of a sparse H over the free entries, with the general rows that are independent.
type sparseFactor struct {
	*boundPart
	m         *sparse.CSR // H of all of y
	factor    *ldl
	unknown   []int   // the places of the general rows in the factor
	amplifies float64 // see amplification; 0: not yet
	small     float64 // see least; 0: not yet
}

// factorize notes in out the general rows that depend on others.
func (s *sparseFactor) factorize(general []int, out []bool) (err error) {
	at, of := places(s.free), len(s.free)
	near, vals := make([][]int, of+len(general)), make([][]float64, of+len(general))
	add := func(r, q int, v float64) { near[r], vals[r] = append(near[r], q), append(vals[r], v) }
	for r, j := range s.free {
		for i, v := range s.m.Entries(j) {
			if q, ok := at[i]; ok {
				add(r, q, v)
			}
		}
	}
	for g, i := range general {
		for j, v := range s.p.Rows.B.Entries(i) {
			if q, ok := at[j]; ok {
				add(of+g, q, v)
				add(q, of+g, v)
			}
		}
	}
	if s.factor, err = factorize(near, vals, of); err != nil {
		return err
	}
	for g := range general {
		if out[g] = s.factor.out[of+g]; !out[g] {
			s.unknown = append(s.unknown, of+g)
		}
	}
	return nil
}

// solve has one step of refinement, which makes the rounding of the factors less.
func (s *sparseFactor) solve(a, b []float64, refined bool) (u, v []float64, err error) {
	if u, v, err = s.once(a, b); err != nil || !refined {
		return u, v, err
	}
	du, dv, err := s.once(s.residual(a, b, u, v))
	if err != nil {
		return nil, nil, err
	}
	floats.Add(u, du)
	floats.Add(v, dv)
	return u, v, nil
}

func (s *sparseFactor) mul(dst, v []float64) {
	for r, j := range s.entries {
		sum := 0.0
		for i, a := range s.m.Entries(j) {
			sum += a * v[s.place[i]]
		}
		dst[r] = sum
	}
}

// least is that along the face, where no modulus is proved.
func (s *sparseFactor) least() float64 {
	if !(s.small > 0) {
		s.small = math.Inf(1)
		if len(s.free) > 0 {
			s.small, _ = inverseIteration(len(s.free), func(v []float64) ([]float64, error) {
				u, _, err := s.inFree(v, make([]float64, len(s.general)))
				return u, err
			})
		}
	}
	return s.small
}

// amplification is an estimate of the largest sum in a row of G N^-1 S^-1 N (Higham 1988), S = B H^-1 B' of the general rows, N their lengths and G the ways that they give: an error of
// one in u moves no row, in units of its length, by more than one, and multipliers by S^-1 times that.
func (s *sparseFactor) amplification() float64 {
	k := len(s.general)
	if s.amplifies > 0 || k == 0 {
		return math.Max(1, s.amplifies)
	}
	length, way := make([]float64, k), make([]float64, k)
	for g, i := range s.general {
		_, vals := s.p.Rows.B.Row(s.index[i])
		length[g] = norm(vals)
		way[g] = s.give(i) / length[g]
	}
	est := 0.0
	v, x, sign, save := make([]float64, k), make([]float64, k), make([]int, k), [3]int{}
	for kase := 0; ; {
		if est, kase = (lapack.Implementation{}).Dlacn2(k, v, x, sign, est, kase, &save); kase == 0 {
			break
		}
		before, behind := length, way
		if kase == 1 { // of the transposed matrix, whose columns are the rows
			before, behind = way, length
		}
		floats.Mul(x, before)
		_, solved, _ := s.inFree(make([]float64, len(s.free)), x)
		floats.MulTo(x, solved, behind)
	}
	s.amplifies = math.Max(1, est)
	return s.amplifies
}

func (s *sparseFactor) inFree(a, b []float64) (u, v []float64, err error) {
	w := make([]float64, len(s.factor.order))
	copy(w, a)
	for g, r := range s.unknown {
		w[r] = b[g]
	}
	s.factor.solve(w)
	return w[:len(a)], picked(w, s.unknown), nil
}

// give takes H as diagonal.
func (s *sparseFactor) give(k int) float64 {
	sum := 0.0
	for j, v := range s.p.Rows.B.Entries(s.index[k]) {
		sum += v * v / s.m.At(j, j)
	}
	return sum
}
