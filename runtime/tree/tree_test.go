package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// quadratic is 1/2 v'Mv + l'v + k over v = (x, answer).
type quadratic struct {
	nx, n int
	m, l  []float64
	k     float64
}

func newQuadratic(nx, na int) *quadratic {
	n := nx + na
	return &quadratic{nx: nx, n: n, m: make([]float64, n*n), l: make([]float64, n)}
}

func (q *quadratic) set(i, j int, v float64) { q.m[i*q.n+j], q.m[j*q.n+i] = v, v }

func (q *quadratic) grad(dst, x, y []float64, from int) {
	for i := range dst {
		v := q.l[from+i]
		for j := range q.n {
			t := 0.0
			if j < q.nx {
				t = x[j]
			} else {
				t = y[j-q.nx]
			}
			v += q.m[(from+i)*q.n+j] * t
		}
		dst[i] = v
	}
}

func (q *quadratic) Value(x, y []float64) float64 {
	g, s := make([]float64, q.n), q.k
	q.grad(g, x, y, 0)
	for i := range g {
		t := 0.0
		if i < q.nx {
			t = x[i]
		} else {
			t = y[i-q.nx]
		}
		s += 0.5 * t * (g[i] + q.l[i])
	}
	return s
}
func (q *quadratic) GradX(dst, x, y []float64) { q.grad(dst, x, y, 0) }
func (q *quadratic) GradY(dst, x, y []float64) { q.grad(dst, x, y, q.nx) }
func (q *quadratic) ValueGradY(dst, x, y []float64) float64 {
	q.GradY(dst, x, y)
	return q.Value(x, y)
}
func (q *quadratic) ValueGrad(dx, dy, x, y []float64) float64 {
	q.GradX(dx, x, y)
	q.GradY(dy, x, y)
	return q.Value(x, y)
}
func (q *quadratic) Clone() problem.Function { return q }

// features of a random problem.
type features struct {
	curved    bool // g is strongly convex; else linear
	convex    bool // f is convex quadratic
	revenue   bool // f has the bilinear terms of g, negated
	equation  bool // a row of the lower level is an equation
	upperRow  bool // a row of X
	coupled   bool // a constraint of the leader that reads y
	duals     bool // f reads a multiplier
	prices    bool // f has products of x, y and all multipliers that weights of strong duality cancel
	followers bool // two followers
	integer   bool // an entry of x is whole
	discrete  bool // all are
	flat      bool // g has no products of x and y
	wide      bool // X is all of R^n
}

func randomFeatures(rng *rand.Rand) features {
	coin := func(share float64) bool { return rng.Float64() < share }
	f := features{curved: coin(0.5), convex: coin(0.4), equation: coin(0.3), upperRow: coin(0.4), coupled: coin(0.3), duals: coin(0.2),
		followers: coin(0.3), integer: coin(0.3), wide: coin(0.1)}
	f.revenue = !f.convex && coin(0.4)
	f.prices = !f.convex && !f.revenue && coin(0.5)
	f.duals = f.duals && !f.prices
	f.integer = f.integer && !f.wide
	f.discrete = f.integer && coin(0.5)
	f.flat = !f.revenue && coin(0.3)
	return f
}

