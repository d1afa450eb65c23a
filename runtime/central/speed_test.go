package central_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/central"
)

// Batteries trade on predicted prices, a follower for each day; the leader trains the predictor.
const battery = `model battery
param D: int
param k: int
data phi: matrix[D, k]
data price: matrix[D, 24]

let predicted = exp(phi * W)

upper {
  var W: matrix[k, 24] in box(-10, 10)
  minimize (sum(price .* (zin - zout)) + 0.1 * sumsq(level - 0.5) + 0.05 * (sumsq(zin) + sumsq(zout))) / D + 0.0001 * sumsq(W)
}

lower {
  var zin: matrix[D, 24] in box(0, 0.5)
  var zout: matrix[D, 24] in box(0, 0.2)
  var level: matrix[D, 24] in box(0, 1)
  minimize sum(predicted .* (zin - zout)) + 0.1 * sumsq(level - 0.5) + 0.05 * (sumsq(zin) + sumsq(zout))
  subject to
    first: level[:, 1] == 0.5
    store: level[:, 2..24] == level[:, 1..23] + 0.9 * zin[:, 1..23] - zout[:, 1..23]
}`

// What the path of a hundred batteries is made of, at a mu in its middle: points of it, back and forth
// between two x, products with the second derivative of F_mu, and its matrix.
func BenchmarkBatteries(b *testing.B) {
	const days, k, mu = 100, 5, 1e-5
	rng := rand.New(rand.NewPCG(1, 2))
	phi, price := make([][]float64, days), make([][]float64, days)
	for d := range days {
		for range k {
			phi[d] = append(phi[d], rng.NormFloat64())
		}
		for h := range 24 {
			price[d] = append(price[d], 20+10*math.Sin(float64(h))+20*rng.Float64())
		}
	}
	model, err := runtime.Compile("battery.blv", battery)
	if err != nil {
		b.Fatal(err)
	}
	bound, err := model.Bind(runtime.Data{"D": days, "k": k, "phi": phi, "price": price}, runtime.BindOptions{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	p, ctx := bound.Numeric, context.Background()
	path := central.New(p, nil)
	x, y, lambda := [2][]float64{}, make([]float64, p.Dy), make([]float64, p.Rows.Len())
	for i := range x {
		for range p.Dx {
			x[i] = append(x[i], .3*rng.NormFloat64())
		}
	}
	for i := range x[1] {
		x[1][i] = x[0][i] + .03*(x[1][i]-x[0][i])
	}
	for j := range y {
		y[j] = .1
	}
	for i := range lambda {
		lambda[i] = 1
	}
	scale := path.Of(x[0], y, lambda)
	grad, dst := make([]float64, p.Dx), make([]float64, p.Dx)
	begin := func(b *testing.B) {
		path.Begin(y, scale)
		if _, err := path.Evaluate(ctx, grad, x[0], mu); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("point", func(b *testing.B) {
		begin(b)
		at := 0
		for b.Loop() {
			at = 1 - at
			if _, err := path.Evaluate(ctx, grad, x[at], mu); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("product", func(b *testing.B) {
		begin(b)
		second := path.Second(x[0])
		for b.Loop() {
			second.Apply(dst, grad)
		}
	})
	b.Run("matrix", func(b *testing.B) {
		begin(b)
		e := make([]float64, p.Dx)
		for b.Loop() {
			second := path.Second(x[0])
			for j := range e {
				e[j] = 1
				second.Apply(dst, e)
				e[j] = 0
			}
		}
	})
}
