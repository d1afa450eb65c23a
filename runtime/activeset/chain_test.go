package activeset_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

var times = flag.Int("times", 1, "how many times as many random programs")

// change changes some bounds as a tree does: a row becomes an equation, a
// variable is fixed at a side, a side moves, or all goes back.
func change(r *rand.Rand, p *activeset.Program, b *activeset.Bounds) {
	for range 1 + r.IntN(2) {
		j := r.IntN(p.N)
		switch r.IntN(6) {
		case 0:
			if m := len(b.RowLo); m > 0 {
				i := r.IntN(m)
				if !math.IsInf(b.RowLo[i], 0) {
					b.RowHi[i] = b.RowLo[i]
				} else if !math.IsInf(b.RowHi[i], 0) {
					b.RowLo[i] = b.RowHi[i]
				}
			}
		case 1, 2:
			if !math.IsInf(b.Lo[j], 0) {
				b.Hi[j] = b.Lo[j]
			}
		case 3:
			spoil(r, b)
		case 4:
			b.Lo[j], b.Hi[j] = p.Lo[j], p.Hi[j]
		case 5:
			if r.IntN(4) == 0 {
				*b = *cloneBounds(&p.Bounds)
			}
		}
	}
}

// Chains of solves from the working set before: the status and value are those
// of a fresh solver that starts from nothing, and a dual bound that cuts off is
// one that holds.
func TestChainsAgreeWithFreshSolves(t *testing.T) {
	warmSum, coldSum, cuts, failed := 0, 0, 0, 0
	seeds := []uint64{8752} // a bound that left out multipliers of the wrong sign
	for seed := range uint64(600 * *times) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		k := kinds(r)
		p := random(r, k)
		s, err := activeset.New(p)
		if err != nil {
			t.Fatal(err)
		}
		b := cloneBounds(&p.Bounds)
		var warm *activeset.Basis
		current := *p
		for step := range 12 {
			if step > 0 {
				change(r, p, b)
			}
			if r.IntN(8) == 0 {
				c := append([]float64(nil), current.C...)
				c[r.IntN(p.N)] += float64(r.IntN(5) - 2)
				current.C = c
				if r.IntN(3) == 0 {
					q := p.Q
					if q != nil && r.IntN(2) == 0 {
						q = sparse.Add(2, q, 0, q)
					} else {
						q = nil
					}
					current.Q = q
				}
				s.SetObjective(current.Q, current.C)
			}
			got := s.Solve(context.Background(), b, warm, activeset.Options{})
			if k.near > 2 && got.Status == activeset.Failed {
				failed++
				break
			}
			if err := verify(&current, b, got); err != nil {
				t.Errorf("seed %d step %d, %+v: %v", seed, step, k, err)
				break
			}
			fresh, err := activeset.New(&current)
			if err != nil {
				t.Fatal(err)
			}
			cold := fresh.Solve(context.Background(), b, nil, activeset.Options{})
			if k.near > 2 && cold.Status == activeset.Failed {
				failed++
				break
			}
			if !agree(&current, b, got, cold) {
				t.Errorf("seed %d step %d, %+v: %v %.12g, afresh %v %.12g", seed, step, k, got.Status, got.Value, cold.Status, cold.Value)
			}
			if step > 0 {
				warmSum += got.Iterations
				coldSum += cold.Iterations
			}
			warm = got.Basis
			if got.Status == activeset.Optimal {
				cut := s.Solve(context.Background(), b, warm, activeset.Options{Cutoff: new(got.Value - 1e-3*(1+math.Abs(got.Value))*r.Float64())})
				if r.IntN(2) == 0 {
					cut = fresh.Solve(context.Background(), b, nil, activeset.Options{Cutoff: new(got.Value - 5*r.Float64())})
				}
				if cut.Status == activeset.CutOff {
					cuts++
					if err := dualBound(&current, b, cut); err != nil {
						t.Errorf("seed %d step %d, %+v: %v", seed, step, k, err)
					}
					if cut.Value > got.Value+1e-8*(1+math.Abs(got.Value)) {
						t.Errorf("seed %d step %d: the dual bound %g is above the value %g", seed, step, cut.Value, got.Value)
					}
				} else if !agree(&current, b, cut, got) {
					t.Errorf("seed %d step %d: with a cutoff below the value %g: %v %g", seed, step, got.Value, cut.Status, cut.Value)
				}
				above := s.Solve(context.Background(), b, warm, activeset.Options{Cutoff: new(got.Value + 1e-6*(1+math.Abs(got.Value)))})
				if above.Status != activeset.Optimal {
					t.Errorf("seed %d step %d: with a cutoff above the value: %v", seed, step, above.Status)
				}
			}
		}
	}
	t.Logf("%d pivots, afresh %d; %d cut off; %d nearly dependent without answer", warmSum, coldSum, cuts, failed)
	if failed*100 > 600**times { // of ten solves each, of which one in 18 is so
		t.Errorf("%d chains of nearly dependent rows have no answer", failed)
	}
	if cuts < 100 || warmSum >= coldSum {
		t.Errorf("%d pivots, afresh %d; %d cut off", warmSum, coldSum, cuts)
	}
}

