package bind

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
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

// mutable are the tokens of a text that mutations exchange.
var mutable = regexp.MustCompile(`[A-Za-z_]\w*|\d+(\.\d+)?|\.[*/^]|\.\.|[-+*/^'\[\](),:<>=]`)

// mutated is a text in which some tokens have been exchanged, mostly names, numbers and operators for others of their kind in the same text: the grammar takes most of
// these, so that what stands behind it is asked.
func mutated(text string, seed uint64, times int) string {
	const names, numbers, operators, others = 0, 1, 2, 3
	words := append(parser.Keywords(), "vector", "matrix", "real", "int", "box", "nonneg", "simplex", "ball", "set", "within")
	kind := func(token string) int {
		switch c := token[0]; {
		case c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
			if slices.Contains(words, token) {
				return others
			}
			return names
		case c >= '0' && c <= '9':
			return numbers
		case strings.Contains(" + - * / ^ .* ./ .^ ", " "+token+" "):
			return operators
		}
		return others
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for range times {
		tokens := map[int][][]int{}
		all := mutable.FindAllStringIndex(text, -1)
		for _, t := range all {
			k := kind(text[t[0]:t[1]])
			tokens[k] = append(tokens[k], t)
		}
		places, from := all, all
		if of := tokens[rng.IntN(others)]; rng.IntN(8) > 0 && len(of) > 0 {
			places, from = of, of
		}
		at, by := places[rng.IntN(len(places))], from[rng.IntN(len(from))]
		text = text[:at[0]] + text[by[0]:by[1]] + text[at[1]:]
	}
	return text
}

// mutationBases are good models of many kinds.
func mutationBases() []string {
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
	return bases
}

// FuzzMutations exchanges tokens of good models: far more of them pass the
// checker than of mutated bytes.
func FuzzMutations(f *testing.F) {
	bases := mutationBases()
	for k := range bases {
		f.Add(uint64(k), uint8(k), uint8(1+k%3))
	}
	f.Fuzz(func(t *testing.T, seed uint64, base, count uint8) {
		mutation(t, mutated(bases[int(base)%len(bases)], seed, 1+int(count)%4))
	})
}

// mutation takes a text as far as it goes, and tells the stage that it ended at.
func mutation(t *testing.T, text string) string {
	t.Helper()
	file, list := parser.ParseFile(diag.NewSource("fuzz.blv", text))
	if list.HasErrors() {
		return "parser"
	}
	p, list := check.Check(file)
	if list.HasErrors() {
		return "check"
	}
	bindHostile(t, p, &data.Set{})
	return "bind"
}

// Random mutations of each run: hardly more than a third end at the parser.
func TestMutations(t *testing.T) {
	bases := mutationBases()
	ends, n := map[string]int{}, 0
	for seed := range members.SeedsOf(t, 300, 20000) {
		text := mutated(bases[seed%uint64(len(bases))], seed, 1+int(seed/7%3))
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Fatalf("seed %d: %v\n%s", seed, r, text)
				}
			}()
			ends[mutation(t, text)]++
		}()
		n++
	}
	t.Logf("%v", ends)
	if ends["parser"] > n/2 || ends["bind"] < n/20 {
		t.Errorf("of %d mutations %v: too few get far", n, ends)
	}
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
