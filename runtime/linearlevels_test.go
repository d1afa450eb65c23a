package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// linearLevels is a bilevel problem with linear objectives and rows on both levels,
// min c'x + d'y over x in [0, 6]^n, y in argmin {q'y : A x + B y <= b, 0 <= y <= 8}.
type linearLevels struct {
	n, m, k   int
	c, d, q   []float64
	rows      [][]float64 // [A B], and the bounds of both
	b         []float64
	generated string
}

func drawLinearLevels(r *rand.Rand) *linearLevels {
	l := &linearLevels{n: 1 + r.IntN(2), m: 2 + r.IntN(2), k: 2 + r.IntN(2)}
	whole := func(n, lo, hi int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(lo + r.IntN(hi-lo+1))
		}
		return v
	}
	l.c, l.d, l.q = whole(l.n, -5, 5), whole(l.m, -5, 5), whole(l.m, -5, 5)
	inside := make([]float64, l.n+l.m)
	for i := range inside {
		inside[i] = 5 * r.Float64()
	}
	var general [][]float64
	for range l.k {
		row := append(whole(l.n, -2, 3), whole(l.m, -2, 4)...)
		b := 3 * r.Float64()
		for i, v := range row {
			b += v * inside[i]
		}
		general, l.b = append(general, row), append(l.b, math.Ceil(b))
	}
	l.rows = general
	for i := range l.n + l.m {
		for _, bound := range []struct{ sign, rhs float64 }{{-1, 0}, {1, 6}} {
			row := make([]float64, l.n+l.m)
			row[i] = bound.sign
			if i >= l.n && bound.rhs > 0 {
				bound.rhs = 8
			}
			l.rows, l.b = append(l.rows, row), append(l.b, bound.rhs)
		}
	}
	list := func(v []float64) string { return strings.ReplaceAll(fmt.Sprintf("%.0f", v), " ", ", ") }
	var matrix []string
	for _, row := range general {
		matrix = append(matrix, list(row))
	}
	l.generated = fmt.Sprintf(`model lin
data c: vector[%d] = %s
data d: vector[%d] = %s
data q: vector[%d] = %s
data AB: matrix[%d, %d] = [%s]
data b: vector[%d] = %s
upper {
  var x: vector[%d] in box(0, 6)
  minimize c' * x + d' * y
}
lower {
  var y: vector[%d] in box(0, 8)
  minimize q' * y
  subject to AB[:, 1..%d] * x + AB[:, %d..%d] * y <= b
}
solve { ties = optimistic }
`, l.n, list(l.c), l.m, list(l.d), l.m, list(l.q), l.k, l.n+l.m, strings.Join(matrix, ", "), l.k, list(l.b[:l.k]), l.n, l.m, l.n, l.n+1, l.n+l.m)
	return l
}

// vertices calls visit with every vertex of {z : rows z <= b}, of which the first entries are
// given: all choices of as many rows as there are unknowns.
func vertices(rows [][]float64, b, given []float64, visit func(z []float64)) {
	dim := len(rows[0])
	free := dim - len(given)
	var chosen []int
	var choose func(from int)
	choose = func(from int) {
		if len(chosen) < free {
			for i := from; i < len(rows); i++ {
				chosen = append(chosen, i)
				choose(i + 1)
				chosen = chosen[:len(chosen)-1]
			}
			return
		}
		a, rhs := mat.NewDense(free, free, nil), mat.NewVecDense(free, nil)
		for e, i := range chosen {
			a.SetRow(e, rows[i][len(given):])
			rest := b[i]
			for j, v := range given {
				rest -= rows[i][j] * v
			}
			rhs.SetVec(e, rest)
		}
		var z mat.VecDense
		if z.SolveVec(a, rhs) != nil {
			return
		}
		point := append(append([]float64(nil), given...), z.RawVector().Data...)
		for i, row := range rows {
			left := -b[i]
			for j, v := range row {
				left += v * point[j]
			}
			if left > 1e-9 {
				return
			}
		}
		visit(point)
	}
	choose(0)
}