// random is a problem with integer data, so that ties are common.
func random(rng *rand.Rand, is features) *problem.Problem {
	nx, ny := 2, 3
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	p := &problem.Problem{Name: "random", Dx: nx, Dy: ny, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
	block := []int{0, 0, 0}
	if is.followers {
		block[2] = 1
		p.Blocks = [][]int{{0, 1}, {2}}
	}
	rows := &problem.Rows{}
	a, b := sparse.Empty(nx), sparse.Empty(ny)
	add := func(kind problem.Kind, ca, cb []float64, side float64) {
		for j, v := range ca {
			if v != 0 {
				a.Append(j, v)
			}
		}
		for j, v := range cb {
			if v != 0 {
				b.Append(j, v)
			}
		}
		a.EndRow()
		b.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, side)
	}
	for j := range ny {
		e := make([]float64, ny)
		e[j] = 1
		add(problem.AtMost, nil, e, 0)
	}
	for k := range 2 + rng.IntN(3) {
		ca, cb := make([]float64, nx), make([]float64, ny)
		of := k % (1 + block[2])
		for j := range cb {
			if block[j] == of {
				cb[j] = -whole(3)
				if k < 2 {
					cb[j] = -1 - float64(rng.IntN(2)) // bounded
				}
			}
		}
		if !is.revenue || rng.IntN(2) == 0 {
			for j := range ca {
				ca[j] = whole(2)
			}
		}
		if is.revenue {
			clear(ca)
		}
		kind := problem.AtMost
		if is.equation && k == 2 {
			kind = problem.Equal
		}
		add(kind, ca, cb, 3+float64(rng.IntN(5)))
	}
	rows.A, rows.B = a, b
	p.Rows = rows
	if is.duals {
		p.Duals = []int{rng.IntN(rows.Len())}
	}
	if is.prices {
		for i := range rows.Len() {
			p.Duals = append(p.Duals, i)
		}
	}
	if is.coupled {
		p.Coupled = &problem.Coupled{Kind: []problem.Kind{problem.AtMost}, Name: []string{"c"}, Weight: []float64{1}}
	}
	f, g := newQuadratic(nx, p.AnswerLen()), newQuadratic(nx, ny)
	f.k = whole(3)
	for i := range nx + ny {
		g.l[i], f.l[i] = whole(5), whole(5)
	}
	share := [3]float64{2, 1, 0.7}[rng.IntN(3)] // the last is no double, nor is its inverse
	for i := range nx {
		for j := range ny {
			v := whole(2)
			if is.flat {
				v = 0
			}
			if is.revenue {
				v *= 3
			}
			g.set(i, nx+j, v)
			if is.revenue {
				f.set(i, nx+j, -share*v)
			}
		}
	}
	if is.curved {
		for j := range ny {
			g.set(nx+j, nx+j, 1+float64(rng.IntN(3)))
		}
	}
	if is.convex {
		for i := range nx + ny {
			f.set(i, i, float64(rng.IntN(3)))
		}
	}
	if is.duals {
		f.l[nx+ny] = float64(rng.IntN(3))
	}
	if is.prices {
		weight := func() float64 { return [4]float64{0, 1, 2, 0.5}[rng.IntN(4)] }
		k := make([]float64, ny)
		for j := range k {
			k[j] = weight()
			for c := range nx {
				f.set(nx+j, c, -k[j]*g.m[(nx+j)*g.n+c])
			}
		}
		for i := range rows.Len() {
			w := weight()
			cols, vals := rows.A.Row(i)
			for t, c := range cols {
				f.set(nx+ny+i, c, w*vals[t])
			}
			cols, vals = rows.B.Row(i)
			for t, j := range cols {
				f.set(nx+ny+i, nx+j, (k[j]-w)*vals[t])
			}
		}
	}
	if is.coupled {
		w := nx + p.AnswerLen() - 1
		f.l[w] = -float64(rng.IntN(4))
		for i := range nx + ny {
			f.set(w, i, whole(2))
		}
	}
	p.F, p.G = f, g
	x := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx)}
	for j := range nx {
		x.Lo[j], x.Hi[j] = -3, float64(1+rng.IntN(3))
		if is.wide {
			x.Lo[j], x.Hi[j] = math.Inf(-1), math.Inf(1)
		}
	}
	if is.integer {
		p.Integer = make([]bool, nx)
		p.Integer[rng.IntN(nx)] = true
		for j := range p.Integer {
			p.Integer[j] = p.Integer[j] || is.discrete
			if p.Integer[j] && rng.IntN(2) == 0 {
				x.Lo[j], x.Hi[j] = 0, 1
			}
		}
	}
	if is.upperRow {
		x.E = sparse.Empty(nx)
		for j := range nx {
			x.E.Append(j, whole(2))
		}
		x.E.EndRow()
		x.Kind, x.Rhs = []problem.Kind{problem.AtMost}, []float64{float64(rng.IntN(4))}
	}
	p.X = x
	return p
}

