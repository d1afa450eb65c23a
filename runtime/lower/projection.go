package lower

import (
	"errors"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// projection finds the nearest feasible point, or a proof that there is none,
// by a dual active-set quadratic program. It costs no oracle calls.
type projection struct {
	poly        *polyhedron
	rows        *problem.Rows // whose structure is built
	n           int
	general     []int      // the rows that are not bounds and involve y
	program     qp.Problem // whose rows are made when it is first solved
	ws          qp.Workspace
	warm        []int // numbers of the guessed constraints
	entryBounds       // lo and hi are the program's
	where       []int // len m: number of the row's constraint in the program, or -1
}

// set points the projection at a polyhedron, whose right-hand sides are read.
func (g *projection) set(q *polyhedron) {
	g.poly = q
	if g.rows != q.rows || g.n != q.n {
		g.structure(q)
	}
	for k, i := range g.general {
		g.program.B[k], g.program.Terms[k] = -q.rhs[i]/q.norm[i], q.size[i]
	}
	g.read(q, true)
	clear(g.program.BoundTerms)
	for j := range g.loRow {
		for _, i := range []int{g.loRow[j], g.hiRow[j]} {
			if i >= 0 {
				g.program.BoundTerms[j] = math.Max(g.program.BoundTerms[j], q.size[i])
			}
		}
	}
}

func (g *projection) structure(q *polyhedron) {
	g.rows, g.n = q.rows, q.n
	g.general = make([]int, 0, q.m)
	for i := 0; i < q.m; i++ {
		if q.bound[i] >= 0 || q.norm[i] == 0 {
			continue
		}
		g.general = append(g.general, i)
	}
	k := len(g.general)
	equal := each.Of(g.general, q.equal)
	g.program = qp.Problem{Equal: equal}
	room(k, &g.program.B, &g.program.Terms)
	room(q.n, &g.program.BoundTerms, &g.program.Lo, &g.program.Hi)
	of := make([]int, 2*q.n)
	g.entryBounds = entryBounds{g.program.Lo, g.program.Hi, of[:q.n:q.n], of[q.n:]}
	g.where = slices.Repeat([]int{-1}, q.m)
	for t, i := range g.general {
		g.where[i] = t
	}
}

// rowsMade makes the rows of the program, those of B at length 1, and its identity, where that is not done.
func (g *projection) rowsMade() {
	if g.program.A != nil {
		return
	}
	g.program.H, g.program.C, g.program.A = qp.Identity(g.n), make([]float64, g.n), sparse.WithRoom(g.n, len(g.general), g.rows.B.NNZ())
	for _, i := range g.general {
		cols, vals := g.rows.B.Row(i)
		g.program.A.AppendScaled(cols, 0, vals, -1, g.poly.norm[i])
		g.program.A.EndRow()
	}
}

// number is the program's constraint that stands for row i, or -1.
func (g *projection) number(i int) int {
	j := g.poly.bound[i]
	switch {
	case j < 0:
		return g.where[i]
	case g.loRow[j] == i:
		return len(g.general) + j
	case g.hiRow[j] == i:
		return len(g.general) + g.poly.n + j
	}
	return -1
}

// nearest overwrites y with the nearest feasible point and appends to binding
// the rows that hold it there (independent ones). warm are rows guessed to do
// so. Where no point is feasible it returns a *conflict.
// binding may share its array with warm.
func (g *projection) nearest(y []float64, warm, binding []int) ([]int, error) {
	g.rowsMade()
	for j, v := range y {
		g.program.C[j] = -v
	}
	return g.solve(&g.program, y, warm, binding)
}

// minimize overwrites y with the minimizer of 1/2 y'Hy + c'y over the rows
// and returns the rows that hold it there. The error is as that of nearest.
func (g *projection) minimize(h *qp.Hessian, c, y []float64, warm []int) ([]int, error) {
	g.rowsMade()
	program := g.program
	program.H, program.C = h, c
	return g.solve(&program, y, warm, nil)
}

func (g *projection) solve(program *qp.Problem, y []float64, warm, binding []int) ([]int, error) {
	g.warm = g.warm[:0]
	for _, i := range warm {
		if k := g.number(i); k >= 0 {
			g.warm = append(g.warm, k)
		}
	}
	program.Warm = g.warm
	s := qp.Solve(program, &g.ws)
	switch s.Status {
	case qp.Infeasible:
		c := g.conflict(s)
		if qp.Refuted(g.poly.rows, g.poly.x, c.witness) { // by the rows themselves
			return binding, c
		}
		return binding, errUndecided
	case qp.Failed:
		return binding, errUndecided
	}
	copy(y, s.Z)
	k, n := len(g.general), g.poly.n
	for _, number := range s.Active {
		switch {
		case number < k:
			binding = append(binding, g.general[number])
		case number < k+n:
			binding = append(binding, g.loRow[number-k])
		default:
			binding = append(binding, g.hiRow[number-k-n])
		}
	}
	return binding, nil
}

// errUndecided says that neither a feasible point nor a proof that there is none
// was found.
var errUndecided = errors.New("rounding leaves open whether the rows can be satisfied: " +
	"some of them are nearly dependent, and nearly contradict each other")

// conflict is a Farkas vector: witness >= 0 on AtMost rows, B' witness = 0
// and r' witness > 0, so that no y satisfies B y >= r.
type conflict struct{ witness []float64 }

func (c *conflict) Error() string { return "no y satisfies the rows" }

// conflict translates the program's Farkas vector: its rows are -B_i/|B_i|,
// its bounds +e_j and -e_j, so witness_i = F_i/|B_i| on general rows and
// coef_i witness_i = -FB_j on bound rows.
func (g *projection) conflict(s *qp.Solution) *conflict {
	c := &conflict{witness: make([]float64, g.poly.m)}
	for t, i := range g.general {
		c.witness[i] = s.Farkas[t] / g.poly.norm[i]
	}
	for j, v := range s.FarkasBound {
		g.weigh(c.witness, g.poly, j, -v)
	}
	return c
}

// inset moves the inequality rows inwards by a distance, until the next set.
func (g *projection) inset(margin float64) {
	for k := range g.general {
		if !g.program.Equal[k] {
			g.program.B[k] -= margin
		}
	}
	for j := range g.loRow {
		if lo := g.loRow[j]; lo >= 0 && !g.poly.equal(lo) {
			g.lo[j] += margin
		}
		if hi := g.hiRow[j]; hi >= 0 && !g.poly.equal(hi) {
			g.hi[j] -= margin
		}
	}
}
