package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// randomModel is a bilevel program with a linear leader and a follower of n variables in [0, 2], quadratic or linear, with n rows.
func randomModel(rng *rand.Rand, name string, n int, quadratic bool) string {
	list := func(k int, scale float64) string {
		words := make([]string, k)
		for i := range words {
			words[i] = fmt.Sprintf("%.2f", scale*rng.NormFloat64())
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	table := func(rows, cols int) string {
		words := make([]string, rows)
		for i := range words {
			words[i] = list(cols, 1)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	g, more := "dot(q, y) + dot(x, P * y)", "solve { ties = optimistic }\n"
	if quadratic {
		g, more = g+" + 0.5 * sumsq(y)", ""
	}
	return fmt.Sprintf(`model %s
data c: vector[2] = %s
data d: vector[%[3]d] = %[4]s
data q: vector[%[3]d] = %[5]s
data P: matrix[2, %[3]d] = %[6]s
data B: matrix[%[3]d, %[3]d] = %[7]s
upper {
  var x: vector[2] in box(-1, 1)
  minimize dot(c, x) + dot(d, y)
}
lower {
  var y: vector[%[3]d] in box(0, 2)
  minimize %[8]s
  subject to
    rows: B * y <= 1
}
%[9]s`, name, list(2, 0.3), n, list(n, 1), list(n, 1), table(2, n), table(n, n), g, more)
}

// command runs a command line, and returns its output and exit code.
func command(words ...string) (stdout, stderr string, code int) {
	var out, err bytes.Buffer
	code = run(context.Background(), words, stdio{strings.NewReader(""), &out, &err})
	return out.String(), err.String(), code
}

// firstFailure is the line of the first claim that does not hold.
func firstFailure(out string) string {
	for _, line := range strings.Split(out, "\n") {
		if strings.HasPrefix(line, "FAIL") {
			return line
		}
	}
	return "nothing failed"
}

// unboundedModel has a follower that is nothing but kinks, in variables that have no bounds, with rows that depend on each other up to the rounding of decimals; its constraints can be satisfied at all x.
func unboundedModel(rng *rand.Rand, name string) string {
	n, m := 2+rng.IntN(3), 1+rng.IntN(3)
	list := func(v []float64) string {
		words := make([]string, len(v))
		for i := range v {
			words[i] = fmt.Sprint(v[i])
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	vector := func() []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = math.Round(400*(rng.Float64()-0.5)) / 100
		}
		return v
	}
	table := func(k int) string {
		words := make([]string, k)
		for i := range words {
			words[i] = list(vector())
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	var a [][]float64
	var side, slope []float64
	for i := range m + 2 {
		if i < m {
			a, slope = append(a, vector()), append(slope, vector()[0])
			side = append(side, 0.5+math.Round(200*rng.Float64())/100+2*math.Abs(slope[i]))
			continue
		}
		k, by := rng.IntN(m), []float64{0.1, 0.3, 0.7, 1.1}[rng.IntN(4)]
		row := make([]float64, n)
		for j := range row {
			row[j] = by * a[k][j]
		}
		a, side, slope = append(a, row), append(side, by*side[k]+0.2*float64(rng.IntN(2))), append(slope, by*slope[k])
	}
	rows := make([]string, len(a))
	for i := range a {
		rows[i] = list(a[i])
	}
	upper := []string{"sumsq(y - g)", "norm1(y - g)", "norminf(y - g)"}[rng.IntN(3)]
	lower := []string{"0.7 * norm1(y - c)", "0.3 * norm1(D * y - x) + 0.1 * norm1(y)"}[rng.IntN(2)]
	return fmt.Sprintf(`model %s
data c: vector[%[2]d] = %[3]s
data g: vector[%[2]d] = %[4]s
data D: matrix[2, %[2]d] = %[5]s
data A: matrix[%[6]d, %[2]d] = [%[7]s]
data b: vector[%[6]d] = %[8]s
data e: vector[%[6]d] = %[9]s
upper {
  var x: vector[2] in box(-1.3, 1.7)
  minimize %[10]s + 0.3 * norm1(x)
}
lower {
  var y: vector[%[2]d]
  minimize %[11]s
  subject to
    room: A * y <= b + e * x[1]
}
solve { ties = optimistic }
`, name, n, list(vector()), list(vector()), table(2), len(a), strings.Join(rows, ", "), list(side), list(slope), upper, lower)
}

// What is proved of followers whose multipliers and answers have no bounds in the model has a proof that verifies.
func TestProofsWithoutBounds(t *testing.T) {
	rng, dir := members.Rand(t, 8), t.TempDir()
	proved := 0
	for k := range members.Count(60) {
		model, proof, doc := filepath.Join(dir, "m.blv"), filepath.Join(dir, "m.proof"), filepath.Join(dir, "m.json")
		text := unboundedModel(rng, fmt.Sprintf("m%d", k))
		if err := os.WriteFile(model, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, fault, code := command(model, "--json", "--proof", proof)
		if code != 0 {
			t.Errorf("case %d: exit code %d: %s\n%s", k, code, fault, text)
			continue
		}
		if !regexp.MustCompile(`"proved": ?true`).MatchString(out) {
			continue
		}
		proved++
		if err := os.WriteFile(doc, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, fault, code := command("verify", doc, "--proof", proof); code != 0 {
			t.Errorf("case %d: exit code %d: %s %s", k, code, fault, firstFailure(out))
		}
	}
	if proved < members.Count(60)/2 {
		t.Errorf("%d proved", proved)
	}
}

// Proofs of random programs are accepted by the command, without the proof the bound is not checked, and what is forged is refused: a leaf dropped or
// twice, a file cut, a proof of another model, a higher bound with a seal of its own. A weight that is changed is refused, or leaves
// a bound that is as high.
func TestProofsByTheCommand(t *testing.T) {
	rng := members.Rand(t, 7)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	previous := ""
	counts := map[string]int{}
	for k := range 8 {
		model := path(fmt.Sprintf("m%d.blv", k))
		write(t, model, randomModel(rng, fmt.Sprintf("m%d", k), 4, k%2 == 0))
		proof, document := path(fmt.Sprintf("m%d.proof", k)), path(fmt.Sprintf("m%d.json", k))
		stdout, stderr, code := command(model, "--json", "--proof", proof, "--quiet")
		if code != 0 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		write(t, document, stdout)
		if out, errors, code := command("verify", document); code != 0 || !strings.Contains(out, "global: no feasible point") {
			t.Fatalf("exit %d: %s%s", code, out, errors)
		}
		text, err := os.ReadFile(proof)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		lines = lines[:len(lines)-1]
		// refused says that the command refuses a forgery, at a line where place says so.
		refused := func(what, text, place string) {
			t.Helper()
			forged := path("forged.proof")
			write(t, forged, text)
			out, errors, code := command("verify", document, "--proof", forged)
			if code != 14 || !strings.Contains(out, "FAIL  global") || !regexp.MustCompile(place).MatchString(out) {
				t.Errorf("%s: exit %d, and not at %s\n%s%s", what, code, place, firstFailure(out), errors)
			}
			counts[what]++
		}
		at := 1 + rng.IntN(len(lines)-1)
		with := func(at int, line ...string) string {
			return strings.Join(lines[:at], "") + strings.Join(line, "") + strings.Join(lines[at+1:], "")
		}
		// A statement about interiors that nothing needs may be left out or said twice: then the seal alone tells.
		refused("a line dropped", with(at), `forged.proof(:\d+: | was changed since)`)
		refused("a line twice", with(at, lines[at], lines[at]), `forged.proof(:\d+: | was changed since)`)
		refused("cut", string(text[:rng.IntN(len(text)-1)]), `forged.proof:\d+: `)
		refused("cut at a line", strings.Join(lines[:at], ""), fmt.Sprintf(`forged.proof:%d: the proof ends before`, at+1))
		refused("more", string(text)+lines[len(lines)-1], fmt.Sprintf(`forged.proof:%d: the proof goes on`, len(lines)+1))
		refused("no JSON", with(at, lines[at][:len(lines[at])/2]+"\n"), fmt.Sprintf(`forged.proof:%d: no whole JSON object`, at+1))
		refused("nothing", "", `forged.proof:1: `)
		refused("long", strings.Repeat("[", 1<<20), `forged.proof:1: .*the line is longer`)
		if previous != "" {
			refused("another model's", previous, `forged.proof:1: the proof is of another model`)
			_, rest, _ := strings.Cut(previous, "\n")
			forged := path("forged.proof")
			write(t, forged, lines[0]+rest)
			if out, _, code := command("verify", document, "--proof", forged); code == 14 {
				counts["another's tree"]++
			} else if !strings.Contains(out, "ok    global: no feasible point") {
				t.Errorf("another's tree: %s", out)
			}
		}
		previous = string(text)
		// A weight changed: what is accepted shows the bound, which enumeration in package tree holds to the truth; here most must be refused.
		number := regexp.MustCompile(`-?\d+\.?\d*(e[+-]?\d+)?`)
		for range 4 {
			at := 1 + rng.IntN(len(lines)-1)
			values := strings.Index(lines[at], `"val":[`)
			if values < 0 {
				continue
			}
			first := number.FindStringIndex(lines[at][values:])
			forged := path("forged.proof")
			write(t, forged, with(at, lines[at][:values+first[0]]+fmt.Sprint(rng.NormFloat64())+lines[at][values+first[1]:]))
			if _, _, code := command("verify", document, "--proof", forged); code == 14 {
				counts["a weight changed"]++
			} else {
				counts["a weight changed, and as good"]++
			}
		}
		// Without the proof.
		if err := os.Rename(proof, path("elsewhere")); err != nil {
			t.Fatal(err)
		}
		if out, _, code := command("verify", document); code != 0 || !strings.Contains(out, "not checked: global") {
			t.Errorf("without the proof: exit %d\n%s", code, out)
		}
		// A higher bound, and a smaller gap, sealed anew.
		for what, change := range map[string]func(g *runtime.Global){
			"a bound raised":  func(g *runtime.Global) { g.Bound += runtime.Number(1e-6 * (1 + math.Abs(float64(g.Bound)))) },
			"nothing is left": func(g *runtime.Global) { g.Bound = runtime.Number(math.Inf(1)) },
		} {
			r, err := runtime.ReadResult([]byte(stdout))
			if err != nil {
				t.Fatal(err)
			}
			change(r.Global)
			r.Global.Gap = 0
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path("forged.json"), string(text))
			if out, _, code := command("verify", path("forged.json"), "--model", model, "--proof", path("elsewhere")); code != 14 || !strings.Contains(out, "FAIL  global") {
				t.Errorf("%s: exit %d\n%s", what, code, out)
			}
			counts[what]++
		}
	}
	t.Log(counts)
	for _, what := range []string{"another's tree", "a weight changed"} {
		if counts[what] == 0 {
			t.Errorf("%s: never refused", what)
		}
	}
}

// What has no bound has no proof, and the command says why.
func TestNoProof(t *testing.T) {
	dir := t.TempDir()
	model, proof := filepath.Join(dir, "m.blv"), filepath.Join(dir, "m.proof")
	write(t, model, "model m\nupper {\n  var x: real in box(0, 1)\n  minimize exp(x - y) + x\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n")
	empty := filepath.Join(dir, "empty.blv")
	write(t, empty, "model m\nupper {\n  var x: real in box(0, 1)\n  minimize x\n}\nlower {\n  var y: real in box(0, 1)\n  minimize (y - x)^2\n  subject to far: y >= x + 1.5\n}\n")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{empty, "--proof", proof}, 10, "no proof was written: nobody has looked"},
		{[]string{model, "--proof", proof}, 12, "no proof was written: there is no bound to prove: the upper objective is not quadratic"},
		{[]string{model, "--proof", proof, "--method", "pgd"}, 12, "no proof was written: nobody has looked"},
		{[]string{model, "--proof", proof, "--local"}, 2, "--local leaves out the search that --proof is of"},
		{[]string{model, "--proof", dir}, 2, "it is a folder"},
		{[]string{model, "--proof", filepath.Join(dir, "no", "m.proof")}, 2, "there is no folder"},
		{[]string{model, "--proof", "-"}, 2, "standard output has the result"},
	} {
		if _, stderr, code := command(c.args...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, %s", c.args, code, stderr)
		}
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("a file was left")
	}
}

// A proof is written beyond the time limit of its run, and not beyond an interrupt.
func TestProofsEndWithAnInterrupt(t *testing.T) {
	model, err := runtime.Compile("m.blv", "model m\nupper {\n  var x: real in box(0, 1)\n  minimize (x - 1)^2 + y\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x + 0.5)^2\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	problem, err := model.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := problem.Solve(t.Context(), runtime.Options{})
	if err != nil || !r.Global.Proved {
		t.Fatal(err, r)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeoutCause(t.Context(), 0, runtime.ErrTimeLimit)
	defer cancel()
	for _, c := range []struct {
		ctx, limited context.Context
		says         string
	}{{t.Context(), t.Context(), ""}, {t.Context(), late, ""}, {ended, t.Context(), "interrupted"}, {ended, ended, "interrupted"}} {
		path := filepath.Join(t.TempDir(), "m.proof")
		err := (&app{}).writeProof(c.ctx, c.limited, r, path)
		if _, there := os.Stat(path); (c.says == "") != (err == nil) || (err == nil) != (there == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, %v: %v, %v", c.ctx, c.limited, err, there)
		}
	}
}

// That nothing is feasible is proved as well.
func TestProofOfInfeasibility(t *testing.T) {
	dir := t.TempDir()
	model, proof, document := filepath.Join(dir, "m.blv"), filepath.Join(dir, "m.proof"), filepath.Join(dir, "m.json")
	write(t, model, "model m\nupper {\n  var x: real in box(0, 1)\n  minimize x\n  subject to\n    floor: y >= 2\n}\nlower {\n  var y: real in box(0, 3)\n  minimize (y - x)^2\n}\n")
	stdout, stderr, code := command(model, "--json", "--proof", proof)
	if code != 10 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	write(t, document, stdout)
	if out, errors, code := command("verify", document); code != 0 || !strings.Contains(out, "ok    global: nothing is feasible") {
		t.Errorf("exit %d\n%s%s", code, out, errors)
	}
	write(t, proof, `{"tree":1}`+"\n"+`{"empty":{}}`+"\n")
	if out, errors, code := command("verify", document); code != 14 {
		t.Errorf("exit %d\n%s%s", code, out, errors)
	}
}
