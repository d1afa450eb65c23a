package runtime

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
)

// An entry of x with an equation that has two roots is one of the two: the answer is that of all such x, enumerated with the closed form of the follower's answer, and a proof by the budget's search is accepted. With boxes wider than the roots, which the
// search took for the ranges of these entries, it proved none of these and ended up to a third above the least F.
func TestEquationsWithTwoRootsAreBinary(t *testing.T) {
	for seed := range members.SeedsOf(t, 2, 40) {
		rng := rand.New(rand.NewPCG(seed, 44))
		const n = 9
		a, at, roots := make([][]float64, n), make([]float64, n), make([][2]float64, n)
		var rows, targets, pm []string
		for i := range n {
			var row []string
			for range n {
				v := math.Round(100*rng.NormFloat64()) / 100
				a[i], row = append(a[i], v), append(row, fmt.Sprint(v))
			}
			at[i] = math.Round(100*rng.NormFloat64()) / 100
			middle := float64(rng.IntN(3)-1) / 2
			roots[i] = [2]float64{middle - 1, middle + 1}
			rows, targets = append(rows, "["+strings.Join(row, ", ")+"]"), append(targets, fmt.Sprint(at[i]))
			pm = append(pm, fmt.Sprintf("    pm%d: (x[%d] - (%g)) * (x[%d] - (%g)) == 0\n", i+1, i+1, roots[i][0], i+1, roots[i][1]))
		}
		least := math.Inf(1)
		for code := range 1 << n {
			sum := 0.0
			for i := range n {
				y := 0.0
				for j := range n {
					y += a[i][j] * roots[j][code>>j&1]
				}
				y = math.Max(-2, math.Min(2, y)) - at[i]
				sum += y * y
			}
			least = min(least, sum)
		}
		text := fmt.Sprintf("model signs\nlet A = [%s]\nlet t = [%s]\nupper {\n  var x: vector[%d] in box(-3, 3)\n  minimize sumsq(y - t)\n  subject to\n%s}\nlower {\n  var y: vector[%d] in box(-2, 2)\n  minimize 0.5 * sumsq(y - A * x)\n}\n",
			strings.Join(rows, ", "), strings.Join(targets, ", "), n, strings.Join(pm, ""), n)
		model, err := Compile("signs.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := float64(r.Upper.Objective); r.Global == nil || !r.Global.Proved || math.Abs(f-least) > 1e-5*(1+least) {
			t.Errorf("seed %d: F is %.12g, %+v, and the least is %.12g\n%s", seed, f, r.Global, least, text)
			continue
		}
		var proof bytes.Buffer
		if err := r.WriteProof(context.Background(), &proof); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		} else if report, err := p.VerifyProof(r, "proof", &proof); err != nil || !report.OK() {
			t.Errorf("seed %d: %v, %v\n%s", seed, err, report.Failures(), text)
		}
	}
}
