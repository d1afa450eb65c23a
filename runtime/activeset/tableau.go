package activeset

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/codegen/kernel"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// tableau is the symmetric matrix S of a working set of n = N+M constraints:
//
//	out = S in + const,   in_k = value, out_k = multiplier of an active constraint,
//	                      in_k = -multiplier, out_k = value of an inactive one.
//
// With all variables and no rows active it is [Q A'; A 0]. The block of the
// active constraints is the Hessian of the objective in their values, positive
// semidefinite; that of the inactive ones is negative semidefinite. A pivot
// exchanges in and out of one or two constraints. In the rows and columns of
// the inactive variables and active rows stands, up to signs, the inverse of
// their KKT matrix.
type tableau struct {
	n, vars int
	s       []float64 // lower triangle, row by row
	active  []bool
	q       *sparse.CSR
	linear  bool      // Q = 0: both diagonal blocks stay exactly 0
	largest float64   // entry of [Q A'; A 0]
	sizes   []float64 // of the rows of Q: sums of absolute entries
	pivots  int       // since the matrix was built from the data
	work    int64
	basis   *basis // in place of s where the program is linear and not small
	sparse  bool   // it is

	first, second []float64 // room for two columns
	cf, cs        []float64 // room for their factors
}

// reset makes room for n constraints; build sets the tableau.
func (t *tableau) reset(n, vars int) {
	t.n, t.vars, t.work = n, vars, 0
	t.active = linalg.Cleared(t.active, n)
	for _, f := range []*[]float64{&t.first, &t.second, &t.cf, &t.cs} {
		*f = linalg.Cleared(*f, n)
	}
}

// build sets the tableau of no rows and all variables, and makes room for it: a program that is never solved takes none.
func (t *tableau) build(q, a *sparse.CSR) {
	t.q, t.linear, t.largest, t.pivots = q, true, 0, 0
	for k := range t.active {
		t.active[k] = k < t.vars
	}
	if t.sparse = q == nil && a != nil && t.n >= tolerance.LeastSparse; t.sparse {
		if t.basis == nil {
			t.basis = new(basis)
		}
		t.basis.reset(a, t.vars)
		return
	}
	t.s = linalg.Cleared(t.s, t.n*(t.n+1)/2)
	put := func(m *sparse.CSR, shift int) {
		for i := 0; i < m.Rows; i++ {
			row := t.row(shift + i)
			for j, v := range m.Entries(i) {
				if j < len(row) {
					row[j] = v
					t.largest = max(t.largest, math.Abs(v))
				}
				t.linear = t.linear && (shift > 0 || v == 0)
			}
		}
	}
	if t.sizes = linalg.Cleared(t.sizes, t.vars); q != nil {
		for i := range t.sizes {
			_, vals := q.Row(i)
			t.sizes[i] = floats.Norm(vals, 1)
		}
		put(q, 0)
	}
	if a != nil && a.Rows > 0 {
		put(a, t.vars)
	}
	t.work += int64(len(t.s))
}

// worn reports that making the tableau of its working set anew pays.
func (t *tableau) worn() bool {
	if t.sparse {
		return t.basis.worn()
	}
	return t.pivots > checkEvery+t.n // a factorization costs as many pivots as the working set has constraints
}

// row is the row k up to its diagonal, shared.
func (t *tableau) row(k int) []float64 { return t.s[k*(k+1)/2 : k*(k+1)/2+k+1] }

func (t *tableau) at(i, j int) float64 {
	if i < j {
		i, j = j, i
	}
	return t.s[i*(i+1)/2+j]
}

// inKKT reports whether constraint k is an inactive variable or an active row.
func (t *tableau) inKKT(k int) bool { return t.active[k] == (k >= t.vars) }

// column copies column k to dst (len n).
func (t *tableau) column(dst []float64, k int) {
	if t.sparse {
		t.work += t.basis.column(dst, k, t.active)
		return
	}
	copy(dst, t.row(k))
	at := (k+1)*(k+2)/2 + k
	for i := k + 1; i < t.n; i++ {
		dst[i] = t.s[at]
		at += i + 1
	}
	t.work += int64(t.n)
}

