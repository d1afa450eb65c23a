package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// byFaces is the minimizer of 1/2 y'Qy + c'y over B y >= r (= where equal) by
// trying every set of rows as active: the truth, for a few rows. ok is false
// where no set is right, or the system of one that matters is nearly singular.
func byFaces(q, c []float64, b [][]float64, r []float64, equal map[int]bool) (y []float64, ok bool) {
	n, m := len(c), len(b)
	for set := 0; set < 1<<m; set++ {
		var rows []int
		skip := false
		for i := range m {
			switch {
			case set>>i&1 == 1:
				rows = append(rows, i)
			case equal[i]:
				skip = true
			}
		}
		if skip || len(rows) > n {
			continue
		}
		k := n + len(rows)
		kkt, side := mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
		for i := range n {
			for j := range n {
				kkt.Set(i, j, q[i*n+j])
			}
			side.SetVec(i, -c[i])
		}
		for t, i := range rows {
			for j, v := range b[i] {
				kkt.Set(n+t, j, v)
				kkt.Set(j, n+t, -v)
			}
			side.SetVec(n+t, r[i])
		}
		var lu mat.LU
		lu.Factorize(kkt)
		if lu.Cond() > 1e9 {
			continue
		}
		var z mat.VecDense
		if lu.SolveVecTo(&z, false, side) != nil {
			continue
		}
		right := true
		for t, i := range rows {
			right = right && (equal[i] || z.AtVec(n+t) >= -1e-10)
		}
		for i, row := range b {
			s := -r[i]
			for j, v := range row {
				s += v * z.AtVec(j)
			}
			right = right && s >= -1e-10 && (!equal[i] || s <= 1e-10)
		}
		if right {
			return mat.Col(nil, 0, z.SliceVec(0, n)), true
		}
	}
	return nil, false
}

// Solutions, where rows are nearly parallel, repeat each other, close a box to a
// point or hold weakly, against the enumeration of faces.
func TestAgainstEnumerationOfFaces(t *testing.T) {
	compared := 0
	for seed := uint64(0); seed < 1500; seed++ {
		rng := rand.New(rand.NewPCG(seed, 71))
		n := 1 + rng.IntN(3)
		q, c := make([]float64, n*n), make([]float64, n)
		for k := 0; k <= n; k++ {
			row := normal(rng, n)
			for i, u := range row {
				linalg.Axpy(q[i*n:(i+1)*n], u, row)
			}
		}
		for i := range c {
			q[i*n+i] += 0.5
			c[i] = 3 * rng.NormFloat64()
		}
		var b [][]float64
		var r []float64
		equal := map[int]bool{}
		for i := range rng.IntN(6) {
			row := make([]float64, n)
			switch rng.IntN(5) {
			case 0:
				row[rng.IntN(n)] = float64(1 - 2*rng.IntN(2))
			case 1:
				if i > 0 { // nearly parallel to another, by an angle far above rounding
					angle := math.Pow(10, -2-3*rng.Float64())
					for j := range row {
						row[j] = b[i-1][j] + angle*rng.NormFloat64()
					}
					break
				}
				fallthrough
			case 2:
				if i > 0 { // the same again, or the other way: a slab, or a plane
					sign := float64(1 - 2*rng.IntN(2))
					for j := range row {
						row[j] = sign * b[i-1][j]
					}
					b, r = append(b, row), append(r, sign*r[i-1]-float64(rng.IntN(2))*(1-sign))
					continue
				}
				fallthrough
			default:
				copy(row, normal(rng, n))
			}
			b, r = append(b, row), append(r, rng.NormFloat64()-1)
			equal[i] = rng.IntN(5) == 0 && n > 1
		}
		want, ok := byFaces(q, c, b, r, equal)
		if !ok {
			continue
		}
		compared++
		p := small(q, c, b, r, equal)
		p.Facts.StrongConvexity = 0.5
		for name, solver := range map[string]Solver{"alm": newALM(defaultALM()), "quadratic": newQuadraticSolver(defaultQuadratic())} {
			s := solve(solver, p, G(p, nil))
			if d := distance(s.Y, want); s.Status != Solved || d > 1e-6*math.Max(1, linalg.NormInf(want)) {
				t.Errorf("seed %d, %s: %v: %s: y %v, by faces %v", seed, name, s.Status, s.Reason, s.Y, want)
			}
		}
	}
	t.Logf("%d compared", compared)
	if compared < 700 {
		t.Errorf("only %d problems had an answer", compared)
	}
}

// The error bound holds wherever a solve is cut short, and is attained: for
// g = mu/2 |y - c|^2 without rows it is the distance itself.
func TestErrorBoundHoldsAndIsSharp(t *testing.T) {
	sharpest := math.Inf(1)
	for seed := uint64(0); seed < 200; seed++ {
		rng := rand.New(rand.NewPCG(seed, 83))
		n := 1 + rng.IntN(4)
		mu := math.Pow(10, 4*rng.Float64()-2)
		q, c := make([]float64, n*n), normal(rng, n)
		for i := range c {
			q[i*n+i] = mu
			if seed%2 == 1 {
				q[i*n+i] *= 1 + float64(i)
			}
		}
		var b [][]float64
		var r []float64
		if seed%4 > 1 {
			b, r = append(b, normal(rng, n)), append(r, rng.NormFloat64())
		}
		want, ok := byFaces(q, c, b, r, nil)
		if !ok {
			t.Fatalf("seed %d: no face is right", seed)
		}
		p := small(q, c, b, r, nil)
		p.Facts = problem.Facts{StrongConvexity: mu, Smoothness: 3 * mu * float64(n), QuadraticInY: true}
		settings := defaultAGD()
		settings.MaxIterations = 1 + rng.IntN(20)
		s := newAGD(settings).Solve(context.Background(), p, G(p, nil), []float64{}, nil)
		off := distance(s.Y, want)
		if off > s.ErrorBound*(1+1e-9)+1e-14 {
			t.Errorf("seed %d: off by %g, bound %g", seed, off, s.ErrorBound)
		}
		if off > 1e-9 {
			sharpest = math.Min(sharpest, s.ErrorBound/off)
		}
	}
	if sharpest > 1.001 {
		t.Errorf("the sharpest bound is %g times the error", sharpest)
	}
}
