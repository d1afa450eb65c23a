package activeset

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// basis stands for the matrix of a tableau of a linear program, whose entries are those of the revised simplex method: with B the columns of
// [A -I] of the inactive variables and rows, which are as many as there are rows, and a_k that of an active one,
//
//	column k of an active constraint is -B^-1 a_k at the inactive ones, that of an inactive one, the r-th, -e_r'B^-1 a_j at the active ones.
//
// B has sparse factors, and each pivot since they were made multiplies it by a matrix that is the identity but for a column (product form: Dantzig and Orchard-Hays 1954).
type basis struct {
	a, at  *sparse.CSR
	vars   int
	head   []int // of each column of B: its constraint
	place  []int // of each constraint, -1 where it is active
	lu     linalg.LU
	spikes linalg.Parts // of each pivot: its column, without the place at which it came
	at1    []int        // that place
	pivot  []float64    // and its entry there
	x, y   []float64
	edges  []float64 // estimates of weights
}

// vectors is about how many numbers of each constraint are read or written apart from the linear algebra: as a solve begins and ends, at a pivot, and where it is compared with the data.
const vectors = 24

// reset makes the basis that of all rows.
func (b *basis) reset(a *sparse.CSR, vars int) {
	if b.a != a {
		b.a, b.at = a, a.T()
	}
	b.vars = vars
	b.head, b.place = linalg.Cleared(b.head, a.Rows), linalg.Cleared(b.place, vars+a.Rows)
	b.x, b.y = linalg.Cleared(b.x, a.Rows), linalg.Cleared(b.y, a.Rows)
	b.edges = linalg.Cleared(b.edges, vars+a.Rows)
	for k := range b.place {
		b.edges[k] = 1
		if b.place[k] = -1; k >= vars {
			b.place[k], b.head[k-vars] = k-vars, k
		}
	}
	b.factor()
}

// factor makes the factors of B. What depends on others leaves it, for rows.
func (b *basis) factor() (work int64) {
	n := b.a.Rows
	b.spikes.Clear()
	b.at1, b.pivot = b.at1[:0], b.pivot[:0]
	for {
		head := b.head
		cols, rows := b.lu.Factor(n, len(head), func(r int, add func(i int, v float64)) {
			if k := head[r]; k >= b.vars {
				add(k-b.vars, -1)
			} else {
				for i, v := range b.at.Entries(k) {
					add(i, v)
				}
			}
		})
		work += b.lu.Work
		if len(cols)+len(rows) == 0 {
			break
		}
		for _, r := range cols {
			b.place[head[r]], head[r] = -1, -1
		}
		b.head = b.head[:0]
		for _, k := range head {
			if k >= 0 {
				b.head = append(b.head, k)
			}
		}
		for _, i := range rows {
			b.head = append(b.head, b.vars+int(i))
		}
	}
	for r, k := range b.head {
		b.place[k] = r
	}
	return work
}

// worn reports that pivots since the factors were made have as many entries as these: a solve takes twice as long.
func (b *basis) worn() bool { return b.spikes.Len() > b.lu.Entries() }

// solve sets b.y to B^-1 b.x, and clears b.x.
func (b *basis) solve() (work int64) {
	work = int64(b.lu.Solve(b.y, b.x))
	clear(b.x)
	for e, r := range b.at1 {
		v := b.y[r]
		if v == 0 {
			continue
		}
		v /= b.pivot[e]
		b.y[r] = v
		b.spikes.Subtract(b.y, e, v)
	}
	return work + linalg.Scattered*int64(b.spikes.Len()) + 2*int64(len(b.x))
}

// solveT sets b.x to the solution of B'x = b.y, and clears b.y.
func (b *basis) solveT() (work int64) {
	for e := len(b.at1) - 1; e >= 0; e-- {
		r := b.at1[e]
		b.y[r] = (b.y[r] - b.spikes.Dot(e, b.y)) / b.pivot[e]
	}
	work = int64(b.lu.SolveT(b.x, b.y))
	clear(b.y)
	return work + linalg.Scattered*int64(b.spikes.Len()) + 2*int64(len(b.x))
}

// column sets dst to column k.
func (b *basis) column(dst []float64, k int, active []bool) (work int64) {
	clear(dst)
	if !active[k] {
		b.y[b.place[k]] = 1
		return b.solveT() + b.price(dst, active)
	}
	if k >= b.vars {
		b.x[k-b.vars] = 1
	} else {
		for i, v := range b.at.Entries(k) {
			b.x[i] = -v
		}
	}
	work = b.solve()
	for r, v := range b.y {
		dst[b.head[r]] = v
		b.y[r] = 0
	}
	return work + int64(len(dst)+linalg.Scattered*len(b.y))
}

