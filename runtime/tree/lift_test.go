package tree

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// binaries is a random program with n binary entries of x, a budget, and a linear follower whose rows and costs read them: rows of either sign, equations,
// free and two-sided variables. With wide one entry of x is continuous and in a row.
func binaries(rng *rand.Rand, n, ny int, wide bool) *problem.Problem {
	nx := n
	if wide {
		nx++
	}
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	f, g := newQuadratic(nx, ny), newQuadratic(nx, ny)
	for i := range nx + ny {
		f.l[i], g.l[i] = whole(8), whole(9)
	}
	for c := range n {
		if rng.IntN(3) == 0 {
			g.set(c, nx+rng.IntN(ny), whole(6))
		}
	}
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	end := func(kind problem.Kind, rhs float64) {
		rows.A.EndRow()
		rows.B.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, rhs)
	}
	for j := range ny { // lower bounds, or a free variable that rows bound
		if rng.IntN(4) > 0 {
			rows.B.Append(j, 1)
			end(problem.AtMost, float64(rng.IntN(3)))
		}
		rows.B.Append(j, 1)
		end(problem.AtMost, 20)
		rows.B.Append(j, -1)
		if c := rng.IntN(2 * n); c < n {
			rows.A.Append(c, float64(rng.IntN(4))) // an upper bound that x_c moves
		}
		end(problem.AtMost, 10)
	}
	for i := range 3 {
		kind := problem.AtMost
		if i == 2 && rng.IntN(2) == 0 {
			kind = problem.Equal
		}
		for c := range nx {
			if rng.IntN(2) == 0 && (c < n || kind == problem.AtMost) {
				rows.A.Append(c, whole(3))
			}
		}
		for j := range ny {
			rows.B.Append(j, whole(3))
		}
		end(kind, whole(6))
	}
	p := &problem.Problem{Name: "binaries", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, Integer: make([]bool, nx),
		X:     &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx), E: sparse.Empty(nx), Kind: []problem.Kind{problem.AtMost}, Rhs: []float64{float64(n/2 + 1)}},
		Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
	for c := range nx {
		p.X.Hi[c], p.Integer[c] = 1, c < n
		if c < n {
			p.X.E.Append(c, 1)
		}
	}
	p.X.E.EndRow()
	return p
}

// byFollower is the least f over all binary x and optimal answers of the follower, found by two linear programs in y for each x: what g is at least, and f where g
// is no more.
func byFollower(t *testing.T, p *problem.Problem) float64 {
	t.Helper()
	f, g := p.F.(*quadratic), p.G.(*quadratic)
	best := math.Inf(1)
	solve := func(prog *activeset.Program) *activeset.Solution {
		solver, err := activeset.New(prog)
		if err != nil {
			t.Fatal(err)
		}
		return solver.Solve(context.Background(), &prog.Bounds, nil, activeset.Options{})
	}
	for code := range 1 << p.Dx {
		x, open := make([]float64, p.Dx), float64(0)
		for c := range x {
			x[c] = float64(code >> c & 1)
			open += x[c]
		}
		if open > p.X.Rhs[0] {
			continue
		}
		prog := &activeset.Program{N: p.Dy, C: make([]float64, p.Dy), A: p.Rows.B.Clone()}
		for j := range p.Dy {
			prog.Lo, prog.Hi = append(prog.Lo, math.Inf(-1)), append(prog.Hi, math.Inf(1))
			prog.C[j] = g.l[p.Dx+j]
			for c := range x {
				prog.C[j] += g.m[(p.Dx+j)*g.n+c] * x[c]
			}
		}
		for i, kind := range p.Rows.Kind {
			lo := p.Rows.A.RowDot(i, x) - p.Rows.Rhs[i]
			hi := math.Inf(1)
			if kind == problem.Equal {
				hi = lo
			}
			prog.RowLo, prog.RowHi = append(prog.RowLo, lo), append(prog.RowHi, hi)
		}
		first := solve(prog)
		if first.Status == activeset.Infeasible {
			continue
		}
		if first.Status != activeset.Optimal {
			t.Fatalf("the follower is %v", first.Status)
		}
		cost := prog.C
		for j, v := range cost {
			prog.A.Append(j, v)
		}
		prog.A.EndRow()
		prog.RowLo, prog.RowHi = append(prog.RowLo, math.Inf(-1)), append(prog.RowHi, first.Value+1e-10*(1+math.Abs(first.Value)))
		prog.C = f.l[p.Dx:]
		second := solve(prog)
		if second.Status != activeset.Optimal {
			t.Fatalf("the follower's answers are %v", second.Status)
		}
		v := second.Value
		for c := range x {
			v += f.l[c] * x[c]
		}
		best = min(best, v)
	}
	return best
}

