package qp

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// constraints are rows e z <= side, or = side, with where they come from.
type constraints struct {
	e     *sparse.CSR
	side  []float64
	equal []bool
	name  []string
	lower []bool // a row of the lower level
}

// newConstraints has room for some rows with some entries.
func newConstraints(cols, rows, entries int) *constraints {
	return &constraints{e: sparse.WithRoom(cols, rows, entries)}
}

// end closes the row whose entries were appended to c.e.
func (c *constraints) end(side float64, equal bool, name string, lower bool) {
	c.e.EndRow()
	c.side, c.equal = append(c.side, side), append(c.equal, equal)
	c.name, c.lower = append(c.name, name), append(c.lower, lower)
}

// with returns the constraints with cuts of x appended; c itself for none.
func (c *constraints) with(cuts []Cut) *constraints {
	if len(cuts) == 0 {
		return c
	}
	e := *c.e
	e.Ptr, e.Col, e.Val = slices.Clone(e.Ptr), slices.Clone(e.Col), slices.Clone(e.Val)
	out := &constraints{e: &e, side: slices.Clone(c.side), equal: slices.Clone(c.equal),
		name: slices.Clone(c.name), lower: slices.Clone(c.lower)}
	for _, cut := range cuts {
		for j, v := range cut.Normal {
			if v != 0 {
				out.e.Append(j, v)
			}
		}
		out.end(cut.Side, cut.Equal, "", false)
	}
	return out
}

// empty names the rows that take part in a proof that no point satisfies them.
func (c *constraints) empty(farkas []float64) *EmptySetError {
	e := &EmptySetError{}
	for i, u := range farkas {
		if u == 0 {
			continue
		}
		e.Lower = e.Lower || c.lower[i]
		if c.name[i] != "" {
			e.Rows = append(e.Rows, c.name[i])
		}
	}
	return e
}

// Cut is a half space, or hyperplane, in x.
type Cut struct {
	Normal []float64 // len dx
	Side   float64
	Equal  bool
}

// assemble builds the rows on x and on (x, s, u). s is y in the unit of x that most
// rows say: what a change of y by 1 is worth in x.
func (p *Projector) assemble() {
	rows, entries := len(p.set.Kind), 0
	if rows > 0 {
		entries = p.set.E.NNZ()
	}
	p.upper = newConstraints(p.dx, rows, entries)
	rows, entries = rows+p.rows.Len()+p.set.Extended.Len(), entries+p.rows.A.NNZ()+p.rows.B.NNZ()
	p.joint = newConstraints(p.dx+p.inner+len(p.u), rows, entries)
	both := func(cols []int, vals []float64, side float64, equal bool, name string, lower bool) {
		for _, c := range []*constraints{p.upper, p.joint} {
			c.e.AppendAll(cols, vals)
			c.end(side, equal, name, lower)
		}
	}
	for i, kind := range p.set.Kind {
		cols, vals := p.set.E.Row(i)
		name := ""
		if i < len(p.set.Name) {
			name = p.set.Name[i]
		}
		both(cols, vals, p.set.Rhs[i], kind == problem.Equal, name, false)
	}
	p.unit = linalg.RowRatio(p.rows.A, p.rows.B)
	for i, kind := range p.rows.Kind {
		cols, vals := p.rows.A.Row(i)
		equal, name := kind == problem.Equal, p.rows.RowName(i)
		if !p.rows.B.Reads(i) {
			both(cols, vals, p.rows.Rhs[i], equal, name, true)
			continue
		}
		if p.inner == 0 {
			continue
		}
		p.joint.e.AppendAll(cols, vals)
		ycols, yvals := p.rows.B.Row(i)
		p.joint.e.AppendScaled(ycols, p.dx, yvals, -p.unit, 1)
		p.joint.end(p.rows.Rhs[i], equal, name, true)
	}
	for i := range p.set.Extended.Len() {
		e := p.set.Extended
		for j, v := range e.E.Entries(i) {
			if j >= p.dx {
				j += p.inner
			}
			p.joint.e.Append(j, v)
		}
		p.joint.end(e.Rhs[i], false, e.Name[i], false)
	}
}

// nearness is the weight of the distance in s, from where it was, beside that in
// x. Rounds of it are the proximal point method in s, which converges to the
// nearest x, by about this factor a round; the conditioning suffers by its root.
const nearness = 1e-4

// projectJointly minimizes the quadratic weight'z^2/2 + linear'z of x over the
// rows on (x, s, u), from a center in s and u that it moves on. weight and linear have
// room for them.
func (p *Projector) projectJointly(dst, linear, weight []float64, on *search) error {
	n := p.dx
	if on.center == nil {
		on.center = p.center()
	}
	for range on.center {
		weight = append(weight, nearness)
	}
	q := &Problem{H: Diagonal(weight), C: append(linear, make([]float64, len(on.center))...), A: on.e, Equal: on.equal, B: on.side,
		Lo: p.withFree(p.set.Lo, -1), Hi: p.withFree(p.set.Hi, 1), Context: p.ctx}
	if on.constraints == p.joint {
		q.Warm = p.jointWarm
	}
	scale := linalg.Norm(linear)
	for range tolerance.Steps {
		for j, c := range on.center {
			q.C[n+j] = -nearness * c
		}
		s := p.program(q, weight, on.constraints)
		if err := p.outcome(s, on.constraints); err != nil {
			return err
		}
		q.Warm = s.Active
		moved := 0.0
		for j, v := range s.Z[n:] {
			moved = math.Hypot(moved, v-on.center[j])
			on.center[j] = v
		}
		for j, v := range s.Z[:n] {
			dst[j] = p.clamp(j, v)
		}
		// The force that the distance in s still has does not show in x: it is on the set
		// after every round, and as good as the nearest point of it.
		if nearness*moved <= 1e-13*(scale+linalg.Norm(s.Z[:n])+nearness*linalg.Norm(s.Z[n:])) {
			break
		}
	}
	if on.constraints == p.joint {
		p.jointWarm = q.Warm
	}
	p.remember(on.center)
	return nil
}

// program solves a projection onto joint rows, sparse where they are many.
func (p *Projector) program(q *Problem, diagonal []float64, on *constraints) *Solution {
	k := p.sparse.of(on.e, on.equal)
	if on == p.joint {
		p.sparse = k
	}
	if k != nil {
		if s := k.solve(q, diagonal); s != nil {
			return s
		}
	}
	return Solve(q, &p.ws)
}

// center is the witness in units of s, then u.
func (p *Projector) center() []float64 {
	c := make([]float64, p.inner, p.inner+len(p.u))
	for j := range c {
		c[j] = p.recourse.y[j] / p.unit
	}
	return append(c, p.u...)
}

// remember makes s the witness, and u the next guess.
func (p *Projector) remember(s []float64) {
	for j, v := range s[:p.inner] {
		p.recourse.y[j] = v * p.unit
	}
	copy(p.u, s[p.inner:])
}

// withFree is the bounds of (x, s, u): those of x, then none.
func (p *Projector) withFree(x []float64, sign int) []float64 {
	out := slices.Repeat([]float64{math.Inf(sign)}, p.joint.e.Cols)
	copy(out, x)
	return out
}
