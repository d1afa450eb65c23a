package reduced

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/gram"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// block is one of the followers that share nothing but x (kkt.System.Blocks): H, Y and Z have a dense block for each, so that what they cost is a sum over the blocks.
// A follower with sparse factors is one block without matrices.
type block struct {
	ys       []int // its entries of y, ascending
	from     int   // the first of them where they are next to each other; -1
	first, m int   // its rows
	terms    int   // that an entry of Y is a sum of
	h        *linalg.Cholesky
	e, y     []float64 // m x len(ys), m x m; e nil: y is lambda, and E the identity (condensed)
}

// perCall are the multiplications that a call for a block, or a row of one, counts as beside its own: of small blocks it takes longer (measured with 1e4 of one row each).
const perCall = 32

// Sparse reports whether the follower of a problem is taken with sparse factors: its Hessian is known to be sparse, and it is one, or the largest of several has more than tolerance.DenseOrder entries of y and rows, up to
// which a dense factor takes no longer than what goes with a sparse one; or their derivatives in x are more than tolerance.MostNumbers.
func Sparse(p *problem.Problem) bool {
	return p.Facts.HessianPattern != nil && (len(p.Followers()) < 2 || (p.Dy+p.Rows.Len())*(p.Dx+p.X.Extended.Extra()) > tolerance.MostNumbers || p.LargestFollower() > tolerance.DenseOrder)
}

// divide makes the blocks, puts the rows of each next to each other, and factorizes H.
func (f *follower) divide(least float64) error {
	owner := make([]int, f.n)
	f.blocks = make([]block, max(1, len(f.sys.Blocks())))
	if f.sparse == nil {
		for k, b := range f.sys.Blocks() {
			for _, j := range b.Y {
				owner[j] = k
			}
		}
	} else {
		f.blocks = f.blocks[:1]
	}
	for j, b := range owner {
		f.blocks[b].ys = append(f.blocks[b].ys, j)
	}
	of := func(r int) int {
		j, _ := f.sys.P.Rows.B.First(f.rows[r].low)
		return owner[max(j, 0)]
	}
	order := each.Number(f.m)
	slices.SortStableFunc(order, func(a, b int) int { return of(a) - of(b) })
	rows, place := make([]row, f.m), make([]int, f.m)
	f.owner = make([]int, f.m)
	for now, r := range order {
		rows[now], place[r], f.owner[now] = f.rows[r], now, of(r)
		f.blocks[f.owner[now]].m++
	}
	f.rows = rows
	for i := range f.of {
		if o := &f.of[i]; o.row >= 0 {
			o.row = place[o.row]
		}
	}
	first := 0
	for k := range f.blocks {
		b := &f.blocks[k]
		b.first, b.from = first, -1
		first += b.m
		if n := len(b.ys); n > 0 && b.ys[n-1]-b.ys[0] == n-1 {
			b.from = b.ys[0]
		}
	}
	if f.sparse != nil {
		return nil
	}
	within := make([]int, f.n) // the places of entries of y in their blocks
	for k := range f.blocks {
		for a, j := range f.blocks[k].ys {
			within[j] = a
		}
	}
	for k := range f.blocks {
		b := &f.blocks[k]
		n := len(b.ys)
		h := make([]float64, n*n)
		for a, i := range b.ys {
			for j, v := range f.sys.H.Entries(i) {
				h[a*n+within[j]] += v
			}
		}
		var ok bool
		if b.h, ok = linalg.NewCholesky(n, h); !ok {
			return fmt.Errorf("%w: its Hessian is not positive definite", ErrClass)
		}
		if kept := b.h.Kept(func(a int) float64 { return f.sys.H.At(b.ys[a], b.ys[a]) }); kept < least {
			return fmt.Errorf("%w: its Hessian is singular to rounding", ErrClass)
		}
	}
	f.within = within
	return nil
}

// gather is the block's part of v (len n), which shares its memory where it can.
func (b *block) gather(v []float64) []float64 {
	if b.from >= 0 {
		return v[b.from : b.from+len(b.ys)]
	}
	return linalg.Gather(v, b.ys)
}

