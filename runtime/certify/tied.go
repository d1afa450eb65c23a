package certify

import (
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// tiedNormals are orthonormal normals to the affine set on which the equality rows of
// the lower level have a solution: where rows depend on each other in y, what is left
// of their combination ties x. F is defined on that set alone, so that its gradient
// is known up to these normals, and which of the dependent rows a face holds chooses
// among them. Problems with very many equality rows are taken for free of ties.
func tiedNormals(p *problem.Problem) [][]float64 {
	var rows []int
	for i, kind := range p.Rows.Kind {
		if kind == problem.Equal {
			rows = append(rows, i)
		}
	}
	if float64(len(rows))*float64(len(rows))*float64(p.Dy+p.Dx) > tolerance.Second/100 {
		return nil
	}
	// Gram-Schmidt on the rows of B, with the same combinations of the rows of A beside.
	type pair struct{ b, a []float64 }
	var basis []pair
	var normals [][]float64
	for _, i := range rows {
		b, a, terms := make([]float64, p.Dy), make([]float64, p.Dx), make([]float64, p.Dx)
		p.Rows.B.AddRow(b, i, 1)
		p.Rows.A.AddRow(a, i, 1)
		size, largest := norm(b), norm(a)
		for range 2 {
			for _, q := range basis {
				c := dot(q.b, b)
				for j, t := range q.b {
					b[j] -= c * t
				}
				for j, t := range q.a {
					terms[j] = c * t
					a[j] -= terms[j]
				}
				if n := norm(terms); n > largest {
					largest = n
				}
			}
		}
		if left := norm(b); left > tolerance.Dependence*size {
			basis = append(basis, pair{scaled(b, 1/left), scaled(a, 1/left)})
			continue
		}
		for range 2 {
			for _, n := range normals {
				c := dot(n, a)
				for j, t := range n {
					a[j] -= c * t
				}
			}
		}
		if left := norm(a); left > tolerance.Dependence*largest {
			normals = append(normals, scaled(a, 1/left))
		}
	}
	return normals
}

// along is v without its part along the normals of what ties x.
func (d *deriver) along(v []float64) []float64 {
	out := append([]float64(nil), v...)
	for _, n := range d.tied {
		c := dot(n, out)
		for j, t := range n {
			out[j] -= c * t
		}
	}
	return out
}

// apart is the distance of two gradients of F, up to what ties x.
func (d *deriver) apart(a, b []float64) float64 {
	difference := append([]float64(nil), a...)
	for j, t := range b {
		difference[j] -= t
	}
	return norm(d.along(difference))
}
