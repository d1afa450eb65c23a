package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime"
	"bilevelc/runtime/session"
)

// consequences are the codes that the examples of some codes cannot be
// without: many syntax errors are 50 of another code, and hide the levels.
var consequences = map[diag.Code][]diag.Code{"E0116": {"E0101", "E0402"}}

// TestCodes takes the example of every code through the public pipeline, as a
// user would: it must end with exactly that code, error or warning.
func TestCodes(t *testing.T) {
	for _, entry := range diag.Codes() {
		t.Run(string(entry.Code), func(t *testing.T) {
			found, err := pipeline(entry)
			if err != nil {
				t.Fatal(err)
			}
			at := -1 // of its own code
			for i, d := range found {
				switch {
				case d.Code == entry.Code:
					at = i
				case !slices.Contains(consequences[entry.Code], d.Code):
					t.Errorf("its example also gives %v", d)
				}
			}
			if at < 0 {
				t.Fatal("its example does not give it")
			}
			d := found[at]
			if d.Summary == "" || strings.Contains(d.Summary+d.Detail+d.Fix, "%!") {
				t.Errorf("badly made: %+v", d)
			}
			if d.Subject.IsZero() && entry.Stage != diag.DataStage {
				t.Errorf("no place: %v", d)
			}
		})
	}
}

// pipeline takes an example as far as its stage.
func pipeline(entry diag.Entry) (diag.List, error) {
	if entry.Stage == diag.SessionStage {
		return enter(entry.Example)
	}
	if entry.Code == diag.DataMPS {
		_, err := runtime.CompileMPS(context.Background(), "model.mps", entry.Example, entry.DataFile, entry.Data)
		return listOf(err)
	}
	_, unread := parser.ParseFile(diag.NewSource("example.blv", entry.Example))
	if (len(unread) > 0) != (entry.Stage == diag.SyntaxStage) {
		return nil, fmt.Errorf("the parser reports %v", unread)
	}
	set := &data.Set{}
	if entry.Stage == diag.DataStage || entry.DataFile != "" {
		var list diag.List
		switch entry.Code {
		case diag.DataUnreadable:
			_, list = datafile.Load(entry.DataFile, nil)
		case diag.DataSpec:
			_, list = datafile.ParseSet(strings.TrimSpace(entry.Data))
		default:
			set, list = datafile.Read(datafile.Auto, entry.DataFile, entry.Data, "")
		}
		if entry.Stage == diag.DataStage || len(list) > 0 {
			return list, nil
		}
	}
	model, err := runtime.Compile(string(entry.Code)+".blv", entry.Example)
	if err != nil {
		return listOf(err)
	}
	if entry.Stage > diag.CheckStage && len(model.Warnings) > 0 {
		return nil, fmt.Errorf("the checker reports %v", model.Warnings)
	}
	if entry.Stage == diag.ProofStage { // what is a warning by default is an error where all must be proved
		if _, err := model.BindSet(set, runtime.BindOptions{Seed: 1, Strict: true}); err == nil {
			return nil, errors.New("no error where all must be proved")
		}
	}
	problem, err := model.BindSet(set, runtime.BindOptions{Seed: 1})
	if err != nil {
		return listOf(err)
	}
	found := append(append(diag.List(nil), model.Warnings...), problem.Warnings...)
	if entry.Stage != diag.RunStage {
		return found, nil
	}
	if entry.Code == diag.RunExport {
		return listOf(problem.Export(io.Discard, "mps"))
	}
	result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil {
		return listOf(err)
	}
	return append(errorsOf(found), result.Diagnostics...), nil
}

// enter types an example into a session, a line at a time.
func enter(example string) (diag.List, error) {
	session := &session.Session{}
	for line := range strings.Lines(example) {
		if _, err := session.Enter("input", line); err != nil {
			return listOf(err)
		}
	}
	return nil, nil
}

func listOf(err error) (diag.List, error) {
	var list diag.List
	if errors.As(err, &list) {
		return list, nil
	}
	return nil, err
}

// refusal is what a model that compiled with err is refused for when it is bound: the
// diagnostics, what they say, and an error that is none.
func refusal(m *runtime.Model, err error) (list diag.List, said string, other error) {
	if err == nil {
		_, err = m.Bind(nil, runtime.BindOptions{})
	}
	list, other = listOf(err)
	for _, d := range list {
		said += d.Detail + d.Summary + d.Fix
	}
	return list, said, other
}

// errorsOf leaves warnings out: a model that fails in a run may well have been
// warned about.
func errorsOf(list diag.List) (out diag.List) {
	for _, d := range list {
		if d.Severity == diag.Error {
			out = append(out, d)
		}
	}
	return out
}

var fence = regexp.MustCompile("(?ms)^```blv(-error (E\\d+))?\n(.*?)^```$")

// TestSpec solves every model of the language's reference; those marked as
// errors end with the code that the reference gives.
func TestSpec(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../lang/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := fence.FindAllStringSubmatch(string(text), -1)
	if len(examples) < 10 {
		t.Fatalf("only %d examples found", len(examples))
	}
	for _, m := range examples {
		code, example := m[2], m[3]
		name := strings.TrimSpace(strings.TrimPrefix(firstCode(example), "model"))
		t.Run(name, func(t *testing.T) {
			model, err := runtime.Compile("spec.md", example)
			if code != "" {
				var problem *runtime.Problem
				if err == nil {
					problem, err = model.Bind(nil, runtime.BindOptions{Seed: 1})
				}
				if err == nil {
					_, err = problem.Solve(context.Background(), runtime.Options{Seed: 1})
				}
				list, other := listOf(err)
				if other != nil || len(list) != 1 || string(list[0].Code) != code {
					t.Errorf("%v; expected %s alone", err, code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			problem, err := model.Bind(nil, runtime.BindOptions{Seed: 1, Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if result.Status != runtime.Solved {
				t.Fatalf("%v: %s", result.Status, result.Reason)
			}
			report, err := problem.Verify(result)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Checks {
				if !c.OK {
					t.Errorf("verify: %+v", c)
				}
			}
		})
	}
}

// firstCode is the first line that is neither blank nor a comment.
func firstCode(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			return line
		}
	}
	return ""
}
