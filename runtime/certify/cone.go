package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// normalDistance is the distance of n from the cone of normals to the
// constraints of X and D that come within reach of x, where y is feasible at
// x. An element of the cone is
//
//	bounds' and rows' normals + (x - c)/|x - c| of balls + A' mu,
//
// the last with B' mu = 0 and mu >= 0 on inequality rows: every such mu gives
// the inequality (A' mu)' x <= b' mu on D. What is left of B' mu counts with y in
// the unit of x that the rows give it. Distances up to enough are not looked into
// further.
func normalDistance(p *problem.Problem, x, y, n []float64, reach, enough float64) float64 {
	g := generators{size: p.Dx}
	g.ofX(p, x, p.Dx, 1, reach)
	for k := range p.X.Balls {
		b := &p.X.Balls[k]
		if offset, r := fromCenter(b, x); r > 0 && b.Radius-r <= reach {
			g.add(append(make([]float64, b.Start), offset...))
		}
	}
	away := g.distance(n)
	if away <= enough {
		return away // the edge of D takes no part
	}
	// Rows that could be tight for some feasible y near by. On the edge of D
	// the rows of mu are tight for every feasible y; within reach of it, tight
	// to a few times reach: the margin allows for rows that meet at an angle.
	unit := unitOfY(p)
	if !g.ofRows(p, x, y, func(i int) float64 {
		_, a := p.Rows.A.Row(i)
		_, b := p.Rows.B.Row(i)
		return tolerance.Margin * reach * math.Hypot(norm(a), unit*norm(b))
	}) {
		return away
	}
	return g.distance(n)
}

// distance is that of n, which ends in zeros, from the cone.
func (g *generators) distance(n []float64) float64 {
	target := make([]float64, g.size)
	copy(target, n)
	return norm(g.residual(target))
}

// ofX adds the normals, outer ones for the sign 1 and inner ones for -1, of the bounds and rows of X that come within reach of
// x, and those of equations both ways. Its further variables have their places from at on: of a combination of rows in these
// what counts is that nothing is left there.
func (g *generators) ofX(p *problem.Problem, x []float64, at int, sign, reach float64) {
	for j := range x {
		low, high := x[j]-p.X.Lo[j] <= reach, p.X.Hi[j]-x[j] <= reach
		if sign < 0 {
			low, high = high, low
		}
		g.unit(j, high, low)
	}
	for i, kind := range p.X.Kind {
		row := make([]float64, p.Dx)
		p.X.E.AddRow(row, i, sign)
		g.tight(row, kind, p.X.Rhs[i]-p.X.E.RowDot(i, x), reach*norm(row))
	}
	e := p.X.Extended
	if e == nil {
		return
	}
	g.size = max(g.size, at+e.Dim)
	z, slopes := e.Least(x), e.Slopes(p.Dx)
	for i := range e.Of {
		row := make([]float64, p.Dx+e.Dim)
		e.E.AddRow(row, i, sign)
		row = slices.Concat(row[:p.Dx], make([]float64, at-p.Dx), row[p.Dx:])
		g.tight(row, problem.AtMost, e.Rhs[i]-e.E.RowDot(i, z), reach*slopes[i])
	}
}

// ofRows adds those of the rows of the lower level that are near y, with places of their own for y in the unit of x that the
// rows give it; false where they are too many to be looked at.
func (g *generators) ofRows(p *problem.Problem, x, y []float64, near func(i int) float64) bool {
	first, unit, h := g.size, unitOfY(p), make([]float64, p.Rows.Len())
	g.size += p.Dy
	p.Rows.Residual(h, x, y)
	for i, kind := range p.Rows.Kind {
		within := near(i)
		if kind == problem.AtMost && -h[i] > within {
			continue
		}
		if (len(g.columns)+2)*g.size > tolerance.MostNumbers {
			return false
		}
		row := make([]float64, g.size)
		p.Rows.A.AddRow(row[:p.Dx], i, 1)
		p.Rows.B.AddRow(row[first:], i, -unit)
		g.tight(row, kind, -h[i], within)
	}
	return true
}

// tight adds the normal of a constraint whose slack is within reach; of an equation both ways.
func (g *generators) tight(row []float64, kind problem.Kind, slack, reach float64) {
	if kind == problem.Equal {
		g.add(row)
		g.add(scaled(row, -1))
	} else if slack <= reach {
		g.add(row)
	}
}

