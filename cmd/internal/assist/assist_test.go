package assist_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	gort "runtime"
	"slices"
	"strings"
	"testing"

	"bilevelc/cmd/internal/assist"
	"bilevelc/ir/check"
	"bilevelc/ir/datafile"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime"
)

// models are all models of the project, by path.
func models(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"../../../examples/*/*.blv", "../../../testdata/models/*.blv", "../../../testdata/models/*/*.blv"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			out[p] = string(text)
		}
	}
	if len(out) < 25 {
		t.Fatalf("only %d models found", len(out))
	}
	return out
}

// The index knows a name exactly where the checker does: renaming any definition
// of any model everywhere that the index says changes nothing of what the checker
// finds, and renaming back gives the text again.
func TestRenamingEachNameKeepsTheModel(t *testing.T) {
	renamed := 0
	for path, text := range models(t) {
		d := assist.Read(path, text)
		if d.Diagnostics.HasErrors() {
			t.Fatalf("%s: %v", path, d.Diagnostics)
		}
		if len(text) > 1<<14 {
			continue // a long one costs much and shows no more
		}
		for _, def := range d.Names.Definitions {
			places := append([]diag.Span{def.Name.Place}, spans(def.Uses)...)
			at := places[len(places)-1].Start
			edits, err := d.Rename(at, "renamed_Ω")
			if err != nil {
				t.Errorf("%s: %s: %v", path, def.Name.Name, err)
				continue
			}
			next := assist.Apply(text, edits)
			file, diags := parser.ParseFile(diag.NewSource(path, next))
			_, more := check.Check(file)
			if diags = append(diags, more...); diags.HasErrors() || len(diags) != len(d.Diagnostics) {
				t.Errorf("%s: renaming %s gives %v", path, def.Name.Name, diags)
			}
			if strings.Count(next, "renamed_Ω") != len(places) {
				t.Errorf("%s: %s stands in %d places, %d renamed", path, def.Name.Name, len(places), strings.Count(next, "renamed_Ω"))
			}
			back, err := assist.Read(path, next).Rename(strings.Index(next, "renamed_Ω"), def.Name.Name)
			if err != nil || assist.Apply(next, back) != text {
				t.Errorf("%s: %s does not come back: %v", path, def.Name.Name, err)
			}
			renamed++
		}
		for _, f := range d.Names.Free {
			if len(assist.WordsNamed(f.Name)) == 0 && f.Name != "inf" {
				t.Errorf("%s: %s has no meaning", path, f.Name)
			}
		}
	}
	if renamed < 300 {
		t.Errorf("only %d names were renamed", renamed)
	}
}

func spans(uses []lang.Use) []diag.Span {
	var out []diag.Span
	for _, u := range uses {
		out = append(out, u.Place)
	}
	return out
}

const scopes = `model scopes
set city = {"Rome", "Oslo"}
set road(from, to) within city * city = {("Rome", "Oslo")}
param n: int = 2
data w: vector[n] = [1, 2] // weights
fn dist(i: vector[k], z) = sum(j in 1..k: i[j]) + n * z
upper {
  var x: vector[n] in box(0, 1)
  minimize sum(i in 1..n: sum(i in 1..i: x[i]) * w[i]) + dual(cap) + dist(x, 2) + sum(out)
}
lower firm[i in city] {
  var out: real
  let own = out - 1
  minimize own^2 + sum((a, b) in road if a == i: out) - x[1]
  subject to
    cap: out <= n
}
solve { start x = w; method = goldstein }
report {
  x1 = x[1] + out["Rome"] + own["Oslo"]
}
`

// Scopes: what a name means, worked out by hand.
func TestScopes(t *testing.T) {
	d := assist.Read("scopes.blv", strings.Replace(scopes, "dual(cap)", "sum(dual(cap))", 1))
	if d.Diagnostics.HasErrors() {
		t.Fatal(d.Diagnostics)
	}
	lines := map[string][]int{}
	for _, def := range d.Names.Definitions {
		key := def.Kind.String() + " " + def.Name.Name
		for _, u := range def.Uses {
			lines[key] = append(lines[key], d.Source.Pos(u.Place.Start).Line)
		}
		if lines[key] == nil {
			lines[key] = []int{}
		}
	}
	for key, want := range map[string][]int{
		"param n": {5, 6, 8, 9, 16}, "data w": {9, 18}, "set city": {3, 3, 11}, "set road": {14}, "size k": {6}, "parameter i": {6},
		"parameter z": {6}, "index j": {6}, "constraint cap": {9}, "let own": {14, 20}, "var out": {9, 13, 14, 16, 20},
		"var x": {9, 9, 14, 18, 20}, "fn dist": {9}, "report x1": {}, "follower firm": {}, "key from": {},
	} {
		if !slices.Equal(lines[key], want) {
			t.Errorf("%s: used on lines %v, want %v", key, lines[key], want)
		}
	}
	// The inner index hides the outer one, but not in its own range.
	var indices []int
	for _, def := range d.Names.Definitions {
		if def.Kind == lang.IndexName && def.Name.Name == "i" {
			indices = append(indices, len(def.Uses))
		}
	}
	if !slices.Equal(indices, []int{2, 1, 1}) {
		t.Errorf("uses of the indices called i: %v", indices)
	}
}