func dot(a, b []float64) (s float64) {
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// optimum is the optimistic one: a bilevel problem with linear levels has an optimal solution at
// a vertex of the rows of both (Bialas and Karwan 1982), of which y has to be optimal.
func (l *linearLevels) optimum() float64 {
	best := math.Inf(1)
	vertices(l.rows, l.b, nil, func(z []float64) {
		if f := dot(l.c, z) + dot(l.d, z[l.n:]); f < best {
			least := math.Inf(1)
			vertices(l.rows, l.b, z[:l.n], func(y []float64) { least = math.Min(least, dot(l.q, y[l.n:])) })
			if dot(l.q, z[l.n:]) <= least+1e-7 {
				best = f
			}
		}
	})
	return best
}

// Bilevel problems with linear levels, ties broken for the leader, by default settings: no F below
// the optimum over all vertices, a certificate nearly always, and the optimum itself in most.
func TestLinearLevels(t *testing.T) {
	trials := members.Count(40)
	solved, optimal := 0, 0
	for seed := range members.Seeds(t, 40) {
		l := drawLinearLevels(rand.New(rand.NewPCG(seed, 17)))
		truth := l.optimum()
		r, err := bindText(t, l.generated).Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		off := float64(r.Upper.Objective) - truth
		tie := 1e-3 * (1 + math.Abs(truth)) // tau is 1e-5 of what is at stake, which is up to 6 and 8 times the costs
		if !(off >= -tie) {
			t.Errorf("seed %d: F = %v below the optimum %v\n%s", seed, r.Upper.Objective, truth, l.generated)
		}
		if r.Status == runtime.Solved {
			solved++
		} else {
			t.Logf("seed %d: %v (%s), F %v, optimum %v", seed, r.Status, r.Reason, r.Upper.Objective, truth)
		}
		if off <= tie {
			optimal++
		} else {
			t.Logf("seed %d: F %v, optimum %v\n%s", seed, r.Upper.Objective, truth, l.generated)
		}
	}
	if least := members.Least(trials, 0.95); solved < least || optimal < least {
		t.Errorf("of %d problems %d solved, %d at their optimum", trials, solved, optimal)
	}
}

// A linear follower fills the cheapest plants, the last one a little: that little is known to the
// rounding of the rows, whatever weight breaks ties, and so is the piece of F.
func TestPiecesOfLinearFollowers(t *testing.T) {
	for trial := range members.Seeds(t, 120) {
		rng := rand.New(rand.NewPCG(trial, 23))
		n := 3 + rng.IntN(5)
		cost, capacity := make([]string, n), make([]string, n)
		price, size := 1.0, make([]float64, n)
		for i := range n {
			price += 0.5 + rng.Float64()
			size[i] = 1 + 4*rng.Float64()
			cost[i], capacity[i] = fmt.Sprintf("%.17g", price), fmt.Sprintf("%.17g", size[i])
		}
		little, x := math.Pow(10, -7+6*rng.Float64()), 0.0
		last := 1 + rng.IntN(n-1)
		for _, v := range size[:last] {
			x += v
		}
		x += little
		p := bindText(t, fmt.Sprintf(`model merit
data c: vector[%d] = [%s]
data cap: vector[%d] = [%s]
upper {
  var x: real in box(0, 50)
  minimize c' * y
}
lower {
  var y: vector[%d] in nonneg
  minimize c' * y
  subject to
    y <= cap
    sum(y) == x
}
solve { ties = optimistic }
`, n, strings.Join(cost, ", "), n, strings.Join(capacity, ", "), n))
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{x}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want float64
		fmt.Sscan(cost[last], &want)
		if !r.Stationarity.Strict || len(r.Upper.Hypergradient) == 0 {
			t.Errorf("trial %d: a plant with %.3g of output counts as undecided", trial, little)
		} else if got := r.Upper.Hypergradient[0].Data[0]; !(math.Abs(got-want) <= 1e-4*want) {
			t.Errorf("trial %d: dF/dx = %v, the last plant costs %v", trial, got, want)
		}
	}
}
