package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// Of random tolls, which only some roads of the leader's have, the others are free: they
// are named so, F and the answer are the same for any values of them, to the last bit,
// and a document that says otherwise is found out.
func TestFreeEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 34))
	for range 8 {
		n := 3 + rng.IntN(4)
		owned := make([]string, n)
		var want []string
		for k := range owned {
			owned[k] = "1"
			if rng.IntN(2) == 0 {
				owned[k] = "0"
				want = append(want, fmt.Sprintf("toll[%d]", k+1))
			}
		}
		text := fmt.Sprintf(`model free
data owned: vector[%[1]d] = [%[2]s]
upper {
  var toll: vector[%[1]d] in box(0, 3)
  maximize sum(i in 1..%[1]d: owned[i] * toll[i] * flow[i])
}
lower {
  var flow: vector[%[1]d] in nonneg
  minimize sum(i in 1..%[1]d: (i + owned[i] * toll[i]) * flow[i] + flow[i]^2)
  subject to
    all: sum(flow) == 6
}
`, n, strings.Join(owned, ", "))
		p := bindText(t, text)
		point := make([]float64, n)
		var first *runtime.Result
		for range 3 {
			for k := range point {
				if owned[k] == "0" {
					point[k] = 3 * rng.Float64()
				}
			}
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "toll", Shape: []int{n}, Data: slices.Clone(point)}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Upper.Free, want) {
				t.Fatalf("free %v, want %v\n%s", r.Upper.Free, want, text)
			}
			if first == nil {
				first = r
			} else if r.Upper.Objective != first.Upper.Objective || !slices.Equal(r.Lower.Variables[0].Data, first.Lower.Variables[0].Data) {
				t.Errorf("F moves with %v", want)
			}
			var b strings.Builder
			if err := r.WriteText(&b, runtime.TextOptions{}); err != nil || strings.Contains(b.String(), "(free)") != (len(want) > 0) {
				t.Errorf("%v\n%s", err, b.String())
			}
		}
		forged := *first
		forged.Upper.Free = append(slices.Clone(want), "toll[9]")
		if report, err := p.Verify(&forged); err != nil || len(report.Failures()) == 0 {
			t.Errorf("a forged list of free entries goes unnoticed: %v", err)
		}
	}
}
