package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/sourcegraph/jsonrpc2"
)

// client is an editor that talks to a server process. It keeps its text in UTF-16,
// as the protocol counts, apart from the server's own arithmetic.
type client struct {
	t       *testing.T
	conn    *jsonrpc2.Conn
	process *exec.Cmd
	notes   chan *jsonrpc2.Request
	uri     string
	version int
	units   []uint16
}

type lspPosition struct{ Line, Character int }
type lspRange struct{ Start, End lspPosition }
type lspEdit struct {
	Range   lspRange
	NewText string
}
type lspDiagnostic struct {
	Range    lspRange
	Severity int
	Code     string
	Message  string
}

func startServer(t *testing.T, options any) *client {
	t.Helper()
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, process: exec.Command(program, "lsp"), notes: make(chan *jsonrpc2.Request, 10000)}
	in, err := c.process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.process.Stderr = os.Stderr
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	stream := jsonrpc2.NewBufferedStream(struct {
		io.Reader
		io.WriteCloser
	}{out, in}, jsonrpc2.VSCodeObjectCodec{})
	c.conn = jsonrpc2.NewConn(context.Background(), stream, jsonrpc2.HandlerWithError(
		func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
			if req.Method == "window/logMessage" {
				t.Errorf("the server says: %s", *req.Params)
			}
			c.notes <- req
			return nil, nil
		}), jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	var answer struct {
		Capabilities map[string]any
	}
	c.call("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{}, "initializationOptions": options}, &answer)
	if answer.Capabilities["hoverProvider"] != true {
		t.Fatalf("capabilities %v", answer.Capabilities)
	}
	c.notify("initialized", map[string]any{})
	return c
}

// leave ends the session; the server's exit code is 0.
func (c *client) leave() {
	c.t.Helper()
	c.call("shutdown", nil, nil)
	c.notify("exit", nil)
	if err := c.process.Wait(); err != nil {
		c.t.Errorf("the server ends with %v", err)
	}
}

func (c *client) call(method string, params, result any) {
	c.t.Helper()
	if err := c.conn.Call(context.Background(), method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	if err := c.conn.Notify(context.Background(), method, params); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

func (c *client) open(path, text string) {
	c.uri, c.version, c.units = "file://"+filepath.ToSlash(path), 1, utf16.Encode([]rune(text))
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": c.uri, "languageId": "blv", "version": 1, "text": text}})
}

func (c *client) text() string { return string(utf16.Decode(c.units)) }

// at is the position of an index of the client's text; lines end with \n here.
func (c *client) at(index int) lspPosition {
	p := lspPosition{}
	for _, u := range c.units[:index] {
		if p.Character++; u == '\n' {
			p = lspPosition{Line: p.Line + 1}
		}
	}
	return p
}

// index is that of a position, which must be one of the text.
func (c *client) index(p lspPosition) int {
	c.t.Helper()
	line, start := 0, 0
	for i := 0; i <= len(c.units); i++ {
		if i == len(c.units) || c.units[i] == '\n' {
			if line == p.Line {
				if start+p.Character > i || p.Character < 0 {
					break
				}
				at := start + p.Character
				if at > 0 && at < len(c.units) && utf16.IsSurrogate(rune(c.units[at])) && c.units[at] >= 0xdc00 {
					c.t.Fatalf("position %v is inside a character", p)
				}
				return at
			}
			line, start = line+1, i+1
		}
	}
	c.t.Fatalf("position %v is not one of the text of %d lines", p, line)
	return 0
}

func (c *client) in(r lspRange) string {
	c.t.Helper()
	a, b := c.index(r.Start), c.index(r.End)
	if a > b {
		c.t.Fatalf("range %v runs backwards", r)
	}
	return string(utf16.Decode(c.units[a:b]))
}

// change replaces a piece of the text, here and there.
func (c *client) change(from, to int, with string) {
	c.version++
	r := lspRange{c.at(from), c.at(to)}
	c.units = slices.Concat(c.units[:from], utf16.Encode([]rune(with)), c.units[to:])
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": c.uri, "version": c.version},
		"contentChanges": []any{map[string]any{"range": lower(r), "text": with}}})
}

