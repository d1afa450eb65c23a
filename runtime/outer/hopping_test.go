package outer

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// parametricProblem is a random problem whose lower level is a parametric quadratic program, with ApproachFrom variables,
// over a box of x that F is often least at the edge of. f pulls on y, whose rows bend F.
func parametricProblem(rng *rand.Rand, dx, rows int, box float64) *problem.Problem {
	return bentBy(rng, dx, rows, box, 1)
}

// bentBy is a parametricProblem in which the Hessian of g in y is the identity but for a part of this size.
func bentBy(rng *rand.Rand, dx, rows int, box, size float64) *problem.Problem {
	dy := ApproachFrom - dx
	normals := func(k int) []float64 {
		v := make([]float64, k)
		for j := range v {
			v[j] = rng.NormFloat64()
		}
		return v
	}
	n := dx + dy
	h, l := make([]float64, n*n), normals(dy*dy)
	for i := range dy {
		for j := range dy {
			s := 0.0
			for k := range dy {
				s += size * l[i*dy+k] * l[j*dy+k]
			}
			if i == j {
				s++
			}
			h[(dx+i)*n+dx+j] = s
		}
	}
	for j := range dx {
		for i, v := range normals(dy) {
			h[j*n+dx+i], h[(dx+i)*n+j] = v, v
		}
	}
	up := make([]float64, n*n)
	for j := range n {
		up[j*n+j] = 0.02
	}
	kinds := make([]problem.Kind, rows)
	return &problem.Problem{Dx: dx, Dy: dy, F: oracletest.NewQuadratic(dx, dy, up, append(make([]float64, dx), normals(dy)...), 0),
		G: oracletest.NewQuadratic(dx, dy, h, make([]float64, n), 0), X: oracletest.Box(dx, -box, box), Start: make([]float64, dx),
		Rows: &problem.Rows{Kind: kinds, A: sparse.FromDense(rows, dx, make([]float64, rows*dx)), B: sparse.FromDense(rows, dy, normals(rows*dy)),
			Rhs: normals(rows), Name: make([]string, rows)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true}}
}

// freshHyper solves the lower level by the default solver, which learns the Hessian.
func freshHyper(t *testing.T, p *problem.Problem) *oracle.Hyper {
	t.Helper()
	s, err := lower.New(lower.Choose(p), nil, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	return oracle.New(p.Clone(), s, &oracle.Face{Settings: *oracle.DefaultFace()})
}

// TestHopsFindTheLowest: of F with one or two variables, the least value on a grid of full evaluations is met, or
// undercut, by a run from the middle; a run whose descents begin at the start alone ends higher often enough for this to say something.
func TestHopsFindTheLowest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	trapped, edges := 0, 0
	asked := members.Some(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 4)
	for k := range 12 {
		dx, box := 1+k%2, 12.0
		p := parametricProblem(rng, dx, 24, box)
		if !slices.Contains(asked, k) {
			continue
		}
		h := freshHyper(t, p)
		least := math.Inf(1)
		for a := range 161 {
			x := make([]float64, dx)
			for b := range 1 + 160*(dx-1)/4 {
				if x[0] = -box + 2*box*float64(a)/160; dx > 1 {
					x[1] = -box + 2*box*float64(b)/40
				}
				pt, err := h.Value(context.Background(), x)
				if err != nil {
					t.Fatal(err)
				}
				least = math.Min(least, pt.F)
			}
		}
		r, err := Solve(context.Background(), freshHyper(t, p), "bundle", &bundle{Settings: *defaultBundle()}, Options{Start: p.Start, Seed: 1})
		if err != nil || r.Status != status.Solved || r.Certificate == nil {
			t.Fatalf("problem %d: %v", k, err)
		}
		if !strings.Contains(r.Reason, "descents on the follower's parametric program") {
			t.Errorf("problem %d: %s", k, r.Reason)
		}
		for j, v := range r.Best.X {
			if v == p.X.Lo[j] || v == p.X.Hi[j] {
				edges++
			}
		}
		if fall := math.Abs(r.Best.F) + math.Abs(least); r.Best.F > least+1e-9*fall {
			t.Errorf("problem %d: F %.9g, and %.9g on a grid", k, r.Best.F, least)
		}
		local := *defaultBundle()
		local.Continuation = false
		if r, err := Solve(context.Background(), freshHyper(t, p), "bundle", &bundle{Settings: local}, Options{Start: p.Start, Seed: 1}); err == nil &&
			r.Best.F > least+1e-3*math.Abs(least) {
			trapped++
		}
	}
	t.Logf("%d searches from the start alone end in a trap; %d entries at the edge of X", trapped, edges)
	if members.Full() && (trapped < 2 || edges < 2) {
		t.Errorf("%d traps, %d entries at the edge: these problems say little", trapped, edges)
	}
}