// scatter writes a part that gather has made back.
func (b *block) scatter(v, part []float64) {
	if b.from < 0 {
		linalg.Scatter(v, b.ys, part)
	}
}

// gatherRows is the block's part of a matrix with n rows of nw entries, which shares its memory where it can.
func (b *block) gatherRows(m []float64, nw int) []float64 {
	if b.from >= 0 {
		return m[b.from*nw : (b.from+len(b.ys))*nw]
	}
	out := make([]float64, len(b.ys)*nw)
	for a, j := range b.ys {
		copy(out[a*nw:(a+1)*nw], m[j*nw:(j+1)*nw])
	}
	return out
}

// scatterRows writes a part that gatherRows has made back.
func (b *block) scatterRows(m, part []float64, nw int) {
	if b.from >= 0 {
		return
	}
	for a, j := range b.ys {
		copy(m[j*nw:(j+1)*nw], part[a*nw:(a+1)*nw])
	}
}

// rows is the block's part of v (len m); it shares its memory.
func (b *block) rows(v []float64) []float64 { return v[b.first : b.first+b.m] }

// rowE and rowY are row r of E, over the block's entries of y, and of Y, over its rows.
func (b *block) rowE(r int) []float64 {
	n := len(b.ys)
	return b.e[(r-b.first)*n : (r-b.first+1)*n]
}

// width is how many multiplications a row of E takes.
func (b *block) width() int {
	if b.e == nil {
		return 1
	}
	return len(b.ys)
}

// addE adds what E makes of y to the given rows of dst.
func (b *block) addE(dst []float64, rows []int, y []float64) {
	if b.e == nil {
		for _, r := range rows {
			dst[r] += y[r]
		}
		return
	}
	own := b.gather(y)
	for _, r := range rows {
		dst[r] += linalg.Dot(b.rowE(r), own)
	}
}

func (b *block) rowY(r int) []float64 { return b.y[(r-b.first)*b.m : (r-b.first+1)*b.m] }

// axpy adds alpha times row r of E to y.
func (b *block) axpy(y []float64, alpha float64, r int) {
	if b.e == nil {
		y[r] += alpha
		return
	}
	if b.from >= 0 {
		linalg.Axpy(y[b.from:b.from+len(b.ys)], alpha, b.rowE(r))
		return
	}
	for a, v := range b.rowE(r) {
		y[b.ys[a]] += alpha * v
	}
}

// rounding is what w'Y w has of it, per w'w: entries of Y are products of n terms of rows of length 1 (Higham, sec. 3.5).
func (b *block) rounding() float64 { return float64(b.terms) * 0x1p-53 }

// blockOf is that of row r.
func (f *follower) blockOf(r int) *block { return &f.blocks[f.owner[r]] }

// matrices sets E and Y of all blocks, b the rows' coefficients, of rows without units yet.
func (f *follower) matrices(b *sparse.CSR) {
	for k := range f.blocks {
		o := &f.blocks[k]
		n, m := len(o.ys), o.m
		o.terms = n
		own := sparse.Empty(n)
		for r := o.first; r < o.first+m; r++ {
			for j, v := range b.Entries(r) {
				own.Append(f.within[j], v)
			}
			own.EndRow()
		}
		bt := own.T().Dense() // n x m
		if m == 0 {
			bt = nil
		}
		o.h.SolveInverse(bt, m)
		o.e = make([]float64, m*n)
		for j := range n {
			for r, v := range bt[j*m : (j+1)*m] {
				o.e[r*n+j] = v
			}
		}
		o.y = make([]float64, m*m)
		multiply(o.y, own, bt, m)
		linalg.Symmetrize(m, o.y)
	}
}

// timesY adds alpha Y l to dst, and timesET alpha E'l to y, over all rows.
func (f *follower) timesY(dst []float64, alpha float64, l []float64) {
	for k := range f.blocks {
		b := &f.blocks[k]
		linalg.Gemv(b.rows(dst), alpha, b.y, b.m, b.m, false, b.rows(l))
	}
}

