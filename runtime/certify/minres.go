package certify

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/tolerance"
)

var errProducts = errors.New("the linear system of the face was not solved to working accuracy by products")

// products solves for the free entries and the general rows by MINRES (Paige
// and Saunders 1975) with products H v. Memory and the work of an iteration are
// linear in the entries and the nonzeros of the rows.
type products struct {
	*boundPart
	h       *hessian
	direct  componentSystem // the same system with factors, see exchange; nil: not yet
	refused bool            // there is none
}

// amplification is that of a row on one entry, whose multiplier is what is left of the
// first line: the largest curvature over the typical one. A hundredfold is
// allowed for.
func (s *products) amplification() float64 { return 100 }

func (s *products) give(k int) float64 {
	n := s.h.s.normB[s.index[k]]
	return n * n / orOne(s.h.s.stiff)
}

// least is the proved modulus, which the verification checks apart, or what a
// system that products can solve has at the least.
func (s *products) least() float64 {
	return math.Max(s.h.p.Facts.StrongConvexity, 1e-8*orOne(s.h.s.stiff))
}

// solve takes the system with factors where that is worth while and the same rows are
// independent by it.
func (s *products) solve(a, b []float64, refined bool) (u, v []float64, err error) {
	if h := s.h.traded(); h != nil && s.direct == nil && !s.refused {
		direct, err := h.componentSystem(0, s.index)
		if s.refused = err != nil || !slices.Equal(direct.rows(), s.index); !s.refused {
			s.direct = direct
		}
	}
	if s.direct != nil {
		return s.direct.solve(a, b, refined)
	}
	return s.once(a, b)
}

func (s *products) mul(dst, v []float64) { s.h.mul(dst, v) }

func (s *products) inFree(a, b []float64) (u, v []float64, err error) {
	n, rows, norms := len(a), s.p.Rows.B, s.h.s.normB
	if e := s.h.exchange; e != nil {
		e.solves++
	}
	// Unknowns in units that make H and the rows about one.
	size := 1 / math.Sqrt(orOne(s.h.s.stiff))
	rhs, nonzeros := append(scaled(a, size), b...), 0
	for g, k := range s.general {
		rhs[n+g] /= norms[s.index[k]] * size
		cols, _ := rows.Row(s.index[k])
		nonzeros += len(cols)
	}
	step, image := make([]float64, len(s.entries)), make([]float64, len(s.entries))
	z, ok := minres(func(dst, z []float64) {
		if e := s.h.exchange; e != nil {
			// What a step of MINRES reads at the least, of the entries of y and general rows of so many
			// nonzeros: some fifteen vectors, a g of as many terms among them, and the rows twice.
			e.read += 15*float64(len(s.entries)) + 2*float64(nonzeros)
		}
		for r, j := range s.free {
			step[j] = z[r]
		}
		s.h.mul(image, step)
		for r := range image {
			image[r] *= size * size
		}
		for g, k := range s.general {
			i := s.index[k]
			rows.AddRow(image, i, z[n+g]/norms[i])
			dst[n+g] = rows.RowDot(i, step) / norms[i]
		}
		for r, j := range s.free {
			dst[r] = image[j]
		}
	}, rhs)
	if !ok || !isFinite(z) {
		return nil, nil, errProducts
	}
	u, v = scaled(z[:n], size), z[n:]
	for g, k := range s.general {
		v[g] /= norms[s.index[k]] * size
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
	older, now := make([]float64, n), scaled(b, 1/beta)
	w, wOlder, image := make([]float64, n), make([]float64, n), make([]float64, n)
	phi, c, s, cOld, sOld := beta, 1.0, 0.0, 1.0, 0.0
	betaOld := 0.0
	for range min(tolerance.Steps, 10*n+10) {
		apply(image, now)
		alpha := floats.Dot(now, image)
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

// exchange is what hessians by products have in common that are one matrix at every x and y:
// where the systems of faces are not as well conditioned as products ask for, which shows in
// their number, they give way to factors.
type exchange struct {
	products int     // taken
	read     float64 // numbers, by the steps of MINRES around them
	solves   int     // systems solved by them
	tried    bool
	direct   *hessian // nil where there is none
}

// traded is the same matrix with factors, once that has become worth while; else nil.
func (h *hessian) traded() *hessian {
	e := h.exchange
	if e == nil {
		return nil
	}
	// Systems by products have taken as many of them as the factors take
	// gradients, and so many each that factors solve a system sooner however little a product
	// costs: with its step of refinement such a solve reads six times the n^2 entries of H.
	n := h.p.Dy
	if !e.tried && e.products >= n && e.read >= 6*float64(n)*float64(n)*float64(e.solves) {
		e.tried = true
		direct := &hessian{p: h.p, g: h.g, s: h.s, x: h.x, y: h.y, base: h.base}
		if direct.build([][]int{each.Number(n)}, n) == nil {
			e.direct = direct
		}
	}
	return e.direct
}
