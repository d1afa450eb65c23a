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
	"time"
)

// survey is what every test does while all mutants are asleep: how long it
// takes, and which mutated places it comes to. A test that does not come to a
// place cannot notice what is changed there.
type survey struct {
	tests  []surveyed
	broken int // tests that fail without a mutation
}

type surveyed struct {
	Package, Name string
	Seconds       float64 // of processor time
	Reaches       []int
	Fails         string // what a test says that fails as it is
}

// outside are tests that compile programs of their own, which no mutant is in.
var outside = map[string]bool{"runtime TestSource": true}

// takeSurvey runs every test of the packages once by itself. What was seen is
// kept beside the test programs, and holds as long as these are the same.
func (r *runner) takeSurvey() (*survey, error) {
	s := &survey{}
	for _, p := range r.packages {
		list, err := r.surveyOf(p)
		if err != nil {
			return nil, err
		}
		total, passed := 0.0, 0
		for _, t := range list {
			if total += t.Seconds; t.Fails != "" {
				fmt.Printf("%s %s fails without a mutation and is left out:\n%s\n", p, t.Name, tail(t.Fails))
				s.broken++
				continue
			}
			passed++
			s.tests = append(s.tests, t)
		}
		fmt.Printf("%-20s %4d tests, %.1f s\n", p, passed, total)
	}
	slices.SortStableFunc(s.tests, func(a, b surveyed) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return s, nil
}

func (r *runner) surveyOf(pkg string) (list []surveyed, err error) {
	program := r.overlay.program(pkg)
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	kept := program + "." + hex.EncodeToString(sum[:8]) + ".json"
	if text, err := os.ReadFile(kept); err == nil && json.Unmarshal(text, &list) == nil {
		return list, nil
	}
	cmd := exec.Command(program, "-test.list=.")
	cmd.Dir = filepath.Join(r.overlay.root, pkg)
	names, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the tests of %s: %v", pkg, err)
	}
	for name := range strings.FieldsSeq(string(names)) {
		if strings.HasPrefix(name, "Benchmark") || outside[pkg+" "+name] {
			continue
		}
		t, err := r.surveyTest(pkg, name)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if text, err = json.Marshal(list); err != nil {
		return nil, err
	}
	return list, os.WriteFile(kept, text, 0o644)
}

func (r *runner) surveyTest(pkg, name string) (surveyed, error) {
	places := filepath.Join(r.overlay.dir, "places")
	if err := os.RemoveAll(places); err != nil {
		return surveyed{}, err
	}
	result := r.test(pkg, name, 0, time.Hour, reach+"="+places)
	t := surveyed{Package: pkg, Name: name, Seconds: result.seconds}
	if result.err != nil {
		t.Fails = result.text + result.err.Error()
	}
	text, err := os.ReadFile(places)
	if err != nil && !os.IsNotExist(err) {
		return t, err
	}
	for line := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return t, fmt.Errorf("what %s of %s says it reaches: %w", name, pkg, err)
		}
		t.Reaches = append(t.Reaches, n)
	}
	return t, nil
}

// reaching are the tests that come to the place of a mutant, the quickest
// first.
func (s *survey) reaching(m *mutant) (out []surveyed) {
	for _, t := range s.tests {
		if slices.Contains(t.Reaches, m.number) && slices.Contains(m.target.asked(), t.Package) {
			out = append(out, t)
		}
	}
	return out
}
