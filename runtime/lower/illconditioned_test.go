package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// stiff is sum_j [w_j exp(y_j) + d_j y_j^2/2 - c_j y_j] + a (r'y)^2/2 over lo <= y <= hi: curvatures
// over many orders of magnitude, tied together by one term.
type stiff struct {
	w, d, c, r []float64
	a          float64
	lo, hi     []float64
	scratch    []float64
}

func (g *stiff) Clone() problem.Function {
	h := *g
	h.scratch = make([]float64, len(g.c))
	return &h
}
func (g *stiff) Value(x, y []float64) float64             { return g.ValueGradY(g.scratch, x, y) }
func (g *stiff) GradX(dst, x, y []float64)                { clear(dst) }
func (g *stiff) GradY(dst, x, y []float64)                { g.ValueGradY(dst, x, y) }
func (g *stiff) ValueGrad(dx, dy, x, y []float64) float64 { clear(dx); return g.ValueGradY(dy, x, y) }

func (g *stiff) ValueGradY(dst, x, y []float64) float64 {
	s := linalg.Dot(g.r, y)
	value := g.a * s * s / 2
	for j, v := range y {
		e := g.w[j] * math.Exp(v)
		value += e + g.d[j]*v*v/2 - g.c[j]*v
		dst[j] = e + g.d[j]*v - g.c[j] + g.a*s*g.r[j]
	}
	return value
}

func drawStiff(rng *rand.Rand) *stiff {
	n := 1 + rng.IntN(5)
	g := &stiff{scratch: make([]float64, n), r: normal(rng, n)}
	if rng.IntN(2) == 0 {
		g.a = math.Pow(10, 6*rng.Float64()-3)
	}
	for range n {
		w := 0.0
		if rng.IntN(3) > 0 {
			w = math.Pow(10, 2*rng.Float64()-1)
		}
		g.w, g.d = append(g.w, w), append(g.d, math.Pow(10, 8*rng.Float64()-4))
		g.c = append(g.c, 30*rng.NormFloat64())
		lo, hi := -2-8*rng.Float64(), 2+8*rng.Float64()
		g.lo, g.hi = append(g.lo, lo), append(g.hi, hi)
	}
	return g
}

// solution is y* by bisection: of y_j for a given s = r'y, inside one of s. Each is
// monotone, and ends where the interval has no number in between.
func (g *stiff) solution() []float64 {
	y := make([]float64, len(g.c))
	at := func(s float64) float64 {
		for j := range y {
			y[j] = bisect(g.lo[j], g.hi[j], func(v float64) float64 {
				return g.w[j]*math.Exp(v) + g.d[j]*v - g.c[j] + g.a*s*g.r[j]
			})
		}
		return s - linalg.Dot(g.r, y)
	}
	reach := 0.0
	for j, r := range g.r {
		reach += math.Abs(r) * math.Max(-g.lo[j], g.hi[j])
	}
	at(bisect(-reach, reach, at))
	return y
}

