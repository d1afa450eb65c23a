package linalg

import (
	"math"
	"sync"

	"bilevelc/internal/sparse"
)

// Where many variables enter a function through their sum alone, as the flows of all
// travellers on a road, its Hessian has a full block for them, and the factors of a KKT
// matrix fill in wherever rows join such blocks. The block is D + aa', though, D diagonal,
// and
//
//	[ D + aa'  . ] [ y ]       [ D   a  . ] [ y ]
//	[   .      . ] [ . ]  and  [ a' -1  . ] [ t ],  t = a'y,
//	                           [ .   .  . ] [ . ]
//
// have the same y: the second is sparse and quasi-definite as the first is (the stretching
// of dense parts: Vanderbei 1991, Linear Algebra and its Applications 152, 105-117). Factors
// are those of the second where the numbers are of this kind and it has the cheaper ones.

// cliques are the full blocks of the positive rows of a matrix that no other entry of that
// block joins to each other. They are immutable.
type cliques struct {
	row, col []int32 // of the entries given to analyze
	members  [][]int // rows of K
	at       [][]int // for each, by rows: which entry of K it is
	inside   []bool  // of each entry of K: it is one of a clique, off the diagonal
	number   []int   // of each other one: its number among those that the stretched matrix has of K

	once      sync.Once
	stretched *Symbolic // nil where it does not pay
}

// newCliques finds the cliques; nil where there are none.
func newCliques(s *Symbolic, sign []int8) *cliques {
	if len(s.place) == 0 {
		return nil
	}
	c := &cliques{row: make([]int32, len(s.place)), col: make([]int32, len(s.place)), inside: make([]bool, len(s.place))}
	column := make([]int32, len(s.row))
	for k := range s.n {
		for t := s.ptr[k]; t < s.ptr[k+1]; t++ {
			column[t] = int32(k)
		}
	}
	positive := make([]bool, s.n)
	for k, i := range s.order {
		positive[i] = sign[k] > 0
	}
	classes := sparse.NewClasses(s.n)
	for t, p := range s.place {
		i, j := s.order[s.row[p]], s.order[column[p]]
		if c.row[t], c.col[t] = i, j; positive[i] && positive[j] {
			classes.Join(int(i), int(j))
		}
	}
	size, entries := make([]int, s.n), make([]int, s.n)
	for i := range s.n {
		size[classes.Of(i)]++
	}
	for t, i := range c.row {
		if j := c.col[t]; i != j && positive[i] && positive[j] {
			entries[classes.Of(int(i))]++
		}
	}
	number, place := make([]int, s.n), make([]int, s.n)
	for i := range s.n {
		k := classes.Of(i)
		// A full block of m rows has m(m+1)/2 entries, the stretched one 2m+1: as the whole (analyze), it is to be no more than half.
		if m := size[k]; 2*(2*m+1) > m*(m+1)/2 || entries[k] != m*(m-1)/2 || !positive[i] {
			continue
		}
		if number[k] == 0 {
			c.members = append(c.members, nil)
			number[k] = len(c.members)
		}
		q := number[k] - 1
		place[i] = len(c.members[q])
		c.members[q] = append(c.members[q], i)
	}
	if c.members == nil {
		return nil
	}
	c.at = make([][]int, len(c.members))
	for q, rows := range c.members {
		c.at[q] = make([]int, len(rows)*len(rows))
		for t := range c.at[q] {
			c.at[q][t] = -1
		}
	}
	for t, i := range c.row {
		j := c.col[t]
		q := number[classes.Of(int(i))] - 1
		if q < 0 || !positive[i] || !positive[j] {
			continue
		}
		m := len(c.members[q])
		a, b := place[i]*m+place[j], place[j]*m+place[i]
		if c.at[q][a] >= 0 {
			return nil // an entry given twice
		}
		c.at[q][a], c.at[q][b], c.inside[t] = t, t, i != j
	}
	for q := range c.at {
		for _, t := range c.at[q] {
			if t < 0 {
				return nil
			}
		}
	}
	c.number = make([]int, len(c.row))
	kept := 0
	for t, in := range c.inside {
		if c.number[t] = kept; !in {
			kept++
		}
	}
	return c
}

// analyze is the stretched matrix's; nil where it does not pay: where its factors take more
// than half of the work, next to which there are the solves' corrections.
func (c *cliques) analyze(s *Symbolic) *Symbolic {
	c.once.Do(func() {
		var row, col []int32
		for t, i := range c.row {
			if !c.inside[t] {
				row, col = append(row, i), append(col, c.col[t])
			}
		}
		for q, rows := range c.members {
			for _, j := range rows {
				row, col = append(row, int32(s.n+q)), append(col, int32(j))
			}
		}
		for q := range c.members {
			row, col = append(row, int32(s.n+q)), append(col, int32(s.n+q))
		}
		if t := analyze(s.n+len(c.members), row, col); 2*t.work() <= s.work() {
			c.stretched = t
		}
	})
	return c.stretched
}

// work is what a factorization takes, in products.
func (s *Symbolic) work() float64 {
	sum := 0.0
	for k := range s.n {
		length := float64(s.lptr[k+1] - s.lptr[k])
		sum += length * (length + 1) / 2
	}
	return sum
}

// stretching is a factorization of the stretched matrix.
type stretching struct {
	*cliques
	n       int
	ldl     *LDL
	values  []float64 // of the stretched matrix
	whole   []float64 // of K, as given
	a       [][]float64
	sign    []int8 // of rows of K
	right   []float64
	rest    []float64
	root    []float64 // of D in one block
	repeats int       // corrections that a solve takes
}

