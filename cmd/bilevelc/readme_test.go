package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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

// TestReadmeShows runs every command of the section on seeing results, as a shell does.
func TestReadmeShows(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## Seeing the result\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, found := strings.Cut(block, "```")
	if !found || strings.Count(block, "bilevelc ") < 5 {
		t.Fatalf("the README shows no commands:\n%s", block)
	}
	dir := t.TempDir()
	script := "symlink examples -> $EXAMPLES\nexec sh -e commands.sh\nexists toll.html result.html tables/rows.csv\nstdout 'F along toll'\nstdout 'sensitivity to toll'\n-- commands.sh --\n" + block
	if err := os.WriteFile(filepath.Join(dir, "readme.txtar"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: func(env *testscript.Env) error {
		examples, err := filepath.Abs("../../examples")
		env.Setenv("EXAMPLES", examples)
		return err
	}})
}

// TestReleaseSetsTheVersion finds the variables that the linker is to set in releases,
// which it would pass over in silence where they are not there.
func TestReleaseSetsTheVersion(t *testing.T) {
	config, err := os.ReadFile("../../bench/release/main.go")
	if err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`-X ([a-z/]+)\.(\w+)="`).FindAllStringSubmatch(string(config), -1)
	if len(set) != 2 {
		t.Fatalf("the release sets %v", set)
	}
	for _, m := range set {
		folder := map[string]string{"main": ".", "bilevelc/runtime": "../../runtime"}[m[1]]
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || folder == "" {
			t.Fatal(m, err)
		}
		if !slices.ContainsFunc(files, func(file string) bool {
			text, _ := os.ReadFile(file)
			return regexp.MustCompile(`(?m)^var ` + m[2] + ` = "`).Match(text)
		}) {
			t.Errorf("there is no string variable %s in %s", m[2], m[1])
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
