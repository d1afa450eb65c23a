package curvature

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/data"
)

// lowerModel is a model with x: vector[3] in a box, y: vector[3], and this
// lower level.
func lowerModel(objective, constraints string) string {
	if constraints != "" {
		constraints = "\n  subject to\n    " + constraints
	}
	return fmt.Sprintf(`model example
data M: matrix[3, 3] = [[2, 1, 0], [1, 3, 1], [0, 1, 4]]
data L: matrix[2, 3] = [[1, 2, 0], [0, 1, 1]]
data N: matrix[3, 3] = [[1, 0, 2], [0, 1, 0], [2, 0, 1]]

upper {
  var x: vector[3] in box(-1, 2)
  minimize sumsq(x) + sumsq(y)
}

lower {
  var y: vector[3]
  minimize %s%s
}
`, objective, constraints)
}

func proveLower(t *testing.T, objective, constraints string) (*ir.Problem, *Proof) {
	t.Helper()
	p := bound(t, "example.blv", lowerModel(objective, constraints), nil, bind.Options{})
	return p, Prove(p, Defaults())
}

// TestProved: moduli that the rules must find, with the true one beside it
// where it is known in closed form.
func TestProved(t *testing.T) {
	for _, c := range []struct {
		objective, constraints string
		modulus                float64
		scope                  Scope
	}{
		{"sumsq(y)", "", 2, everywhere},
		{"0.5 * y' * M * y", "", 3 - math.Sqrt(3), everywhere}, // of M: 3, 3 -+ sqrt 3
		{"y' * (L' * L) * y + 0.25 * sumsq(y)", "", 0.5, everywhere},
		{"exp(x[1]) * (y' * M * y)", "", 2 * (3 - math.Sqrt(3)) * math.Exp(-1), everywhere},
		{"sum(exp(x) .* y .^ 2)", "", 2 * math.Exp(-1), everywhere},
		{"sum((exp(x / 2) .* y) .^ 2)", "", 2 * math.Exp(-1), everywhere},
		{"y' * diag(exp(x)) * y", "", 2 * math.Exp(-1), everywhere},
		{"y' * (diag(exp(x)) + M) * y", "", 2*math.Exp(-1) + 2*(3-math.Sqrt(3)), everywhere},
		{"sumsq(y) - y' * (-(exp(x[1]) * (L' * L))) * y + y' * (L' * L / exp(x[2])) * y", "", 2, everywhere}, // matrices that move with x, taken apart
		{"sumsq(y) + exp(y[1]) + log1pexp(-sum(y)) + logsumexp(y) + norm2(y - x + 1)", "", 2, everywhere},
		{"sumsq(y) + exp(sumsq(y)) - sum(x)", "", 4, everywhere},
		{"sum(sqrt(1 + y .^ 2)) + 0.5 * sumsq(y)", "", 1, everywhere},
		{"sum(sqrt(1 + y .^ 2))", "-1 <= y <= 1", math.Pow(2, -1.5), withinBounds},
		{"sqrt(1 + sumsq(y))", "-1 <= y <= 1", 1.0 / 8, withinBounds}, // 1/r^3 along y, at r = 2
		{"sqrt(1 + y[1]^2 + y[2]^2 + y[3] * y[3])", "-1 <= y <= 1", 1.0 / 8, withinBounds},
		{"sumsq(y) + sqrt(0.5 + x[1]^2 + (y[1] - x[2])^2 + sumsq(y[2..3]))", "", 2, everywhere},
		{"sum(y .^ 4) + x[1] * y[2]", "1 <= y <= 3", 12, withinBounds},
		{"sum(y .* log(y))", "0.1 <= y <= 4", 0.25, withinBounds},
		{"sum(y .* log(y))", "y >= 0\n    sum(y) == 5", 0.2, withinBounds},
		{"-sum(log(y))", "0.1 <= y <= 4", 1.0 / 16, withinBounds},
		{"sum(y .^ (4 + x))", "2 <= y <= 3", 12, withinBounds}, // p (p - 1) u^(p - 2) at p = 3, u = 2
		{"sum(exp(y))", "-1 <= y <= 4", math.Exp(-1), withinBounds},
		{"sumsq(y) + y[1] * y[2]", "", 1, everywhere},
		{"0.5 * sumsq(y) + sum(abs(y - x) .^ 3) + abs(sum(y))^1.5", "", 1, everywhere},
		{"0.5 * sumsq(y) + sum(max(0, y - 1) .^ 3) + max(M[1, :] * y + x[1], 0)^1.5", "", 1, everywhere},
		{"0.5 * sumsq(y) + norm2(y - x)^3 + norm2(M * y)^4 + max(0, sumsq(y) - 1)^1.25", "", 1, everywhere},
		{"0.5 * sumsq(y) + abs(y[1]) * abs(y[1]) - min(0, y[2])^3", "", 1, everywhere},
		{"sum(abs(y) .^ 4)", "1 <= y <= 3", 12, withinBounds},
		{"sumsq(y) - 0.5 * sum(sin(y))", "", 1.5, everywhere},
		{"sumsq(y) - sumsq(y) / 2 + 3 * sum(y)", "", 1, everywhere},
		{"2 * sumsq(y) + x[1] * y[2] * y[3]", "", 2, everywhere},
		{"y[1] * y[2] + sumsq(y)/4", "y[1] == y[2]", 0.5, alongEqualities},
		// eigenvalues of N: 1, 3 and -1 along (1, 0, -1), which the row excludes
		{"0.5 * y' * N * y", "y[1] - y[3] == x[1]", 1, alongEqualities},
		{"sumsq(y) / 2 + prod(i in 1..2: y[i])", "", 0, everywhere},
	} {
		_, proof := proveLower(t, c.objective, c.constraints)
		g := proof.Convexity
		if c.modulus == 0 { // (y1 + y2)^2/2 + y3^2/2 is flat along (1, -1, 0)
			if g.Outcome == proved {
				t.Errorf("%s: proved with mu = %v", c.objective, g.Modulus)
			}
			continue
		}
		if g.Outcome != proved || g.Scope != c.scope || g.Modulus > c.modulus*(1+1e-12) {
			t.Errorf("%s: %s\nwant mu = %v %s", c.objective, proof.Text(true), c.modulus, c.scope)
			continue
		}
		// Along equalities the multiplier of the rows costs up to a percent.
		within := 1e-9
		if c.scope == alongEqualities {
			within = 0.02
		}
		if g.Modulus < c.modulus*(1-within) {
			t.Errorf("%s: mu = %v, the true one is %v\n%s", c.objective, g.Modulus, c.modulus, proof.Text(true))
		}
	}
}

