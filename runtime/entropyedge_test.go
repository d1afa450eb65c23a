package runtime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
)

// F where the first entry of y is exp(-t) of its size, down to where numbers end, and the others are
// moderate or at bounds with multipliers: y and F are in closed form, and the document passes. Such
// points are where runs with a free x are when a limit ends them.
func TestVerifyBesideAnEntropysEdge(t *testing.T) {
	points, solved := 0, 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 1))
		w := 0.1 + rng.Float64()
		depth := 700 * rng.Float64() // of exp
		x := 1 + w*depth
		c := 1 - w // y1 = exp((c - x)/w - 1) = exp(-depth - 1/w + ...)
		n, stiff := 1+rng.IntN(4), 0.0
		target, curve := make([]float64, n), make([]float64, n)
		g := fmt.Sprintf("%.17g*y[1]*log(y[1]) + (x - (%.17g))*y[1]", w, c)
		f := "0.5*(x - 3)^2 + y[1]"
		scale := math.Pow(10, float64(rng.IntN(9)-4))
		F := 0.5 * (x - 3) * (x - 3)
		for j := range target {
			target[j], curve[j] = scale*(rng.Float64()-0.5), scale*(0.5+rng.Float64())
			if k%2 == 1 { // y is 0 elsewhere, but for y1's force
				target[j] = -math.Abs(target[j])
				pull := curve[j] * rng.Float64()
				stiff += pull * pull / curve[j]
				g += fmt.Sprintf(" + (%.17g)*y[1]*y[%d]", pull, j+2)
			}
			g += fmt.Sprintf(" + 0.5*%.17g*(y[%d] - (%.17g))^2", curve[j], j+2, target[j])
			f += fmt.Sprintf(" + y[%d]", j+2)
			F += math.Max(0, target[j])
		}
		y := math.Exp((c-x)/w - 1)
		F += y
		g += fmt.Sprintf(" + %.17g*y[1]*(0.5*y[1] - %.17g)", stiff, y) // at rest at y, and convex
		source := fmt.Sprintf("model m\nupper {\n  var x: real\n  minimize %s\n}\nlower {\n  var y: vector[%d] in nonneg\n  minimize %s\n}\n", f, n+1, g)
		model, err := Compile("m.blv", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Eval(context.Background(), Values{{Name: "x", Data: []float64{x}}}, Options{})
		if err != nil {
			t.Errorf("%d: %v\n%s", k, err, source)
			continue
		}
		if !r.HasPoint() {
			continue
		}
		points++
		if r.Lower.Status == "solved" {
			solved++
			found, _ := r.Lower.Variables.Get("y")
			if got := found.Data[0]; !(math.Abs(math.Log(got/y)) < 1e-5) {
				t.Errorf("%d: y[1] = %g, truly %g (error bound %g)", k, got, y, r.Lower.ErrorBound)
			}
			if math.Abs(float64(r.Upper.Objective)-F) > 1e-7*(math.Abs(F)+scale) {
				t.Errorf("%d: F = %g, truly %g", k, r.Upper.Objective, F)
			}
		}
		report, err := p.Verify(r)
		if err != nil {
			t.Errorf("%d: %v", k, err)
			continue
		}
		if !report.OK() {
			t.Errorf("%d: y[1] = %g: %v\nx = %.17g\n%s", k, y, report.Failures()[0].Problem(), x, source)
		}
	}
	if solved < members.Part(8, 60) {
		t.Errorf("%d points, %d solved", points, solved)
	}
}

// Runs of a solver that takes the edge of an entropy's domain for an answer: whatever they end with,
// the document says of y what a verification finds, down to that it is not solved.
func TestRunsThatEndAtAnEntropysEdge(t *testing.T) {
	t.Parallel()
	unsolved := 0
	for k := range members.Seeds(t, 24) {
		rng := rand.New(rand.NewPCG(k, 2))
		vary := func(v float64) float64 { return v * (0.95 + 0.1*rng.Float64()) }
		source := fmt.Sprintf(`model m
upper {
  var x: vector[1] in box([-1], [1])
  minimize 2*y[4]
}
lower {
  var y: vector[4] in nonneg
  minimize %.3g*x[1]*y[1] + 3*x[1]*y[2] - %.3g*x[1]*y[3] + y[1]^2 + y[2]^2 + %.3g*y[3]^2 + %.3g*y[4]^2 + %.3g*y[4]*log(y[4])
  subject to
    q: -2*y[2] == -2
    r: -2*y[1] + y[2] - y[3] + 2.5*y[4] <= -1.5
    s: 2*y[1] + 2*y[4] <= 1
}
`, vary(3), vary(2.4), vary(0.3), vary(0.75), vary(2))
		p := mustBind(t, source)
		// It is at the edge long before its own limit, and does not leave it.
		r, err := p.Solve(context.Background(), Options{Settings: map[string]any{"max_iterations": 20_000}, Starts: 2, Solver: "agd", Seed: k})
		if err != nil {
			t.Fatalf("%d: %v\n%s", k, err, source)
		}
		if r.Status != Solved {
			unsolved++
		}
		if !r.HasPoint() {
			continue
		}
		if found := failures(t, p, r); len(found) > 0 {
			t.Errorf("%d: %v (%s), lower level %s: %v\n%s", k, r.Status, r.Reason, r.Lower.Status, found, source)
		}
	}
	t.Logf("%d of %d not solved", unsolved, members.Count(24))
}
