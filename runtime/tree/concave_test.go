package tree

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// curvedDown is a random problem whose f has a Hessian with whole entries of any sign over x and y.
func curvedDown(rng *rand.Rand, is features) *problem.Problem {
	p := random(rng, is)
	f := p.F.(*quadratic)
	for i := range p.Dx + p.Dy {
		for j := range i + 1 {
			if rng.IntN(2) == 0 {
				f.set(i, j, float64(rng.IntN(5)-2))
			}
		}
	}
	return p
}

// faces is the least value of f over all branches by their faces: on each branch, the equations leave a plane of few dimensions; a minimizer lies inside of a face of
// the polytope there, where the gradient along the face is zero, or, where that has several solutions, inside of a smaller one too. ok is false where a plane has more than three dimensions.
func faces(t *testing.T, sys *kkt.System) (best float64, ok bool) {
	t.Helper()
	quad := sys.Objective.Relaxed()
	hess, cost := sys.ScaledObjective(quad)
	dense := mat.NewSymDense(sys.N, nil)
	for i := range sys.N {
		for j := range i + 1 {
			dense.SetSym(i, j, hess.At(i, j))
		}
	}
	prog := sys.Relaxation
	rows := prog.A.Rows + sys.N
	row := func(r int) []float64 {
		v := make([]float64, sys.N)
		if r >= prog.A.Rows {
			v[r-prog.A.Rows] = 1
			return v
		}
		cols, vals := prog.A.Row(r)
		for k, j := range cols {
			v[j] += vals[k]
		}
		return v
	}
	best = math.Inf(1)
	var bounds activeset.Bounds
	fix := make([]kkt.Fix, len(sys.Pairs))
	for code := range 1 << len(fix) {
		for k := range fix {
			fix[k] = kkt.SlackZero + kkt.Fix(code>>k&1)
		}
		sys.Bounds(&bounds, fix)
		lo, hi := append(append([]float64(nil), bounds.RowLo...), bounds.Lo...), append(append([]float64(nil), bounds.RowHi...), bounds.Hi...)
		var equations, sides [][]float64
		var e, s []float64
		empty := false
		for r := range rows {
			switch {
			case lo[r] > hi[r]:
				empty = true
			case lo[r] == hi[r]:
				equations, e = append(equations, row(r)), append(e, lo[r])
			default:
				if !math.IsInf(lo[r], 0) {
					sides, s = append(sides, row(r)), append(s, lo[r])
				}
				if !math.IsInf(hi[r], 0) {
					sides, s = append(sides, row(r)), append(s, hi[r])
				}
			}
		}
		if empty {
			continue
		}
		inside := func(z []float64) bool {
			for r := range rows {
				v, size := 0.0, 1.0
				for j, c := range row(r) {
					v += c * z[j]
					size += math.Abs(c * z[j])
				}
				if v < lo[r]-1e-8*size || v > hi[r]+1e-8*size {
					return false
				}
			}
			return true
		}
		at, null := plane(equations, e, sys.N)
		if at == nil { // they contradict each other
			continue
		}
		if len(null) > 3 {
			return 0, false
		}
		// In coordinates w of the plane, z = at + null w; sides that are constant there end nothing of it.
		on := func(v []float64) []float64 {
			c := make([]float64, len(null))
			for k, d := range null {
				c[k] = linalg.Dot(v, d)
			}
			return c
		}
		curvature, slope := restricted(dense, cost, at, null)
		var normals [][]float64
		var ends []float64
		for k, side := range sides {
			if normal := on(side); linalg.Norm(normal) > 1e-9*linalg.Norm(side) {
				normals, ends = append(normals, normal), append(ends, s[k]-linalg.Dot(side, at))
			}
		}
		var held [][]float64
		var ws []float64
		var visit func(from int)
		visit = func(from int) {
			w, free := []float64{}, 0
			if len(null) > 0 {
				w, free = stationaryOn(curvature, slope, held, ws)
			}
			if w != nil {
				z := slices.Clone(at)
				for k, d := range null {
					linalg.Axpy(z, w[k], d)
				}
				if inside(z) {
					v := quad.Const
					for j, c := range cost {
						v += c * z[j]
						for i := range z {
							v += 0.5 * z[i] * dense.At(i, j) * z[j]
						}
					}
					best = math.Min(best, v)
				}
			}
			if free == 0 {
				return
			}
			for k := from; k < len(normals); k++ {
				held, ws = append(held, normals[k]), append(ws, ends[k])
				visit(k + 1)
				held, ws = held[:len(held)-1], ws[:len(ws)-1]
			}
		}
		visit(0)
	}
	return best, true
}

