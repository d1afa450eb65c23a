package curvature

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/directed"
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// domain is a box that contains the points at which a claim is made: one
// range for each entry of x (len Dx) and y (len Dy).
type domain struct{ x, y []Interval }

// same reports one and the same box, not only equal ones.
func (d domain) same(other domain) bool {
	one := func(u, v []Interval) bool { return len(u) == len(v) && (len(u) == 0 || &u[0] == &v[0]) }
	return one(d.x, other.x) && one(d.y, other.y)
}

// domains returns the box around X with y unrestricted, and the box that the
// lower level's rows imply for y when x ranges over X. bounded reports whether
// the second one says more than the first.
func domains(p *ir.Problem) (everywhere, feasible domain, bounded bool) {
	x := upperBox(p)
	free := slices.Repeat([]Interval{wholeLine()}, p.Lower.Dim)
	y := slices.Clone(lowerBox(p, x, free)) // a region of its own, also where it is as wide (ir.Problem.Inside)
	return domain{x, free}, domain{x, y}, !slices.Equal(y, free) || len(p.Inside) > 0
}

// withMultipliers adds the ranges of the multipliers that the upper objective
// reads behind those of y: nonnegative on inequalities.
func (pr *prover) withMultipliers(d domain) domain {
	if len(pr.Duals) == 0 {
		return d
	}
	y := append([]Interval(nil), d.y...)
	for _, i := range pr.Duals {
		r := wholeLine()
		if i >= 0 && !pr.Rows[i].Equal {
			r.Lo = 0
		}
		y = append(y, r)
	}
	return domain{d.x, y}
}

// at is the domain of the single point (x, y).
func at(x, y []float64) domain {
	return domain{each.Of(x, point), each.Of(y, point)}
}

// upperBox is the smallest box found around X: its bounds, tightened by balls
// and rows.
func upperBox(p *ir.Problem) []Interval {
	x := each.Below(p.Upper.Dim, func(i int) Interval { return Interval{p.X.Lo[i], p.X.Hi[i]} })
	for _, ball := range p.X.Balls {
		v := p.Upper.Vars[ball.Var]
		for i := v.Offset; i < v.Offset+v.Shape.Len(); i++ {
			x[i] = x[i].meet(Interval{-ball.Radius, ball.Radius})
		}
	}
	return tighten(x, len(p.X.Rows), func(i int, visit func(j int, coef float64)) (rest float64, equal bool) {
		visitRow(p.X.E, i, 1, visit)
		return p.X.Rhs[i], p.X.Rows[i].Equal
	})
}

// shares finds the variables of x that lie in a simplex: entries >= 0 whose
// sum a row of X bounds.
func shares(p *ir.Problem, x []Interval) map[*expr.Node]float64 {
	out := map[*expr.Node]float64{}
	variables := each.Where(p.Graph.Nodes(), func(n *expr.Node) bool { return n.Op == expr.Var && !n.Lower })
	for i := range p.X.Rows {
		lead, columns := 0.0, map[int]bool{}
		visitRow(p.X.E, i, 1, func(j int, coef float64) {
			if lead == 0 {
				lead = coef
			}
			columns[j] = coef == lead && lead > 0 && x[j].Lo >= 0
		})
		same := len(columns) > 0
		for _, ok := range columns {
			same = same && ok
		}
		for _, n := range variables {
			inside := same
			for j := n.Offset; j < n.Offset+n.Shape.Len(); j++ {
				inside = inside && columns[j]
			}
			// The other entries of the row are >= 0 as well.
			if limit := directed.DivUp(p.X.Rhs[i], lead); inside && limit > 0 && (out[n] == 0 || limit < out[n]) {
				out[n] = limit
			}
		}
	}
	return out
}

