package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime"
)

// equalities are the toys with equality rows of AiPOD and LV-HBA: a merely convex follower,
// whose answer is known in closed form, and strongly convex ones with numbers drawn as
// theirs (entries uniform in [0, 1]; 90 rows of the follower, 45 of the leader, 100 variables each).
func equalities(folder string) []instance {
	list := []instance{{"equality", "convex, 100", withNumbers(folder, "equality_convex.blv", runtime.Data{"n": 100}), 5, "closed form", ""}}
	for seed := uint64(1); seed <= 10; seed++ {
		numbers, least := equality(seed, 100, 90, 45)
		list = append(list, instance{"equality", fmt.Sprintf("seed %d", seed), withNumbers(folder, "equality.blv", numbers), least, "global, by one variable", ""})
	}
	return list
}

// equality draws an instance and finds its global optimum. y*(x) = K x with
// K = I - A'(AA')^-1 (A + H), and x = N z with B N = 0, so that F = sin(u'z) + log(1 + |M z|^2) with
// u = N'(c + K'd), M = (I + K) N. Where u'z = t the least |M z|^2 is t^2/s, s = u'(M'M)^-1 u: F is a
// function of t, the sine plus one that grows, and its least value is where t is at most a turn from 0.
func equality(seed uint64, n, rows, leaders int) (runtime.Data, float64) {
	random := rand.New(rand.NewPCG(seed, 3))
	draw := func(r, c int) *mat.Dense {
		m := mat.NewDense(r, c, nil)
		m.Apply(func(_, _ int, _ float64) float64 { return random.Float64() }, m)
		return m
	}
	A, H, B, c, d := draw(rows, n), draw(rows, n), draw(leaders, n), draw(n, 1), draw(n, 1)
	var AH, AA, multipliers, K, Kd, u, sum, M mat.Dense
	AH.Add(A, H)
	AA.Mul(A, A.T())
	must.Do(multipliers.Solve(&AA, &AH))
	K.Mul(A.T(), &multipliers)
	one := mat.NewDense(n, n, nil)
	for i := range n {
		one.Set(i, i, 1)
	}
	K.Sub(one, &K)
	var qr mat.QR
	qr.Factorize(B.T())
	var Q mat.Dense
	qr.QTo(&Q)
	N := Q.Slice(0, n, leaders, n)
	Kd.Mul(K.T(), d)
	Kd.Add(&Kd, c)
	u.Mul(N.T(), &Kd)
	sum.Add(&K, one)
	M.Mul(&sum, N)
	// s = |R^-T u|^2, M = Q R.
	qr.Factorize(&M)
	var R, w mat.Dense
	qr.RTo(&R)
	k := n - leaders
	must.Do(w.Solve(R.Slice(0, k, 0, k).T(), &u))
	s := math.Pow(mat.Norm(&w, 2), 2)
	F := func(t float64) float64 { return math.Sin(t) + math.Log1p(t*t/s) }
	// A fine grid, then golden section between the neighbours of its best point.
	const step = 1e-3
	best := 0.0
	for t := -2 * math.Pi; t <= 2*math.Pi; t += step {
		if F(t) < F(best) {
			best = t
		}
	}
	low, high := best-step, best+step
	for high-low > 1e-12 {
		left, right := high-0.618*(high-low), low+0.618*(high-low)
		if F(left) < F(right) {
			high = right
		} else {
			low = left
		}
	}
	list := func(m *mat.Dense) [][]float64 {
		return each.Below(m.RawMatrix().Rows, m.RawRowView)
	}
	numbers := runtime.Data{"A": list(A), "B": list(B), "H": list(H), "c": c.RawMatrix().Data, "d": d.RawMatrix().Data}
	return numbers, F(low)
}
