package lower

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/exact"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// system is B y >= A x - b in integers, whose truth rational arithmetic knows,
// and the factors that it is written with.
type system struct {
	dx, n        int
	a, b         [][]float64
	rhs          []float64 // of A x - B y <= rhs
	equal        map[int]bool
	x            []float64
	rowUnit      []float64 // factor of each row
	xUnit, yUnit float64
}

func (s *system) add(a, b []float64, rhs float64, equal bool) {
	if equal {
		s.equal[len(s.rhs)] = true
	}
	s.a, s.b, s.rhs = append(s.a, a), append(s.b, b), append(s.rhs, rhs)
	s.rowUnit = append(s.rowUnit, 1)
}

// row is a constraint on y alone: b y >= r.
func (s *system) row(b []float64, r float64, equal bool) { s.add(make([]float64, s.dx), b, -r, equal) }

// entry is c times the j-th unit vector.
func entry(n, j int, c float64) []float64 {
	v := make([]float64, n)
	v[j] = c
	return v
}

// feasible is the truth, at x.
func (s *system) feasible() bool {
	program := &exact.LP{N: s.n}
	for i, b := range s.b {
		side := s.rhs[i]
		for j, c := range s.a[i] {
			side -= c * s.x[j] // of integers and halves: exact
		}
		coef := make([]float64, s.n)
		for j, c := range b {
			coef[j] = -c
		}
		program.Add(exact.Doubles(coef), exact.Doubles([]float64{side})[0], s.equal[i])
	}
	outcome, _, _ := program.Minimize(nil)
	return outcome == exact.Optimal
}

// problem is the system in its units, with g = 1/2 |y - c|^2 in those of y.
func (s *system) problem(rng *rand.Rand) *problem.Problem {
	m := len(s.rhs)
	var b, a, r []float64
	kind := make([]problem.Kind, m)
	for i := range s.rhs {
		u := s.rowUnit[i]
		for _, c := range s.a[i] {
			a = append(a, c*u/s.xUnit)
		}
		for _, c := range s.b[i] {
			b = append(b, c*u/s.yUnit)
		}
		r = append(r, s.rhs[i]*u)
		if s.equal[i] {
			kind[i] = problem.Equal
		}
	}
	q, c := make([]float64, s.n*s.n), make([]float64, s.n)
	for j := range c {
		q[j*s.n+j] = 1
		c[j] = float64(rng.IntN(9)-4) * s.yUnit
	}
	rows := &problem.Rows{Kind: kind, A: sparse.FromDense(m, s.dx, a), B: sparse.FromDense(m, s.n, b), Rhs: r, Name: make([]string, m)}
	return &problem.Problem{Dx: s.dx, Dy: s.n, F: zero{}, G: newQuadratic(s.dx, s.n, q, make([]float64, s.dx*s.n), c), Rows: rows,
		X: unbounded(s.dx), Facts: problem.Facts{QuadraticInY: true, FixedHessian: true, StrongConvexity: 1}}
}

// network is a flow network with integer supplies of which some arcs are closed.
// Its balances add up to nothing, so that one of them is redundant.
func network(rng *rand.Rand) *system {
	nodes := 3 + rng.IntN(4)
	var from, to []int
	for v := 1; v < nodes; v++ { // a path, and more arcs
		from, to = append(from, v-1), append(to, v)
	}
	for range rng.IntN(2 * nodes) {
		u, v := rng.IntN(nodes), rng.IntN(nodes)
		if u != v {
			from, to = append(from, u), append(to, v)
		}
	}
	n := len(from)
	s := &system{dx: 1, n: n, equal: map[int]bool{}, x: []float64{float64(rng.IntN(5)) / 2}}
	// x more units go from the first node to the last.
	supply := make([]float64, nodes)
	for range 1 + rng.IntN(2) {
		amount := float64(rng.IntN(5))
		supply[rng.IntN(nodes)] += amount
		supply[rng.IntN(nodes)] -= amount
	}
	for v := range nodes {
		row := make([]float64, n)
		for e := range n {
			if from[e] == v {
				row[e]++
			}
			if to[e] == v {
				row[e]--
			}
		}
		x := 0.0
		if v == 0 {
			x = 1
		} else if v == nodes-1 {
			x = -1
		}
		s.add([]float64{x}, row, -supply[v], true)
	}
	for e := range n {
		s.row(entry(n, e, 1), 0, false)
		switch rng.IntN(4) {
		case 0:
			s.row(entry(n, e, -1), 0, false) // closed
		case 1:
			s.row(entry(n, e, -1), -float64(1+rng.IntN(6)), false)
		case 2:
			if rng.IntN(3) == 0 {
				s.row(entry(n, e, 1), 0, true)
			}
		}
	}
	return s
}

