package sequential_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/sequential"
)

// truth finds the follower's answer to x by Newton's method on sets of rows that may hold with equality: the one whose point is feasible, with multipliers that are not negative, which a convex g has no other point
// than. The set of the last answer comes first.
type truth struct {
	p    *problem.Problem
	g    bent
	last []int
}

// bent is a function with its Hessian in y, row by row.
type bent interface {
	problem.Function
	HessY(x, y []float64) []float64
}

func truthOf(p *problem.Problem) *truth { return &truth{p: p, g: p.G.(bent)} }

func (t *truth) answer(x []float64) (y []float64) {
	if at, off := t.on(x, t.last); off <= 1e-13 {
		return at
	}
	m, best := t.p.Rows.Len(), math.Inf(1)
	for set := range 1 << m {
		var held []int
		for i := range m {
			if set>>i&1 == 1 {
				held = append(held, i)
			}
		}
		if len(held) > t.p.Dy {
			continue
		}
		at, off := t.on(x, held)
		if off <= 1e-13 {
			t.last = held
			return at
		}
		if off <= 1e-9 {
			if v := t.g.Value(x, at); v < best { // they are one point, but for rounding
				best, y = v, at
			}
		}
	}
	return y
}

// on is the minimizer of g over the face on which some rows hold, and what it lacks of the follower's answer: the most by which a row is violated or a multiplier negative.
func (t *truth) on(x []float64, held []int) (y []float64, off float64) {
	p, n, k := t.p, t.p.Dy, len(held)
	y = make([]float64, n)
	lambda, grad := make([]float64, k), make([]float64, n)
	left := math.Inf(1)
	for range 60 {
		t.g.GradY(grad, x, y)
		h := t.g.HessY(x, y)
		a, b := mat.NewDense(n+k, n+k, nil), mat.NewVecDense(n+k, nil)
		for i := range n {
			b.SetVec(i, -grad[i])
			for j := range n {
				a.Set(i, j, h[i*n+j])
			}
		}
		residual := 0.0
		for c, i := range held {
			cols, vals := p.Rows.B.Row(i)
			for s, j := range cols {
				a.Set(j, n+c, -vals[s])
				a.Set(n+c, j, vals[s])
			}
			s := p.Rows.Rhs[i] + p.Rows.B.RowDot(i, y) - p.Rows.A.RowDot(i, x)
			b.SetVec(n+c, -s)
		}
		var d mat.VecDense
		if d.SolveVec(a, b) != nil {
			return nil, math.Inf(1)
		}
		step := 1.0
		for j := range n {
			residual = math.Max(residual, math.Abs(d.AtVec(j)))
		}
		if residual > 1 {
			step = 1 / residual
		}
		for j := range n {
			y[j] += step * d.AtVec(j)
		}
		for c := range held {
			lambda[c] = d.AtVec(n + c)
		}
		if left = residual; left < 1e-13 {
			break
		}
	}
	if left > 1e-9 {
		return nil, math.Inf(1)
	}
	for _, l := range lambda {
		off = math.Max(off, -l)
	}
	for i := range p.Rows.Kind {
		off = math.Max(off, -(p.Rows.Rhs[i] + p.Rows.B.RowDot(i, y) - p.Rows.A.RowDot(i, x)))
	}
	return y, off
}

// at is F at x and by how much the worst of the leader's constraints is violated.
func (t *truth) at(x []float64) (f, violated float64) {
	y := append(t.answer(x), make([]float64, t.p.AnswerLen()-t.p.Dy)...)
	grad := make([]float64, len(y))
	f = t.p.F.ValueGradY(grad, x, y)
	for _, c := range t.p.CoupledPart(grad) {
		violated = math.Max(violated, c)
	}
	for _, ball := range t.p.X.Balls {
		sum := 0.0
		for k, v := range x[ball.Start:ball.End] {
			if ball.Center != nil {
				v -= ball.Center[k]
			}
			sum += v * v
		}
		violated = math.Max(violated, math.Sqrt(sum)-ball.Radius)
	}
	return f, violated
}

