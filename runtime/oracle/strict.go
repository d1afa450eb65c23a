package oracle

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// complementarity measures strict complementarity at a lower solution at x against
// the errors of y and lambda: the margin is the least slack or multiplier over its
// error, +Inf where no row is an inequality, and the undecided rows, ascending, are
// those for which it is below decided.
//
// A hypergradient is that of the smooth piece of F that the active rows select.
// F has that piece on an open set around x only where every row is decided: its
// slack, or its multiplier, is above the error with which it is known. At a point
// with undecided rows the gradient of a piece need not be an element of the
// subdifferential at all: F(x) = x can be written with y >= 0 such that at x = 0 the
// four faces give the slopes 2, 1, 1 and 0.
func (h *Hyper) complementarity(x []float64, s *lower.Solution, face []int) (margin float64, undecided []int) {
	if !h.p.HasInequalities() {
		return math.Inf(1), nil
	}
	rowForces := make([]float64, h.p.Dy)
	h.p.Rows.B.AddMulVecT(rowForces, 1, s.Lambda)
	measured := h.terms == nil
	if measured {
		h.terms = measure(h.p, x, s.Y)
	}
	sigma := h.sine(s, face)
	margins := judge(h.p, x, s, face, sigma, linalg.Norm(rowForces), h.terms)
	if margin, undecided = verdict(margins); margin < tolerance.Hiding && !measured {
		h.terms = measure(h.p, x, s.Y)
		margins = judge(h.p, x, s, face, sigma, linalg.Norm(rowForces), h.terms)
		margin, undecided = verdict(margins)
	}
	if len(undecided) > 0 && h.sharpen(margins, undecided, x, s, face) {
		return verdict(margins)
	}
	return margin, undecided
}

// Rows are the rows that hold at the lower solution, ascending: active, with a multiplier, and weak, of which that is
// undecided. The solver calls a row weak within a tolerance in units of its own; the errors may decide it nevertheless, of the solution itself: Face may be that of a piece next to it.
func (p *Point) Rows() (active, weak []int) {
	active = slices.Clone(p.Lower.Active)
	for _, i := range p.Lower.Weak {
		switch _, undecided := slices.BinarySearch(p.Undecided, i); {
		case undecided:
			weak = append(weak, i)
		case p.Lower.Lambda[i] > 0:
			active = append(active, i)
		}
	}
	slices.Sort(active)
	return active, weak
}

// verdict is the least of the margins of the rows, and the undecided ones.
func verdict(margins []float64) (least float64, undecided []int) {
	least = math.Inf(1)
	for i, m := range margins {
		if least = math.Min(least, m); !(m >= tolerance.Margin) {
			undecided = append(undecided, i)
		}
	}
	return least, undecided
}

// stiff is how much larger an error of y has to be than what the rows of a face leave of it
// at a vertex for the curvature of g to be that of a tie break, or as little.
const stiff = 1e5

// judge compares slacks and multipliers with their errors. With an error e of the
// gradient (its rounding, and the residual of stationarity), errors rho of the
// rows of the face (scaled to length 1), mu and L the least and largest curvature
// of g, and sigma the least singular value of the face's rows, the perturbed
// equations of the face give
//
//	|dy| <= e/mu + sqrt(L/mu) rho/sigma,  |dlambda| <= sqrt(L/mu) e/sigma + L rho/sigma^2.
//
// Where mu and L are not proved, a measured curvature stands in for both. An error of
// the gradient moves y only along the face: the slack of a row outside it feels
// |P B_i| e/mu of that, where P projects onto the directions that the face leaves free.
// At a vertex, where linear followers answer, that is nothing, however small mu is.
//
// It returns the margin of each row, +Inf of those that need none.
func judge(p *problem.Problem, x []float64, s *lower.Solution, face []int, sigma, rowForces float64, t *terms) (margins []float64) {
	mu, smooth := p.Facts.StrongConvexity, p.Facts.Smoothness
	if mu == 0 {
		mu = t.Curvature
	}
	if smooth == 0 {
		smooth = math.Max(mu, t.Curvature)
	}
	if mu == 0 {
		mu, smooth = 1, 1
	}
	held := make([]bool, p.Rows.Len())
	for _, i := range face {
		held[i] = true
	}
	rows := statesOf(p, x, s.Y)
	rho := 0.0
	for i, r := range rows {
		if held[i] && r.length > 0 {
			rho = math.Max(rho, math.Max(r.error, math.Abs(r.slack))/r.length)
		}
	}
	root := math.Sqrt(smooth / mu)
	e := math.Sqrt(float64(p.Dy))*s.Residuals.Stationarity + tolerance.SumRounding*math.Max(t.Size+t.Width, rowForces)
	errorY := e/mu + root*rho/sigma
	errorForce := root*e/sigma + smooth*rho/(sigma*sigma)
	dependent := make(map[int]bool, len(s.Dependent))
	for _, i := range s.Dependent {
		dependent[i] = true
	}
	margins = make([]float64, len(rows))
	var free func(int) float64
	for i, r := range rows {
		if margins[i] = math.Inf(1); p.Rows.Kind[i] == problem.Equal || r.length == 0 || dependent[i] {
			continue // a condition on x alone, or one that holds wherever the others do
		}
		margin := 0.0
		if held[i] {
			margin = s.Lambda[i] * r.length / errorForce
		} else {
			margin = r.slack / (r.error + r.length*errorY)
			// The least error that there may be, if the face leaves the row no freedom. What is
			// gained has to be beyond all doubt: the other errors are estimates too.
			fixed := r.error + r.length*rho/sigma
			if !(margin >= tolerance.Margin) && r.slack >= tolerance.Margin*fixed && r.length*errorY >= stiff*fixed {
				if free == nil {
					free = freedom(p.Rows, face)
				}
				margin = r.slack / (fixed + free(i)*errorY)
			}
		}
		margins[i] = margin
	}
	return margins
}

// statesOf are those of all rows, with the digits that x has over X counted in.
func statesOf(p *problem.Problem, x, y []float64) []rowState {
	rows := each.Below(p.Rows.Len(), func(i int) rowState { return stateOf(p.Rows, i, x, y) })
	if p.Rows.A.NNZ() == 0 {
		return rows
	}
	sizes := extents(p, x)
	for i := range rows {
		for j, v := range p.Rows.A.Entries(i) {
			rows[i].error += tolerance.SumRounding * math.Abs(v) * sizes[j]
		}
	}
	return rows
}

// rowState is a row at (x, y).
type rowState struct {
	slack, error, length float64 // -h_i, its rounding, |B_i|
}

func stateOf(r *problem.Rows, i int, x, y []float64) rowState {
	h := r.A.RowDot(i, x) - r.B.RowDot(i, y)
	size := r.A.RowTerms(i, x) + r.B.RowTerms(i, y)
	length := linalg.RowNorm(r.B, i)
	return rowState{slack: r.Rhs[i] - h, error: tolerance.SumRounding * (size + math.Abs(r.Rhs[i])), length: length}
}
