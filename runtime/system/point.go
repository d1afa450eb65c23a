package system

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// stationary says in what sense a point is stationary.
func stationary(p *kkt.Point) string {
	return stationarityOf(p) + multipliersLooked(p)
}

// multipliersLooked says with how many of the follower's multipliers a point is stationary, where there are several.
func multipliersLooked(p *kkt.Point) string {
	switch {
	case p.Vertices <= 1:
		return ""
	case p.AllVertices:
		return fmt.Sprintf("; with each of the %d vertices of the follower's multipliers", p.Vertices)
	}
	return fmt.Sprintf("; with %d of the vertices of the follower's multipliers, which are more", p.Vertices)
}

func stationarityOf(p *kkt.Point) string {
	switch {
	case p.Multipliers == nil:
		return fmt.Sprintf("B-stationary: no direction improves F to first order, shown on %d parts of the branches of %s", len(p.Leaves), rowsWord(len(p.Biactive)))
	case len(p.Biactive) == 0:
		return "strongly stationary: no row is biactive"
	}
	return fmt.Sprintf("strongly stationary: the multipliers of %s have the signs of a minimum", rowsWord(len(p.Biactive)))
}

func rowsWord(n int) string {
	if n == 1 {
		return "1 biactive row"
	}
	return fmt.Sprintf("%d biactive rows", n)
}

// solutionAt is the lower level at a point of the system, as lower solvers describe it.
func solutionAt(n *problem.Problem, s *kkt.System, z []float64) *lower.Solution {
	x, y, lambda := s.X(z), slices.Clone(s.Y(z)), slices.Clone(s.Lambda(z))
	out := &lower.Solution{Status: lower.Solved, Y: y, Lambda: lambda, Value: n.G.Value(x, y),
		MinMultiplier: math.Inf(1), MinSlack: math.Inf(1), ErrorBound: math.Inf(1), Sparse: lower.Choose(n) == "sparse"}
	signs := s.SignsAt(z)
	h := make([]float64, s.M)
	n.Rows.Residual(h, x, y)
	grad := make([]float64, s.Ny)
	n.G.GradY(grad, x, y)
	gap := 0.0
	for i, kind := range n.Rows.Kind {
		switch {
		case kind == problem.Equal:
			out.Active = append(out.Active, i)
			out.Residuals.Primal = math.Max(out.Residuals.Primal, math.Abs(h[i]))
		case signs.Mult[i]:
			out.Active = append(out.Active, i)
			out.MinMultiplier = math.Min(out.MinMultiplier, lambda[i])
		case signs.Slack[i]:
			out.MinSlack = math.Min(out.MinSlack, -h[i])
			lambda[i] = 0 // below what is told from 0
		default:
			out.Weak = append(out.Weak, i)
			lambda[i] = 0
		}
		if kind == problem.AtMost {
			n.Rows.B.AddRow(grad, i, -lambda[i])
			out.Residuals.Primal = math.Max(out.Residuals.Primal, h[i])
			out.Residuals.Complementarity = math.Max(out.Residuals.Complementarity, math.Abs(lambda[i]*h[i]))
			gap += lambda[i] * math.Max(0, -h[i])
		}
	}
	balance(n, lambda, grad)
	square := 0.0
	for _, g := range grad {
		out.Residuals.Stationarity = math.Max(out.Residuals.Stationarity, math.Abs(g))
		square += g * g
	}
	if mu := n.Facts.StrongConvexity; mu > 0 {
		out.ErrorBound = math.Sqrt(2 * (gap + square/(2*mu)) / mu)
	}
	return out
}

