package kkt

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Point is a feasible point of the system with what shows that it is stationary.
type Point struct {
	Z []float64 // len N, in the model's units
	F float64   // f(Z), as the model states it
	// Branch says which side of each pair is zero (one entry a pair; no pair is Open), and Biactive are the pairs of which both sides are.
	Branch   []Fix
	Biactive []int
	// Multipliers show that Z is strongly stationary; nil where none were found that do.
	Multipliers *Multipliers
	// Leaves, where there are no such multipliers, show that Z is B-stationary: on each branch of the biactive pairs multipliers with the signs of
	// that branch.
	Leaves []Leaf
	// Vertices is how many vertices of the follower's multipliers the point was found stationary with: 1 where they are unique, or what makes them several makes no other branch. AllVertices says that there are no others.
	Vertices    int
	AllVertices bool
	// SecondOrder is what is known of curvature along the critical directions of the branch.
	SecondOrder SecondOrder
}

// Leaf is one part of the branches of the biactive pairs, those that Fix does not leave open, with multipliers that show a point to be stationary there:
// of a pair with s = 0 fixed Slack has any sign, of one with lambda = 0 fixed Lambda has.
type Leaf struct {
	Fix         []Fix
	Multipliers *Multipliers
}

// SecondOrder is whether f curves upward along the critical directions of the branch.
type SecondOrder uint8

// The three answers.
const (
	NotChecked SecondOrder = iota
	Holds
	Fails
)

// Multipliers make up the gradient of f at a point of the system:
//
//	grad_x f      =  G' Adjoint - A' Slack + Bound - E' UpperRows - grad_x c' Coupled
//	grad_y f      =  H  Adjoint + B' Slack                        - grad_y c' Coupled
//	grad_lambda f = -B  Adjoint + Lambda                          - grad_lambda c' Coupled
//
// Slack_i is gamma_i, of s_i >= 0, and Lambda_i is nu_i, of lambda_i >= 0. Slack_i is 0 where s_i > 0 and Lambda_i where
// lambda_i > 0. The point is strongly stationary where both are >= 0 on biactive rows, Bound_j >= 0 at the
// lower and <= 0 at the upper bound of x_j and 0 elsewhere, and UpperRows, Coupled >= 0 on inequalities that hold with equality and 0 on others
// (Scheel and Scholtes 2000, Theorem 2). Equality rows have no signs, and no Lambda.
type Multipliers struct {
	Adjoint []float64 // len Ny
	Slack   []float64 // len M
	Lambda  []float64 // len M
	Bound   []float64 // len Nx
	// UpperRows are of the rows of X, Extended of those of its extended formulation, Coupled of the coupled constraints; nil where there are none.
	UpperRows, Extended, Coupled []float64
}

// NoMultipliers are multipliers that are all 0.
func (s *System) NoMultipliers() *Multipliers {
	m := &Multipliers{Adjoint: make([]float64, s.Ny), Slack: make([]float64, s.M), Lambda: make([]float64, s.M), Bound: make([]float64, s.Nx)}
	if n := len(s.P.X.Kind); n > 0 {
		m.UpperRows = make([]float64, n)
	}
	if n := s.P.X.Extended.Len(); n > 0 {
		m.Extended = make([]float64, n)
	}
	if s.P.Coupled != nil {
		m.Coupled = make([]float64, len(s.P.Coupled.Kind))
	}
	return m
}

