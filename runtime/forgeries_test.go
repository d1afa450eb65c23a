package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"bilevelc/runtime/document"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
)

// kinkedModel has its optimum at a kink of F, an equality, a report and both
// senses.
const kinkedModel = `
model kinked
data want: vector[2] = [2, 1]
upper {
  var x: vector[2] in box(-3, 3)
  maximize -sumsq(y - want) - 0.1 * sumsq(x) - 0.5 * x[1]
}
lower {
  var y: vector[2] in nonneg
  minimize 0.5 * sumsq(y - x) + 0.1 * y[1] * y[2]
  subject to
    cap: sum(y) <= 1.5
    tie: y[1] - y[2] <= 1
}
report {
  total = sum(y)
  paid = y - x
}
`

// documents are results of several methods, each as its JSON text.
func documents(t testing.TB) map[string]struct {
	problem *Problem
	text    []byte
} {
	t.Helper()
	out := map[string]struct {
		problem *Problem
		text    []byte
	}{}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	toll, quota := read("../testdata/models/toll.blv"), read("../testdata/models/quota.blv")
	for name, c := range map[string]struct {
		model string
		opts  Options
		eval  bool
		want  Status
	}{
		"kinked":  {model: kinkedModel, opts: Options{offSystem: true}, want: Solved},
		"starts":  {model: kinkedModel, opts: Options{Starts: 3, Seed: 2, CheckGradient: true, offSystem: true}, want: Solved},
		"toll":    {model: toll, opts: Options{offSystem: true}, want: Solved},
		"mapping": {model: quota, opts: Options{offSystem: true}, want: Solved},
		"limit":   {model: toll, opts: Options{MaxIter: 2, offSystem: true}, want: LimitReached},
		"spent":   {model: quota, opts: Options{Method: "pigd", Settings: map[string]any{"iterations": 3.0}}, want: BudgetSpent},
		"eval":    {model: toll, eval: true, opts: Options{Sensitivity: true}, want: Solved},
	} {
		model, err := Compile(name+".blv", c.model)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var r *Result
		if c.eval {
			r, err = p.Eval(context.Background(), Values{{Name: "toll", Shape: []int{6}, Data: []float64{1, 0, 0, 2, 0, 0}}}, c.opts)
		} else {
			r, err = p.Solve(context.Background(), c.opts)
		}
		if err != nil || r.Status != c.want {
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		r.Inputs = &Inputs{Model: name + ".blv"}
		if n := len(r.Trace); n > 3 { // the points are alike, and each has many leaves
			r.Trace = slices.Delete(r.Trace, 2, n-1)
			r.Phases.Trace = slices.Delete(r.Phases.Trace, 2, n-1)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = struct {
			problem *Problem
			text    []byte
		}{p, text}
	}
	return out
}

// passes reports whether a document is accepted.
func passes(p *Problem, text []byte) bool {
	r, err := ReadResult(text)
	if err != nil {
		return false
	}
	report, err := p.Verify(r)
	return err == nil && report.OK()
}

// vocabulary are words that mean something in a document.
func vocabulary() []string {
	words := []string{"solved", "limit reached", "interrupted", "inaccurate"}
	for _, s := range outer.All() {
		words = append(words, s.Name)
	}
	for _, s := range oracle.All() {
		words = append(words, s.Name)
	}
	for _, s := range lower.All() {
		words = append(words, s.Name)
	}
	return words
}

// edit is one change of a document.
type edit struct {
	path   string
	change func()
	undo   func()
}

// edits lists changes of every leaf below a value, and the removal of every
// member and element.
func edits(path string, value any, set func(any)) []edit {
	var all []edit
	to := func(what string, other any) {
		all = append(all, edit{path + " " + what, func() { set(other) }, func() { set(value) }})
	}
	switch v := value.(type) {
	case map[string]any:
		if path != "" {
			to("emptied", map[string]any{})
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := strings.TrimPrefix(path+"."+key, ".")
			old := v[key]
			all = append(all, edits(inner, old, func(to any) { v[key] = to })...)
			all = append(all, edit{inner + " removed", func() { delete(v, key) }, func() { v[key] = old }})
		}
	case []any:
		for k := range v {
			all = append(all, edits(fmt.Sprintf("%s[%d]", path, k), v[k], func(to any) { v[k] = to })...)
		}
		if len(v) > 0 {
			to("shorter", v[:len(v)-1])
		}
		to("longer", append(slices.Clone(v), json.Number("0")))
		to("as nothing by name", map[string]any{})
	case json.Number:
		f, _ := v.Float64()
		number := func(f float64) json.Number { return json.Number(fmt.Sprint(f)) }
		if strings.ContainsAny(string(v), ".e") {
			to("up", number(f+1e-3*(1+math.Abs(f))))
			to("down", number(f-1e-3*(1+math.Abs(f))))
		} else {
			to("up", number(f+1))
			to("down", number(f-1))
		}
		to("huge", number(1e300))
		to("as text", string(v))
		to("infinite", "Infinity")
		to("no number", "NaN")
	case string:
		to("longer", v+"x")
		words := vocabulary()
		for _, other := range words {
			if other != v && slices.Contains(words, v) {
				to(other, other)
			}
		}
	case bool:
		to("flipped", !v)
	case nil:
		to("zero", json.Number("0"))
	}
	return all
}

// canonicalText is a document in one layout, for comparison.
func canonicalText(t *testing.T, text []byte) []byte {
	seal, times, err := document.SealOf(text)
	if err != nil {
		t.Fatal(err)
	}
	var tree struct {
		Seal   any
		Phases any
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "%s %s %v %v", seal, times, tree.Seal, tree.Phases)
}

// places lists the setters of every value below one.
func places(value any, set func(any)) []func(any) {
	all := []func(any){set}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, places(v[key], func(to any) { v[key] = to })...)
		}
	case []any:
		for k := range v {
			all = append(all, places(v[k], func(to any) { v[k] = to })...)
		}
	}
	return all
}
