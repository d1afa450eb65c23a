package certify

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/problem"
)

// normalDistance is the distance of n from the cone of normals to the
// constraints of X and D that come within reach of x, where y is feasible at
// x. An element of the cone is
//
//	bounds' and rows' normals + (x - c)/|x - c| of balls + A' mu,
//
// the last with B' mu = 0 and mu >= 0 on inequality rows: every such mu gives
// the inequality (A' mu)' x <= b' mu on D.
func normalDistance(p *problem.Problem, x, y, n []float64, reach float64) float64 {
	g := generators{dx: p.Dx, size: p.Dx}
	for j := range x {
		if x[j]-p.X.Lo[j] <= reach {
			g.unit(j, -1)
		}
		if p.X.Hi[j]-x[j] <= reach {
			g.unit(j, 1)
		}
	}
	for i, kind := range p.X.Kind {
		row := make([]float64, p.Dx)
		p.X.E.AddRow(row, i, 1)
		slack := p.X.Rhs[i] - p.X.E.RowDot(i, x)
		g.row(row, kind, slack, reach*norm(row))
	}
	for _, ball := range p.X.Balls {
		out := make([]float64, p.Dx)
		for j := ball.Start; j < ball.End; j++ {
			out[j] = x[j]
			if ball.Center != nil {
				out[j] -= ball.Center[j-ball.Start]
			}
		}
		if r := norm(out); r > 0 && ball.Radius-r <= reach {
			g.columns = append(g.columns, out)
		}
	}
	// Rows that could be tight for some feasible y near by. On the edge of D
	// the rows of mu are tight for every feasible y; within reach of it, tight
	// to a few times reach: tenfold allows for rows that meet at an angle.
	const angle = 10
	h := make([]float64, p.Rows.Len())
	p.Rows.Residual(h, x, y)
	g.size += p.Dy
	for i, kind := range p.Rows.Kind {
		row := make([]float64, p.Dx+p.Dy)
		p.Rows.A.AddRow(row[:p.Dx], i, 1)
		p.Rows.B.AddRow(row[p.Dx:], i, 1)
		g.row(row, kind, -h[i], angle*reach*norm(row))
	}
	return g.distance(n)
}

// generators are the columns of a cone in R^size, the first dx entries of
// which are those of x and the others are to be zero.
type generators struct {
	dx, size int
	columns  [][]float64 // nonnegative combinations of these; shorter ones end in zeros
}

func (g *generators) unit(j int, sign float64) {
	column := make([]float64, g.dx)
	column[j] = sign
	g.columns = append(g.columns, column)
}

// row adds a row that is tight to the given reach; both signs of an equality.
func (g *generators) row(row []float64, kind problem.Kind, slack, reach float64) {
	if kind == problem.Equal {
		g.columns = append(g.columns, row, scaled(row, -1))
	} else if slack <= reach {
		g.columns = append(g.columns, row)
	}
}

func scaled(v []float64, a float64) []float64 {
	out := make([]float64, len(v))
	for j, t := range v {
		out[j] = a * t
	}
	return out
}

// distance is min |sum z_k column_k - (n, 0)| over z >= 0.
func (g *generators) distance(n []float64) float64 {
	target := make([]float64, g.size)
	copy(target, n)
	return leastSquaresNonneg(g.columns, target)
}

// leastSquaresNonneg is min |G z - t| over z >= 0, by the active-set method
// of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23).
func leastSquaresNonneg(columns [][]float64, t []float64) float64 {
	m, n := len(t), len(columns)
	z := make([]float64, n)
	passive := make([]bool, n)
	residual := append([]float64(nil), t...)
	// A column helps where its angle with the residual is more than rounding.
	const rounding = 1e-13
	limit := 3 * (n + 1) // the method visits about n sets; thrice that is a failure to converge
	for range limit {
		left := norm(residual)
		if left <= rounding*norm(t) {
			return left
		}
		best, at := rounding, -1
		for k, column := range columns {
			if passive[k] {
				continue
			}
			if size := norm(column); size > 0 {
				a := 0.0
				for i, c := range column {
					a += c * residual[i]
				}
				if a /= size * left; a > best {
					best, at = a, k
				}
			}
		}
		if at < 0 {
			return left
		}
		passive[at] = true
		for {
			s, ok := solvePassive(columns, passive, t, m)
			if !ok { // the new column depends on the others: it adds nothing
				passive[at] = false
				return left
			}
			step := 1.0
			for k := range s {
				if passive[k] && s[k] <= 0 {
					step = math.Min(step, z[k]/(z[k]-s[k]))
				}
			}
			blocked := false
			for k := range z {
				if !passive[k] {
					continue
				}
				z[k] += step * (s[k] - z[k])
				if step < 1 && z[k] <= rounding {
					z[k], passive[k], blocked = 0, false, true
				}
			}
			if !blocked {
				break
			}
		}
		copy(residual, t)
		for k, column := range columns {
			if z[k] != 0 {
				for i, c := range column {
					residual[i] -= z[k] * c
				}
			}
		}
	}
	return norm(residual)
}

// solvePassive solves the least-squares problem over the passive columns.
func solvePassive(columns [][]float64, passive []bool, t []float64, m int) ([]float64, bool) {
	var index []int
	for k, in := range passive {
		if in {
			index = append(index, k)
		}
	}
	if len(index) > m {
		return nil, false
	}
	g := mat.NewDense(m, len(index), nil)
	for c, k := range index {
		for i, v := range columns[k] {
			g.Set(i, c, v)
		}
	}
	var qr mat.QR
	qr.Factorize(g)
	var s mat.VecDense
	if err := qr.SolveVecTo(&s, false, mat.NewVecDense(m, t)); err != nil {
		return nil, false
	}
	out := make([]float64, len(columns))
	for c, k := range index {
		out[k] = s.AtVec(c)
	}
	return out, true
}
