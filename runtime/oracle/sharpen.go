package oracle

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// sharpen replaces the margins of undecided rows by those of errors that are taken through the
// equations of the face, where judge's norms have each error go the worst way: that of
// a force along the steepest curvature of g as one along the flattest, which for curvatures that
// differ by 1e12 is 1e12 times too much. With K the face's matrix and b what is left of its
// equations, a slack or a multiplier c is off by c'K^-1 b: for p of the adjoint (p, q) = K^-T c, by
// the slope of g along p, which is enclosed (problem.Rounded), and by the rows. It needs a follower that was solved
// that way (lower.Solution.RoundingBound), and reports whether it was. It takes two slopes of g a row.
func (h *Hyper) sharpen(margins []float64, undecided []int, x []float64, s *lower.Solution, face []int) bool {
	p := h.p
	g, ok := p.G.(problem.Rounded)
	if !ok || !(s.RoundingBound > 0) || !p.Facts.FixedHessian || !h.learned.Complete() || h.learned.Near {
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
	m := h.learned.Face(p, independent)
	if m == nil {
		return false
	}
	// What H is known to: its entries are differences of two gradients. No more of the least curvature may be hidden than is left for solutions to say how large errors are.
	known := 4 * tolerance.Roundoff * float64(p.Dy) * m.Largest()
	if !(known <= p.Facts.StrongConvexity-known) {
		return false
	}
	xs := shifted(p, x, shares(3))
	for _, i := range undecided {
		k, in := held[i]
		var ofY, ofLambda []float64
		size, off := rows[i].slack, rows[i].error
		if in {
			ofLambda = make([]float64, len(independent))
			ofLambda[k], size, off = 1, s.Lambda[i], 0
		} else {
			ofY = make([]float64, p.Dy)
			p.Rows.B.AddRow(ofY, i, 1)
		}
		along, gaps, ok := m.Adjoint(ofY, ofLambda)
		if !ok {
			return false
		}
		lo, hi, ok := g.SlopeY(along, x, s.Y)
		from, to, digits := g.SlopeY(along, xs, s.Y)
		if !ok || !digits {
			return false
		}
		moved, terms := -(lo + (hi-lo)/2), math.Abs(lo)+math.Abs(hi)
		off += (hi-lo)/2 + tolerance.SumRounding*math.Max(math.Abs(from-lo), math.Abs(to-hi))/tolerance.HalfDigits
		for a, row := range independent {
			for j, v := range p.Rows.B.Entries(row) {
				force := s.Lambda[row] * v * along[j]
				moved += force
				terms += math.Abs(force)
			}
			moved -= gaps[a] * rows[row].slack
			off += math.Abs(gaps[a]) * rows[row].error
		}
		off += math.Abs(moved) + tolerance.SumRounding*terms + linalg.Norm(along)*known*s.RoundingBound
		margins[i] = 0
		if size > 0 && off < math.Inf(1) {
			margins[i] = size / off
		}
	}
	return true
}
