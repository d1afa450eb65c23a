package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// complete asks the program as a shell does.
func complete(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), append([]string{"__complete"}, args...), stdio{os.Stdin, &out, &errs}); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
	}
	return out.String()
}

// TestCompletion asks for what the program knows: methods, oracles, solvers, settings,
// codes, functions, params.
func TestCompletion(t *testing.T) {
	offers := func(name string, args ...string) {
		t.Helper()
		if !slices.ContainsFunc(strings.Split(complete(t, args...), "\n"), func(line string) bool {
			word, _, _ := strings.Cut(line, "\t")
			return word == name
		}) {
			t.Errorf("%v does not offer %s", args, name)
		}
	}
	for _, m := range runtime.Methods() {
		offers(m.Name, "solve", "--"+m.Kind, "")
		offers(m.Name, "methods", "")
		for _, s := range m.Settings {
			offers(s.Name+"=", "solve", "--"+m.Kind, m.Name, "--option", "")
			for _, w := range s.Words {
				offers(s.Name+"="+w, "solve", "--"+m.Kind, m.Name, "--option", s.Name+"=")
			}
		}
	}
	for _, e := range diag.Codes() {
		offers(string(e.Code), "explain", string(e.Code[:1]))
	}
	offers("huber", "functions", "")
	offers("sumsq", "functions", "")
	offers("routes=", "../../examples/toll/toll.blv", "--set", "")
	offers("never", "check", "--color", "")
	offers("rows", "explain", "m.blv", "--stage", "")
	for _, method := range []string{"pgd", "izo"} {
		if strings.Contains(complete(t, "solve", "--method", method, "--option", ""), "armijo=") {
			t.Errorf("settings of goldstein are offered for %s", method)
		}
	}
}

// TestEveryFlagIsCompleted finds no flag whose value a shell would take for a file
// without being one.
func TestEveryFlagIsCompleted(t *testing.T) {
	// Files of any name, and words that nothing is known about.
	free := []string{"trace", "out", "package", "along"}
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			seen++
			_, known := cmd.GetFlagCompletionFunc(f.Name)
			if !known && f.Value.Type() != "bool" && !slices.Contains(free, f.Name) {
				t.Errorf("%s --%s (%s) has no completion", cmd.CommandPath(), f.Name, f.Value.Type())
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).rootCommand())
	if seen < 50 {
		t.Errorf("only %d flags", seen)
	}
}

// TestManual writes the manual and looks up all commands, flags, methods, settings and
// codes in it.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"man", dir}, stdio{os.Stdin, &out, &errs}); code != 0 {
		t.Fatal(errs.String())
	}
	page := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return strings.ReplaceAll(string(text), `\`, "")
	}
	has := func(text, word, where string) {
		t.Helper()
		if !strings.Contains(text, word) {
			t.Errorf("%s: no %q", where, word)
		}
	}
	root := (&app{}).rootCommand()
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() { // hidden, or help itself
			continue
		}
		text := page("bilevelc-" + cmd.Name() + ".1")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				has(text, "--"+f.Name, cmd.Name())
			}
		})
	}
	has(page("bilevelc.1"), "bilevelc-report(1)", "bilevelc.1")
	methods := page("bilevelc-methods.7")
	for _, m := range runtime.Methods() {
		has(methods, strings.ToUpper(m.Kind)+" "+m.Name, "methods")
		for _, s := range m.Settings {
			has(methods, settingLine(s), m.Name)
		}
	}
	codes := page("bilevelc-codes.7")
	for _, e := range diag.Codes() {
		has(codes, string(e.Code)+": "+e.Title, "codes")
	}
}
