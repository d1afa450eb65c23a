package certify

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

var (
	errCurvature = errors.New("the curvature of g in y, by differences of its gradient, is not positive definite along the equality rows")
	errFace      = errors.New("the rows of the face are dependent to working accuracy")
)

// denseLimit is the size of a block of y up to which its Hessian is built and
// factorized at once: about a second. Larger ones are used through products.
const denseLimit = 600

// mostDense is the size up to which one that is the same everywhere is built and factorized
// after all, once as many products have been taken as that takes gradients: four matrices of
// 32 MB.
const mostDense = 2000

// worthFactors reports that systems by products have taken as many of them as the factors take
// gradients, and so many each that factors solve a system sooner however little a product
// costs: with its step of refinement such a solve reads six times the n^2 entries of H, and a
// step of MINRES some fifteen vectors of n at the least, a g of n terms among them.
func (e *exchange) worthFactors(n int) bool {
	return e.products >= n && 2*e.products >= n*e.solves
}

// exchange is what hessians by products have in common that are one matrix at every x and y:
// where the systems of faces are not as well conditioned as products ask for, which shows in
// their number, they give way to factors.
type exchange struct {
	products int // taken
	solves   int // systems solved by them
	tried    bool
	direct   *hessian // nil where there is none
}

// hessian is the curvature of g in y at one point, by differences of grad_y g:
// dense for each block of y where all are small, else products.
type hessian struct {
	p      *problem.Problem
	g      problem.Function
	s      *scales
	x, y   []float64
	base   []float64 // grad_y g(x, y)
	blocks []*block  // nil where a block is too large
	calls  int

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
		h.comps = append(h.comps, component{entries: entries, system: func(rows []int) (local, error) { return h.componentSystem(k, rows) }})
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

func (h *hessian) newPart(k int, rows []int) (componentSystem, error) {
	if h.sparse != nil {
		return newSparsePart(h, k, rows)
	}
	return newDensePart(h, h.blocks[k], rows)
}

// keep remembers a part, in a quarter of a gigabyte at most.
func (h *hessian) keep(key string, p componentSystem, n int) {
	const most = 1 << 25
	k := len(p.rows())
	if h.stored += (2*n + k) * k; h.stored > most || h.parts == nil {
		h.parts, h.stored = map[string]componentSystem{}, (2*n+k)*k
	}
	h.parts[key] = p
}

// largest is a bound of the largest eigenvalue of H.
func (h *hessian) largest() float64 {
	top := 0.0
	for _, b := range h.blocks {
		top = math.Max(top, b.top)
	}
	if h.sparse != nil {
		for j := range h.p.Dy {
			sum := 0.0
			_, vals := h.sparse.Row(j)
			for _, v := range vals {
				sum += math.Abs(v)
			}
			top = math.Max(top, sum)
		}
	}
	return top
}

// block is a part of y that g and the rows do not mix with others, with its
// Hessian H + rho E'E, where E are its equality rows: on any face, all of which
// hold them, that is the same KKT system with the right side moved by rho E'b,
// and it is positive definite where H is so along E only.
type block struct {
	entries []int
	place   map[int]int // entry of y -> position
	h       *mat.SymDense
	factor  mat.Cholesky
	rho     float64
	equal   []int             // equality rows, independent ones
	solved  map[int][]float64 // (H + rho E'E)^-1 B_i' by row
	least   float64           // estimate of the smallest eigenvalue
	top     float64           // bound of the largest
}

// partition is the problem's blocks, checked to be one; otherwise y as a whole.
func partition(p *problem.Problem) [][]int {
	whole := make([]int, p.Dy)
	owner := make([]int, p.Dy)
	for j := range whole {
		whole[j], owner[j] = j, -1
	}
	seen := 0
	for k, entries := range p.Blocks {
		for _, j := range entries {
			if j < 0 || j >= p.Dy || owner[j] >= 0 {
				return [][]int{whole}
			}
			owner[j] = k
			seen++
		}
	}
	if seen != p.Dy || seen == 0 {
		return [][]int{whole}
	}
	for i := range p.Rows.Kind {
		cols, _ := p.Rows.B.Row(i)
		for _, j := range cols {
			if owner[j] != owner[cols[0]] {
				return [][]int{whole}
			}
		}
	}
	return p.Blocks
}

// newHessian looks at the curvature at (x, y).
func newHessian(p *problem.Problem, g problem.Function, s *scales, parts [][]int, x, y []float64) (*hessian, error) {
	h := &hessian{p: p, g: g, s: s, x: x, y: append([]float64(nil), y...), base: make([]float64, p.Dy)}
	g.GradY(h.base, x, y)
	largest := 0
	for _, entries := range parts {
		largest = max(largest, len(entries))
	}
	if p.Facts.HessianPattern != nil && largest > sparseFrom && h.trySparse(parts) {
		return h, nil
	}
	if largest > denseLimit {
		return h, nil
	}
	return h, h.build(parts, largest)
}

// build makes the blocks, the largest of the given size, and factorizes them.
func (h *hessian) build(parts [][]int, largest int) error {
	p := h.p
	h.divide(parts)
	rows := make(map[int][]int, len(parts)) // equality rows by the first entry of their block
	first := make([]int, p.Dy)
	for _, entries := range parts {
		b := &block{entries: entries, place: make(map[int]int, len(entries)), solved: map[int][]float64{}}
		for k, j := range entries {
			b.place[j], first[j] = k, entries[0]
		}
		b.h = mat.NewSymDense(max(1, len(entries)), nil)
		if len(entries) > 0 {
			h.blocks = append(h.blocks, b)
		}
	}
	for i, kind := range p.Rows.Kind {
		if cols, _ := p.Rows.B.Row(i); kind == problem.Equal && len(cols) > 0 {
			rows[first[cols[0]]] = append(rows[first[cols[0]]], i)
		}
	}
	h.difference(largest)
	for _, b := range h.blocks {
		if err := b.factorize(p, rows[b.entries[0]]); err != nil {
			return err
		}
	}
	return nil
}

// hessian looks at the curvature at (x, y).
func (d *deriver) hessian(x, y []float64) (*hessian, error) {
	h, err := newHessian(d.p, d.g, d.s, d.parts, x, y)
	if err == nil && !h.direct() && d.p.Facts.QuadraticInY && d.p.Facts.FixedHessian && d.p.Dy <= mostDense {
		h.exchange = &d.exchange
	}
	return h, err
}

// traded is the same matrix with factors, once that has become worth while; else nil.
func (h *hessian) traded() *hessian {
	e := h.exchange
	if e == nil {
		return nil
	}
	if !e.tried && e.worthFactors(h.p.Dy) {
		e.tried = true
		direct := &hessian{p: h.p, g: h.g, s: h.s, x: h.x, y: h.y, base: h.base}
		whole := make([]int, h.p.Dy)
		for j := range whole {
			whole[j] = j
		}
		if direct.build([][]int{whole}, len(whole)) == nil {
			e.direct = direct
		}
	}
	return e.direct
}

// difference fills the blocks' Hessians: one entry of every block is moved at a
// time, since blocks do not mix.
func (h *hessian) difference(largest int) {
	up, down := make([]float64, h.p.Dy), make([]float64, h.p.Dy)
	z := append([]float64(nil), h.y...)
	step := make([]float64, h.p.Dy)
	full := make([]*mat.Dense, len(h.blocks))
	for k, b := range h.blocks {
		full[k] = mat.NewDense(len(b.entries), len(b.entries), nil)
	}
	for c := range largest {
		shift := func(sign float64) {
			for _, b := range h.blocks {
				if c < len(b.entries) {
					j := b.entries[c]
					z[j] = h.y[j] + sign*step[j]
				}
			}
		}
		for _, b := range h.blocks {
			if c < len(b.entries) {
				step[b.entries[c]] = h.step(b.entries[c])
			}
		}
		widths := make([]stepping, len(h.blocks))
		for range shortenings {
			shift(1)
			h.g.GradY(up, h.x, z)
			if h.p.Facts.QuadraticInY {
				copy(down, h.base)
			} else {
				shift(-1)
				h.g.GradY(down, h.x, z)
			}
			h.calls += 2
			done := true
			for k, b := range h.blocks {
				if c < len(b.entries) {
					j := b.entries[c]
					uneven := h.uneven(b.entries, up, down)
					by := widths[k].longer(h.lost(b.entries, up, down) && !math.IsInf(uneven, 1))
					if by == 1 { // else halves differ by rounding
						by = widths[k].next(uneven)
					}
					step[j] *= by
					done = done && by == 1
				}
			}
			if done {
				break
			}
		}
		for k, b := range h.blocks {
			if c >= len(b.entries) {
				continue
			}
			j := b.entries[c]
			width := h.y[j] + step[j] - (h.y[j] - step[j])
			if h.p.Facts.QuadraticInY {
				width = h.y[j] + step[j] - h.y[j]
			}
			for r, i := range b.entries {
				full[k].Set(r, c, (up[i]-down[i])/width)
			}
			if widths[k].grown > 0 {
				h.s.lengthen(full[k].At(c, c))
			}
			z[j] = h.y[j]
		}
	}
	for k, b := range h.blocks {
		for i := range b.entries {
			for j := i; j < len(b.entries); j++ {
				b.h.SetSym(i, j, shared(full[k].At(i, j), full[k].At(j, i), step[b.entries[j]], step[b.entries[i]]))
			}
		}
	}
}

// shared is an entry of the Hessian from two differences that know it, each with a rounding inverse to its
// step: an entry of y at 1e-200 has steps in which no other force changes at all.
func shared(a, b, stepA, stepB float64) float64 {
	share := 0.5
	if stepA != stepB {
		share = stepA / (stepA + stepB)
	}
	return share*a + (1-share)*b
}

// step is that of a difference in one entry: any for a quadratic, where a long
// one has the least rounding, else what balances truncation and rounding.
func (h *hessian) step(j int) float64 {
	if h.p.Facts.QuadraticInY {
		return math.Max(math.Abs(h.y[j]), h.s.y)
	}
	return cubeRootEps * h.size(j)
}

// size is that of an entry of y, no less than a thousandth of the largest: what
// is nearly zero does not say on which scale g varies in it.
func (h *hessian) size(j int) float64 { return math.Max(math.Abs(h.y[j]), 1e-3*h.s.y) }

// cubeRootEps is the step, relative to the variable, that balances truncation
// and rounding of a central difference.
var cubeRootEps = math.Cbrt(0x1p-52)

// shortenings of a step, by 16 each, lead from any to where nothing is left of it: an entry of y
// may be as near to the edge of the domain of g as exp(-700), where that of an entropy under a row
// with a multiplier is.
const shortenings = 256

// uneven is how much the halves of a difference, grad up - base and base - down over some
// entries, differ, relative to it; infinite out of the domain.
func (h *hessian) uneven(entries []int, up, down []float64) float64 {
	for _, i := range entries {
		if math.IsNaN(up[i]-down[i]) || math.IsInf(up[i]-down[i], 0) {
			return math.Inf(1)
		}
	}
	if h.p.Facts.QuadraticInY {
		return 0
	}
	apart, whole := 0.0, 0.0
	for _, i := range entries {
		apart = math.Hypot(apart, up[i]-h.base[i]-(h.base[i]-down[i]))
		whole = math.Hypot(whole, up[i]-down[i])
	}
	if apart == 0 {
		return 0
	}
	return apart / whole
}

// lost says that a difference is too little beside the rounding of what it is one of: below 2^10
// units in the last place, where a thousandth of it may be noise; of a quadratic, where any step will do, 2^30.
func (h *hessian) lost(entries []int, up, down []float64) bool {
	whole, base := 0.0, 0.0
	for _, i := range entries {
		whole = math.Hypot(whole, up[i]-down[i])
		base = math.Hypot(base, h.base[i])
	}
	if h.p.Facts.QuadraticInY {
		return whole <= 0x1p-22*base
	}
	return whole <= 0x1p-42*base
}

// stepping shortens a step until the halves of its difference agree to 2^-12 of it: then the
// next term, which is left, is about 2^-22 of it. What a shorter step does not cure is rounding,
// of which the longer one has less.
type stepping struct {
	last  float64 // of the step before, 0 for none
	back  bool
	grown int // by 2^4, 2^8, 2^16 ...: how many times
}

// longer is what a step that will do is to be multiplied by where its difference is lost in
// rounding: the sizes of other entries may say nothing of this one, as where one is 1e-200, beside
// the edge of an entropy, and one at a bound is 0. Each length is the square of the one before, so
// that the range of doubles is a few; a step that was too long for the halves of its difference to
// agree, or for the domain, is not lengthened again.
func (s *stepping) longer(lost bool) float64 {
	const most = 8 // 2^(4*2^8) is more than there is
	if !lost || s.last > 0 || s.grown == most {
		return 1
	}
	s.grown++
	return math.Ldexp(1, 4<<(s.grown-1))
}

// next is what the step is to be multiplied by: 1 when it will do.
func (s *stepping) next(uneven float64) float64 {
	switch {
	case uneven <= 0x1p-12 || s.back:
		return 1
	case s.last > 0 && !math.IsInf(s.last, 1) && uneven > s.last/4:
		s.back = true
		return 16
	}
	s.last = uneven
	return 1.0 / 16
}

// factorize factorizes H, or H + rho E'E with growing rho where H is not
// positive definite by itself.
func (b *block) factorize(p *problem.Problem, equal []int) error {
	top := mat.Norm(b.h, math.Inf(1))
	if math.IsNaN(top) || math.IsInf(top, 0) {
		return errCurvature
	}
	plain := b.h
	b.top = top
	// rho |E|^2 a few orders above H shows whether H is positive definite
	// along E; much more would cost the digits of H.
	for _, rho := range []float64{0, 10, 1e3} {
		if rho > 0 {
			b.equal = b.independent(p, equal)
			if len(b.equal) == 0 {
				return errCurvature
			}
			longest := 0.0
			for _, i := range b.equal {
				_, vals := p.Rows.B.Row(i)
				longest = math.Max(longest, norm(vals))
			}
			b.rho = rho * top / (longest * longest)
			b.h = mat.NewSymDense(len(b.entries), nil)
			b.h.CopySym(plain)
			for _, i := range b.equal {
				b.h.SymRankOne(b.h, b.rho, mat.NewVecDense(len(b.entries), b.row(p, i)))
			}
		}
		if b.factor.Factorize(b.h) {
			b.least = top / math.Max(1, b.factor.Cond())
			return nil
		}
	}
	return errCurvature
}

// row is row i of B over the block's entries.
func (b *block) row(p *problem.Problem, i int) []float64 {
	dense := make([]float64, len(b.entries))
	cols, vals := p.Rows.B.Row(i)
	for k, j := range cols {
		dense[b.place[j]] = vals[k]
	}
	return dense
}

// independent is a maximal independent subset of rows of B, earlier ones first,
// by Gram-Schmidt with one reorthogonalization. A row depends on the earlier
// ones where less than 1e-9 of its length is left: about the square root of the
// rounding of the Schur complement that is built from it.
func (b *block) independent(p *problem.Problem, rows []int) []int {
	const left = 1e-9
	var kept []int
	var basis [][]float64
	for _, i := range rows {
		rest := b.row(p, i)
		size := norm(rest)
		for range 2 {
			for _, q := range basis {
				a := dot(q, rest)
				for j, t := range q {
					rest[j] -= a * t
				}
			}
		}
		length := norm(rest)
		if length <= left*size {
			continue
		}
		for j := range rest {
			rest[j] /= length
		}
		kept = append(kept, i)
		basis = append(basis, rest)
	}
	return kept
}

// mul sets dst to H v, by a difference of gradients along v.
func (h *hessian) mul(dst, v []float64) {
	clear(dst)
	longest := 0.0
	for j, t := range v {
		longest = math.Max(longest, math.Abs(t)/h.size(j))
	}
	step := 1 / longest
	if math.IsInf(step, 0) || math.IsNaN(step) { // v is nothing
		return
	}
	if !h.p.Facts.QuadraticInY {
		step *= cubeRootEps
	}
	z := make([]float64, len(v))
	down := h.base
	all := make([]int, len(v))
	for j := range all {
		all[j] = j
	}
	var width stepping
	for range shortenings {
		for j := range z {
			z[j] = h.y[j] + step*v[j]
		}
		h.g.GradY(dst, h.x, z)
		span := step
		if !h.p.Facts.QuadraticInY {
			down = make([]float64, len(v))
			for j := range z {
				z[j] = h.y[j] - step*v[j]
			}
			h.g.GradY(down, h.x, z)
			span = 2 * step
		}
		h.calls += 2
		if h.exchange != nil {
			h.exchange.products++
		}
		by := width.next(h.uneven(all, dst, down))
		if by == 1 {
			for j := range dst {
				dst[j] = (dst[j] - down[j]) / span
			}
			return
		}
		step *= by
	}
}

func isFinite(v []float64) bool {
	for _, t := range v {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return false
		}
	}
	return true
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for j, t := range a {
		sum += t * b[j]
	}
	return sum
}
