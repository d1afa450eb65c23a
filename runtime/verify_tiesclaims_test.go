package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/outer"
)

// TestSlopesUnderTiesAreJudgedByTheirSize: what is added to break ties has next to no
// curvature, and without rows would let y move a million times as far as it does. A slope
// of F is not small by that measure. The follower chooses a vertex of a turned box, of which
// no row bounds one entry: y*(x) = R z, z_i = -sign (R'(c + T x))_i, so that F = x'M y*(x) has
// the slope M y*(x) wherever no sign is in doubt. Documents of points that are not stationary,
// rewritten as solved with that slope or without it, do not pass; solved ones do.
func TestSlopesUnderTiesAreJudgedByTheirSize(t *testing.T) {
	t.Parallel()
	count := members.Count(24)
	forged, solved := 0, 0
	for k := range members.Seeds(t, 24) {
		rng := rand.New(rand.NewPCG(k, 10))
		dx, dy := 1+rng.IntN(3), 2+rng.IntN(3)
		turn := make([][]float64, dy) // rows of R', orthonormal
		for i := range turn {
			turn[i] = make([]float64, dy)
			for j := range turn[i] {
				turn[i][j] = rng.NormFloat64()
			}
			for _, before := range turn[:i] {
				along := 0.0
				for j, v := range before {
					along += v * turn[i][j]
				}
				for j, v := range before {
					turn[i][j] -= along * v
				}
			}
			length := 0.0
			for _, v := range turn[i] {
				length = math.Hypot(length, v)
			}
			for j := range turn[i] {
				turn[i][j] /= length
			}
		}
		cost := make([]float64, dy)
		for j := range cost {
			cost[j] = 2 * rng.NormFloat64()
		}
		toll, gain := make([][]float64, dy), make([][]float64, dx)
		for j := range toll {
			toll[j] = make([]float64, dx)
			for i := range toll[j] {
				toll[j][i] = rng.NormFloat64()
			}
		}
		for i := range gain {
			gain[i] = make([]float64, dy)
			for j := range gain[i] {
				gain[i][j] = rng.NormFloat64()
			}
		}
		text := fmt.Sprintf(`model turned
data R: matrix[%d, %d] = %s
data c: vector[%d] = %s
data T: matrix[%d, %d] = %s
data M: matrix[%d, %d] = %s
upper {
  var x: vector[%d] in box(-1, 1)
  minimize x' * M * y
}
lower {
  var y: vector[%d]
  minimize (c + T * x)' * y
  subject to
    above: R * y <= 1
    below: R * y >= -1
}
solve { ties = %s }
`, dy, dy, table(turn), dy, list(cost), dy, dx, table(toll), dx, dy, table(gain), dx, dy, []string{"optimistic", "least_norm"}[k%2])
		problem := bindText(t, text)
		solve := func(opts runtime.Options) *runtime.Result {
			r, err := problem.Solve(context.Background(), opts)
			if err != nil {
				t.Fatalf("model %d: %v", k, err)
			}
			return r
		}
		failures := func(r *runtime.Result) (claims []string) {
			report, err := problem.Verify(r)
			if err != nil {
				t.Fatalf("model %d: %v", k, err)
			}
			for _, c := range report.Failures() {
				claims = append(claims, c.Problem())
			}
			return claims
		}
		if r := solve(runtime.Options{Seed: 1, Starts: 2}); r.Status == runtime.Solved {
			solved++
			if f := failures(r); f != nil {
				t.Errorf("model %d: solved, and does not pass: %v", k, f)
			}
		} else {
			t.Logf("model %d: %s: %s", k, r.Status, r.Reason)
		}
		for range 4 {
			at := make([]float64, dx)
			for l := range at {
				at[l] = 2*rng.Float64() - 1
			}
			r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{dx}, Data: at}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f := failures(r); f != nil {
				t.Errorf("model %d: evaluated at %v, and does not pass: %v", k, at, f)
			}
			slope, clear := make([]float64, dx), true
			for i := range turn {
				force := 0.0
				for j, w := range turn[i] {
					force += w * cost[j]
					for l := range at {
						force += w * toll[j][l] * at[l]
					}
				}
				clear = clear && math.Abs(force) > 0.05
				z := -math.Copysign(1, force)
				for l := range slope {
					for j, w := range turn[i] {
						slope[l] += gain[l][j] * w * z
					}
				}
			}
			steep := 0.0
			for _, s := range slope {
				steep = math.Hypot(steep, s)
			}
			if !clear || steep < 0.1 {
				continue
			}
			forged++
			claimed, _ := r.Upper.Hypergradient.Get("x")
			for l, s := range slope {
				if math.Abs(claimed.Data[l]-s) > 1e-3*steep {
					t.Errorf("model %d: hypergradient %v at %v, where the slope is %v", k, claimed.Data, at, slope)
				}
			}
			for _, what := range []string{"its slope", "no slope"} {
				if what == "no slope" {
					clear := make([]float64, dx)
					r.Upper.Hypergradient[0].Data, steep = clear, 0
				}
				r.Method, r.Status = "goldstein", runtime.Solved
				r.Stationarity = runtime.Stationarity{Measure: outer.GoldsteinMeasure, Value: runtime.Number(steep), Delta: 1e-6}
				r.Certificate.Goldstein = &certify.Goldstein{Delta: 1e-6, Norm: steep, Epsilon: steep,
					Samples: []certify.Sample{{Point: at, Gradient: r.Upper.Hypergradient[0].Data, Weight: 1}}}
				if failures(r) == nil {
					t.Errorf("model %d: F has the slope %v at %v, which passes for solved with %s", k, slope, at, what)
				}
			}
		}
	}
	if forged < count || solved < members.Part(12, 24) {
		t.Errorf("%d forged documents and %d solved models of %d: too few to tell", forged, solved, count)
	}
	t.Logf("%d forged, %d of %d solved", forged, solved, count)
}

// table is rows of numbers as the language writes them.
func table(rows [][]float64) string {
	text := "["
	for i, row := range rows {
		if i > 0 {
			text += ", "
		}
		text += list(row)
	}
	return text + "]"
}
