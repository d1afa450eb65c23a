// Package activeset solves convex quadratic and linear programs
//
//	minimize 1/2 z'Qz + c'z  subject to  rlo <= A z <= rhi,  lo <= z <= hi
//
// many times with other bounds or another objective, each solve starting from
// the working set of an earlier one.
//
// Rows and variables are constraints of one kind: the value of constraint k is
// z_k or A_k z, its multiplier is m_k, with Q z + c = A'm_rows + m_variables.
// An active constraint is held at one of its bounds, an inactive one has the
// multiplier 0. The working set is such that the KKT matrix of the active rows
// on the inactive variables is nonsingular, so that it determines z and the
// multipliers. A dual method (Goldfarb, Idnani 1983; for semidefinite Q Boland
// 1997; Forsgren, Gill, Wong 2016) makes violated constraints active while the
// multipliers keep their signs; a primal method, its mirror image, releases
// constraints with wrong multipliers while z stays feasible. With Q = 0 they
// are the bounded dual and primal simplex methods. Both work on the symmetric
// tableau of principal pivoting (Cottle, Dantzig 1968), which holds the
// response of every value and multiplier to every other; that of a linear program
// that is not small is not held, but computed with sparse factors of a basis
// (revised simplex method).
package activeset

import (
	"context"
	"fmt"
	"math"

	"bilevelc/internal/sparse"
)

// Program is a convex quadratic program, or a linear one. Solves fail where a
// number of it is not finite, or is not in the program's own units.
type Program struct {
	N int         // variables
	Q *sparse.CSR // N x N, symmetric, both triangles, positive semidefinite; nil for a linear program
	C []float64   // len N
	A *sparse.CSR // M x N; nil where M = 0
	Bounds
}

// Bounds are the sides of rows and variables, -Inf and +Inf where they have none.
type Bounds struct {
	RowLo, RowHi []float64 // len M
	Lo, Hi       []float64 // len N
}

// Options of a solve.
type Options struct {
	Cutoff  *float64 // stop as soon as a dual bound proves that the least value is greater; nil for no cutoff
	MaxIter int      // pivots after which the solve fails; 0 for a limit proportional to N+M
	// Sharp keeps signs and sides to what rounding leaves open of them, and not to the tolerance that also holds of programs whose numbers are themselves results.
	Sharp bool
	// Working, optional, is told of the work so far (Solution.Work), between pivots.
	Working func(work int64)
}

// A Reoptimizer solves one program many times with other bounds or another objective: a Solver, or a Condensed one.
type Reoptimizer interface {
	Solve(ctx context.Context, b *Bounds, warm *Basis, opts Options) *Solution
	SetObjective(q *sparse.CSR, c []float64)
	Forget()

	minimized() sparse.Quadratic
}

func (s *Solver) minimized() sparse.Quadratic {
	return sparse.Quadratic{Hess: s.program.Q, Lin: s.program.C}
}
func (s *Condensed) minimized() sparse.Quadratic { return s.objective }

// Status says how a solve ended.
type Status uint8

// How a solve ends: with a solution; with the proof that no point is feasible;
// with a feasible point and a direction in which the objective falls without
// end; with a dual bound beyond the cutoff; by its context; or with none of
// these, because of a limit or of rounding.
const (
	Optimal Status = iota
	Infeasible
	Unbounded
	CutOff
	Stopped
	Failed
)

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

var statusNames = [...]string{"optimal", "infeasible", "unbounded", "cut off", "stopped", "failed"}

// Solution is what a solve found. Z, Value, Row and Bound are set where it is
// Optimal; where it is CutOff they are the dual point: with Z and the
// multipliers, -1/2 Z'QZ + sum over sides (side x multiplier) > Cutoff, and
// Value is that bound; where it is Unbounded, Z is a feasible point.
type Solution struct {
	Status Status
	Z      []float64 // len N
	Value  float64
	// Multipliers: Q Z + c = A'Row + Bound; Row[i] >= 0 at RowLo, <= 0 at
	// RowHi, 0 between them; Bound[j] so with Lo and Hi.
	Row, Bound []float64 // len M, N
	// Where it is Infeasible: A'FarkasRow + FarkasBound = 0, and the sum over
	// sides, side x weight, is positive, with the lower side of a row or
	// variable where its weight is positive and the upper side where it is
	// negative. Both are nil where the sides of a single row or variable
	// contradict each other.
	FarkasRow, FarkasBound []float64
	// Where it is Unbounded: Q Ray = 0, c'Ray < 0, and Z + t Ray is feasible
	// for every t >= 0.
	Ray        []float64
	Basis      *Basis // of the last working set; to start other solves from
	Iterations int    // pivots and moves from one bound to the other
	Work       int64  // numbers that the linear algebra read or wrote
}

// Basis is a working set: the state of each row and variable. It must not be
// changed once a solve has returned it.
type Basis struct {
	Row []State `json:"row"` // len M
	Var []State `json:"var"` // len N
}

// State is that of a row or variable in a working set.
type State int8

// Not in the working set; in it at its lower or upper side, or at neither (a
// variable without sides that is held where it is).
const (
	Inactive State = iota
	AtLower
	AtUpper
	Held
)

// check refuses programs of wrong shape, and bounds that are no numbers.
func (p *Program) check() error {
	m := p.rows()
	switch {
	case p.N < 0 || len(p.C) != p.N:
		return fmt.Errorf("activeset: %d variables and a cost of length %d", p.N, len(p.C))
	case p.A != nil && p.A.Cols != p.N:
		return fmt.Errorf("activeset: rows of length %d for %d variables", p.A.Cols, p.N)
	}
	if err := checkObjective(p.N, p.Q, p.C); err != nil {
		return err
	}
	return p.Bounds.check(p.N, m)
}

func checkObjective(n int, q *sparse.CSR, c []float64) error {
	switch {
	case len(c) != n:
		return fmt.Errorf("activeset: %d variables and a cost of length %d", n, len(c))
	case q != nil && (q.Rows != n || q.Cols != n):
		return fmt.Errorf("activeset: Q is %d x %d for %d variables", q.Rows, q.Cols, n)
	}
	return nil
}

func (b *Bounds) check(n, m int) error {
	if len(b.RowLo) != m || len(b.RowHi) != m || len(b.Lo) != n || len(b.Hi) != n {
		return fmt.Errorf("activeset: bounds of lengths %d, %d, %d, %d for %d rows and %d variables",
			len(b.RowLo), len(b.RowHi), len(b.Lo), len(b.Hi), m, n)
	}
	for _, side := range [][]float64{b.RowLo, b.RowHi, b.Lo, b.Hi} {
		for _, v := range side {
			if math.IsNaN(v) {
				return fmt.Errorf("activeset: a bound is not a number")
			}
		}
	}
	return nil
}

// rows is M.
func (p *Program) rows() int {
	if p.A == nil {
		return 0
	}
	return p.A.Rows
}