// replace changes the first place where a text stands.
func (c *client) replace(old, new string) {
	c.t.Helper()
	i := strings.Index(c.text(), old)
	if i < 0 {
		c.t.Fatalf("no %q in the text", old)
	}
	from := len(utf16.Encode([]rune(c.text()[:i])))
	c.change(from, from+len(utf16.Encode([]rune(old))), new)
}

func lower(r lspRange) map[string]any {
	p := func(p lspPosition) map[string]int { return map[string]int{"line": p.Line, "character": p.Character} }
	return map[string]any{"start": p(r.Start), "end": p(r.End)}
}

// where is the parameter of a question about the place of a mark, which stands in
// the text behind it; the mark is left out of what is looked for.
func (c *client) where(marked string) map[string]any {
	c.t.Helper()
	plain := strings.Replace(marked, "¦", "", 1)
	i := strings.Index(c.text(), plain)
	if i < 0 {
		c.t.Fatalf("no %q in the text", plain)
	}
	return c.params(len(utf16.Encode([]rune(c.text()[:i+strings.Index(marked, "¦")]))))
}

func (c *client) params(index int) map[string]any {
	p := c.at(index)
	return map[string]any{"textDocument": map[string]any{"uri": c.uri}, "position": map[string]int{"line": p.Line, "character": p.Character},
		"context": map[string]any{"includeDeclaration": true}}
}

// diagnostics waits for those of the current version, without (first) or with what
// the data add, which come as a second message where there are some.
func (c *client) diagnostics() []lspDiagnostic {
	c.t.Helper()
	for req := range c.notes {
		var p struct {
			URI         string
			Version     int
			Diagnostics []lspDiagnostic
		}
		if req.Method != "textDocument/publishDiagnostics" {
			continue
		}
		if err := json.Unmarshal(*req.Params, &p); err != nil {
			c.t.Fatal(err)
		}
		if p.URI == c.uri && p.Version == c.version {
			return p.Diagnostics
		}
	}
	return nil
}

const lspModel = `// Ein Händler 🛒 verkauft
model händler
set stadt = {"Köln", "Łódź", "東京"}
data müh: [stadt] = [1, 2, 3] // 😀 costs of a sale
fn halb(z) = z / 2 // half of it
upper {
  var preis: [stadt] in box(0, 9)
  maximize preis' * menge + müh["Köln"]
}
lower {
  var menge: [stadt] in nonneg
  minimize sumsq(menge) + halb(preis' * menge) - sum(müh .* menge)
  subject to
    kapazität: sum(menge) <= 4; /* 😀 */ 1 <= sum(menge)
}
`

