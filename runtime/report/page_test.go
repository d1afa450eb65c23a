package report_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/report"
	"bilevelc/runtime/status"
)

// hostile is text that ends tags, attributes, comments and styles where it is not
// escaped.
const hostile = `"'></title></style></svg></pre><script>alert(1)</script><img src=x onerror=alert(2)>&amp;<!--`

// hostileModel has it wherever a model may have text.
var hostileModel = `// ` + hostile + `
model hostile
set thing = {` + quoted(hostile) + `, "b"}
upper { var x: [thing] in box(0, 1)
  minimize sum(i in thing: (y[i] - 1)^2) }
lower { var y: [thing] in nonneg
  minimize sum(i in thing: (y[i] - x[i])^2)
  subject to
    cap: forall i in thing: y[i] <= 0.5 }
report { paid = 2 * y["b"] }
`

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
}

func pageText(t *testing.T, p *report.Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tag matches the start of an element; what is escaped has none.
var tag = regexp.MustCompile(`<([a-zA-Z][a-zA-Z0-9]*)([^>]*)>`)

// sound checks that a page has no elements but those of its template and of charts,
// none that loads or runs anything, and all its tags in pairs.
func sound(t *testing.T, name, page string) {
	t.Helper()
	known := " html head meta title style body header main section p h1 h2 h3 span dl dt dd div ul li table thead tbody tr th td strong details summary pre code mark svg line rect text path circle "
	single := " meta line "
	depth := map[string]int{}
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(known, " "+m[1]+" ") {
			t.Fatalf("%s: the page has <%s>", name, m[1])
		}
		if regexp.MustCompile(`(?i)[\s"'](on[a-z]+|src|href|srcset|action|data)\s*=`).MatchString(stripped(m[2])) {
			t.Fatalf("%s: the page has %s", name, m[0])
		}
		if !strings.Contains(single, " "+m[1]+" ") && !strings.HasSuffix(m[2], "/") {
			depth[m[1]]++
		}
	}
	for _, m := range regexp.MustCompile(`</([a-zA-Z0-9]+)>`).FindAllStringSubmatch(page, -1) {
		depth[m[1]]--
	}
	for name2, n := range depth {
		if n != 0 {
			t.Errorf("%s: %+d of <%s> are not closed", name, n, name2)
		}
	}
	if strings.Contains(page, "@import") || strings.Contains(page, "url(") {
		t.Errorf("%s: the style loads something", name)
	}
}

// stripped leaves out the values of attributes.
func stripped(attributes string) string {
	return regexp.MustCompile(`"[^"]*"`).ReplaceAllString(attributes, `""`)
}

// TestPageOfHostileText puts text that breaks out of HTML wherever a model, its data
// and a document may have text.
func TestPageOfHostileText(t *testing.T) {
	p := boundText(t, hostileModel)
	r, err := p.Solve(context.Background(), runtime.Options{Starts: 2})
	if err != nil {
		t.Fatal(err)
	}
	r.Reason, r.Model, r.Version, r.Digest, r.Method = hostile, hostile, hostile, hostile, hostile
	r.Notes = append(r.Notes, hostile)
	r.Starts[0].Reason = hostile
	r.Stationarity.Measure = hostile
	r.Inputs = &runtime.Inputs{Model: hostile, Data: []string{hostile}, Set: []string{hostile}}
	r.Settings = map[string]any{hostile: hostile}
	r.Upper.AtBounds = append(r.Upper.AtBounds, hostile)
	r.Diagnostics.Errorf("E0902", diag.Span{Source: p.IR.Program.File.Source, Start: 5, End: 300}, "%s", hostile)
	for _, page := range []*report.Page{{Result: r, Problem: p}, {Result: r}, {Result: r, Problem: p, Command: []string{hostile}}} {
		text := pageText(t, page)
		sound(t, "hostile", text)
		if strings.Contains(text, "<script>") || strings.Contains(text, "<img") {
			t.Error("text of a document became an element")
		}
		if !strings.Contains(text, "&lt;script&gt;alert(1)") {
			t.Error("the text is not shown")
		}
	}
}

