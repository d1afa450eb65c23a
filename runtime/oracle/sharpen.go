package oracle

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// digit is the part of the least curvature that rounding may hide in the entries of a Hessian for
// its solutions to say how large errors are.
const digit = 0.1

// sharpen replaces the margins of undecided rows by those of errors that are taken entry by entry
// through the equations of the face, where judge's norms have each error go the worst way: that of
// a force along the steepest curvature of g as one along the flattest, which for curvatures that
// differ by 1e12 is 1e12 times too much. With K the face's matrix, b what is left of its equations
// and e the errors of that, a functional c of y and the multipliers is known to |c'K^-1 b| +
// |c'K^-1| e, of which the first part has the accuracy of K: what y in double precision cannot but
// leave along steep directions moves nothing along flat ones. It needs a Hessian that is known whole, and bounds of the rounding of grad_y g
// (problem.Rounded), and reports whether it had them. It takes two gradients of g.
func (h *Hyper) sharpen(margins []float64, undecided []int, x []float64, s *lower.Solution, face []int) bool {
	p := h.p
	rounded, ok := p.G.(problem.Rounded)
	if !ok || !p.Facts.QuadraticInY || !p.Facts.FixedHessian || !(p.Facts.StrongConvexity > 0) || !h.learned.Complete() || h.learned.Near {
		return false
	}
	rows := statesOf(p, x, s.Y)
	held := make(map[int]int, len(face)) // place among the independent rows that y has a part in
	var independent []int
	for _, i := range face {
		if rows[i].length > 0 && !slices.Contains(s.Dependent, i) {
			held[i] = len(independent)
			independent = append(independent, i)
		}
	}
	// No error is smaller than a row's own rounding.
	hopeful := false
	for _, i := range undecided {
		_, in := held[i]
		hopeful = hopeful || in && s.Lambda[i] > 0 || !in && rows[i].slack >= decided*rows[i].error
	}
	if !hopeful {
		return false
	}
	m := h.learned.Face(p, independent)
	if m == nil {
		return false
	}
	accuracy := roundings * unit * float64(p.Dy) * m.Largest() / p.Facts.StrongConvexity
	if !(accuracy <= digit) {
		return false
	}
	rest, force := make([]float64, p.Dy), make([]float64, p.Dy)
	if !h.forces(rest, force, rounded, x, s) {
		return false
	}
	for _, i := range undecided {
		k, in := held[i]
		var y, lambda []float64
		if in {
			lambda = make([]float64, len(independent))
			lambda[k] = 1
		} else {
			y = make([]float64, p.Dy)
			p.Rows.B.AddRow(y, i, 1)
		}
		ofForces, ofGaps, ok := m.Adjoint(y, lambda)
		if !ok {
			return false
		}
		size, off := rows[i].slack, rows[i].error
		if in {
			size, off = s.Lambda[i], 0
		}
		moved, terms := 0.0, 0.0
		add := func(v, rest, error float64) {
			moved += v * rest
			terms += math.Abs(v * rest)
			off += math.Abs(v) * error
		}
		for j, v := range ofForces {
			add(v, rest[j], force[j])
		}
		for a, v := range ofGaps {
			r := rows[independent[a]]
			add(v, -r.slack, r.error)
		}
		off += math.Abs(moved) + accuracy*terms
		margins[i] = 0
		if size > 0 {
			margins[i] = size / off
		}
	}
	return true
}

// forces sets rest to what is left of the forces that are to balance at a solution, and off to its
// errors, entry by entry: the rounding of the gradient and of the rows' pull, and the digits that x
// has over X. It reports false where these are not known.
func (h *Hyper) forces(rest, off []float64, g problem.Rounded, x []float64, s *lower.Solution) bool {
	p := h.p
	if !g.GradYRounded(rest, off, x, s.Y) {
		return false
	}
	share, xs, moved := shares(3), slices.Clone(x), make([]float64, p.Dy)
	for j, size := range extents(p, x) {
		xs[j] += probePart * share() * size
	}
	p.G.GradY(moved, xs, s.Y)
	for j, v := range moved {
		off[j] += roundings * unit * math.Abs(v-rest[j]) / probePart
	}
	for i, l := range s.Lambda {
		p.Rows.B.AddRow(rest, i, -l)
		cols, vals := p.Rows.B.Row(i)
		for k, j := range cols {
			off[j] += roundings * unit * math.Abs(vals[k]*l)
		}
	}
	return linalg.Finite(off)
}