// curvature makes the diagonal entry k of col, which is column k, 0 where it may be
// rounding of one that is 0 in exact arithmetic. It is
// far from it where it is beyond entries of the KKT matrix times twice those of the
// column, whose errors are of some hundreds of units in the last place after the
// pivots between two factorizations. Else it is d'Qd, where d are the rates of the
// variables, right to the tolerance that values are kept to: entries of Q for those
// that d leaves where they are then count by the square of that.
func (t *tableau) curvature(k int, col []float64) {
	if t.linear {
		col[k] = 0
		return
	}
	most := 0.0
	for i, v := range col {
		if t.inKKT(i) {
			most = max(most, math.Abs(v))
		}
	}
	if math.Abs(col[k]) > 1e-12*t.largest*(1+most)*(1+most) {
		return
	}
	rates := t.cf[:t.vars]
	for j := range rates {
		switch rates[j] = 0; {
		case !t.active[j]:
			rates[j] = col[j]
		case j == k:
			rates[j] = 1
		}
	}
	t.work += int64(t.n)
	value, noise, errorBound := 0.0, 0.0, tolerance.Sign*(1+most)
	for i, d := range rates {
		noise += t.sizes[i] * (errorBound*math.Abs(d) + errorBound*errorBound)
		if d == 0 {
			continue
		}
		t.work += int64(t.q.Ptr[i+1] - t.q.Ptr[i])
		for e := t.q.Ptr[i]; e < t.q.Ptr[i+1]; e++ {
			value += d * t.q.Val[e] * rates[t.q.Col[e]]
		}
	}
	switch {
	case value <= noise:
		col[k] = 0
	case t.active[k]:
		col[k] = value
	default:
		col[k] = -value
	}
}

// pivot1 exchanges constraint k, whose column is col.
func (t *tableau) pivot1(k int, col []float64) {
	pivot := col[k]
	for r, v := range col {
		if v != 0 && r != k {
			kernel.Axpy(t.row(r), -v/pivot, col)
			t.work += int64(r)
		}
	}
	sign := 1.0
	if t.active[k] {
		sign = -1
	}
	row := t.row(k)
	for j := range row {
		row[j] = sign * col[j] / pivot
	}
	for i := k + 1; i < t.n; i++ {
		t.s[i*(i+1)/2+k] = sign * col[i] / pivot
	}
	row[k] = -1 / pivot
	t.active[k] = !t.active[k]
	t.pivots++
	t.work += int64(t.n)
}

// pivot2 exchanges constraints p and q, whose columns are cp and cq.
func (t *tableau) pivot2(p, q int, cp, cq []float64) {
	if t.sparse {
		if t.active[p] {
			p, q, cp, cq = q, p, cq, cp
		}
		t.basis.exchange(q, p, cq, cp)
		t.active[p], t.active[q] = true, false
		t.pivots++
		t.work += vectors * int64(t.n) // with what the choice of the two looks at
		return
	}
	a, e, d := cp[p], cp[q], cq[q]
	if t.linear {
		a, d = 0, 0
	}
	det := a*d - e*e
	for r := range t.cf {
		t.cf[r] = (d*cp[r] - e*cq[r]) / det
		t.cs[r] = (a*cq[r] - e*cp[r]) / det
	}
	for r := 0; r < t.n; r++ {
		if r == p || r == q {
			continue
		}
		if t.cf[r] != 0 {
			kernel.Axpy(t.row(r), -t.cf[r], cp)
			t.work += int64(r)
		}
		if t.cs[r] != 0 {
			kernel.Axpy(t.row(r), -t.cs[r], cq)
			t.work += int64(r)
		}
	}
	signs := [2]float64{1, 1}
	for i, k := range [2]int{p, q} {
		if t.active[k] {
			signs[i] = -1
		}
	}
	for r := 0; r < t.n; r++ {
		if r != p && r != q {
			t.set(r, p, signs[0]*t.cf[r])
			t.set(r, q, signs[1]*t.cs[r])
		}
	}
	t.set(p, p, -d/det)
	t.set(q, q, -a/det)
	t.set(p, q, signs[0]*signs[1]*e/det)
	t.active[p], t.active[q] = !t.active[p], !t.active[q]
	t.pivots += 2
	t.work += 2 * int64(t.n)
}

func (t *tableau) set(i, j int, v float64) {
	if i < j {
		i, j = j, i
	}
	t.s[i*(i+1)/2+j] = v
}

// multiply sets dst to S x on the inactive variables and active rows, where x
// is 0 elsewhere.
func (t *tableau) multiply(dst, x []float64) {
	if t.sparse {
		t.work += t.basis.multiply(dst, x, t.active)
		return
	}
	clear(dst)
	for r := 0; r < t.n; r++ {
		if !t.inKKT(r) {
			continue
		}
		row := t.row(r)
		dst[r] += kernel.Dot(row, x)
		if x[r] != 0 {
			kernel.Axpy(dst[:r], x[r], row)
		}
		t.work += 2 * int64(r)
	}
}