// A session as an editor has it, with names and comments beyond ASCII.
func TestLSPSession(t *testing.T) {
	c := startServer(t, nil)
	c.open(filepath.Join(t.TempDir(), "händler.blv"), strings.Replace(lspModel, "; /* 😀 */ 1 <= sum(menge)", "", 1))
	if d := c.diagnostics(); len(d) != 0 {
		t.Fatalf("diagnostics of a good model: %v", d)
	}
	var hover struct {
		Contents struct{ Value string }
		Range    lspRange
	}
	c.call("textDocument/hover", c.where(`+ m¦üh["Köln"]`), &hover)
	if got := c.in(hover.Range); got != "müh" {
		t.Errorf("hover is about %q", got)
	}
	for _, want := range []string{"data müh: [stadt] = [1, 2, 3]", "vector[stadt]", "😀 costs of a sale", "müh = [1, 2, 3]"} {
		if !strings.Contains(hover.Contents.Value, want) {
			t.Errorf("hover lacks %q:\n%s", want, hover.Contents.Value)
		}
	}
	c.call("textDocument/hover", c.where("minimize sum¦sq"), &hover)
	if !strings.Contains(hover.Contents.Value, "sum of the squares") {
		t.Errorf("hover of sumsq: %s", hover.Contents.Value)
	}
	var place struct{ Range lspRange }
	c.call("textDocument/definition", c.where("halb(pre¦is'"), &place)
	if got := c.in(place.Range); got != "preis" || place.Range.Start.Line != 6 {
		t.Errorf("definition %q at %v", got, place.Range)
	}
	var places []struct{ Range lspRange }
	c.call("textDocument/references", c.where("var men¦ge"), &places)
	if len(places) != 6 {
		t.Errorf("%d references", len(places))
	}
	for _, p := range places {
		if c.in(p.Range) != "menge" {
			t.Errorf("a reference is %q", c.in(p.Range))
		}
	}
	// Rename to a name beyond the basic plane's letters, and see that the text is well.
	p := c.where("var men¦ge")
	p["newName"] = "数量"
	var edit struct{ Changes map[string][]lspEdit }
	c.call("textDocument/rename", p, &edit)
	c.apply(edit.Changes[c.uri])
	if d := c.diagnostics(); len(d) != 0 || strings.Count(c.text(), "数量") != 6 {
		t.Errorf("after renaming %v\n%s", d, c.text())
	}
	p = c.where("var 数¦量")
	p["newName"] = "preis"
	if err := c.conn.Call(context.Background(), "textDocument/rename", p, &edit); err == nil || !strings.Contains(err.Error(), "meaning") {
		t.Errorf("renaming to a name that is taken: %v", err)
	}
	// Labels are completed inside a subscript, replacing what is typed.
	c.replace(`müh["Köln"]`, `müh["Ł`)
	items := c.complete(c.where(`müh["Ł¦`))
	if len(items) != 1 || items[0].TextEdit.NewText != `"Łódź"` || c.in(items[0].TextEdit.Range) != `"Ł` {
		t.Errorf("completion of a label: %+v", items)
	}
	c.replace(`müh["Ł`, `müh["Łódź"] + 2sum(preis)`)
	diags := c.diagnostics()
	if len(diags) != 1 || diags[0].Code != "E0114" || c.in(diags[0].Range) == "" || diags[0].Severity != 1 {
		t.Fatalf("diagnostics %+v", diags)
	}
	var actions []struct {
		Title string
		Edit  *struct{ Changes map[string][]lspEdit }
	}
	c.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": c.uri}, "range": lower(diags[0].Range),
		"context": map[string]any{"diagnostics": []any{}}}, &actions)
	if len(actions) < 2 || actions[0].Edit == nil {
		t.Fatalf("actions %+v", actions)
	}
	c.apply(actions[0].Edit.Changes[c.uri])
	if d := c.diagnostics(); len(d) != 0 || !strings.Contains(c.text(), `müh["Łódź"] + 2*sum(preis)`) {
		t.Errorf("after the fix: %v\n%s", d, c.text())
	}
	// Formatting gives what `bilevelc fmt` gives.
	c.replace("maximize preis", "maximize   preis")
	var edits []lspEdit
	c.call("textDocument/formatting", c.params(0), &edits)
	c.apply(edits)
	if !strings.Contains(c.text(), "maximize preis") {
		t.Errorf("formatted:\n%s", c.text())
	}
	var symbols []struct {
		Name     string
		Children []struct{ Name, Detail string }
	}
	c.call("textDocument/documentSymbol", c.params(0), &symbols)
	var names []string
	for _, s := range symbols {
		names = append(names, s.Name)
	}
	if want := []string{"stadt", "müh", "halb", "upper", "lower"}; !slices.Equal(names, want) || symbols[4].Children[2].Name != "kapazität" {
		t.Errorf("outline %v", symbols)
	}
	var shown string
	c.call("workspace/executeCommand", map[string]any{"command": "bilevelc.explain", "arguments": []any{"E0701"}}, &shown)
	if !strings.Contains(shown, "E0701") {
		t.Errorf("explanation %q", shown)
	}
	c.leave()
}

