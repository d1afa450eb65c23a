package outer

import (
	"math"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// smallest finds the smallest element of the hull of gradients plus the normal cone of X
// and D near x, as qp.Projector.MinNorm does. Where the cone is that of the constraints of
// X that hold at x, and no other lies within the radius, it is a problem of nonnegative
// least squares, which tells hulls of a hundred gradients apart whose lengths differ by
// many digits; elsewhere both are asked.
func (r *Run) smallest(x []float64, gradients [][]float64, radius float64, guess *qp.Working) (*qp.Hull, error) {
	cone, whole := r.cone(x, radius)
	hull, settled := leastHull(gradients, cone)
	if hull != nil && whole && settled {
		return hull, nil
	}
	other, err := r.projector.MinNorm(x, gradients, radius, guess)
	if err != nil {
		if hull != nil && outside(err) {
			return hull, nil
		}
		return nil, err
	}
	if hull != nil && hull.Norm < other.Norm {
		return hull, nil
	}
	return other, nil
}

// cone are the normals of length 1 of the constraints of X that hold at x with equality,
// those of equality rows with both signs; whole reports that X and D have no other within
// the radius.
func (r *Run) cone(x []float64, radius float64) (normals [][]float64, whole bool) {
	p := r.h.Problem()
	whole = r.projector.Everywhere()
	if p.X != nil && len(p.X.Balls) > 0 {
		return nil, false
	}
	near := hold * r.size(x)
	note := func(slack float64, cols []int, vals []float64) {
		length := norm(vals)
		switch slack /= length; {
		case length == 0:
		case slack <= near:
			v := make([]float64, len(x))
			for t, j := range cols {
				v[j] = vals[t] / length
			}
			normals = append(normals, v)
		case slack <= radius:
			whole = false
		}
	}
	row := func(kind problem.Kind, slack float64, cols []int, vals []float64) {
		if kind != problem.Equal {
			note(slack, cols, vals)
			return
		}
		note(0, cols, vals)
		opposite := make([]float64, len(vals))
		for t, v := range vals {
			opposite[t] = -v
		}
		note(0, cols, opposite)
	}
	if p.X != nil && p.X.Lo != nil {
		for j, v := range x {
			note(v-p.X.Lo[j], []int{j}, []float64{-1})
			note(p.X.Hi[j]-v, []int{j}, []float64{1})
		}
	}
	if p.X != nil && p.X.E != nil {
		for i, kind := range p.X.Kind {
			cols, vals := p.X.E.Row(i)
			row(kind, p.X.Rhs[i]-p.X.E.RowDot(i, x), cols, vals)
		}
	}
	// Rows of the lower level that read x alone are constraints of X.
	for i, kind := range p.Rows.Kind {
		if own, _ := p.Rows.B.Row(i); len(own) == 0 {
			cols, vals := p.Rows.A.Row(i)
			row(kind, p.Rows.Rhs[i]-p.Rows.A.RowDot(i, x), cols, vals)
		}
	}
	return normals, whole
}

// leastHull minimizes |sum_i w_i g_i + sum_j u_j n_j| over w, u >= 0 with sum w = 1, by the
// active-set method for nonnegative least squares (Lawson and Hanson 1974, chapter 23): with
// a row of ones below the g_i, and zeros below the n_j, its minimizer is that of the hull but
// for its length. It is nil where that does not come to an end, and not settled where rounding
// has kept a gradient out.
func leastHull(gradients, cone [][]float64) (hull *qp.Hull, settled bool) {
	k, n := len(gradients), len(gradients[0])
	least := math.Inf(1)
	for _, g := range gradients {
		least = math.Min(least, norm(g))
	}
	if least == 0 || math.IsNaN(least) {
		least = 1
	}
	columns := make([][]float64, k+len(cone))
	for i := range columns {
		c := make([]float64, n+1)
		if i < k {
			copy(c, gradients[i])
			c[n] = least
		} else {
			copy(c, cone[i-k])
		}
		columns[i] = c
	}
	right := make([]float64, n+1)
	right[n] = least
	f := &orthogonal{columns: columns, right: right}
	w := make([]float64, len(columns))
	in, dependent := make([]bool, len(columns)), make([]bool, len(columns))
	settled = true
	for range 10 * (len(columns) + n) {
		v, sum := combine(columns, w, k, n)
		enters, steepest := -1, 0.0
		vv := dot(v, v)
		for i, c := range columns {
			if in[i] || dependent[i] {
				continue
			}
			// Wolfe's condition: g'v >= v'v, n'v >= 0, to the rounding of the products.
			size := norm(c[:n])
			gap := dot(c[:n], v)
			if i < k {
				gap -= vv
			}
			if sum == 0 {
				gap = -1 / math.Max(size, least)
				if i >= k {
					continue
				}
			} else if gap > -hullRounding*size*math.Sqrt(vv) {
				continue
			}
			if gap /= math.Max(size, least); gap < steepest {
				enters, steepest = i, gap
			}
		}
		if enters < 0 {
			return hullOf(gradients, cone, w, v, sum), settled
		}
		if !f.add(enters) {
			// To rounding it is a combination of those in the set already.
			dependent[enters], settled = true, false
			continue
		}
		in[enters] = true
		for {
			z := f.solve()
			t, leaves := 1.0, -1
			for at, i := range f.set {
				if z[at] <= 0 {
					if s := w[i] / (w[i] - z[at]); s < t || leaves < 0 {
						t, leaves = math.Min(s, t), at
					}
				}
			}
			for at, i := range f.set {
				w[i] += t * (z[at] - w[i])
			}
			if leaves < 0 {
				break
			}
			var kept []int
			for at, i := range f.set {
				if at == leaves || w[i] <= 0 {
					w[i], in[i] = 0, false
					continue
				}
				kept = append(kept, i)
			}
			f.rebuild(kept)
			if len(kept) == 0 {
				break
			}
		}
	}
	return nil, false
}

// hullRounding is what the products of a gradient with v round to, relative to their lengths.
const hullRounding = 1e-10

// combine is the element of the hull that weights w stand for, and their sum over the gradients.
func combine(columns [][]float64, w []float64, k, n int) (v []float64, sum float64) {
	v = make([]float64, n)
	for i, c := range columns {
		if w[i] == 0 {
			continue
		}
		if i < k {
			sum += w[i]
		}
		for j := range v {
			v[j] += w[i] * c[j]
		}
	}
	if sum > 0 {
		for j := range v {
			v[j] /= sum
		}
	}
	return v, sum
}

func hullOf(gradients, cone [][]float64, w, v []float64, sum float64) *qp.Hull {
	if !(sum > 0) {
		return nil
	}
	h := &qp.Hull{Weights: make([]float64, len(gradients)), Normal: make([]float64, len(v)), Norm: norm(v)}
	for i := range gradients {
		h.Weights[i] = w[i] / sum
	}
	for j, c := range cone {
		if u := w[len(gradients)+j]; u > 0 {
			h.Normal = plus(h.Normal, u/sum, c)
		}
	}
	return h
}

// orthogonal is a thin factorization of some columns, by Gram-Schmidt with
// reorthogonalization (Daniel, Gragg, Kaufman, Stewart 1976).
type orthogonal struct {
	columns [][]float64
	right   []float64
	set     []int
	q       [][]float64
	r       [][]float64 // r[k] is column k, len k+1
}

// add appends a column; it reports false where that depends on the others.
func (f *orthogonal) add(i int) bool {
	v := clone(f.columns[i])
	size := norm(v)
	r := make([]float64, len(f.q)+1)
	for range 2 {
		for k, q := range f.q {
			t := dot(q, v)
			r[k] += t
			for j := range v {
				v[j] -= t * q[j]
			}
		}
	}
	rest := norm(v)
	if !(rest > 1e-12*size) {
		return false
	}
	r[len(f.q)] = rest
	for j := range v {
		v[j] /= rest
	}
	f.set, f.q, f.r = append(f.set, i), append(f.q, v), append(f.r, r)
	return true
}

// rebuild factorizes anew.
func (f *orthogonal) rebuild(set []int) {
	same := 0
	for same < len(set) && set[same] == f.set[same] {
		same++
	}
	f.set, f.q, f.r = f.set[:same:same], f.q[:same:same], f.r[:same:same]
	for _, i := range set[same:] {
		f.add(i)
	}
}

// solve is the least-squares solution over the columns.
func (f *orthogonal) solve() []float64 {
	z := make([]float64, len(f.set))
	for k, q := range f.q {
		z[k] = dot(q, f.right)
	}
	for k := len(z) - 1; k >= 0; k-- {
		z[k] /= f.r[k][k]
		for i := range k {
			z[i] -= f.r[k][i] * z[k]
		}
	}
	return z
}
