package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bilevelc/internal/must"
)

// survey is what every test does while all mutants are asleep: how long it
// takes, and which mutated places it comes to. A test that does not come to a
// place cannot notice what is changed there. A package is looked at when it is
// first asked.
type survey struct {
	mu     sync.Mutex
	of     map[string][]surveyed // by package, the quickest first
	broken int                   // tests that fail without a mutation
}

type surveyed struct {
	Package, Name string
	Seconds       float64 // of processor time
	Reaches       []int
	Fails         string // what a test says that fails as it is
}

// outside are tests that compile programs of their own, which no mutant is in.
var outside = map[string]bool{"runtime TestSource": true}

// tests are those of a package that come to the place of a mutant, the quickest
// first.
func (r *runner) tests(pkg string, m *mutant) (out []surveyed) {
	s := &r.survey
	s.mu.Lock()
	defer s.mu.Unlock()
	list, known := s.of[pkg]
	if !known {
		list = r.surveyOf(pkg)
		if s.of == nil {
			s.of = map[string][]surveyed{}
		}
		s.of[pkg] = list
	}
	for _, t := range list {
		if t.Fails == "" && slices.Contains(t.Reaches, m.number) {
			out = append(out, t)
		}
	}
	return out
}

// surveyOf runs every test of a package once by itself. What was seen is kept
// beside the test program, and holds as long as that is the same.
func (r *runner) surveyOf(pkg string) (list []surveyed) {
	program := r.overlay.program(pkg)
	sum := sha256.Sum256(must.Get(os.ReadFile(program)))
	path := program + "." + hex.EncodeToString(sum[:8]) + ".json"
	kept := map[string]surveyed{}
	if text, err := os.ReadFile(path); err == nil {
		must.Be(json.Unmarshal(text, &kept) == nil, "%s is not a survey", path)
	}
	cmd := exec.Command(program, "-test.list=.")
	cmd.Dir = filepath.Join(r.overlay.root, pkg)
	names, err := cmd.Output()
	must.Be(err == nil, "the tests of %s: %v", pkg, err)
	total := 0.0
	for name := range strings.FieldsSeq(string(names)) {
		if strings.HasPrefix(name, "Benchmark") || outside[pkg+" "+name] {
			continue
		}
		t, known := kept[name]
		if !known {
			t = r.surveyTest(pkg, name)
			kept[name] = t
			must.Do(os.WriteFile(path, must.Get(json.Marshal(kept)), 0o644))
		}
		if total += t.Seconds; t.Fails != "" {
			fmt.Printf("%s %s fails without a mutation and is left out:\n%s\n", pkg, name, tail(t.Fails))
			r.survey.broken++
		}
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b surveyed) int { return cmp.Compare(a.Seconds, b.Seconds) })
	fmt.Printf("%-20s %4d tests, %.1f s\n", pkg, len(list), total)
	return list
}

func (r *runner) surveyTest(pkg, name string) surveyed {
	places := filepath.Join(r.overlay.dir, "places")
	must.Do(os.RemoveAll(places))
	result := r.test(pkg, name, 0, time.Hour, reach+"="+places)
	t := surveyed{Package: pkg, Name: name, Seconds: result.seconds}
	if result.err != nil {
		t.Fails = result.text + result.err.Error()
	}
	text, err := os.ReadFile(places)
	if !os.IsNotExist(err) {
		must.Do(err)
	}
	for line := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(line)
		must.Be(err == nil, "what %s of %s says it reaches: %w", name, pkg, err)
		t.Reaches = append(t.Reaches, n)
	}
	return t
}
