package truth

import "math"

// function is a Function in doubles.
type function struct {
	lx, ly []float64
	xx, xy [][]float64
	yy     [][]float64
	terms  []term
}

type term struct {
	kind          Kind
	weight, konst float64
	a, c          []float64
}

func (f *Function) compile() *function {
	out := &function{lx: floats(f.Lx), ly: floats(f.Ly), xx: matrix(f.Xx), xy: matrix(f.Xy), yy: matrix(f.Yy)}
	for _, t := range f.Terms {
		out.terms = append(out.terms, term{t.Kind, Float(t.Weight), Float(t.Const), floats(t.A), floats(t.C)})
	}
	return out
}

func (t *term) argument(x, y []float64) float64 { return t.konst + dot(t.a, x) + dot(t.c, y) }

func (f *function) value(x, y []float64) float64 {
	v := dot(f.lx, x) + dot(f.ly, y) + quadratic(f.xx, x, x)/2 + quadratic(f.xy, x, y) + quadratic(f.yy, y, y)/2
	for i := range f.terms {
		t := &f.terms[i]
		u, _, _ := t.kind.at(t.argument(x, y))
		v += t.weight * u
	}
	return v
}

func (f *function) gradient(x, y []float64) (gx, gy []float64) {
	gx, gy = append([]float64(nil), f.lx...), append([]float64(nil), f.ly...)
	for i := range f.xx {
		gx[i] += dot(f.xx[i], x)
	}
	for i, row := range f.xy {
		gx[i] += dot(row, y)
		for j, v := range row {
			gy[j] += v * x[i]
		}
	}
	for j := range f.yy {
		gy[j] += dot(f.yy[j], y)
	}
	for i := range f.terms {
		t := &f.terms[i]
		_, d, _ := t.kind.at(t.argument(x, y))
		axpy(gx, t.weight*d, t.a)
		axpy(gy, t.weight*d, t.c)
	}
	return gx, gy
}

// hessian returns the second derivatives in (y, y) and in (y, x).
func (f *function) hessian(x, y []float64) (yy, yx [][]float64) {
	dx, dy := len(f.lx), len(f.ly)
	yy, yx = make([][]float64, dy), make([][]float64, dy)
	for j := range yy {
		yy[j], yx[j] = make([]float64, dy), make([]float64, dx)
		if len(f.yy) > 0 {
			copy(yy[j], f.yy[j])
		}
		for i, row := range f.xy {
			yx[j][i] = row[j]
		}
	}
	for i := range f.terms {
		t := &f.terms[i]
		_, _, dd := t.kind.at(t.argument(x, y))
		for j, c := range t.c {
			axpy(yy[j], t.weight*dd*c, t.c)
			axpy(yx[j], t.weight*dd*c, t.a)
		}
	}
	return yy, yx
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func axpy(dst []float64, s float64, v []float64) {
	for i := range v {
		dst[i] += s * v[i]
	}
}

func quadratic(m [][]float64, x, y []float64) float64 {
	sum := 0.0
	for i, row := range m {
		sum += x[i] * dot(row, y)
	}
	return sum
}

// solve solves the square system m z = rhs (several right sides, one a column)
// by elimination with complete pivoting; false where m is singular relative to
// its largest entry. m and rhs are overwritten; the answer is in rhs.
func solve(m, rhs [][]float64) bool {
	n := len(m)
	order := make([]int, n)
	largest := 0.0
	for k := range order {
		order[k] = k
	}
	for k := range n {
		row, col, best := k, k, 0.0
		for i := k; i < n; i++ {
			for j := k; j < n; j++ {
				if a := math.Abs(m[i][j]); a > best {
					row, col, best = i, j, a
				}
			}
		}
		if k == 0 {
			largest = best
		}
		if best <= singular*largest || best == 0 {
			return false
		}
		m[k], m[row] = m[row], m[k]
		rhs[k], rhs[row] = rhs[row], rhs[k]
		for i := range m {
			m[i][k], m[i][col] = m[i][col], m[i][k]
		}
		order[k], order[col] = order[col], order[k]
		for i := range m {
			if i == k || m[i][k] == 0 {
				continue
			}
			factor := m[i][k] / m[k][k]
			for j := k; j < n; j++ {
				m[i][j] -= factor * m[k][j]
			}
			for j := range rhs[i] {
				rhs[i][j] -= factor * rhs[k][j]
			}
		}
	}
	out := make([][]float64, n)
	for k := range n {
		for j := range rhs[k] {
			rhs[k][j] /= m[k][k]
		}
		out[order[k]] = rhs[k]
	}
	copy(rhs, out)
	return true
}

// singular is the pivot, relative to the first, below which a matrix of small
// rationals is singular: the pivots of a regular one with entries of at most
// four digits are determinants over determinants and stay far above it, those
// of a singular one are rounding errors.
const singular = 1e-11
