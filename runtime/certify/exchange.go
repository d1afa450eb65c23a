package certify

import (
	"bilevelc/internal/each"
)

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

// worthFactors reports that systems by products have taken as many of them as the factors take
// gradients, and so many each that factors solve a system sooner however little a product
// costs: with its step of refinement such a solve reads six times the n^2 entries of H.
func (e *exchange) worthFactors(n int) bool {
	return e.products >= n && e.read >= 6*float64(n)*float64(n)*float64(e.solves)
}

// stepRead is how many numbers a step of MINRES reads at the least, of n entries of y and general rows of so many
// nonzeros: some fifteen vectors of n, a g of n terms among them, and the rows twice.
func stepRead(n, nonzeros int) float64 { return 15*float64(n) + 2*float64(nonzeros) }

// traded is the same matrix with factors, once that has become worth while; else nil.
func (h *hessian) traded() *hessian {
	e := h.exchange
	if e == nil {
		return nil
	}
	if !e.tried && e.worthFactors(h.p.Dy) {
		e.tried = true
		direct := &hessian{p: h.p, g: h.g, s: h.s, x: h.x, y: h.y, base: h.base}
		if direct.build([][]int{each.Number(h.p.Dy)}, h.p.Dy) == nil {
			e.direct = direct
		}
	}
	return e.direct
}
