package editors_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bilevelc/cmd/internal/assist"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

var update = flag.Bool("update", false, "rewrite what is made from the compiler's tables")

// Files are those of the folder editors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := os.Chdir("../../../editors"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// words are those of the language of some kinds, in order, each once.
func words(kinds ...assist.WordKind) []string {
	var out []string
	for _, w := range assist.Words() {
		if slices.Contains(kinds, w.Kind) && !slices.Contains(out, w.Name) {
			out = append(out, w.Name)
		}
	}
	return out
}

var (
	typeWords = []string{"int", "matrix", "real", "vector"}
	declaring = []string{"data", "fn", "let", "lower", "model", "param", "report", "solve", "upper", "var"}
	logical   = []string{"and", "not", "or"}
	kindWords = []string{"integer", "binary"}         // behind the type of a variable, or in its place
	ofTables  = []string{"text", "column", "columns"} // words in the declarations of data, names elsewhere
)

// control are the keywords that neither declare nor are types or logic.
func control() []string {
	return slices.DeleteFunc(words(assist.KeywordWord), func(w string) bool {
		return slices.Contains(typeWords, w) || slices.Contains(declaring, w) || slices.Contains(logical, w) || slices.Contains(kindWords, w) || w == "set" || w == "within" || slices.Contains(ofTables, w)
	})
}

func word(list []string) string { return `\b(` + strings.Join(list, "|") + `)\b` }

// textMate is the grammar of VS Code's colors.
func textMate() map[string]any {
	pattern := func(name, match string) map[string]any { return map[string]any{"name": name + ".blv", "match": match} }
	captured := func(match string, names ...string) map[string]any {
		captures := map[string]any{}
		for i, n := range names {
			captures[fmt.Sprint(i+1)] = map[string]any{"name": n + ".blv"}
		}
		return map[string]any{"match": match, "captures": captures}
	}
	return map[string]any{
		"$schema":   "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
		"comment":   "made by go test ./cmd/internal/editors -update from the compiler's tables",
		"name":      "Bilevel model",
		"scopeName": "source.blv",
		"patterns": []any{
			pattern("comment.line.double-slash", `//.*$`),
			map[string]any{"name": "string.quoted.double.blv", "begin": `"`, "end": `"|$`,
				"patterns": []any{pattern("constant.character.escape", `\\["\\]`)}},
			captured(`^\s*(set)\s+([\p{L}_][\p{L}\p{Nd}_]*)`, "storage.type", "entity.name.type"),
			captured(`\b(fn)\s+([\p{L}_][\p{L}\p{Nd}_]*)`, "storage.type", "entity.name.function"),
			captured(`\b(model)\s+([\p{L}_][\p{L}\p{Nd}_]*)`, "storage.type", "entity.name.namespace"),
			captured(`^\s*data\b[^:]*:\s*(text)\s*\[`, "support.type"),
			captured(`[\]\w]\s+(columns?)\s+["\p{L}_]`, "storage.type"),
			captured(`\b(in)\s+(`+strings.Join(words(assist.VariableSetWord), "|")+`)\b`, "keyword.control", "support.type"),
			captured(`^\s*([\p{L}_][\p{L}\p{Nd}_]*)\s*:`, "entity.name.tag"),
			pattern("storage.type", word(declaring)),
			pattern("storage.type", `\bwithin\b`),
			pattern("keyword.control", word(control())),
			pattern("keyword.operator.word", word(logical)),
			captured(`[:\]]\s*`+word(kindWords), "support.type"),
			pattern("support.type", word(typeWords)),
			captured(word(append(words(assist.FunctionWord), words(assist.GeneratorWord)...))+`\s*\(`, "support.function"),
			pattern("constant.numeric", `\b\d+(\.\d+)?([eE][+-]?\d+)?`),
			pattern("keyword.operator", `<=|>=|==|!=|\.\.|\.[*/^]|[-+*/^=~<>']`),
		},
	}
}

