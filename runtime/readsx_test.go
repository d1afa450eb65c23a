package runtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/kkt"
)

// The system of a follower is the same whether or not it is known which entries of x g depends on, and it asks for the
// others nothing: a solve of thousands of them takes no more calls than one of a few.
func TestEntriesThatTheFollowerDoesNotRead(t *testing.T) {
	t.Parallel()
	for k := range members.SeedsOf(t, 12, 60) {
		rng := rand.New(rand.NewPCG(k, 61))
		nx, ny := 1+rng.IntN(6), 1+rng.IntN(4)
		var g, data strings.Builder
		for i := range ny {
			fmt.Fprintf(&g, " + (y[%d] - %d)^2", i+1, rng.IntN(3))
		}
		for n := range rng.IntN(8) {
			fmt.Fprintf(&data, "data c%d: real = %d\n", n, rng.IntN(3)-1)
			i, j := 1+rng.IntN(ny), 1+rng.IntN(nx)
			switch rng.IntN(3) {
			case 0:
				fmt.Fprintf(&g, " + c%d * x[%d] * y[%d]", n, j, i)
			case 1:
				fmt.Fprintf(&g, " + (y[%d] - c%d * x[%d])^2", i, n, j)
			default:
				fmt.Fprintf(&g, " + c%d * sum(x) * y[%d]", n, i)
			}
		}
		text := fmt.Sprintf("model reads\n%supper {\n  var x: vector[%d] in box(-1, 1)\n  minimize sumsq(x) + sum(y)\n}\nlower {\n  var y: vector[%d] in box(-4, 4)\n  minimize 0%s\n}\n",
			data.String(), nx, ny, g.String())
		p := mustBind(t, text)
		known, err := kkt.Read(p.Numeric)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		all := p.Numeric.Clone()
		all.Facts.ReadsX = nil
		plain, err := kkt.Read(all)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(known.G.Dense(), plain.G.Dense()) {
			t.Errorf("member %d: %v, read in all entries %v\n%s", k, known.G.Dense(), plain.G.Dense(), text)
		}
	}
	calls := map[int]int64{}
	for _, n := range []int{20, 2000} {
		p := mustBind(t, fmt.Sprintf("model m\nupper {\n  var x: vector[%d] in box(0, 1)\n  minimize sumsq(x - 0.3) + y\n}\nlower {\n  var y: real\n  minimize (y - x[1])^2\n}\n", n))
		r, err := p.Solve(context.Background(), Options{})
		if err != nil || r.Status != Solved {
			t.Fatalf("%v, %+v", err, r)
		}
		calls[n] = r.Calls.GradG
	}
	if calls[2000] > 2*calls[20] {
		t.Errorf("gradients of g: %v", calls)
	}
}
