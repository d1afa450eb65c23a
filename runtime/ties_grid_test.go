package runtime_test

import (
	"context"
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A grid of 4 by 4 towns with one-way roads to the right and down, four of them
// tolled, and two kinds of drivers, whose followers are solved apart. Its best revenue,
// by mixed-integer programming over routes and node prices (HiGHS), is 1.5.
const gridToll = `model grid
data tail: vector[24] = [1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6, 7, 7, 8, 9, 9, 10, 10, 11, 11, 12, 13, 14, 15]
data head: vector[24] = [2, 5, 3, 6, 4, 7, 8, 6, 9, 7, 10, 8, 11, 12, 10, 13, 11, 14, 12, 15, 16, 14, 15, 16]
data cost: vector[24] = [5, 6, 8, 9, 2, 3, 8, 4.5, 3, 4, 4, 5, 4, 8, 4, 5, 7, 3, 1, 2, 8, 8, 8, 6]
data tolled: vector[4] = [8, 11, 18, 19]
data trips: matrix[16, 2] = [[0, 0], [2, 0], [0, 0], [0, 0], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [-2, 0], [0, 0], [0, 0], [0, 0], [0, -1], [0, 0]]
upper {
  var toll: vector[4] in box(0, 20)
  maximize sum(t in 1..4, k in 1..2: toll[t] * flow[tolled[t], k])
}
lower {
  var flow: matrix[24, 2] in nonneg
  minimize sum(a in 1..24, k in 1..2: cost[a] * flow[a, k]) + sum(t in 1..4, k in 1..2: toll[t] * flow[tolled[t], k])
  subject to
    balance: forall n in 1..15, k in 1..2: sum(a in 1..24 if tail[a] == n: flow[a, k]) - sum(a in 1..24 if head[a] == n: flow[a, k]) == trips[n, k]
}
solve { ties = optimistic }
`

// TestTiesOfFollowersApart solves a model whose follower is linear and falls apart, and
// compares what its evaluations say of the follower with shortest routes.
func TestTiesOfFollowersApart(t *testing.T) {
	m, err := runtime.Compile("grid.blv", gridToll)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	opts := runtime.Options{Seed: 1, Starts: 3}
	if members.Full() {
		opts.Starts = 0
	}
	res, err := p.Solve(context.Background(), opts)
	if err != nil || res.Status != runtime.Solved {
		t.Fatalf("%v %+v", err, res)
	}
	// tau is 1e-5 of what is at stake.
	if f := float64(res.Upper.Objective); math.Abs(f-1.5) > 1e-3 {
		t.Errorf("revenue %v, not 1.5", f)
	}
	column := func(name string) []float64 {
		for _, d := range p.IR.Data {
			if d.Name == name {
				return d.Array.Values()
			}
		}
		t.Fatal(name)
		return nil
	}
	tail, head, cost, tolled, trips := column("tail"), column("head"), column("cost"), column("tolled"), column("trips")
	r := members.Rand(t, 4)
	for range 10 {
		toll := make([]float64, 4)
		price := append([]float64(nil), cost...)
		for k := range toll {
			toll[k] = math.Round(8*r.Float64()) / 2 // ties among routes
			price[int(tolled[k])-1] += toll[k]
		}
		best := 0.0
		for k := range 2 {
			// Roads lead from lower to higher numbers: one pass finds the cheapest routes.
			far := make([]float64, 17)
			for n := range far {
				far[n] = math.Inf(1)
			}
			amount, to := 0.0, 0
			for n := 1; n <= 16; n++ {
				if v := trips[2*(n-1)+k]; v > 0 {
					amount, far[n] = v, 0
				} else if v < 0 {
					to = n
				}
			}
			for n := 1; n <= 16; n++ {
				for a := range tail {
					if int(tail[a]) == n {
						far[int(head[a])] = math.Min(far[int(head[a])], far[n]+price[a])
					}
				}
			}
			best += amount * far[to]
		}
		e, err := p.Eval(context.Background(), runtime.Values{{Name: "toll", Shape: []int{4}, Data: toll}}, runtime.Options{})
		if err != nil || e.Status != runtime.Solved {
			t.Fatalf("%v %+v", err, e)
		}
		ties := e.Lower.Ties
		found := float64(e.Lower.Objective)
		if found < best-1e-6 || found-float64(ties.Loss) > best+1e-6 || found > best+1e-3 {
			t.Errorf("at %v the follower pays %v with a loss of %v; the cheapest routes cost %v", toll, found, ties.Loss, best)
		}
		f := float64(e.Upper.Objective)
		if math.IsNaN(float64(ties.Optimistic)) || float64(ties.Optimistic) < f-1e-3 || float64(ties.Pessimistic) > f+1e-3 {
			t.Errorf("at %v F is %v, and between %v and %v", toll, f, ties.Pessimistic, ties.Optimistic)
		}
	}
}

// TestTiesOfPartsBesideX solves a model in which a row of the follower has an entry of x that X fixes, and the rows of its answers at
// that x are of parts that have no entry of x between them.
func TestTiesOfPartsBesideX(t *testing.T) {
	p := bindText(t, `model m
upper {
  var x1: real in box(0, 0)
  minimize -0.5 * y1^2 + 0.5 * y2^2
  subject to
    u1: y1 <= 1
}
lower {
  var y1: real in nonneg
  var y2: real
  minimize 0
  subject to
    r2: x1 + y2 <= 0
}
solve { ties = optimistic }`)
	res, err := p.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil || res.Status != runtime.Solved || math.Abs(float64(res.Upper.Objective)+0.5) > 1e-9 {
		t.Fatalf("%v %+v", err, res)
	}
}

// TestTiesCutShort ends runs between two iterations of any of their stages: each returns
// the best point of all that its stages have come to, which is worth about as much as what a
// run that was ended earlier has (that has looked around another point), with the F that it has
// there, and does not say that it is solved.
func TestTiesCutShort(t *testing.T) {
	t.Parallel()
	m, err := runtime.Compile("grid.blv", gridToll)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ends := func(after int) (*runtime.Result, int) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		seen := 0
		res, err := p.Solve(ctx, runtime.OffSystem(runtime.Options{Seed: 1, Starts: 1, Observer: func(runtime.Progress) {
			if seen++; seen == after {
				cancel(runtime.ErrTimeLimit)
			}
		}}))
		if err != nil {
			t.Fatal(err)
		}
		return res, seen
	}
	whole, all := ends(-1)
	if whole.Status != runtime.Solved || all < 20 {
		t.Fatalf("%s after %d iterations", whole.Status, all)
	}
	before := 0.0
	for after := 1; after < all; after += 1 + all/members.Of(4, 8) {
		res, _ := ends(after)
		if res.Status != runtime.LimitReached || !res.HasPoint() {
			t.Errorf("ended after %d of %d iterations: %s, %s", after, all, res.Status, res.Reason)
			continue
		}
		F := float64(res.Upper.Objective)
		x, _ := res.Upper.Variables.Get("toll")
		there, err := p.Eval(context.Background(), runtime.Values{x}, runtime.OffSystem(runtime.Options{}))
		if err != nil || math.Abs(float64(there.Upper.Objective)-F) > 1e-6 {
			t.Errorf("ended after %d of %d iterations: F is said to be %v, and is %v (%v)", after, all, F, there.Upper.Objective, err)
		}
		if F < 0.95*before {
			t.Errorf("ended after %d of %d iterations: F is %v, and was %v before", after, all, F, before)
		}
		before = math.Max(before, F)
	}
	if before < 1.4 {
		t.Errorf("ended late F is %v, and 1.5 in full", before)
	}
}