// highlights are the colors of editors that use tree-sitter.
func highlights() string {
	quoted := func(list []string) string { return `"` + strings.Join(list, `" "`) + `"` }
	return `; made by go test ./cmd/internal/editors -update from the compiler's tables
(comment) @comment
(string) @string
(number) @number
(time) @number
[` + quoted(append(append(slices.Clone(declaring), "set", "within", "start", "column", "columns"), control()...)) + `] @keyword
[` + quoted(logical) + `] @keyword.operator
[` + quoted(append(append(slices.Clone(typeWords), kindWords...), "text")) + `] @type.builtin
["+" "-" "*" "/" "^" ".*" "./" ".^" "<" "<=" ">" ">=" "==" "!=" "=" "~" ".." "'"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":"] @punctuation.delimiter
(identifier) @variable
(fn name: (identifier) @function)
(call function: (identifier) @function)
(comprehension function: (identifier) @function)
(variable_set name: (identifier) @type.builtin)
(generator name: (identifier) @function.builtin)
(parameter name: (identifier) @variable.parameter)
(constraint name: (identifier) @label)
(setting name: (identifier) @property)
(report_item name: (identifier) @property)
((call function: (identifier) @function.builtin)
  (#any-of? @function.builtin ` + quoted(words(assist.FunctionWord)) + `))
`
}

// What is made from the tables is what is there.
func TestGenerated(t *testing.T) {
	var grammar bytes.Buffer
	e := json.NewEncoder(&grammar)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(textMate()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"vscode/syntaxes/blv.tmLanguage.json": grammar.String(), "tree-sitter/queries/highlights.scm": highlights()} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what the tables say (%v); go test ./cmd/internal/editors -update", path, err)
		}
	}
}

// Each word gets the color of its kind, and a name the color of none, by the first
// pattern that matches where the word stands.
func TestColors(t *testing.T) {
	text, err := os.ReadFile("vscode/syntaxes/blv.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	var grammar struct {
		Patterns []struct {
			Name, Match, Begin string
			Captures           map[string]struct{ Name string }
		}
	}
	if err := json.Unmarshal(text, &grammar); err != nil {
		t.Fatal(err)
	}
	scope := func(line string, at int) string {
		best, name := len(line)+1, ""
		for _, p := range grammar.Patterns {
			m := regexp.MustCompile(p.Match + p.Begin).FindStringSubmatchIndex(line)
			if m == nil || m[0] >= best || at < m[0] || at >= m[1] {
				continue
			}
			best, name = m[0], p.Name
			for group, c := range p.Captures {
				if k := 2 * int(group[0]-'0'); m[k] <= at && at < m[k+1] {
					name = c.Name
				}
			}
		}
		return name
	}
	check := func(line, marked, want string) {
		t.Helper()
		if got := scope(line, strings.Index(line, marked)); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: %s is %q, want %q", line, marked, got, want)
		}
	}
	for _, k := range parser.Keywords() {
		kind := "keyword"
		switch {
		case slices.Contains(typeWords, k):
			kind = "support.type"
		case slices.Contains(declaring, k):
			kind = "storage.type"
		}
		check(k+" ", k, kind)
		check(k+"x ", k, "")
	}
	for _, f := range words(assist.FunctionWord) {
		check("1 + "+f+"(x)", f, "support.function")
		check("1 + "+f+"_(x)", f, "")
	}
	for _, s := range words(assist.VariableSetWord) {
		check("var x: real in "+s, s, "support.type")
	}
	for _, g := range words(assist.GeneratorWord) {
		check("data c: vector[2] ~ "+g+"(0, 1)", g, "support.function")
	}
	for _, k := range kindWords {
		check("  var on: [city] "+k, k, "support.type")
		check("  var on: "+k+" in box(0, 3)", k, "support.type")
		check("x["+k+"]", k, "")
	}
	check("set city = {}", "city", "entity.name.type")
	check("data X: [row, k] columns x1..x8", "columns", "storage.type")
	check("  minimize columns + text[1]", "columns", "")
	check("  minimize columns + text[1]", "text", "")
	check("  cap: x <= 1", "cap", "entity.name.tag")
	check(`x["a // b"]`, `"a`, "string")
	check("x // sum", "// sum", "comment")
}