// FromDuals are the multipliers of the minimizer scaled (len N) of a branch problem with the objective f, or Objective.Relaxed, from those of the relaxation's rows and
// variables in its units (activeset.Solution). What strong duality added to f is taken out of them again: its gradient is a combination of those of the system.
func (s *System) FromDuals(relaxed bool, z, row, bound []float64) *Multipliers {
	m := s.NoMultipliers()
	// Multipliers that are rounding beside the largest, in units in which the rows are alike, are none.
	largest := math.Max(linalg.NormInf(row), linalg.NormInf(bound))
	clean := func(part []float64) []float64 {
		out := slices.Clone(part)
		for i, v := range out {
			if math.Abs(v) <= tolerance.Feasibility*largest {
				out[i] = 0
			}
		}
		return out
	}
	row, bound = clean(row), clean(bound)
	for r, o := range s.Origin {
		v := row[r] * s.RowScale[r]
		switch o.Kind {
		case Stationarity:
			m.Adjoint[o.Index] = v
		case LowerRow:
			m.Slack[o.Index] = v
		case UpperRow:
			m.UpperRows[o.Index] = -v
		case ExtendedRow:
			m.Extended[o.Index] = -v
		case CoupledRow:
			m.Coupled[o.Index] = -v
		}
	}
	for j := range s.Nx {
		m.Bound[j] = bound[j] / s.ColScale[j]
	}
	lambda := s.Nx + s.Ny
	for i := range s.M {
		if s.P.Rows.Kind[i] == problem.AtMost { // that of an equation has no bound of its own, but that of a trust region
			m.Lambda[i] = bound[lambda+i] / s.ColScale[lambda+i]
		}
	}
	for _, p := range s.Pairs {
		if p.Slack.Var >= 0 {
			_, coef := s.P.Rows.Bound(p.Row)
			m.Slack[p.Row] = bound[p.Slack.Var] / s.ColScale[p.Slack.Var] / coef
		}
	}
	// A variable with a bound on both sides has one multiplier: it belongs to the side that holds, and where both do to that of which it is positive, as one that is biactive needs.
	slack := make([]float64, s.M)
	s.Slack(slack, nil, z)
	signs := s.SignsAt(z)
	for _, p := range s.Pairs {
		if p.Slack.Var < 0 {
			continue
		}
		if o := s.opposite(p); o >= 0 && (slack[p.Row] > slack[o] && signs.Slack[p.Row] || !signs.Slack[p.Row] && !signs.Slack[o] && m.Slack[p.Row] < 0) {
			m.Slack[p.Row] = 0
		}
	}
	if relaxed && s.Objective.Dual != nil {
		s.withoutDuality(m, s.Objective.Weights, z, slack)
		s.takeFixed(m, z)
	}
	return m
}

// Flat reports that the gradient of f is 0 at z, which no multipliers make up. What a program has for some is rounding there, beside which f has no terms: that of multiples of rows that
// strong duality adds, or of what keeps a basis from cycling.
func (s *System) Flat(z []float64) bool {
	grad := make([]float64, s.N)
	s.Gradient(grad, z)
	return !nonzero(grad)
}

// Clear sets all multipliers to 0.
func (m *Multipliers) Clear() {
	for _, part := range [][]float64{m.Adjoint, m.Slack, m.Lambda, m.Bound, m.UpperRows, m.Extended, m.Coupled} {
		clear(part)
	}
}

// Settle makes multipliers of what does not hold at z zero: those of a slack or multiplier that is positive, of a bound at which x is not, and of a row of the leader with slack. A program over a trust region
// leaves there what its edge holds of a gradient that rounding keeps from 0, which is part of the residual. Those of slacks that make the residual no less are zero, too: where f vanishes, as x^2 y does at x = 0, it has no
// terms beside which rounding would tell.
func (s *System) Settle(m *Multipliers, z []float64) {
	signs := s.SignsAt(z)
	for i := range s.M {
		if signs.Slack[i] {
			m.Slack[i] = 0
		}
		if signs.Mult[i] {
			m.Lambda[i] = 0
		}
	}
	for j, x := range s.X(z) {
		bound, hi := s.P.X.Box(j)
		if m.Bound[j] < 0 {
			bound = hi
		}
		if math.IsInf(bound, 0) || !(math.Abs(x-bound) <= tolerance.Sign*math.Max(s.ColScale[j], math.Abs(bound))) {
			m.Bound[j] = 0
		}
	}
	scaled := s.Scaled(z)
	for r, o := range s.Origin {
		at := m.UpperRows
		switch o.Kind {
		case UpperRow:
		case CoupledRow:
			at = m.Coupled
		case ExtendedRow:
			at = m.Extended
		default:
			continue
		}
		terms := s.Relaxation.A.AddTerms(math.Abs(s.Relaxation.RowHi[r]), r, scaled)
		if s.Relaxation.RowLo[r] != s.Relaxation.RowHi[r] && s.Relaxation.RowHi[r]-s.Relaxation.A.RowDot(r, scaled) > tolerance.Sign*terms {
			at[o.Index] = 0
		}
	}
	left, _ := s.left(m, z, nil, nil)
	for i, g := range m.Slack {
		if g == 0 {
			continue
		}
		with, without := 0.0, 0.0
		look := func(shift int, row *sparse.CSR, g float64) {
			for j, a := range row.Entries(i) {
				with, without = math.Max(with, s.ColScale[shift+j]*math.Abs(left[shift+j])), math.Max(without, s.ColScale[shift+j]*math.Abs(left[shift+j]+a*g))
			}
		}
		look(0, s.P.Rows.A, -g)
		look(s.Nx, s.P.Rows.B, g)
		if without <= with {
			s.P.Rows.A.AddRow(s.X(left), i, -g)
			s.P.Rows.B.AddRow(s.Y(left), i, g)
			m.Slack[i] = 0
		}
	}
}

