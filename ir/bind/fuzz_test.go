package bind

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// FuzzBind: whatever passes the checker binds or gives located errors, with a
// small limit on entries so that no input is slow, concretely and abstractly.
func FuzzBind(f *testing.F) {
	files, _ := filepath.Glob(models + "*.blv")
	more, _ := filepath.Glob(models + "bolib/*.blv")
	for _, name := range append(files, more...) {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(string(text), `{"n": 3}`)
		}
	}
	for _, entry := range diag.Codes() {
		if entry.Stage == diag.BindStage {
			f.Add(entry.Example, entry.Data)
		}
	}
	f.Add(inputsModel, `{"n": 4, "A": [[1, 2, 3, 4], [5, 6, 7, 8]], "c": [1, 2, 3, 4]}`)
	f.Add(scaleModel, `{"n": 20}`)
	f.Add(strings.Replace(randomHead, "report {\n", "report {\n r = sum(i in 1..n, j in 1..i if c[i] < rho: y[j] * A[j, i]) + max(i in perm: c[i])\n}\n", 1), `{"rho": 2}`)
	f.Fuzz(func(t *testing.T, model, values string) {
		file, list := parser.ParseFile(diag.NewSource("fuzz.blv", model))
		if list.HasErrors() {
			return
		}
		p, list := check.Check(file)
		if list.HasErrors() {
			return
		}
		set := &data.Set{}
		if values != "" {
			if s, l := datafile.Read(datafile.JSON, "fuzz.json", values, ""); !l.HasErrors() {
				set = s
			}
		}
		bindHostile(t, p, set)
	})
}

// FuzzMutations exchanges tokens of good models: far more of them pass the
// checker than of mutated bytes.
func FuzzMutations(f *testing.F) {
	bases := []string{inputsModel, scaleModel, rowsHead + rowsLower + "  subject to\n    lim: -1 <= y <= 2\n" +
		"    stock: forall t in 1..n: sum(y[1..t]) >= w[t] - x[t]\n    k: forall i in 1..n, j in i..n if i != j: y[i] + w[i]*y[j] <= 9\n}\n"}
	files, _ := filepath.Glob(models + "*.blv")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			bases = append(bases, string(text))
		}
	}
	g := &generator{Rand: rand.New(rand.NewPCG(5, 5))}
	for range 10 {
		text := randomHead
		for k := range 4 {
			text += fmt.Sprintf("  r%d = %s\n", k, g.scalar(3))
		}
		bases = append(bases, text+"}\n")
	}
	for k := range bases {
		f.Add(uint64(k), uint8(k), uint8(1+k%3))
	}
	word := regexp.MustCompile(`[A-Za-z_]\w*|\d+(\.\d+)?|\.[*/^]|\.\.|[-+*/^'\[\](),:<>=]`)
	f.Fuzz(func(t *testing.T, seed uint64, base, count uint8) {
		text := bases[int(base)%len(bases)]
		rng := rand.New(rand.NewPCG(seed, 1))
		for range 1 + int(count)%4 {
			tokens := word.FindAllStringIndex(text, -1)
			at, from := tokens[rng.IntN(len(tokens))], tokens[rng.IntN(len(tokens))]
			text = text[:at[0]] + text[from[0]:from[1]] + text[at[1]:]
		}
		file, list := parser.ParseFile(diag.NewSource("fuzz.blv", text))
		if list.HasErrors() {
			return
		}
		p, list := check.Check(file)
		if list.HasErrors() {
			return
		}
		bindHostile(t, p, &data.Set{})
	})
}

// bindHostile binds what passed the checker and checks what must hold of any
// outcome.
func bindHostile(t *testing.T, p *ir.Program, set *data.Set) {
	t.Helper()
	for _, opts := range []Options{{Seed: 1}, {Seed: 1, Abstract: true}} {
		step := 0
		if opts.Abstract {
			step = 6
		}
		prob, list := run(p, set, opts, step, 1<<12)
		if (prob == nil) != list.HasErrors() {
			t.Fatalf("problem %v, errors %v", prob != nil, list)
		}
		for _, d := range list {
			if d.Subject.Source == nil || d.Summary == "" || d.Code == "" {
				t.Fatalf("a diagnostic without a place: %+v", d)
			}
			if strings.HasSuffix(d.Summary, slipped) {
				t.Fatalf("the checker let it pass: %v", d)
			}
		}
		if prob == nil {
			continue
		}
		if prob.Upper.Objective == nil || prob.Lower.Objective == nil || len(prob.X.Lo) != prob.Upper.Dim ||
			prob.A.Rows != len(prob.Rows) || prob.B.Rows != len(prob.Rows) || len(prob.Rhs) != len(prob.Rows) {
			t.Fatal("an incomplete problem")
		}
	}
}