// enumerate is the least value over all branches and whole numbers: -Inf where it is unbounded, +Inf where nothing is feasible.
// What the engine says of each branch is confirmed by its multipliers, Farkas weights and rays.
func enumerate(t *testing.T, sys *kkt.System) float64 {
	t.Helper()
	quad := sys.Objective.Relaxed()
	prog := *sys.Relaxation
	prog.Q, prog.C = sys.ScaledObjective(quad)
	solver, err := activeset.New(&prog)
	if err != nil {
		t.Fatal(err)
	}
	var whole []int
	for j, is := range sys.P.Integer {
		if is {
			whole = append(whole, j)
		}
	}
	best := math.Inf(1)
	var bounds activeset.Bounds
	fix := make([]kkt.Fix, len(sys.Pairs))
	solve := func() {
		sol := solver.Solve(context.Background(), &bounds, nil, activeset.Options{})
		switch sol.Status {
		case activeset.Optimal:
			confirm(t, &prog, &bounds, sol)
			best = min(best, sol.Value+quad.Const)
		case activeset.Infeasible:
			refute(t, &prog, &bounds, sol)
		case activeset.Unbounded:
			best = math.Inf(-1)
		default:
			t.Fatalf("a branch is %v", sol.Status)
		}
	}
	var box func(k int)
	box = func(k int) {
		if k == len(whole) {
			solve()
			return
		}
		j := whole[k]
		lo, hi := sys.P.X.Lo[j], sys.P.X.Hi[j]
		for v := math.Ceil(lo); v <= hi; v++ {
			bounds.Lo[j], bounds.Hi[j] = v/sys.ColScale[j], v/sys.ColScale[j]
			box(k + 1)
		}
	}
	for code := range 1 << len(fix) {
		for k := range fix {
			fix[k] = kkt.SlackZero + kkt.Fix(code>>k&1)
		}
		sys.Bounds(&bounds, fix)
		box(0)
	}
	return best
}

// confirm checks the optimality conditions of a solution.
func confirm(t *testing.T, p *activeset.Program, b *activeset.Bounds, sol *activeset.Solution) {
	t.Helper()
	const tol = 1e-7
	grad := append([]float64(nil), p.C...)
	for j := range grad {
		if p.Q != nil {
			grad[j] += p.Q.RowDot(j, sol.Z)
		}
		grad[j] -= sol.Bound[j]
	}
	p.A.AddMulVecT(grad, -1, sol.Row)
	check := func(what string, v, lo, hi, m float64) {
		size := 1 + math.Abs(v)
		switch {
		case v < lo-tol*size || v > hi+tol*size:
			t.Fatalf("%s: %g outside of [%g, %g]", what, v, lo, hi)
		case m > tol && v > lo+tol*size && lo < hi, m < -tol && v < hi-tol*size && lo < hi:
			t.Fatalf("%s: %g in [%g, %g] has the multiplier %g", what, v, lo, hi, m)
		}
	}
	for j, g := range grad {
		if math.Abs(g) > tol*10 {
			t.Fatalf("gradient %g of entry %d is left", g, j)
		}
		check("entry", sol.Z[j], b.Lo[j], b.Hi[j], sol.Bound[j])
	}
	for i, m := range sol.Row {
		check("row", p.A.RowDot(i, sol.Z), b.RowLo[i], b.RowHi[i], m)
	}
}

