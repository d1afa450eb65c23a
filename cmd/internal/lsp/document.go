package lsp

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"bilevelc/cmd/internal/assist"
	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
)

// A document is an open text in one version. What is known of it is computed once, at
// the first request for it.
type document struct {
	uri     string
	version int
	text    string
	lines   *lineIndex
	cancel  context.CancelFunc // of what examines it in the background

	once sync.Once
	read *assist.Document

	mu    sync.Mutex
	bound diag.List // what the data add, once that is known
}

// model is the text, parsed and checked.
func (d *document) model() *assist.Document {
	d.once.Do(func() { d.read = assist.Read(pathOf(d.uri), d.text) })
	return d.read
}

// findings are the diagnostics known so far.
func (d *document) findings() diag.List {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append(append(diag.List(nil), d.model().Diagnostics...), d.bound...)
}

func (s *server) didOpen(_ context.Context, conn *jsonrpc2.Conn, p *documentParams) (any, error) {
	s.put(conn, p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text)
	return nil, nil
}

func (s *server) didChange(_ context.Context, conn *jsonrpc2.Conn, p *didChangeParams) (any, error) {
	old := s.document(p.TextDocument.URI)
	if old == nil {
		return nil, nil
	}
	text := old.text
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			text = c.Text
			continue
		}
		x := newLineIndex(text)
		start, end := x.offset(c.Range.Start), x.offset(c.Range.End)
		text = text[:start] + c.Text + text[max(start, end):]
	}
	s.put(conn, old.uri, p.TextDocument.Version, text)
	return nil, nil
}

func (s *server) didClose(ctx context.Context, conn *jsonrpc2.Conn, p *documentParams) (any, error) {
	s.mu.Lock()
	d := s.documents[p.TextDocument.URI]
	delete(s.documents, p.TextDocument.URI)
	s.mu.Unlock()
	if d == nil {
		return nil, nil
	}
	d.cancel()
	return nil, conn.Notify(ctx, "textDocument/publishDiagnostics", publishDiagnosticsParams{URI: d.uri, Version: d.version, Diagnostics: []diagnostic{}})
}

// put makes a text the open one of its URI, and has it examined.
func (s *server) put(conn *jsonrpc2.Conn, uri string, version int, text string) {
	d := &document{uri: uri, version: version, text: text, lines: newLineIndex(text), cancel: func() {}}
	s.mu.Lock()
	old := s.documents[uri]
	s.documents[uri] = d
	s.mu.Unlock()
	if old != nil {
		old.cancel()
	}
	s.examine(conn, d)
}

// document is the open text of a URI, or nil.
func (s *server) document(uri string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.documents[uri]
}

func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents {
		d.cancel()
	}
}

// examine publishes the diagnostics of a text when it has settled: first those of
// parsing and checking, then those that its data add. It ends when the text does.
func (s *server) examine(conn *jsonrpc2.Conn, d *document) {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	before := d.cancel
	d.cancel = cancel
	s.mu.Unlock()
	before()
	go func() {
		defer cancel()
		defer func() {
			if r := recover(); r != nil {
				s.fault(ctx, conn, "examining "+d.uri, r)
			}
		}()
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
		d.model()
		s.publish(ctx, conn, d)
		if bound := d.model().Bound(ctx, s.dataOf(d)); ctx.Err() == nil && len(bound) > 0 {
			d.mu.Lock()
			d.bound = bound
			d.mu.Unlock()
			s.publish(ctx, conn, d)
		}
	}()
}

// publish sends the diagnostics of a text unless it is the current one no more.
func (s *server) publish(ctx context.Context, conn *jsonrpc2.Conn, d *document) {
	p := publishDiagnosticsParams{URI: d.uri, Version: d.version, Diagnostics: each.Of(d.findings().First(maxPublished), d.diagnostic)}
	if ctx.Err() == nil && s.document(d.uri) == d {
		_ = conn.Notify(ctx, "textDocument/publishDiagnostics", p) // a client that is gone needs none
	}
}

// maxPublished is how many diagnostics of one kind an editor is sent.
const maxPublished = 200

// diagnostic is one finding as the protocol has it.
func (d *document) diagnostic(e *diag.Diagnostic) diagnostic {
	out := diagnostic{Range: d.rangeOf(e.Subject), Severity: severities[e.Severity], Code: string(e.Code), Source: "bilevelc", Message: diag.Shown(e.Summary)}
	if e.Detail != "" {
		out.Message += "\n" + diag.ShownLines(e.Detail)
	}
	if e.Fix != "" {
		out.Message += "\nfix: " + diag.ShownLines(e.Fix)
	}
	if unused[e.Code] {
		out.Tags = []int{unnecessaryTag}
	}
	for _, r := range e.Related {
		if r.Span.Source == d.model().Source {
			out.RelatedInformation = append(out.RelatedInformation, relatedInfo{location{d.uri, d.rangeOf(r.Span)}, diag.Shown(r.Message)})
		} else if !r.Span.IsZero() {
			out.Message += "\n" + diag.Shown(r.Message)
		}
	}
	return out
}

// unused are the codes of what could be left out.
var unused = map[diag.Code]bool{diag.Unused: true, diag.BindAlwaysHolds: true}

// rangeOf is a place in the document; one in another text is at the start. An empty
// one is widened to a character, so that there is something to underline.
func (d *document) rangeOf(s diag.Span) Range {
	if s.Source != d.model().Source {
		return Range{}
	}
	start, end := s.Start, s.End
	if start >= end {
		end = start + 1
		if start >= len(d.text) || d.text[start] == '\n' || d.text[start] == '\r' {
			start, end = max(0, start-1), start
		}
		r := d.lines.span(start, end)
		for r.Start == r.End && end < len(d.text) { // inside a character of several bytes
			end++
			r = d.lines.span(start, end)
		}
		return r
	}
	return d.lines.span(start, end)
}

// pathOf is the path of a file's URI, or the URI of what is no file.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	path := u.Path
	if windowsPath.MatchString(path) {
		path = path[1:]
	}
	return filepath.FromSlash(path)
}

var windowsPath = regexp.MustCompile(`^/[A-Za-z]:`)

// dataOf reads the data that are at hand for a model: the files of the settings,
// and the one beside it that has its name. What cannot be read is not at hand.
func (s *server) dataOf(d *document) *data.Set {
	path := pathOf(d.uri)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := &data.Set{}
	add := func(name, file string) {
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxData {
			return
		}
		spec := file
		if name != "" {
			spec = name + "=" + file
		}
		known := s.loaded[spec]
		if known.set == nil || known.size != info.Size() || !known.changed.Equal(info.ModTime()) {
			set, diags := datafile.Load(spec, nil)
			if set == nil || diags.HasErrors() {
				set = &data.Set{}
			}
			known = loaded{set: set, size: info.Size(), changed: info.ModTime()}
			s.loaded[spec] = known
		}
		all.Entries = append(all.Entries, known.set.Entries...)
	}
	add("", strings.TrimSuffix(path, filepath.Ext(path))+".json")
	for _, spec := range s.settings.Data {
		add(datafile.SplitSpec(spec))
	}
	return all
}

// loaded is a data file as it was read.
type loaded struct {
	set     *data.Set
	size    int64
	changed time.Time
}

// maxData is the largest data file that is read while a model is typed.
const maxData = 1 << 25
