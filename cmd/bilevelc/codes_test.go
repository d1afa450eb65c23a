package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/status"
)

// TestCodesDecideExits solves the example of every code, with its data: where
// an error of the code is reported, the code's class decides the exit code.
func TestCodesDecideExits(t *testing.T) {
	exits := map[int]bool{}
	for _, entry := range diag.Codes() {
		if entry.Stage == diag.SessionStage {
			continue
		}
		dir := t.TempDir()
		model := filepath.Join(dir, "model.blv")
		if entry.Code == diag.DataMPS {
			model = filepath.Join(dir, "model.mps")
		}
		write(t, model, entry.Example)
		args := []string{"solve", model, "--quiet"}
		switch {
		case entry.DataFile == "--set":
			args = append(args, "--set", strings.TrimSpace(entry.Data))
		case entry.Code == diag.DataMPS:
			write(t, filepath.Join(dir, entry.DataFile), entry.Data)
		case entry.Code == diag.DataUnreadable:
			args = append(args, "--data", filepath.Join(dir, entry.DataFile))
		case entry.DataFile != "":
			write(t, filepath.Join(dir, entry.DataFile), entry.Data)
			args = append(args, "--data", filepath.Join(dir, entry.DataFile))
		}
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), args, stdio{strings.NewReader(""), &stdout, &stderr})
		if !strings.Contains(stderr.String()+stdout.String(), "error["+string(entry.Code)+"]") {
			continue // a warning, or the reason of a run's end
		}
		exits[code] = true
		if want := status.OfClass(entry.Class); code != want {
			t.Errorf("%s (%s) ends with %d, want %d\n%s", entry.Code, entry.Class, code, want, stderr.String())
		}
	}
	for _, code := range []int{3, 4, 10, 11, 14} {
		if !exits[code] {
			t.Errorf("no example ends with %d", code)
		}
	}
}

// A file that cannot be read has one exit code in every command: 2 where the command works on
// it, 4 where it holds data or a point.
func TestUnreadableFilesHaveOneExit(t *testing.T) {
	const model, gone = "../../examples/shop/shop.blv", "gone"
	for _, c := range []struct {
		code int
		args []string
	}{
		{2, []string{"solve", gone}}, {2, []string{"check", gone}}, {2, []string{"eval", gone, "--at", model}}, {2, []string{"fmt", gone}},
		{2, []string{"explain", gone}}, {2, []string{"build", gone, "-o", t.TempDir()}}, {2, []string{"export", gone, "--to", "mps"}},
		{2, []string{"sweep", gone, "--over", "seed=1..2"}}, {2, []string{"sweep", gone + ".toml"}}, {2, []string{"sweep", "status", gone}},
		{2, []string{"verify", gone}}, {2, []string{"report", gone}}, {2, []string{"solve", model, "--resume", gone}},
		{4, []string{"solve", model, "--data", gone}}, {4, []string{"sweep", model, "--data", gone, "--over", "seed=1..2"}},
		{4, []string{"sweep", model, "--over", "data=" + gone}}, {4, []string{"check", model, "--data", gone}},
		{4, []string{"solve", model, "--start", gone}}, {4, []string{"eval", model, "--at", gone}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), c.args, stdio{strings.NewReader(""), &stdout, &stderr}); code != c.code {
			t.Errorf("%v ends with %d, not %d\n%s", c.args, code, c.code, stderr.String())
		}
	}
}

// A file that is to be written into a folder that there is not is refused before any work, whichever flag names it.
func TestUnwritableFilesAreRefusedAtOnce(t *testing.T) {
	const model = "../../examples/shop/shop.blv"
	for _, flag := range []string{"--checkpoint", "--trace", "--proof", "--report", "--csv"} {
		var stdout, stderr bytes.Buffer
		args := []string{"solve", model, flag, filepath.Join(t.TempDir(), "gone", "file")}
		if code := run(context.Background(), args, stdio{strings.NewReader(""), &stdout, &stderr}); code != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "there is no folder") {
			t.Errorf("%v ends with %d\n%s%s", args, code, stdout.String(), stderr.String())
		}
	}
}

// Bounds, or equations of the follower, that contradict each other are found before the run. They are a status as if a solve had found them, with a document.
func TestEmptySetsAreResults(t *testing.T) {
	dir := t.TempDir()
	model, point := filepath.Join(dir, "empty.blv"), filepath.Join(dir, "point.json")
	apart := filepath.Join(dir, "apart.blv")
	write(t, apart, "model apart\nupper {\n  var x: real in box(0, 1)\n  minimize y\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n  subject to\n    y == 1\n    y == 2\n}\n")
	write(t, model, "model empty\nupper {\n  var x: real in box(0, 1)\n  minimize y\n  subject to\n    x >= 0.8\n    x <= 0.5\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n")
	write(t, point, `{"x": 0.5}`)
	for _, args := range [][]string{{"solve", model}, {"eval", model, "--at", point}, {"solve", apart}} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), append(args, "--json"), stdio{strings.NewReader(""), &stdout, &stderr})
		r, err := runtime.ReadResult(stdout.Bytes())
		if code != 10 || err != nil || r.Status != runtime.Infeasible || !strings.Contains(stderr.String(), "error[E0") || !strings.Contains(stderr.String(), r.Reason) {
			t.Errorf("%v ends with %d, %v\n%s%s", args, code, err, stdout.String(), stderr.String())
		}
	}
}

// What a user is likely to write in the place of a code or a point is understood, or answered with what to write.
func TestCodesAndPointsAsTheyAreWritten(t *testing.T) {
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{0, "E0301: ", []string{"explain", "e301"}}, {0, "E0301: ", []string{"explain", "301"}}, {2, "there is no code E0012", []string{"explain", "E12"}},
		{2, `echo '{"price": [1, 1, 1]}' | bilevelc ... -`, []string{"eval", "../../examples/shop/shop.blv", "--at", `{"price": [1, 1, 1]}`}},
	} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), c.args, stdio{strings.NewReader(""), &stdout, &stderr})
		if all := stdout.String() + stderr.String(); code != c.code || !strings.Contains(all, c.want) {
			t.Errorf("%v ends with %d\n%s", c.args, code, all)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
