package lower

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// TestRandomIntegerProblems solves many small problems with small integer
// data, where vertices are degenerate, rows repeat and multipliers vanish, and
// checks the Karush-Kuhn-Tucker conditions or the witness of every outcome
// with code of its own.
func TestRandomIntegerProblems(t *testing.T) {
	count := map[Status]int{}
	for seed := uint64(0); seed < 1000; seed++ {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 1 + rng.IntN(6)
		m := rng.IntN(12)
		q := make([]float64, n*n)
		for k := rng.IntN(2 * n); k >= 0; k-- { // rank at most k: often singular
			row := make([]float64, n)
			for j := range row {
				row[j] = float64(rng.IntN(5) - 2)
			}
			for i, u := range row {
				linalg.Axpy(q[i*n:(i+1)*n], u, row)
			}
		}
		definite := rng.IntN(3) > 0
		if definite {
			for i := 0; i < n; i++ {
				q[i*n+i]++
			}
		}
		var b [][]float64
		var r []float64
		equal := map[int]bool{}
		for i := 0; i < m; i++ {
			row := make([]float64, n)
			if rng.IntN(2) == 0 {
				row[rng.IntN(n)] = float64(1 - 2*rng.IntN(2))
			} else {
				for j := range row {
					row[j] = float64(rng.IntN(5) - 2)
				}
			}
			b, r = append(b, row), append(r, float64(rng.IntN(7)-4))
			equal[i] = rng.IntN(8) == 0
		}
		c := make([]float64, n)
		for j := range c {
			c[j] = float64(rng.IntN(11) - 5)
		}
		p := small(q, c, b, r, equal)
		if definite {
			p.Facts.StrongConvexity = 1
		}
		forced := defaultALM()
		forced.Corrections = 0
		for name, run := range map[string]func() *Solution{
			"alm":       func() *Solution { return solve(newALM(defaultALM()), p, G(p, nil)) },
			"quadratic": func() *Solution { return solve(newQuadraticSolver(defaultQuadratic()), p, G(p, nil)) },
			"alm that identifies by the augmented Lagrangian": func() *Solution { return solve(newALM(forced), p, G(p, nil)) },
			"alm on an objective of unknown curvature":        func() *Solution { return solve(newALM(defaultALM()), p, plain{G(p, nil)}) },
			"alm from an unrelated warm start": func() *Solution {
				warm := &Solution{Y: normal(rng, n), Lambda: normal(rng, m)}
				for i := 0; i < m; i += 2 {
					warm.Active = append(warm.Active, i)
				}
				return newALM(defaultALM()).Solve(context.Background(), p, G(p, nil), []float64{}, warm)
			},
		} {
			s := run()
			count[s.Status]++
			if err := examine(q, c, b, r, equal, s); err != nil {
				t.Errorf("seed %d, %s: %v: %s: %v", seed, name, s.Status, s.Reason, err)
			}
		}
	}
	t.Log(count)
}

// plain hides what is known of an objective.
type plain struct{ Objective }

func solve(solver Solver, p *problem.Problem, obj Objective) *Solution {
	return solver.Solve(context.Background(), p, obj, []float64{}, nil)
}

// examine checks a solution or a witness with dense arithmetic.
func examine(q, c []float64, b [][]float64, r []float64, equal map[int]bool, s *Solution) error {
	n := len(c)
	const tol = 1e-8 // data are integers up to 50 and the problems have at most 6 entries
	switch s.Status {
	case Solved:
		for i := 0; i < n; i++ {
			g := c[i] + dotProduct(q[i*n:(i+1)*n], s.Y)
			for k, row := range b {
				g -= row[i] * s.Lambda[k]
			}
			if math.Abs(g) > tol {
				return fmt.Errorf("stationarity %g", g)
			}
		}
		for k, row := range b {
			slack := dotProduct(row, s.Y) - r[k]
			if slack < -tol || (equal[k] && slack > tol) {
				return fmt.Errorf("row %d: slack %g", k, slack)
			}
			if !equal[k] && (s.Lambda[k] < 0 || math.Abs(s.Lambda[k]*slack) > tol) {
				return fmt.Errorf("row %d: multiplier %g, slack %g", k, s.Lambda[k], slack)
			}
		}
	case Infeasible, Dependent:
		value := 0.0
		pull := make([]float64, n)
		for k, w := range s.Witness {
			linalg.Axpy(pull, w, b[k])
			value += w * r[k]
			if s.Status == Infeasible && !equal[k] && w < 0 {
				return fmt.Errorf("negative witness %v", s.Witness)
			}
			if s.Status == Dependent && !equal[k] && w != 0 {
				return fmt.Errorf("witness on an inequality %v", s.Witness)
			}
		}
		if linalg.NormInf(pull) > tol || math.Abs(value) < tol || (s.Status == Infeasible && value < 0) {
			return fmt.Errorf("witness %v: B'w %v, r'w %g", s.Witness, pull, value)
		}
	case Unbounded:
		// A direction of the recession cone along which g falls linearly.
		d := s.Witness
		for i := 0; i < n; i++ {
			if math.Abs(dotProduct(q[i*n:(i+1)*n], d)) > tol*linalg.NormInf(d) {
				return fmt.Errorf("curvature along %v", d)
			}
		}
		if dotProduct(c, d) >= -tol*linalg.NormInf(d) {
			return fmt.Errorf("slope %g along %v", dotProduct(c, d), d)
		}
		for k, row := range b {
			v := dotProduct(row, d)
			if v < -tol*linalg.NormInf(d) || (equal[k] && v > tol*linalg.NormInf(d)) {
				return fmt.Errorf("row %d is left along %v", k, d)
			}
		}
	default:
		return fmt.Errorf("not an outcome of a well posed problem: %+v", s.Residuals)
	}
	return nil
}