// opposite is the row of the pair's variable at its other bound; -1 where that is no pair.
func (s *System) opposite(p Pair) int {
	for _, o := range s.Pairs {
		if o.Slack.Var == p.Slack.Var && o.Row != p.Row {
			return o.Row
		}
	}
	return -1
}

// withoutDuality turns multipliers of f with the products of weights into those of f.
func (s *System) withoutDuality(m *Multipliers, w *Weights, z, slack []float64) {
	// What the multipliers of a program solved to rounding leave of a difference that cancels is rounding.
	less := func(a *float64, b float64) {
		if c := *a - b; math.Abs(c) > tolerance.Feasibility*(math.Abs(*a)+math.Abs(b)) {
			*a = c
		} else {
			*a = 0
		}
	}
	for j, y := range s.Y(z) {
		less(&m.Adjoint[j], w.Stationarity[j]*y)
	}
	for i, l := range s.Lambda(z) {
		less(&m.Slack[i], w.Rows[i]*l)
		if s.P.Rows.Kind[i] == problem.AtMost {
			less(&m.Lambda[i], w.Rows[i]*slack[i])
		}
	}
}

// takeFixed gives what is left of f's gradient in entries of x that X fixes, whose products strong duality takes for linear, to the row or bounds that fix them.
func (s *System) takeFixed(m *Multipliers, z []float64) {
	if !slices.ContainsFunc(s.fixed, func(v float64) bool { return !math.IsNaN(v) }) {
		return
	}
	left, _ := s.left(m, z, nil, nil)
	for r, o := range s.Origin {
		if cols, vals := s.Relaxation.A.Row(r); o.Kind == UpperRow && s.P.X.Kind[o.Index] == problem.Equal && len(cols) == 1 {
			j := cols[0]
			m.UpperRows[o.Index] -= left[j] * s.ColScale[j] * s.RowScale[r] / vals[0]
			left[j] = 0
		}
	}
	for j, v := range s.fixed {
		if !math.IsNaN(v) {
			m.Bound[j] += left[j]
		}
	}
}

// Residual is how much of the gradient of f at z the multipliers leave, and the size of the largest term, both in the max norm over
// entries of x, y and lambda, each entry over its own scale (ColScale). Terms of the gradient that cancel are told from it half way to 0.
func (s *System) Residual(m *Multipliers, z []float64) (residual, size float64) {
	return s.ResidualWith(m, z, nil, nil, nil)
}

// ResidualWith is Residual with G'Adjoint and H Adjoint as they are given (len Nx and Ny), of a system that is linearized with errors, and with theirs (len Nx + Ny); nil: those of the system.
func (s *System) ResidualWith(m *Multipliers, z, gAdjoint, hAdjoint, errors []float64) (residual, size float64) {
	grad, terms := s.left(m, z, gAdjoint, hAdjoint)
	for j, e := range errors {
		grad[j] = math.Abs(grad[j]) + e
	}
	return s.inUnits(grad), s.inUnits(terms)
}

