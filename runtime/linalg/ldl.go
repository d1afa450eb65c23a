package linalg

import "math"

// LDL is a numeric factorization P K P' = L D L' of a quasi-definite matrix,
// whose pivots have known signs in any order (Vanderbei 1995): positive for
// the rows of its positive definite block, negative for the others. It is not
// safe for concurrent use.
type LDL struct {
	*Symbolic
	sign   []int8    // of pivot k, permuted
	val    []float64 // the permuted upper triangle
	lrow   []int32   // rows of L by columns
	lval   []float64
	d      []float64 // pivots
	work   []float64
	flag   []int32
	reach  []int32
	fill   []int // where the next entry of each column of L goes
	from   int32 // the first column of the dense block at L's end
	block  []float64
	blocks *stretching // nil: the factors are those of K itself

	refinement Refinement
	// Raised is the number of pivots of the last Factor that rounding had left
	// with the wrong sign, or nearly 0, and that were replaced.
	Raised int
}

// NewLDL makes room for factorizations; negative says which rows of K belong to
// its negative block (nil: none).
func NewLDL(s *Symbolic, negative func(i int) bool) *LDL {
	f := newPlain(s, negative)
	f.blocks = newStretching(s, f.sign)
	return f
}

// newPlain is NewLDL without a look at the blocks of the matrix.
func newPlain(s *Symbolic, negative func(i int) bool) *LDL {
	f := &LDL{Symbolic: s, sign: make([]int8, s.n)}
	for k, i := range s.order {
		f.sign[k] = 1
		if negative != nil && negative(int(i)) {
			f.sign[k] = -1
		}
	}
	return f
}

// Factor factorizes the matrix with the given values, in the order in which
// the entries were given to analyze. A pivot whose sign is wrong, or whose
// size is at most `least`, is made `least` with the right sign: for a
// quasi-definite matrix only rounding does that, and refinement repairs it.
// It reports false where a number is not finite.
func (f *LDL) Factor(values []float64, least float64) bool {
	if f.blocks != nil {
		if done, finite := f.blocks.factor(f.Symbolic, values, least); done {
			f.Raised = f.blocks.ldl.Raised
			return finite
		}
		f.blocks = nil // the numbers are not of that kind
	}
	f.room()
	clear(f.val)
	for t, v := range values {
		f.val[f.place[t]] += v
	}
	return f.numeric(func(k int, pivot float64) float64 {
		if s := float64(f.sign[k]); pivot*s <= least {
			f.Raised++
			return s * least
		}
		return pivot
	})
}

// room makes room for the factors, once.
func (f *LDL) room() {
	if f.d != nil {
		return
	}
	s := f.Symbolic
	f.val, f.lrow, f.lval = make([]float64, len(s.row)), make([]int32, s.Entries()), make([]float64, s.Entries())
	f.d, f.work, f.flag = make([]float64, s.n), make([]float64, s.n), make([]int32, s.n)
	f.reach, f.fill, f.from = make([]int32, s.n), make([]int, s.n), int32(s.dense())
	if m := s.n - int(f.from); m > 0 {
		f.block = make([]float64, m*m)
	}
	f.resetFlags()
}

// factorSemidefinite factorizes a positive semidefinite matrix whose diagonal
// entries are about 1. A pivot of at most tolerance, or of the size of rounding, says that the row depends on
// those before it: it is left out, and dependent is called with its number. It
// returns the smallest of the other pivots, +Inf where there is none and NaN
// where one is not finite.
func (f *LDL) factorSemidefinite(values []float64, tolerance float64, dependent func(row int)) (smallest float64) {
	f.blocks = nil // these are the factors of the matrix as it stands
	f.room()
	clear(f.val)
	for t, v := range values {
		f.val[f.place[t]] += v
	}
	smallest = math.Inf(1)
	if !f.numeric(func(k int, pivot float64) float64 {
		// The roundings of the diagonal grow by division by the pivots before.
		if pivot <= math.Max(tolerance, 16*0x1p-53/math.Min(1, smallest)) {
			dependent(int(f.order[k]))
			return math.Inf(1)
		}
		smallest = math.Min(smallest, pivot)
		return pivot
	}) {
		return math.NaN()
	}
	return smallest
}

