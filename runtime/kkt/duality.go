package kkt

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// Weights are those with which products that vanish on the system are added to f: k_j of y_j times row j of the follower's stationarity, and w_i of lambda_i times the
// slack of row i,
//
//	sum_j k_j y_j (H y + G x + q - B'lambda)_j + sum_i w_i lambda_i (b + B y - A x)_i.
//
// With one weight for all it is strong duality (Labbe, Marcotte and Savard 1998): the products of y and lambda cancel. Prices that are multipliers (dual() in f times an
// answer) need weights that differ.
type Weights struct {
	Stationarity []float64 // k, len Ny
	Rows         []float64 // w, len M
}

// strongDuality is f with weights such that the products of x and y, x and lambda, and y and lambda cancel:
//
//	f_(y_j x_c) + k_j G_jc = 0,   f_(lambda_i x_c) - w_i A_ic = 0,   f_(lambda_i y_j) + (w_i - k_j) B_ij = 0.
//
// Each equation determines a weight or the difference of two. Entries of x that X fixes are numbers, and their products linear: roads without a toll in a network where the follower's costs
// have one on each. nil where the equations contradict each other, but for those of binary entries of x: what they leave are products that stay.
func (s *System) strongDuality(of *sparse.Quadratic) (*sparse.Quadratic, *Weights) {
	if of.Hess == nil {
		return nil, nil
	}
	fixed := s.fixed
	settled := settle(of, fixed)
	w := s.weights(settled.Hess, fixed)
	if w == nil {
		if settled == of {
			return nil, nil
		}
		w = &Weights{make([]float64, s.Ny), make([]float64, s.M)}
	}
	out := &sparse.Quadratic{Lin: slices.Clone(settled.Lin), Const: settled.Const}
	added, lambda := s.vanishing(out.Lin, w), s.Nx+s.Ny
	out.Hess = sparse.Add(1, settled.Hess, 1, added)
	// What should cancel is set to 0, where rounding alone is left of it.
	block := func(i int) int {
		switch {
		case i < s.Nx:
			return 0
		case i < lambda:
			return 1
		}
		return 2
	}
	for i := range s.N {
		cols, vals := out.Hess.Row(i)
		for t, j := range cols {
			if block(i) == block(j) || vals[t] == 0 {
				continue
			}
			switch left := math.Abs(vals[t]) > tolerance.Feasibility*math.Max(math.Abs(settled.Hess.At(i, j)), math.Abs(added.At(i, j))); {
			case !left:
				vals[t] = 0
			case !s.Binary(i) && !s.Binary(j):
				return nil, nil
			}
		}
	}
	return out, w
}

// vanishing is the Hessian of the products that weights are of, whose linear terms it adds to lin. Entries of x that X fixes are numbers.
func (s *System) vanishing(lin []float64, w *Weights) *sparse.CSR {
	fixed := s.fixed
	entries := []sparse.Entry{}
	add := func(i, j int, v float64) {
		if j < s.Nx && !math.IsNaN(fixed[j]) {
			lin[i] += v * fixed[j]
		} else if v != 0 {
			entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v}, sparse.Entry{Row: j, Col: i, Val: v})
		}
	}
	lambda := s.Nx + s.Ny
	for j, k := range w.Stationarity {
		if k == 0 {
			continue
		}
		for c, v := range s.H.Entries(j) {
			add(s.Nx+j, s.Nx+c, k*v)
		}
		for c, v := range s.G.Entries(j) {
			add(s.Nx+j, c, k*v)
		}
		lin[s.Nx+j] += k * s.Q[j]
	}
	for i, weight := range w.Rows {
		for j, v := range s.P.Rows.B.Entries(i) {
			add(lambda+i, s.Nx+j, (weight-w.Stationarity[j])*v)
		}
		for c, v := range s.P.Rows.A.Entries(i) {
			add(lambda+i, c, -weight*v)
		}
		lin[lambda+i] += weight * s.P.Rows.Rhs[i]
	}
	return sparse.FromEntries(s.N, s.N, entries)
}

// settle is a quadratic with entries of z that are the given numbers (NaN for others; of the first ones alone) in the place of their products; q itself where it has none of them.
func settle(q *sparse.Quadratic, fixed []float64) *sparse.Quadratic {
	is := func(j int) bool { return j < len(fixed) && !math.IsNaN(fixed[j]) }
	out := &sparse.Quadratic{Lin: slices.Clone(q.Lin), Const: q.Const}
	entries, some := []sparse.Entry{}, false
	for i := range q.Lin {
		for j, v := range q.Hess.Entries(i) {
			switch {
			case v == 0:
			case is(i) && is(j): // each product of two stands twice, a square once
				out.Const, some = out.Const+v*fixed[i]*fixed[j]/2, true
			case is(j):
				out.Lin[i], some = out.Lin[i]+v*fixed[j], true
			case is(i): // with the entry on the other side
			default:
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
			}
		}
	}
	if !some {
		return q
	}
	out.Hess = sparse.FromEntries(len(q.Lin), len(q.Lin), entries)
	return out
}

// weights solves the equations of strongDuality for one weight after the other: first those that products with x determine, by the largest coefficient, of entries that are not binary before
// those that are, then along the entries of B.
// Those that are determined up to a constant only are the least that are not negative for y, so that y'H y stays convex. nil where all are 0.
func (s *System) weights(hess *sparse.CSR, fixed []float64) *Weights {
	lambda := s.Nx + s.Ny
	value, known := make([]float64, s.Ny+s.M), make([]bool, s.Ny+s.M)
	var queue []int
	set := func(n int, v float64) {
		if !known[n] {
			value[n], known[n] = v, true
			queue = append(queue, n)
		}
	}
	byX := func(n, at int, sign float64, coef *sparse.CSR, row int, binary bool) {
		most, v := 0.0, 0.0
		for c, a := range coef.Entries(row) {
			if math.IsNaN(fixed[c]) && s.Binary(c) == binary && math.Abs(a) > most {
				most, v = math.Abs(a), sign*hess.At(at, c)/a
			}
		}
		if most > 0 {
			set(n, v)
		}
	}
	b := s.P.Rows.B
	bt := b.T()
	propagate := func() (least float64, reached []int) {
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			reached = append(reached, n)
			if n < s.Ny {
				least = math.Min(least, value[n])
				for i, v := range bt.Nonzeros(n) {
					set(s.Ny+i, value[n]-hess.At(lambda+i, s.Nx+n)/v)
				}
				continue
			}
			i := n - s.Ny
			for j, v := range b.Nonzeros(i) {
				set(j, value[n]+hess.At(lambda+i, s.Nx+j)/v)
			}
		}
		return least, reached
	}
	for _, binary := range [2]bool{false, true} {
		for j := range s.Ny {
			byX(j, s.Nx+j, -1, s.G, j, binary)
		}
		for i := range s.M {
			byX(s.Ny+i, lambda+i, 1, s.P.Rows.A, i, binary)
		}
		propagate()
	}
	for n := range known {
		set(n, 0)
		least, reached := propagate()
		for _, k := range reached {
			value[k] -= least
		}
	}
	if !nonzero(value) {
		return nil
	}
	return &Weights{value[:s.Ny], value[s.Ny:]}
}