func solver(t *testing.T, p *problem.Problem, large bool) *sequential.Solver {
	t.Helper()
	s, err := sequential.New(p, sequential.Options{Large: large})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// judge compares a point with the truth: F there, that constraints hold, and that no direction leads to a lower F, to first order, and, where the second-order condition
// was found to hold, near by at all.
func judge(t *testing.T, rng *rand.Rand, p *problem.Problem, point *kkt.Point, label any) {
	t.Helper()
	tr := truthOf(p)
	x := point.Z[:p.Dx]
	f, violated := tr.at(x)
	if math.Abs(f-point.F) > 1e-8*(1+math.Abs(f)) {
		t.Errorf("%v: F is %v, not %v", label, f, point.F)
	}
	if violated > 1e-7 {
		t.Errorf("%v: a constraint is violated by %v", label, violated)
	}
	if point.Multipliers == nil && len(point.Leaves) == 0 {
		t.Errorf("%v: no multipliers", label)
	}
	for range 40 {
		d, size := make([]float64, p.Dx), 0.0
		for j := range d {
			d[j] = rng.NormFloat64()
			size = math.Max(size, math.Abs(d[j]))
		}
		along := func(h float64) (float64, float64) {
			moved := make([]float64, p.Dx)
			for j := range d {
				moved[j] = math.Min(math.Max(x[j]+h*d[j]/size, p.X.Lo[j]), p.X.Hi[j])
			}
			return tr.at(moved)
		}
		for _, h := range []float64{1e-3, 1e-4} {
			there, off := along(h)
			if off > 0 {
				continue
			}
			// F is piecewise smooth: its terms of second order are of the size of some tens.
			room := 100 * h * h
			if point.SecondOrder == kkt.Holds && p.Coupled == nil && len(p.X.Balls) == 0 {
				room = 1e-9
			}
			if there >= f-room {
				continue
			}
			// Up to a kink closer than h it may rise, and fall beyond it.
			ridge := false
			for near := h / 2; near > 1e-7 && !ridge; near /= 2 {
				between, _ := along(near)
				ridge = between > f+1e-11*(1+math.Abs(f)) // which is known to 1e-13
			}
			if !ridge {
				t.Errorf("%v: F falls from %v by %v over %v along %v", label, f, f-there, h, d)
				return
			}
		}
	}
}

// One variable of the leader: F on a grid, from an enumeration of all branches, is the truth. From the best point of the grid a solve does not end higher, and from others at a point from which
// F does not fall.
func TestOneVariableAgainstAGrid(t *testing.T) { both(t, oneVariable) }

// ends are how solves from several starts have ended: without a point that shows itself to be stationary, which is said, or, where there are constraints, where they do not hold.
type ends struct {
	starts, stalled, none int
	constrained           bool
}

// from is the point that a start leads to; false where there is none to judge.
func (n *ends) from(t *testing.T, v *sequential.Solver, x []float64, seed uint64) (*kkt.Point, bool) {
	t.Helper()
	n.starts++
	point, err := v.From(t.Context(), x)
	switch {
	case errors.Is(err, pieces.ErrStalled):
		n.stalled++
	case n.constrained && errors.Is(err, sequential.ErrNoPoint):
		n.none++
	case err != nil:
		t.Errorf("seed %d, from %v: %v", seed, x, err)
	}
	return point, err == nil
}

// few reports that no more starts than a part of them stalled.
func (n *ends) few(t *testing.T, part float64) {
	t.Helper()
	if n.stalled > members.Misses(n.starts, part) {
		t.Errorf("%d of %d starts stalled", n.stalled, n.starts)
	}
}

// both runs a test with subproblems on the whole system, and in the leader's space.
func both(t *testing.T, test func(t *testing.T, large bool)) {
	for _, large := range []bool{false, true} {
		t.Run(map[bool]string{false: "whole", true: "leader"}[large], func(t *testing.T) { test(t, large) })
	}
}

func oneVariable(t *testing.T, large bool) {
	var n ends
	for seed := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		p := kkttest.RandomSmooth(rng, 1, 2, 2, 0, seed%2 == 0)
		tr := truthOf(p)
		best, at := math.Inf(1), 0.0
		for k := range 81 {
			x := -1 + float64(k)/40
			if f, _ := tr.at([]float64{x}); f < best {
				best, at = f, x
			}
		}
		for _, start := range []float64{at, -0.9, 0.1, 0.8} {
			point, ok := n.from(t, solver(t, p, large), []float64{start}, seed)
			if !ok {
				continue
			}
			judge(t, rng, p, point, seed)
			if start == at && point.F > best+1e-9*(1+math.Abs(best)) {
				t.Errorf("seed %d: from %v, where F is %v, to %v", seed, at, best, point.F)
			}
		}
	}
	n.few(t, 0.01)
}

// More variables, with constraints of the leader that are not linear, and balls.
func TestMoreVariables(t *testing.T) { both(t, moreVariables) }

func moreVariables(t *testing.T, large bool) {
	n := ends{constrained: true}
	for _, seed := range append(slices.Collect(members.Seeds(t, 80)), 811342534) { // the last one ends beside a vertex with another branch, where rounding of F has made the region one of rounding
		rng := rand.New(rand.NewPCG(seed, 12))
		p := kkttest.RandomSmooth(rng, 2+int(seed%2), 2, 2, int(seed%3), seed%4 != 0)
		if seed%5 == 0 {
			p.X.Balls = []problem.Ball{{Start: 0, End: 2, Center: []float64{0.2, 0}, Radius: 0.5, Name: "ball"}}
		}
		for range 2 {
			x := make([]float64, p.Dx)
			for j := range x {
				x[j] = 2*rng.Float64() - 1
			}
			point, ok := n.from(t, solver(t, p, large), x, seed)
			if !ok {
				continue
			}
			judge(t, rng, p, point, seed)
		}
	}
	n.few(t, 0.01)
	t.Logf("%d starts ended where the constraints do not hold", n.none)
}