// TestRefuted: objectives that are not strongly convex, and where a user would
// look for the reason.
func TestRefuted(t *testing.T) {
	for _, c := range []struct {
		objective, constraints string
		text                   string // of the direction
		flat                   bool
	}{
		{"-sumsq(y)", "", "along y[", false},
		{"sumsq(y[1..2])", "", "along y[3]", true},
		{"sum(y)", "", "along y[1]", true},
		{"sum(x .* y .^ 2)", "", "along y[", false},
		{"sum((y - x) .^ 2 .* [1, 2, -0.5])", "", "along y[3]", false},
		{"y[1]^2 + y[2]^2 + 2*y[1]*y[2] + y[3]^2", "", "along y[1] - y[2]", true},
		{"sumsq(L * y)", "", "along y[1] - 0.5 y[2] + 0.5 y[3]", true},
		{"exp(x[1]) * sumsq(L * y)", "", "along y[1] - 0.5 y[2] + 0.5 y[3]", true}, // whatever the rounding of exp(x[1]) is
		{"0.5 * y' * N * y", "", "along y[1] - y[3]", false},
		{"sumsq(y) - 0.9 * sum(y .^ 4)", "-1 <= y <= 1", "along y[", false},
		{"sum(y .^ 4)", "-1 <= y <= 1", "along y[1]", true},
		{"sum(sin(y))", "0 <= y <= 3", "along y[", false},
		{"(1 + x[2]) * sumsq(y)", "", "along y[1]", true},
		{"exp(x[1]) * y' * N * y", "", "along", false},
		{"sumsq(y) - log1pexp(y[1] - y[2]) * tanh(y[3])", "-2 <= y <= 2", "along", false},
	} {
		p, proof := proveLower(t, c.objective, c.constraints)
		g := proof.Convexity
		if g.Outcome != refuted || g.Witness.Flat != c.flat || !strings.Contains(g.Witness.Text, c.text) {
			t.Errorf("%s: %s\nwant it refuted %s", c.objective, proof.Text(true), c.text)
			continue
		}
		w := g.Witness
		d, _ := along(p.Lower.Objective, w.X, w.Y, make([]float64, 3), w.Direction)
		if d[2] > 1e-12 {
			t.Errorf("%s: the second derivative along the witness is %v", c.objective, d[2])
		}
		if proof.Facts().StrongConvexity != 0 {
			t.Errorf("%s: a modulus although refuted", c.objective)
		}
		list := proof.Diagnostics(false)
		if !list.HasErrors() || !strings.Contains(list[0].Subject.Text(), c.objective[:4]) {
			t.Errorf("%s: %v at %q", c.objective, list, list[0].Subject.Text())
		}
	}
}

