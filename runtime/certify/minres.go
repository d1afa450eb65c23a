package certify

import (
	"errors"
	"math"
	"slices"
	"sort"

	"bilevelc/runtime/tolerance"
)

// productSystem is the system of a face without factorization: entries that a
// row of a single entry holds are fixed, and the rest is solved by MINRES (Paige
// and Saunders 1975) with products H v. Memory and the work of an iteration are
// linear in the entries and the nonzeros of the rows.
type productSystem struct {
	h       *hessian
	index   []int
	held    map[int]int // entry of y -> position in index of the row that holds it
	coef    []float64   // of that row; 0 for a general row
	general []int       // positions in index of the other rows
	direct  faceSystem  // the same system with factors, see exchange; nil: not yet
	refused bool        // there is none

	adjoints map[int]adjoint // of rows, see deriver.adjoint
}

var errProducts = errors.New("the linear system of the face was not solved to working accuracy by products")

func newProductSystem(h *hessian, face []int) (*productSystem, error) {
	s := &productSystem{h: h, held: map[int]int{}, adjoints: map[int]adjoint{}}
	for _, i := range face {
		cols, _ := h.p.Rows.B.Row(i)
		j, coef := h.p.Rows.Bound(i)
		if len(cols) == 0 {
			continue
		}
		if j >= 0 {
			if _, twice := s.held[j]; twice {
				continue // the second row of one entry depends on the first
			}
			s.held[j] = len(s.index)
		} else {
			coef = 0
			s.general = append(s.general, len(s.index))
		}
		s.index = append(s.index, i)
		s.coef = append(s.coef, coef)
	}
	if len(s.index) > h.p.Dy {
		return nil, errFace
	}
	return s, nil
}

func (s *productSystem) rows() []int { return s.index }

// amplification is that of a row on one entry, whose multiplier is what is left of the
// first line: the largest curvature over the typical one. A hundredfold is
// allowed for.
func (s *productSystem) amplification() float64 { return 100 }

func (s *productSystem) give(k int) float64 {
	n := s.h.s.normB[s.index[k]]
	return n * n / orOne(s.h.s.stiff)
}

// least is the proved modulus, which the verification checks apart, or what a
// system that products can solve has at the least.
func (s *productSystem) least() float64 {
	return math.Max(s.h.p.Facts.StrongConvexity, 1e-8*orOne(s.h.s.stiff))
}

// trade makes the system one with factors where that is worth while and the same rows are
// independent by it.
func (s *productSystem) trade() {
	if h := s.h.traded(); h != nil && s.direct == nil && !s.refused {
		direct, err := newJointSystem(h, s.index)
		if s.refused = err != nil || !slices.Equal(direct.rows(), s.index); !s.refused {
			s.direct = direct
		}
	}
}