// plane is a point of E z = e, nil where there is none, and an orthonormal basis of the directions in it.
func plane(equations [][]float64, e []float64, n int) (z []float64, null [][]float64) {
	a := mat.NewDense(max(1, len(equations)), n, nil)
	for i, r := range equations {
		a.SetRow(i, r)
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDFull) {
		return nil, nil
	}
	rank := svd.Rank(1e-9)
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	values := svd.Values(nil)
	z = make([]float64, n)
	for k := range rank {
		d := 0.0
		for i, t := range e {
			d += u.At(i, k) * t
		}
		linalg.Axpy(z, d/values[k], mat.Col(nil, k, &v))
	}
	for i, r := range equations {
		if got := linalg.Dot(r, z); math.Abs(got-e[i]) > 1e-7*(1+math.Abs(e[i])) {
			return nil, nil
		}
	}
	for k := rank; k < n; k++ {
		null = append(null, mat.Col(nil, k, &v))
	}
	return z, null
}

// restricted are the Hessian and the gradient of 1/2 z'Qz + c'z at a point of a plane along the directions in it.
func restricted(q *mat.SymDense, c, z []float64, null [][]float64) (hess *mat.SymDense, grad []float64) {
	n := len(c)
	slope := matVec(q, mat.NewVecDense(n, z)).RawVector().Data
	linalg.Axpy(slope, 1, c)
	hess = mat.NewSymDense(max(1, len(null)), nil)
	for k, d := range null {
		grad = append(grad, linalg.Dot(slope, d))
		image := matVec(q, mat.NewVecDense(n, d)).RawVector().Data
		for i := range k + 1 {
			hess.SetSym(i, k, linalg.Dot(image, null[i]))
		}
	}
	return hess, grad
}

// stationaryOn is a point of the plane E z = e at which the gradient of 1/2 z'Qz + c'z is normal to it, and the dimension of the plane; nil where there is none.
func stationaryOn(q *mat.SymDense, c []float64, equations [][]float64, e []float64) (z []float64, free int) {
	z, null := plane(equations, e, len(c))
	if free = len(null); z == nil || free == 0 {
		return z, 0
	}
	hess, grad := restricted(q, c, z, null)
	var inner mat.SVD
	if !inner.Factorize(hess, mat.SVDThin) || inner.Rank(1e-9) < free {
		return nil, free
	}
	var step mat.Dense
	inner.SolveTo(&step, mat.NewVecDense(free, grad), free)
	for k, d := range null {
		linalg.Axpy(z, -step.At(k, 0), d)
	}
	return z, free
}

func matVec(a mat.Matrix, v mat.Vector) *mat.VecDense {
	var out mat.VecDense
	out.MulVec(a, v)
	return &out
}

