package kkt

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Limits are bounds of the slack and of the multiplier of each pair that hold at all points of the system (model's units): constants for those who take pairs as binary variables only.
type Limits struct{ Slack, Mult []float64 }

// NoLimit is a row of the lower level for which there are none, and why, in words.
type NoLimit struct {
	Row int
	Why string
}

// Limits finds them for each block of the follower's variables. An affine map y(x) with slacks of at least t_i > 0 for all x of their box (Slater's condition) bounds the multipliers:
// at an answer y* with multipliers lambda
//
//	lambda's(y) = lambda'B(y - y*) = grad g(y*)'(y - y*) = -grad g(y)'(y* - y) - (y* - y)'H(y* - y) <= theta,
//
// with theta from the box of y or from m_j > 0 such that H - diag(m) is positive semidefinite: theta = r^2/4, r^2 the sum of (grad g(y))_j^2/m_j, which bounds y* as well, |y*_j - y_j| <= r/sqrt(m_j). So lambda_i <= theta/t_i. Linear programs over the relaxation within these bounds
// tighten them.
func (s *System) Limits(ctx context.Context) (limits *Limits, no *NoLimit, err error) {
	defer must.Catch(&err)
	l := &limiter{s: s, ctx: ctx, program: *s.Relaxation, blame: true}
	l.program.Q, l.program.C = nil, make([]float64, s.N)
	l.program.Lo, l.program.Hi = append([]float64(nil), s.Relaxation.Lo...), append([]float64(nil), s.Relaxation.Hi...)
	l.variables()
	for i, kind := range s.P.Rows.Kind {
		if kind == problem.AtMost && s.partOf(i) < 0 {
			return nil, &NoLimit{i, "which reads none of the follower's variables, the multiplier has no bound"}, nil
		}
	}
	for _, p := range s.blocks {
		if _, no := l.multipliers(p); no != nil {
			return nil, no, nil
		}
	}
	limits, no = l.pairs()
	return limits, no, nil
}

// limiter finds limits: program is the relaxation, within the bounds that are known so far.
type limiter struct {
	s       *System
	ctx     context.Context
	program activeset.Program
	work    int64
	blame   bool // rows are named
	edges   bool // maps may be on the edge of constraints
}

// most is the largest value of a linear form over the program, in its units; +Inf where none is known.
func (l *limiter) most(solver *activeset.Solver, form func(cost []float64)) float64 {
	if l.work > 2*tolerance.Second {
		return math.Inf(1)
	}
	cost := make([]float64, l.s.N)
	form(cost)
	floats.Scale(-1, cost)
	solver.SetObjective(nil, cost)
	sol := solver.Solve(l.ctx, nil, nil, activeset.Options{})
	l.work += sol.Work
	switch sol.Status {
	case activeset.Optimal:
		return outward(-sol.Value)
	case activeset.Stopped:
		must.Do(l.ctx.Err())
	}
	return math.Inf(1)
}

// outward is v with a margin for the accuracy of linear programs.
func outward(v float64) float64 { return v + 1e3*tolerance.Sign*math.Max(1, math.Abs(v)) }

// variables finds ends of the ranges of x and y where they have none.
func (l *limiter) variables() {
	solver := must.Get(activeset.New(&l.program))
	for j := range l.s.Nx + l.s.Ny {
		for side, sign := range [2]float64{-1, 1} {
			end := [2]*float64{&l.program.Lo[j], &l.program.Hi[j]}[side]
			if math.IsInf(*end, 0) {
				*end = sign * l.most(solver, func(cost []float64) { cost[j] = sign })
			}
		}
	}
}

// box is the range of variable j in the model's units.
func (l *limiter) box(j int) (lo, hi float64) {
	return l.program.Lo[j] * l.s.ColScale[j], l.program.Hi[j] * l.s.ColScale[j]
}

// pairs tightens what is known of each by linear programs over the relaxation.
func (l *limiter) pairs() (*Limits, *NoLimit) {
	s, out := l.s, &Limits{}
	solver := must.Get(activeset.New(&l.program))
	side := func(d Side) float64 {
		var most, scale float64
		if d.Row >= 0 {
			scale = 1 / s.RowScale[d.Row]
			most = -s.Relaxation.RowLo[d.Row]
			for j, v := range s.Relaxation.A.Entries(d.Row) {
				most += math.Max(v*l.program.Lo[j], v*l.program.Hi[j])
			}
		} else {
			scale = s.ColScale[d.Var]
			most = l.program.Hi[d.Var] - l.program.Lo[d.Var]
		}
		v := l.most(solver, func(cost []float64) {
			switch {
			case d.Row >= 0:
				s.Relaxation.A.AddRow(cost, d.Row, 1)
			case d.Upper:
				cost[d.Var] = -1
			default:
				cost[d.Var] = 1
			}
		})
		switch {
		case d.Row >= 0:
			v -= s.Relaxation.RowLo[d.Row]
		case d.Upper:
			v += s.Relaxation.Hi[d.Var]
		default:
			v -= s.Relaxation.Lo[d.Var]
		}
		return math.Max(0, outward(math.Min(most, v))) * scale
	}
	for _, p := range s.Pairs {
		slack, mult := side(p.Slack), side(p.Mult)
		if math.IsInf(slack, 0) || math.IsNaN(slack) {
			return nil, &NoLimit{p.Row, "its slack has no bound"}
		}
		out.Slack, out.Mult = append(out.Slack, slack), append(out.Mult, mult)
	}
	return out, nil
}
