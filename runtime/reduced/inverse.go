package reduced

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
)

// inverse is Z = (Y_SS)^-1 of the rows S that hold, a dense block for each block of the follower, brought up to date by bordering as rows come and go.
type inverse struct {
	f     *follower
	rows  []int  // S, block by block
	at    []int  // of each row in S, its place among those of its block plus 1; 0 for the others
	parts []part // of each block
	start []int  // where the rows of each block are in rows
	// dependent: a solve with sparse factors did not come to an end, since rows of S depend on each other.
	dependent bool
}

// failed reports that sparse factors are of no more use.
func (z *inverse) failed() bool { return z.f.sparse != nil && z.f.sparse.failed }

// newInverse is that of no rows.
func newInverse(f *follower) inverse {
	z := inverse{f: f, at: make([]int, f.m), parts: make([]part, len(f.blocks)), start: make([]int, len(f.blocks))}
	for k := range z.parts {
		z.parts[k].b = &f.blocks[k]
	}
	return z
}

// arrange makes S of the rows of the blocks.
func (z *inverse) arrange() {
	z.rows = z.rows[:0]
	for k := range z.parts {
		z.start[k] = len(z.rows)
		z.rows = append(z.rows, z.parts[k].rows...)
		for i, r := range z.parts[k].rows {
			z.at[r] = i + 1
		}
	}
}

// moved has the rows of the blocks behind k begin later, by as many as came.
func (z *inverse) moved(k, came int) {
	for l := k + 1; l < len(z.start); l++ {
		z.start[l] += came
	}
}

// solve is of the system of S, for sparse factors: u is of S, l in its order.
func (z *inverse) solve(a []float64, c []float64) (u []float64, l []float64) {
	all := make([]float64, z.f.m)
	for b, r := range z.rows {
		if c != nil {
			all[r] = c[b]
		}
	}
	u, found, ok := z.f.sparse.solve(z.at, a, all)
	z.f.work += solves * int64(z.f.sparse.joint.Entries()+z.f.n+z.f.m)
	if !ok {
		z.dependent = true
	}
	l = each.Of(z.rows, func(r int) float64 { return found[r] })
	return u, l
}

func (z *inverse) has(r int) bool { return z.at[r] > 0 }

// of is the part of v, in the order of S, that belongs to block k.
func (z *inverse) of(k int, v []float64) []float64 {
	return v[z.start[k] : z.start[k]+len(z.parts[k].rows)]
}

// times sets dst to Z v.
func (z *inverse) times(dst, v []float64) {
	if z.f.sparse != nil {
		if len(dst) > 0 {
			_, l := z.solve(nil, v)
			copy(dst, l)
		}
		return
	}
	for k := range z.parts {
		z.timesOf(k, z.of(k, dst), z.of(k, v))
	}
}

// timesOf is times for the rows of block k alone.
func (z *inverse) timesOf(k int, dst, v []float64) {
	if z.f.sparse != nil {
		z.times(dst, v)
		return
	}
	z.parts[k].times(dst, v)
	z.f.work += perCall + int64(len(dst)*len(dst))
}

// norm is the sum of the absolute entries of Z in the row of r, which is in S.
func (z *inverse) norm(r int) float64 {
	unit, out := make([]float64, len(z.rows)), make([]float64, len(z.rows))
	unit[z.start[z.f.owner[r]]+z.at[r]-1] = 1
	z.times(out, unit)
	return floats.Norm(out, 1)
}

// beside are the rows of S in the block of row j.
func (z *inverse) beside(j int) []int { return z.parts[z.f.owner[j]].rows }

// pivot is that of column.
func (z *inverse) pivot(j int) float64 {
	_, pivot := z.column(j)
	return pivot
}

// column is u = Z Y_Sj, by which the rows of S move with lambda_j, over those beside j, and the pivot Y_jj - Y_jS u: what row j has beyond them, between 0 and 1, and 0 where
// rounding may be all of it: it is w'Y w of the weights w = (1, -u).
func (z *inverse) column(j int) (u []float64, pivot float64) {
	u, pivot = z.computedColumn(j)
	if !(pivot > 4*z.f.blockOf(j).rounding()*(1+linalg.Dot(u, u))) { // four times, so that rows that were found independent in one order are so in others
		pivot = 0
	}
	return u, pivot
}

