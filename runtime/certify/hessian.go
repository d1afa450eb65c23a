package certify

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

var (
	errCurvature = errors.New("the curvature of g in y, by differences of its gradient, is not positive definite along the equality rows")
	errFace      = errors.New("the rows of the face are dependent to working accuracy")
)

// hessian is the curvature of g in y at one point, by differences of grad_y g:
// dense for each block of y where all are small, else products.
type hessian struct {
	p      *problem.Problem
	g      problem.Function
	s      *scales
	x, y   []float64
	base   []float64 // grad_y g(x, y)
	blocks []*block  // nil where a block is too large

	sparse *sparse.CSR // H where it is used as sparse; blocks is nil then
	comps  []component // where there are factorizations, of blocks or sparse
	owner  []int       // of each entry of y: its component
	place  []int       // and its position there
	parts  map[string]componentSystem
	stored int // numbers that parts hold

	exchange *exchange // nil: products are all there is
}

// direct reports whether faces are factorized.
func (h *hessian) direct() bool { return h.blocks != nil || h.sparse != nil }

// divide sets the components.
func (h *hessian) divide(parts [][]int) {
	h.owner, h.place = make([]int, h.p.Dy), make([]int, h.p.Dy)
	for _, entries := range parts {
		if len(entries) == 0 {
			continue
		}
		k := len(h.comps)
		h.comps = append(h.comps, component{entries: entries})
		for r, j := range entries {
			h.owner[j], h.place[j] = k, r
		}
	}
	for i := range h.p.Rows.Kind {
		if cols, _ := h.p.Rows.B.Row(i); len(cols) > 0 {
			c := &h.comps[h.owner[cols[0]]]
			c.rows = append(c.rows, i)
		}
	}
}

// largest is a bound of the largest eigenvalue of H.
func (h *hessian) largest() float64 {
	top := slices.Max(append(each.Of(h.blocks, func(b *block) float64 { return b.top }), 0))
	if h.sparse != nil {
		for j := range h.p.Dy {
			_, vals := h.sparse.Row(j)
			top = math.Max(top, floats.Norm(vals, 1))
		}
	}
	return top
}

// newHessian looks at the curvature at (x, y).
func newHessian(p *problem.Problem, g problem.Function, s *scales, parts [][]int, x, y []float64) (*hessian, error) {
	h := &hessian{p: p, g: g, s: s, x: x, y: slices.Clone(y), base: gradY(g, x, y)}
	largest := slices.Max(append(each.Of(parts, func(entries []int) int { return len(entries) }), 0))
	if p.Facts.HessianPattern != nil && largest > tolerance.LeastSparse && h.trySparse(parts) {
		return h, nil
	}
	if largest > tolerance.DenseOrder {
		h.divide([][]int{each.Number(p.Dy)})
		return h, nil
	}
	return h, h.build(parts, largest)
}

// build makes the blocks, the largest of the given size, and factorizes them.
func (h *hessian) build(parts [][]int, largest int) error {
	h.divide(parts)
	for _, c := range h.comps {
		h.blocks = append(h.blocks, &block{p: h.p, entries: c.entries, place: h.place, h: mat.NewSymDense(len(c.entries), nil), lifts: map[int]lift{}})
	}
	block := func(j int) *block { return h.blocks[h.owner[j]] }
	h.curvature(h.place, largest, func(j int) []int { return block(j).entries }, func(i, j int, v float64) {
		if r, c := h.place[i], h.place[j]; r <= c {
			m := block(i).h
			m.SetSym(r, c, m.At(r, c)+v)
		}
	})
	for k, b := range h.blocks {
		if err := b.factorize(h.equal(k)); err != nil {
			return err
		}
	}
	return nil
}

// equal are the equality rows of the k-th component.
func (h *hessian) equal(k int) []int {
	return slices.DeleteFunc(slices.Clone(h.comps[k].rows), func(i int) bool { return h.p.Rows.Kind[i] != problem.Equal })
}

// hessian looks at the curvature at (x, y).
func (d *deriver) hessian(x, y []float64) (*hessian, error) {
	h, err := newHessian(d.p, d.g, d.s, d.parts, x, y)
	if err == nil && !h.direct() && d.p.Facts.QuadraticInY && d.p.Facts.FixedHessian && 4*d.p.Dy*d.p.Dy <= tolerance.MostNumbers { // four matrices of its size
		h.exchange = &d.exchange
	}
	return h, err
}

// leastAlong is an estimate of the least eigenvalue of the k-th component's H along its
// equality rows, from above.
func (h *hessian) leastAlong(k int) (float64, error) {
	p, err := h.componentSystem(k, h.equal(k))
	if err != nil {
		return 0, err
	}
	zero := make([]float64, len(p.rows()))
	return inverseIteration(len(h.comps[k].entries), func(v []float64) ([]float64, error) {
		u, _, err := p.solve(v, zero, true)
		return u, err
	})
}

// inverseIteration is the least eigenvalue of the matrix that solve inverts, from above.
func inverseIteration(n int, solve func(v []float64) ([]float64, error)) (float64, error) {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	v := drawn(rng, n)
	grown := 0.0
	for range 8 {
		size := norm(v)
		if size == 0 {
			break
		}
		var err error
		if v, err = solve(scaled(v, 1/size)); err != nil {
			return 0, err
		}
		grown = math.Max(grown, norm(v))
	}
	return 1 / grown, nil
}