// Whatever is typed, every question has an answer, inside the text.
func TestQuestionsAboutHalfTypedModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ask := func(t *testing.T, text string) {
		d := assist.Read("half.blv", text)
		inside := func(s diag.Span) bool { return 0 <= s.Start && s.Start <= s.End && s.End <= len(text) }
		for _, def := range d.Names.Definitions {
			if !inside(def.Name.Place) || def.Name.Place.Text() != def.Name.Name {
				t.Fatalf("%q: %s is not at its place %v", text, def.Name.Name, def.Name.Place)
			}
			for _, u := range def.Uses {
				if u.Place.Text() != def.Name.Name {
					t.Fatalf("%q: a use of %s is %q", text, def.Name.Name, u.Place.Text())
				}
			}
		}
		for range 6 {
			at := rng.IntN(len(text) + 1)
			if _, s, ok := d.Hover(at, nil); ok && !inside(s) {
				t.Fatalf("%q: hover at %d is outside", text, at)
			}
			for _, c := range d.Complete(at, nil) {
				if c.Start < 0 || c.Start > at || c.Insert == "" {
					t.Fatalf("%q: completion %+v at %d", text, c, at)
				}
			}
			d.Rename(at, "z_")
		}
		var outline func(list []assist.Symbol)
		outline = func(list []assist.Symbol) {
			for _, s := range list {
				if !inside(s.Place) || s.Head.Start < s.Place.Start || s.Head.End > s.Place.End || s.Name == "" {
					t.Fatalf("%q: symbol %q %v %v", text, s.Name, s.Place, s.Head)
				}
				outline(s.Children)
			}
		}
		outline(d.Symbols())
		d.Format()
		for i, e := range d.Diagnostics {
			if i < 2 {
				d.Fixes(context.Background(), e, nil)
			}
		}
	}
	text := scopes
	for end := 0; end <= len(text); end += 1 + rng.IntN(8) {
		ask(t, text[:end])
	}
	for range 150 {
		a := rng.IntN(len(text))
		b := min(len(text), a+1+rng.IntN(30))
		ask(t, text[:a]+text[b:])
	}
	for _, odd := range []string{"", "\n", "\ufeff", "model", "model ", "fn f(", "fn f(x: vector[", "set s within", "solve {", "{", "}", `"`, "upper { var x", "data d: [", "x[\"", "lower f[i in"} {
		ask(t, odd)
	}
}

// A fix that is offered puts its diagnostic right: of every code's example that
// has one, applied, the model no longer has the code. The codes without one are
// those whose sentence asks for what no change of words can give.
func TestFixesOfEveryCode(t *testing.T) {
	t.Parallel()
	byHand := map[diag.Code]bool{}
	fixed := 0
	for _, entry := range diag.Codes() {
		if entry.DataFile != "" || entry.Stage == diag.DataStage || entry.Stage == diag.RunStage {
			continue
		}
		d := assist.Read("example.blv", entry.Example)
		list := append(slices.Clone(d.Diagnostics), d.Bound(context.Background(), nil)...)
		for _, e := range list {
			if e.Fix == "" || e.Code != entry.Code {
				continue
			}
			fixes := d.Fixes(context.Background(), e, nil)
			if len(fixes) == 0 {
				byHand[e.Code] = true
				t.Logf("%s by hand: %s", e.Code, e.Fix)
				continue
			}
			fixed++
			for _, fix := range fixes {
				next := assist.Apply(entry.Example, fix.Edits)
				model, err := runtime.Compile("example.blv", next)
				var after diag.List
				if err != nil {
					after = err.(diag.List)
				} else {
					after = model.Warnings
				}
				if count(after, e.Code) >= max(1, count(list, e.Code)) {
					t.Errorf("%s: %q leaves it:\n%s", e.Code, fix.Title, next)
				}
				t.Logf("%s: %s", e.Code, fix.Title)
			}
		}
	}
	want := []diag.Code{"E0108", "E0115", "E0117", "E0307", "E0315", "E0320", "E0401", "E0404", "E0406", "E0407", "E0408", "E0411", "E0419", "E0420", "E0423", "E0601", "E0701", "E0602", "E0817", "E0820"}
	for code := range byHand {
		if !slices.Contains(want, code) {
			t.Errorf("%s has no change of the text any more", code)
		}
	}
	if fixed < 22 {
		t.Errorf("only %d diagnostics are put right by a change of the text", fixed)
	}
}

func count(list diag.List, code diag.Code) int {
	n := 0
	for _, e := range list {
		if e.Code == code {
			n++
		}
	}
	return n
}

