package outer

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// Starts lie in X: evenly in a box, and next to an end that is alone, or none, within 2 units of 1, 10 and 100 times the size of the first one's distance from it, in turn, and over all of that.
func TestStartsFillTheirSet(t *testing.T) {
	rng := members.Rand(t, 5)
	const count = 600
	for range members.Of(20, 200) {
		center, inf := 10*rng.NormFloat64(), math.Inf(1)
		below, above := center-10*rng.Float64(), center+10*rng.Float64()
		set := &problem.Set{Lo: []float64{below, below, -inf, -inf}, Hi: []float64{above, inf, above, inf}}
		draw := Starts([]float64{center, center, center, center}, set, rng.Uint64())
		if x := draw(0); x[0] != center {
			t.Errorf("the first start is %v, not %v", x[0], center)
		}
		var reach [3][4]float64 // the farthest of each scale, over what it may be
		for k := 1; k <= count; k++ {
			x, turn := draw(k), (k-1)%3
			scale := math.Pow(10, float64(turn))
			for j, share := range []float64{(x[0] - below) / (above - below), (x[1] - below) / (2 * scale * (1 + center - below)), (above - x[2]) / (2 * scale * (1 + above - center)),
				math.Abs(x[3]-center) / (scale * (1 + math.Abs(center)))} {
				if share < 0 || share > 1+1e-12 {
					t.Errorf("entry %d of start %d is %v: %v of its way", j, k, x[j], share)
				}
				reach[turn][j] = math.Max(reach[turn][j], share)
			}
		}
		for turn, far := range reach {
			for j, share := range far {
				if share < 0.9 { // 200 draws that all keep to 9/10 of the way: one in 1e9
					t.Errorf("entry %d comes no farther than %v of its way, with the factor %v", j, share, math.Pow(10, float64(turn)))
				}
			}
		}
	}
}

// A start that ended is the same to a run that goes on from what was kept of it; one that does not say how it ended, or whose point is another problem's, is refused.
func TestStartsThatEndedAreKept(t *testing.T) {
	rng := members.Rand(t, 6)
	for k := range 12 {
		e := &Ended{Status: status.Solved, Reason: "stationary", F: rng.NormFloat64(), Penalty: rng.Float64(), Iterations: rng.IntN(100), Evaluations: rng.IntN(100), Calls: problem.Calls{F: 3, GradG: 7}}
		if k%3 > 0 {
			e.X = []float64{rng.NormFloat64(), rng.NormFloat64()}
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var read Ended
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if err := read.valid(2); err != nil {
			t.Error(err)
		}
		r := read.result()
		if (r.Best == nil) != (e.X == nil) || r.Status != e.Status || r.Reason != e.Reason || r.Iterations != e.Iterations || r.Evaluations != e.Evaluations || r.Calls != e.Calls {
			t.Errorf("%+v is read as %+v", e, r)
		}
		if e.X != nil && (!slices.Equal(r.Best.X, e.X) || r.Best.F != e.F || r.Best.Penalty != e.Penalty) {
			t.Errorf("%+v is read as the point %+v", e, r.Best)
		}
		if err := read.valid(3); (err == nil) != (e.X == nil) {
			t.Errorf("a point of 2 entries for 3: %v", err)
		}
		read.Status = status.Running
		if read.valid(2) == nil {
			t.Error("a start that ended is running")
		}
	}
}

// Of values that tie to rounding a certified one is preferred; of others the least.
func TestBestOfStarts(t *testing.T) {
	at := func(s status.Status, f float64) StartResult {
		return StartResult{Result: &Result{Status: s, Best: &oracle.Point{F: f}}}
	}
	none := StartResult{Result: &Result{Status: status.Infeasible}}
	for _, c := range []struct {
		results []StartResult
		want    int
	}{
		{[]StartResult{none, {}}, -1},
		{[]StartResult{at(status.Solved, 2), at(status.Solved, 1), at(status.Solved, 1)}, 1},
		{[]StartResult{none, at(status.NumericalFailure, 1), at(status.Solved, 1+1e-14), at(status.Solved, 2)}, 2},
		{[]StartResult{at(status.Solved, 1.001), at(status.NumericalFailure, 1)}, 1},
		{[]StartResult{at(status.Interrupted, 3), at(status.Interrupted, 2), {}}, 1},
	} {
		if got := bestOf(c.results); got != c.want {
			t.Errorf("best of %v is %d, want %d", c.results, got, c.want)
		}
	}
}

// Answers that are not solved show an F below the truth by up to their error: the truth at the best of the starts is no more than at any start that is solved, also where starts have been read from a checkpoint.
func TestBestOfInaccurateStarts(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 16))
		results, truth, least := make([]StartResult, 2+rng.IntN(5)), map[float64]float64{}, math.Inf(1)
		ends := &podium{results: results, least: math.Inf(1)}
		for k := range results {
			f, of := rng.NormFloat64(), &oracle.Point{X: []float64{0}, Lower: &lower.Solution{}}
			r := &Result{Status: status.Solved, Best: of}
			if of.F = f; rng.IntN(2) == 0 {
				of.FError = math.Pow(10, 40*rng.Float64()-10)
				of.F -= rng.Float64() * of.FError
				r.Status, of.Lower.Status = status.NumericalFailure, lower.Inaccurate
			} else {
				least = math.Min(least, f)
			}
			truth[of.F] = f
			results[k].Result = ends.enter(k, r)
		}
		for k, r := range results {
			if e := r.Result.ended; e != nil {
				text, err := json.Marshal(e)
				read := &Ended{}
				if err == nil {
					err = json.Unmarshal(text, read)
				}
				if err != nil {
					t.Fatal(err)
				}
				results[k].Result = read.result()
			}
		}
		if best := results[bestOf(results)].Result; truth[best.Best.F] > least+1e-6*math.Abs(least) {
			t.Errorf("seed %d: best is %v, %v in truth, and the least of those solved %v", seed, best.Best.F, truth[best.Best.F], least)
		}
	}
}

