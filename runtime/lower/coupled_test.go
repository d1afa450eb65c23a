package lower

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// enclosed is a quadratic whose slopes are known with their rounding.
type enclosed struct{ *quadratic }

func (g enclosed) Clone() problem.Function {
	return enclosed{g.quadratic.Clone().(*quadratic)}
}

// SlopeY implements problem.Rounded.
func (g enclosed) SlopeY(direction, x, y []float64) (lo, hi float64, ok bool) {
	off := 0.0
	for j, d := range direction {
		if d == 0 {
			continue
		}
		sum, terms := g.c[j], math.Abs(g.c[j])
		for k, v := range y {
			sum += g.q[j*g.n+k] * v
			terms += math.Abs(g.q[j*g.n+k] * v)
		}
		lo += d * sum
		off += float64(g.n+2) * tolerance.Roundoff * math.Abs(d) * terms
	}
	return lo - off, lo + off, true
}

// minimizerOverBounds is the minimizer of 1/2 y'Qy + c'y over y >= 0 by trying every set of bounds, in 400 bits, and how far from it
// forces off by a part `share` of their terms leave each entry.
func minimizerOverBounds(q, c []float64, share float64) (y, open []float64) {
	n := len(c)
	num := func(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }
	for set := range 1 << n {
		var free []int
		for j := range n {
			if set>>j&1 == 1 {
				free = append(free, j)
			}
		}
		m := len(free)
		a := make([][]*big.Float, m) // [Q_FF | -c_F | I]
		for s, j := range free {
			a[s] = make([]*big.Float, 2*m+1)
			for t, k := range free {
				a[s][t] = num(q[j*n+k])
				a[s][m+1+t] = num(0)
			}
			a[s][m], a[s][m+1+s] = num(-c[j]), num(1)
		}
		for s := range m { // Gauss and Jordan: the matrix is positive definite
			for t := 2 * m; t >= s; t-- {
				a[s][t].Quo(a[s][t], a[s][s])
			}
			for r := range m {
				if r == s {
					continue
				}
				by := new(big.Float).Copy(a[r][s])
				for t := s; t <= 2*m; t++ {
					a[r][t].Sub(a[r][t], new(big.Float).Mul(by, a[s][t]))
				}
			}
		}
		right := true
		exact := make([]*big.Float, n)
		for j := range exact {
			exact[j] = num(0)
		}
		for s, j := range free {
			exact[j] = a[s][m]
			right = right && exact[j].Sign() >= 0
		}
		terms := make([]float64, n)
		for j := range n {
			sum := num(c[j])
			terms[j] = math.Abs(c[j])
			for k := range n {
				term := new(big.Float).Mul(num(q[j*n+k]), exact[k])
				sum.Add(sum, term)
				v, _ := term.Float64()
				terms[j] = math.Max(terms[j], math.Abs(v))
			}
			right = right && (set>>j&1 == 1 || sum.Sign() >= 0)
		}
		if !right {
			continue
		}
		y, open = make([]float64, n), make([]float64, n)
		for j := range n {
			y[j], _ = exact[j].Float64()
		}
		for s, j := range free {
			for t, k := range free {
				inverse, _ := a[s][m+1+t].Float64()
				open[j] += math.Abs(inverse) * share * terms[k]
			}
		}
		return y, open
	}
	return nil, nil
}

