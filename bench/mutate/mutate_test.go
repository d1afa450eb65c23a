package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/must"
)

// TestMutations holds the list to the code: every named mutation applies, there
// are enough of them, names are unique, and what is accepted exists.
func TestMutations(t *testing.T) {
	root := projectRoot()
	mutants := all(root)
	if len(mutants) < 150 {
		t.Errorf("%d mutations", len(mutants))
	}
	seen, of := map[string]bool{}, map[string]int{}
	sourceOf := map[string]*source{}
	for _, m := range mutants {
		if s := sourceOf[m.file.path]; s != nil && s != m.file {
			t.Fatalf("%s is there twice, and one would hide the other's mutants", m.file.path)
		}
		sourceOf[m.file.path] = m.file
		if seen[m.id] {
			t.Errorf("twice: %s", m.id)
		}
		seen[m.id] = true
		of[m.target.dir]++
	}
	for _, target := range targets {
		if of[target.dir] == 0 {
			t.Errorf("no mutation in %s", target.dir)
		}
		for _, name := range target.asked() {
			if tests, _ := filepath.Glob(filepath.Join(root, name, "*_test.go")); len(tests) == 0 {
				t.Errorf("%s has no tests", name)
			}
		}
	}
	accepted := readAccepted(filepath.Join(root, "bench/mutate/accepted.txt"))
	for i := range targets { // one that is not drawn now may be drawn again when the code elsewhere changes
		missing := func(id string) bool { return !seen[id] && filepath.Dir(strings.Fields(id)[0]) == targets[i].dir }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(accepted)), missing) {
			continue
		}
		list := candidates(root, &targets[i])
		for _, m := range list {
			seen[m.id] = true
		}
	}
	for id := range accepted {
		if !seen[id] {
			t.Errorf("accepted, and not there any more: %s", id)
		}
	}
}

// TestOverlay builds a small module with its mutants asleep in it: its tests
// pass as it is, the mutant that a test sees is killed, and the one that none
// sees survives.
func TestOverlay(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles")
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module small\n\ngo 1.26\n",
		"p/p.go": `package p

type t struct{ k int }

func (v *t) More(_ string, by ...int) (n int) {
	for _, b := range by {
		v.k += b
	}
	return v.k + 2
}

func unseen(a, b int) bool { return a < b }

func never(a int) bool {
	if a == 0 {
		return a > 1
	}
	return a < -1
}
`,
		"p/p_test.go": `package p

import "testing"

func TestMore(t *testing.T) {
	if n := (&tt{}).More("", 1, 2); n != 5 {
		t.Fatal(n)
	}
	unseen(1, 2)
	never(1)
}

type tt = t
`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "(&tt{})", "new(tt)")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	target := &target{dir: "p"}
	mutants := candidates(root, target)
	for i, m := range mutants {
		m.number = i + 1
	}
	for _, m := range mutants {
		m.named = true
	}
	if err := must.Try(func() { (&overlay{root: root, dir: t.TempDir(), mutants: mutants}).build([]string{"p"}) }); err == nil || !strings.Contains(err.Error(), "is no program") {
		t.Errorf("one asked for that is no program: %v", err)
	}
	for _, m := range mutants {
		m.named = false
	}
	o := &overlay{root: root, dir: t.TempDir(), mutants: mutants}
	removed := o.build([]string{"p"})
	r := &runner{overlay: o, options: options{patience: 5}}
	killed, survived := 0, 0
	for _, m := range o.mutants {
		f := r.try(m)
		if r.survey.broken > 0 {
			t.Fatal("fails as it is")
		}
		if never := strings.Contains(m.id, "compare: `a > 1`"); never != (f.by == "0 tests come there") {
			t.Errorf("%s: %s", m.id, f.by)
		}
		if f.killed != strings.Contains(m.id, "More") {
			t.Errorf("%s: killed is %v (%s)", m.id, f.killed, f.by)
		}
		if f.killed {
			killed++
		} else {
			survived++
		}
	}
	// Without the addition b is not used, and the mutant is no program.
	if killed != 2 || survived != 6 || removed != 1 {
		t.Errorf("%d killed, %d survived, %d no programs", killed, survived, removed)
	}
}
