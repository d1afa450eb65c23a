package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipe is a code block of CONTRIBUTING.md: quoted from a file ("in"), a new file
// ("new"), or to be put behind a line of a file ("after"), and the test, if any, that it
// is there to pass.
var recipe = regexp.MustCompile("(?m)^<!-- (in|new|after) ([^ ;:]+?)(?:: (.+?))?(?:; go test (.+?))? -->\n```[a-z]*\n((?s:.*?))^```$")

// TestContributing holds CONTRIBUTING.md to the project: what it quotes is there, and
// what it adds passes the project's tests.
func TestContributing(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	text := read("CONTRIBUTING.md")
	blocks := recipe.FindAllStringSubmatch(text, -1)
	if marked := strings.Count(text, "<!-- "); len(blocks) != marked || marked == 0 {
		t.Fatalf("%d blocks are marked, %d can be read", marked, len(blocks))
	}
	changed, used := map[string]string{}, map[string]bool{} // path to text; those that a test is of
	tests := map[string]bool{}
	for _, b := range blocks {
		how, path, line, test, code := b[1], b[2], b[3], b[4], b[5]
		switch how {
		case "in":
			if !strings.Contains(unindented(read(path)), unindented(code)) {
				t.Errorf("%s does not hold\n%s", path, code)
			}
		case "new":
			if _, err := os.Stat(filepath.Join(root, path)); err == nil {
				t.Errorf("%s is there already", path)
			}
			changed[path] = code
		case "after":
			before, rest, found := strings.Cut(read(path), line)
			own, rest, ended := strings.Cut(rest, "\n")
			if !found || !ended {
				t.Fatalf("%s has no line with %s", path, line)
			}
			changed[path] = before + line + own + "\n" + code + rest
		}
		if test != "" {
			tests[test] = true
		}
	}
	if len(tests) < 3 {
		t.Fatalf("only %d tests are named", len(tests))
	}
	for test := range tests {
		// What is added to other packages would have all that depends on them compiled again.
		of, _, _ := strings.Cut(strings.TrimPrefix(test, "./"), " ")
		dir, replace := t.TempDir(), map[string]string{}
		for path, text := range changed {
			if filepath.Dir(path) != of {
				continue
			}
			at := filepath.Join(dir, filepath.Base(path))
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			replace[filepath.Join(root, path)] = at
			used[path] = true
		}
		list, err := json.Marshal(map[string]any{"Replace": replace})
		if err != nil {
			t.Fatal(err)
		}
		overlay := filepath.Join(dir, "overlay.json")
		if err := os.WriteFile(overlay, list, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", append([]string{"test", "-v", "-vet=off", "-ldflags=-w", "-overlay", overlay}, strings.Fields(test)...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("go test %s: %v\n%s", test, err, out)
		}
	}
	for path := range changed {
		if !used[path] {
			t.Errorf("no test is of what is added to %s", path)
		}
	}
}

// unindented is a text without the blanks that lines begin with.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " \t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