// Binary leaders: the search finds what enumeration over x finds, its proof is accepted, and it takes no more nodes than the binary entries have branches.
func TestBinaryLeadersByEnumeration(t *testing.T) {
	rng := members.Rand(t, 5)
	const slack = 1e-5 // the second program's slack of 1e-10, times what multipliers make of it
	feasible, products := 0, 0
	for k := range 120 {
		p := binaries(rng, 2+rng.IntN(4), 2+rng.IntN(3), false)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := newSearch(context.Background(), kkt.Part{System: sys}, units(sys), Options{Gap: tolerance.Target}, nil)
		if err != nil {
			t.Fatal(err)
		}
		most := int64(1)<<(p.Dx+1) - 1
		if s.lift == nil {
			most = math.MaxInt64
		} else {
			products++
		}
		want := byFollower(t, p)
		switch {
		case math.IsInf(want, 1):
			if r.Outcome != Infeasible {
				t.Errorf("case %d: %v, and nothing is feasible", k, r.Outcome)
			}
		case r.Outcome != Proved || math.Abs(r.Best.F-want) > slack*(1+math.Abs(want)) || r.Bound > want+slack*(1+math.Abs(want)):
			t.Errorf("case %d: %v, %v, bound %.12g, and the least is %.12g", k, r.Outcome, r.Best, r.Bound, want)
		case r.Nodes > most:
			t.Errorf("case %d: %d nodes for %d binary entries", k, r.Nodes, p.Dx)
		default:
			feasible++
		}
		if r.Outcome != Proved && r.Outcome != Infeasible {
			continue
		}
		report, err := certify.VerifyTree(p, bytes.NewReader(proofOf(t, sys, r)), "")
		if err != nil || report.Bound < r.Claim() || report.Bound > want+slack*(1+math.Abs(want)) {
			t.Errorf("case %d: %v, %+v, claimed %.12g, least %.12g", k, err, report, r.Claim(), want)
		}
	}
	if feasible < 30 || products < 60 {
		t.Errorf("%d with a solution, %d with products", feasible, products)
	}
}

// At every point of the system, with its products, all rows hold.
func TestRowsOfProductsHoldAtPoints(t *testing.T) {
	rng := members.Rand(t, 6)
	checked, sloped := 0, 0
	for range 200 {
		p := binaries(rng, 2+rng.IntN(3), 2+rng.IntN(3), rng.IntN(2) == 0)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := newSearch(context.Background(), kkt.Part{System: sys}, units(sys), Options{Gap: tolerance.Target}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.lift == nil {
			continue
		}
		follower, err := kkt.NewFollower(sys)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, p.Dx)
		for c := range x {
			x[c] = float64(rng.IntN(2))
			if !p.Integer[c] {
				x[c] = rng.Float64()
			}
		}
		z, status := follower.Solve(context.Background(), x)
		if status != activeset.Optimal {
			continue
		}
		checked++
		scaled := s.sys.Scaled(z)
		for k := range s.lift.cols {
			of := &s.lift.cols[k]
			scaled = append(scaled, x[of.Entry]*of.t(s, scaled)/of.scale)
		}
		n := &node{fix: make([]kkt.Fix, len(sys.Pairs))}
		for _, c := range s.split { // a box around x
			n = n.child(s, s.firstSplit()+slices.Index(s.split, c), 0, x[c]+(1-x[c])*rng.Float64(), nil)
			n = n.child(s, s.firstSplit()+slices.Index(s.split, c), 1, x[c]*rng.Float64(), nil)
		}
		plunger := s.newPlunger()
		if !plunger.narrow(context.Background(), n, nil) {
			t.Fatal("interrupted")
		}
		for k := range s.lift.slopes {
			of, v := &s.lift.slopes[k], 0.0
			for _, e := range of.coef {
				v += e.val * z[e.col]
			}
			scaled = append(scaled, v/of.scale, x[of.Entry]*v/of.scale/sys.ColScale[of.Entry])
			sloped++
		}
		program := plunger.relaxation(n)
		b := activeset.Bounds{}
		sys.Bounds(&b, nil)
		for c := range x {
			if p.Integer[c] {
				b.Lo[c], b.Hi[c] = x[c]/sys.ColScale[c], x[c]/sys.ColScale[c]
			}
		}
		s.lift.bounds(s, &b)
		s.lift.slopeBounds(&b, program, plunger.boxes)
		for i := sys.Relaxation.A.Rows; i < len(b.RowLo); i++ {
			v := program.A.RowDot(i, scaled)
			if tol := 1e-7 * (1 + math.Abs(v)); v < b.RowLo[i]-tol || v > b.RowHi[i]+tol {
				t.Fatalf("row %d is %g, outside of [%g, %g]", i, v, b.RowLo[i], b.RowHi[i])
			}
		}
	}
	if checked < 50 || sloped < 20 {
		t.Errorf("only %d points, %d slopes", checked, sloped)
	}
}