// refute checks the weights that prove a branch infeasible.
func refute(t *testing.T, p *activeset.Program, b *activeset.Bounds, sol *activeset.Solution) {
	t.Helper()
	if sol.FarkasRow == nil {
		for k := range b.Lo {
			if b.Lo[k] > b.Hi[k] {
				return
			}
		}
		for k := range b.RowLo {
			if b.RowLo[k] > b.RowHi[k] {
				return
			}
		}
		t.Fatal("infeasible without weights")
	}
	sum := append([]float64(nil), sol.FarkasBound...)
	p.A.AddMulVecT(sum, 1, sol.FarkasRow)
	for j, v := range sum {
		if math.Abs(v) > 1e-7 {
			t.Fatalf("weights leave %g of entry %d", v, j)
		}
	}
	total := 0.0
	add := func(w, lo, hi float64) {
		switch {
		case w > 0:
			total += w * lo
		case w < 0:
			total += w * hi
		}
	}
	for j, w := range sol.FarkasBound {
		add(w, b.Lo[j], b.Hi[j])
	}
	for i, w := range sol.FarkasRow {
		add(w, b.RowLo[i], b.RowHi[i])
	}
	if !(total > 0) {
		t.Fatalf("weights prove %g > 0", total)
	}
}

// What a search says is what all branches say.
func TestSearchFindsTheLeastOfAllBranches(t *testing.T) {
	rng := members.Rand(t, 1)
	count, small := map[Outcome]int{}, 0
	for k := range 400 {
		is := randomFeatures(rng)
		sys, err := kkt.New(random(rng, is))
		if err != nil {
			t.Fatal(err)
		}
		if is.prices && !sys.Objective.Convex {
			t.Errorf("case %d, %+v: strong duality finds no weights", k, is)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		count[r.Outcome]++
		if r.Outcome == NoBound {
			if sys.Objective.Convex {
				t.Fatalf("case %d, %+v: no bound: %s", k, is, r.Why)
			}
			continue
		}
		want := enumerate(t, sys)
		size := 1 + math.Abs(want)
		switch r.Outcome {
		case Infeasible:
			if !math.IsInf(want, 1) {
				t.Fatalf("case %d, %+v: infeasible, and the least value is %g", k, is, want)
			}
		case Unbounded:
			if !math.IsInf(want, -1) {
				t.Fatalf("case %d, %+v: unbounded, and the least value is %g", k, is, want)
			}
		default:
			// Nothing is open but rounding of the terms of an f that is small beside them.
			if r.Outcome == LimitReached && r.Gap <= tolerance.Target && r.open > tolerance.Target*math.Abs(want) {
				small++
			} else if r.Outcome != Proved {
				t.Fatalf("case %d, %+v: %v: %s", k, is, r.Outcome, r.Why)
			}
			if math.Abs(r.Best.F-want) > 1e-5*size || r.Bound > want+1e-8*size {
				t.Fatalf("case %d, %+v: %g with the bound %g, and the least value is %.12g", k, is, r.Best.F, r.Bound, want)
			}
			feasible(t, sys, r.Best)
		}
	}
	if small > 4 {
		t.Errorf("%d of 400 are small beside their terms", small)
	}
	for o := Proved; o <= Unbounded; o++ {
		if count[o] == 0 {
			t.Errorf("no case is %v: %v", o, count)
		}
	}
	t.Log(count)
}

// feasible checks that a point is one of the system, and on its branch.
func feasible(t *testing.T, sys *kkt.System, p *kkt.Point) {
	t.Helper()
	scaled := sys.Scaled(p.Z)
	var b activeset.Bounds
	sys.Bounds(&b, p.Branch)
	for j, v := range scaled {
		if size := 1e-7 * (1 + math.Abs(v)); v < b.Lo[j]-size || v > b.Hi[j]+size {
			t.Fatalf("entry %d is %g, outside of [%g, %g]", j, v, b.Lo[j], b.Hi[j])
		}
	}
	for i := range b.RowLo {
		v := sys.Relaxation.A.RowDot(i, scaled)
		if size := 1e-7 * (1 + math.Abs(v)); v < b.RowLo[i]-size || v > b.RowHi[i]+size {
			t.Fatalf("row %d is %g, outside of [%g, %g]", i, v, b.RowLo[i], b.RowHi[i])
		}
	}
	for k, f := range p.Branch {
		if f == kkt.Open {
			t.Fatalf("pair %d of the branch is open", k)
		}
	}
	for j, is := range sys.P.Integer {
		if is && math.Abs(p.Z[j]-math.Round(p.Z[j])) > 1e-6 {
			t.Fatalf("entry %d is %g, not whole", j, p.Z[j])
		}
	}
}

// larger is a linear follower with enough pairs for a tree of many rounds.
func larger(rng *rand.Rand, nx, ny, m int) *problem.Problem {
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	f, g := newQuadratic(nx, ny), newQuadratic(nx, ny)
	for i := range nx + ny {
		f.l[i], g.l[i] = whole(6), whole(9)
	}
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	for j := range ny {
		rows.B.Append(j, 1)
		rows.A.EndRow()
		rows.B.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, problem.AtMost), append(rows.Rhs, 0)
	}
	for i := range m {
		for j := range nx {
			if i > 0 {
				rows.A.Append(j, whole(3))
			}
		}
		for j := range ny {
			v := -1 - float64(rng.IntN(3))
			if i > 0 {
				v = float64(2 - rng.IntN(7))
			}
			rows.B.Append(j, v)
		}
		rows.A.EndRow()
		rows.B.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, problem.AtMost), append(rows.Rhs, 15+float64(rng.IntN(30)))
	}
	x := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx)}
	for j := range nx {
		x.Hi[j] = 10
	}
	return &problem.Problem{Name: "larger", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: x, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
}

