package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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

// What is offered is for the diagnostics that an editor was sent, not for each of thousands: their places alone took a minute.
func TestLSPManyFindings(t *testing.T) {
	c := startServer(t, map[string]any{})
	c.open("/nowhere/many.blv", "model many\nupper {\n  var x: real in box(0, 1)\n  minimize x"+strings.Repeat(" + q", 2000)+"\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n")
	sent := len(c.diagnostics())
	var actions []struct{ Diagnostics []struct{ Range lspRange } }
	whole := map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 9, "character": 0}}
	c.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": c.uri}, "range": whole, "context": map[string]any{}}, &actions)
	places := map[lspRange]bool{}
	for _, a := range actions {
		for _, d := range a.Diagnostics {
			places[d.Range] = true
		}
	}
	if sent >= 2000 || len(places) == 0 || len(places) > sent {
		t.Errorf("actions for %d diagnostics, of %d that were sent", len(places), sent)
	}
	c.call("shutdown", nil, nil)
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