func (s *productSystem) solve(a, b []float64) (u, v []float64, err error) {
	if s.trade(); s.direct != nil {
		return s.direct.solve(a, b)
	}
	if e := s.h.exchange; e != nil {
		e.solves++
	}
	n := len(a)
	u, v = make([]float64, n), make([]float64, len(b))
	// Held entries first; what they do to the others moves to the right side.
	for j, k := range s.held {
		u[j] = b[k] / s.coef[k]
	}
	rows := s.h.p.Rows.B
	rest := append([]float64(nil), a...)
	hu := make([]float64, n)
	if maxAbs(u) > 0 {
		s.h.mul(hu, u)
		for j := range rest {
			rest[j] -= hu[j]
		}
	}
	size := 1 / math.Sqrt(orOne(s.h.s.stiff))
	// Unknowns in units that make H and the rows about one.
	m := len(s.general)
	rhs := make([]float64, n+m)
	for j := range n {
		if _, held := s.held[j]; !held {
			rhs[j] = rest[j] * size
		}
	}
	for r, k := range s.general {
		i := s.index[k]
		rhs[n+r] = (b[k] - rows.RowDot(i, u)) / s.h.s.normB[i] / size
	}
	step, image := make([]float64, n), make([]float64, n)
	nonzeros := 0
	for _, k := range s.general {
		cols, _ := rows.Row(s.index[k])
		nonzeros += len(cols)
	}
	apply := func(dst, z []float64) {
		if e := s.h.exchange; e != nil {
			e.read += stepRead(n, nonzeros)
		}
		for j := range n {
			step[j] = z[j]
		}
		s.h.mul(image, step)
		clear(dst)
		for j := range n {
			dst[j] = image[j] * size * size
		}
		for r, k := range s.general {
			i := s.index[k]
			rows.AddRow(dst[:n], i, z[n+r]/s.h.s.normB[i])
			dst[n+r] = rows.RowDot(i, z[:n]) / s.h.s.normB[i]
		}
		for j := range s.held {
			dst[j] = 0
		}
	}
	z, ok := minres(apply, rhs)
	if !ok {
		return nil, nil, errProducts
	}
	for j := range n {
		if _, held := s.held[j]; !held {
			u[j] = z[j] * size
		}
	}
	for r, k := range s.general {
		v[k] = z[n+r] / s.h.s.normB[s.index[k]] / size
	}
	// Multipliers of the held entries from what is left of the first line.
	s.h.mul(hu, u)
	for j := range rest {
		rest[j] = a[j] - hu[j]
	}
	for _, k := range s.general {
		rows.AddRow(rest, s.index[k], -v[k])
	}
	held := make([]int, 0, len(s.held))
	for j := range s.held {
		held = append(held, j)
	}
	sort.Ints(held)
	for _, j := range held {
		v[s.held[j]] = rest[j] / s.coef[s.held[j]]
	}
	if !isFinite(u) || !isFinite(v) {
		return nil, nil, errProducts
	}
	return u, v, nil
}

// minres solves A z = b for a symmetric A. It stops at 1e-10 of |b|, which the
// Newton iteration around it squares, or where it no longer gains; ok says
// whether a tenth was reached, with which that goes on.
func minres(apply func(dst, z []float64), b []float64) (z []float64, ok bool) {
	n := len(b)
	z = make([]float64, n)
	beta := norm(b)
	if beta == 0 {
		return z, true
	}
	start := beta
	older, now := make([]float64, n), make([]float64, n)
	for j := range b {
		now[j] = b[j] / beta
	}
	w, wOlder, image := make([]float64, n), make([]float64, n), make([]float64, n)
	phi, c, s, cOld, sOld := beta, 1.0, 0.0, 1.0, 0.0
	betaOld := 0.0
	for range min(tolerance.Steps, 10*n+10) {
		apply(image, now)
		alpha := dot(now, image)
		for j := range image {
			image[j] -= alpha*now[j] + betaOld*older[j]
		}
		betaNew := norm(image)
		// The last two rotations, then a new one.
		epsilon := sOld * betaOld
		deltaBar := cOld * betaOld
		delta := c*deltaBar + s*alpha
		gammaBar := -s*deltaBar + c*alpha
		gamma := math.Hypot(gammaBar, betaNew)
		if gamma == 0 {
			return z, math.Abs(phi) <= tolerance.Forcing*start
		}
		cOld, sOld = c, s
		c, s = gammaBar/gamma, betaNew/gamma
		for j := range w {
			next := (now[j] - delta*w[j] - epsilon*wOlder[j]) / gamma
			wOlder[j], w[j] = w[j], next
			z[j] += c * phi * next
		}
		phi *= -s
		if math.Abs(phi) <= tolerance.SolveAccuracy*start || betaNew <= 0x1p-50*math.Abs(alpha) {
			return z, math.Abs(phi) <= tolerance.Forcing*start
		}
		betaOld = betaNew
		for j := range image {
			older[j], now[j] = now[j], image[j]/betaNew
		}
	}
	return z, math.Abs(phi) <= tolerance.Forcing*start
}