// kept is what a state says of its trees together.
func kept(s *State) (nodes, rounds int64, best float64) {
	for _, p := range s.Parts {
		nodes, rounds = nodes+p.Nodes, rounds+p.Rounds
		if p.Best == nil {
			best = math.Inf(1)
		} else {
			best += p.Best.F
		}
	}
	return nodes, rounds, best
}

func stateText(t *testing.T, s *State) []byte {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// searched are programs of some rounds: most have integer entries of x, binary ones with products beside the system, or more values; some fall into parts, and in some followers choose.
func searched(seed uint64) *problem.Problem {
	rng := rand.New(rand.NewPCG(seed, 7))
	if seed%8 == 5 {
		return game(rng, 4, []int{5, 5, 4}, true)
	}
	if seed%4 == 1 {
		return binaries(rng, 9, 6, seed%8 == 1)
	}
	if seed%4 == 2 { // in parts
		return join(rng, []*problem.Problem{larger(rng, 6, 8, 8), larger(rng, 5, 7, 7), binaries(rng, 4, 4, false)})
	}
	if seed%4 != 3 {
		return larger(rng, 10, 12, 12)
	}
	p := larger(rng, 6, 8, 8)
	p.Integer = make([]bool, p.Dx)
	for j := range p.Integer {
		p.Integer[j] = j%2 == 0
	}
	return p
}

// countdown is a context that ends when it has been asked for the given number of times.
type countdown struct {
	context.Context
	left *atomic.Int64
}

func (c countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A search that is interrupted anywhere has a bound and a point that are true, the best ones so far, and goes on as if it had not been: to the same state.
func TestInterruptedSearches(t *testing.T) {
	over, end := context.WithCancelCause(context.Background())
	end(status.Time)
	stops, points, late, early := 0, 0, 0, 0
	for seed := range uint64(12) {
		sys, err := kkt.New(searched(seed))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Solve(over, sys, Options{}); err != nil || r.Outcome != Interrupted || r.Why != "time limit" {
			t.Errorf("a limit on time: %+v, %v", r, err)
		}
		want := stateText(t, whole.State)
		rng := rand.New(rand.NewPCG(seed, 8))
		var state *State
		patience := int64(20)
		before := math.Inf(-1)
		for {
			left := new(atomic.Int64)
			left.Store(1 + rng.Int64N(patience))
			r, err := Solve(countdown{context.Background(), left}, sys, Options{Resume: state, Threads: 1 + rng.IntN(3)})
			if err != nil {
				t.Fatal(err)
			}
			if r.State == nil && r.Outcome == Interrupted && state == nil {
				early++
				patience += patience / 2
				continue
			}
			state = new(State)
			if err := json.Unmarshal(stateText(t, r.State), state); err != nil {
				t.Fatal(err)
			}
			if r.Outcome != Interrupted {
				break
			}
			stops++
			patience += patience / 2 // a round takes longer than the first countdowns
			if whole.Best == nil {
				if r.Best != nil {
					t.Fatalf("seed %d: a point, %v, where nothing is feasible", seed, r.Best.F)
				}
				continue
			}
			slack := 1e-9 * (1 + math.Abs(whole.Best.F))
			if r.Bound > whole.Best.F+slack || r.Bound < before-slack {
				t.Errorf("seed %d: the bound %v of an optimum of %v, after %v", seed, r.Bound, whole.Best.F, before)
			}
			before = r.Bound
			if r.Best == nil {
				continue
			}
			points++
			if r.Best.F < whole.Best.F-tolerance.Target*math.Abs(whole.Best.F)-slack || r.Gap != max(0, r.Best.F-r.Bound)/r.Scale && math.Abs(r.Gap*r.Scale-(r.Best.F-r.Bound)) > slack {
				t.Errorf("seed %d: a point of %v, gap %v, bound %v; the optimum is %v", seed, r.Best.F, r.Gap, r.Bound, whole.Best.F)
			}
			if _, _, best := kept(state); r.Best.F < best-slack {
				late++
			}
		}
		if got := stateText(t, state); !bytes.Equal(want, got) {
			nodes, _, _ := kept(state)
			t.Errorf("seed %d: went on to %d nodes, uninterrupted: %d", seed, nodes, whole.Nodes)
		}
	}
	if stops < 30 || points < 10 || late == 0 || early == 0 {
		t.Errorf("%d interruptions, %d with a point, %d with one of the round that was interrupted, %d before the first: too few to tell", stops, points, late, early)
	}
}

// A search is the same with any number of threads, and when it stops between rounds and goes on from what was written.
func TestSearchIsTheSameWithThreadsAndAfterResume(t *testing.T) {
	rounds := int64(0)
	for seed := range uint64(12) {
		sys, err := kkt.New(searched(seed))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := stateText(t, whole.State)
		_, more, _ := kept(whole.State)
		rounds += more
		parallel, err := Solve(context.Background(), sys, Options{Threads: 4})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, stateText(t, parallel.State)) {
			t.Errorf("seed %d: four threads: %d nodes, %g; one: %d nodes, %g", seed, parallel.Nodes, parallel.Bound, whole.Nodes, whole.Bound)
		}
		var state *State
		for range 1000 {
			limit := int64(1)
			if state != nil {
				nodes, _, _ := kept(state)
				limit = nodes + 1
			}
			r, err := Solve(context.Background(), sys, Options{Nodes: limit, Resume: state})
			if err != nil {
				t.Fatal(err)
			}
			state = new(State)
			if err := json.Unmarshal(stateText(t, r.State), state); err != nil {
				t.Fatal(err)
			}
			if r.Outcome != LimitReached {
				break
			}
		}
		if !bytes.Equal(want, stateText(t, state)) {
			nodes, _, _ := kept(state)
			t.Errorf("seed %d: resumed: %d nodes, uninterrupted: %d", seed, nodes, whole.Nodes)
		}
	}
	if rounds < 20 {
		t.Errorf("only %d rounds: the cases are too small to tell", rounds)
	}
}