// TestPageOfAnyStatus makes pages of results that hold nothing, or nothing finite.
func TestPageOfAnyStatus(t *testing.T) {
	for _, s := range status.All() {
		sound(t, s.String(), pageText(t, &report.Page{Result: runtime.Unfinished("a b.blv", s, "why")}))
	}
	p := boundText(t, hostileModel)
	r, err := p.Solve(context.Background(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64} {
		n := runtime.Number(bad)
		broken := *r
		broken.Upper.Objective, broken.Lower.Objective, broken.Stationarity.Value, broken.Lower.ErrorBound = n, n, n, n
		broken.Upper.Variables = runtime.Values{{Name: "x", Shape: []int{3}, Data: []float64{bad, 1, bad}}, {Name: "m", Shape: []int{2, 2}, Data: []float64{bad, bad, bad, 0}}}
		broken.Trace = nil
		for k := range 5 {
			broken.Trace = append(broken.Trace, runtime.TracePoint{Iteration: k, Objective: n, Best: n, Measure: n, Calls: int64(k)})
		}
		broken.Starts = []runtime.StartResult{{Objective: n}, {Objective: n}}
		sound(t, "not finite", pageText(t, &report.Page{Result: &broken, Problem: p}))
	}
}

// TestPageSaysWhatTheResultDoes looks for the numbers of a result on its page, made
// with the model and, from the document, without.
func TestPageSaysWhatTheResultDoes(t *testing.T) {
	path := filepath.Join("..", "..", "examples", "toll", "toll.blv")
	p := bound(t, path)
	r, err := p.Solve(context.Background(), runtime.Options{Starts: 3})
	if err != nil {
		t.Fatal(err)
	}
	r.Inputs = &runtime.Inputs{Model: "my tolls.blv"}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	read, err := runtime.ReadResult(text)
	if err != nil {
		t.Fatal(err)
	}
	verified, err := p.Verify(read)
	if err != nil {
		t.Fatal(err)
	}
	full := pageText(t, &report.Page{Result: r, Problem: p, Verified: verified})
	bare := pageText(t, &report.Page{Result: read})
	sound(t, "with the model", full)
	sound(t, "without", bare)
	for _, want := range []string{"8.952715", "3.918054", "-8.98955", "share.nonneg[3]", "maximizes F", r.Digest, "Starts", "stationarity",
		"calls to f, g and their gradients", "seconds", "bilevelc solve &#39;my tolls.blv&#39;", "--starts 3", "strong stationarity"} {
		for name, page := range map[string]string{"full": full, "bare": bare} {
			if !strings.Contains(page, want) {
				t.Errorf("%s page: no %q", name, want)
			}
		}
	}
	for _, want := range []string{`<span class="kw">maximize</span>`, "proved: mu =", "<th>method pieces</th>", "shares nothing with the solvers"} {
		if !strings.Contains(full, want) {
			t.Errorf("full page: no %q", want)
		}
		if strings.Contains(bare, want) {
			t.Errorf("bare page: %q without the model", want)
		}
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(full, `<pre class="model"><code>`)
	shown, _, _ = strings.Cut(shown, "</code></pre>")
	plain := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(shown, "")
	plain = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(plain)
	if strings.TrimRight(plain, "\n") != strings.TrimRight(string(source), "\n") {
		t.Errorf("the model on the page is not the model:\n%s", plain)
	}
}

// TestStructure finds a network, an order, and neither where there is none.
func TestStructure(t *testing.T) {
	p := boundText(t, `model structure
data N: matrix[3, 6] = [[-1, -1, 0, 0, 1, 0], [1, 0, -1, -1, 0, 0], [0, 1, 1, 1, -1, 0]]
upper { var toll: vector[6] in box(0, 1)
  var rate: vector[8] in box(0, 1)
  minimize sumsq(flow - 1) + sumsq(level) + sumsq(other) + toll' * toll + rate' * rate }
lower { var flow: vector[6] in nonneg
  var level: vector[9] in box(0, 5)
  var other: vector[4] in nonneg
  minimize sumsq(flow - toll) + sumsq(level - 1) + sumsq(other)
  subject to
    keep: N * flow == [-1, 0, 1]
    store: level[2..9] == level[1..8] + rate
    mix: sum(other) <= 3 }
`)
	s := report.StructureOf(p)
	g := s.Networks["flow"]
	if g == nil || s.Networks["toll"] != g || len(g.Nodes) != 3 {
		t.Fatalf("the networks are %v", s.Networks)
	}
	from, to := []int{0, 0, 1, 1, 2, -1}, []int{1, 2, 2, 2, 0, -1}
	for k := range from {
		if g.From[k] != from[k] || g.To[k] != to[k] {
			t.Errorf("arc %d goes from %d to %d, not from %d to %d", k+1, g.From[k], g.To[k], from[k], to[k])
		}
	}
	if !s.Ordered["level"] || s.Ordered["other"] || s.Ordered["flow"] || s.Networks["other"] != nil || s.Networks["level"] != nil {
		t.Errorf("ordered %v, networks %v", s.Ordered, s.Networks)
	}
}