// lowerBox tightens free by the rows A x - B y <= b (or =), x in its box.
func lowerBox(p *ir.Problem, x, free []Interval) []Interval {
	least := make([]float64, len(p.Rows)) // of A x, over the box
	most := make([]float64, len(p.Rows))
	var total Interval
	add := func(j int, coef float64) { total = total.add(x[j].mul(point(coef))) }
	for i := range p.Rows {
		total = Interval{}
		visitRow(p.A, i, 1, add)
		least[i], most[i] = total.Lo, total.Hi
	}
	m := len(p.Rows)
	// An equality is two inequalities here, because A x differs between them.
	return tighten(free, 2*m, func(i int, visit func(int, float64)) (float64, bool) {
		if i < m {
			visitRow(p.B, i, -1, visit)
			return directed.AddUp(p.Rhs[i], -least[i]), false
		}
		if !p.Rows[i-m].Equal {
			return math.Inf(1), false
		}
		visitRow(p.B, i-m, 1, visit)
		return directed.AddUp(-p.Rhs[i-m], most[i-m]), false
	})
}

func visitRow(m *sparse.CSR, i int, sign float64, visit func(j int, coef float64)) {
	for j, v := range m.Nonzeros(i) {
		visit(j, sign*v)
	}
}

// tightenRounds bounds the passes over the rows: bounds reach through a chain
// of that many rows; further tightening is only lost sharpness.
const tightenRounds = 8

// tighten applies rows sum_j coef_j z_j <= rest (or =) to a box until it
// stops shrinking. What contradicts the box is left out: an empty set is reported
// by the run, with a witness.
func tighten(box []Interval, rows int, row func(i int, visit func(j int, coef float64)) (rest float64, equal bool)) []Interval {
	z := append([]Interval(nil), box...)
	var cols []int
	var coefs, terms []float64
	take := func(j int, coef float64) { cols, coefs = append(cols, j), append(coefs, coef) }
	for range tightenRounds {
		changed := false
		for i := range rows {
			cols, coefs = cols[:0], coefs[:0]
			rest, equal := row(i, take)
			if terms = terms[:0]; math.IsInf(rest, 1) && !equal {
				continue
			}
			terms = append(terms, coefs...)
			changed = tightenRow(z, cols, coefs, rest, terms) || changed
			if equal {
				floats.Scale(-1, coefs)
				changed = tightenRow(z, cols, coefs, -rest, terms) || changed
			}
		}
		if !changed {
			break
		}
	}
	return z
}

// tightenRow applies one row sum_k coef_k z[col_k] <= rest: each term is at
// most the rest less the least values of the others. terms is room for as many
// numbers as there are terms.
func tightenRow(z []Interval, cols []int, coefs []float64, rest float64, terms []float64) (changed bool) {
	if math.IsInf(rest, 1) {
		return false
	}
	least, open := 0.0, -1 // sum of the finite least terms; the one infinite term
	for k, j := range cols {
		terms[k] = point(coefs[k]).mul(z[j]).Lo
		if math.IsInf(terms[k], -1) {
			if open >= 0 {
				return false
			}
			open = k
			continue
		}
		least = directed.AddDown(least, terms[k])
	}
	for k, j := range cols {
		others := least
		switch {
		case open < 0:
			others = directed.AddDown(least, -terms[k])
		case open != k:
			continue
		}
		most := directed.AddUp(rest, -others)
		before := z[j]
		if hi := directed.DivUp(most, coefs[k]); coefs[k] > 0 && hi >= z[j].Lo {
			z[j].Hi = min(z[j].Hi, hi)
		}
		if lo := directed.DivDown(most, coefs[k]); coefs[k] < 0 && lo <= z[j].Hi {
			z[j].Lo = max(z[j].Lo, lo)
		}
		if z[j].Hi == 0 {
			z[j].Hi = 0 // no negative zero in messages
		}
		if z[j].Lo == 0 {
			z[j].Lo = 0
		}
		// A gain of a thousandth is worth another round.
		gain := (before.Hi - before.Lo) - (z[j].Hi - z[j].Lo)
		changed = changed || gain > 1e-3*(before.Hi-before.Lo) || math.IsNaN(gain) && before != z[j] ||
			!before.finite() && before != z[j]
	}
	return changed
}
