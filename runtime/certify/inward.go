package certify

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// inward is a unit direction d into X with slope'd > 0 for every slope, or nil
// where there is none. Off X there may be pieces that F has nowhere on it, with a slope
// along X that is none of F's. The nearest point to (0, 1) of the cone of the columns
// (slope, 1) and (c, 0), c being an inner normal of X at x, leaves a residual
// (-d, r) that makes no acute angle with any column: slope'd >= r > 0 and
// c'd >= 0, unless the residual is zero.
func (d *deriver) inward(x []float64, slopes [][]float64) []float64 {
	g := generators{size: d.p.Dx + 1}
	for _, slope := range slopes {
		g.add(append(append([]float64(nil), slope...), 1))
	}
	d.flats(&g, x, d.p.Dx+1)
	touch := tolerance.Sign * d.s.x
	for k := range d.p.X.Balls {
		b := &d.p.X.Balls[k]
		if offset, r := fromCenter(b, x); r > 0 && b.Radius-r <= touch {
			in := make([]float64, d.p.Dx+1)
			copy(in[b.Start:], scaled(offset, -1/r))
			in[d.p.Dx] = 1 // strictly into the ball
			g.add(in)
		}
	}
	target := make([]float64, g.size)
	target[d.p.Dx] = 1
	rest := g.residual(target)
	direction := scaled(rest[:d.p.Dx], -1)
	// The residual's square is its own last entry; below tolerance.Sign it is rounding.
	size := norm(direction)
	if rest[d.p.Dx] <= tolerance.Sign || size == 0 {
		return nil
	}
	return scaled(direction, 1/size)
}

// flats adds the inner normals of X at x that belong to its flat parts; those of equations,
// of balls that are points, and of entries that bounds hold at one value, both ways. The
// further variables of X have their places from at on.
func (d *deriver) flats(g *generators, x []float64, at int) {
	touch := tolerance.Sign * d.s.x
	g.ofX(d.p, x, at, -1, touch)
	for _, b := range d.p.X.Balls {
		for j := b.Start; j < b.End; j++ {
			g.unit(j, b.Radius <= touch, b.Radius <= touch)
		}
	}
	for _, n := range d.tied { // off these F is not defined
		g.tight(n, problem.Equal, 0, 0)
	}
}

// across reports that a direction of unit length is normal to all of X near x, or of X and
// where the lower level is feasible: it and its opposite are inner normals, as where equations,
// or inequalities that only hold with equality, leave no inside.
func (d *deriver) across(x, y, direction []float64) bool {
	g := generators{size: d.p.Dx}
	d.flats(&g, x, d.p.Dx)
	back := scaled(direction, -1)
	if g.distance(direction) <= tolerance.Weak && g.distance(back) <= tolerance.Weak {
		return true
	}
	normal := func(n []float64) bool {
		return normalDistance(d.p, x, y, n, tolerance.Sign*d.s.x, tolerance.Weak) <= tolerance.Weak
	}
	return normal(direction) && normal(back)
}

// felt leaves out slopes that are normal to all of X near x, and their rows.
func (d *deriver) felt(x, y []float64, slopes [][]float64, open []int) (left [][]float64, rows []int) {
	for k, slope := range slopes {
		if !d.across(x, y, slope) {
			left, rows = append(left, slope), append(rows, open[k])
		}
	}
	return left, rows
}

// tiedNormals are orthonormal normals to the affine set on which the equality rows of
// the lower level have a solution: where rows depend on each other in y, what is left
// of their combination ties x. F is defined on that set alone, so that its gradient
// is known up to these normals, and which of the dependent rows a face holds chooses
// among them. Problems with very many equality rows are taken for free of ties.
func tiedNormals(p *problem.Problem) [][]float64 {
	rows := each.WhereBelow(p.Rows.Len(), func(i int) bool { return p.Rows.Kind[i] == problem.Equal })
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
