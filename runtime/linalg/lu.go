package linalg

import (
	"math"
	"slices"

	"bilevelc/runtime/tolerance"
)

// LU is the factorization of a sparse square matrix, whose columns are chosen from those that are given: rows and columns are
// exchanged so that few entries fill in (Markowitz 1957), and none is divided by one that is small beside the others of its row
// (Duff, Erisman and Reid 2017, ch. 5 and 7). It is not safe for concurrent use.
type LU struct {
	n        int
	row, col []int32 // of the pivots, in their order; col numbers the places of the solution
	pivot    []float64
	l        Parts // for each pivot, what is subtracted of its row from others: l.at are rows
	urow     Parts // for each pivot, what is right of it in its row: columns
	ucol     Parts // and what is above it in its column: rows

	// of the elimination
	line   [][]int32   // columns of each row that is left, all of them first
	value  [][]float64 // their entries
	column [][]int32   // rows of each column that is left
	byRow  buckets
	byCol  buckets
	place  []int32 // of a column in the pivot's row, plus 1
	Work   int64   // numbers that the last factorization read or wrote
}

// Scattered is how many numbers are read and written of an entry of a sparse vector that is taken from a full one: its place, itself, and the other's twice.
const Scattered = 4

// What takes as long as so many numbers that are read in their order, as measured: an entry that is put into lists of its row and its column, and a row or column
// that changes the ring it is in.
const loading, moving = 32, 32

// Parts are sparse vectors, one behind the other.
type Parts struct {
	ptr []int
	at  []int32
	val []float64
}

// Clear takes all of them out.
func (p *Parts) Clear() { p.ptr, p.at, p.val = append(p.ptr[:0], 0), p.at[:0], p.val[:0] }

// Add adds an entry to the vector that End ends.
func (p *Parts) Add(at int32, v float64) { p.at, p.val = append(p.at, at), append(p.val, v) }

// End ends a vector.
func (p *Parts) End() { p.ptr = append(p.ptr, len(p.at)) }

// Len is the number of entries.
func (p *Parts) Len() int { return len(p.at) }

// Subtract takes v times vector k from x, and returns its length.
func (p *Parts) Subtract(x []float64, k int, v float64) int {
	from, to := p.ptr[k], p.ptr[k+1]
	vals := p.val[from:to]
	for e, i := range p.at[from:to] {
		x[i] -= vals[e] * v
	}
	return to - from
}

// Dot is the product of vector k and x.
func (p *Parts) Dot(k int, x []float64) (sum float64) {
	from, to := p.ptr[k], p.ptr[k+1]
	vals := p.val[from:to]
	for e, i := range p.at[from:to] {
		sum += vals[e] * x[i]
	}
	return sum
}

// threshold is the least size of a pivot, relative to the largest entry of its row: the usual compromise between fill and growth
// (Duff, Erisman and Reid 2017, sec. 7.4).
const threshold = 0.1

// Entries is the number of entries of both factors.
func (f *LU) Entries() int { return len(f.l.at) + len(f.urow.at) + len(f.row) }

// Factor factorizes n rows of `columns` columns, of which each calls add for its entries. It returns the columns and rows that are
// left, which depend on the others to half of the digits: then there are no factors.
func (f *LU) Factor(n, columns int, each func(j int, add func(i int, v float64))) (cols, rows []int32) {
	f.load(n, columns, each)
	for {
		r, c := f.choose()
		if r < 0 {
			break
		}
		f.eliminate(r, c)
	}
	done := make([]bool, max(n, columns))
	for _, r := range f.row {
		done[r] = true
	}
	for i := range n {
		if !done[i] {
			rows = append(rows, int32(i))
		}
	}
	clear(done)
	for _, c := range f.col {
		done[c] = true
	}
	for j := range columns {
		if !done[j] {
			cols = append(cols, int32(j))
		}
	}
	if len(rows)+len(cols) == 0 {
		f.transpose()
		f.Work += 2 * Scattered * int64(len(f.urow.at))
	}
	return cols, rows
}

func (f *LU) load(n, columns int, each func(j int, add func(i int, v float64))) {
	f.n = n
	f.row, f.col, f.pivot = f.row[:0], f.col[:0], f.pivot[:0]
	f.l.Clear()
	f.urow.Clear()
	room := func(lists [][]int32, n int) [][]int32 {
		for len(lists) < n {
			lists = append(lists, nil)
		}
		for k := range lists[:n] {
			lists[k] = lists[k][:0]
		}
		return lists[:n]
	}
	f.line, f.column = room(f.line, n), room(f.column, columns)
	for len(f.value) < n {
		f.value = append(f.value, nil)
	}
	f.value = f.value[:n]
	for i := range f.value {
		f.value[i] = f.value[i][:0]
	}
	entries := 0
	for j := range columns {
		each(j, func(i int, v float64) {
			if entries++; v != 0 {
				f.line[i], f.value[i] = append(f.line[i], int32(j)), append(f.value[i], v)
				f.column[j] = append(f.column[j], int32(i))
			}
		})
	}
	f.Work = loading*int64(entries) + moving*int64(n+columns)
	f.place = Cleared(f.place, columns)
	f.byRow.reset(n, func(i int) int { return len(f.line[i]) })
	f.byCol.reset(columns, func(j int) int { return len(f.column[j]) })
}

