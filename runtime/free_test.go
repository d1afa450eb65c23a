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

// Notes that name entries have as many as fit into a line, and say how many there are; on a
// screen no line of words is longer than it.
func TestNotesFitTheScreen(t *testing.T) {
	r := &runtime.Result{Model: "m", Oracle: "face", Method: "goldstein", Status: runtime.Solved,
		Reason: strings.Repeat("for a reason that takes many words to say ", 6)}
	for k := range 40 {
		r.Upper.AtBounds = append(r.Upper.AtBounds, fmt.Sprintf("toll[\"city %d\", \"Zürich\"] lower", k))
		r.Lower.Dependent = append(r.Lower.Dependent, fmt.Sprintf("balance[%d]", k))
		r.Upper.Free = append(r.Upper.Free, fmt.Sprintf("x[%d]", k))
	}
	r.Stationarity.Measure = "norm of the smallest element of the Goldstein subdifferential plus the normal cone"
	r.Notes = []string{strings.Repeat("a note ", 40), strings.Repeat("x", 150) + " and more"}
	for _, width := range []int{40, 80, 120} {
		var b strings.Builder
		if err := r.WriteText(&b, runtime.TextOptions{MaxEntries: 12, Width: width}); err != nil {
			t.Fatal(err)
		}
		words, _, _ := strings.Cut(b.String(), "\nmethod goldstein")
		for _, line := range strings.Split(words, "\n") {
			if n := len([]rune(line)); n > width && !strings.Contains(line, "xxx") {
				t.Errorf("%d characters in %d columns: %s", n, width, line)
			}
		}
		all := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range []string{"and 39 more", "balance[3],", "(balance[0]", "x[5]", "and more", strings.TrimSpace(r.Reason)} {
			if !strings.Contains(all, want) {
				t.Errorf("lacks %q:\n%s", want, b.String())
			}
		}
	}
	var b strings.Builder
	if err := r.WriteText(&b, runtime.TextOptions{Phases: true}); err != nil || !strings.Contains(b.String(), "balance[39]") || !strings.Contains(b.String(), "city 39") {
		t.Errorf("%v: with -v all are named:\n%s", err, b.String())
	}
}
