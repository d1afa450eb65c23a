package runtime_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
)

// That nothing is feasible is found whatever f is: a search with an f that is not convex would split the directions along which it curves down, which takes no end where there is no point. Truth is the same problem without f, by a proof that
// package certify evaluates on its own; that with f has one as well.
func TestNoPointBehindAnyF(t *testing.T) {
	t.Parallel()
	const n, m, k = 6, 6, 6
	found := 0
	for member := range members.SeedsOf(t, 150, 600) {
		var rng *rand.Rand
		draw := func(rows, cols, least, most int) [][]int {
			a := make([][]int, rows)
			for i := range a {
				a[i] = make([]int, cols)
				for j := range a[i] {
					a[i][j] = least + rng.IntN(most-least+1)
				}
			}
			return a
		}
		model := func(f string) string {
			rng = rand.New(rand.NewPCG(member, 711))
			return fmt.Sprintf(`model behind
data A: matrix[%[1]d, %[2]d] = %[4]s
data B: matrix[%[1]d, %[2]d] = %[5]s
data b: vector[%[1]d] = %[6]s
data C: matrix[%[3]d, %[2]d] = %[7]s
data D: matrix[%[3]d, %[2]d] = %[8]s
data e: vector[%[3]d] = %[9]s
data P: matrix[%[2]d, %[2]d] = %[10]s
data Q: matrix[%[2]d, %[2]d] = %[11]s
data g: vector[%[2]d] = %[12]s
upper {
  var x: vector[%[2]d] in box(-10, 10)
  minimize %[13]s
  subject to
    c: C * x + D * y <= e
}
lower {
  var y: vector[%[2]d] in box(-10, 10)
  minimize g' * y + x' * (P * y) + 0.5 * sumsq(y)
  subject to
    r: A * x + B * y <= b
}
`, m, n, k, text(draw(m, n, -3, 3)), text(draw(m, n, -3, 3)), text(draw(1, m, 1, 7)[0]), text(draw(k, n, -3, 3)), text(draw(k, n, -3, 3)), text(draw(1, k, -18, 0)[0]),
				text(draw(n, n, -2, 2)), text(draw(n, n, -3, 3)), text(draw(1, n, -4, 4)[0]), f)
		}
		solve := func(f string) (*runtime.Problem, *runtime.Result) {
			p := bindText(t, model(f))
			r, err := p.Solve(t.Context(), runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return p, r
		}
		proves := func(p *runtime.Problem, r *runtime.Result) bool {
			var proof bytes.Buffer
			if err := r.WriteProof(t.Context(), &proof); err != nil {
				t.Errorf("member %d: %v", member, err)
				return false
			}
			report, err := p.VerifyProof(r, "p", &proof)
			return err == nil && report.OK()
		}
		p, r := solve("0 * sum(Q * x)")
		if r.Status != runtime.Infeasible || r.Global == nil || r.Global.Nodes < 2 || !proves(p, r) {
			continue
		}
		found++
		if p, r = solve("x' * (Q * x) + x' * (Q * y) + y' * (Q * y) - sum(Q * y)"); r.Status != runtime.Infeasible || !proves(p, r) {
			t.Errorf("member %d: %s (%s)\n%s", member, r.Status, r.Reason, model("..."))
		}
	}
	if found < 3 {
		t.Errorf("%d without a point", found)
	}
}

// Whether something is feasible does not depend on f, whatever it is: the follower's answer y <= 1 to x <= 1 is known, so that x + y <= 2, and a constraint of the leader, quadratic or restated, asks for more or for less.
func TestNoPointBehindCurvedF(t *testing.T) {
	t.Parallel()
	for member := range members.SeedsOf(t, 6, 60) {
		rng := rand.New(rand.NewPCG(member, 712))
		r := 0.5 + 3*rng.Float64()
		off := []float64{-0.3, 0.1}[rng.IntN(2)] * rng.Float64()
		f := []string{"exp(x + y) - y", "x * y^2 + y", "log(2 + x + y)", "x^3 - 2 * y / (1 + x^2)"}[rng.IntN(4)]
		row := []string{"(y + x - %.17g)^2 <= %.17g^2", "abs(y + x - %.17g) <= %.17g"}[rng.IntN(2)]
		text := fmt.Sprintf("model behind\nupper {\n  var x: real in box(0, 1)\n  minimize %s\n  subject to\n    "+row+"\n}\nlower {\n  var y: real in box(0, 5)\n  minimize (y - x)^2 + %g * abs(y - 1)\n}\n", f, 2+r+off, r, 0.2+rng.Float64())
		p := bindText(t, text)
		result, err := p.Solve(t.Context(), runtime.Options{Seed: member})
		if err != nil || (result.Status == runtime.Infeasible) != (off > 0) || off < 0 && !verified(p, result) {
			t.Errorf("member %d: %v (%s), %v\n%s", member, result.Status, result.Reason, err, text)
		}
		if off < 0 {
			continue
		}
		var proof bytes.Buffer
		if err := result.WriteProof(t.Context(), &proof); err != nil {
			t.Errorf("member %d: %v\n%s", member, err, text)
		} else if report, err := p.VerifyProof(result, "proof", &proof); err != nil || !report.OK() {
			t.Errorf("member %d: %v, %v\n%s", member, err, report, text)
		}
	}
}

// A follower without a feasible y is said to be that beside a kink in g whose hidden variable has a range of its own, not to have a kink that g does not rise with: 0 <= y <= -a.
func TestNoAnswerBesideKinks(t *testing.T) {
	t.Parallel()
	for member := range members.Seeds(t, 6) {
		rng := rand.New(rand.NewPCG(member, 715))
		a, b := 0.1+2*rng.Float64(), 2*rng.NormFloat64()
		for _, kink := range []string{"max(0, y + %g)^2", "abs(y - %g)"} {
			text := fmt.Sprintf("model empty\nupper {\n  var x: real in box(0, 1)\n  minimize x + y\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x)^2 + 0.5 * "+kink+"\n  subject to\n    impossible: y <= %g - x\n}\n", b, -a)
			if r := solveText(t, text, runtime.Options{Seed: member}); r.Status != runtime.Infeasible || len(r.Diagnostics) != 1 || r.Diagnostics[0].Code != diag.RunInfeasible {
				t.Errorf("member %d: %v (%s)\n%s", member, r.Status, r.Reason, text)
			}
		}
	}
}

// A proof that stands on f = 0 bounds no other f: that of a program whose f is 0 is refused for the same one with a cubic f, which is less there.
func TestNoBoundWithoutF(t *testing.T) {
	bind := func(f string) *runtime.Problem {
		return bindText(t, "model forged\nupper {\n  var x: real in box(-1, 1)\n  minimize "+f+"\n  subject to\n    (y + x)^2 <= 3\n}\nlower {\n  var y: real in box(-1, 5)\n  minimize (y - x)^2\n}\n")
	}
	p, cubic := bind("0 * x"), bind("x^3 + y")
	r, err := p.Solve(t.Context(), runtime.Options{})
	var proof bytes.Buffer
	if err != nil || r.WriteProof(t.Context(), &proof) != nil {
		t.Fatal(err, r.Status, r.Global)
	}
	if _, err := certify.VerifyTree(p.Numeric, bytes.NewReader(proof.Bytes()), p.Digest()); err != nil {
		t.Fatal(err)
	}
	forged := bytes.ReplaceAll(proof.Bytes(), []byte(p.Digest()), []byte(cubic.Digest()))
	if shown, err := certify.VerifyTree(cubic.Numeric, bytes.NewReader(forged), cubic.Digest()); err == nil {
		t.Errorf("F >= %v is taken for shown, and is -2 at x = -1", shown.Bound)
	}
}