// From an x at which the leader's constraints hold no solve ends where they do not: penalties that promise a lower f beyond them grow.
func TestFeasibleStartsEndFeasible(t *testing.T) { both(t, feasibleStarts) }

func feasibleStarts(t *testing.T, large bool) {
	for seed := range members.SeedsOf(t, 100, 600) {
		rng := rand.New(rand.NewPCG(seed, 15))
		p := kkttest.RandomSmooth(rng, 2, 2, 2, 1+int(seed%2), seed%4 != 0)
		if seed%5 == 0 {
			p.X.Balls = []problem.Ball{{Start: 0, End: 2, Center: []float64{0.2, 0}, Radius: 0.5, Name: "ball"}}
		}
		if f := p.F.(*kkttest.Smooth); seed%3 == 0 { // f and the constraints read x alone, so that slopes of f are multipliers of one constraint where it holds f
			f.W = []float64{0}
			for _, q := range append(f.Extra, &f.Quadratic) {
				for k := range q.M {
					if k/4 > 1 || k%4 > 1 {
						q.M[k] = 0
					}
				}
				q.C[2], q.C[3] = 0, 0
			}
		}
		tr := truthOf(p)
		for range 50 {
			x := []float64{2*rng.Float64() - 1, 2*rng.Float64() - 1}
			if _, violated := tr.at(x); violated > 0 {
				continue
			}
			for range 4 { // again from next to where the last has ended, where penalties as large as slopes say are exactly the multipliers
				point, err := solver(t, p, large).From(t.Context(), x)
				if errors.Is(err, sequential.ErrNoPoint) {
					t.Errorf("seed %d, from %v: %v", seed, x, err)
				}
				if point == nil {
					break
				}
				for j := range x {
					x[j] = min(max(point.Z[j]+1e-8*rng.NormFloat64(), -1), 1)
				}
			}
			break
		}
	}
}

// Rows that depend on others which hold with them: sums of two, so that the follower's multipliers are not unique, and as many copies of a kink meet.
func TestRowsThatDependOnOthers(t *testing.T) { both(t, dependentRows) }

func dependentRows(t *testing.T, large bool) {
	var n ends
	for seed := range members.Seeds(t, 80) {
		rng := rand.New(rand.NewPCG(seed, 14))
		p := kkttest.RandomSmooth(rng, 2, 2, 1, 0, seed%2 == 0)
		for range 3 {
			i, j := rng.IntN(p.Rows.Len()), rng.IntN(p.Rows.Len())
			for _, part := range []*sparse.CSR{p.Rows.A, p.Rows.B} {
				row := make([]float64, part.Cols)
				part.AddRow(row, i, 1)
				part.AddRow(row, j, 1)
				for c, v := range row {
					if v != 0 {
						part.Append(c, v)
					}
				}
				part.EndRow()
			}
			p.Rows.Kind, p.Rows.Name = append(p.Rows.Kind, problem.AtMost), append(p.Rows.Name, "")
			p.Rows.Rhs = append(p.Rows.Rhs, p.Rows.Rhs[i]+p.Rows.Rhs[j])
		}
		for range 2 {
			x := []float64{2*rng.Float64() - 1, 2*rng.Float64() - 1}
			point, ok := n.from(t, solver(t, p, large), x, seed)
			if !ok {
				continue
			}
			judge(t, rng, p, point, seed)
		}
	}
	n.few(t, 0.05)
}

// Where a problem's system is linear, the point is that of package pieces.
func TestLinearSystems(t *testing.T) {
	for _, seed := range append(slices.Collect(members.Seeds(t, 30)), 660010112) { // of the last one g is 0 at an answer, and its terms are not
		rng := rand.New(rand.NewPCG(seed, 13))
		p := kkttest.Random(rng, 2, 3, 1, true, seed%2 == 0)
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		direct, err := pieces.New(s, pieces.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x := []float64{0, 0}
		want, err := direct.From(t.Context(), x)
		if err != nil {
			continue
		}
		p.Facts.StrongConvexity = 1
		p.Facts.JointlyQuadratic = seed%3 == 0
		got, err := solver(t, p, false).From(t.Context(), want.Z[:2])
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		if got.F > want.F+1e-8*(1+math.Abs(want.F)) {
			t.Errorf("seed %d: F = %v, from %v of the system itself", seed, got.F, want.F)
		}
	}
}