// Where f is not convex, the optimum is that of all faces of all branches, and its proof shows it.
func TestConcaveObjectivesAreProved(t *testing.T) {
	rng := members.Rand(t, 12)
	proved, open, short, split, nodes, forged := 0, 0, 0, 0, int64(0), map[string]int{}
	number := regexp.MustCompile(`-?\d+\.?\d*(e[+-]?\d+)?`)
	for k := range 30 {
		is := features{curved: true, equation: rng.IntN(4) == 0, upperRow: rng.IntN(2) == 0, coupled: rng.IntN(3) == 0, followers: rng.IntN(3) == 0}
		p := curvedDown(rng, is)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if sys.Objective.Convex {
			continue
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 20000})
		if err != nil {
			t.Fatal(err)
		}
		want, ok := faces(t, sys)
		if !ok {
			continue
		}
		split++
		if r.Outcome == Infeasible && math.IsInf(want, 1) {
			continue
		}
		if r.Outcome == LimitReached && r.Bound <= want+1e-8*(1+math.Abs(want)) { // halving boxes may take more than the budget
			t.Logf("case %d, %+v: bound %.12g, least value %.12g after %d nodes", k, is, r.Bound, want, r.Nodes)
			open++
			continue
		}
		if r.Outcome != Proved {
			t.Errorf("case %d, %+v: %v, %s, least value %g", k, is, r.Outcome, r.Why, want)
			continue
		}
		proved, nodes = proved+1, nodes+r.Nodes
		if math.Abs(r.Best.F-want) > 2e-6*(1+math.Abs(want)) || r.Bound > want+1e-8*(1+math.Abs(want)) {
			t.Errorf("case %d, %+v: F %.12g, bound %.12g, least value %.12g", k, is, r.Best.F, r.Bound, want)
		}
		var out bytes.Buffer
		if err := WriteProof(context.Background(), &out, sys, r.State, Statement{Bound: r.Claim(), Accepts: certify.NewTreeVerifier(p, "").Take}); err != nil { // the engine may fail at a leaf from other starts than the search's: the one who asked for the proof is told
			t.Logf("case %d, %+v: %v", k, is, err)
			short++
			continue
		}
		text := out.Bytes()
		for range 10 {
			// Another weight, vector or place of a branch: what is accepted is true.
			lines := bytes.Split(text, []byte("\n"))
			at := rng.IntN(min(len(lines)-1, 8))
			places := number.FindAllIndex(lines[at], -1)
			if len(places) == 0 {
				continue
			}
			place := places[rng.IntN(len(places))]
			lines[at] = append(append(append([]byte(nil), lines[at][:place[0]]...), fmt.Sprintf("%g", 2*rng.NormFloat64())...), lines[at][place[1]:]...)
			report, err := certify.VerifyTree(p, bytes.NewReader(bytes.Join(lines, []byte("\n"))), "")
			switch {
			case err != nil:
				forged["refused"]++
			case report.Bound > want+1e-8*(1+math.Abs(want)):
				t.Fatalf("proved %.17g, least value %.17g:\n%s", report.Bound, want, lines[at])
			case report.Bound < r.Claim():
				forged["shows less"]++
			default:
				forged["shows as much"]++
			}
		}
		report, err := certify.VerifyTree(p, bytes.NewReader(text), "")
		if err != nil || report.Bound < r.Claim() && report.Bound > r.Claim()-1e-6*(1+math.Abs(want)) { // rounding may leave the weights of a leaf short of what they are to show: the one who asked for the proof is told
			t.Logf("case %d, %+v: %v", k, is, err)
			short++
			continue
		}
		if report.Bound < r.Claim() || report.Bound > want+1e-8*(1+math.Abs(want)) {
			t.Errorf("case %d, %+v: claimed %.17g, proved %.17g, least value %.12g", k, is, r.Claim(), report.Bound, want)
		}
	}
	t.Logf("forged: %v", forged)
	if forged["refused"] == 0 {
		t.Error("no forgery was refused")
	}
	t.Logf("%d with an f that is not convex, %d proved, %d nodes", split, proved, nodes)
	if proved < 10 || short > proved/10 || open > split/10 {
		t.Errorf("%d proved, %d proofs short of it, %d out of budget", proved, short, open)
	}
}