// A context that ends during the first start leaves its best point.
func TestMultiStartInterrupted(t *testing.T) {
	c := oracletest.Toll()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ms := &MultiStart{Starts: 5, Threads: 1, Seed: 1, Set: c.Problem.X, Name: "bfgs",
		Options:  Options{Start: c.Problem.Start},
		Observer: func(int) Observer { return (&stopper{at: 2, cancel: cancel}).observe },
		New: func() (oracle.Hyperobjective, Method, error) {
			return hyper(t, c.Problem.Clone()), made(t, "bfgs", nil), nil
		}}
	results, best, err := ms.Solve(ctx)
	if err != nil || best != 0 {
		t.Fatalf("best is start %d (%v)", best, err)
	}
	r := results[0].Result
	if r.Status != status.Interrupted || state(t, r) == nil || math.IsNaN(r.Best.F) || results[4].Result != nil {
		t.Errorf("start 0: %v, checkpoint %v, F %v; start 4: %v", r.Status, state(t, r) != nil, r.Best.F, results[4].Result)
	}
}

// Of points of a recurrence none of 25 parts of an entry is left out by 100, whatever the seed; of random ones two draws of five leave one. Not so where X has four entries, six or eight: of
// four 1/r is 0.8567, next to 6/7, and of the first one 100 points are in 15 parts.
func TestRecurrencesLeaveNoPartOut(t *testing.T) {
	for seed := range uint64(50) {
		for _, dim := range []int{1, 2, 3, 5} {
			set := &problem.Set{Lo: make([]float64, dim), Hi: make([]float64, dim)}
			for j := range dim {
				set.Lo[j], set.Hi[j] = -float64(j), float64(j+1)
			}
			at := AdditiveRecurrence(make([]float64, dim), set, seed)
			for j := range dim {
				met := map[int]bool{}
				for k := 1; k <= 100; k++ {
					met[int(25*(at(k)[j]-set.Lo[j])/(set.Hi[j]-set.Lo[j]))] = true
				}
				if len(met) < 25 {
					t.Errorf("seed %d: entry %d of %d is in %d of 25 parts", seed, j, dim, len(met))
				}
			}
		}
	}
}