// TestMaximize: a maximized lower objective is spoken of in its own sense.
func TestMaximize(t *testing.T) {
	text := strings.Replace(lowerModel("sumsq(y) - y[1]", ""), "minimize sumsq(y) - y[1]", "maximize sumsq(y) - y[1]", 1)
	list := Prove(bound(t, "example.blv", text, nil, bind.Options{}), Defaults()).Diagnostics(false)
	if len(list) != 1 || !strings.Contains(list[0].Summary, "concave") || !strings.Contains(list[0].Detail, "second derivative is 2") ||
		!strings.HasPrefix(list[0].Fix, "is a sign wrong, or is it meant to be `minimize`? Otherwise subtract") {
		t.Errorf("%v: %+v", list, list[0])
	}
}

// TestBlame: what is left open names its innermost part.
func TestBlame(t *testing.T) {
	for _, c := range []struct{ objective, constraints, expr, reason string }{
		{"sumsq(y) + sin(3 * y[1] * y[2]) / 8 + exp(y[3])", "-1 <= y <= 1", "sin(3 * y[1] * y[2]) / 8", "neither convex nor concave"},
	} {
		_, proof := proveLower(t, c.objective, c.constraints)
		g := proof.Convexity
		if g.Outcome != unknown || g.Blame == nil || !strings.Contains(g.Blame.Expr, c.expr) || !strings.Contains(g.Blame.Reason, c.reason) {
			t.Errorf("%s:\n%s", c.objective, proof.Text(true))
			continue
		}
		list := proof.Diagnostics(false)
		if list.HasErrors() || len(list) != 1 || !strings.Contains(list[0].Subject.Text(), c.expr) {
			t.Errorf("%s: %v", c.objective, list)
		}
	}
}

// TestEqualityOfTheLeader: an equality of X bounds entries of x from both sides.
func TestEqualityOfTheLeader(t *testing.T) {
	text := strings.Replace(lowerModel("x[1] * sumsq(y)", ""), "minimize sumsq(x) + sumsq(y)", "minimize sumsq(x)\n  subject to\n    x[1] + x[2] == 3.5", 1)
	if g := Prove(bound(t, "example.blv", text, nil, bind.Options{}), Defaults()).Convexity; g.Outcome != proved || g.Modulus != 3 { // x[2] <= 2
		t.Errorf("%+v", g)
	}
}

// TestSparseFactors: what is proved of a matrix and of its transpose does not depend on how it is stored.
func TestSparseFactors(t *testing.T) {
	text := strings.Replace(lowerModel("sumsq(S' * y) + sumsq(S' * (M * y)) + sumsq(y)", ""), "upper {", "data S: matrix[3, 3]\nupper {", 1)
	var moduli [2]float64
	for i, s := range []*data.Array{data.Matrix(3, 3, []float64{0, 2, 0, 0, 0, 3, 0, 0, 1}), data.SparseMatrix(sparse.FromEntries(3, 3, []sparse.Entry{
		{Row: 0, Col: 1, Val: 2}, {Row: 1, Col: 2, Val: 3}, {Row: 2, Col: 2, Val: 1}}))} {
		set := &data.Set{}
		set.Add("S", s, "test")
		moduli[i] = Prove(bound(t, "example.blv", text, set, bind.Options{}), Defaults()).Convexity.Modulus
	}
	if d, s := moduli[0], moduli[1]; !(d > 2) || math.Abs(d-s) > 1e-9*d {
		t.Errorf("mu = %v stored densely, %v sparsely", d, s)
	}
}

