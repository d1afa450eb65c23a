package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bilevelc/lang/diag"
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

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