// Boxes far wider than the answers leave no more of the gap to rounding than narrow ones: what a relaxation leaves open is as the ranges of its own node.
func TestWideBoxesLeaveNoRounding(t *testing.T) {
	rng := members.Rand(t, 31)
	counted, proved, spent, short := 0, 0, 0, 0
	for k := range 8 {
		p := curvedDown(rng, features{curved: rng.IntN(2) == 0, coupled: rng.IntN(3) == 0})
		for j := range p.Dx {
			p.X.Lo[j], p.X.Hi[j] = -1e4, 1e4
			p.F.(*quadratic).set(j, j, 8)
		}
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		want, ok := faces(t, sys)
		if sys.Objective.Convex || !ok || !(math.Abs(want) < 100) {
			continue
		}
		counted++
		r, err := Solve(context.Background(), sys, Options{Nodes: 20000})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case r.Outcome == LimitReached && r.Nodes >= 20000: // halving wide boxes takes more than that of one in some hundred
			t.Logf("case %d: %v, %s, bound %.12g, least value %.12g", k, r.Outcome, r.Why, r.Bound, want)
			spent++
			continue
		case r.Outcome != Proved:
			t.Errorf("case %d: %v, %s, bound %.12g, least value %.12g", k, r.Outcome, r.Why, r.Bound, want)
			continue
		}
		proved++
		if math.Abs(r.Best.F-want) > 2e-6*(1+math.Abs(want)) || r.Claim() > want+1e-8*(1+math.Abs(want)) {
			t.Errorf("case %d: F %.12g, bound %.12g, least value %.12g", k, r.Best.F, r.Claim(), want)
		}
		var out bytes.Buffer
		if err := WriteProof(context.Background(), &out, sys, r.State, Statement{Bound: r.Claim(), Accepts: certify.NewTreeVerifier(p, "").Take}); err != nil { // as above
			t.Logf("case %d: %v", k, err)
			short++
			continue
		}
		if report, err := certify.VerifyTree(p, &out, ""); err != nil || report.Bound < r.Claim() {
			t.Errorf("case %d: %v, claimed %.12g", k, err, r.Claim())
		}
	}
	t.Logf("%d of %d proved, %d proofs not written", proved, counted, short)
	if counted < 5 || spent > 1 || short > 1+proved/10 {
		t.Errorf("%d of %d proved, %d have spent their budget", proved, counted, spent)
	}
}

// Where a follower's constraints meet at an end of x its maps are on their edges, and by rounding outside of them: the search takes no ends from these that a proof cannot show.
func TestMapsOnEdgesShowTheirEnds(t *testing.T) {
	rng := members.Rand(t, 37)
	proved, none := 0, 0
	for k := range 240 {
		n := 1 + rng.IntN(2)
		f, g := newQuadratic(n, 2), newQuadratic(n, 2)
		f.l[n+1] = rng.NormFloat64()
		f.set(n+1, n+1, -1-rng.Float64())
		g.set(n, n, 1+rng.Float64())
		g.set(n+1, n+1, 1+rng.Float64())
		g.set(n, n+1, rng.Float64()-0.5)
		g.l[n], g.l[n+1] = rng.NormFloat64(), -1-rng.Float64()
		rows := &problem.Rows{A: sparse.Empty(n), B: sparse.Empty(2), Kind: make([]problem.Kind, 3), Rhs: make([]float64, 3)}
		x := &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n)}
		for c := range n {
			f.l[c] = rng.NormFloat64()
			g.set(c, n+1, 2*rng.NormFloat64())
			x.Lo[c], x.Hi[c] = -rng.Float64(), float64(1+rng.IntN(16))/16
			rows.Rhs[2] += x.Hi[c]
		}
		for j, v := range [3]float64{1, 1, -1} { // y >= 0, y_0 <= sum of hi - x
			rows.B.Append(j%2, v)
			for c := range n {
				rows.A.Append(c, float64(j/2))
			}
			rows.A.EndRow()
			rows.B.EndRow()
		}
		p := &problem.Problem{Name: "edges", Dx: n, Dy: 2, F: f, G: g, Rows: rows, X: x, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{Held: byBranches(sys, true), Nodes: 20000})
		if err != nil {
			t.Fatal(err)
		}
		want, ok := faces(t, sys)
		switch {
		case r.Outcome == NoBound:
			none++
			continue
		case r.Outcome != Proved || !ok || math.Abs(r.Best.F-want) > 2e-6*(1+math.Abs(want)):
			t.Fatalf("case %d: %v, least value %g", k, r.Outcome, want)
		}
		proved++
		var out bytes.Buffer
		if err := WriteProof(context.Background(), &out, sys, r.State, Statement{Bound: r.Claim(), Accepts: certify.NewTreeVerifier(p, "").Take}); err != nil {
			t.Errorf("case %d: %v", k, err)
			continue
		}
		if report, err := certify.VerifyTree(p, &out, ""); err != nil || report.Bound < r.Claim() || report.Bound > want+1e-8*(1+math.Abs(want)) {
			t.Errorf("case %d: %v, claimed %.12g, least value %.12g", k, err, r.Claim(), want)
		}
	}
	if t.Logf("%d proved, %d without a bound", proved, none); proved < 10 || none < 1 {
		t.Error("one of them is missing")
	}
}