// What a fix makes of a line, as its author would have it.
func TestFixesMean(t *testing.T) {
	const model = `model m
param n: int = 3
param k: real = 2
data c: vector[n] = [1, 2, 3]
upper {
  var x: vector[n] in box(0, 1)
  minimize sumsq(y - c) + sum(x)
}
lower {
  var y: vector[n]
  minimize sumsq(y - x)
  subject to
    cap: sum(y) <= 4
}
`
	for _, test := range []struct{ old, wrong, want string }{
		{"sumsq(y - c)", "sumsq(2y - c)", "sumsq(2*y - c)"},
		{"sumsq(y - c)", "sum((y - c)^2)", "sum((y - c) .^ 2)"},
		{"sumsq(y - c)", "sumsqr(y - c)", "sumsq(y - c)"},
		{"sumsq(y - c)", "sum(c / y)", "sum(c ./ y)"},
		{"sumsq(y - c)", "c(1) * sum(y)", "c[1] * sum(y)"},
		{"sumsq(y - c)", "c(end) * sum(y)", "c[n] * sum(y)"},
		{"sumsq(y - c)", "c[end - 1] * sum(y)", "c[n - 1] * sum(y)"},
		{"sum(x)", "1.e-3 * sum(x)", "1e-3 * sum(x)"},
		{"sum(x)", "x.sum()", "sum(x)"},
		{"sumsq(y - c)", "1 / y.dot(c)", "1 / (y' * c)"},
		{"cap: sum", "\"cap\": sum", "cap: sum"},
		{"cap: sum(y)", "cap: 0 <= sum(y)\n    - y[1]", "cap: 0 <= sum(y) -\n    y[1]"},
		{"lower {", "* the lower level\nlower {", "// the lower level\nlower {"},
		{"sumsq(y - x)", "sumsq(y - xx)", "sumsq(y - x)"},
		{"sum(y) <= 4", "sum(y) = 4", "sum(y) == 4"},
		{"sum(y) <= 4", "sum(y <= 4", "sum(y) <= 4"},
		{"sum(x)\n}", "sum(x)\n  + 1\n}", "sum(x) +\n  1\n}"},
		{"var y", "variable y", "var y"},
		{"model m\n", "", "model wrong\n"},
		{"param k: real = 2\n", "param in: real = 2\n", "param in_: real = 2\n"},
		{"sumsq(y - x)", "sum(y - x)", "sum(y - x) + 0.01 * sumsq(y)"},
	} {
		text := strings.Replace(model, test.old, test.wrong, 1)
		want := strings.Replace(model, test.old, test.want, 1)
		d := assist.Read("wrong.blv", text)
		var got []string
		for _, e := range append(slices.Clone(d.Diagnostics), d.Bound(context.Background(), nil)...) {
			for _, fix := range d.Fixes(context.Background(), e, nil) {
				got = append(got, assist.Apply(text, fix.Edits))
			}
		}
		if !slices.Contains(got, want) {
			t.Errorf("%q is not turned into %q, but into\n%s\n%v", test.wrong, test.want, strings.Join(got, "\n"), d.Diagnostics)
		}
	}
}

// The columns of a table at hand complete what data are read from, and the texts that it
// holds what they are compared with.
func TestColumnsAndTextsComplete(t *testing.T) {
	set, list := datafile.Read(datafile.CSV, "t.csv", "id,x1,x2,sea level,split\n1,2,3,4,train\n2,3,4,5,valid\n", "")
	if list.HasErrors() {
		t.Fatal(list)
	}
	const head = "model m\nset row\nset feature\ndata split: text[row]\n"
	const levels = "\nupper {\n  var x: real in box(0, 1)\n  minimize x + y\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n"
	for _, c := range []struct{ text, then, want string }{
		{head + "data X: [row, feature] columns ", levels, "id x1 x2 \"sea level\" split"},
		{head + "data X: [row, feature] columns x1..x", levels, "x1 x2"},
		{head + "data s: [row] column s", levels, "split"},
		{head + "data X: te", levels, "text"},
		{head + "set train = {r in row if split[r] == \"", "\"}" + levels, "\"train\" \"valid\""},
		{head + "set train = {r in row if split[r] == \"t", "\"}" + levels, "\"train\""},
	} {
		var got []string
		for _, k := range assist.Read("m.blv", c.text+c.then).Complete(len(c.text), set) {
			got = append(got, k.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %v, want %s", c.text, got, c.want)
		}
	}
}

// What is proposed for a text of one long line takes memory for what stands near, beside one text to try: proposals of
// 9 MB took 2 GB and two minutes.
func TestProposalsForLongLines(t *testing.T) {
	for _, line := range []string{"@#$", "a b ", "x) + ", "(y[1] * "} {
		text := "upper {\n" + strings.Repeat(line, 100_000)
		d := assist.Read("long.blv", text)
		ended, end := context.WithCancel(context.Background())
		end() // nothing is tried
		for _, e := range d.Diagnostics[:min(3, len(d.Diagnostics))] {
			var before, after gort.MemStats
			gort.ReadMemStats(&before)
			d.Fixes(ended, e, nil)
			gort.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > uint64(8*len(text)) {
				t.Errorf("%d bytes for %s in a text of %d", got, e.Summary, len(text))
			}
		}
	}
}
