package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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

// started counts the servers that were started.
var started atomic.Int32

func startServer(t *testing.T, options any) *client {
	t.Helper()
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	// Some clients say which transport they mean, such as VS Code's library.
	args := [][]string{{"lsp"}, {"lsp", "--stdio"}}[started.Add(1)%2]
	c := &client{t: t, process: exec.Command(program, args...), notes: make(chan *jsonrpc2.Request, 10000)}
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