// TestRepeatedEqualities: a combination of equality rows repeats them, contradicts them, or binds x, as its other sides say.
func TestRepeatedEqualities(t *testing.T) {
	for third, want := range map[string][2]bool{"x[1]": {true, false}, "x[1] + 1": {false, true}, "2 * x[1]": {false, false}} {
		_, proof := proveLower(t, "sumsq(y)", "first: y[1] + y[2] == x[1]\n    second: y[2] + y[3] == 0\n    third: y[1] + 2*y[2] + y[3] == "+third)
		if d := proof.Qualification.Dependent; len(d) != 1 || d[0].Redundant != want[0] || d[0].Inconsistent != want[1] {
			t.Errorf("%s: %+v", third, d)
		}
	}
}

// TestMatrixNorm: the Euclidean norm of a matrix is one function of all of its entries.
func TestMatrixNorm(t *testing.T) {
	text := strings.NewReplacer("var y: vector[3]", "var y: matrix[2, 3]", "sumsq(x) + sumsq(y)", "sumsq(x)").Replace(lowerModel("sumsq(y) + sqrt(1 + sumsq(y - 1))", ""))
	if g := Prove(bound(t, "example.blv", text, nil, bind.Options{}), Defaults()).Convexity; g.Outcome != proved || g.Modulus != 2 {
		t.Errorf("%+v", g)
	}
}

// TestMissingData: without data, what cannot hold for all data names it.
func TestMissingData(t *testing.T) {
	text := strings.Replace(lowerModel("sum(w .* y .^ 2)", ""), "upper {", "data w: vector[3]\nupper {", 1)
	p := bound(t, "example.blv", text, nil, bind.Options{Abstract: true})
	g := Prove(p, Defaults()).Convexity
	if g.Outcome != unknown || !strings.Contains(g.Blame.Reason, "(w)") {
		t.Errorf("%+v", g.Blame)
	}
}

// TestQualification: what the rows of B show.
func TestQualification(t *testing.T) {
	for _, c := range []struct {
		constraints string
		standing    Standing
		rank        int
		dependent   string
	}{
		{"sum(y) == 1", allRows, 1, ""},
		{"y >= 0", allRows, 3, ""},
		{"0 <= y <= 1", everyActive, 3, ""},
		{"x <= y <= x + 1", everyActive, 3, ""},
		{"x <= y <= 2 * x", activeOnly, 3, "line 15"},                                 // lo and hi meet at x = 0
		{"x <= y <= 2 * x + 1", activeOnly, 3, "line 15"},                             // and here at x = -1
		{"a: y[1] + y[2] <= 1\n    b: y[1] + 1.00000001 * y[2] >= 0", allRows, 2, ""}, // nearly parallel
		{"y >= 0\n    total: sum(y) == 1", activeOnly, 3, "total"},
		{"first: y[1] + y[2] == x[1]\n    second: y[2] + y[3] == 0\n    third: y[1] + 2*y[2] + y[3] == x[1]", equalityFault, 2, "third = first + second"},
		{"first: y[1] - y[2] <= 1\n    second: 3*y[1] - 3*y[2] <= x[1]", activeOnly, 1, "second = 3 first"},
	} {
		_, proof := proveLower(t, "sumsq(y)", c.constraints)
		q := proof.Qualification
		if q.Standing != c.standing || q.Rank != c.rank {
			t.Errorf("%s: %s", c.constraints, q.text())
		}
		if (len(q.Dependent) > 0) != (c.dependent != "") || c.dependent != "" && !strings.Contains(q.Dependent[0].Text, c.dependent) {
			t.Errorf("%s: %+v, want %s", c.constraints, q.Dependent, c.dependent)
		}
	}
}

