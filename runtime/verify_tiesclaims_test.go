package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/outer"
)

// TestSlopesUnderTiesAreJudgedByTheirSize: what is added to break ties has next to no
// curvature, and without rows would let y move a million times as far as it does. A slope
// of F is not small by that measure. The follower chooses a vertex of a turned box, of which
// no row bounds one entry: y*(x) = R z, z_i = -sign (R'(c + T x))_i, so that F = x'M y*(x) has
// the slope M y*(x) wherever no sign is in doubt. Documents of points that are not stationary,
// rewritten as solved with that slope or without it, do not pass; solved ones do.
func TestSlopesUnderTiesAreJudgedByTheirSize(t *testing.T) {
	count := 24
	if testing.Short() {
		count = 8
	}
	rng := rand.New(rand.NewPCG(8, 10))
	forged, solved := 0, 0
	for k := range count {
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
			t.Logf("model %d: %s: %s\n%s", k, r.Status, r.Reason, text)
		}
		for seed := range uint64(4) {
			r := solve(runtime.Options{Seed: seed, Starts: 1, MaxIter: 1, Method: "goldstein"})
			if r.Status != runtime.LimitReached || r.Certificate == nil || r.Certificate.Goldstein == nil {
				continue
			}
			value, _ := r.Upper.Variables.Get("x")
			x, slope, clear := value.Data, make([]float64, dx), true
			for i := range turn {
				force := 0.0
				for j, w := range turn[i] {
					force += w * cost[j]
					for l := range x {
						force += w * toll[j][l] * x[l]
					}
				}
				clear = clear && math.Abs(force) > 0.01
				z := -math.Copysign(1, force)
				for l := range slope {
					for j, w := range turn[i] {
						slope[l] += gain[l][j] * w * z
					}
				}
			}
			left := 0.0 // of the slope along what X allows
			for l, s := range slope {
				if x[l] > -1+1e-3 && s > 0 || x[l] < 1-1e-3 && s < 0 {
					left = math.Hypot(left, s)
				}
			}
			if !clear || left < 0.1 {
				continue
			}
			forged++
			if f := failures(r); f != nil {
				t.Errorf("model %d, seed %d: stopped at a limit, and does not pass: %v", k, seed, f)
			}
			r.Status = runtime.Solved
			if failures(r) == nil {
				t.Errorf("model %d, seed %d: F falls by %.3g along X at %v, and passes for solved at a measure of %.3g", k, seed, left, x, float64(r.Stationarity.Value))
			}
			none := make([]float64, dx)
			g := r.Certificate.Goldstein
			for i := range g.Samples {
				g.Samples[i].Gradient = none
			}
			g.Normal, g.Norm, g.GradientError, g.Epsilon = none, 0, 0, 0
			r.Stationarity.Value, r.Stationarity.GradientError, r.Stationarity.Strict = 0, 0, false
			r.Stationarity.Measure = outer.GoldsteinMeasure
			for i := range r.Upper.Hypergradient {
				clear := r.Upper.Hypergradient[i].Data
				for j := range clear {
					clear[j] = 0
				}
			}
			if failures(r) == nil {
				t.Errorf("model %d, seed %d: F falls by %.3g along X at %v, and passes for solved with gradients of 0", k, seed, left, x)
			}
		}
	}
	if forged < count/2 || solved < count/2 {
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
