package runtime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
)

// Where the gradient of f is exactly 0, at x = 0 for cosines of an answer that is b x between its bounds, all multipliers are 0, and the point is kept: what a linear program without an objective has
// for some is rounding, beside which f has no terms. F is that of the closed form.
func TestGradientThatIsZero(t *testing.T) {
	for seed := range members.SeedsOf(t, 4, 40) {
		rng := rand.New(rand.NewPCG(seed, 33))
		n := 20 + rng.IntN(81)
		a, b := make([]float64, n), make([]float64, n)
		for j := range a {
			a[j], b[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		model, err := Compile("m.blv", "model m\nparam n: int\ndata a: vector[n]\ndata b: vector[n]\nupper {\n  var x: real in box(-6, 6)\n  minimize sum(a .* cos(3 * y)) / n + 0.02 * x^2\n}\n"+
			"lower {\n  var y: vector[n] in box(-1, 2)\n  minimize sumsq(y - b * x)\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(Data{"n": n, "a": a, "b": b}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{Start: Values{{Name: "x", Data: []float64{0}}}, Starts: 1})
		if err != nil {
			t.Fatal(err)
		}
		x, _ := r.Upper.Variables.Get("x")
		f := 0.02 * x.Data[0] * x.Data[0]
		for j := range a {
			f += a[j] * math.Cos(3*min(max(b[j]*x.Data[0], -1), 2)) / float64(n)
		}
		if r.Status != Solved || !r.onSystem() || math.Abs(float64(r.Upper.Objective)-f) > 1e-12*(1+math.Abs(f)) {
			t.Errorf("seed %d: %s, %s, F %v at %v, where it is %v", seed, r.Status, fmt.Sprint(r.Reason, "; ", r.Global.Why), r.Upper.Objective, x.Data[0], f)
		}
	}
}

// Budget shares that are to explain purchases: a buyer of week s spends the share a_i of its income m_s on good i, at p_si each, so that F is a separable quadratic of the shares, whose optimum bisection of the multiplier
// of sum(a) = 1 gives. The adjoint's product with d2g/dydx vanishes there; differences of gradients leave no digits of it, and no error beside grad f.
func TestProductsOfTheCertificateThatVanish(t *testing.T) {
	for seed := range members.SeedsOf(t, 4, 40) {
		rng := rand.New(rand.NewPCG(seed, 34))
		goods, weeks := 2+rng.IntN(3), 2+rng.IntN(3)
		price, seen, income := make([][]float64, weeks), make([][]float64, weeks), make([]float64, weeks)
		curve, slope := make([]float64, goods), make([]float64, goods)
		f := 0.0
		for s := range price {
			price[s], seen[s], income[s] = make([]float64, goods), make([]float64, goods), 5+5*rng.Float64()
			for i := range goods {
				price[s][i], seen[s][i] = 0.5+2.5*rng.Float64(), 2*rng.Float64()
				each := income[s] / price[s][i]
				curve[i] += each * each
				slope[i] += each * seen[s][i]
				f += seen[s][i] * seen[s][i]
			}
		}
		shares := func(nu float64) (a []float64, sum float64) {
			for i := range goods {
				a = append(a, min(max((slope[i]-nu)/curve[i], 0.01), 1))
				sum += a[i]
			}
			return a, sum
		}
		lo, hi := -1e4, 1e4
		for range 200 {
			if _, sum := shares((lo + hi) / 2); sum > 1 {
				lo = (lo + hi) / 2
			} else {
				hi = (lo + hi) / 2
			}
		}
		a, _ := shares(hi)
		for i := range goods {
			f += curve[i]*a[i]*a[i] - 2*slope[i]*a[i]
		}
		model, err := Compile("m.blv", fmt.Sprintf("model m\nset week = 1..%d\nset good = 1..%d\ndata p: [week, good]\ndata income: [week]\ndata seen: [week, good]\n"+
			"upper {\n  var a: [good] in box(0.01, 1)\n  minimize sumsq(y - seen)\n  subject to sum(a) == 1\n}\n"+
			"lower buyer[s in week] {\n  var y: [good] in box(0.001, inf)\n  maximize sum(i in good: a[i] * log(y[i]))\n  subject to sum(i in good: p[s, i] * y[i]) <= income[s]\n}\n", weeks, goods))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(Data{"p": price, "income": income, "seen": seen}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if found := float64(r.Upper.Objective); r.Status != Solved || !r.onSystem() || math.Abs(found-f) > 1e-6*f {
			t.Errorf("seed %d: %s, F %v, the optimum is %v: %s", seed, r.Status, found, f, fmt.Sprint(r.Reason, "; ", r.Global.Why))
		}
	}
}

// At x = 0 and y = 0 terms 2 log1pexp(u) + 2 log1pexp(-u) of an entry of y cancel in grad g, while their curvature, which is 1 beside that of a random matrix, does not: F' there is -c'H^-1 e_1 of an F = c'y that leads down to x = 0.
func TestTermsThatCancelAtZero(t *testing.T) {
	t.Parallel()
	tried, unsolved := 0, 0
	for seed := range members.SeedsOf(t, 10, 100) {
		rng := rand.New(rand.NewPCG(seed, 35))
		n := 2 + rng.IntN(3)
		root, h := mat.NewDense(n, n, nil), mat.NewSymDense(n, nil)
		for i := range n {
			for j := range n {
				root.Set(i, j, 2*rng.NormFloat64())
			}
		}
		h.SymOuterK(1, root)
		for j := range n {
			h.SetSym(j, j, h.At(j, j)+0.5)
		}
		curved := mat.NewSymDense(n, nil)
		curved.CopySym(h)
		curved.SetSym(0, 0, h.At(0, 0)+1)
		c, e, answer := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		e.SetVec(0, -1)
		c.SetVec(1+rng.IntN(n-1), 3)
		if err := answer.SolveVec(curved, e); err != nil {
			t.Fatal(err)
		}
		way := mat.NewVecDense(n, nil)
		if err := way.SolveVec(curved, c); err != nil {
			t.Fatal(err)
		}
		slope := mat.Dot(c, answer)
		if slope < 0 {
			c.ScaleVec(-1, c)
			slope = -slope
		}
		model, err := Compile("m.blv", fmt.Sprintf("model m\ndata H: matrix[%[1]d, %[1]d]\ndata c: vector[%[1]d]\nupper {\n  var x: real in box(0, 3)\n  minimize c' * y\n}\n"+
			"lower {\n  var y: vector[%[1]d]\n  minimize 0.5 * y' * H * y + 2 * log1pexp(x + y[1]) + 2 * log1pexp(-x - y[1])\n}\n", n))
		if err != nil {
			t.Fatal(err)
		}
		rows := make([][]float64, n)
		for i := range rows {
			rows[i] = mat.Row(nil, i, h)
		}
		p, err := model.Bind(Data{"H": rows, "c": c.RawVector().Data}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, oracle := range []string{"face", "value", "difference"} {
			r, err := p.Eval(context.Background(), Values{{Name: "x", Data: []float64{0}}}, Options{Oracle: oracle})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := r.Upper.Hypergradient.Get("x")
			if !ok {
				t.Errorf("seed %d: no F' by %s: %s, %s", seed, oracle, r.Status, r.Reason)
				continue
			}
			if off := math.Abs(got.Data[0] - slope); off > 1e-8*slope+float64(r.Stationarity.GradientError) {
				t.Errorf("seed %d: F' = %v by %s, and is %v", seed, got.Data[0], oracle, slope)
			}
			if e := float64(r.Stationarity.GradientError); e > 1e-6*mat.Norm(way, 2) { // which differences find, and are exact by; F' is its first entry
				t.Errorf("seed %d: F' = %v by %s has an error of %v", seed, slope, oracle, e)
			}
		}
		r, err := p.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if tried++; r.Status != Solved {
			unsolved++ // what is left of a y of 1e-16 is all rounding
			t.Logf("seed %d: %s, %s", seed, r.Status, r.Reason)
		} else if math.Abs(float64(r.Upper.Objective)) > 1e-9 {
			t.Errorf("seed %d: F = %v, and 0 at x = 0 is the least", seed, r.Upper.Objective)
		}
	}
	if unsolved > members.Misses(tried, 0.05) {
		t.Errorf("%d of %d are not solved", unsolved, tried)
	}
}
