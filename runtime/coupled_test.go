package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
)

// coupledModel has a follower with the closed form y_i = max(0, a_i - b_i x_i) and an
// upper level with one constraint that reads it and one that is curved in x.
type coupledModel struct {
	a, b, goal, c, d [2]float64
	limit, radius    float64
	equal            bool
}

func newCoupled(rng *rand.Rand) *coupledModel {
	m := &coupledModel{equal: rng.IntN(3) == 0, radius: 1 + rng.Float64(), limit: rng.NormFloat64()}
	for i := range 2 {
		m.a[i], m.b[i], m.goal[i] = rng.NormFloat64(), 0.2+rng.Float64(), rng.NormFloat64()
		m.c[i], m.d[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	return m
}

func (m *coupledModel) text() string {
	relation := "<="
	if m.equal {
		relation = "=="
	}
	return fmt.Sprintf(`model coupled
data a: vector[2] = %s
data b: vector[2] = %s
data goal: vector[2] = %s
data c: vector[2] = %s
data d: vector[2] = %s
upper {
  var x: vector[2] in box(-2, 2)
  minimize sumsq(y - goal) + 0.3 * sumsq(x) + x[1] * y[2]
  subject to
    disc: x[1]^2 + 2 * x[2]^2 <= %v
    joint: forall i in 1..1: c' * y + d' * x %s %v
}
lower {
  var y: vector[2] in nonneg
  minimize 0.5 * sumsq(y) - (a - b .* x)' * y
}
`, text(m.a), text(m.b), text(m.goal), text(m.c), text(m.d), m.radius, relation, m.limit)
}

// at is F, and the violation of the constraints, from the closed form.
func (m *coupledModel) at(x [2]float64) (f, violation float64) {
	joint := -m.limit
	var y [2]float64
	for i := range 2 {
		y[i] = math.Max(0, m.a[i]-m.b[i]*x[i])
		f += (y[i]-m.goal[i])*(y[i]-m.goal[i]) + 0.3*x[i]*x[i]
		joint += m.c[i]*y[i] + m.d[i]*x[i]
	}
	if m.equal {
		joint = math.Abs(joint)
	}
	f += x[0] * y[1]
	return f, math.Max(math.Max(joint, x[0]*x[0]+2*x[1]*x[1]-m.radius), 0)
}

// feasible reports whether a point of the square around center holds the constraints to 1e-8: one of which the center violates them by more than they change over half of it has none, and each
// other is looked at by quarters.
func (m *coupledModel) feasible(center [2]float64, half float64) bool {
	steep := 0.0 // of joint, in both entries of x together; disc has at most 4 + 8
	for i := range 2 {
		steep += math.Abs(m.c[i]*m.b[i]) + math.Abs(m.d[i])
	}
	if _, v := m.at(center); v > math.Max(12, steep)*half {
		return false
	}
	if half < 1e-9 {
		return true
	}
	for _, side := range [4][2]float64{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}} {
		if m.feasible([2]float64{center[0] + side[0]*half/2, center[1] + side[1]*half/2}, half/2) {
			return true
		}
	}
	return false
}

// The points that runs end at satisfy the constraints, and no feasible point near
// them is better; problems said to be infeasible have no feasible point.
// Everything is judged by the closed form of the follower.
func TestCoupledConstraints(t *testing.T) {
	solved, infeasible := 0, 0
	for trial := range members.Seeds(t, 80) {
		rng := rand.New(rand.NewPCG(trial, 5))
		m := newCoupled(rng)
		problem := bindText(t, m.text())
		r, err := problem.Solve(context.Background(), runtime.Options{Starts: 3, Seed: trial})
		if err != nil {
			t.Fatal(err)
		}
		// Steps along a curved constraint are as short as its weight is large: with first
		// weights that are 10^4 times too large runs took 10^5 to 10^6 calls, otherwise at
		// most 10^4, and 5 10^4 from 20 starts where there is no feasible point.
		if calls := r.Calls.GradF; calls > 1e5 {
			t.Errorf("case %d: %d gradients of f\n%s", trial, calls, m.text())
		}
		if r.Status == runtime.Infeasible {
			if infeasible++; m.feasible([2]float64{}, 2) {
				t.Errorf("case %d: called infeasible, and it is not\n%s", trial, m.text())
			}
			report, err := verifiedByProof(problem, r)
			if err != nil || !report.OK() {
				t.Errorf("case %d: %v %v\n%s", trial, err, report, m.text())
			}
			continue
		}
		if r.Status == runtime.NumericalFailure && !m.feasible([2]float64{}, 2) {
			infeasible++
			continue
		}
		if r.Status != runtime.Solved {
			t.Errorf("case %d: %s (%s)\n%s", trial, r.Status, r.Reason, m.text())
			continue
		}
		solved++
		forged := *r
		forged.Status = runtime.Infeasible
		if report, err := problem.Verify(&forged); err == nil && report.OK() {
			t.Errorf("case %d: a solved one passed as infeasible\n%s", trial, m.text())
		}
		at, _ := r.Upper.Variables.Get("x")
		x := [2]float64(at.Data)
		f, violation := m.at(x)
		if violation > 1e-5 {
			t.Errorf("case %d: solved at a point that violates a constraint by %v\n%s", trial, violation, m.text())
		}
		if got := float64(r.Upper.Objective); math.Abs(got-f) > 1e-8*(1+math.Abs(f)) {
			t.Errorf("case %d: F = %v, want %v", trial, got, f)
		}
		multipliers, _ := r.Upper.Multipliers.Get("disc")
		residual, _ := r.Upper.Residuals.Get("disc")
		if residual.Data[0] < -1e-3 && multipliers.Data[0] != 0 {
			t.Errorf("case %d: disc has slack %v and the multiplier %v", trial, -residual.Data[0], multipliers.Data[0])
		}
		for range 4000 {
			radius := 0.03 * rng.Float64()
			angle := 2 * math.Pi * rng.Float64()
			near := [2]float64{x[0] + radius*math.Cos(angle), x[1] + radius*math.Sin(angle)}
			if math.Max(math.Abs(near[0]), math.Abs(near[1])) > 2 {
				continue
			}
			// Stationary to 1e-5 or so: what is gained nearby is of that order times the
			// distance, or of the order of the violation allowed.
			if g, v := m.at(near); v <= violation && g < f-1e-3*radius-1e-5 && m.descends(x, near) {
				t.Errorf("case %d: %v is better by %v at a distance of %v\n%s", trial, near, f-g, radius, m.text())
				break
			}
		}
	}
	t.Logf("%d solved, %d infeasible", solved, infeasible)
	if solved < members.Part(40, 80) || infeasible < members.Part(3, 80) {
		t.Errorf("%d solved and %d infeasible cases say too little", solved, infeasible)
	}
}

// descends reports that F falls along the whole way to a better feasible point, so
// that the start is not stationary.
func (m *coupledModel) descends(from, to [2]float64) bool {
	f, v := m.at(from)
	for k := 1; k <= 64; k++ {
		s := float64(k) / 64
		g, w := m.at([2]float64{from[0] + s*(to[0]-from[0]), from[1] + s*(to[1]-from[1])})
		if g > f || w > v+1e-9 {
			return false
		}
		f = g
	}
	return true
}

// What a result says about its upper constraints is checked, each number of it.
func TestForgedCoupledClaims(t *testing.T) {
	problem := bindFile(t, "../examples/revenue/revenue.blv")
	r, err := problem.Solve(context.Background(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != runtime.Solved || !verified(problem, r) {
		t.Fatalf("%s: %s", r.Status, r.Reason)
	}
	for name, claim := range map[string]runtime.Values{"residual": r.Upper.Residuals, "multiplier": r.Upper.Multipliers, "weight": r.Upper.Penalty} {
		for _, family := range claim {
			for i, was := range family.Data {
				for _, forged := range []float64{was + 0.01*(1+math.Abs(was)), -was - 1, math.NaN()} {
					// A constraint that no sample violates does not enter with its weight.
					if slack, _ := r.Upper.Residuals.Get(family.Name); name == "weight" && slack.Data[i] < -1e-3 && forged >= 0 {
						continue
					}
					if family.Data[i] = forged; verified(problem, r) {
						t.Errorf("%s of %s: %v passed for %v", name, family.Name, forged, was)
					}
				}
				family.Data[i] = was
			}
		}
	}
}

// Where the follower does not react to the start, no weight makes a constraint hold
// from there: other starts are tried before a feasible problem is called infeasible.
func TestCoupledFromAPlateau(t *testing.T) {
	problem := bindText(t, `model plateau
set node = {"A", "B"}
data demand: [node] = [4, 3]
upper {
  var bid: [node] in box(1, 6)
  maximize sum(n in node: dual(balance)[n] * mine[n] - mine[n])
  subject to
    limit: forall n in node: dual(balance)[n] <= 5
    total: sum(mine) <= 4
}
lower {
  var mine: [node] in box(0, 3)
  var rival: [node] in box(0, 9)
  minimize sum(n in node: bid[n] * mine[n] + 0.05 * mine[n]^2 + 2 * rival[n] + 0.3 * rival[n]^2)
  subject to
    balance: forall n in node: demand[n] == mine[n] + rival[n]
}
`)
	r, err := problem.Solve(context.Background(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// By hand: the price is the rival's, 2 + 0.6 (demand - mine), so that a unit earns
	// 1 + 0.6 (demand - mine); of 4 units in all, 2.25 at A and 1.75 at B earn most.
	if r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-7.675) > 1e-6 {
		t.Errorf("%s (%s): F = %v, want 7.675", r.Status, r.Reason, r.Upper.Objective)
	}
	for _, s := range r.Starts {
		if f := float64(s.Objective); f < 0 || f > 20 {
			t.Errorf("a start has F = %v: the penalty is in it", f)
		}
	}
}

// A run with upper constraints that read y goes on from its written state to the end
// that it has without a stop, whichever iteration it was stopped in.
func TestCoupledResumes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		coupledResumes(t, newCoupled(rand.New(rand.NewPCG(4, seed))), 1+2*int(seed%2))
	}
}

func coupledResumes(t *testing.T, m *coupledModel, starts int) {
	problem := bindText(t, m.text())
	whole, err := problem.Solve(context.Background(), runtime.OffSystem(runtime.Options{Starts: starts}))
	if err != nil || whole.Status != runtime.Solved {
		t.Fatalf("%v: %+v", err, whole)
	}
	stopped := 0
	for limit := 1; limit < 12; limit++ {
		part, err := problem.Solve(context.Background(), runtime.OffSystem(runtime.Options{Starts: starts, MaxIter: limit}))
		if err != nil {
			t.Fatal(err)
		}
		if part.Status != runtime.LimitReached {
			continue
		}
		stopped++
		text, err := part.Checkpoint.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		state, err := runtime.ReadCheckpoint(text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := problem.Solve(context.Background(), runtime.Options{Resume: state})
		if err != nil {
			t.Errorf("stopped after %d iterations: %v", limit, err)
			continue
		}
		if r.Status != whole.Status || r.Upper.Objective != whole.Upper.Objective || r.Calls != whole.Calls {
			t.Errorf("stopped after %d iterations: %s, F = %v, %v calls; in one go %s, %v, %v", limit, r.Status, r.Upper.Objective, r.Calls,
				whole.Status, whole.Upper.Objective, whole.Calls)
		}
	}
	if stopped < 3 {
		t.Errorf("only %d runs were stopped", stopped)
	}
}

// Constraints that alone keep a concave F from falling without bound: the penalized F falls
// from wherever the weights are too small, and rounds with larger weights are not to begin
// that far off. The local minimizers are the vertices of the box that the constraints
// make, all of them known.
func TestPenaltyThatFallsWithoutBound(t *testing.T) {
	for trial := range members.Seeds(t, 20) {
		rng := rand.New(rand.NewPCG(trial, 3))
		var bend, tilt, edge [2]float64
		for j := range 2 {
			bend[j], tilt[j], edge[j] = 0.5+rng.Float64(), 0.02*rng.NormFloat64(), 0.5+2*rng.Float64()
		}
		problem := bindText(t, fmt.Sprintf(`model concave
data bend: vector[2] = %s
data tilt: vector[2] = %s
data edge: vector[2] = %s
upper {
  var x: vector[2]
  minimize tilt' * y - 0.5 * bend' * (y .* x)
  subject to
    above: y <= edge
    below: y >= -edge
}
lower {
  var y: vector[2]
  minimize 0.5 * sumsq(y - x)
}
`, text(bend), text(tilt), text(edge)))
		r, err := problem.Solve(context.Background(), runtime.Options{Seed: trial, TimeLimit: time.Minute})
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		if r.Status != runtime.Solved {
			t.Errorf("trial %d: %v (%s), F %v at %v", trial, r.Status, r.Reason, r.Upper.Objective, r.Upper.Variables)
			continue
		}
		at, _ := r.Upper.Variables.Get("x")
		x, F := at.Data, 0.0
		for j, v := range x {
			if d := math.Abs(math.Abs(v) - edge[j]); d > 1e-5*edge[j] {
				t.Errorf("trial %d: x is %v, no vertex of the box of %v", trial, x, edge)
			}
			F += tilt[j]*v - 0.5*bend[j]*v*v
		}
		if math.Abs(F-float64(r.Upper.Objective)) > 1e-5*math.Abs(F) {
			t.Errorf("trial %d: F is %v, not %v", trial, F, r.Upper.Objective)
		}
	}
}

// verifiedByProof is Verify, and for an infeasible result without a point what its proof shows.
func verifiedByProof(p *runtime.Problem, r *runtime.Result) (*certify.Report, error) {
	if r.HasPoint() {
		return p.Verify(r)
	}
	var proof bytes.Buffer
	if err := r.WriteProof(context.Background(), &proof); err != nil {
		return nil, err
	}
	return p.VerifyProof(r, "proof", &proof)
}
