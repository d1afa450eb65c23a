package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// kinked has a nonsmooth F with its optimum at a kink, rows of every sort, a
// matrix variable and a report.
const kinked = `model kinked
data target: matrix[2, 2] = [[1, 2], [3, -1]]
upper {
  var x: matrix[2, 2] in box(-2, 2)
  var t: real in nonneg
  minimize sumsq(y - target) + 0.5 * sumsq(x - 1) + (t - 0.3)^2 + 2 * sum(y)
}
lower {
  var y: matrix[2, 2] in nonneg
  minimize 0.5 * sumsq(y - x) + t * y[1, 1]
  subject to
    total: sum(y) <= 1
}
report {
  gap = norminf(y[:, 1] - x[:, 1])
  grid = y - target
}
`

// document is the JSON form of a result without its time.
func document(t *testing.T, r *runtime.Result) []byte {
	t.Helper()
	again := *r
	again.Time, again.Phases = 0, runtime.Phases{}
	text, err := json.Marshal(&again)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A result document survives JSON: what is read back writes the same text.
func TestResultRoundTrip(t *testing.T) {
	text := document(t, solveText(t, kinked, runtime.Options{Seed: 3}))
	again, err := runtime.ReadResult(text)
	if err != nil {
		t.Fatal(err)
	}
	if second := document(t, again); !bytes.Equal(text, second) {
		t.Errorf("a document differs from its copy:\n%s\n%s", text, second)
	}
	if x, ok := again.Upper.Variables.Get("x"); !ok || !reflect.DeepEqual(x.Shape, []int{2, 2}) {
		t.Errorf("x reads back as %+v", x)
	}
}

// Values keep shape, order and every bit, also of what JSON has no numbers for.
func TestValuesRoundTrip(t *testing.T) {
	tiny := math.SmallestNonzeroFloat64
	values := runtime.Values{
		{Name: "z", Data: []float64{math.NaN()}},
		{Name: "a", Shape: []int{4}, Data: []float64{math.Inf(1), math.Inf(-1), 0.1 + 0.2, tiny}},
		{Name: "M", Shape: []int{2, 1}, Data: []float64{math.MaxFloat64, -1e-17}},
		{Name: "one", Shape: []int{1}, Data: []float64{1}},
		{Name: "none", Shape: []int{0}, Data: []float64{}},
	}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var again runtime.Values
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if len(again) != len(values) {
		t.Fatalf("%d of %d values: %s", len(again), len(values), text)
	}
	for i, v := range values {
		w := again[i]
		if w.Name != v.Name || len(w.Shape) != len(v.Shape) || len(w.Data) != len(v.Data) {
			t.Errorf("%+v reads back as %+v", v, w)
			continue
		}
		for k := range v.Data {
			same := math.Float64bits(v.Data[k]) == math.Float64bits(w.Data[k])
			if !same && !(math.IsNaN(v.Data[k]) && math.IsNaN(w.Data[k])) {
				t.Errorf("%s[%d]: %v reads back as %v", v.Name, k, v.Data[k], w.Data[k])
			}
		}
	}
}

func TestValuesReject(t *testing.T) {
	for _, text := range []string{`[1]`, `{"x": "two"}`, `{"x": [1, [2]]}`, `{"x": [[1, 2], [3]]}`, `{"x": [[[1]], [[1, 2]]]}`,
		`{"x": null}`, `{"x": true}`, `{"x": 1`, `{"x": {"y": null}}`, `{"x": 1e999}`} {
		var v runtime.Values
		if err := json.Unmarshal([]byte(text), &v); err == nil {
			t.Errorf("%s reads as %+v", text, v)
		}
	}
}

// Two runs of one seed are the same to the last bit, whatever the threads.
func TestDeterministic(t *testing.T) {
	base := document(t, solveText(t, kinked, runtime.Options{Seed: 5, Starts: 4}))
	for _, threads := range []int{1, 2, 5} {
		if again := document(t, solveText(t, kinked, runtime.Options{Seed: 5, Starts: 4, Threads: threads})); !bytes.Equal(base, again) {
			t.Errorf("%d threads change the result", threads)
		}
	}
}

// A run that is stopped after any number of iterations, its checkpoint sent
// through JSON, and resumed, ends where the uninterrupted run ends, bit for
// bit. Its calls count what examining the point of the stop took as well.
func TestResume(t *testing.T) {
	for _, method := range []string{"goldstein", "pigd", "izo", "oigrm"} {
		t.Run(method, func(t *testing.T) {
			whole := solveText(t, kinked, runtime.Options{Method: method, Seed: 2, MaxIter: 12})
			if whole.Iterations < 3 {
				t.Fatalf("only %d iterations", whole.Iterations)
			}
			for stop := 1; stop < whole.Iterations; stop += 3 {
				first := solveText(t, kinked, runtime.Options{Method: method, Seed: 2, MaxIter: stop})
				if first.Checkpoint == nil {
					t.Fatalf("no checkpoint after %d iterations: %v", stop, first.Status)
				}
				text, err := json.Marshal(first.Checkpoint)
				if err != nil {
					t.Fatal(err)
				}
				checkpoint, err := runtime.ReadCheckpoint(text)
				if err != nil {
					t.Fatal(err)
				}
				second := solveText(t, kinked, runtime.Options{Resume: checkpoint, MaxIter: 12})
				for name, pair := range map[string][2]any{
					"x": {whole.Upper, second.Upper}, "y": {whole.Lower, second.Lower}, "status": {whole.Status, second.Status},
					"iterations": {whole.Iterations, second.Iterations}, "trace": {whole.Trace, second.Trace},
				} {
					if !equalJSON(t, pair[0], pair[1]) {
						t.Errorf("stopped after %d: %s differs:\n%+v\n%+v", stop, name, pair[0], pair[1])
					}
				}
			}
		})
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	one, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	two, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(one, two)
}

// A checkpoint of another model, or under another method, is refused.
func TestResumeRefused(t *testing.T) {
	c := solveText(t, kinked, runtime.OffSystem(runtime.Options{Seed: 2, MaxIter: 1})).Checkpoint
	other := bindText(t, strings.Replace(kinked, "sum(y) <= 1", "sum(y) <= 2", 1))
	if _, err := other.Solve(context.Background(), runtime.Options{Resume: c}); err == nil {
		t.Error("a checkpoint of another model is taken")
	}
	for _, opts := range []runtime.Options{{Resume: c, Method: "pigd"}, {Resume: c, Starts: 2}, {Resume: c, Oracle: "penalty"}} {
		if _, err := bindText(t, kinked).Solve(context.Background(), opts); err == nil {
			t.Errorf("%+v is taken", opts)
		}
	}
}

// Verify accepts what Solve returns, and notices a change of any number that
// the document claims, one at a time.
func TestVerifyTampered(t *testing.T) {
	problem := bindText(t, kinked)
	result, err := problem.Solve(context.Background(), runtime.OffSystem(runtime.Options{Seed: 1}))
	if err != nil {
		t.Fatal(err)
	}
	text := document(t, result)
	verdict := func(text []byte) bool {
		t.Helper()
		r, err := runtime.ReadResult(text)
		if err != nil {
			return false
		}
		report, err := problem.Verify(r)
		return err == nil && report.OK()
	}
	if !verdict(text) {
		t.Fatal("the result as it was returned does not verify")
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, path := range [][]string{
		{"upper", "objective"}, {"upper", "variables"}, {"upper", "hypergradient"}, {"upper", "sense"},
		{"lower", "objective"}, {"lower", "variables"}, {"lower", "multipliers"}, {"lower", "sense"}, {"lower", "active"},
		{"residuals", "constraints"}, {"residuals", "stationarity"}, {"residuals", "upper"}, {"residuals", "primal"},
		{"stationarity", "value"}, {"report"}, {"digest"},
	} {
		object := whole
		for _, name := range path[:len(path)-1] {
			object = object[name].(map[string]any)
		}
		last := path[len(path)-1]
		for place, change := range tamper(object[last]) {
			old := object[last]
			object[last] = change
			changed, err := json.Marshal(whole)
			object[last] = old
			if err != nil {
				t.Fatal(err)
			}
			tried++
			if verdict(changed) {
				t.Errorf("a change of %s%s goes unnoticed", strings.Join(path, "."), place)
			}
		}
	}
	if tried < 35 {
		t.Errorf("only %d changes tried", tried)
	}
}

// tamper yields copies of a JSON value with one number or word changed.
func tamper(v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case float64:
		out[""] = v + 0.01
	case string:
		out[""] = "x" + v
	case []any:
		for i, item := range v {
			for place, change := range tamper(item) {
				list := append([]any(nil), v...)
				list[i] = change
				out["["+string(rune('1'+i))+"]"+place] = list
			}
		}
	case map[string]any:
		for name, item := range v {
			for place, change := range tamper(item) {
				object := map[string]any{}
				maps.Copy(object, v)
				object[name] = change
				out["."+name+place] = object
			}
		}
	}
	return out
}

// Choices that do not fit are usage errors, or, where the model makes them,
// diagnostics that point at the model.
func TestOptionsRefused(t *testing.T) {
	problem := bindText(t, kinked)
	for name, opts := range map[string]runtime.Options{
		"method": {Method: "newton"}, "oracle": {Oracle: "magic"}, "solver": {Solver: "simplex"},
		"setting": {Settings: map[string]any{"alhpa": 1.0}}, "range": {Oracle: "penalty", Settings: map[string]any{"alpha": -1.0}},
		"type":        {Oracle: "penalty", Settings: map[string]any{"alpha": "small"}},
		"start":       {Start: runtime.Values{{Name: "y", Shape: []int{2, 2}, Data: make([]float64, 4)}}},
		"start shape": {Start: runtime.Values{{Name: "x", Shape: []int{4}, Data: make([]float64, 4)}, {Name: "t", Data: []float64{0}}}},
		"start NaN":   {Start: runtime.Values{{Name: "x", Shape: []int{2, 2}, Data: make([]float64, 4)}, {Name: "t", Data: []float64{math.NaN()}}}},
		"start short": {Start: runtime.Values{{Name: "t", Data: []float64{0}}}},
	} {
		_, err := problem.Solve(context.Background(), opts)
		if _, usage := err.(*runtime.UsageError); !usage {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
	for _, block := range []string{"method = newton", "method = 3", "oracle = magic", "starts = 0", "starts = 1.5", "max_iter = -1",
		"nodes = 0", "nodes = 1.5", "nodes = many", "gap = 0", "gap = -1", "gap = wide", "time_limit = 0", "alhpa = 1", "starts = many"} {
		model, err := runtime.Compile("test.blv", kinked+"solve {\n  "+block+"\n}\n")
		if err == nil { // what names nothing is told when the model is compiled
			problem, failed := model.Bind(nil, runtime.BindOptions{Seed: 1})
			if failed != nil {
				t.Fatal(failed)
			}
			_, err = problem.Solve(context.Background(), runtime.Options{})
		}
		list, other := listOf(err)
		if other != nil || len(list) != 1 || list[0].Subject.Text() == "" || !strings.Contains(kinked+block, list[0].Subject.Text()) {
			t.Errorf("%s: %v", block, err)
		}
	}
}

// A context that ends before or during the run is a status, with no error.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	result, err := bindText(t, kinked).Solve(ctx, runtime.OffSystem(runtime.Options{Seed: 1, Observer: func(runtime.Progress) {
		if calls++; calls == 2 {
			cancel()
		}
	}}))
	if err != nil || result.Status != runtime.Interrupted || !result.HasPoint() || result.Checkpoint == nil {
		t.Fatalf("%+v, %v", result, err)
	}
	resumed := solveText(t, kinked, runtime.Options{Resume: result.Checkpoint})
	whole := solveText(t, kinked, runtime.OffSystem(runtime.Options{Seed: 1}))
	if !equalJSON(t, resumed.Upper, whole.Upper) || resumed.Status != runtime.Solved {
		t.Errorf("resumed to %+v, not %+v", resumed.Upper, whole.Upper)
	}
	result, err = bindText(t, kinked).Solve(ctx, runtime.OffSystem(runtime.Options{}))
	if err != nil || result.Status != runtime.Interrupted || result.Err().Error() != "interrupted" {
		t.Errorf("a context that has ended: %+v, %v", result, err)
	}
}

