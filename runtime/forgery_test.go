package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bilevelc/runtime/certify"
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
		"kinked":  {model: kinkedModel, want: Solved},
		"starts":  {model: kinkedModel, opts: Options{Starts: 3, Seed: 2, CheckGradient: true}, want: Solved},
		"toll":    {model: toll, want: Solved},
		"mapping": {model: quota, want: Solved},
		"limit":   {model: toll, opts: Options{MaxIter: 2}, want: LimitReached},
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

// Every leaf of a document matters. Changed without a new seal it is noticed, and
// changed with one as well, but for what verify says it cannot derive.
func TestEveryLeafIsNoticed(t *testing.T) {
	index := regexp.MustCompile(`\[\d+\]`)
	excused := func(path string, solved bool) bool {
		path = index.ReplaceAllString(path, "")
		if !solved && strings.HasSuffix(path, " removed") && (strings.HasPrefix(path, "certificate") || strings.HasPrefix(path, "upper.hypergradient")) {
			return true // it claims less
		}
		for _, u := range underived {
			if path == u.Path || strings.HasPrefix(path, u.Path+".") || strings.HasPrefix(path, u.Path+" ") {
				return true
			}
		}
		return false
	}
	used := map[string]bool{}
	for name, d := range documents(t) {
		if !passes(d.problem, d.text) {
			r, _ := ReadResult(d.text)
			report, err := d.problem.Verify(r)
			t.Fatalf("%s: untouched: %v %v", name, err, report.Failures())
		}
		dec := json.NewDecoder(bytes.NewReader(d.text))
		dec.UseNumber()
		var tree map[string]any
		if err := dec.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		count, derived := 0, 0
		for _, e := range edits("", tree, nil) {
			e.change()
			stale, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			same := bytes.Equal(canonicalText(t, stale), canonicalText(t, d.text))
			seal, phases := tree["seal"], tree["phases"]
			if fresh, times, err := sealOf(stale); err == nil && !strings.Contains(e.path, "seal") {
				tree["seal"] = fresh
				if own, ok := phases.(map[string]any); ok {
					own = maps.Clone(own)
					own["seal"] = times
					tree["phases"] = own
				}
			}
			forged, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			if _, has := tree["seal"]; has {
				tree["seal"] = seal
			}
			if _, has := tree["phases"]; has {
				tree["phases"] = phases
			}
			e.undo()
			if same {
				continue
			}
			count++
			if r, err := ReadResult(stale); err == nil && r.sealed() == "" {
				t.Errorf("%s: %s: not noticed", name, e.path)
			}
			switch {
			case !passes(d.problem, forged):
				derived++
			case excused(e.path, tree["status"] == "solved"):
				used[index.ReplaceAllString(strings.Fields(e.path)[0], "")] = true
			default:
				t.Errorf("%s: %s: sealed again it is not noticed", name, e.path)
			}
		}
		t.Logf("%s: %d changes, %d of them noticed without the seal", name, count, derived)
		if count < 100 {
			t.Errorf("%s: only %d changes", name, count)
		}
	}
	for _, u := range underived {
		found := false
		for path := range used {
			found = found || path == u.Path || strings.HasPrefix(path, u.Path+".")
		}
		// Few of these documents have such rows, none has ties, all recycle curvature,
		// which one solver does, and where a residual is not 0 the gap follows from the
		// modulus.
		if !found && !strings.HasPrefix(u.Path, "lower.ties.") && u.Path != "lower.dependent" && u.Path != "lower.weak" && u.Path != "lower.solver" && u.Path != "certificate.lower.bound.modulus" {
			t.Errorf("%s is listed as not derived, and every change to it was noticed", u.Path)
		}
	}
}