type lspItem struct {
	Label    string
	TextEdit lspEdit
}

func (c *client) complete(p map[string]any) []lspItem {
	c.t.Helper()
	var items []lspItem
	c.call("textDocument/completion", p, &items)
	return items
}

// apply makes edits, the last first.
func (c *client) apply(edits []lspEdit) {
	c.t.Helper()
	slices.SortFunc(edits, func(a, b lspEdit) int { return c.index(b.Range.Start) - c.index(a.Range.Start) })
	for _, e := range edits {
		c.change(c.index(e.Range.Start), c.index(e.Range.End), e.NewText)
	}
}

// Data beside the model, and those of the settings, give values, and the faults
// that only numbers show; proofs come with them.
func TestLSPData(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("m.json", `{"c": [4, 5, 6]}`)
	write("more.json", `{"scale": 3}`)
	c := startServer(t, map[string]any{"data": []string{"more.json"}})
	c.open(filepath.Join(dir, "m.blv"), "model m\nparam n: int\nparam scale: real\ndata c: vector[n]\nlet s = scale * sum(c)\nupper {\n  var x: vector[n] in box(0, 1)\n"+
		"  minimize sumsq(y - x) + s\n}\nlower {\n  var y: vector[n]\n  minimize sum(y) - sum(c .* x)\n}\n")
	if d := c.diagnostics(); len(d) != 0 {
		t.Fatalf("before binding: %v", d)
	}
	if d := c.diagnostics(); len(d) != 1 || d[0].Code != "E0701" {
		t.Fatalf("with data: %v", d)
	}
	var hover struct{ Contents struct{ Value string } }
	for mark, want := range map[string]string{"let ¦s": "s = 45", "param ¦n": "n = 3", "data ¦c": "c = [4, 5, 6]", "param ¦scale": "scale = 3"} {
		c.call("textDocument/hover", c.where(mark), &hover)
		if !strings.Contains(hover.Contents.Value, want) {
			t.Errorf("hover of %s: %s", mark, hover.Contents.Value)
		}
	}
	c.leave()
}

// Every prefix of a model, and a model under random edits: the server answers each
// question with places in the text as the editor has it, and finds in the end what
// it finds in that text opened afresh.
func TestLSPWhileTyping(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	c := startServer(t, nil)
	paths, err := filepath.Glob("../../examples/*/*.blv")
	if err != nil || len(paths) < 10 {
		t.Fatal(paths, err)
	}
	pieces := []string{"ä", "😀", "\n", "{", "}", "(", "]", "\"", "x[", " in ", "//", "dual(", "var ", "1..", "'", "= ", "\r\n", "upper {\n", "東"}
	dir := t.TempDir()
	for k, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		model := strings.ReplaceAll(string(text), "\r", "")
		if len(model) > 1600 || k%2 == 1 {
			continue
		}
		c.open(filepath.Join(dir, fmt.Sprintf("%d.blv", k)), "")
		for typed := 0; typed < len(model); { // typing, some keys at a time
			n := min(len(model)-typed, 1+rng.IntN(60))
			c.change(len(c.units), len(c.units), model[typed:typed+n])
			typed += n
			c.ask(rng)
		}
		for range 25 { // and editing
			from := rng.IntN(len(c.units) + 1)
			to := min(len(c.units), from+rng.IntN(12))
			for _, at := range []*int{&from, &to} { // not inside a character
				for *at > 0 && *at < len(c.units) && c.units[*at] >= 0xdc00 && c.units[*at] < 0xe000 || *at > 0 && *at < len(c.units) && c.units[*at-1] == '\r' {
					*at--
				}
			}
			c.change(min(from, to), max(from, to), pieces[rng.IntN(len(pieces))])
			c.ask(rng)
		}
		found := c.diagnostics()
		final := c.text()
		c.open(filepath.Join(dir, fmt.Sprintf("%d-again.blv", k)), final)
		again := c.diagnostics()
		if fmt.Sprint(found) != fmt.Sprint(again) {
			t.Fatalf("after edits %v\nopened afresh %v\n%s", found, again, final)
		}
		for _, d := range found {
			c.in(d.Range)
		}
	}
	c.leave()
}