// choose is the next pivot: of those that are large enough in their row, in the shortest rows and columns, the one whose
// elimination fills in the fewest entries at most; -1 where none is left. It looks at no more than four of these (Suhl and Suhl 1990).
func (f *LU) choose() (r, c int32) {
	r, c = -1, -1
	least, looks := math.Inf(1), 4
	for count := 1; count <= max(f.byRow.longest, f.byCol.longest); count++ {
		for j := f.byCol.first(count); j >= 0; {
			next := f.byCol.next[j]
			at := int32(-1)
			for _, i := range f.column[j] {
				if at < 0 || len(f.line[i]) < len(f.line[at]) {
					if v, most := f.entry(i, j); math.Abs(v) > tolerance.HalfDigits && (count == 1 || math.Abs(v) >= threshold*most) {
						at = i
					}
				}
			}
			if at >= 0 {
				if fill := float64(count-1) * float64(len(f.line[at])-1); fill < least {
					least, r, c = fill, at, j
				}
				if looks--; looks == 0 || least <= float64(count-1)*float64(count-1) {
					return r, c
				}
			} else if count == 1 {
				f.byCol.drop(j) // it depends on others
			}
			j = next
		}
		for i := f.byRow.first(count); i >= 0; {
			next := f.byRow.next[i]
			f.Work += 4 * int64(len(f.line[i]))
			most := NormInf(f.value[i])
			at := int32(-1)
			for k, j := range f.line[i] {
				if v := math.Abs(f.value[i][k]); v > tolerance.HalfDigits && v >= threshold*most && (at < 0 || len(f.column[j]) < len(f.column[at])) {
					at = j
				}
			}
			if at < 0 {
				f.byRow.drop(i)
				i = next
				continue
			}
			if fill := float64(count-1) * float64(len(f.column[at])-1); fill < least {
				least, r, c = fill, i, at
			}
			if looks--; looks == 0 || least <= float64(count)*float64(count-1) {
				return r, c
			}
			i = next
		}
	}
	return r, c
}

// entry is that of row i and column j, and the size of the largest of the row.
func (f *LU) entry(i, j int32) (v, most float64) {
	f.Work += 2 * int64(len(f.line[i]))
	for k, at := range f.line[i] {
		w := f.value[i][k]
		most = math.Max(most, math.Abs(w))
		if at == j {
			v = w
		}
	}
	return v, most
}

// eliminate takes row r and column c out of what is left.
func (f *LU) eliminate(r, c int32) {
	cols, vals := f.line[r], f.value[r]
	pivot := 0.0
	for k, j := range cols {
		f.column[j] = without(f.column[j], r)
		if j == c {
			pivot = vals[k]
			continue
		}
		f.place[j] = int32(k) + 1
		f.urow.Add(j, vals[k])
	}
	f.urow.End()
	f.Work += moving * int64(2*len(cols)+len(f.column[c]))
	for _, i := range f.column[c] {
		line, value := f.line[i], f.value[i]
		at := slices.Index(line, c)
		by := value[at] / pivot
		last := len(line) - 1
		line[at], value[at] = line[last], value[last]
		line, value = line[:last], value[:last]
		f.l.Add(i, by)
		f.Work += Scattered * int64(len(line)+2*len(cols))
		if len(cols) > 1 {
			line, value = f.subtract(i, line, value, by, cols, vals)
		}
		f.line[i], f.value[i] = line, value
		f.byRow.set(i, len(line))
	}
	f.l.End()
	for _, j := range cols {
		f.place[j] = 0
		f.byCol.set(j, len(f.column[j]))
	}
	f.byRow.drop(r)
	f.byCol.drop(c)
	f.line[r], f.value[r], f.column[c] = cols[:0], vals[:0], f.column[c][:0]
	f.row, f.col, f.pivot = append(f.row, r), append(f.col, c), append(f.pivot, pivot)
}

