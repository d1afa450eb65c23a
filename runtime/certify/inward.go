package certify

import (
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// inward is a unit direction d into X with slope'd > 0 for every slope, or nil
// where there is none. Off X there may be pieces that F has nowhere on it, with a slope
// along X that is none of F's. The nearest point to (0, 1) of the cone of the columns
// (slope, 1) and (c, 0), c being an inner normal of X at x, leaves a residual
// (-d, r) that makes no acute angle with any column: slope'd >= r > 0 and
// c'd >= 0, unless the residual is zero. With rows it is to lead into the set where the
// lower level is feasible as well: y is a part of the direction then, and the rows that are
// tight at y are among the inner normals.
func (d *deriver) inward(x, y []float64, slopes [][]float64, rows bool) []float64 {
	g := generators{size: d.p.Dx + 1}
	for _, slope := range slopes {
		g.add(append(append([]float64(nil), slope...), 1))
	}
	d.flats(&g, x, d.p.Dx+1)
	touch := tolerance.Sign * d.s.x
	for _, b := range d.p.X.Balls {
		in := make([]float64, d.p.Dx+1)
		for j := b.Start; j < b.End; j++ {
			in[j] = -x[j]
			if b.Center != nil {
				in[j] += b.Center[j-b.Start]
			}
		}
		if r := norm(in); r > 0 && b.Radius-r <= touch {
			in = scaled(in, 1/r)
			in[d.p.Dx] = 1 // strictly into the ball
			g.add(in)
		}
	}
	if rows && !d.holding(&g, x, y) {
		return nil
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
	point := make([]bool, len(x))
	for _, b := range d.p.X.Balls {
		for j := b.Start; j < b.End; j++ {
			point[j] = b.Radius <= touch
		}
	}
	for j := range x {
		low, high := x[j]-d.p.X.Lo[j] <= touch, d.p.X.Hi[j]-x[j] <= touch
		g.unit(j, low || point[j], high || point[j])
	}
	for i, kind := range d.p.X.Kind {
		row := make([]float64, g.size)
		d.p.X.E.AddRow(row[:d.p.Dx], i, -1)
		slack := d.p.X.Rhs[i] - d.p.X.E.RowDot(i, x)
		if kind == problem.Equal {
			g.add(row)
			g.add(scaled(row, -1))
		} else if slack <= touch*norm(row) {
			g.add(row)
		}
	}
	extend(g, d.p, x, at, -1, touch)
	for _, n := range d.tied { // off these F is not defined
		for _, sign := range []float64{1, -1} {
			row := make([]float64, g.size)
			copy(row, scaled(n, sign))
			g.add(row)
		}
	}
}

// holding adds the inner normals of the rows that hold y at x, with places of their own for y in
// the unit of x that the rows give it; false where they are too many to be looked at.
func (d *deriver) holding(g *generators, x, y []float64) bool {
	first, unit := g.size, unitOfY(d.p)
	g.size += d.p.Dy
	for i, kind := range d.p.Rows.Kind {
		h := d.residual(i, x, y)
		if kind != problem.Equal && -h > tolerance.Sign*d.s.rows[i] {
			continue
		}
		if (len(g.columns)+2)*g.size > tolerance.MostNumbers {
			return false
		}
		row := make([]float64, g.size)
		d.p.Rows.A.AddRow(row[:d.p.Dx], i, -1)
		d.p.Rows.B.AddRow(row[first:], i, unit)
		g.add(row)
		if kind == problem.Equal {
			g.add(scaled(row, -1))
		}
	}
	return true
}

// across reports that a direction of unit length is normal to all of X near x, or of X and
// where the lower level is feasible: it and its opposite are inner normals, as where equations,
// or inequalities that only hold with equality, leave no inside.
func (d *deriver) across(x, y, direction []float64) bool {
	g := generators{size: d.p.Dx}
	d.flats(&g, x, d.p.Dx)
	target := make([]float64, g.size)
	copy(target, direction)
	if norm(g.residual(target)) <= tolerance.Differenced && norm(g.residual(scaled(target, -1))) <= tolerance.Differenced {
		return true
	}
	reach := tolerance.Sign * d.s.x
	return normalDistance(d.p, x, y, direction, reach, tolerance.Differenced) <= tolerance.Differenced && normalDistance(d.p, x, y, scaled(direction, -1), reach, tolerance.Differenced) <= tolerance.Differenced
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