func (f *follower) timesET(y []float64, alpha float64, l []float64) {
	for k := range f.blocks {
		b := &f.blocks[k]
		if b.e == nil {
			linalg.Axpy(b.rows(y), alpha, b.rows(l))
			continue
		}
		part := b.gather(y)
		linalg.Gemv(part, alpha, b.e, b.m, len(b.ys), true, b.rows(l))
		b.scatter(y, part)
	}
}

// square is what a product with E or Y of all blocks takes, the larger.
func (f *follower) square() (n int) {
	for k := range f.blocks {
		b := &f.blocks[k]
		n += b.m * max(b.m, b.width())
	}
	return n
}

// tangent is how the multipliers of a block's rows in S move with w: lambda_S' = -T.
type tangent struct {
	rows  []int
	t     []float64 // len(rows) x nw
	terms []float64 // of each row, the sizes of what it is a sum of, whose rounding it has (Higham, sec. 3.5)
}

// differentiateBlock sets T of a block, S its given rows, of which z is the inverse.
func (p *piece) differentiateBlock(k int, z *part) {
	f, t := p.f, &p.tangents[k]
	nw, count := f.nw, len(z.rows)
	t.rows = append(t.rows[:0], z.rows...)
	t.t = linalg.Cleared(t.t, count*nw)
	if count == 0 {
		return
	}
	p.roomR = linalg.Cleared(p.roomR, count*nw)
	rs, minus, lengths := p.roomR, make([]float64, count*count), make([]float64, count)
	for a, r := range z.rows {
		copy(rs[a*nw:(a+1)*nw], f.r[r*nw:(r+1)*nw])
		lengths[a] = linalg.Norm(rs[a*nw : (a+1)*nw])
	}
	t.terms = linalg.Cleared(t.terms, count)
	for a := range z.rows {
		for c, v := range z.row(a) {
			minus[a*count+c] = -v
			t.terms[a] += math.Abs(v) * lengths[c]
		}
	}
	gram.Subtract(matrix(t.t, count, nw), matrix(minus, count, count), false, matrix(rs, count, nw))
}

// addTransposed adds alpha T'l to dst (len nw), l of all rows; pushT adds alpha T w to l.
func (p *piece) addTransposed(dst []float64, alpha float64, l []float64) {
	for k := range p.tangents {
		t := &p.tangents[k]
		own, zero := make([]float64, len(t.rows)), true
		for a, r := range t.rows {
			own[a] = l[r]
			zero = zero && own[a] == 0
		}
		if !zero {
			linalg.Gemv(dst, alpha, t.t, len(own), p.f.nw, true, own)
		}
	}
}

func (p *piece) pushT(l []float64, alpha float64, w []float64) {
	for k := range p.tangents {
		t := &p.tangents[k]
		own := make([]float64, len(t.rows))
		linalg.Gemv(own, alpha, t.t, len(own), p.f.nw, false, w)
		for a, r := range t.rows {
			l[r] += own[a]
		}
	}
}

// part is the inverse of Y_SS of the rows of a block in S, dense and symmetric.
type part struct {
	b      *block
	rows   []int     // in S
	moved  int       // how many rows have come or gone since z was set
	z      []float64 // stride x stride
	stride int       // the number of rows that there is room for
}

func (z *part) row(a int) []float64 { return z.z[a*z.stride : a*z.stride+len(z.rows)] }

func (z *part) grow() {
	if len(z.rows) < z.stride {
		return
	}
	stride := max(16, 2*z.stride)
	next := make([]float64, stride*stride)
	for a := range z.rows {
		copy(next[a*stride:], z.row(a))
	}
	z.z, z.stride = next, stride
}

// times sets dst to Z v.
func (z *part) times(dst, v []float64) {
	for a := range z.rows {
		dst[a] = linalg.Dot(z.row(a), v)
	}
}

