package runtime

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/certify"
)

var regexpNumber = regexp.MustCompile(`-?[0-9]+\.[0-9e+-]+`)

// Followers whose answers have no bounds, with kinks, whose rows depend on each other: what is proved has a proof, with reduced costs of columns without an end that are exactly zero. Neither it
// nor what is left of it when one of its numbers is changed shows a bound above the values of F that the follower's own solver gives.
func TestProofsOfFreeFollowers(t *testing.T) {
	rng := members.Rand(t, 36)
	proved, refused, below := 0, 0, 0
	for k := range members.Count(60) / 2 {
		n, dx := 3+rng.IntN(3), 1+rng.IntN(2)
		row := func(n int) string {
			var words []string
			for range n {
				words = append(words, fmt.Sprintf("%.2f", rng.NormFloat64()))
			}
			return "[" + strings.Join(words, ", ") + "]"
		}
		matrix := func(m, n int) string {
			var rows []string
			for range m {
				rows = append(rows, row(n))
			}
			return "[" + strings.Join(rows, ", ") + "]"
		}
		upper := []string{"norm1(y - g)", "norminf(y - g)", "sumsq(y - g)", "dot(g, y)"}[rng.IntN(4)]
		lower := []string{"0.21 * max(y)", "x[1] * sum(i in 2..n: abs(y[i] - y[i - 1]))", "0.7 * norm1(y)", "0.3 * max(abs(y[1] - x[1]), y[2])"}[rng.IntN(4)]
		text := fmt.Sprintf("model free\nparam n: int = %d\ndata L: matrix[n, n] = %s\ndata c: vector[n] = %s\ndata g: vector[n] = %s\ndata P: matrix[%d, n] = %s\ndata A: matrix[2, n] = %s\ndata E: matrix[2, %d] = %s\n"+
			"upper {\n  var x: vector[%d] in box(0, 1.5)\n  minimize %s + 0.1 * sum(x)\n}\nlower {\n  var y: vector[n]\n  minimize 0.5 * sumsq(y) + sumsq(L * y) + dot(c, y) + dot(x, P * y) + %s\n  subject to\n    room: A * y <= 1 + E * x\n    half: 0.5 * A * y <= 0.5 + 0.5 * E * x\n}\n",
			n, matrix(n, n), row(n), row(n), dx, matrix(dx, n), matrix(2, n), dx, matrix(2, dx), dx, upper, lower)
		p := mustBind(t, text)
		r, err := p.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Global == nil || !r.Global.Proved {
			continue
		}
		proved++
		var proof bytes.Buffer
		if err := r.WriteProof(context.Background(), &proof); err != nil {
			t.Errorf("case %d: %v\n%s", k, err, text)
			continue
		}
		if report, err := p.VerifyProof(r, "p", bytes.NewReader(proof.Bytes())); err != nil || !report.OK() {
			t.Errorf("case %d: %v, %v\n%s", k, err, report.Failures(), text)
		}
		least, at := math.Inf(1), make([]float64, dx)
		sample := func() {
			e, err := p.Evaluate(context.Background(), at)
			if err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			least = math.Min(least, e.F)
		}
		copy(at, r.Upper.Variables[0].Data)
		sample()
		for range 8 {
			for j := range at {
				at[j] = 1.5 * rng.Float64()
			}
			sample()
		}
		if bound := float64(r.Global.Bound); !(bound <= least+1e-9*(1+math.Abs(least))) {
			t.Errorf("case %d: the bound is %v, and F %v\n%s", k, bound, least, text)
		}
		numbers := regexpNumber.FindAllIndex(proof.Bytes(), -1)
		for range 5 {
			of := numbers[rng.IntN(len(numbers))]
			v, _ := strconv.ParseFloat(proof.String()[of[0]:of[1]], 64)
			forged := append([]byte(nil), proof.Bytes()[:of[0]]...)
			forged = strconv.AppendFloat(forged, v*[]float64{0, 0.5, 2, 1.001}[rng.IntN(4)], 'g', -1, 64)
			forged = append(forged, proof.Bytes()[of[1]:]...)
			shown, err := certify.VerifyTree(p.Numeric, bytes.NewReader(forged), "")
			switch {
			case err != nil:
				refused++
			case shown.Bound > least+1e-9*(1+math.Abs(least)):
				t.Errorf("case %d: with %s changed to show %v, and F is %v\n%s", k, proof.String()[of[0]:of[1]], shown.Bound, least, text)
			default:
				below++
			}
		}
	}
	if proved == 0 || refused+below == 0 {
		t.Errorf("%d proved, %d forgeries refused, %d show less", proved, refused, below)
	}
	t.Logf("%d proved, %d forgeries refused, %d show less", proved, refused, below)
}

// A multiplier that is rounding beside the largest is none: with the rounding as it was, two proved optima of users were refused by their own verification.
func TestRoundingOfMultipliersIsNone(t *testing.T) {
	p := mustBind(t, `model tv
param n: int = 16
data signal: vector[n] = [-0.42, 0.32, 0.44, -0.64, 2.4, 1.47, 2.02, 1.45, 2.2, 1.04, -0.36, -0.01, 2.97, 3.53, 4.16, 2.53]
data truth: vector[n] = [0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3]
upper {
  var lam: real in box(0, 3)
  minimize norminf(y - truth)
}
lower {
  var y: vector[n]
  minimize 0.5 * sumsq(y - signal) + lam * sum(i in 2..n: abs(y[i] - y[i - 1]))
}
`)
	r, err := p.Solve(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != Solved || r.Global == nil || !r.Global.Proved {
		t.Errorf("%v: %s", r.Status, r.Reason)
	}
}

// Multipliers that can only be 0 are so in the maps of a proof: with one below that by rounding (-8e-32) it had no ends of y, and a leaf whose rows depend on each other up to the rounding of decimals was not shown.
func TestProofWithMultipliersThatAreZero(t *testing.T) {
	p := mustBind(t, `model m6
data g: vector[4] = [0.43, 0.02, 1.18, 0.09]
data D: matrix[2, 4] = [[-0.59, 1.46, -1.96, -1.81], [1.83, 0.44, -0.33, -0.92]]
data A: matrix[5, 4] = [[-0.03, -1.01, -1.78, 0.18], [-1.84, -1.58, -1.59, 0.26], [-1.74, 1.18, -1.33, -1.65],
  [-0.522, 0.354, -0.399, -0.49499999999999994], [-0.18400000000000002, -0.15800000000000003, -0.15900000000000003, 0.026000000000000002]]
data b: vector[5] = [1.77, 5.74, 3.94, 1.382, 0.5740000000000001]
data e: vector[5] = [-0.34, 1.77, 0.99, 0.297, 0.17700000000000002]
upper {
  var x: vector[2] in box(-1.3, 1.7)
  minimize norm1(y - g) + 0.3 * norm1(x)
}
lower {
  var y: vector[4]
  minimize 0.3 * norm1(D * y - x) + 0.1 * norm1(y)
  subject to
    room: A * y <= b + e * x[1]
}
solve { ties = optimistic }
`)
	r, err := p.Solve(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var proof bytes.Buffer
	if err := r.WriteProof(context.Background(), &proof); err != nil {
		t.Fatal(err)
	}
	if report, err := p.VerifyProof(r, "p", &proof); err != nil || !report.OK() {
		t.Errorf("%v, %v", err, report.Failures())
	}
}