// subtract takes `by` times the pivot's row from row i, which has no entry in the pivot's column any more. What rounding leaves of an entry that is 0 is none.
func (f *LU) subtract(i int32, line []int32, value []float64, by float64, cols []int32, vals []float64) ([]int32, []float64) {
	keep := 0
	for k, j := range line {
		v := value[k]
		if p := f.place[j]; p > 0 {
			d := by * vals[p-1]
			f.place[j] = -p // met
			if w := v - d; math.Abs(w) > tolerance.Eliminated*math.Max(math.Abs(v), math.Abs(d)) {
				v = w
			} else {
				f.column[j] = without(f.column[j], i)
				continue
			}
		}
		line[keep], value[keep] = j, v
		keep++
	}
	line, value = line[:keep], value[:keep]
	for k, j := range cols {
		switch p := f.place[j]; {
		case p < 0:
			f.place[j] = -p
		case p > 0:
			line, value = append(line, j), append(value, -by*vals[k])
			f.column[j] = append(f.column[j], i)
		}
	}
	return line, value
}

// without takes a member out of a list.
func without(list []int32, member int32) []int32 {
	at, last := slices.Index(list, member), len(list)-1
	list[at] = list[last]
	return list[:last]
}

// transpose sets the columns of U.
func (f *LU) transpose() {
	ptr := Cleared(f.ucol.ptr, f.n+1)
	for _, j := range f.urow.at {
		ptr[j+1]++
	}
	for j := range f.n {
		ptr[j+1] += ptr[j]
	}
	f.ucol.at, f.ucol.val = Cleared(f.ucol.at, len(f.urow.at)), Cleared(f.ucol.val, len(f.urow.at))
	for t, r := range f.row {
		for k := f.urow.ptr[t]; k < f.urow.ptr[t+1]; k++ {
			j := f.urow.at[k]
			f.ucol.at[ptr[j]], f.ucol.val[ptr[j]] = r, f.urow.val[k]
			ptr[j]++
		}
	}
	copy(ptr[1:], ptr[:f.n])
	ptr[0] = 0
	f.ucol.ptr = ptr
}

// Solve sets x to the solution of the equations with the right-hand sides b, which it overwrites; it returns how many numbers it read or wrote.
func (f *LU) Solve(x, b []float64) (work int) {
	for t, r := range f.row {
		if v := b[r]; v != 0 {
			work += f.l.Subtract(b, t, v)
		}
	}
	for t := len(f.row) - 1; t >= 0; t-- {
		c, v := f.col[t], b[f.row[t]]
		if v != 0 {
			v /= f.pivot[t]
			work += f.ucol.Subtract(b, int(c), v)
		}
		x[c] = v
	}
	return Scattered * (work + 2*f.n)
}

// SolveT is Solve for the transposed equations.
func (f *LU) SolveT(x, b []float64) (work int) {
	for t, c := range f.col {
		v := b[c]
		if v != 0 {
			v /= f.pivot[t]
			work += f.urow.Subtract(b, t, v)
		}
		x[f.row[t]] = v
	}
	for t := len(f.row) - 1; t >= 0; t-- {
		x[f.row[t]] -= f.l.Dot(t, x)
	}
	return Scattered * (work + f.l.Len() + 2*f.n)
}

// buckets list members by a count, each in a ring of its own.
type buckets struct {
	head, next, prev []int32 // head by count, -1 where none is
	count            []int32 // of each member, -1 where it is dropped
	longest          int
}

func (b *buckets) reset(n int, count func(k int) int) {
	b.next, b.prev, b.count = Cleared(b.next, n), Cleared(b.prev, n), Cleared(b.count, n)
	b.head, b.longest = b.head[:0], 0
	for k := n - 1; k >= 0; k-- {
		b.count[k] = -1
		b.set(int32(k), count(k))
	}
}

// first is a member with a count, -1 where there is none.
func (b *buckets) first(count int) int32 {
	if count >= len(b.head) {
		return -1
	}
	return b.head[count]
}

// drop takes a member out.
func (b *buckets) drop(k int32) {
	if b.count[k] < 0 {
		return
	}
	if p := b.prev[k]; p >= 0 {
		b.next[p] = b.next[k]
	} else {
		b.head[b.count[k]] = b.next[k]
	}
	if q := b.next[k]; q >= 0 {
		b.prev[q] = b.prev[k]
	}
	b.count[k] = -1
}

// set moves a member to another count.
func (b *buckets) set(k int32, count int) {
	if int(b.count[k]) == count {
		return
	}
	b.drop(k)
	for len(b.head) <= count {
		b.head = append(b.head, -1)
	}
	b.longest = max(b.longest, count)
	h := b.head[count]
	if b.next[k], b.prev[k] = h, -1; h >= 0 {
		b.prev[h] = k
	}
	b.head[count], b.count[k] = k, int32(count)
}
