package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
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
		if want[i] != got[i] {
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