// price adds -b.x'a_j to the active entries j of dst, which is 0, and clears b.x.
func (b *basis) price(dst []float64, active []bool) (work int64) {
	for i, v := range b.x {
		if v == 0 {
			continue
		}
		b.x[i] = 0
		cols, vals := b.a.Row(i)
		for e, j := range cols {
			dst[j] -= v * vals[e]
		}
		work += linalg.Scattered * int64(len(cols))
		dst[b.vars+i] = v
	}
	for k, is := range active {
		if !is {
			dst[k] = 0
		}
	}
	return work + int64(3*len(dst)+len(b.x))
}

// exchange makes `in`, which is active, inactive, and `out` active; cin and cout are their columns.
func (b *basis) exchange(in, out int, cin, cout []float64) {
	r, e := b.place[out], cin[out]
	for k, v := range cin {
		if v != 0 && k != out {
			b.spikes.Add(int32(b.place[k]), -v)
		}
	}
	b.spikes.End()
	b.at1, b.pivot = append(b.at1, r), append(b.pivot, -e)
	b.head[r], b.place[in], b.place[out] = in, r, -1
	// Of the exact weights of those that stay this is the part that the exchange adds (Devex: Harris 1973).
	wi, wo := b.edges[in], b.edges[out]
	for k, v := range cin {
		if v != 0 {
			b.edges[k] = math.Max(b.edges[k], v*v/(e*e)*wo)
		}
	}
	for k, v := range cout {
		if v != 0 {
			b.edges[k] = math.Max(b.edges[k], v*v/(e*e)*wi)
		}
	}
	b.edges[in], b.edges[out] = math.Max(1, wo/(e*e)), math.Max(1, wi/(e*e))
}

// multiply is that of a tableau.
func (b *basis) multiply(dst, x []float64, active []bool) (work int64) {
	clear(dst)
	for i := range b.x {
		if k := b.vars + i; active[k] {
			b.x[i] = x[k]
		}
	}
	work = b.solve()
	for r, k := range b.head {
		if k < b.vars {
			dst[k] = b.y[r]
		}
		b.y[r] = 0
	}
	for r, k := range b.head {
		if k < b.vars {
			b.y[r] = x[k]
		}
	}
	work += b.solveT()
	for i, v := range b.x {
		if k := b.vars + i; active[k] {
			dst[k] = v
		}
		b.x[i] = 0
	}
	return work + int64(len(dst)+4*linalg.Scattered*len(b.x))
}

// sizesOfProduct estimates that of a tableau: what the matrix makes of numbers of these sizes whose signs are independent, as those of rounding are, times tolerance.Margin.
func (b *basis) sizesOfProduct(dst, x []float64, active []bool, random func() float64) (work int64) {
	clear(dst)
	drawn := make([]float64, len(dst))
	const draws = 4
	for range draws {
		signed := func(v float64) float64 {
			if random() < 0.5 {
				return -v
			}
			return v
		}
		for i := range b.x {
			if k := b.vars + i; active[k] && x[k] != 0 {
				b.x[i] = signed(x[k])
			}
		}
		work += b.solve()
		for r, k := range b.head {
			dst[k] += b.y[r] * b.y[r]
			b.y[r] = 0
			if k < b.vars && x[k] != 0 {
				b.y[r] = signed(x[k])
			}
		}
		work += b.solveT()
		clear(drawn)
		work += b.price(drawn, active)
		for k, v := range drawn {
			dst[k] += v * v
		}
		work += int64(3*len(dst) + 3*linalg.Scattered*len(b.x))
	}
	for k, v := range dst {
		dst[k] = tolerance.Margin * math.Sqrt(v/draws)
	}
	return work
}

// moveTo makes the constraints inactive that are to be, as far as they do not depend on others.
func (b *basis) moveTo(want, active []bool) (work int64) {
	b.head = b.head[:0]
	for k, w := range want {
		if b.place[k] = -1; !w {
			b.head = append(b.head, k)
		}
	}
	work = b.factor()
	for k, r := range b.place {
		active[k] = r < 0
		b.edges[k] = 1
	}
	return work + int64(4*len(want))
}
