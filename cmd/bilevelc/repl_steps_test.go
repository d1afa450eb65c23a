package main

import (
	"context"
	"strings"
	"testing"
)

// Commands do what is behind them, or refuse it; what was supplied is shown, and a file that cannot be written is called by its own name.
func TestPromptCommandsTakeTheirArguments(t *testing.T) {
	var out, errs strings.Builder
	run(context.Background(), []string{"repl"}, stdio{strings.NewReader("param n: int = 3\nparam m: int = 4\n:set n=40\n:set m=7\n:show\n:undo 2\n:redo\n:undo 9\n:undo x\n:last 3\n:save /nonexist/x.blv\nn\nm\n"), &out, &errs})
	for _, want := range []string{"set n\n", "// supplied: n = 40 (--set n=40)\n// supplied: m = 7", "undone: :set m=7\nundone: :set n=40\ndone again: :set n=40\n40\n", "4\n  : int"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	for _, want := range []string{"3 changes to be undone, not 9", "x is not a number", ":last takes nothing behind it", "/nonexist/x.blv:"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, errs.String())
		}
	}
	if strings.Contains(errs.String(), ".tmp") {
		t.Errorf("a file of its own is named: %s", errs.String())
	}
}
