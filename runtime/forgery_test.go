package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/document"
	"bilevelc/runtime/lower"
)

// Every leaf of a document matters. Changed without a new seal it is noticed, and
// changed with one as well, but for what verify says it cannot derive.
func TestEveryLeafIsNoticed(t *testing.T) {
	t.Parallel()
	index := regexp.MustCompile(`\[\d+\]`)
	excused := func(path string, solved bool) bool {
		path = index.ReplaceAllString(path, "")
		if !solved && (strings.HasSuffix(path, " removed") || strings.HasSuffix(path, " emptied")) && (strings.HasPrefix(path, "certificate") || strings.HasPrefix(path, "upper.hypergradient")) {
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
	all := documents(t)
	// In a plain run every claim is changed in one place of the smallest document that has it, and of the smallest solved one.
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return len(all[a].text) - len(all[b].text) })
	rng, changed := members.Rand(t, 8), map[string]bool{}
	for _, name := range names {
		d := all[name]
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
		before := canonicalText(t, d.text)
		changes := edits("", tree, nil)
		if !members.Full() {
			rng.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			changes = slices.DeleteFunc(changes, func(e edit) bool {
				claim := fmt.Sprint(index.ReplaceAllString(e.path, ""), tree["status"] == "solved")
				before := changed[claim]
				changed[claim] = true
				return before
			})
		}
		for _, e := range changes {
			e.change()
			stale, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			same := bytes.Equal(canonicalText(t, stale), before)
			seal, phases := tree["seal"], tree["phases"]
			if fresh, times, err := document.SealOf(stale); err == nil && !strings.Contains(e.path, "seal") {
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
			if r, err := ReadResult(stale); err == nil && r.Intact() == nil {
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
		if members.Full() && count < 100 {
			t.Errorf("%s: only %d changes", name, count)
		}
	}
	if len(changed) > 0 {
		if len(changed) < 300 {
			t.Errorf("only %d changes", len(changed))
		}
		return
	}
	for _, u := range underived {
		found := false
		for path := range used {
			found = found || path == u.Path || strings.HasPrefix(path, u.Path+".")
		}
		// Few of these documents have such rows, all recycle curvature,
		// which one solver does, none has upper constraints that read y, and where a residual is
		// not 0 the gap follows from the modulus.
		if !found && u.Path != "upper.penalty" && u.Path != "lower.dependent" && u.Path != "lower.weak" && u.Path != "lower.solver" && u.Path != "certificate.lower.bound.modulus" {
			t.Errorf("%s is listed as not derived, and every change to it was noticed", u.Path)
		}
	}
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
		{"kinked", "a bounded one as unbounded, whose lower level is not solved", func(r *Result) {
			r.Status, r.Lower.Status, r.Stationarity.Strict, r.Upper.Hypergradient = Unbounded, lower.Inaccurate.String(), false, nil
			r.Certificate.Goldstein = nil
			r.Stationarity.Measure, r.Stationarity.Value, r.Stationarity.Delta = "none", Number(math.NaN()), 0
		}},
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
		{"toll", "negative calls of the verification", func(r *Result) { r.Verification = &Calls{F: 1, GradF: 1, G: 1, GradG: -1} }},
		{"limit", "a small measure without its certificate", func(r *Result) {
			r.Certificate.Goldstein = nil
			r.Stationarity.Value = 1e-12
		}},
		{"toll", "an F on the way that is better than the best", func(r *Result) {
			r.Trace[len(r.Trace)/2].Objective = 1e6 // of a maximization
		}},
		{"toll", "a best F on the way that gets worse", func(r *Result) {
			t := &r.Trace[len(r.Trace)-1]
			t.Objective = r.Trace[0].Best - 1 // of a maximization
			t.Best = t.Objective
		}},
		{"toll", "a multiplier of the wrong sign that is no dual residual", func(r *Result) {
			for i := range r.Lower.Multipliers {
				for k, v := range r.Lower.Multipliers[i].Data {
					if v == 0 {
						r.Lower.Multipliers[i].Data[k] = -1e-15
						return
					}
				}
			}
		}},
		{"toll", "a negative measure on the way", func(r *Result) { r.Trace[0].Measure = -1 }},
		{"toll", "a gradient check of infinite differences", func(r *Result) {
			inf := Number(math.Inf(1))
			r.Check = &GradientCheck{Difference: Values{{Name: "toll", Shape: []int{6}, Data: []float64{0, 0, 0, 0, 0, math.Inf(1)}}}, Error: inf, Relative: inf}
		}},
		{"eval", "a rate that is no number", func(r *Result) { r.Sensitivity[0].Right.Variables[0].Data[0] = math.Inf(1) }},
		{"eval", "rates of fewer entries", func(r *Result) {
			v := &r.Sensitivity[0].Right.Multipliers[0]
			v.Data, v.Shape = v.Data[1:], []int{len(v.Data) - 1}
		}},
		{"eval", "no rates, and no reason", func(r *Result) { r.Sensitivity[0].Right = nil }},
		{"eval", "a negative error of rates", func(r *Result) { r.Sensitivity[0].Right.ErrorVariables = -1 }},
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
	r, err := p.Solve(context.Background(), Options{Start: Values{{Name: "x", Data: []float64{-1}}}, offSystem: true})
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
				Lower: &certify.Lower{Active: c.active, Bound: &certify.Bound{Modulus: 1, Gap: 0x1p-101, Distance: 0x1p-50}},
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

// Documents with any value at any place are refused with words, never with a
// panic.
func FuzzForgeries(f *testing.F) {
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