// Each snippet, with the texts that it proposes, is a piece of a model.
func TestSnippets(t *testing.T) {
	text, err := os.ReadFile("vscode/snippets/blv.json")
	if err != nil {
		t.Fatal(err)
	}
	var snippets map[string]struct {
		Prefix string
		Body   any
	}
	if err := json.Unmarshal(text, &snippets); err != nil {
		t.Fatal(err)
	}
	choice, stop := regexp.MustCompile(`\$\{\d+\|([^,|]*)[^}]*\}`), regexp.MustCompile(`\$\{\d+:([^}]*)\}`)
	for name, s := range snippets {
		body, ok := s.Body.(string)
		if lines, many := s.Body.([]any); many {
			for _, l := range lines {
				body += fmt.Sprintln(l)
			}
		} else if !ok {
			t.Errorf("%s has no body", name)
		}
		body = stop.ReplaceAllString(choice.ReplaceAllString(body, "$1"), "$1")
		if strings.Contains(body, "$") {
			t.Errorf("%s: %s", name, body)
		}
		if name == "model" {
			if d := assist.Read("m.blv", body); len(d.Diagnostics) > 0 {
				t.Errorf("%s: %v", name, d.Diagnostics)
			}
			continue
		}
		if name == "family" {
			body = "subject to\n" + body
		}
		if input, diags := parser.ParseREPL(diag.NewSource(name, body)); diags.HasErrors() || input.Incomplete {
			t.Errorf("%s: %v\n%s", name, diags, body)
		}
	}
}

// The extension names files that are there, and is packaged by its own tool where
// that is installed.
func TestExtension(t *testing.T) {
	text, err := os.ReadFile("vscode/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var extension struct {
		Main        string
		Contributes struct {
			Languages []struct{ Configuration string }
			Grammars  []struct{ Path string }
			Snippets  []struct{ Path string }
		}
	}
	if err := json.Unmarshal(text, &extension); err != nil {
		t.Fatal(err)
	}
	c := extension.Contributes
	for _, path := range []string{extension.Main, c.Languages[0].Configuration, c.Grammars[0].Path, c.Snippets[0].Path} {
		if _, err := os.Stat(filepath.Join("vscode", path)); err != nil {
			t.Error(err)
		}
	}
	vsce, err := exec.LookPath("vsce")
	if err != nil {
		t.Skip("vsce is not installed")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("vscode")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(vsce, "package", "--skip-license", "--allow-missing-repository", "--no-dependencies", "--out", "blv.vsix")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// tree-sitter reads what the compiler reads: every model of the project and every
// example of the language's reference, and its corpus.
func TestTreeSitter(t *testing.T) {
	program, err := exec.LookPath("tree-sitter")
	if err != nil {
		t.Skip("tree-sitter is not installed")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("tree-sitter")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "TREE_SITTER_LIBDIR="+dir)
		return cmd.CombinedOutput()
	}
	if out, err := run("generate"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run("test"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	var good []string
	for _, pattern := range []string{"../examples/*/*.blv", "../testdata/models/*.blv", "../testdata/models/*/*.blv"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			abs, err := filepath.Abs(p)
			if err != nil {
				t.Fatal(err)
			}
			good = append(good, abs)
		}
	}
	reference, err := os.ReadFile("../lang/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range regexp.MustCompile("(?s)```blv\n(.*?)```").FindAllSubmatch(reference, -1) {
		path := filepath.Join(dir, fmt.Sprintf("spec%d.blv", i))
		if err := os.WriteFile(path, block[1], 0o600); err != nil {
			t.Fatal(err)
		}
		good = append(good, path)
	}
	if len(good) < 50 {
		t.Fatalf("only %d models found", len(good))
	}
	if out, err := run(append([]string{"parse", "--quiet"}, good...)...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for i, bad := range []string{"model m\nlet a = 1\n + 2\n", "let a = (1\nlet b = 2\n", "upper { var x }", "lower f[i in] { }"} {
		path := filepath.Join(dir, fmt.Sprintf("bad%d.blv", i))
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := run("parse", "--quiet", path); err == nil {
			t.Errorf("%q is parsed", bad)
		}
	}
	if out, err := run("query", "queries/highlights.scm", good[0]); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run("query", "queries/locals.scm", good[0]); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