// TestCoupledForces: an entry of y whose forces are smaller by up to thirty digits than those on others is found
// where curvature joins them, next to none or all but one of it, or the solve says that it is not.
func TestCoupledForces(t *testing.T) {
	const cases = 6000
	solved := 0
	for seed := range uint64(cases) {
		rng := rand.New(rand.NewPCG(seed, 62))
		n := 2 + rng.IntN(4)
		q, c, scale := make([]float64, n*n), make([]float64, n), make([]float64, n)
		least, wild := math.Inf(1), rng.IntN(2) == 0
		for j := range n {
			if scale[j] = 1; rng.IntN(2) == 0 {
				scale[j] = math.Pow(10, float64(rng.IntN(27)-10))
			}
			c[j] = -scale[j] * rng.NormFloat64()
			q[j*n+j] = 0.5 + rng.Float64()
			if rng.IntN(2) == 0 {
				q[j*n+j] *= scale[j]
			}
			least = math.Min(least, q[j*n+j]/float64(n))
		}
		for j := range n {
			for k := range j {
				joined := 2*rng.Float64() - 1
				if wild {
					joined = math.Copysign(1-math.Pow(10, -4*rng.Float64()), joined)
				}
				joined *= math.Sqrt(q[j*n+j]*q[k*n+k]) / float64(n)
				q[j*n+k], q[k*n+j] = joined, joined
			}
		}
		if wild {
			least *= 1e-4
		}
		want, open := minimizerOverBounds(q, c, 64*tolerance.Roundoff*float64(n))
		if want == nil {
			t.Fatalf("seed %d: the truth is not known", seed)
		}
		b, full := make([][]float64, n), make([]float64, n*n)
		for j := range b {
			b[j] = make([]float64, n)
			b[j][j] = 1
		}
		for i := range full {
			full[i] = 1
		}
		p := &problem.Problem{Dy: n, F: zero{}, G: enclosed{newQuadratic(0, n, q, nil, c)}, Rows: rowsOf(0, n, b, make([]float64, n), nil), X: unbounded(0),
			Facts: problem.Facts{StrongConvexity: least, QuadraticInY: true, FixedHessian: true, HessianPattern: sparse.FromDense(n, n, full)}}
		for _, name := range []string{Default, "sparse"} {
			solver, err := New(name, nil, p, 1)
			if err != nil {
				t.Fatal(err)
			}
			s := solver.Solve(context.Background(), p, G(p, nil), nil, nil)
			if s.Status != Solved {
				continue
			}
			solved++
			for j, v := range want {
				if !(math.Abs(s.Y[j]-v) <= 1e-6*v+open[j]+1e-12*slices.Max(want)) {
					t.Errorf("seed %d, %s: y_%d is %v, truly %v (+- %.1e): %v, truly %v; %s", seed, name, j, s.Y[j], v, open[j], s.Y, want, s.Reason)
					break
				}
			}
		}
	}
	if t.Logf("%d solved", solved); solved < 2*cases*95/100 {
		t.Errorf("%d of %d solved", solved, 2*cases)
	}
}

// TestDependenceInUnitsOfCurvature: y_0 >= 0 is no consequence of a row that ties y_0 to y_1, however much stiffer y_1 is: in
// units in which both curve alike the row is next to all along y_0.
func TestDependenceInUnitsOfCurvature(t *testing.T) {
	solved := 0
	for stiff := range 45 {
		// At y = (0, 24), with the multiplier -16384 of -3 y_0 + 2 y_1 = 48, and no force on the bound.
		q := []float64{2, 0, 0, math.Ldexp(1, stiff)}
		c := []float64{3 * 16384, -24*math.Ldexp(1, stiff) - 2*16384}
		p := &problem.Problem{Dy: 2, F: zero{}, G: enclosed{newQuadratic(0, 2, q, nil, c)}, X: unbounded(0),
			Rows:  rowsOf(0, 2, [][]float64{{1, 0}, {0, 1}, {-3, 2}}, []float64{0, 0, 48}, map[int]bool{2: true}),
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, HessianPattern: sparse.FromDense(2, 2, []float64{1, 1, 1, 1})}}
		for _, name := range []string{Default, "sparse"} {
			solver, err := New(name, nil, p, 1)
			if err != nil {
				t.Fatal(err)
			}
			s := solver.Solve(context.Background(), p, G(p, nil), nil, nil)
			if s.Status != Solved {
				continue
			}
			if solved++; slices.Contains(s.Dependent, 0) {
				t.Errorf("stiffness 2^%d, %s: the bound on y_0 counts as a consequence of the row: %+v", stiff, name, s)
			}
		}
	}
	if solved < 80 {
		t.Errorf("%d of 90 solved", solved)
	}
}
