package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/bench/clock"
	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/lower"
)

// followersModel has `count` followers of `size` goods each: a curved,
// ill-conditioned objective, bounds and one budget for each follower.
func followersModel(tb testing.TB, count, size int, seed uint64) *runtime.Problem {
	tb.Helper()
	model, err := runtime.Compile("followers.blv", `model followers
param k: int
param s: int
data M: matrix[s, s] ~ normal(0, 1)
data w: vector[k] ~ uniform(1, 30)
data c: matrix[k, s] ~ normal(0, 3)
upper {
  var x: vector[s] in box(-1, 1)
  minimize sumsq(x)
}
lower {
  var Y: matrix[k, s] in box(-1, 1)
  let R = Y * M
  minimize sum(i in 1..k: w[i] * (R[i, :] * R[i, :]')) / s + sumsq(Y) + sum(log1pexp(Y)) - sum(c .* Y) - sum(Y * x)
  subject to
    forall i in 1..k: sum(Y[i, :]) <= 1
}
`)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := model.Bind(runtime.Data{"k": count, "s": size}, runtime.BindOptions{Seed: seed})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// BenchmarkFollowers solves a lower level of independent followers at one x
// from nothing, apart (`sparse`) and as a whole, by processor time on one thread:
//
//	go test ./bench -run '^$' -bench Followers -benchtime 10x
func BenchmarkFollowers(b *testing.B) {
	for _, c := range []struct{ count, size int }{{1000, 1}, {2, 8}, {4, 8}, {2, 25}, {4, 25}, {40, 5}, {4, 50}, {4, 100}, {16, 25}, {64, 10}} {
		b.Run(fmt.Sprintf("%dx%d", c.count, c.size), func(b *testing.B) {
			p := followersModel(b, c.count, c.size, 1)
			x := normals(3, c.size)
			var inParts, asWhole *lower.Solution
			solve := func(into **lower.Solution, name string) func() {
				q := p.Numeric.Clone().Counted()
				solver, err := lower.New(name, nil, q, 1)
				if err != nil {
					b.Fatal(err)
				}
				return func() { *into = solver.Solve(context.Background(), q, lower.G(q, x), x, nil) }
			}
			parts, one := solve(&inParts, "sparse"), solve(&asWhole, lower.Default)
			parts()
			one()
			for _, s := range []*lower.Solution{inParts, asWhole} {
				if s.Status != lower.Solved {
					b.Fatalf("%s: %s", s.Status, s.Reason)
				}
			}
			worst := 0.0
			for j, v := range inParts.Y {
				worst = math.Max(worst, math.Abs(v-asWhole.Y[j]))
			}
			if worst > 1e-8 {
				b.Fatalf("the solutions differ by %g", worst)
			}
			t := contest(b, clock.Thread, parts, one)
			b.ReportMetric(t[0], "ns/op")
			b.ReportMetric(t[1], "whole-ns")
			b.ReportMetric(t[1]/t[0], "times-faster")
		})
	}
}

// Separate followers of 5 to 60 entries, of which some are at their minimizer while the Hessian of the others is measured again, have the
// answer that the dense solver finds for the whole, and multipliers.
func TestFollowersApartAreTheWhole(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 11))
		size := 5 + rng.IntN(56)
		p := followersModel(t, 2+rng.IntN(400/size), size, seed)
		x, q := normals(seed, size), p.Numeric.Counted()
		var solved [2]*lower.Solution
		for k, name := range []string{"sparse", lower.Default} {
			solver, err := lower.New(name, nil, q, 1)
			if err != nil {
				t.Fatal(err)
			}
			if solved[k] = solver.Solve(context.Background(), q, lower.G(q, x), x, nil); solved[k].Status != lower.Solved {
				t.Fatalf("seed %d, %s: %s: %s", seed, name, solved[k].Status, solved[k].Reason)
			}
		}
		for j, v := range solved[0].Y {
			if d := math.Abs(v - solved[1].Y[j]); !(d <= 1e-8) {
				t.Errorf("seed %d: y[%d] differs by %g", seed, j, d)
			}
		}
		for i, v := range solved[0].Lambda {
			if d := math.Abs(v - solved[1].Lambda[i]); !(d <= 1e-6) {
				t.Errorf("seed %d: multiplier %d differs by %g", seed, i, d)
			}
		}
	}
}
