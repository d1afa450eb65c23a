package reduced

import (
	"slices"

	"bilevelc/runtime/linalg"
)

// inverse is Z = (Y_SS)^-1 of the rows S that hold, dense and symmetric, brought up to date by bordering as rows come and go.
type inverse struct {
	f    *follower
	rows []int     // S
	at   []int     // of each row, its place in S plus 1; 0 for none
	z    []float64 // stride x stride
	// stride is the number of rows that there is room for.
	stride int
	work   int64
	// dependent: a solve with sparse factors did not come to an end, since rows of S depend on each other.
	dependent bool
}

// failed reports that sparse factors are of no more use.
func (z *inverse) failed() bool { return z.f.sparse != nil && z.f.sparse.failed }

// solve is of the system of S, for sparse factors: u is of S, l in its order.
func (z *inverse) solve(a []float64, c []float64) (u []float64, l []float64) {
	all := make([]float64, z.f.m)
	for b, r := range z.rows {
		if c != nil {
			all[r] = c[b]
		}
	}
	u, found, ok := z.f.sparse.solve(z.at, a, all)
	if !ok {
		z.dependent = true
	}
	l = make([]float64, len(z.rows))
	for b, r := range z.rows {
		l[b] = found[r]
	}
	return u, l
}

func (z *inverse) row(a int) []float64 { return z.z[a*z.stride : a*z.stride+len(z.rows)] }

func (z *inverse) has(r int) bool { return z.at != nil && z.at[r] > 0 }

func (z *inverse) grow() {
	if z.at == nil {
		z.at = make([]int, z.f.m)
	}
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
func (z *inverse) times(dst, v []float64) {
	if z.f.sparse != nil {
		if len(dst) > 0 {
			_, l := z.solve(nil, v)
			copy(dst, l)
		}
		return
	}
	for a := range z.rows {
		dst[a] = linalg.Dot(z.row(a), v)
	}
	z.work += int64(len(z.rows) * len(z.rows))
}

// column is u = Z Y_Sj, by which the rows of S move with lambda_j, and the pivot Y_jj - Y_jS u: what row j has beyond them, between 0 and 1.
func (z *inverse) column(j int) (u []float64, pivot float64) {
	if q := z.f.sparse; q != nil {
		a := make([]float64, z.f.n)
		q.b.AddRow(a, j, 1)
		y, l := z.solve(a, nil)
		for b := range l {
			l[b] = -l[b]
		}
		return l, q.b.RowDot(j, y)
	}
	v := make([]float64, len(z.rows))
	yj := z.f.y[j*z.f.m : (j+1)*z.f.m]
	for a, r := range z.rows {
		v[a] = yj[r]
	}
	u = make([]float64, len(z.rows))
	z.times(u, v)
	if pivot = yj[j] - linalg.Dot(v, u); pivot > doubtful {
		return u, pivot
	}
	// Y_jj - 2 u'Y_Sj + u'Y_SS u has the error of u squared, after a step of refinement.
	rest, step := make([]float64, len(u)), make([]float64, len(u))
	for range 2 {
		pivot = yj[j] - linalg.Dot(v, u)
		for a, r := range z.rows {
			yr := z.f.y[r*z.f.m : (r+1)*z.f.m]
			rest[a] = v[a]
			for b, s := range z.rows {
				rest[a] -= yr[s] * u[b]
			}
		}
		pivot -= linalg.Dot(rest, u)
		z.times(step, rest)
		linalg.Axpy(u, 1, step)
	}
	return u, pivot
}

// doubtful is a pivot whose rounding may be all of it: the square root of the unit roundoff times the growth of Z.
const doubtful = 1e-4

// add takes row j into S, of which u and pivot are its column.
func (z *inverse) add(j int, u []float64, pivot float64) {
	if z.f.sparse != nil {
		z.join(j)
		return
	}
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
	z.at[j] = k + 1
	z.work += int64(k * k)
}

// join takes row j into S; sparse factors follow when they are used.
func (z *inverse) join(j int) {
	if z.at == nil {
		z.at = make([]int, z.f.m)
	}
	z.rows = append(z.rows, j)
	z.at[j] = len(z.rows)
}

// drop takes row j out of S.
func (z *inverse) drop(j int) {
	i, last := z.at[j]-1, len(z.rows)-1
	if z.f.sparse != nil {
		z.rows[i] = z.rows[last]
		z.at[z.rows[i]], z.at[j] = i+1, 0
		z.rows = z.rows[:last]
		return
	}
	if i != last { // the last row takes its place
		for a := range z.rows {
			z.z[a*z.stride+i], z.z[a*z.stride+last] = z.z[a*z.stride+last], z.z[a*z.stride+i]
		}
		for a := range z.rows {
			z.z[i*z.stride+a], z.z[last*z.stride+a] = z.z[last*z.stride+a], z.z[i*z.stride+a]
		}
		z.rows[i] = z.rows[last]
		z.at[z.rows[i]] = i + 1
	}
	z.at[j] = 0
	v := slices.Clone(z.row(last))
	z.rows = z.rows[:last]
	for a := range z.rows {
		linalg.Axpy(z.row(a), -v[a]/v[last], v[:last])
	}
	z.work += int64(last * last)
}

// set makes S the given rows, by a Cholesky factor of Y_SS. It reports false, and leaves S empty, where they depend on each other.
func (z *inverse) set(rows []int) bool {
	k := len(rows)
	if z.at == nil {
		z.at = make([]int, z.f.m)
	}
	clear(z.at)
	z.rows = z.rows[:0]
	if k == 0 {
		return true
	}
	if z.f.sparse != nil {
		for _, r := range rows {
			z.join(r)
		}
		// A right side that is not in the range of dependent rows tells them.
		z.dependent = false
		one := make([]float64, k)
		state := uint64(1)
		for b := range one { // xorshift (Marsaglia 2003)
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			one[b] = float64(state>>11)/(1<<53) - 0.5
		}
		if z.solve(nil, one); z.dependent {
			clear(z.at)
			z.rows = z.rows[:0]
			return false
		}
		return true
	}
	a := make([]float64, k*k)
	for p, r := range rows {
		yr := z.f.y[r*z.f.m : (r+1)*z.f.m]
		for q := p; q < k; q++ {
			a[p*k+q] = yr[rows[q]]
		}
	}
	c, ok := linalg.NewCholesky(k, a)
	if !ok || !(c.Kept(func(int) float64 { return 1 }) > singular) {
		return false
	}
	z.z, z.stride = linalg.Cleared(z.z, k*k), k
	for p := range k {
		z.z[p*k+p] = 1
	}
	c.SolveInverse(z.z, k)
	for p := range k {
		for q := range p {
			v := (z.z[p*k+q] + z.z[q*k+p]) / 2
			z.z[p*k+q], z.z[q*k+p] = v, v
		}
	}
	z.rows = append(z.rows, rows...)
	for p, r := range rows {
		z.at[r] = p + 1
	}
	z.work += int64(k) * int64(k) * int64(k)
	return true
}