// assorted has boxes, some of zero width, rows that depend on each other and
// rows through x, some of which do not read y.
func assorted(rng *rand.Rand) *system {
	s := &system{dx: 1 + rng.IntN(2), n: 1 + rng.IntN(4), equal: map[int]bool{}}
	small := func(n int) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = float64(rng.IntN(5) - 2)
		}
		return v
	}
	s.x = small(s.dx)
	for j := range s.x {
		s.x[j] /= 2
	}
	for j := range s.n {
		if rng.IntN(2) == 0 {
			lo, width := float64(rng.IntN(3)-1), float64(rng.IntN(3))
			s.row(entry(s.n, j, 1), lo, false)
			s.row(entry(s.n, j, -1), -lo-width, false)
		}
	}
	for range rng.IntN(6) {
		b := small(s.n)
		if rng.IntN(6) == 0 {
			clear(b)
		}
		s.add(small(s.dx), b, float64(rng.IntN(7)-2), rng.IntN(4) == 0)
	}
	for range rng.IntN(4) { // combinations of two rows, sometimes moved
		if len(s.rhs) < 2 {
			break
		}
		k, l := rng.IntN(len(s.rhs)), rng.IntN(len(s.rhs))
		p, q := float64(1+rng.IntN(3)), float64(rng.IntN(3))
		if s.equal[k] && s.equal[l] && rng.IntN(2) == 0 {
			p = -p
		}
		combine := func(u, v []float64) []float64 {
			w := make([]float64, len(u))
			for j := range w {
				w[j] = p*u[j] + q*v[j]
			}
			return w
		}
		move := 0.0
		if rng.IntN(4) == 0 {
			move = float64(rng.IntN(3) - 1)
		}
		s.add(combine(s.a[k], s.a[l]), combine(s.b[k], s.b[l]), p*s.rhs[k]+q*s.rhs[l]+move, s.equal[k] && s.equal[l])
	}
	return s
}

// TestVerdictsOnFeasibility decides thousands of integer systems, degenerate on
// purpose, written in units of powers of ten, and compares with the rational
// simplex method: no system that has a point is called infeasible, none without
// one solved, and none is left undecided.
func TestVerdictsOnFeasibility(t *testing.T) {
	count := map[string]int{}
	const trials = 3000
	for seed := uint64(0); seed < trials; seed++ {
		rng := rand.New(rand.NewPCG(seed, 31))
		s, family := assorted(rng), "assorted"
		if seed%2 == 0 {
			s, family = network(rng), "network"
		}
		s.xUnit, s.yUnit = math.Pow(10, float64(rng.IntN(17)-8)), math.Pow(10, float64(rng.IntN(17)-8))
		if rng.IntN(3) == 0 {
			s.xUnit, s.yUnit = 1, 1
		}
		for i := range s.rowUnit {
			s.rowUnit[i] = math.Pow(10, float64(rng.IntN(17)-8))
		}
		truth := s.feasible()
		p := s.problem(rng)
		x := make([]float64, s.dx)
		for j := range x {
			x[j] = s.x[j] * s.xUnit
		}
		for name, solver := range map[string]Solver{"alm": newALM(defaultALM()), "quadratic": newQuadraticSolver(defaultQuadratic())} {
			got := solver.Solve(context.Background(), p, G(p, x), x, nil)
			count[fmt.Sprintf("%s, feasible %v: %v", family, truth, got.Status)]++
			ok := got.Status == Solved
			if !truth {
				ok = got.Status == Infeasible || got.Status == Dependent
			}
			if !ok {
				t.Errorf("seed %d, %s by %s, feasible %v: %v: %s, y %v", seed, family, name, truth, got.Status, got.Reason, got.Y)
				continue
			}
			if truth {
				if i, off := s.worst(got.Y); off > 1e-9 {
					t.Errorf("seed %d, %s by %s: row %d is violated by %g: y %v", seed, family, name, i, off, got.Y)
				}
			}
		}
	}
	t.Log(count)
}

// worst is the row that y violates most, in the integer system.
func (s *system) worst(y []float64) (row int, off float64) {
	for i, b := range s.b {
		h := -s.rhs[i]
		for j, c := range s.a[i] {
			h += c * s.x[j]
		}
		for j, c := range b {
			h -= c * y[j] / s.yUnit
		}
		if s.equal[i] {
			h = math.Abs(h)
		}
		if h > off {
			row, off = i, h
		}
	}
	return row, off
}
