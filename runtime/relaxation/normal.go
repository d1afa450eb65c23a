package relaxation

import (
	"cmp"
	"context"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/qp"
)

// Normal is an element of the normal cone at (x, s) of all rows that come within Radius of
// it, where those that every multiplier of the follower needs are equations (holds): Lambda
// on the rows of the lower level, negative on inequalities only where these are such, and
// Upper (len Dx), of the bounds and rows of X. With it
//
//	Norm = |(grad_x f + A'Lambda + Upper, Unit (grad_y f - B'Lambda))|,
//
// and where y is the follower's answer and lies within its rows next to x, F falls by no
// more than Norm |(d, dy/Unit)| to first order in a direction d along which y moves by dy.
type Normal struct {
	Radius float64
	Lambda []float64
	Upper  []float64
	Norm   float64
	Terms  float64 // |(grad_x f, Unit grad_y f)|
	// Spared are other multipliers of the follower at the same point, each without a row
	// that stands in the way of a smaller Norm; empty where none does. With one of them in
	// the tangent of Penalize f may fall along the rows.
	Spared []Spared
}

// Spared are multipliers of the follower, len m, without a row.
type Spared struct {
	Row    int
	Lambda []float64
	pull   float64 // of the row against f
}

// Normal is the one that makes Norm least, at (x, y), lambda being multipliers of the
// follower there; nil where it was not found. It is that of the projected gradient: the step
// d that minimizes grad f'd/|grad f| + |d|^2/2 in units of radius over the rows is the
// negative sum over |grad f|, and |d| <= 1.
func (r *Relaxation) Normal(ctx context.Context, x, y, lambda []float64, radius float64) *Normal {
	z, g := r.join(x, y), make([]float64, r.n)
	price := r.price
	r.price = 0
	r.evaluate(g, z)
	r.price = price
	terms := linalg.Norm(g)
	if !(terms > 0) || math.IsInf(terms, 1) {
		return nil
	}
	c := r.within(z, g, terms, radius)
	// All rows that push are tried as equations, and those whose multiplier then comes out
	// negative looked at: as few as there are of them.
	tight, known := make([]bool, r.rows.Rows), map[int]hold{}
	var spared []Spared
	for i, l := range lambda {
		tight[i] = !r.equal[i] && l > 0
	}
	for range r.rows.Rows + 1 {
		out, negative := c.solve(ctx, tight)
		if out == nil {
			return nil
		}
		free := true
		for _, i := range negative {
			h, seen := known[i]
			if !seen {
				var ok bool
				if h, ok = r.holds(ctx, c.of, lambda, i); !ok {
					h = hold{}
				}
				known[i] = h
			}
			if h.fast {
				continue
			}
			free, tight[i] = false, false
			if h.spared != nil {
				_, vals := r.rows.Row(i)
				spared = append(spared, Spared{i, h.spared, -out.Lambda[i] * linalg.Norm(vals)})
			}
		}
		if free {
			slices.SortFunc(spared, func(a, b Spared) int { return cmp.Compare(b.pull, a.pull) })
			out.Spared = spared
			return out
		}
	}
	return nil
}

// neighbourhood is the projection of the gradient of f onto the rows next to a point.
type neighbourhood struct {
	r      *Relaxation
	radius float64
	g      []float64
	terms  float64 // |g|
	near   qp.Problem
	of     []int // the row of r that each of its rows is
	away   []float64
}

func (r *Relaxation) within(z, g []float64, terms, radius float64) *neighbourhood {
	linear, lo, hi := make([]float64, r.n), make([]float64, r.n), make([]float64, r.n)
	// What rounding leaves of z outside of the rows counts as on them; what a step of
	// length 1 does not reach takes no part.
	for j, v := range z {
		linear[j], lo[j], hi[j] = g[j]/terms, math.Inf(-1), math.Inf(1)
		if d := (r.lo[j] - v) / radius; d > -beyond {
			lo[j] = math.Min(0, d)
		}
		if d := (r.hi[j] - v) / radius; d < beyond {
			hi[j] = math.Max(0, d)
		}
	}
	c := &neighbourhood{r: r, radius: radius, g: g, terms: terms,
		near: qp.Problem{H: qp.Identity(r.n), C: linear, Lo: lo, Hi: hi, A: sparse.Empty(r.n)}}
	for i, side := range r.side {
		cols, vals := r.rows.Row(i)
		away := (r.rows.RowDot(i, z) - side) / radius
		if !r.equal[i] && away > beyond*linalg.Norm(vals) {
			continue
		}
		c.of, c.away = append(c.of, i), append(c.away, math.Max(0, away))
		for k, j := range cols {
			c.near.A.Append(j, -vals[k])
		}
		c.near.A.EndRow()
	}
	return c
}

// solve is the normal where the tight rows are equations, and which of those have a
// negative multiplier; nil where it was not found.
func (c *neighbourhood) solve(ctx context.Context, tight []bool) (out *Normal, negative []int) {
	r := c.r
	near := c.near
	near.Context = ctx
	near.B, near.Equal = make([]float64, len(c.of)), make([]bool, len(c.of))
	for k, i := range c.of {
		if near.Equal[k] = r.equal[i] || tight[i]; !near.Equal[k] {
			near.B[k] = c.away[k]
		}
	}
	s := qp.Solve(&near, nil)
	if s.Status != qp.Solved {
		return nil, nil
	}
	out = &Normal{Radius: c.radius, Lambda: make([]float64, r.p.Rows.Len()), Upper: make([]float64, r.p.Dx), Terms: c.terms}
	lambda := make([]float64, r.rows.Rows)
	for k, i := range c.of {
		if lambda[i] = s.Lambda[k] * c.terms; r.equal[i] {
			continue
		}
		if !tight[i] {
			lambda[i] = math.Max(0, lambda[i])
		} else if lambda[i] < 0 {
			negative = append(negative, i)
		}
	}
	copy(out.Lambda, lambda)
	rest := append([]float64(nil), c.g...)
	r.rows.AddMulVecT(rest, -1, lambda)
	for j := range out.Upper {
		// What is left at a bound is its own.
		if b := s.Bound[j]; b != 0 && b*rest[j] < 0 {
			out.Upper[j], rest[j] = -rest[j], 0
		}
	}
	out.Norm = linalg.Norm(rest)
	for i := range r.p.X.Kind {
		r.p.X.E.AddRow(out.Upper, i, lambda[r.p.Rows.Len()+i])
	}
	return out, negative
}

// beyond is a distance that no step of length 1 comes near.
const beyond = 2
