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
