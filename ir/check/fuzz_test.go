package check_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bilevelc/ir/check"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// FuzzCheck feeds the checker whatever the parser makes of a text, broken
// trees included. It must not panic, every diagnostic must have a code that is
// documented and a place inside its source, and a second run must say the
// same.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"../../testdata/models/*.blv", "../../testdata/models/bolib/*.blv", "testdata/*.blv"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	for _, e := range diag.Codes() {
		if e.Stage <= diag.CheckStage && len(e.Example) < 2000 {
			f.Add(e.Example)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if fuzzing := flag.Lookup("test.fuzz"); fuzzing != nil && fuzzing.Value.String() != "" {
			// Texts of the fuzzer take milliseconds; what takes this long hangs, and is kept.
			watchdog := time.AfterFunc(20*time.Second, func() { panic("hangs: " + text) })
			defer watchdog.Stop()
		}
		file, _ := parser.ParseFile(diag.NewSource("fuzz.blv", text))
		_, diags := check.Check(file)
		for _, d := range diags {
			if _, ok := diag.Lookup(d.Code); !ok {
				t.Errorf("%v: unknown code", d)
			}
			if s := d.Subject; s.Source == nil || s.Start < 0 || s.End < s.Start || s.End > len(s.Source.Text) {
				t.Errorf("%s: no place: %+v", d.Code, s)
			}
		}
		_, again := check.Check(file)
		if again.Error() != diags.Error() {
			t.Errorf("two runs differ:\n%v\n%v", diags, again)
		}
		check.Partial(file)
	})
}