// numeric is the up-looking factorization, row by row of L: row k is a sparse
// triangular solve with the rows before it, whose pattern the elimination tree
// gives (Davis 2005). Columns of a dense block at the end are left to eliminate.
func (f *LDL) numeric(admit func(k int, pivot float64) float64) bool {
	f.Raised = 0
	copy(f.fill, f.lptr[:f.n])
	y := f.work
	m := f.n - int(f.from)
	for k := int32(0); int(k) < f.n; k++ {
		top := f.n
		f.flag[k] = k
		y[k] = 0
		for t := f.ptr[k]; t < f.ptr[k+1]; t++ {
			i := f.row[t]
			y[i] += f.val[t]
			length := 0
			for ; f.flag[i] != k; i = f.parent[i] {
				f.reach[length] = i
				length++
				f.flag[i] = k
			}
			for length > 0 {
				length--
				top--
				f.reach[top] = f.reach[length]
			}
		}
		pivot := y[k]
		y[k] = 0
		for _, i := range f.reach[top:] {
			if i >= f.from {
				continue
			}
			yi := y[i]
			y[i] = 0
			from, to := f.lptr[i], f.fill[i]
			if yi == 0 { // as those of rows and columns that an active set takes out
				f.lrow[to], f.lval[to] = k, 0
				f.fill[i] = to + 1
				continue
			}
			rows, vals := f.lrow[from:to], f.lval[from:to]
			for t, r := range rows {
				y[r] -= vals[t] * yi
			}
			l := yi / f.d[i]
			pivot -= l * yi
			f.lrow[to], f.lval[to] = k, l
			f.fill[i] = to + 1
		}
		if math.IsNaN(pivot) || math.IsInf(pivot, 0) {
			for i := range y { // leave the workspace as a new one
				y[i] = 0
			}
			f.resetFlags()
			return false
		}
		if k >= f.from {
			column := int(k - f.from)
			for i := range column {
				f.block[i*m+column] = y[int(f.from)+i]
			}
			clear(y[f.from:k])
			f.block[column*m+column] = pivot
			continue
		}
		f.d[k] = admit(int(k), pivot)
	}
	f.resetFlags()
	return m == 0 || f.eliminate(int(f.from), admit)
}

func (f *LDL) resetFlags() {
	for k := range f.flag {
		f.flag[k] = -1
	}
}

// Solve sets x to the solution of K x = b, for the factorized K; x may be b.
func (f *LDL) Solve(x, b []float64) {
	if f.blocks != nil {
		f.blocks.solve(x, b)
		return
	}
	w, lptr, lrow, lval := f.work, f.lptr, f.lrow, f.lval
	for k, i := range f.order {
		w[k] = b[i]
	}
	from := lptr[0]
	for k, to := range lptr[1:] {
		if v := w[k]; v != 0 {
			for t := from; t < to; t++ {
				w[lrow[t]] -= lval[t] * v
			}
		}
		from = to
	}
	to := from
	for k := len(f.d) - 1; k >= 0; k-- {
		from, v := lptr[k], w[k]/f.d[k]
		for t := from; t < to; t++ {
			v -= lval[t] * w[lrow[t]]
		}
		w[k], to = v, from
	}
	for k, i := range f.order {
		x[i] = w[k]
		w[k] = 0
	}
}

// Refine is Refinement's by solves with the factors.
func (f *LDL) Refine(x []float64, residual func(r, x []float64), steps int, enough float64) float64 {
	return f.refinement.Refine(x, f.Solve, residual, steps, enough)
}