// Children are tried only while that has taken no more than relaxations of nodes and a plunge, and a branch is chosen without, too.
func TestTriesAreWithinTheWorkOfNodes(t *testing.T) {
	rng := members.Rand(t, 39)
	tried, split := 0, 0
	for range 40 {
		sys, err := kkt.New(random(rng, features{convex: true, curved: true}))
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range [2]int64{0, 1 << 40} {
			s, _, err := newSearch(context.Background(), sys.Parts()[0], units(sys).of(sys.Parts()[0].Cols), Options{Gap: tolerance.Target}, nil)
			if err != nil {
				t.Fatal(err)
			}
			p, root := s.newPlunger(), *s.open[0]
			p.records, p.stack, p.Trial = []record{{Kind: openNode, Bound: infinite(math.Inf(-1))}}, []*node{&root}, trial
			if !p.step(context.Background(), &root) || p.records[0].Kind != inner {
				break
			}
			if trial == 0 {
				tried += len(p.learnt)
			} else if split++; len(p.learnt) > 0 {
				t.Errorf("%d children were tried", len(p.learnt))
			}
		}
	}
	if tried == 0 || split == 0 {
		t.Errorf("%d tries, %d branches without", tried, split)
	}
}

// Relaxations have products only where the budget has room for one of them, a search has a bound whatever the budget is, and looks on for its first point.
func TestProductsAreWithinTheBudget(t *testing.T) {
	rng := members.Rand(t, 36)
	const slack = 1e-5 // as in TestBinaryLeadersByEnumeration
	without, first := 0, 0
	for k := range 40 {
		p := binaries(rng, 3+rng.IntN(3), 3+rng.IntN(2), false)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		part := sys.Parts()[0]
		s, _, err := newSearch(context.Background(), part, units(sys).of(part.Cols), Options{Gap: tolerance.Target}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(sys.Parts()) > 1 || s.lift == nil {
			continue
		}
		opts := Options{Gap: tolerance.Target, Work: int64(s.lift.program.Work()) - 1}
		if s, _, err = newSearch(context.Background(), part, units(sys).of(part.Cols), opts, nil); err != nil || s.lift != nil {
			t.Errorf("case %d: %v, products beyond the budget are there", k, err)
		}
		without++
		f, _, err := newForest(context.Background(), sys, sys.Parts(), opts)
		if err != nil {
			t.Fatal(err)
		}
		only := f.parts[0]
		for _, is := range []struct {
			rounds, more, first int64
			point, spent        bool
		}{{0, 1, 0, false, false}, {1, 1, 0, false, true}, {1, 1, 2, false, false}, {1, 3, 2, false, true}, {1, 1, 2, true, true}, {1, -1, 0, true, false}} {
			if only.rounds, only.Work, f.opts.First, only.best = is.rounds, opts.Work+is.more, is.first, nil; is.point {
				only.best = &candidate{z: make([]float64, sys.N)}
			}
			if f.spent() != is.spent {
				t.Errorf("case %d: %+v is not so", k, is)
			}
		}
		want := byFollower(t, p)
		for _, opts.First = range [2]int64{0, 1 << 40} {
			r, err := Solve(context.Background(), sys, opts)
			switch {
			case err != nil:
				t.Fatal(err)
			case r.Nodes == 0, r.Bound > want+slack*(1+math.Abs(want)):
				t.Errorf("case %d: bound %g after %d nodes, and the least is %g", k, r.Bound, r.Nodes, want)
			case opts.First > 0 && r.Best == nil && !math.IsInf(want, 1):
				t.Errorf("case %d: %s, and no point", k, r.Why)
			case opts.First > 0 && r.Best != nil:
				first++
			}
		}
	}
	if without < 10 || first < 5 {
		t.Errorf("%d without products, %d points", without, first)
	}
}