// An f that curves down in y without bounds is proved where equations, or inequalities that together are some, and the curvature of g between points of these bound y: g may curve down along them, and numbers have all their digits.
func TestEquationsBoundAnswers(t *testing.T) {
	rng := members.Rand(t, 38)
	hidden, down, none, short := 0, 0, 0, 0
	for k := range 60 {
		nx, ny := 1+rng.IntN(2), 3
		f, g := newQuadratic(nx, ny), newQuadratic(nx, ny)
		together := rng.IntN(3) == 0 // two rows, and another against their sum, with numbers of few digits
		number := func() float64 {
			if v := rng.NormFloat64(); !together {
				return v
			} else {
				return math.Round(4*v) / 4
			}
		}
		rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
		row := func(kind problem.Kind, a, b []float64, side, sign float64) {
			for c, v := range a {
				rows.A.Append(c, sign*v)
			}
			for j, v := range b {
				rows.B.Append(j, sign*v)
			}
			rows.A.EndRow()
			rows.B.EndRow()
			rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, sign*side)
		}
		vector := func(n int) []float64 {
			out := make([]float64, n)
			for j := range out {
				out[j] = number()
			}
			return out
		}
		square := func(v []float64, by float64) {
			for i := range ny {
				for j := range i + 1 {
					g.set(nx+i, nx+j, g.m[(nx+i)*g.n+nx+j]+by*v[i]*v[j])
				}
			}
		}
		a, e := vector(nx), vector(ny)
		if together {
			hidden++
			d := vector(ny)
			e[0], d[0], d[1] = 1, 0, 1 // they do not depend on each other, and g curves along what both leave
			square([]float64{0, 0, 1}, 1)
			row(problem.AtMost, make([]float64, nx), d, 0, 1)
			for j := range d {
				d[j] = e[j] - d[j]
			}
			row(problem.AtMost, a, d, 1, 1)
			row(problem.AtMost, a, e, 1, -1)
		} else {
			row(problem.Equal, a, e, number(), 1)
			for j := range ny { // where g hardly curves y is so large that the truth is rounding
				unit := make([]float64, ny)
				unit[j] = 1
				square(unit, 0.1)
			}
		}
		row(problem.AtMost, vector(nx), vector(ny), 4, 1)
		for range 2 {
			square(vector(ny), 1)
		}
		facts := problem.Facts{JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}
		if !together && rng.IntN(2) == 0 {
			down++
			square(e, -2)
			facts.StrongConvexity = 1e-6
		}
		x := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx)}
		for c := range nx {
			x.Lo[c], x.Hi[c] = -1, 1
			for j := range ny {
				g.set(c, nx+j, number())
				f.set(c, nx+j, number())
			}
		}
		for j := range ny {
			f.l[nx+j], g.l[nx+j] = number(), number()
		}
		f.set(nx, nx, -1-rng.Float64())
		f.set(nx, nx+1, number())
		p := &problem.Problem{Name: "equations", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: x, Facts: facts}
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 20000})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome == NoBound {
			t.Logf("case %d: %s", k, r.Why)
			none++
			continue
		}
		if r.Outcome != Proved {
			t.Errorf("case %d: %v, %s", k, r.Outcome, r.Why)
			continue
		}
		want, ok := faces(t, sys)
		if !ok || math.Abs(r.Best.F-want) > 2e-6*(1+math.Abs(want)) {
			t.Errorf("case %d: F %.12g, least value %.12g", k, r.Best.F, want)
		}
		report, err := certify.VerifyTree(p, bytes.NewReader(proofOf(t, sys, r)), "")
		switch {
		case err != nil || report.Bound > want+1e-8*(1+math.Abs(want)):
			t.Errorf("case %d: %v, %+v proved, least value %.12g", k, err, report, want)
		case report.Bound < r.Claim(): // wide boxes leave rounding, where g hardly curves all the more
			short++
		}
	}
	if none > 3 || short > 3 {
		t.Errorf("%d without a bound, %d proofs short of what is claimed", none, short)
	}
	if hidden == 0 || down == 0 {
		t.Errorf("%d with inequalities that are equations, %d that curve down", hidden, down)
	}
}

