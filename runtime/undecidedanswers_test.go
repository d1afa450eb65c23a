package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where a search over the follower's answers is not decided, F is with the best one that it found, and the best and the worst are between what is said: a concave
// f is least at a vertex of { 0 <= y <= 1, sum(y) = s }, all of which are listed, and largest above the best of random answers.
func TestBestAnswerOfUndecidedSearch(t *testing.T) {
	t.Parallel()
	const n, whole, s = 12, 5, 5.5
	between := regexp.MustCompile(`F with the (best|worst) of .* is not known: .*; it is between (\S+) and (\S+)$`)
	undecided := 0
	for seed := range members.Seeds(t, 3) {
		rng := rand.New(rand.NewPCG(seed, 0xa25))
		var c [n][n]float64
		rows := make([]string, n)
		for i := range c {
			row := make([]string, n)
			for j := range c[i] {
				c[i][j] = math.Round(rng.NormFloat64()*100) / 100
				row[j] = fmt.Sprint(c[i][j])
			}
			rows[i] = "[" + strings.Join(row, ", ") + "]"
		}
		sense, sign := "minimize -", 1.0
		if seed%2 == 1 {
			sense, sign = "maximize ", -1
		}
		f := func(y []float64) (sum float64) { // minimized
			for i := range c {
				v := 0.0
				for j, t := range y {
					v += c[i][j] * t
				}
				sum -= v * v
			}
			return sum
		}
		text := fmt.Sprintf("model m\ndata C: matrix[%d, %d] = [%s]\nupper {\n  var x: real in box(0, %d)\n  %ssumsq(C * y)\n}\nlower {\n  var y: vector[%d] in box(0, 1)\n  minimize (sum(y) - x)^2\n}\nsolve { ties = optimistic }\n",
			n, n, strings.Join(rows, ", "), n, sense, n)
		p := bindText(t, text)
		r, err := p.Eval(t.Context(), runtime.Values{{Name: "x", Data: []float64{s}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		least, y := math.Inf(1), make([]float64, n)
		for set := range 1 << n {
			count := 0
			for j := range y {
				y[j] = float64(set >> j & 1)
				count += set >> j & 1
			}
			for j := 0; j < n && count == whole; j++ {
				if y[j] == 0 {
					y[j] = s - whole
					least = math.Min(least, f(y))
					y[j] = 0
				}
			}
		}
		found := sign * float64(r.Upper.Objective)
		if found < least-1e-9*math.Abs(least) || found > 0.9*least {
			t.Errorf("%d: F is %.10g, and the best answer's %.10g", seed, found, least)
		}
		for _, note := range r.Notes {
			m := between.FindStringSubmatch(note)
			if m == nil {
				continue
			}
			var lo, hi float64
			fmt.Sscan(m[2], &lo)
			fmt.Sscan(m[3], &hi)
			if m[1] == "best" {
				undecided++
				ends := [2]float64{lo, hi} // F is the end that is worse for the leader
				if sign < 0 {
					ends = [2]float64{-hi, -lo}
				}
				if open := 1e-9 * math.Abs(least); least < ends[0]-open || least > ends[1]+open || math.Abs(found-ends[1]) > open {
					t.Errorf("%d: the best is %.10g: %s", seed, least, note)
				}
			}
		}
		if math.IsNaN(float64(r.Lower.Ties.Optimistic)) {
			continue
		}
		if v := sign * float64(r.Lower.Ties.Optimistic); math.Abs(v-least) > 1e-6*math.Abs(least) {
			t.Errorf("%d: best %.10g, and is %.10g", seed, v, least)
		}
	}
	t.Logf("%d undecided", undecided)
}
