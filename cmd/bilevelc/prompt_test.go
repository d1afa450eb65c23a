package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPromptSolves holds `:solve` to the flags of `bilevelc solve`: the forms of the
// result are written, what contradicts itself is refused, and the exit code is that of the first error.
func TestPromptSolves(t *testing.T) {
	dir := t.TempDir()
	page, tables := filepath.Join(dir, "page.html"), filepath.Join(dir, "tables")
	prompt := func(lines ...string) (out, errs string, code int) {
		var o, e bytes.Buffer
		code = run(context.Background(), []string{"repl", "../../examples/toll/toll.blv", "--quiet"}, stdio{strings.NewReader(strings.Join(lines, "\n") + "\n"), &o, &e})
		return o.String(), e.String(), code
	}
	out, errs, code := prompt(":solve --plot --report "+page+" --csv "+tables, "F")
	if code != 0 || !strings.Contains(out, "toll") || !strings.Contains(out, "█") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "bilevelc solve toll.blv") {
		t.Errorf("the page does not say how to make it again: %v", err)
	}
	if _, err := os.Stat(filepath.Join(tables, "summary.csv")); err != nil {
		t.Error(err)
	}
	for line, want := range map[string]int{":solve --plot --json": exitUsage, ":solve --starts -1": exitUsage, "1 +* 2": exitModel, ":save " + dir: exitUsage} {
		if out, errs, code := prompt(line, "1 + 1"); code != want || !strings.Contains(out, "2\n") {
			t.Errorf("%s: exit code %d, not %d\n%s%s", line, code, want, out, errs)
		}
	}
}