// ask puts one question about a random place.
func (c *client) ask(rng *rand.Rand) {
	c.t.Helper()
	at := rng.IntN(len(c.units) + 1)
	for at > 0 && at < len(c.units) && c.units[at] >= 0xdc00 && c.units[at] < 0xe000 {
		at--
	}
	p := c.params(at)
	switch rng.IntN(6) {
	case 0:
		var h *struct{ Range lspRange }
		c.call("textDocument/hover", p, &h)
		if h != nil {
			c.in(h.Range)
		}
	case 1:
		var places []struct{ Range lspRange }
		c.call("textDocument/references", p, &places)
		for _, p := range places {
			if first := c.in(places[0].Range); c.in(p.Range) != first || first == "" {
				c.t.Fatalf("references %q and %q", first, c.in(p.Range))
			}
		}
	case 2, 3:
		for _, item := range c.complete(p) {
			r := item.TextEdit.Range
			if c.in(r); r.Start.Line != r.End.Line || c.index(r.Start) > at || c.index(r.End) < at {
				c.t.Fatalf("completion %+v at %v", item, p)
			}
		}
	case 4:
		type symbol struct {
			Range, SelectionRange lspRange
			Children              []symbol
		}
		var all []symbol
		c.call("textDocument/documentSymbol", p, &all)
		var check func(list []symbol)
		check = func(list []symbol) {
			for _, s := range list {
				if !strings.Contains(c.in(s.Range), c.in(s.SelectionRange)) {
					c.t.Fatalf("outline %+v", s)
				}
				check(s.Children)
			}
		}
		check(all)
	case 5:
		var actions []struct {
			Edit *struct{ Changes map[string][]lspEdit }
		}
		here := lower(lspRange{c.at(at), c.at(at)})
		c.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": c.uri}, "range": here, "context": map[string]any{}}, &actions)
		for _, a := range actions {
			if a.Edit != nil {
				for _, e := range a.Edit.Changes[c.uri] {
					c.in(e.Range)
				}
			}
		}
	}
}

// What is no message of the protocol, or comes at a wrong time, is refused; a client
// that goes without a word ends the server all the same.
func TestLSPMisuse(t *testing.T) {
	c := startServer(t, map[string]any{"data": 3})
	for method, params := range map[string]any{"textDocument/hover": 5, "no/method": nil, "workspace/executeCommand": map[string]any{"command": "rm"}} {
		if err := c.conn.Call(context.Background(), method, params, nil); err == nil {
			t.Errorf("%s is taken", method)
		}
	}
	c.open("/nowhere/x.blv", "model x")
	p := c.params(0)
	p["textDocument"] = map[string]any{"uri": "file:///other.blv"}
	var answer any
	c.call("textDocument/hover", p, &answer)
	if answer != nil {
		t.Errorf("hover of a document that is not open: %v", answer)
	}
	c.call("shutdown", nil, nil)
	if err := c.conn.Call(context.Background(), "textDocument/hover", c.params(0), nil); err == nil {
		t.Error("hover after shutdown is answered")
	}
	c.notify("exit", nil)
	if err := c.process.Wait(); err != nil {
		t.Error(err)
	}
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	gone := exec.Command(program, "lsp")
	gone.Stdin = strings.NewReader("Content-Length: 5\r\n\r\n{nope")
	if err := gone.Run(); err == nil {
		t.Error("a client that speaks nonsense and goes is taken for one that has left")
	}
}
