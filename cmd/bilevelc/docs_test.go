package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update-docs", false, "write what the commands print into the pages of docs/")

// fence is a code block of a page of docs/, with the comment, if any, on the line
// before it:
//
//	<!-- file parking.blv -->   the block is this file in the reader's folder
//	<!-- run main.go -->        a Go program; the block after it is what it prints
//	<!-- exit 3 -->             the commands end with this exit code
//	<!-- not run: why -->       not for a test, and why
//	<!-- repl -->               lines typed at the prompt, and what it answers
//
// In a console block, lines that begin with "$ " are commands, run in the
// reader's folder; what follows is what they print, where a line "..." stands
// for any number of lines.
var fence = regexp.MustCompile("(?ms)^(?:<!-- ([^\n]*?) -->\n)?```([a-z]*)\n(.*?)^```$")

// TestDocs holds the pages of docs/ to the program: the files that they show are
// written to an empty folder, page by page, their commands run there, and what they
// print is what the page shows.
func TestDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command of the documentation")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 5 {
		t.Fatalf("only %d pages found", len(pages))
	}
	for _, path := range pages {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if filepath.Base(path) == "sweeps.md" {
				withQueue(t)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			if err := os.Symlink(filepath.Join(root, "examples"), "examples"); err != nil {
				t.Skip(err) // a system without links
			}
			page := readPage(t, root, string(text))
			if *updateDocs && page != string(text) {
				if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// readPage does what a page says, in the working directory, and returns the page
// with what the commands print.
func readPage(t *testing.T, root, text string) string {
	var page strings.Builder
	end, program := 0, ""
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		note, language, block := "", text[at[4]:at[5]], text[at[6]:at[7]]
		if at[2] >= 0 {
			note = text[at[2]:at[3]]
		}
		page.WriteString(text[end:at[6]])
		end = at[7]
		what, rest, _ := strings.Cut(note, " ")
		switch {
		case what == "file":
			if err := os.MkdirAll(filepath.Dir(rest), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(rest, []byte(block), 0o644); err != nil {
				t.Fatal(err)
			}
		case what == "run":
			program = rest
			if err := os.WriteFile(rest, []byte(block), 0o644); err != nil {
				t.Fatal(err)
			}
		case language == "text" && program != "":
			if difference := compare(goRun(t, root, program), block); difference != "" {
				t.Errorf("%s: %s", program, difference)
			}
			program = ""
		case what == "not":
		case what == "repl":
			block = prompt(t, block)
		case language == "console":
			code := 0
			if what == "exit" {
				var err error
				if code, err = strconv.Atoi(rest); err != nil {
					t.Fatalf("exit %q", rest)
				}
			}
			block = console(t, block, code)
		case language == "sh" || language == "go" || language == "blv" || language == "python":
			t.Errorf("a block of %s that no test reads: say which file it is, or why it is not run:\n%s", language, block)
		}
		page.WriteString(block)
	}
	if program != "" {
		t.Errorf("%s: the page does not show what it prints", program)
	}
	return page.String() + text[end:]
}

// console runs the commands of a block and compares what they print.
func console(t *testing.T, block string, code int) string {
	var printed strings.Builder
	for k, part := range strings.Split("\n"+block, "\n$ ") {
		if k == 0 {
			continue
		}
		command, shown, _ := strings.Cut(strings.TrimSuffix(part, "\n")+"\n", "\n")
		out, got := execute(t, command)
		if got != code {
			t.Errorf("%s: exit code %d, want %d:\n%s", command, got, code, out)
		}
		fmt.Fprintf(&printed, "$ %s\n", command)
		if difference := compare(out, shown); difference != "" {
			if !*updateDocs {
				t.Errorf("%s: %s", command, difference)
			}
			shown = out
		}
		printed.WriteString(shown)
	}
	return printed.String()
}

// execute runs one command line: bilevelc's in this process, others in a shell.
func execute(t *testing.T, command string) (string, int) {
	words := strings.Fields(command)
	if words[0] != "bilevelc" || strings.ContainsAny(command, "|>&") {
		c := exec.Command("bash", "-c", command)
		out, err := c.CombinedOutput()
		if err != nil && c.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	var args []string
	for _, word := range words[1:] {
		args = append(args, strings.Trim(word, `'"`))
	}
	var out, errs bytes.Buffer
	code := run(context.Background(), args, stdio{strings.NewReader(""), &out, &errs})
	if out.Len() == 0 || code != 0 {
		return out.String() + errs.String(), code
	}
	return out.String(), code
}

// goRun runs a program of the working directory as one of the project's.
func goRun(t *testing.T, root, file string) string {
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "run", "-ldflags=-s -w", path)
	c.Dir = root
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return string(out)
}

// prompt types the lines of a block that begin with "> " and compares the answers.
func prompt(t *testing.T, block string) string {
	var typed []string
	for _, line := range strings.Split(block, "\n") {
		if entered, ok := strings.CutPrefix(line, "> "); ok {
			typed = append(typed, entered)
		}
	}
	var out, errs bytes.Buffer
	run(context.Background(), []string{"repl"}, stdio{strings.NewReader(strings.Join(typed, "\n") + "\n"), &out, &errs})
	var shown []string
	for _, line := range strings.Split(block, "\n") {
		if !strings.HasPrefix(line, "> ") {
			shown = append(shown, line)
		}
	}
	if difference := compare(out.String()+errs.String(), strings.Join(shown, "\n")); difference != "" {
		t.Errorf("the prompt: %s", difference)
	}
	return block
}

// compare says where what was printed is not what is shown.
func compare(printed, shown string) string {
	want := lines(shown)
	got := lines(printed)
	skip := false
	for len(want) > 0 {
		if want[0] == "..." {
			skip, want = true, want[1:]
			continue
		}
		for skip && len(got) > 0 && !sameLine(got[0], want[0]) {
			got = got[1:]
		}
		if len(got) == 0 || !sameLine(got[0], want[0]) {
			return fmt.Sprintf("the page shows %q, the command prints\n%s", want[0], printed)
		}
		want, got, skip = want[1:], got[1:], false
	}
	if len(got) > 0 && !skip {
		return fmt.Sprintf("the page ends before %q; the command prints\n%s", got[0], printed)
	}
	return ""
}
