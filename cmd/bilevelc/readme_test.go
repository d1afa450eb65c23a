package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// varying are the parts of a result that differ between runs and machines:
// the time, and residuals at the level of rounding.
var varying = regexp.MustCompile(`[0-9.e-]+ s$|(measure|stationarity|delta|within) +[0-9.e+-]+|calls: .*|[0-9]+ iterations`)

// TestReadme holds the README to what the command prints.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile("../../examples/shop/shop.blv")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(readme, append([]byte("```blv\n"), model...)) {
		t.Error("the README's model is not examples/shop/shop.blv")
	}
	_, rest, found := strings.Cut(string(readme), "$ bilevelc examples/shop/shop.blv\n")
	shown, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README does not show the command's output")
	}
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"../../examples/shop/shop.blv"}, stdio{os.Stdin, &out, &errs}); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	want, got := lines(out.String()), lines(shown)
	if len(want) != len(got) {
		t.Fatalf("the README shows %d lines, the command prints %d:\n%s", len(got), len(want), out.String())
	}
	for i := range want {
		if !sameLine(want[i], got[i]) {
			t.Errorf("README: %q\ncommand: %q", got[i], want[i])
		}
	}
}

func lines(text string) []string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range all {
		all[i] = strings.Join(strings.Fields(varying.ReplaceAllString(strings.TrimSpace(line), "~")), " ")
	}
	return all
}

// near is the relative difference of numbers that are the same answer: the
// methods' default targets are some 1e-6.
const near = 1e-6

// sameLine compares two lines word by word, numbers by tolerance.
func sameLine(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		u, notU := strconv.ParseFloat(x[i], 64)
		v, notV := strconv.ParseFloat(y[i], 64)
		if notU != nil || notV != nil {
			if x[i] != y[i] {
				return false
			}
			continue
		}
		if math.Abs(u-v) > near*(1+math.Abs(u)) {
			return false
		}
	}
	return true
}