// A time limit holds for all starts together: the run ends, long before its steps
// are used up.
// A run that is solved although a time limit took some of its starts says how many.
func TestTimeLimitAmongStarts(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	r, err := bindText(t, kinked).Solve(ctx, runtime.OffSystem(runtime.Options{Seed: 1, Starts: 5, Threads: 1, Observer: func(at runtime.Progress) {
		if at.Start == 2 {
			cancel(runtime.ErrTimeLimit)
		}
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != runtime.Solved || !strings.HasSuffix(r.Reason, "; the time limit cut off 4 of 5 starts") || r.Checkpoint == nil {
		t.Errorf("%v: %s", r.Status, r.Reason)
	}
}

func TestTimeLimit(t *testing.T) {
	const limit = 200 * time.Millisecond
	r := solveText(t, kinked, runtime.Options{Method: "izo", MaxIter: 1 << 40, Starts: 50, Seed: 1, TimeLimit: limit})
	if r.Status != runtime.LimitReached || r.Reason != "time limit" || !r.HasPoint() || len(r.Starts) != 50 {
		t.Errorf("%v: %s, %d starts", r.Status, r.Reason, len(r.Starts))
	}
}

// A context that ends in the starts after a search that has not proved its point leaves the bound of the search with its gap.
func TestInterruptedAfterTheSearch(t *testing.T) {
	t.Parallel()
	after := 0
	for seed := range members.SeedsOf(t, 8, 40) {
		rng := rand.New(rand.NewPCG(seed, 42))
		normal := func(rows, cols int) [][]float64 {
			m := make([][]float64, rows)
			for i := range m {
				for range cols {
					m[i] = append(m[i], rng.NormFloat64())
				}
			}
			return m
		}
		const dx, dy, dh = 20, 40, 30
		model, err := runtime.CompileFile("../examples/toy/toy.blv")
		if err != nil {
			t.Fatal(err)
		}
		problem, err := model.Bind(runtime.Data{"dx": dx, "dy": dy, "dh": dh, "c": normal(1, dy)[0], "P": normal(dx, dy), "L": normal(dy, dy), "A": normal(dh, dy), "b": normal(1, dh)[0]}, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		searched, left := false, 1+rng.IntN(12) // steps after the search: of the point that it has found, and of further starts
		r, err := problem.Solve(ctx, runtime.Options{Observer: func(now runtime.Progress) {
			if now.Tree != nil {
				searched = true
			} else if searched {
				if left--; left == 0 {
					cancel()
				}
			}
		}})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if r.Global != nil && r.Global.Nodes > 0 && !math.IsInf(float64(r.Global.Bound), 0) {
			after++
			f := float64(r.Upper.Objective)
			if want := (f - float64(r.Global.Bound)) / math.Abs(f); !r.Global.Proved && math.Abs(float64(r.Global.Gap)-want) > 1e-9*want {
				t.Errorf("seed %d: %s, F = %v, bound %v, gap %v", seed, r.Status, f, r.Global.Bound, r.Global.Gap)
			}
		}
	}
	if after == 0 {
		t.Error("none has a bound")
	}
}