// Where slopes of maps are too many for a linear program, they are the shortest that equations have, and proofs have lines for all of them. F at many x, whose answer Newton's method on the one equation gives, is no less than what is
// proved.
func TestMapsOfManySlopes(t *testing.T) {
	rng := members.Rand(t, 39)
	const nx, ny = 24, 20
	f, g := newQuadratic(nx, ny), newQuadratic(nx, ny)
	a, e := make([]float64, nx), make([]float64, ny)
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny), Kind: []problem.Kind{problem.Equal, problem.AtMost}, Rhs: []float64{0, 50}}
	for c := range a {
		a[c] = rng.NormFloat64()
		f.set(c, c, 20)
		rows.A.Append(c, a[c])
		g.set(c, nx+rng.IntN(ny), rng.NormFloat64())
	}
	for j := range e {
		e[j] = rng.NormFloat64()
		f.l[nx+j], g.l[nx+j] = rng.NormFloat64(), rng.NormFloat64()
		g.set(nx+j, nx+j, 1)
		rows.B.Append(j, e[j])
	}
	f.set(nx, nx, -0.02)
	rows.A.EndRow()
	rows.B.EndRow()
	rows.A.EndRow()
	rows.B.AppendAll(rows.B.Row(0))
	rows.B.EndRow()
	x := &problem.Set{Lo: slices.Repeat([]float64{-0.1}, nx), Hi: slices.Repeat([]float64{0.1}, nx)}
	p := &problem.Problem{Name: "slopes", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: x, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
	sys, err := kkt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Solve(context.Background(), sys, Options{Nodes: 2000})
	if err != nil || r.Outcome == NoBound {
		t.Fatalf("%v, %v, %s", err, r.Outcome, r.Why)
	}
	report, err := certify.VerifyTree(p, bytes.NewReader(proofOf(t, sys, r)), "")
	if err != nil || !(report.Bound >= r.Claim()-1e-6*(1+math.Abs(r.Claim()))) { // wide boxes leave rounding
		t.Fatalf("%v, claimed %v", err, r.Claim())
	}
	for range 1000 {
		at, y, force := make([]float64, nx), make([]float64, ny), make([]float64, ny)
		side, square := 0.0, 0.0
		for c := range at {
			at[c] = 0.2*rng.Float64() - 0.1
			side += a[c] * at[c]
		}
		g.GradY(force, at, y)
		for j := range e {
			side += e[j] * force[j]
			square += e[j] * e[j]
		}
		for j := range y {
			y[j] = side/square*e[j] - force[j]
		}
		if v := f.Value(at, y); v < report.Bound {
			t.Fatalf("F is %v at %v, and %v is proved", v, at, report.Bound)
		}
	}
}
