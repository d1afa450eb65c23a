package kkt

import (
	"context"
	"errors"
	"math"
	"slices"

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
// so that no pair is left to branch on (Pairs is empty). Objective is sign times f, with the products of y and lambda that vanish on the set taken out of it; Value is still f. With
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
	if out.Objective = s.objectiveAt(z, held, sign, grad); out.Objective.Convex {
		return &out, nil
	}
	// What is the same in all of them is a number, and its products are linear.
	if err := out.hold(ctx, held); err != nil {
		return nil, err
	}
	out.Objective = s.objectiveAt(z, held, sign, grad)
	return &out, nil
}

// hold marks the variables in products of the objective that take one value on the relaxation, to the accuracy of its programs. Where one has no end the objective may curve down along the ray to it: a NoEnd.
func (s *System) hold(ctx context.Context, held []bool) (err error) {
	defer must.Catch(&err)
	program := *s.Relaxation
	program.Q = nil
	solver := must.Get(activeset.New(&program))
	var at *activeset.Basis // the programs differ in their objectives alone
	for j := range s.N {
		if _, vals := s.Objective.Hess.Row(j); held[j] || !nonzero(vals) {
			continue
		}
		c, ends, finite := make([]float64, s.N), [2]float64{}, true
		for k, sign := range [2]float64{1, -1} {
			c[j] = sign
			solver.SetObjective(nil, c)
			sol := solver.Solve(ctx, nil, at, activeset.Options{})
			if at = sol.Basis; sol.Status != activeset.Optimal {
				if sol.Status == activeset.Unbounded {
					if ray := s.Unscaled(sol.Ray); s.curvesDown(ray) {
						return &NoEnd{ray}
					}
				}
				finite = false
				break
			}
			ends[k] = sol.Z[j]
		}
		held[j] = finite && ends[1]-ends[0] <= tolerance.Sign*math.Max(1, math.Abs(ends[0]))
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

// objectiveAt is sign times f with the held variables at z, x among them, and what strong duality takes out of it where the forces on y are those of grad, whichever of its answers the follower gives.
func (s *System) objectiveAt(z []float64, held []bool, sign float64, grad []float64) *Objective {
	o := &Objective{Known: true, Quadratic: sparse.Quadratic{Lin: make([]float64, s.N), Const: sign * s.Objective.Const}}
	for j, c := range s.Objective.Lin {
		if held[j] {
			o.Const += sign * c * z[j]
		} else {
			o.Lin[j] = sign * c
		}
	}
	if hess := s.Objective.Hess; hess != nil {
		entries := []sparse.Entry{}
		for i := range s.N {
			for j, a := range hess.Entries(i) {
				v := sign * a
				switch {
				case held[i] && held[j]:
					o.Const += 0.5 * v * z[i] * z[j]
				case held[j]:
					o.Lin[i] += v * z[j]
				case !held[i]:
					entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
				}
			}
		}
		if len(entries) > 0 {
			o.Hess = sparse.FromEntries(s.N, s.N, entries)
		}
	}
	// The system at this x, where the follower minimizes grad'y.
	p := *s.P
	p.Rows = s.rowsAt(z)
	at := &System{P: &p, Nx: s.Nx, Ny: s.Ny, M: s.M, N: s.N, H: sparse.FromEntries(s.Ny, s.Ny, nil), G: sparse.FromEntries(s.Ny, s.Nx, nil), Q: grad}
	at.convexify(o)
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
