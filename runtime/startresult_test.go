package runtime

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bilevelc/runtime/document"
)

// The notes count the starts that failed, with the reason most had, and say how the
// values of the others differ.
func TestStartNotes(t *testing.T) {
	at := func(s Status, f float64, why string) StartResult {
		return StartResult{Objective: Number(f), Status: s, Reason: why}
	}
	for _, c := range []struct {
		starts []StartResult
		sign   float64
		want   []string
	}{
		{[]StartResult{at(Solved, 2, ""), at(Solved, 2, ""), at(Solved, 2, "")}, 1, []string{"3 starts ended at one value of F, 2"}},
		{[]StartResult{at(Solved, 5, ""), at(Solved, 7, ""), at(NumericalFailure, 9, "b"), at(NumericalFailure, math.NaN(), "a"), at(NumericalFailure, 1, "b"), at(Infeasible, math.NaN(), "c")}, -1,
			[]string{"4 of 6 starts did not come to a solution: 1 infeasible (c), 3 numerical failure (2: b; ...)",
				"the 2 starts that did ended at 2 values of F, from 7 to 5, 1 of them at the best; nearly each ended at another one, so that further ones are likely"}},
		{slices.Repeat([]StartResult{at(Solved, 3, "")}, 8), 1, []string{"8 starts ended at one value of F, 3; if they are random draws of all starts, another value that 31 % of starts lead to would have been met with a probability of 95 %"}},
		{slices.Concat(slices.Repeat([]StartResult{at(Solved, 3, "")}, 16), []StartResult{at(Solved, 4, ""), at(Solved, 5, "")}), 1,
			[]string{"18 starts ended at 3 values of F, from 3 to 5, 16 of them at the best; if they are random draws of all starts, about 4 values are to be expected in all, and with a probability of 95 % no more than 6"}},
		{[]StartResult{at(LimitReached, 1, "time limit"), at(Solved, 1, "")}, 1, []string{"1 of 2 starts did not come to a solution: 1 limit reached (time limit)"}},
	} {
		if got := startNotes(c.starts, c.sign); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}

const boxed = `model boxed
upper {
  var x: vector[2] in box(0, 1)
  minimize sumsq(y - 2)
}
lower {
  var y: vector[2]
  minimize sumsq(y - x)
}
`

// How many starts agree, and whether a follower's other answers are worth a word, does not depend
// on the unit of F.
func TestWordsInAnyUnits(t *testing.T) {
	for _, unit := range []float64{1e-300, 1e-12, 1, 1e12} {
		at := func(f float64) StartResult { return StartResult{Status: Solved, Objective: Number(f * unit)} }
		got := startNotes([]StartResult{at(2), at(2 + 1e-7), at(2.1), at(-3), at(-3)}, -1)
		if len(got) != 1 || !strings.HasPrefix(got[0], "5 starts ended at 3 values of F") || !strings.Contains(got[0], "1 of them at the best") {
			t.Errorf("in units of %g: %v", unit, got)
		}
		got = startNotes([]StartResult{at(2), at(2 + 1e-7), at(2.1)}, 1)
		if len(got) != 1 || !strings.HasPrefix(got[0], "3 starts ended at 2 values of F") || !strings.Contains(got[0], "2 of them at the best") {
			t.Errorf("in units of %g: %v", unit, got)
		}
		r := &Result{}
		r.Oracle, r.Upper.Objective = "face", Number(2*unit)
		r.Lower.Ties = &Ties{Rule: document.Optimistic, Tau: 1e-5, Optimistic: Number((2 + 1e-6) * unit), Pessimistic: Number(1.9 * unit)}
		var words strings.Builder
		if err := r.WriteText(&words, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(words.String(), "answer best") || !strings.Contains(words.String(), "answer worst") {
			t.Errorf("in units of %g:\n%s", unit, words.String())
		}
	}
}

// A start outside its box is moved, and that is said; one inside, or none, is not
// spoken of. Phases add up to the time.
func TestStartsThatAreMovedAreTold(t *testing.T) {
	model, err := Compile("boxed.blv", boxed)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		start []float64
		want  string
	}{{nil, ""}, {[]float64{0.5, 1}, ""}, {[]float64{7, 0.5}, "was moved: x[1] from 7 to 1"}, {[]float64{-3, 4}, "was moved in 2 entries: x[1] from -3 to 0"}} {
		kept := 0
		opts := Options{Keep: func(*Checkpoint) { kept++ }, KeepEvery: time.Hour}
		if c.start != nil {
			opts.Start = Values{{Name: "x", Shape: []int{2}, Data: c.start}}
		}
		r, err := p.Solve(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(r.Notes, "|")
		if strings.Contains(notes, "moved") != (c.want != "") || !strings.Contains(notes, c.want) {
			t.Errorf("start %v: %s", c.start, notes)
		}
		if math.Abs(r.Phases.Total()-r.Time) > 1e-12 || r.Phases.Compile <= 0 || r.Phases.Bind <= 0 || r.Phases.Prove <= 0 || r.Phases.Solve <= 0 || r.Phases.Certify <= 0 {
			t.Errorf("phases %+v of %g s", r.Phases, r.Time)
		}
		if kept > 0 {
			t.Errorf("a run shorter than an hour kept its state %d times", kept)
		}
	}
	for _, opts := range []Options{{Starts: -3}, {MaxIter: -1}, {Threads: -1}, {TimeLimit: -1}, {KeepEvery: -1}, {Starts: MaxStarts + 1}} {
		if _, err := p.Solve(context.Background(), opts); err == nil {
			t.Errorf("options %+v are accepted", opts)
		} else if _, usage := err.(*UsageError); !usage {
			t.Errorf("options %+v: %T", opts, err)
		}
	}
}
