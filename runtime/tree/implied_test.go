package tree

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// crowd is a price p in [0, 20] that n customers pay, who buy y_i in [0, cap_i] each for themselves, at 1/2 b_i y_i^2 - (a_i - p) y_i, b = 0 in half of them: the leader minimizes p^2/8 - p sum y.
type crowd struct{ a, b, cap []float64 }

func newCrowd(rng *rand.Rand, n int, curved bool) *crowd {
	c := &crowd{}
	for range n {
		c.a, c.cap = append(c.a, float64(1+rng.IntN(300))/16), append(c.cap, float64(1+rng.IntN(100))/16)
		b := 0.0
		if curved {
			b = float64(1+rng.IntN(60)) / 16
		}
		c.b = append(c.b, b)
	}
	return c
}

func (c *crowd) problem() *problem.Problem {
	n := len(c.a)
	f, g := newQuadratic(1, n), newQuadratic(1, n)
	f.set(0, 0, 0.25)
	rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(n)}
	for i := range n {
		f.set(0, 1+i, -1)
		g.set(0, 1+i, 1)
		g.set(1+i, 1+i, c.b[i])
		g.l[1+i] = -c.a[i]
		for _, side := range [2]float64{1, -1} {
			rows.B.Append(i, side)
			rows.A.EndRow()
			rows.B.EndRow()
			rows.Kind, rows.Rhs = append(rows.Kind, problem.AtMost), append(rows.Rhs, max(0, -side*c.cap[i]))
		}
	}
	return &problem.Problem{Name: "crowd", Dx: 1, Dy: n, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{0}, Hi: []float64{20}}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
}

// least is the least value of F, which is quadratic between prices at which an answer has a kink: from the ends of each, with the larger of two answers, and from where it is level between them.
func (c *crowd) least() float64 {
	kinks := []float64{0, 20}
	for i, a := range c.a {
		for _, p := range [2]float64{a, a - c.b[i]*c.cap[i]} {
			if p > 0 && p < 20 {
				kinks = append(kinks, p)
			}
		}
	}
	slices.Sort(kinks)
	demand := func(p float64) (sum float64) {
		for i, a := range c.a {
			switch {
			case c.b[i] > 0:
				sum += min(c.cap[i], max(0, (a-p)/c.b[i]))
			case p <= a:
				sum += c.cap[i]
			}
		}
		return sum
	}
	at := func(p float64) float64 { return p*p/8 - p*demand(p) }
	best := at(0)
	for k, hi := range kinks[1:] {
		lo := kinks[k]
		best = min(best, at(hi))
		// demand is d0 - d1 p on what is open between: F' = p/4 - d0 + 2 d1 p.
		third := (hi - lo) / 3
		d1 := (demand(lo+third) - demand(hi-third)) / third
		if d0 := demand(lo+third) + d1*(lo+third); hi > lo {
			best = min(best, at(min(hi, max(lo, d0/(0.25+2*d1)))))
		}
	}
	return best
}

// Of many followers that share a price the search finds the least of all pieces of F and proves it, in as many nodes as there are some of them, and proofs are accepted.
func TestSharedPricesAreProved(t *testing.T) {
	rng := members.Rand(t, 43)
	for k := range members.Of(12, 200) {
		n := 2 + rng.IntN(30)
		if k < 4 {
			n = 60 + rng.IntN(20)
		}
		c := newCrowd(rng, n, k%2 == 0)
		sys, err := kkt.New(c.problem())
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{Held: byBranches(sys, k%4 < 3)})
		if err != nil {
			t.Fatal(err)
		}
		want := c.least()
		if !r.Proved || math.Abs(r.Best.F-want) > 1e-6*math.Abs(want) || r.Bound > want+1e-9*math.Abs(want) {
			t.Errorf("case %d, %d followers: %v, F %v, bound %v, and the least is %v", k, n, r.Outcome, r.Best.F, r.Bound, want)
			continue
		}
		if r.Nodes > 10+3*int64(n) || r.Work > tolerance.Second { // without what boxes imply large ones take more of either
			t.Errorf("case %d, %d followers: %d nodes, and work %d", k, n, r.Nodes, r.Work)
		}
		report, err := certify.VerifyTree(sys.P, bytes.NewReader(proofOf(t, sys, r)), "")
		if err != nil || report.Bound > want+1e-9*math.Abs(want) || report.Bound < want-2e-6*math.Abs(want) {
			t.Errorf("case %d: the proof shows %+v, %v", k, report, err)
		}
	}
}
