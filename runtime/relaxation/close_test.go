package relaxation_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/relaxation"
)

// margins is a support vector machine whose leader sets the slack budgets c; the follower may be drawn towards K c.
const margins = `model margins
param n: int
param m: int
param p: int
data X: matrix[n, p]
data V: matrix[m, p]
data K: matrix[p, n]
upper {
  var c: vector[n] in box(0.0001, 50)
  minimize mean(exp(1 - V * w)) + 0.00001 * sumsq(c)
}
lower {
  var w: vector[p]
  minimize 0.5 * sumsq(w - K * c)
  subject to
    margin: X * w >= 1 - c
}
`

func marginsProblem(t *testing.T, rng *rand.Rand, towards float64) *problem.Problem {
	t.Helper()
	n, m, p := 12+rng.IntN(30), 4+rng.IntN(12), 2+rng.IntN(5)
	matrix := func(rows, cols int, scale float64) [][]float64 {
		out := make([][]float64, rows)
		for i := range out {
			out[i] = make([]float64, cols)
			for j := range out[i] {
				out[i][j] = scale * rng.NormFloat64()
			}
		}
		return out
	}
	model, err := runtime.Compile("margins.blv", margins)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := model.Bind(runtime.Data{"n": n, "m": m, "p": p, "X": matrix(n, p, 1), "V": matrix(m, p, 1), "K": matrix(p, n, towards)}, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return bound.Numeric
}

// TestClose: F is no lower than the relaxation and no higher than with the answer to the relaxation's minimizer. Where the penalty is exact the end is a point of the follower's KKT system, and its multipliers make up the
// gradients of f with the signs of strong stationarity.
func TestClose(t *testing.T) {
	rng := members.Rand(t, 61)
	apart, plain, ends, gains := 0, 0, 0, 0
	for k := range 40 {
		drawn := k%2 == 1 // the loss grows with the square of what y is off the answer: there no price need be enough
		towards := 0.0
		if drawn {
			towards = 0.02
		}
		p := marginsProblem(t, rng, towards)
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		solver, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		follower := func(x []float64) (y, lambda []float64, err error) {
			z, status := solver.Solve(t.Context(), x)
			if status != activeset.Optimal {
				return nil, nil, nil
			}
			return s.Y(z), s.Lambda(z), nil
		}
		x := make([]float64, p.Dx)
		for j := range x {
			x[j] = 1
		}
		y, _, _ := follower(x)
		r := relaxation.New(p)
		least, err := r.Minimize(t.Context(), x, y)
		if err != nil || least == nil {
			t.Fatalf("member %d: no minimizer: %v", k, err)
		}
		answer, _, _ := follower(least.X)
		if linalg.Distance(answer, least.Y) <= 1e-6*(1+linalg.Norm(least.Y)) {
			continue // nothing to close
		}
		if apart++; !drawn {
			plain++
		}
		bound, begin := least.F, p.F.Value(least.X, answer)
		lowest, end, err := r.Close(t.Context(), least, follower)
		if err != nil || lowest == nil {
			t.Fatalf("member %d: %v, %v", k, lowest, err)
		}
		answer, _, _ = follower(lowest)
		f := p.F.Value(lowest, answer)
		if !(f >= bound-1e-9*(1+math.Abs(bound))) || !(f <= begin+1e-12*(1+math.Abs(begin))) {
			t.Errorf("member %d: F %v at the end, %v at the relaxation's minimizer, which is %v", k, f, begin, bound)
		}
		if f < begin-0.01*(begin-bound) {
			gains++
		}
		if end == nil || drawn {
			continue
		}
		ends++
		answer, lambda, _ := follower(end.X)
		if far := linalg.Distance(answer, end.Y); far > 1e-5*(1+linalg.Norm(answer)) {
			t.Errorf("member %d: y is %g off the follower's answer", k, far)
			continue
		}
		gx, gy := make([]float64, p.Dx), make([]float64, p.Dy)
		p.F.ValueGrad(gx, gy, end.X, end.Y)
		size := linalg.NormInf(end.Lower) + linalg.NormInf(gy) + linalg.NormInf(gx)
		p.Rows.A.AddMulVecT(gx, 1, end.Lower)
		p.Rows.B.AddMulVecT(gy, -1, end.Lower)
		for j, g := range gx {
			at := end.X[j]
			if low, high := at <= p.X.Lo[j]*(1+1e-9), at >= p.X.Hi[j]*(1-1e-9); math.Abs(g) > 1e-6*size && (!low && !high || low && g < 0 || high && g > 0) {
				t.Errorf("member %d: grad_x f leaves %g of x[%d] = %v", k, g, j+1, at)
			}
		}
		if left := linalg.NormInf(gy); left > 1e-6*size {
			t.Errorf("member %d: grad_y f leaves %g of %g", k, left, size)
		}
		slacks, unique := make([]float64, p.Rows.Len()), true // multipliers where the normals of rows that hold are independent; else the round's may be others
		var normals linalg.QR
		normals.Reset(p.Dy)
		for i := range slacks {
			if slacks[i] = p.Rows.Rhs[i] - p.Rows.A.RowDot(i, end.X) + p.Rows.B.RowDot(i, end.Y); slacks[i] > 1e-5 || !unique {
				continue
			}
			normal, coef, rest := make([]float64, p.Dy), make([]float64, normals.Size()+1), make([]float64, p.Dy)
			p.Rows.B.AddRow(normal, i, 1)
			left := normals.Split(normal, coef, rest)
			if unique = left > 1e-9*linalg.Norm(normal); unique {
				normals.Push(coef, rest, left)
			}
		}
		for i, l := range end.Lower {
			slack := slacks[i]
			if slack > 1e-5 && math.Abs(l) > 1e-6*size || unique && lambda[i] < 1e-7 && l < -1e-6*size {
				t.Errorf("member %d: row %d has slack %g, multiplier %g, and %g in the relaxation", k, i+1, slack, lambda[i], l)
			}
		}
	}
	t.Logf("%d minimizers of relaxations that the follower answers with another y, %d with a lower F; of %d with an exact penalty %d closed", apart, gains, plain, ends)
	if plain == 0 || ends < plain/3 || gains < apart/2 {
		t.Errorf("of %d minimizers %d gained, of %d with an exact penalty %d closed", apart, gains, plain, ends)
	}
}