// TestSmoothness: where objectives are differentiable over the declared sets.
func TestSmoothness(t *testing.T) {
	for _, c := range []struct {
		objective, constraints string
		want                   Outcome
	}{
		{"sumsq(y) - log(y[1])", "y >= 0.1", proved},
		{"sumsq(y) - log(y[1])", "y >= 0", unknown},
		{"sumsq(y) - log(y[1])", "y <= -1", refuted},
		{"sumsq(y) - log(y[1])", "y[1] + y[2] == 4\n    y[2] <= 3", proved},
		{"sumsq(y) + 1 / (2 + x[1])", "", proved},
		{"sumsq(y) + 1 / (1 + x[1])", "", unknown},
		{"sumsq(y) + norm2(y)", "", unknown},
		{"sumsq(y) + sqrt(1 + sumsq(y))", "", proved},
		{"sumsq(y) + y[1] ^ 1.5", "y >= 0", proved},
		{"sumsq(y) + y[1] ^ 1.5", "", proved}, // the power says where y[1] is
		{"sumsq(y) + y[1] ^ 0.5", "y >= 0", unknown},
		{"sumsq(y) + y[1] ^ (-2)", "y[1] >= 1", proved},
		{"sumsq(y) + y[1] ^ (-2)", "", unknown},
	} {
		_, proof := proveLower(t, c.objective, c.constraints)
		if s := proof.SmoothG; s.Outcome != c.want || (c.want == proved) != (len(s.Blames) == 0) {
			t.Errorf("%s with %s: %+v", c.objective, c.constraints, s)
		}
	}
}

// TestBounds: constants whose true values are known.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		objective, constraints string
		get                    func(*Proof) Bound
		want                   float64 // the true constant; infinite where there is none
		factor                 float64 // by which the bound may exceed it
	}{
		{"sum(y .^ 4)", "-1 <= y <= 2", func(p *Proof) Bound { return p.SmoothnessG }, 48, 1},
		{"sum(y .^ 4)", "", func(p *Proof) Bound { return p.SmoothnessG }, math.Inf(1), 1},
		{"sumsq(y) + log1pexp(x' * y)", "", func(p *Proof) Bound { return p.SmoothnessG }, 5, 1},
		{"logsumexp(y)", "", func(p *Proof) Bound { return p.SmoothnessG }, 0.5, 1 + 1e-9}, // between two equal entries
		{"0.5 * y' * M * y", "", func(p *Proof) Bound { return p.SmoothnessG }, 3 + math.Sqrt(3), 1 + 1e-9},
		{"sqrt(4 + sumsq(y))", "-3 <= y <= 3", func(p *Proof) Bound { return p.SmoothnessG }, 0.5, 1 + 1e-9}, // 1/sqrt 4 at y = 0
		{"-sqrt(4 + sumsq(y))", "-3 <= y <= 3", func(p *Proof) Bound { return p.SmoothnessG }, 0.5, 1 + 1e-9},
		{"sum(y .^ (4 + x))", "2 <= y <= 3", func(p *Proof) Bound { return p.SmoothnessG }, 30 * 81, 1},
		{"sum(y .^ (4 + x))", "0.25 <= y <= 0.5", func(p *Proof) Bound { return p.SmoothnessG }, 3.09, 5},
		{"sumsq(y - x)", "", func(p *Proof) Bound { return p.JointG.Bound() }, 4, 1 + 1e-9},
		{"sumsq(y)", "", func(p *Proof) Bound { return p.SmoothnessF }, 2, 1},
		{"sumsq(y)", "0 <= y <= 1", func(p *Proof) Bound { return p.LipschitzF }, 2 * math.Sqrt(15), 1},
		{"sumsq(y)", "", func(p *Proof) Bound { return p.LipschitzF }, math.Inf(1), 1},
	} {
		_, proof := proveLower(t, c.objective, c.constraints)
		b := c.get(proof)
		if b.Known == math.IsInf(c.want, 1) || b.Known && (b.Value < c.want*(1-1e-12) || b.Value > c.want*c.factor*(1+1e-12)) {
			t.Errorf("%s: %s, want %v", c.objective, b.text(), c.want)
		}
		if !b.Known && b.Blame == nil {
			t.Errorf("%s: no reason", c.objective)
		}
	}
}