// agree reports whether two solutions say the same, but for what moving the
// sides by the tolerance changes: the value by the multipliers times that, and
// the feasibility where the weights that refute it do so by less than that.
func agree(p *activeset.Program, b *activeset.Bounds, x, y *activeset.Solution) bool {
	const tol = 1e-9
	room := func(row, bound, z []float64) float64 {
		sum := 0.0
		at := func(j int) float64 {
			if z == nil {
				return math.Min(math.Abs(b.Lo[j]), math.Abs(b.Hi[j]))
			}
			return math.Abs(z[j])
		}
		for j, w := range bound {
			if w != 0 {
				sum += math.Abs(w) * max(1, at(j))
			}
		}
		for i, w := range row {
			cols, vals := p.A.Row(i)
			terms := 0.0
			for k, j := range cols {
				if v := at(j); !math.IsInf(v, 0) {
					terms += math.Abs(vals[k]) * v
				}
			}
			sum += math.Abs(w) * max(1, terms)
		}
		return tol * sum
	}
	if x.Status == y.Status {
		if x.Status != activeset.Optimal {
			return true
		}
		terms := 0.0
		for j, c := range p.C {
			terms += math.Abs(c * x.Z[j])
		}
		return math.Abs(x.Value-y.Value) <= 1e-8*(1+math.Abs(x.Value))+tol*terms+room(x.Row, x.Bound, x.Z)+room(y.Row, y.Bound, y.Z)
	}
	if y.Status == activeset.Infeasible {
		x, y = y, x
	}
	if x.Status != activeset.Infeasible || y.Z == nil {
		return false
	}
	sum := 0.0
	for _, s := range []struct{ w, lo, hi []float64 }{{x.FarkasRow, b.RowLo, b.RowHi}, {x.FarkasBound, b.Lo, b.Hi}} {
		for k, w := range s.w {
			if w > 0 {
				sum += w * s.lo[k]
			} else if w < 0 {
				sum += w * s.hi[k]
			}
		}
	}
	return sum <= room(x.FarkasRow, x.FarkasBound, y.Z)
}

// dualBound checks that the multipliers of a solve that was cut off prove its
// value by weak duality.
func dualBound(p *activeset.Program, b *activeset.Bounds, s *activeset.Solution) error {
	// At its own point and sides moved to it, the solution is optimal for
	// -1/2 Z'QZ + sides x multipliers: check stationarity and signs there.
	at := cloneBounds(b)
	value := 0.0
	side := func(lo, hi *float64, v, m, tol float64) {
		switch {
		case m > 0:
			value += m * *lo
		case m < 0:
			value += m * *hi
		}
		_ = tol
		*lo, *hi = min(*lo, v), max(*hi, v)
		if m != 0 { // held where it is: any sign is right
			*lo, *hi = v, v
		}
	}
	for j := range at.Lo {
		side(&at.Lo[j], &at.Hi[j], s.Z[j], s.Bound[j], 0)
	}
	v := make([]float64, len(b.RowLo))
	p.A.MulVec(v, s.Z)
	for i := range at.RowLo {
		side(&at.RowLo[i], &at.RowHi[i], v[i], s.Row[i], 0)
	}
	quad, linear := 0.0, 0.0
	for j, z := range s.Z {
		linear += p.C[j] * z
		if p.Q != nil {
			quad += z * p.Q.RowDot(j, s.Z)
		}
	}
	value -= quad / 2
	as := *s
	as.Status, as.Value = activeset.Optimal, quad/2+linear
	if math.Abs(value-s.Value) > 1e-9*(1+math.Abs(value)) || math.IsInf(value, 0) || math.IsNaN(value) {
		return fmt.Errorf("the multipliers prove %g, and %g is claimed", value, s.Value)
	}
	return verify(p, at, &as)
}

