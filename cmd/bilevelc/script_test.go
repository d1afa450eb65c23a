package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bilevelc": main,
	})
}

// TestScripts runs the command line as a user does: testdata/script/*.txtar.
// The models of testdata/models are in $MODELS, the examples in $EXAMPLES.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("MODELS", filepath.Join(root, "testdata", "models"))
			env.Setenv("EXAMPLES", filepath.Join(root, "examples"))
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": exitcode,
		},
	})
}

// exitcode CODE ARGS... runs bilevelc and checks its exit code; what it wrote is in
// the files stdout.txt and stderr.txt.
func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE ARG...")
	}
	dir := ts.MkAbs(".")
	out, err := os.Create(filepath.Join(dir, "stdout.txt"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(filepath.Join(dir, "stderr.txt"))
	ts.Check(err)
	defer errs.Close()
	in, err := os.Open(os.DevNull)
	ts.Check(err)
	defer in.Close()
	expanded := make([]string, len(args)-1)
	for i, a := range args[1:] {
		expanded[i] = a
		if filepath.Ext(a) != "" && !filepath.IsAbs(a) {
			if _, err := os.Stat(ts.MkAbs(a)); err == nil {
				expanded[i] = ts.MkAbs(a)
			}
		}
	}
	code := run(context.Background(), expanded, stdio{in, out, errs})
	if want := args[0]; want != strconv.Itoa(code) {
		text, _ := os.ReadFile(filepath.Join(dir, "stderr.txt"))
		ts.Fatalf("exit code %d, want %s\n%s", code, want, text)
	}
}