// newStretching is that of a matrix with cliques; nil where there are none.
func newStretching(s *Symbolic, sign []int8) *stretching {
	s.searched.Do(func() { s.cliques = newCliques(s, sign) })
	if s.cliques == nil {
		return nil
	}
	f := &stretching{cliques: s.cliques, n: s.n, a: make([][]float64, len(s.cliques.members)), sign: make([]int8, s.n)}
	for k, i := range s.order {
		f.sign[i] = sign[k]
	}
	most := 0
	for q, rows := range f.members {
		f.a[q] = make([]float64, len(rows))
		most = max(most, len(rows))
	}
	f.root = make([]float64, most)
	return f
}

// factor factorizes K with the given values by way of the stretched matrix. It reports false
// where its blocks are not of that kind, or the stretched matrix does not pay.
//
// D must have digits left of the diagonal from which aa' is taken:
// with half of them the factors are good to the other half, as those of a matrix whose
// regularization is that small. What the blocks are off, each row of E = K - D - aa' in the units
// of D, is the part that each correction of a solve leaves of what the one before has left; they
// end at what rounding makes of D.
func (f *stretching) factor(s *Symbolic, values []float64, least float64) (done, finite bool) {
	off, share := 0.0, 1.0
	for q := range f.members {
		e, d := f.fit(q, values)
		if !(e <= 1e-2) {
			return false, false
		}
		off, share = math.Max(off, e), math.Min(share, d)
	}
	if f.ldl == nil {
		stretched := f.analyze(s)
		if stretched == nil {
			return false, false
		}
		f.ldl = newPlain(stretched, func(i int) bool { return i >= f.n || f.sign[i] < 0 })
		f.values = make([]float64, len(stretched.place))
		f.right, f.rest = make([]float64, stretched.n), make([]float64, f.n)
	}
	f.repeats = 0
	for left := off; left > 0x1p-53/share; left *= off {
		f.repeats++
	}
	at := 0
	for t, v := range values {
		if !f.inside[t] {
			f.values[at] = v
			at++
		}
	}
	for q, rows := range f.members {
		for k := range rows {
			f.values[at] = f.a[q][k]
			at++
		}
	}
	for ; at < len(f.values); at++ {
		f.values[at] = -1
	}
	// The diagonal without aa', at its place among the entries that stay.
	for q, rows := range f.members {
		for k, a := range f.a[q] {
			f.values[f.number[f.at[q][k*len(rows)+k]]] -= a * a
		}
	}
	f.whole = append(f.whole[:0], values...)
	finite = f.ldl.Factor(f.values, least)
	return true, finite
}

// fit sets a so that aa' is the block q off its diagonal. It returns how far it is from that,
// +Inf where D would not be positive, and the least share that D has of an entry of the diagonal.
func (f *stretching) fit(q int, values []float64) (off, share float64) {
	share = 1
	a, at := f.a[q], f.at[q]
	m := len(a)
	clear(a)
	v := func(i, j int) float64 { return values[at[i*m+j]] }
	i0, j0, largest := 0, 0, 0.0
	for i := range m {
		for j := range i {
			if w := math.Abs(v(i, j)); w > largest {
				i0, j0, largest = i, j, w
			}
		}
	}
	if largest == 0 {
		return 0, 1
	}
	third, reach := -1, 0.0
	for k := range m {
		if k != i0 && k != j0 {
			if w := math.Min(math.Abs(v(i0, k)), math.Abs(v(j0, k))); w > reach {
				third, reach = k, w
			}
		}
	}
	if third < 0 {
		// Two alone: the same share of both diagonal entries.
		a[i0] = math.Sqrt(largest * math.Sqrt(v(i0, i0)/v(j0, j0)))
		a[j0] = v(i0, j0) / a[i0]
	} else {
		square := v(i0, j0) * v(i0, third) / v(j0, third)
		if !(square > 0) {
			return math.Inf(1), 0
		}
		a[i0] = math.Sqrt(square)
		for j := range m {
			if j != i0 {
				a[j] = v(i0, j) / a[i0]
			}
		}
	}
	root := f.root[:m]
	for i, w := range a {
		d := v(i, i) - w*w
		if !(d >= 1e-8*v(i, i)) || !(d > 0) {
			return math.Inf(1), 0
		}
		share = math.Min(share, d/v(i, i))
		root[i] = math.Sqrt(d)
	}
	for i := range m {
		sum := 0.0
		for j := range m {
			if i != j {
				sum += math.Abs(v(i, j)-a[i]*a[j]) / root[j]
			}
		}
		off = math.Max(off, sum/root[i])
	}
	return off, share
}

// solve sets x to the solution of K x = b; x may be b.
func (f *stretching) solve(x, b []float64) {
	n := f.n
	copy(f.right, b[:n])
	clear(f.right[n:])
	copy(f.rest, b[:n])
	f.ldl.Solve(f.right, f.right)
	copy(x, f.right[:n])
	for range f.repeats {
		r := f.right
		copy(r, f.rest)
		clear(r[n:])
		for t, v := range f.whole {
			i, j := f.row[t], f.col[t]
			r[i] -= v * x[j]
			if i != j {
				r[j] -= v * x[i]
			}
		}
		f.ldl.Solve(r, r)
		for i, d := range r[:n] {
			x[i] += d
		}
	}
}