// inUnits is the largest entry of a gradient in z, each over its own scale.
func (s *System) inUnits(grad []float64) float64 {
	return each.LargestBelow(len(grad), func(j int) float64 { return math.Abs(grad[j]) * s.ColScale[j] })
}

// HypergradientError is the largest error of an entry of Hypergradient: what the multipliers leave of grad f in it, and the part of its terms that they leave of the largest of all.
func (s *System) HypergradientError(m *Multipliers, z []float64) float64 {
	grad, terms := s.left(m, z, nil, nil)
	part := tolerance.Sign
	if r := s.inUnits(grad); r > 0 {
		part += r / s.inUnits(terms)
	}
	return each.LargestBelow(s.Nx, func(j int) float64 { return math.Abs(grad[j]) + part*terms[j] })
}

// GradientTerms are the sizes of the terms of each entry of grad, the gradient of f at z: those that cancel are told from it half way to 0.
func (s *System) GradientTerms(z, grad []float64) []float64 {
	between := make([]float64, s.N)
	s.Gradient(between, each.Of(z, func(t float64) float64 { return t / 2 }))
	return each.Below(s.N, func(j int) float64 {
		terms := math.Abs(grad[j])
		if moved := 2 * math.Abs(grad[j]-between[j]); moved > terms && !math.IsInf(moved, 0) { // not where it is NaN
			return moved
		}
		return terms
	})
}

// left is what the multipliers leave of the gradient of f at z, and the largest term of each entry.
func (s *System) left(m *Multipliers, z, gAdjoint, hAdjoint []float64) (grad, terms []float64) {
	grad = make([]float64, s.N)
	s.Gradient(grad, z)
	terms = s.GradientTerms(z, grad)
	take := func(j int, v float64) {
		grad[j] -= v
		terms[j] = math.Max(terms[j], math.Abs(v))
	}
	lambda := s.Nx + s.Ny
	row := func(a *sparse.CSR, i, shift int, by float64) { // a loop of its own: a dense H has most of the entries
		if by == 0 {
			return
		}
		for c, t := range a.Entries(i) {
			v := t * by
			grad[shift+c] -= v
			terms[shift+c] = max(terms[shift+c], math.Abs(v))
		}
	}
	for j, v := range gAdjoint {
		take(j, v)
	}
	for j, v := range hAdjoint {
		take(s.Nx+j, v)
	}
	if gAdjoint == nil {
		for j, a := range m.Adjoint {
			row(s.G, j, 0, a)
			row(s.H, j, s.Nx, a)
		}
	}
	for i, g := range m.Slack {
		row(s.P.Rows.A, i, 0, -g)
		row(s.P.Rows.B, i, s.Nx, g)
		for c, v := range s.P.Rows.B.Entries(i) {
			take(lambda+i, -v*m.Adjoint[c])
		}
		take(lambda+i, m.Lambda[i])
	}
	for j, n := range m.Bound {
		take(j, n)
	}
	for r, o := range s.Origin {
		v := 0.0
		switch o.Kind {
		case UpperRow:
			v = m.UpperRows[o.Index]
		case ExtendedRow:
			v = m.Extended[o.Index]
		case CoupledRow:
			v = m.Coupled[o.Index]
		}
		if v != 0 {
			for c, a := range s.Relaxation.A.Entries(r) {
				take(c, -v*a/s.RowScale[r]/s.ColScale[c])
			}
		}
	}
	return grad, terms
}

// Hypergradient is grad F where the point lies inside one branch and no multiplier of a coupled constraint counts (len Nx): what the leader's own constraints make
// up of grad_x f - G'Adjoint + A'Slack.
func (s *System) Hypergradient(m *Multipliers) []float64 {
	out := append([]float64(nil), m.Bound...)
	for i, t := range m.UpperRows {
		s.P.X.E.AddRow(out, i, -t)
	}
	if len(m.Extended) > 0 {
		full := make([]float64, s.Nx+s.P.X.Extended.Extra())
		for i, t := range m.Extended {
			s.P.X.Extended.E.AddRow(full, i, -t)
		}
		floats.Add(out, full[:len(out)])
	}
	return out
}