// column sets u to Z Y_Sj, and returns the pivot.
func (z *part) column(u []float64, j int) (pivot float64) {
	v := make([]float64, len(z.rows))
	yj, first := z.b.rowY(j), z.b.first
	for a, r := range z.rows {
		v[a] = yj[r-first]
	}
	z.times(u, v)
	if pivot = yj[j-first] - linalg.Dot(v, u); pivot > roundedPivot {
		return pivot
	}
	// Y_jj - 2 u'Y_Sj + u'Y_SS u has the error of u squared, after a step of refinement.
	rest, step, all := make([]float64, len(u)), make([]float64, len(u)), make([]float64, z.b.m)
	for range 2 {
		pivot = yj[j-first] - linalg.Dot(v, u)
		for a, r := range z.rows {
			all[r-first] = u[a]
		}
		for a, r := range z.rows {
			rest[a] = v[a] - linalg.Dot(z.b.rowY(r), all)
		}
		pivot -= linalg.Dot(rest, u)
		z.times(step, rest)
		linalg.Axpy(u, 1, step)
	}
	return pivot
}

// add takes row j in, of which u and pivot are the column.
func (z *part) add(j int, u []float64, pivot float64) {
	z.moved++
	z.grow()
	for a, v := range u {
		linalg.Axpy(z.row(a), v/pivot, u)
	}
	k := len(z.rows)
	z.rows = append(z.rows, j)
	for a, v := range u {
		z.z[a*z.stride+k] = -v / pivot
		z.z[k*z.stride+a] = -v / pivot
	}
	z.z[k*z.stride+k] = 1 / pivot
}

// drop takes the row at place i out; the last one takes its place.
func (z *part) drop(i int) {
	z.moved++
	last := len(z.rows) - 1
	if i != last {
		for a := range z.rows {
			z.z[a*z.stride+i], z.z[a*z.stride+last] = z.z[a*z.stride+last], z.z[a*z.stride+i]
		}
		for a := range z.rows {
			z.z[i*z.stride+a], z.z[last*z.stride+a] = z.z[last*z.stride+a], z.z[i*z.stride+a]
		}
		z.rows[i] = z.rows[last]
	}
	v := slices.Clone(z.row(last))
	z.rows = z.rows[:last]
	for a := range z.rows {
		linalg.Axpy(z.row(a), -v[a]/v[last], v[:last])
	}
}

// set makes the rows the given ones, by a Cholesky factor; it reports false where they depend on each other.
func (z *part) set(rows []int) bool {
	k, first := len(rows), z.b.first
	z.rows, z.moved = append(z.rows[:0], rows...), 0
	if k == 0 {
		return true
	}
	a := make([]float64, k*k)
	for p, r := range rows {
		yr := z.b.rowY(r)
		for q := p; q < k; q++ {
			a[p*k+q] = yr[rows[q]-first]
		}
	}
	c, ok := linalg.NewCholesky(k, a)
	if !ok || !(c.Kept(func(int) float64 { return 1 }) > tolerance.NoCurvature) {
		return false
	}
	z.z, z.stride = linalg.Cleared(z.z, k*k), k
	for p := range k {
		z.z[p*k+p] = 1
	}
	c.SolveInverse(z.z, k)
	linalg.Symmetrize(k, z.z)
	// 1/Z_pp is what row p has beyond the others, and column p of Z over Z_pp their weights.
	for p := range k {
		if row := z.row(p); !(row[p] > z.b.rounding()*linalg.Dot(row, row)) {
			return false
		}
	}
	return true
}

// length is that of row r in the metric of H^-1; with sparse factors in that of the inverse of H's diagonal, which is of the same order where H is a sum of terms of few entries.
func (f *follower) length(r int) float64 {
	if f.sparse == nil {
		return math.Sqrt(f.blockOf(r).rowY(r)[r-f.blockOf(r).first])
	}
	square := 0.0
	for j, v := range f.sparse.b.Entries(r) {
		square += v * v / f.sys.H.At(j, j)
	}
	return math.Sqrt(square)
}