// The basis comes back from JSON as it was, and with it, after Forget, every
// bit of the solution.
func TestForgetMakesSolvesRepeatable(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := random(r, kinds(r))
		s, _ := activeset.New(p)
		other, _ := activeset.New(p)
		b := cloneBounds(&p.Bounds)
		var warm *activeset.Basis
		for range 5 {
			text, err := json.Marshal(warm)
			if err != nil {
				t.Fatal(err)
			}
			var back *activeset.Basis
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatal(err)
			}
			s.Forget()
			x := s.Solve(context.Background(), b, warm, activeset.Options{})
			other.Solve(context.Background(), nil, nil, activeset.Options{})
			other.Forget()
			if y := other.Solve(context.Background(), b, back, activeset.Options{}); !reflect.DeepEqual(x, y) {
				t.Fatalf("seed %d: %v %v", seed, x, y)
			}
			warm = x.Basis
			change(r, p, b)
		}
	}
}

// A solver that has had other programs, larger and smaller ones, is with the next one what New makes of it, to the last bit, and
// what it said of them stays.
func TestLoadedSolversAreNew(t *testing.T) {
	s := new(activeset.Solver)
	var last, was *activeset.Solution
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		p := random(r, kinds(r))
		if err := s.Load(p); err != nil {
			t.Fatal(err)
		}
		fresh, _ := activeset.New(p)
		b := cloneBounds(&p.Bounds)
		var warm *activeset.Basis
		for range 3 {
			x, y := s.Solve(context.Background(), b, warm, activeset.Options{}), fresh.Solve(context.Background(), b, warm, activeset.Options{})
			if !reflect.DeepEqual(x, y) || !reflect.DeepEqual(last, was) {
				t.Fatalf("seed %d: %v, and new %v; before %v, and new %v", seed, x, y, last, was)
			}
			last, was, warm = x, y, x.Basis
			change(r, p, b)
		}
	}
}

func TestLimitsAndContext(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	p := random(r, kind{n: 40, m: 20, density: 1, boxed: true})
	s, _ := activeset.New(p)
	if got := s.Solve(context.Background(), nil, nil, activeset.Options{MaxIter: 2}); got.Status != activeset.Failed {
		t.Errorf("after 2 pivots: %v", got.Status)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := s.Solve(ctx, nil, nil, activeset.Options{}); got.Status != activeset.Stopped || got.Basis == nil {
		t.Errorf("without time: %v", got.Status)
	}
	if got := s.Solve(context.Background(), nil, nil, activeset.Options{}); got.Status != activeset.Optimal || got.Work <= 0 {
		t.Errorf("then: %v", got.Status)
	}
	// Who is told of the work between pivots ends it soon after it is too much.
	whole := s.Solve(context.Background(), nil, nil, activeset.Options{}).Work
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	short := activeset.Options{}
	short.Working = func(work int64) {
		if work > whole/4 {
			cancel()
		}
	}
	if got := s.Solve(ctx, nil, nil, short); got.Status != activeset.Stopped || got.Work <= whole/4 || got.Work > whole/2 {
		t.Errorf("given up after a quarter of %d: %v after %d", whole, got.Status, got.Work)
	}
	crossed := cloneBounds(&p.Bounds)
	crossed.Lo[3], crossed.Hi[3] = 2, 1
	if got := s.Solve(context.Background(), crossed, nil, activeset.Options{}); got.Status != activeset.Infeasible {
		t.Errorf("sides that contradict each other: %v", got.Status)
	}
}
