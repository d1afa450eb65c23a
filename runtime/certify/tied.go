package certify

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// tiedNormals are orthonormal normals to the affine set on which the equality rows of
// the lower level have a solution: where rows depend on each other in y, what is left
// of their combination ties x. F is defined on that set alone, so that its gradient
// is known up to these normals, and which of the dependent rows a face holds chooses
// among them. Problems with very many equality rows are taken for free of ties.
func tiedNormals(p *problem.Problem) [][]float64 {
	rows := below(p.Rows.Len(), func(i int) bool { return p.Rows.Kind[i] == problem.Equal })
	if float64(len(rows))*float64(len(rows))*float64(p.Dy+p.Dx) > tolerance.Second/100 {
		return nil
	}
	var of, normals span // the rows of B, with the same combinations of the rows of A behind
	for _, i := range rows {
		row := make([]float64, p.Dy+p.Dx)
		p.Rows.B.AddRow(row[:p.Dy], i, 1)
		p.Rows.A.AddRow(row[p.Dy:], i, 1)
		largest := norm(row[p.Dy:])
		for _, q := range of.basis {
			largest = math.Max(largest, math.Abs(floats.Dot(q[:p.Dy], row[:p.Dy]))*norm(q[p.Dy:]))
		}
		if rest := row[p.Dy:]; !of.extend(row, p.Dy) && norm(rest) > tolerance.Dependence*largest {
			normals.extend(rest, p.Dx)
		}
	}
	return normals.basis
}

// along is v without its part along the normals of what ties x.
func (d *deriver) along(v []float64) []float64 {
	out := v
	for _, n := range d.tied {
		out = moved(out, -floats.Dot(n, out), n)
	}
	return out
}

// apart is the distance of two gradients of F, up to what ties x.
func (d *deriver) apart(a, b []float64) float64 {
	return norm(d.along(minus(a, b)))
}
