package truth

import (
	"math"
	"slices"

	"bilevelc/internal/each"
)

// flat is an affine set: w0 and directions z. size is what went into w0, by whose
// rounding it is known. free and on are what it was made of: the entries that began as directions, and the planes.
type flat struct {
	w0, size []float64
	z        [][]float64
	free     []int
	on       []plane
}

// origin is the point 0 of n entries.
func origin(n int) flat { return flat{w0: make([]float64, n), size: make([]float64, n)} }

// with adds the direction of entry i.
func (f flat) with(i int) flat {
	z := make([]float64, len(f.w0))
	z[i] = 1
	f.z, f.free = append(slices.Clip(f.z), z), append(slices.Clip(f.free), i)
	return f
}

// restrict is the part of a flat where a'w = b; dependent says that it is all of it, and
// ok is false where there is none.
func (f flat) restrict(p plane) (out flat, dependent, ok bool) {
	h, sum := p.b, math.Abs(p.b)
	for i, a := range p.a {
		if a != 0 {
			h -= a * f.w0[i]
			sum += math.Abs(a) * f.size[i]
		}
	}
	g := make([]float64, len(f.z))
	best, most, scale := -1, 0.0, 0.0
	for r, z := range f.z {
		for i, a := range p.a {
			if a != 0 {
				g[r] += a * z[i]
				scale = math.Max(scale, math.Abs(a*z[i]))
			}
		}
		if v := math.Abs(g[r]); v > most {
			best, most = r, v
		}
	}
	out.free, out.on = f.free, append(slices.Clip(f.on), p)
	if best < 0 || most <= loose*scale {
		f.on = out.on
		return f, true, math.Abs(h) <= loose*sum
	}
	zb := f.z[best]
	t, st := h/g[best], sum/most
	n := len(f.w0)
	buffer := make([]float64, n*(len(f.z)+1))
	out.w0, out.size = buffer[:n:n], buffer[n:2*n:2*n]
	for i, v := range zb {
		out.w0[i] = f.w0[i] + v*t
		out.size[i] = f.size[i] + math.Abs(v)*st
	}
	buffer = buffer[2*n:]
	out.z = make([][]float64, 0, len(f.z)-1)
	for r, z := range f.z {
		if r == best {
			continue
		}
		if g[r] == 0 {
			out.z = append(out.z, z)
			continue
		}
		c := g[r] / g[best]
		next := buffer[:n:n]
		buffer = buffer[n:]
		for i, v := range z {
			if next[i] = v - c*zb[i]; math.Abs(next[i]) < 1e-14*(math.Abs(v)+math.Abs(c*zb[i])) {
				next[i] = 0
			}
		}
		out.z = append(out.z, next)
	}
	return out, false, true
}

// faces calls visit with every vertex of the polyhedron that planes cut from the flat,
// and with the minimizer of q on every other face on which q is strictly convex and
// has one. So the least value is among them, where it is met: a polyhedron without lines
// meets it where q is strictly convex along the face, or on the face's border. The points are told in doubles, where a
// pivot that is rounding of 0 makes points of no face: visit is given the flat, too, to make the point exact.
func (f flat) faces(q *Quadratic, planes []plane, from int, visit func(f flat, w []float64)) {
	if w := f.least(q); w != nil && inside(w, f.size, planes) {
		visit(f, w)
	}
	if len(f.z) == 0 {
		return
	}
	for i := from; i < len(planes); i++ {
		if g, dependent, ok := f.restrict(planes[i]); ok && !dependent {
			g.faces(q, planes, i+1, visit)
		}
	}
}

func inside(w, size []float64, planes []plane) bool {
	for _, p := range planes {
		v, sum := -p.b, math.Abs(p.b)
		for i, a := range p.a {
			if a != 0 {
				v += a * w[i]
				sum += math.Abs(a) * math.Max(size[i], math.Abs(w[i]))
			}
		}
		if v > loose*sum {
			return false
		}
	}
	return true
}

// least is the minimizer of q on the flat, nil where q is not strictly convex along it.
func (f flat) least(q *Quadratic) []float64 {
	k := len(f.z)
	if k == 0 {
		return f.w0
	}
	hz := make([][]float64, k)
	a := make([][]float64, k) // (Z'HZ | -Z'(Hw0+c))
	slope := q.Slope(f.w0)
	for r, z := range f.z {
		hz[r] = make([]float64, len(z))
		for j, v := range z {
			if v != 0 {
				for i, h := range q.H[j] {
					hz[r][i] += h * v
				}
			}
		}
	}
	for r, z := range f.z {
		a[r] = make([]float64, k+1)
		for c := range k {
			a[r][c] = dot(z, hz[c])
		}
		a[r][k] = -dot(z, slope)
	}
	for p := range k { // without pivoting: the pivots of a positive definite matrix are positive
		size := 0.0
		for i, v := range f.z[p] {
			size += math.Abs(v * hz[p][i])
		}
		if a[p][p] <= 1e-9*size || size == 0 {
			return nil
		}
		for r := range k {
			if r == p || a[r][p] == 0 {
				continue
			}
			c := a[r][p] / a[p][p]
			for j := p; j <= k; j++ {
				a[r][j] -= c * a[p][j]
			}
		}
	}
	w := make([]float64, len(f.w0))
	copy(w, f.w0)
	for r, z := range f.z {
		t := a[r][k] / a[r][r]
		for i, v := range z {
			w[i] += t * v
		}
	}
	return w
}

// rank of a few rows of decimals.
func rank(rows [][]float64) int {
	a := each.Of(rows, slices.Clone)
	r := 0
	for c := 0; r < len(a) && c < len(a[0]); c++ {
		best := r
		for i := r; i < len(a); i++ {
			if math.Abs(a[i][c]) > math.Abs(a[best][c]) {
				best = i
			}
		}
		if math.Abs(a[best][c]) < 1e-9 {
			continue
		}
		a[r], a[best] = a[best], a[r]
		for i := r + 1; i < len(a); i++ {
			t := a[i][c] / a[r][c]
			for j := c; j < len(a[0]); j++ {
				a[i][j] -= t * a[r][j]
			}
		}
		r++
	}
	return r
}
