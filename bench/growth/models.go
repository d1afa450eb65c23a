package main

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	bilevelc "bilevelc/runtime"
)

// axis is one size that grows while the others stay.
type axis struct {
	name  string // of the series
	text  string // the model
	sizes []int  // in the default run
	large []int  // added by -full
	set   func(size int) map[string]any
	// options are those with which the problem is solved; nil: two hypergradients are taken instead
	options func(size int) bilevelc.Options
}

// banded has a tridiagonal Hessian, bounds, and k sparse rows beside 3 full ones.
const banded = `model banded
param n: int
param dx: int
param k: int
data c: vector[n] ~ normal(0, 1)
data p: vector[dx] ~ normal(0, 1)
upper {
  var x: vector[dx] in box(-1, 1)
  minimize 0.5 * sumsq(y - 0.3) + 0.1 * sumsq(x)
}
lower {
  var y: vector[n] in box(-0.5, 0.5)
  minimize 1.5 * sumsq(y) - sum(i in 1..n-1: y[i] * y[i+1]) + 3 * c' * y + (p' * x) * sum(y)
  subject to
    level: sum(y) <= 0.01 * n + x[2]
    half: sum(i in 1..n/2: y[i]) - sum(i in n/2+1..n: y[i]) <= 0.1 + x[1]
    tilt: sum(i in 1..n: (i / n) * y[i]) >= -0.01 * n + x[1]
    step: forall i in 1..k: y[i] - y[i+1] <= 0.4 + 0.1 * x[1]
}
`

// dense is in the manner of the paper's experiment: a full Hessian that does not
// move with x, d_y / 5 rows.
const dense = `model dense
param n: int
param m: int
data L: matrix[n, n] ~ normal(0, 1)
data P: matrix[20, n] ~ normal(0, 1)
data B: matrix[m, n] ~ normal(0, 1)
upper {
  var x: vector[20] in box(-1, 1)
  minimize 0.5 * sumsq(y - 0.3) + 0.1 * sumsq(x)
}
lower {
  var y: vector[n]
  minimize 0.5 * sumsq(L * y) / n + 0.5 * sumsq(y) + x' * P * y
  subject to
    cap: B * y <= 0.1
}
`

// shared has followers of five variables each, that read one leader.
const shared = `model shared
param k: int
data c: matrix[k, 5] ~ normal(0, 1)
upper {
  var x: vector[5] in box(-1, 1)
  minimize 0.5 * sumsq(y - 0.3) + 0.1 * sumsq(x)
}
lower {
  var y: matrix[k, 5] in nonneg
  minimize 0.5 * sumsq(y) + sum(c .* y) + 0.25 * sum(i in 1..k: sum(j in 1..5: y[i, j])^2) + sum(j in 1..5: x[j] * sum(y[:, j]))
  subject to
    cap: forall i in 1..k: sum(j in 1..5: y[i, j]) <= 1 + 0.1 * x[1]
}
`

// kinked has a minimum on many of its m kinks, and at many bounds of x.
const kinked = `model kinked
param n: int
param m: int
data M: matrix[m, n] ~ normal(0, 1)
data t: vector[n] ~ normal(0, 1)
upper {
  var x: vector[n] in box(-1, 1)
  minimize 0.5 * sumsq(x - t) + 2 * sum(y)
}
lower {
  var y: vector[m] in nonneg
  minimize 0.5 * sumsq(y) - y' * M * x
}
`

// full are the numbers of dense. A model conjures up no array of more than 2^25 entries: a larger one comes as data.
func full(n int) map[string]any {
	numbers := map[string]any{"n": n, "m": n / 5}
	if n*n > 1<<25 {
		rng, l := rand.New(rand.NewPCG(1, uint64(n))), mat.NewDense(n, n, nil)
		entries := l.RawMatrix().Data
		for i := range entries {
			entries[i] = rng.NormFloat64()
		}
		numbers["L"] = l
	}
	return numbers
}

func axes() []axis {
	bands := func(n, dx, k int) map[string]any { return map[string]any{"n": n, "dx": dx, "k": k} }
	kinks := func(n, m int) map[string]any { return map[string]any{"n": n, "m": m} }
	byDefault := func(int) bilevelc.Options { return bilevelc.Options{} }
	return []axis{
		{"d_y, sparse", banded, []int{1000, 3000, 10000, 30000}, []int{100000, 300000, 1000000},
			func(n int) map[string]any { return bands(n, 10, 10) }, nil},
		{"d_y, dense", dense, []int{50, 100, 200}, []int{400, 800, 1600, 4000, 10000}, full, nil},
		{"d_x, sparse", banded, []int{10, 100, 1000}, []int{10000},
			func(dx int) map[string]any { return bands(1000, dx, 10) }, nil},
		{"d_x, solved", kinked, []int{100, 300, 1000}, []int{2000, 5000},
			func(n int) map[string]any { return kinks(n, 40) }, byDefault},
		{"biactive rows", kinked, []int{10, 30, 100}, []int{300, 1000},
			func(m int) map[string]any { return kinks(2*m, m) }, byDefault},
		{"starts", kinked, []int{1, 4, 16}, []int{64, 256},
			func(int) map[string]any { return kinks(100, 40) }, func(size int) bilevelc.Options { return bilevelc.Options{Starts: size} }},
		{"rows, sparse", banded, []int{100, 1000, 9000}, []int{30000, 90000},
			func(k int) map[string]any { return bands(max(10000, k+1000), 10, k) }, nil},
		{"followers", shared, []int{100, 1000, 5000}, []int{20000, 100000},
			func(k int) map[string]any { return map[string]any{"k": k} }, nil},
	}
}

func (a axis) label(size int) string { return fmt.Sprintf("%s = %d", a.name, size) }