// bisect is the point of [lo, hi] at which the increasing function f changes its sign.
func bisect(lo, hi float64, f func(float64) float64) float64 {
	if f(lo) >= 0 {
		return lo
	}
	if f(hi) <= 0 {
		return hi
	}
	for {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			return mid
		}
		if f(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
}

func (g *stiff) problem(smooth bool) *problem.Problem {
	n := len(g.c)
	rows := &problem.Rows{Kind: make([]problem.Kind, 2*n), A: sparse.FromEntries(2*n, 1, nil)}
	var entries []sparse.Entry
	mu, c := math.Inf(1), 0.0
	for j := range n { // lo - y <= 0, y - hi <= 0
		rows.Kind[j], rows.Kind[n+j] = problem.AtMost, problem.AtMost
		rows.Rhs = append(rows.Rhs, -g.lo[j])
		entries = append(entries, sparse.Entry{Row: j, Col: j, Val: 1}, sparse.Entry{Row: n + j, Col: j, Val: -1})
		mu, c = math.Min(mu, g.d[j]), math.Max(c, g.w[j]*math.Exp(g.hi[j])+g.d[j])
	}
	rows.Rhs = append(rows.Rhs, g.hi...)
	rows.B = sparse.FromEntries(2*n, n, entries)
	p := &problem.Problem{Dx: 1, Dy: n, G: g, F: g, X: unbounded(1), Rows: rows}
	p.Facts.StrongConvexity, p.Facts.HessianPattern = mu, full(n)
	if smooth {
		p.Facts.Smoothness = c + g.a*linalg.Dot(g.r, g.r)
	}
	return p
}

// What a solver says of y holds however ill-conditioned the follower is and however few
// steps it is given: a point called solved is y* to the accuracy promised, and the certified
// distance is one. Truth is a bisection.
func TestIllConditionedFollowers(t *testing.T) {
	type tally struct{ solved, runs, wrong, gradients int }
	for _, spec := range All() {
		for _, few := range []bool{false, true} {
			if few && spec.Name != "agd" && spec.Name != "pdg" {
				continue
			}
			var count tally
			for seed := uint64(0); seed < 200; seed++ {
				g := drawStiff(rand.New(rand.NewPCG(seed, 83)))
				p := g.problem(seed%2 == 0).Counted()
				if spec.Needs.Check(spec.Name, p) != nil {
					continue
				}
				values := method.Values{}
				if few {
					values["max_iterations"] = 10
				}
				solver, err := New(spec.Name, values, p, 1)
				if err != nil {
					t.Fatal(err)
				}
				x := []float64{0}
				s := solver.Solve(context.Background(), p, G(p, x), x, nil)
				truth := g.solution()
				count.runs++
				count.gradients += int(p.Calls().GradG)
				off, size := linalg.Distance(s.Y, truth), linalg.Norm(truth)
				// Of the truth, y* moves by the rounding of the terms of the gradient over mu.
				rounding := 0.0
				for j, y := range truth {
					terms := g.w[j]*math.Exp(y) + g.d[j]*math.Abs(y) + math.Abs(g.c[j]) + g.a*math.Abs(g.r[j])*size*linalg.Norm(g.r)
					rounding += 8 * tolerance.Roundoff * terms / g.d[j]
				}
				if off > s.ErrorBound+rounding {
					t.Errorf("%s, few %v, seed %d (%v): y is off by %.2g, certified are %.2g, gradients %d", spec.Name, few, seed, s.Status, off, s.ErrorBound, p.Calls().GradG)
				}
				if s.Status != Solved {
					// The primal-dual steps number in proportion to a proved C over mu.
					if !few && (spec.Name != "pdg" || p.Facts.Smoothness == 0) {
						t.Errorf("%s, seed %d: %v (%s): off by %.2g, certified %.2g, %d gradients, d %.2g a %.2g", spec.Name, seed, s.Status, s.Reason, off, s.ErrorBound, p.Calls().GradG, g.d, g.a)
					}
					continue
				}
				count.solved++
				if off > tolerance.Target*math.Max(1, size)+rounding {
					count.wrong++
					t.Errorf("%s, few %v, seed %d: solved, and y is off by %.2g of %.2g", spec.Name, few, seed, off, size)
				}
			}
			t.Logf("%s, few steps %v: %+v", spec.Name, few, count)
		}
	}
}

// Rows that press keep their multipliers beside weak ones that bind to within the error of y,
// whatever that is.
func TestMultipliersBesideWeakRows(t *testing.T) {
	for seed := uint64(0); seed < 20; seed++ {
		made := plan{n: 20, condition: 100, active: 5, inactive: 10, weak: 4}.build(seed)
		p := made.problem.Counted()
		for _, tolerance := range []float64{1e-10, 1e-12, 5e-13, 2e-13, 1e-13} {
			settings := defaultAGD()
			settings.Tolerance = tolerance
			s := newAGD(settings).Solve(context.Background(), p, G(p, made.x), made.x, nil)
			if d := distance(s.Lambda, made.lambda); s.Status != Solved || d > 1e4*tolerance+1e-9 {
				t.Errorf("seed %d, tolerance %g: %v (%s), multipliers off by %g", seed, tolerance, s.Status, s.Reason, d)
			}
		}
	}
}