// canonicalText is a document in one layout, for comparison.
func canonicalText(t *testing.T, text []byte) []byte {
	seal, times, err := sealOf(text)
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

// Forgeries that are consistent in themselves, sealed again, are noticed by what
// is derived.
func TestConsistentForgeries(t *testing.T) {
	all := documents(t)
	for _, c := range []struct {
		of, name string
		forge    func(*Result)
	}{
		{"toll", "the certificate deleted", func(r *Result) {
			r.Certificate, r.Lower.ErrorBound = nil, Number(math.Inf(1))
			r.Stationarity.Value, r.Stationarity.Delta = Number(math.NaN()), 0
		}},
		{"toll", "the stationarity certificate deleted", func(r *Result) {
			r.Certificate.Goldstein = nil
			r.Stationarity.Value, r.Stationarity.Delta = Number(math.NaN()), 0
		}},
		{"toll", "a radius of 1000", func(r *Result) { r.Certificate.Goldstein.Delta, r.Stationarity.Delta = 1e3, 1e3 }},
		{"toll", "a radius of the size of x", func(r *Result) { r.Certificate.Goldstein.Delta, r.Stationarity.Delta = 2, 2 }},
		{"toll", "errors of gradients of a million", func(r *Result) {
			g := r.Certificate.Goldstein
			g.GradientError, g.Epsilon, r.Stationarity.GradientError = 1e6, g.Norm+1e6, 1e6
		}},
		{"toll", "another gradient, with an error that covers it", func(r *Result) {
			r.Upper.Hypergradient[0].Data[0] = 50
			r.Stationarity.GradientError = 60
		}},
		{"limit", "a limit that was reached, as solved", func(r *Result) { r.Status = Solved }},
		{"spent", "a budget that was spent, as solved", func(r *Result) { r.Status = Solved }},
		{"spent", "a budget that was spent, as an evaluation", func(r *Result) { r.Status, r.Method = Solved, "" }},
		{"toll", "a solved one as infeasible", func(r *Result) { r.Status = Infeasible }},
		{"kinked", "a bounded one as unbounded", func(r *Result) { r.Status = Unbounded }},
		{"kinked", "weights that do not add up", func(r *Result) {
			g := r.Certificate.Goldstein
			for i := range g.Samples {
				g.Samples[i].Weight /= 2
			}
			g.Norm /= 2
			g.Epsilon = g.Norm + g.GradientError
			r.Stationarity.Value /= 2
		}},
		{"toll", "an index out of range", func(r *Result) {
			r.Certificate.Lower.Active = []int{1 << 40}
			r.Certificate.Goldstein.Samples[0].Active = []int{-1}
		}},
		{"eval", "an index out of range", func(r *Result) { r.Certificate.Lower.Active = []int{-1} }},
		{"toll", "no distance to y* at all", func(r *Result) {
			r.Lower.Variables[0].Data[0] += 1e-2
		}},
		{"toll", "a multiplier of the wrong sign", func(r *Result) {
			r.Lower.Multipliers[0].Data[2] *= -1
		}},
		{"toll", "another model's name", func(r *Result) { r.Model = "tolls" }},
		{"toll", "a method that does not exist", func(r *Result) { r.Method = "simplex" }},
		{"toll", "an oracle that does not apply", func(r *Result) { r.Oracle = "lagrangian" }},
		{"toll", "calls that no run makes", func(r *Result) { r.Calls.F = 0 }},
		{"toll", "negative calls", func(r *Result) { r.Calls.GradF = -1 }},
		{"toll", "another name of a report", func(r *Result) { r.Report = Values{{Name: "total", Data: []float64{1}}} }},
		{"mapping", "a gradient mapping that is small", func(r *Result) {
			m := r.Certificate.GradientMapping
			for j := range m.Gradient {
				m.Gradient[j] = 0
			}
			m.Norm, r.Stationarity.Value = 0, 0
		}},
	} {
		d := all[c.of]
		r, err := ReadResult(d.text)
		if err != nil {
			t.Fatal(err)
		}
		c.forge(r)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if passes(d.problem, text) {
			t.Errorf("%s: %s: accepted", c.of, c.name)
		}
	}
}

// The gradient of a face that F is a piece of nowhere else makes no point
// stationary: here F(x) = x, and both entries of y held give the gradient 0 at 0.
func TestFaceOfNoPiece(t *testing.T) {
	model, err := Compile("faces.blv", `
model faces
upper {
  var x: real in box(-1, 1)
  minimize -y[1] + y[2] + 2*x
}
lower {
  var y: vector[2] in nonneg
  minimize 0.5*(y[1] - x)^2 + 0.5*(y[2] + x)^2
}
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Solve(context.Background(), Options{Start: Values{{Name: "x", Data: []float64{-1}}}})
	if err != nil || r.Status != Solved {
		t.Fatal(err, r)
	}
	for _, c := range []struct {
		at, slope float64
		active    []int
		row       [2][]float64
		ok        bool
	}{
		{-1, 1, []int{0}, [2][]float64{{0, 1}, {1, 0}}, true},
		{0, 2, []int{0, 1}, [2][]float64{{0, 0}, {0, 0}}, false},
		{0, 2, []int{}, [2][]float64{{0, 0}, {0, 0}}, false},
		{0, 1, []int{0}, [2][]float64{{0, 0}, {0, 0}}, false}, // a true gradient, and not stationary
	} {
		forged := *r
		forged.Certificate = &certify.Certificate{Lower: r.Certificate.Lower}
		doc := &certify.Document{X: []float64{c.at}, Y: c.row[0], Lambda: c.row[1], Solved: true, Stationary: true,
			Upper: -c.row[0][0] + c.row[0][1] + 2*c.at, Hypergradient: []float64{c.slope},
			Certificate: &certify.Certificate{
				Lower: &certify.Lower{Active: c.active, Bound: &certify.Bound{Modulus: 1}},
				Goldstein: &certify.Goldstein{Delta: 1e-6, Norm: 0, Normal: []float64{-c.slope},
					Samples: []certify.Sample{{Point: []float64{c.at}, Gradient: []float64{c.slope}, Weight: 1, Active: c.active}}},
			}}
		doc.Lower = 0.5*math.Pow(c.row[0][0]-c.at, 2) + 0.5*math.Pow(c.row[0][1]+c.at, 2)
		report := certify.Verify(doc, p.Numeric)
		if report.OK() != c.ok {
			t.Errorf("x = %v, gradient %v on rows %v: %v", c.at, c.slope, c.active, report.Failures())
		}
		if c.slope != 1 && !slices.ContainsFunc(report.Failures(), func(f certify.Check) bool { return strings.Contains(f.Claim, "gradient") }) {
			t.Errorf("x = %v: the gradient of a face that is no piece was not noticed: %v", c.at, report.Failures())
		}
	}
}

// A bound on the distance to y* covers a solution that is truly off, and would not
// with a quarter of it.
func TestErrorBoundOfARoughSolution(t *testing.T) {
	model, err := CompileFile("../testdata/models/toll.blv")
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := Values{{Name: "toll", Shape: []int{6}, Data: []float64{1, 0, 0, 2, 0, 0}}}
	tried := 0
	for _, tolerance := range []float64{1e-2, 1e-3, 1e-4} {
		r, err := p.Eval(context.Background(), at, Options{Solver: "agd", Settings: map[string]any{"tolerance": tolerance}})
		if err != nil {
			t.Fatal(err)
		}
		bound := r.Certificate.Lower.Bound
		if bound == nil || bound.Gap < 1e-9 {
			continue
		}
		tried++
		for share, want := range map[float64]bool{1: true, 0.25: false} {
			b := *bound
			b.Distance *= share
			b.Gap *= share * share
			forged := *r
			forged.Lower.ErrorBound = Number(b.Distance)
			forged.Certificate = &certify.Certificate{Lower: &certify.Lower{Active: r.Certificate.Lower.Active,
				Residuals: r.Certificate.Lower.Residuals, Bound: &b}}
			report, err := p.Verify(&forged)
			if err != nil {
				t.Fatal(err)
			}
			holds := !slices.ContainsFunc(report.Failures(), func(f certify.Check) bool { return f.Claim == "gap of the lower level" })
			if holds != want {
				t.Errorf("tolerance %g, %v of the bound %v: holds is %v", tolerance, share, bound, holds)
			}
		}
	}
	if tried == 0 {
		t.Error("no solution was rough enough to tell")
	}
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

// Documents with any value at any place are refused with words, never with a
// panic.
func FuzzVerify(f *testing.F) {
	all := documents(f)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for k, value := range []string{"1e308", "-1", "[]", "null", `"NaN"`, "[[1]]", "{}", "[1e9]", `"Infinity"`} {
			f.Add(name, uint(7*k+1), value, uint(11*k), value)
		}
	}
	f.Fuzz(func(t *testing.T, name string, k uint, value string, l uint, other string) {
		d, ok := all[name]
		if !ok {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(d.text))
		dec.UseNumber()
		var tree any
		if err := dec.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		for _, change := range []struct {
			at uint
			to string
		}{{k, value}, {l, other}} {
			var to any
			if json.Unmarshal([]byte(change.to), &to) != nil {
				return
			}
			spots := places(tree, func(any) {})
			spots[change.at%uint(len(spots))](to)
		}
		text, err := json.Marshal(tree)
		if err != nil {
			return
		}
		r, err := ReadResult(text)
		if err != nil {
			return
		}
		if report, err := d.problem.Verify(r); err == nil && len(report.Checks) == 0 {
			t.Error("nothing was checked")
		}
	})
}