// sizesOfProduct sets dst to |S| x, where x >= 0 is 0 but on the inactive variables and active rows.
func (t *tableau) sizesOfProduct(dst, x []float64, random func() float64) {
	if t.sparse {
		t.work += t.basis.sizesOfProduct(dst, x, t.active, random)
		return
	}
	clear(dst)
	for r := 0; r < t.n; r++ {
		row := t.row(r)
		to, at, by := dst[:r], x[:r], x[r]
		var sum [4]float64
		j := 0
		if by == 0 {
			for ; j+4 <= r; j += 4 {
				v, u := row[j:j+4:j+4], at[j:j+4:j+4]
				sum[0] += math.Abs(v[0]) * u[0]
				sum[1] += math.Abs(v[1]) * u[1]
				sum[2] += math.Abs(v[2]) * u[2]
				sum[3] += math.Abs(v[3]) * u[3]
			}
		}
		for ; j+4 <= r; j += 4 {
			v, u, d := row[j:j+4:j+4], at[j:j+4:j+4], to[j:j+4:j+4]
			a, b, c, e := math.Abs(v[0]), math.Abs(v[1]), math.Abs(v[2]), math.Abs(v[3])
			sum[0] += a * u[0]
			sum[1] += b * u[1]
			sum[2] += c * u[2]
			sum[3] += e * u[3]
			d[0] += a * by
			d[1] += b * by
			d[2] += c * by
			d[3] += e * by
		}
		for ; j < r; j++ {
			a := math.Abs(row[j])
			sum[0] += a * at[j]
			to[j] += a * by
		}
		dst[r] += sum[0] + sum[1] + sum[2] + sum[3] + math.Abs(row[r])*by
		t.work += 2 * int64(r)
	}
}

// weight is 1 plus the squares of column k at the constraints whose activity
// is `active`: of the rates of the multipliers, or of the values, that move
// with constraint k (steepest edge; Goldfarb, Reid 1977; Forrest, Goldfarb 1992).
func (t *tableau) weight(k int, active bool) float64 {
	if t.sparse {
		return t.basis.edges[k]
	}
	sum := 1.0
	for j, v := range t.row(k) {
		if t.active[j] == active {
			sum += v * v
		}
	}
	at := (k+1)*(k+2)/2 + k
	for i := k + 1; i < t.n; i++ {
		if t.active[i] == active {
			sum += t.s[at] * t.s[at]
		}
		at += i + 1
	}
	t.work += int64(t.n)
	return sum
}

// moveTo makes as many constraints as possible active or inactive as `want`
// says, by pivots on the block of those that differ, in the order of rook
// pivoting; the rest depends on these, and stays as it is.
func (t *tableau) moveTo(want []bool) {
	if t.sparse {
		if !slices.Equal(want, t.active) {
			t.work += t.basis.moveTo(want, t.active)
			t.pivots = 0
		}
		return
	}
	var open []int
	for k, w := range want {
		if t.active[k] != w {
			open = append(open, k)
		}
	}
	alpha := (1 + math.Sqrt(17)) / 8 // Bunch and Kaufman (1977)
	cp, cq := t.first, t.second
	for len(open) > 0 {
		k, most := open[0], -1.0
		for _, j := range open {
			if v := math.Abs(t.at(j, j)); v > most {
				k, most = j, v
			}
		}
		t.column(cp, k)
		t.work += int64(len(open))
		other, size := -1, 0.0
		for rounds := 0; ; rounds++ {
			other, size = -1, 0
			for _, j := range open {
				if v := math.Abs(cp[j]); j != k && v > size {
					other, size = j, v
				}
			}
			t.curvature(k, cp)
			one := math.Abs(cp[k])
			if one > 0 && one >= alpha*size || other < 0 {
				if one == 0 {
					size = 0
				}
				other = -1
				break
			}
			t.column(cq, other)
			t.work += int64(2 * len(open))
			next, largest := -1, size
			for _, j := range open {
				if v := math.Abs(cq[j]); j != other && j != k && v > largest {
					next, largest = j, v
				}
			}
			if next < 0 || rounds > len(open) {
				t.curvature(other, cq)
				if d := math.Abs(cq[other]); d > 0 && d >= alpha*largest {
					k, other = other, -1
					cp, cq = cq, cp
				}
				break
			}
			k = other
			cp, cq = cq, cp
		}
		switch {
		case other >= 0 && size > tolerance.HalfDigits:
			t.pivot2(k, other, cp, cq)
		case other < 0 && cp[k] != 0:
			t.pivot1(k, cp)
		}
		keep := open[:0] // the pivots are done; what has none depends on others
		for _, j := range open {
			if j != k && j != other {
				keep = append(keep, j)
			}
		}
		open = keep
	}
}
