package kkt

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// NoEnd is the error of Answers and Extreme where the objective falls without end along a ray of them, from any: Ray, len N, in the model's units.
type NoEnd struct{ Ray []float64 }

func (*NoEnd) Error() string { return "the leader's objective has no end over the follower's answers" }

// Answers is the system of all that the follower may do at z's x, for package tree: its points are z's x, the follower's optimal answers y and their multipliers lambda. The set of
// such pairs is a product of two polyhedra, as any multipliers of a convex program go with any of its solutions:
//
//	{ y : s >= 0, s_i = 0 where lambda_i > 0 at z, H y = H y(z) }  x  { lambda : B'lambda = grad_y g, lambda_i >= 0, lambda_i = 0 where s_i > 0 at z },
//
// so that no pair is left to branch on (Pairs is empty). All answers are those of the follower who minimizes grad_y g'y (H and G are 0). Objective is sign times f, with the products of y and lambda that vanish on the set taken out of it; Value is still f. With
// coupled the leader's rows that read the follower hold, too.
func (s *System) Answers(ctx context.Context, z []float64, sign float64, coupled bool) (*System, error) {
	if !s.Objective.Known {
		return nil, errors.New("the leader's objective is not quadratic")
	}
	signs, relaxation := s.SignsAt(z), *s.Relaxation
	out, atX := *s, *s.P
	atX.Integer, atX.Rows = nil, s.rowsAt(z) // x is z's: there is nothing to branch on
	out.Pairs, out.Relaxation, out.P = nil, &relaxation, &atX
	var b = &relaxation.Bounds
	fix := make([]Fix, len(s.Pairs))
	for k, p := range s.Pairs {
		switch {
		case signs.Mult[p.Row]:
			fix[k] = SlackZero
		case signs.Slack[p.Row]:
			fix[k] = MultZero
		}
	}
	*b = activeset.Bounds{}
	s.Bounds(b, fix)
	for j := range z {
		if j < s.Nx || j >= s.Nx+s.Ny+s.M {
			b.Lo[j] = z[j] / s.ColScale[j]
			b.Hi[j] = b.Lo[j]
		}
	}
	relaxation.A = sparse.Empty(s.N)
	for r, o := range s.Origin {
		switch {
		case o.Kind == UpperRow || o.Kind == ExtendedRow || o.Kind == CoupledRow && !coupled:
			b.RowLo[r], b.RowHi[r] = math.Inf(-1), math.Inf(1)
			relaxation.A.EndRow()
		case o.Kind == LowerRow || o.Kind == CoupledRow:
			b.RowLo[r], b.RowHi[r] = s.rowAt(relaxation.A, r, z, s.Nx, s.Nx+s.Ny+s.M, 0, b.RowLo[r], b.RowHi[r])
		default:
			relaxation.A.AppendAll(s.Relaxation.A.Row(r))
			relaxation.A.EndRow()
		}
	}
	out.Origin, out.RowScale = slices.Clone(s.Origin), slices.Clone(s.RowScale)
	grad := slices.Clone(s.Q)
	for j := range s.Ny {
		cols, vals := s.H.Row(j)
		force := 0.0
		for t, i := range cols {
			force += vals[t] * s.Y(z)[i]
			relaxation.A.Append(s.Nx+i, vals[t]*s.RowScale[j]*s.ColScale[s.Nx+i])
		}
		grad[j] += force + s.G.RowDot(j, s.X(z))
		if len(cols) == 0 {
			continue
		}
		relaxation.A.EndRow()
		b.RowLo, b.RowHi = append(b.RowLo, force*s.RowScale[j]), append(b.RowHi, force*s.RowScale[j])
		out.Origin, out.RowScale = append(out.Origin, Origin{HeldForce, j}), append(out.RowScale, s.RowScale[j])
	}
	held := make([]bool, s.N)
	for j := range s.Nx {
		held[j] = true
	}
	out.H, out.G, out.Q = sparse.FromEntries(s.Ny, s.Ny, nil), sparse.FromEntries(s.Ny, s.Nx, nil), grad
	if out.Objective = out.objectiveAt(s.Objective, z, held, sign); out.Objective.Convex {
		return &out, nil
	}
	// What is the same in all of them is a number, and its products are linear.
	if err := out.hold(ctx, held); err != nil {
		return nil, err
	}
	out.Objective = out.objectiveAt(s.Objective, z, held, sign)
	return &out, nil
}

// Least is the point of a system of answers whose f is convex at which f is least: one convex program for each of the followers that nothing joins. Where f has no end, the status is Unbounded, z any point, and ray a
// direction along which f falls.
func (f *Follower) Least(ctx context.Context, answers *System) (z, ray []float64, status activeset.Status) {
	program := *answers.Relaxation
	program.Q, program.C = answers.ScaledObjective(answers.Objective.Relaxed())
	solver, err := apart(&program)
	if err != nil {
		return nil, nil, activeset.Failed
	}
	sol := solver.Solve(ctx, nil, nil, activeset.Options{})
	f.Work += sol.Work
	if sol.Status == activeset.Unbounded {
		ray = answers.Unscaled(sol.Ray)
		solver.SetObjective(nil, make([]float64, answers.N))
		sol = solver.Solve(ctx, nil, nil, activeset.Options{})
		f.Work += sol.Work
	}
	switch {
	case sol.Status != activeset.Optimal:
		return nil, nil, sol.Status
	case ray != nil:
		return answers.Unscaled(sol.Z), ray, activeset.Unbounded
	}
	return answers.Unscaled(sol.Z), nil, sol.Status
}

