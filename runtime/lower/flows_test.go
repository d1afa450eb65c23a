package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// flows is a random flow over arcs of limited capacity at costs c + x. The rows of
// its nodes are dependent, and at those that no flow visits every bound of an arc holds:
// multipliers are far from unique there.
func flows(rng *rand.Rand, nodes, arcs int) *problem.Problem {
	g := &coupled{c: make([]float64, arcs), grad: make([]float64, arcs)}
	h, cross := make([]float64, arcs*arcs), make([]float64, arcs*arcs)
	rows := &problem.Rows{}
	var b []sparse.Entry
	add := func(kind problem.Kind, rhs float64) int {
		rows.Kind, rows.Name, rows.Rhs = append(rows.Kind, kind), append(rows.Name, ""), append(rows.Rhs, rhs)
		return len(rows.Kind) - 1
	}
	supply := 3000 * rng.Float64()
	for k := range nodes {
		rhs := 0.0 // inc y = supply, as -inc y - rhs = 0
		switch k {
		case 0:
			rhs = supply
		case 1:
			rhs = -supply
		}
		add(problem.Equal, rhs)
	}
	for a := range arcs {
		h[a*arcs+a], cross[a*arcs+a] = 0.01, 1
		from, to := 0, 1
		g.c[a] = 5 + 25*rng.Float64()
		if a == 0 {
			g.c[a] = 200 // there is always a way
		} else {
			from = rng.IntN(nodes)
			to = (from + 1 + rng.IntN(nodes-1)) % nodes
		}
		b = append(b, sparse.Entry{Row: from, Col: a, Val: -1}, sparse.Entry{Row: to, Col: a, Val: 1})
		b = append(b, sparse.Entry{Row: add(problem.AtMost, 0), Col: a, Val: 1})
		capacity := 100 + 900*rng.Float64()
		if a == 0 {
			capacity = 5000
		}
		b = append(b, sparse.Entry{Row: add(problem.AtMost, capacity), Col: a, Val: -1})
	}
	m := len(rows.Kind)
	rows.A, rows.B = sparse.FromEntries(m, arcs, nil), sparse.FromEntries(m, arcs, b)
	g.h, g.p = sparse.FromDense(arcs, arcs, h), sparse.FromDense(arcs, arcs, cross)
	facts := problem.Facts{StrongConvexity: 0.01, QuadraticInY: true, FixedHessian: true, HessianPattern: g.h}
	return &problem.Problem{Dx: arcs, Dy: arcs, F: zero{}, G: g, Rows: rows, X: unbounded(arcs), Facts: facts}
}

// The multipliers of a flow are those of a minimizer wherever prices have led, rows that
// depend on each other or not, and one that the others contradict is told.
func TestFlowsHaveMultipliers(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 11))
		nodes := 20 + rng.IntN(20)
		p := flows(rng, nodes, 5*nodes+rng.IntN(5*nodes))
		solver := newSparse(defaultSparse(), 1)
		x := make([]float64, p.Dx)
		var warm *Solution
		for step := range 12 {
			x[rng.IntN(p.Dx)] += 20 * rng.Float64()
			s := solver.Solve(context.Background(), p, G(p, x), x, warm)
			if s.Status != Solved {
				t.Fatalf("seed %d, step %d: %v (%s)", seed, step, s.Status, s.Reason)
			}
			rest, h := make([]float64, p.Dy), make([]float64, p.Rows.Len())
			p.G.GradY(rest, x, s.Y)
			p.Rows.B.AddMulVecT(rest, -1, s.Lambda)
			p.Rows.Residual(h, x, s.Y)
			if off := linalg.NormInf(rest); off > 1e-9*200 {
				t.Fatalf("seed %d, step %d: the multipliers leave %g of the gradient", seed, step, off)
			}
			for i, v := range h {
				if p.Rows.Kind[i] == problem.Equal {
					v = math.Abs(v)
				} else if s.Lambda[i] < 0 || s.Lambda[i]*v < -1e-6 {
					t.Fatalf("seed %d, step %d: row %d has the multiplier %g at a slack of %g", seed, step, i, s.Lambda[i], -v)
				}
				if v > 1e-9*3000 {
					t.Fatalf("seed %d, step %d: row %d is violated by %g", seed, step, i, v)
				}
			}
			warm = s
		}
		p.Rows.Rhs[rng.IntN(nodes)] += 1
		if s := solver.Solve(context.Background(), p, G(p, x), x, warm); s.Status != Dependent || !qp.Refuted(p.Rows, x, s.Witness) {
			t.Fatalf("seed %d: %v (%s) where more flows in than out", seed, s.Status, s.Reason)
		}
	}
}