// TestBalls: a weight of x in a ball ranges over the whole of it. With |x| <= r the
// Hessian 2 (c + a x_1) of g is at least 2 (c - |a| r), and below 0 somewhere where that
// is.
func TestBalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 3))
	for range 40 {
		r, a, c := 0.1+3*rng.Float64(), 2*rng.NormFloat64(), 4*rng.Float64()
		text := fmt.Sprintf(`model round
upper {
  var x: vector[2] in ball(%v)
  minimize sumsq(x)
}
lower {
  var y: vector[2]
  minimize (%v + %v * x[1]) * sumsq(y)
}
`, r, c, a)
		g := Prove(bound(t, "round.blv", text, nil, bind.Options{}), Defaults()).Convexity
		least := 2 * (c - math.Abs(a)*r)
		if got := g.Outcome == proved; got != (least > 0) || got && (g.Modulus > least*(1+1e-12) || g.Modulus < least-1e-9*c) {
			t.Errorf("c %v, a %v, r %v: %s, the least eigenvalue is %v", c, a, r, g.text(), least)
		}
	}
}

// TestWeightsOfTheirOwn: the products y[2] y[k] inside log-sum-exp have weights
// that share a range, [0, 1], but are different numbers.
func TestWeightsOfTheirOwn(t *testing.T) {
	p, proof := proveLower(t, "2.75 * sumsq(y) + logsumexp(y[2] * y[1..2])", "")
	y := []float64{3, 1.488, 0}
	d, _ := along(p.Lower.Objective, make([]float64, 3), y, make([]float64, 3),
		leastCurvature(p.Lower.Objective, make([]float64, 3), y))
	if g := proof.Convexity; g.Outcome == proved && g.Modulus > d[2] {
		t.Errorf("mu = %v, but the second derivative is %v", g.Modulus, d[2])
	}
}

// TestMatrixVariables: y is a matrix, entered through products and transposes.
// The eigenvalues of A'A are 15 -+ sqrt 221 and those of B B' are 1 and 4.
func TestMatrixVariables(t *testing.T) {
	lowA := 15 - math.Sqrt(221)
	for objective, want := range map[string]float64{
		"sumsq(A * W - 1)":                    2 * lowA,
		"sumsq(W * B)":                        2,
		"sumsq(B * W' + W')":                  2 * 4, // (B + I) has singular values 2, 3
		"sumsq(A * W) + sumsq(W * B)":         2*lowA + 2,
		"sum(exp(W)) + sumsq(W' * A')":        2 * lowA,
		"sumsq(W) + sum(W .* W') / 2":         1, // flat only in the antisymmetric part: 2 - 1
		"sumsq(W - outer(x, x)) + sum(W * x)": 2,
	} {
		text := `model matrices
data A: matrix[2, 2] = [[1, 2], [3, 4]]
data B: matrix[2, 2] = [[1, 0], [0, 2]]
upper {
  var x: vector[2] in box(0, 1)
  minimize sumsq(x)
}
lower {
  var W: matrix[2, 2]
  minimize ` + objective + `
}
`
		g := Prove(bound(t, "matrices.blv", text, nil, bind.Options{}), Defaults()).Convexity
		if g.Outcome != proved || g.Modulus > want*(1+1e-12) || g.Modulus < want*(1-1e-9) {
			t.Errorf("%s: %s, want mu = %v", objective, g.text(), want)
		}
	}
}

// TestQuadratic: what is quadratic in y, with one Hessian, and in both.
func TestQuadratic(t *testing.T) {
	for _, c := range []struct {
		objective string
		form      Quadratic
	}{
		{"sumsq(y - x) + x' * N * y", Quadratic{true, true, true}},
		{"0.5 * y' * M * y + sum(x) * sum(y) + x[1]^2", Quadratic{true, true, true}},
		{"sumsq(y) + sum(exp(x) .* y)", Quadratic{true, true, false}},
		{"sumsq(y) + x[1]^2 * y[1]", Quadratic{true, true, false}},
		{"sumsq(y) + x[1] * y[1]^2 + 2 * y[1]^2", Quadratic{true, false, false}},
		{"sumsq(y) + exp(y[1])", Quadratic{}},
	} {
		if _, proof := proveLower(t, c.objective, ""); proof.Quadratic != c.form {
			t.Errorf("%s: %+v", c.objective, proof.Quadratic)
		}
	}
}
