package kkt

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Objective is f as a function of z, in the model's units.
type Objective struct {
	// Known says that f has degree two or less in all it reads; then it is the Quadratic, Hess nil where it is affine.
	Known bool
	sparse.Quadratic

	// Dual is f without the products of x, y and lambda in it, by strong duality (duality.go). It equals f at every feasible point of the
	// system, and is convex in more cases. nil where no weights do that, or f is not quadratic.
	Dual *sparse.Quadratic
	// Convex says that Dual, or f itself where that is nil, is convex: its Hessian is positive semidefinite to rounding.
	Convex bool
	// Mixed is f with what strong duality leaves of its products, where that is convex but for products of binary entries of x, and neither Dual nor f itself is; nil else.
	Mixed *sparse.Quadratic
	// Weights are those of Dual or Mixed; nil where both are.
	Weights *Weights
}

// Relaxed is the quadratic that the relaxation minimizes: Dual where there is one.
func (o *Objective) Relaxed() *sparse.Quadratic {
	if o.Dual != nil {
		return o.Dual
	}
	return &o.Quadratic
}

// Searched is the quadratic that a search for the global optimum minimizes.
func (o *Objective) Searched() *sparse.Quadratic {
	if o.Mixed != nil {
		return o.Mixed
	}
	return o.Relaxed()
}

// Program is what a search solves at its nodes, as far as its size and kind go: the relaxation with the Hessian of what it minimizes, if f is known.
func (s *System) Program() *activeset.Program {
	p := *s.Relaxation
	if s.Objective != nil && s.Objective.Known {
		p.Q = s.Objective.Searched().Hess
	}
	return &p
}

// answer is what f reads beside x at z: y, the multipliers in Duals, and weights of the coupled constraints, all 0.
func (s *System) answer(z []float64) []float64 {
	return s.P.Answer(s.Y(z), s.Lambda(z))
}

// place is the entry of z that entry k of (x, answer) stands for; -1 for weights of coupled constraints.
func (s *System) place(k int) int {
	switch n := s.Nx + s.Ny; {
	case k < n:
		return k
	case k < n+len(s.P.Duals):
		return n + s.P.Duals[k-n]
	}
	return -1
}

// Value is f at z.
func (s *System) Value(z []float64) float64 { return s.P.F.Value(s.X(z), s.answer(z)) }

// Gradient sets dst (len N) to the gradient of f at z, and returns f.
func (s *System) Gradient(dst, z []float64) float64 {
	v, _ := s.gradient(dst, z)
	return v
}

// Terms is the size of the terms of f at z: |f| and what its slopes make of z.
func (s *System) Terms(z []float64) float64 {
	grad := make([]float64, s.N)
	size := math.Abs(s.Gradient(grad, z))
	for j, g := range grad {
		size += math.Abs(g * z[j])
	}
	return size
}

// gradient is Gradient with the values of the coupled constraints, which are the derivatives in their weights.
func (s *System) gradient(dst, z []float64) (value float64, coupled []float64) {
	gx, ga := make([]float64, s.Nx), make([]float64, s.P.AnswerLen())
	value = s.P.F.ValueGrad(gx, ga, s.X(z), s.answer(z))
	clear(dst)
	s.spread(dst, gx, ga)
	return value, s.P.CoupledPart(ga)
}

// spread puts entries of x and of the answer into their places in z, where they have one.
func (s *System) spread(z, x, answer []float64) {
	copy(z, x)
	for k, v := range answer {
		if j := s.place(s.Nx + k); j >= 0 {
			z[j] = v
		}
	}
}

// newObjective reads f, and with it the coupled rows' values at 0 and their coefficients.
func newObjective(s *System) (*Objective, error) {
	o := &Objective{Quadratic: sparse.Quadratic{Lin: make([]float64, s.N)}}
	if s.P.Facts.DegreeF > 2 {
		return o, nil
	}
	o.Known = true
	n, probe := s.Nx+s.Ny+len(s.P.Duals), s.probing()
	at, columns, err := problem.Affine(n, n, n, nil, s.reading(make([]float64, s.N), func(dst, z []float64) { probe.gradient(dst, z) }))
	if err != nil {
		return nil, fmt.Errorf("the gradient of f: %w", err)
	}
	entries := []sparse.Entry{}
	for j, column := range columns {
		entries = s.appendColumn(entries, j, column)
	}
	for k, v := range at {
		o.Lin[s.place(k)] = v
	}
	o.Const = s.Value(make([]float64, s.N))
	if len(entries) > 0 {
		o.Hess = symmetric(sparse.FromEntries(s.N, s.N, entries))
	}
	s.shortenByF(o.Hess, o.Lin)
	s.convexify(o)
	return o, nil
}