// balance takes the forces of the equality rows off what the other multipliers leave of grad_y g. Where equality rows depend on each other, any multiple of a combination that is 0 may have been added to their multipliers, as
// large as a wide box lets it: where that hides the forces, and f reads none of them, they become those of a part of the rows that is independent.
func balance(n *problem.Problem, lambda, grad []float64) {
	equal := each.WhereBelow(len(n.Rows.Kind), func(i int) bool { return n.Rows.Kind[i] == problem.Equal })
	off := func(lambda []float64) []float64 {
		out := slices.Clone(grad)
		for _, i := range equal {
			n.Rows.B.AddRow(out, i, -lambda[i])
		}
		return out
	}
	left := off(lambda)
	if len(n.Duals) == 0 {
		dependent, _ := linalg.Independent(n.Rows.B, equal, func(int) bool { return false })
		if len(dependent) > 0 {
			basic := multipliersOf(n.Rows.B, slices.DeleteFunc(slices.Clone(equal), func(i int) bool { return slices.Contains(dependent, i) }), grad)
			if found := off(basic); linalg.NormInf(found) <= math.Max(linalg.NormInf(left), tolerance.Rounded*linalg.NormInf(grad)) {
				left = found
				for _, i := range equal {
					lambda[i] = basic[i]
				}
			}
		}
	}
	copy(grad, left)
}

// multipliersOf are those of some independent rows, 0 of others, that leave the least of a force.
func multipliersOf(b *sparse.CSR, rows []int, force []float64) []float64 {
	length := each.Of(rows, func(i int) float64 { _, vals := b.Row(i); return linalg.Norm(vals) })
	found, left, out := make([]float64, len(rows)), slices.Clone(force), make([]float64, b.Rows)
	sparse.LeastSquares(found, left, 2*len(rows), func(dst, v []float64) {
		clear(dst)
		for k, i := range rows {
			b.AddRow(dst, i, v[k]/length[k])
		}
	}, func(dst, v []float64) {
		for k, i := range rows {
			dst[k] = b.RowDot(i, v) / length[k]
		}
	}, func(before, now float64) bool { return now <= 0x1p-104*before }) // a double's last place, squared
	for k, i := range rows {
		out[i] = found[k] / length[k]
	}
	return out
}

// PointAt is a point of the system as oracles describe it, with the hypergradient where it lies inside one branch.
func PointAt(n *problem.Problem, s *kkt.System, z []float64, m *kkt.Multipliers) *oracle.Point {
	sol := solutionAt(n, s, z)
	out := &oracle.Point{X: slices.Clone(s.X(z)), Lower: sol, Face: sol.Active, Undecided: sol.Weak, Strict: len(sol.Weak) == 0, GradError: math.NaN()}
	out.F = n.F.Value(out.X, n.Answer(sol.Y, sol.Lambda))
	if n.Coupled != nil {
		fy := make([]float64, n.AnswerLen())
		n.F.ValueGradY(fy, out.X, n.Answer(sol.Y, sol.Lambda))
		out.Coupled = slices.Clone(n.CoupledPart(fy))
	}
	if out.Strict && m != nil && !slices.ContainsFunc(m.Coupled, func(t float64) bool { return t != 0 }) && movable(n, sol.Active) && len(n.Held(out.X)) == 0 {
		out.Grad, out.Open, out.GradError = s.Hypergradient(m), true, s.HypergradientError(m, z)
	}
	sol.ErrorBound = oracle.ErrorOfY(n, out)
	return out
}

// movable reports that the follower's rows hold along with x wherever it goes from a point at which these do: no combination of them that is free of y reads x. Else the point lies at the edge of
// the set of x to which the follower has an answer, whatever the signs of slacks and multipliers say, and F has no gradient there.
func movable(n *problem.Problem, rows []int) bool {
	joint := sparse.Empty(n.Dy + n.Dx)
	for i := range n.Rows.Len() {
		joint.AppendAll(n.Rows.B.Row(i))
		cols, vals := n.Rows.A.Row(i)
		joint.AppendScaled(cols, n.Dy, vals, -1, 1)
		joint.EndRow()
	}
	open := func(int) bool { return false }
	ofY, _ := linalg.Independent(n.Rows.B, rows, open)
	if len(ofY) == 0 {
		return true
	}
	both, _ := linalg.Independent(joint, rows, open)
	return len(both) == len(ofY)
}