// unitOfY is what a change of y by 1 is worth in x, by the rows that involve both: the median
// of |A_i| / |B_i|, 1 where there are none.
func unitOfY(p *problem.Problem) float64 {
	var ratios []float64
	for i := range p.Rows.Kind {
		_, a := p.Rows.A.Row(i)
		_, b := p.Rows.B.Row(i)
		if s, t := norm(a), norm(b); s > 0 && t > 0 {
			ratios = append(ratios, s/t)
		}
	}
	if len(ratios) == 0 {
		return 1
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// generators are the columns of a cone in R^size: unit vectors of either sign,
// and others.
type generators struct {
	size    int
	units   []unit
	columns [][]float64 // shorter ones end in zeros
}

type unit struct {
	entry    int
	up, down bool // +e and -e are generators
}

func (g *generators) unit(j int, up, down bool) {
	if up || down {
		g.units = append(g.units, unit{j, up, down})
	}
}

func (g *generators) add(column []float64) { g.columns = append(g.columns, column) }

// residual is t - G z at the z >= 0 that makes it least in the 2-norm, by the active-set method of Lawson and Hanson (Solving Least Squares
// Problems, 1974, chapter 23). The unit vectors take part through the entries they leave open:
// an entry with both signs is open to anything and drops out, one with a sign is
// a column that starts in the set where it helps.
func (g *generators) residual(t []float64) []float64 {
	m := len(t)
	free := slices.Repeat([]bool{true}, m)
	type column struct {
		entry int // of a unit vector; -1 for a general one
		v     []float64
		size  float64
	}
	var columns []column
	var passive []bool
	for _, u := range g.units {
		sign := 1.0
		if !u.up {
			sign = -1
		}
		if u.up && u.down {
			free[u.entry] = false
		} else {
			columns, passive = append(columns, column{u.entry, []float64{sign}, 1}), append(passive, sign*t[u.entry] > 0)
		}
	}
	part := func(of []float64) []float64 { // of a vector, over the entries that do not drop out
		out := make([]float64, m)
		for j, v := range of {
			if free[j] {
				out[j] = v
			}
		}
		return out
	}
	for _, c := range g.columns {
		if v := part(c); norm(v) > 0 {
			columns, passive = append(columns, column{-1, v, norm(v)}), append(passive, false)
		}
	}
	target := part(t)
	n := len(columns)
	z := make([]float64, n)
	rest := make([]float64, m)
	refresh := func() {
		copy(rest, target)
		for k, c := range columns {
			switch {
			case z[k] == 0:
			case c.entry >= 0:
				rest[c.entry] -= z[k] * c.v[0]
			default:
				floats.AddScaled(rest, -z[k], c.v)
			}
		}
	}
	// solve is the least-squares problem over the passive columns. Passive unit
	// vectors make their entries zero whatever the others do.
	solve := func() ([]float64, bool) {
		open := slices.Clone(free)
		var general []int
		for k, c := range columns {
			if passive[k] && c.entry >= 0 {
				open[c.entry] = false
			} else if passive[k] {
				general = append(general, k)
			}
		}
		left := each.WhereBelow(m, func(i int) bool { return open[i] })
		s := make([]float64, n)
		if len(general) > len(left) {
			return nil, false
		}
		if len(general) > 0 {
			a := mat.NewDense(len(left), len(general), nil)
			b := mat.NewVecDense(len(left), picked(target, left))
			for r, i := range left {
				for c, k := range general {
					a.Set(r, c, columns[k].v[i]/columns[k].size)
				}
			}
			var qr mat.QR
			qr.Factorize(a)
			var x mat.VecDense
			if err := qr.SolveVecTo(&x, false, b); err != nil {
				return nil, false
			}
			for c, k := range general {
				s[k] = x.AtVec(c) / columns[k].size
			}
		}
		for k, c := range columns {
			if passive[k] && c.entry >= 0 {
				v := target[c.entry]
				for _, l := range general {
					v -= s[l] * columns[l].v[c.entry]
				}
				s[k] = v * c.v[0]
			}
		}
		return s, true
	}
	// A column helps where its angle with the residual is more than rounding.
	helps := func(c column) float64 {
		if c.entry >= 0 {
			return c.v[0] * rest[c.entry]
		}
		return floats.Dot(c.v, rest) / c.size
	}
	for k, c := range columns {
		if passive[k] {
			z[k] = math.Abs(target[c.entry])
		}
	}
	refused := make([]bool, n)
	refresh()
	// The method visits about n sets; thrice that is a failure to converge.
	for range 3 * (n + 1) {
		left := norm(rest)
		if left <= tolerance.Feasibility*norm(target) {
			break
		}
		best, at := tolerance.Feasibility, -1
		for k, c := range columns {
			if passive[k] || refused[k] {
				continue
			}
			if a := helps(c) / left; a > best {
				best, at = a, k
			}
		}
		if at < 0 {
			break
		}
		passive[at] = true
		for {
			s, ok := solve()
			if !ok { // the new column depends on the others: it adds nothing
				passive[at] = false
				break
			}
			step := 1.0
			for k := range s {
				if passive[k] && s[k] <= 0 {
					step = math.Min(step, z[k]/(z[k]-s[k]))
				}
			}
			if math.IsNaN(step) {
				step = 0
			}
			blocked := false
			for k := range z {
				if !passive[k] {
					continue
				}
				was := z[k]
				z[k] += step * (s[k] - z[k])
				if step < 1 && s[k] <= 0 && z[k] <= tolerance.Feasibility*math.Max(was, math.Abs(s[k])) {
					z[k], passive[k], blocked = 0, false, true
				}
			}
			if !blocked {
				break
			}
		}
		if passive[at] {
			clear(refused)
		} else {
			refused[at] = true
		}
		refresh()
	}
	return rest
}