// TestHopsResume: a run that is interrupted between its rounds of descents, or behind them, goes on from what was
// written down as if it had not been, its calls included.
func TestHopsResume(t *testing.T) {
	p := parametricProblem(rand.New(rand.NewPCG(6, 6)), 20, 30, math.Inf(1))
	run := func(ctx context.Context, o *stopper, resume *Checkpoint) *Result {
		r, err := Solve(ctx, freshHyper(t, p), "bundle", &bundle{Settings: *defaultBundle()},
			Options{Start: p.Start, Seed: 5, Observer: o, Resume: resume, Cost: Cost{F: 2e5}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := &stopper{at: -1}
	want := run(context.Background(), whole, nil)
	rounds := 0
	var ends []int
	for at := 1; at < len(whole.seen); at += 1 + at/6 {
		ends = append(ends, at)
	}
	for _, at := range members.Some(t, ends, 8) {
		ctx, cancel := context.WithCancel(context.Background())
		r := run(ctx, &stopper{at: at, cancel: cancel}, nil)
		text, err := json.Marshal(state(t, r))
		if err != nil {
			t.Fatal(err)
		}
		var back Checkpoint
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(back.State), `"Hopping":{`) {
			rounds++
		}
		got := run(context.Background(), &stopper{at: -1}, &back)
		if got.Best.F != want.Best.F || !reflect.DeepEqual(got.Best.X, want.Best.X) || got.Iterations != want.Iterations ||
			got.Evaluations != want.Evaluations || got.Calls != want.Calls {
			t.Errorf("resumed after %d: F %v, %d evaluations, %+v; the whole run %v, %d, %+v", at, got.Best.F, got.Evaluations, got.Calls,
				want.Best.F, want.Evaluations, want.Calls)
		}
	}
	if members.Full() && rounds < 2 || rounds == 0 {
		t.Errorf("%d states between rounds", rounds)
	}
}

// TestHopsEnd: limits and contexts end them.
func TestHopsEnd(t *testing.T) {
	p := parametricProblem(rand.New(rand.NewPCG(7, 7)), 20, 30, math.Inf(1))
	r, err := Solve(context.Background(), freshHyper(t, p), "bundle", &bundle{Settings: *defaultBundle()},
		Options{Start: p.Start, Seed: 5, Limits: Limits{Evaluations: 200}})
	if err != nil || r.Status != status.LimitReached || r.Evaluations > 210 {
		t.Errorf("%v: %v after %d evaluations", err, r.Status, r.Evaluations)
	}
	ctx, cancel := context.WithCancel(context.Background())
	first := &stopper{at: 1, cancel: cancel}
	if r, err = Solve(ctx, freshHyper(t, p), "bundle", &bundle{Settings: *defaultBundle()},
		Options{Start: p.Start, Seed: 5, Observer: first}); err != nil || r.Status != status.Interrupted || len(first.seen) != 1 {
		t.Errorf("%v: %v after %d iterations", err, r.Status, len(first.seen))
	}
}

// TestHopsLearn: a search has the whole Hessian of g measured where lower solves, which take few gradients, have not.
func TestHopsLearn(t *testing.T) {
	p := bentBy(rand.New(rand.NewPCG(8, 8)), 20, 30, math.Inf(1), 1e-3)
	h := freshHyper(t, p)
	if _, err := h.Value(context.Background(), p.Start); err != nil || h.Recalls() {
		t.Fatalf("%v: a lower solve has measured the Hessian: %v", err, h.Recalls())
	}
	r, err := Solve(context.Background(), freshHyper(t, p), "bundle", &bundle{Settings: *defaultBundle()}, Options{Start: p.Start, Seed: 1})
	if err != nil || r.Status != status.Solved || !strings.Contains(r.Reason, "descents on the follower's parametric program") {
		t.Errorf("%v: %+v", err, r)
	}
}

// TestHopsOver: a search goes on while it gains, for as long again, or all its descents end next to each other, and ends
// in any case.
func TestHopsOver(t *testing.T) {
	for _, c := range []struct {
		hopping
		over bool
	}{
		{hopping{First: 1, Apart: 1, Tried: hopLeast, Gained: 0, Read: hopEnough}, true},
		{hopping{First: 1, Apart: 1, Tried: hopLeast, Gained: 0, Read: hopEnough / 2}, false},
		{hopping{First: 1, Apart: 1, Tried: hopLeast, Gained: 1, Read: hopEnough}, false},
		{hopping{First: 1, Apart: 1, Tried: 10*hopLeast - 1, Gained: 5 * hopLeast, Read: hopEnough}, false},
		{hopping{First: 1, Apart: 1, Tried: 10 * hopLeast, Gained: 5 * hopLeast, Read: hopEnough}, true},
		{hopping{First: 1, Apart: 1, Tried: 10, Gained: 10, Read: hopRead}, true},
		{hopping{First: 1, Apart: 1, Tried: hopMost, Gained: 1, Read: 0}, false},
		{hopping{First: 1, Apart: 1, Tried: 1 + hopMost, Gained: 1, Read: 0}, true},
		{hopping{First: 1, Apart: hopApart, Tried: hopAlike, Gained: 1, Read: hopDear}, true},
		{hopping{First: 1, Apart: 1.01 * hopApart, Tried: hopAlike, Gained: 1, Read: hopDear}, false},
		{hopping{First: 1, Apart: hopApart, Tried: hopAlike - 1, Gained: 1, Read: hopDear}, false},
		{hopping{First: 1, Apart: hopApart, Tried: hopAlike, Gained: 1, Read: hopDear / 2}, false},
	} {
		if c.hopping.over() != c.over {
			t.Errorf("%+v: %v", c.hopping, !c.over)
		}
	}
}