func (z *inverse) computedColumn(j int) (u []float64, pivot float64) {
	if q := z.f.sparse; q != nil {
		a := make([]float64, z.f.n)
		q.b.AddRow(a, j, 1)
		y, l := z.solve(a, nil)
		for b := range l {
			l[b] = -l[b]
		}
		return l, q.b.RowDot(j, y)
	}
	q := &z.parts[z.f.owner[j]]
	u = make([]float64, len(q.rows))
	return u, q.column(u, j)
}

// roundedPivot is a pivot whose rounding may be all of it: the square root of the unit roundoff times the growth of Z.
const roundedPivot = 1e-4

// add takes row j into S, of which u and pivot are its column; sparse factors follow when they are used.
func (z *inverse) add(j int, u []float64, pivot float64) {
	k := z.f.owner[j]
	q := &z.parts[k]
	z.rows = slices.Insert(z.rows, z.start[k]+len(q.rows), j)
	if z.f.sparse != nil {
		q.rows = append(q.rows, j)
	} else {
		q.add(j, u, pivot)
		z.f.work += int64(len(q.rows) * len(q.rows))
	}
	z.at[j] = len(q.rows)
	z.moved(k, 1)
}

// drop takes row j out of S; the last one of its block takes its place.
func (z *inverse) drop(j int) {
	k := z.f.owner[j]
	q := &z.parts[k]
	i, last := z.at[j]-1, len(q.rows)-1
	z.at[q.rows[last]], z.at[j] = z.at[j], 0
	if z.f.sparse != nil {
		q.rows[i] = q.rows[last]
		q.rows = q.rows[:last]
	} else {
		q.drop(i)
		z.f.work += int64(last * last)
	}
	from := z.start[k]
	copy(z.rows[from:], q.rows)
	z.rows = slices.Delete(z.rows, from+last, from+last+1)
	z.moved(k, -1)
}

// forget has the next set make everything anew.
func (z *inverse) forget() {
	for k := range z.parts {
		z.parts[k].moved = math.MaxInt
	}
}

// set makes S the given rows. Those of a block are kept in their order, or as they are where they are the same and fewer have come and gone than there are: a factor of them takes as much as so many changes, and rounding of these
// adds up. It reports false, and leaves S empty, where rows depend on each other.
func (z *inverse) set(rows []int) bool {
	sorted, before, known := make([]int, len(rows)), make([]int, len(z.parts)+1), make([]int, len(z.parts))
	for _, r := range rows {
		before[z.f.owner[r]+1]++
		if z.at[r] > 0 {
			known[z.f.owner[r]]++
		}
	}
	for k := range z.parts {
		before[k+1] += before[k]
	}
	next := slices.Clone(before)
	for _, r := range rows {
		k := z.f.owner[r]
		sorted[next[k]] = r
		next[k]++
	}
	clear(z.at)
	ok := true
	for k := range z.parts {
		q, own := &z.parts[k], sorted[before[k]:before[k+1]]
		if z.f.sparse != nil {
			q.rows = append(q.rows[:0], own...)
			continue
		}
		n := len(own)
		if n > 0 && n == len(q.rows) && n == known[k] && q.moved <= n {
			continue
		}
		ok = ok && q.set(own)
		z.f.work += perCall + int64(n)*int64(n)*int64(n)
	}
	if z.f.sparse != nil && len(rows) > 0 {
		// A right side that is not in the range of dependent rows tells them.
		z.arrange()
		z.dependent = false
		z.solve(nil, scattered(len(rows)))
		ok = !z.dependent
	}
	if !ok {
		for k := range z.parts {
			z.parts[k].rows = z.parts[k].rows[:0]
		}
		clear(z.at)
	}
	z.arrange()
	return ok
}