// convexify sets Dual and Convex of a quadratic objective.
func (s *System) convexify(o *Objective) {
	if o.Convex = Semidefinite(o.Hess); o.Convex {
		return
	}
	left, weights := s.strongDuality(&o.Quadratic)
	switch {
	case left == nil:
	case Semidefinite(left.Hess):
		o.Dual, o.Weights, o.Convex = left, weights, true
	case !Semidefinite(s.WithoutBinary(o.Hess)) && Semidefinite(s.WithoutBinary(left.Hess)):
		o.Mixed, o.Weights = left, weights
	}
}

// Binary reports whether entry j of z is one of x that is 0 or 1.
func (s *System) Binary(j int) bool {
	return j < len(s.P.Integer) && s.P.Integer[j] && math.Ceil(s.P.X.Lo[j]) == 0 && math.Floor(s.P.X.Hi[j]) == 1
}

// WithoutBinary is a symmetric matrix over z without the products of binary entries with others, and without what it has of their squares below 0.
func (s *System) WithoutBinary(m *sparse.CSR) *sparse.CSR {
	if m == nil || s.P.Integer == nil {
		return m
	}
	entries := []sparse.Entry{}
	for i := range m.Rows {
		for j, v := range m.Entries(i) {
			if i == j && v >= 0 || !s.Binary(i) && !s.Binary(j) {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
			}
		}
	}
	return sparse.FromEntries(m.Rows, m.Cols, entries)
}

func nonzero(vals []float64) bool {
	return slices.ContainsFunc(vals, func(v float64) bool { return v != 0 })
}

// Semidefinite reports whether a symmetric matrix is positive semidefinite to rounding: whether it has a Cholesky factor with as much on
// its diagonal as rounding of one may take off, n roundings of each entry of it some times (Higham 2002, Theorem 10.3), whatever units entries are in. Rows that are rounding of the largest entry are none.
func Semidefinite(m *sparse.CSR) bool {
	if m == nil {
		return true
	}
	top, place := linalg.NormInf(m.Val), make([]int, m.Rows)
	for _, block := range sparse.Apart(m, nil) {
		n := len(block)
		if n == 1 && m.At(block[0], block[0]) == 0 { // a row without entries
			continue
		}
		for k, i := range block {
			place[i] = k
		}
		a := make([]float64, n*n)
		for r, i := range block {
			for j, v := range m.Nonzeros(i) {
				a[r*n+place[j]] = v
			}
		}
		rounding := 16 * float64(n) * 0x1p-52
		for i := range n {
			largest := linalg.NormInf(a[i*n : (i+1)*n])
			if largest <= rounding*top {
				a[i*n+i] += 2 * rounding * top
			} else {
				a[i*n+i] *= 1 + rounding
			}
		}
		if _, ok := linalg.NewCholesky(n, a); !ok {
			return false
		}
	}
	return true
}

// Hessian is that of f at z: as it was read where f is quadratic, else by central differences of gradients.
func (s *System) Hessian(z []float64) *sparse.CSR {
	if s.Objective.Known {
		return s.Objective.Hess
	}
	n := s.Nx + s.Ny + len(s.P.Duals)
	at := each.Below(n, func(k int) float64 { return z[s.place(k)] })
	units := append(append(Units(at[:s.Nx]), Units(at[s.Nx:s.Nx+s.Ny])...), Units(at[s.Nx+s.Ny:])...)
	d := NewDifferences(at, units, n, FirstStep, s.reading(slices.Clone(z), func(dst, z []float64) { s.Gradient(dst, z) }))
	entries, column := []sparse.Entry{}, make([]float64, n)
	for k := range n {
		if d.Along(column, []int{k}, []float64{1}) == nil {
			entries = s.appendColumn(entries, k, column)
		}
	}
	return symmetric(sparse.FromEntries(s.N, s.N, entries))
}

// reading is a gradient on the entries that f reads, the others being those of z.
func (s *System) reading(z []float64, gradient func(dst, z []float64)) func(dst, v []float64) {
	full := make([]float64, s.N)
	return func(dst, v []float64) {
		for k, t := range v {
			z[s.place(k)] = t
		}
		gradient(full, z)
		for k := range dst {
			dst[k] = full[s.place(k)]
		}
	}
}

// appendColumn appends what a column of a Hessian on these entries has.
func (s *System) appendColumn(entries []sparse.Entry, k int, column []float64) []sparse.Entry {
	for i, v := range column {
		if v != 0 {
			entries = append(entries, sparse.Entry{Row: s.place(i), Col: s.place(k), Val: v})
		}
	}
	return entries
}