// hold marks the variables in products of the objective that take one value on the relaxation, to the accuracy of its programs. Where one has no end the objective may curve down along the ray to it: a NoEnd.
// Those that differ at two points take several. A weighted sum of the others is greatest and least at two points where it is the same only if each of them takes one value, for all weights but those of a set of measure zero; where all of
// them are at bounds, and it grows with the distance from these, its greatest value tells alone.
func (s *System) hold(ctx context.Context, held []bool) (err error) {
	defer must.Catch(&err)
	program := *s.Relaxation
	program.Q = nil
	solver := must.Get(activeset.New(&program))
	var at *activeset.Basis // the programs differ in their objectives alone
	var open []int          // of the products, those that have taken one value so far
	for j := range s.N {
		if _, vals := s.Objective.Hess.Row(j); !held[j] && nonzero(vals) {
			open = append(open, j)
		}
	}
	all := slices.Clone(open)
	lo, hi := program.Lo, program.Hi
	least, most, several := make([]float64, s.N), make([]float64, s.N), make([]bool, s.N)
	for j := range least {
		least[j], most[j] = math.Inf(1), math.Inf(-1)
	}
	// maximize reports whether c has a greatest value, and notes the point; where it has none no entry of the ray takes one value, and where that is not known none of c is said to.
	maximize := func(c []float64) bool {
		for j := range c {
			c[j] = -c[j]
		}
		solver.SetObjective(nil, c)
		sol := solver.Solve(ctx, nil, at, activeset.Options{})
		at = sol.Basis
		if sol.Status == activeset.Unbounded {
			ray := s.Unscaled(sol.Ray)
			if s.curvesDown(ray) {
				must.Do(error(&NoEnd{ray}))
			}
		}
		for j := range several {
			switch sol.Status {
			case activeset.Optimal:
				least[j], most[j] = math.Min(least[j], sol.Z[j]), math.Max(most[j], sol.Z[j])
				several[j] = several[j] || most[j]-least[j] > tolerance.Sign*math.Max(1, math.Abs(least[j]))
			case activeset.Unbounded:
				several[j] = several[j] || sol.Ray[j] != 0
			default:
				several[j] = several[j] || c[j] != 0
			}
		}
		open = slices.DeleteFunc(open, func(j int) bool { return several[j] })
		return sol.Status == activeset.Optimal
	}
	axis := func(sign float64, list ...int) []float64 {
		c := make([]float64, s.N)
		for _, j := range list {
			c[j] = sign
		}
		return c
	}
	rng := rand.New(rand.NewPCG(uint64(s.N), uint64(len(open))))
	for known := false; len(open) > 0 && ctx.Err() == nil; known = true {
		before, bounds := len(open), known
		c := make([]float64, s.N)
		for _, j := range open {
			c[j] = 0.5 + rng.Float64()/2
			switch {
			case known && least[j] <= lo[j]:
			case known && most[j] >= hi[j]:
				c[j] = -c[j]
			default:
				bounds = false
				if rng.IntN(2) == 0 {
					c[j] = -c[j]
				}
			}
		}
		other := slices.Clone(c)
		floats.Scale(-1, other)
		maximize(c)
		if !bounds && len(open) == before {
			maximize(other)
		}
		if known && len(open) == before {
			break
		}
	}
	for _, j := range open {
		held[j] = true
	}
	// Of the others, whether they have ends: all at once where each has one of its own.
	up := slices.DeleteFunc(slices.Clone(all), func(j int) bool { return held[j] || !math.IsInf(hi[j], 1) })
	down := slices.DeleteFunc(slices.Clone(all), func(j int) bool { return held[j] || !math.IsInf(lo[j], -1) })
	c := axis(1, up...)
	floats.Sub(c, axis(1, down...))
	if ctx.Err() != nil || len(up)+len(down) == 0 || !slices.ContainsFunc(up, func(j int) bool { return slices.Contains(down, j) }) && maximize(c) {
		return ctx.Err()
	}
	for k, list := range [][]int{up, down} {
		for _, j := range list {
			maximize(axis(float64(1-2*k), j))
		}
	}
	return ctx.Err()
}

// curvesDown reports that the objective's curvature along d is negative by more than rounding of its terms.
func (s *System) curvesDown(d []float64) bool {
	curvature, terms := 0.0, 0.0
	for i, t := range d {
		curvature += t * s.Objective.Hess.RowDot(i, d)
		terms += math.Abs(t) * s.Objective.Hess.AddTerms(0, i, d)
	}
	return curvature < -tolerance.Sign*terms
}

// objectiveAt is sign times f with the held variables at z, x among them, and what strong duality takes out of it where s is the follower's system at this x.
func (s *System) objectiveAt(f *Objective, z []float64, held []bool, sign float64) *Objective {
	q := &sparse.Quadratic{Lin: make([]float64, s.N), Const: sign * f.Const}
	fixed := slices.Repeat([]float64{math.NaN()}, s.N)
	for j, c := range f.Lin {
		if held[j] {
			fixed[j] = z[j]
			q.Const += sign * c * z[j]
		} else {
			q.Lin[j] = sign * c
		}
	}
	if f.Hess != nil {
		q.Hess = f.Hess.Clone()
		floats.Scale(sign, q.Hess.Val)
		if q = settle(q, fixed); q.Hess.NNZ() == 0 {
			q.Hess = nil
		}
	}
	o := &Objective{Known: true, Quadratic: *q}
	s.convexify(o)
	return o
}

// rowsAt are the rows of the lower level with z's x in the place of their terms in it.
func (s *System) rowsAt(z []float64) *problem.Rows {
	rows := *s.P.Rows
	rows.Rhs = make([]float64, s.M)
	for i, v := range s.P.Rows.Rhs {
		rows.Rhs[i] = v - s.P.Rows.A.RowDot(i, s.X(z))
	}
	rows.A = sparse.FromEntries(s.M, s.Nx, nil)
	return &rows
}
