package main

import (
	"bytes"
	"strings"
	"testing"

	"bilevelc/runtime/status"
)

// TestNumbersOfArguments: a wrong number of arguments is an error of usage of every command, which it names.
func TestNumbersOfArguments(t *testing.T) {
	for _, args := range [][]string{{"verify"}, {"check"}, {"check", "a.blv", "b.blv"}, {"report"}, {"man"}, {"explain"}, {"eval"}, {"export"}, {"build"}, {"solve"}, {"sweep", "table"}, {"lsp", "x"}, {"serve", "x"}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), args, stdio{bytes.NewReader(nil), &out, &errs})
		if code != status.ExitUsage || out.Len() > 0 || !strings.HasPrefix(errs.String(), "error: bilevelc "+args[0]) {
			t.Errorf("%v: exit %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
}
