// Package lsp is a language server for models: diagnostics while they are typed,
// hover, definitions, references, renaming, completion, formatting, outlines, and
// changes of the text for what diagnostics propose. It translates between the
// Language Server Protocol and package assist, which has the answers.
package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"bilevelc/internal/jsonfault"
)

// settle is how long a text is left alone before it is read again: about the pause
// between two keys of a fast typist, so that half a word is not underlined.
const settle = 150 * time.Millisecond

// garbage is the growth of the heap in percent at which it is collected: four times what is in use, some 10 MB for a model of 2,000 lines,
// which is read anew after each key stroke and dropped with the next; at Go's 100 a third of the time goes into collecting it.
const garbage = 400

// Serve speaks the protocol until the client leaves or ctx ends. version is what
// the server says of itself. The error tells of a client that left without
// `shutdown`.
func Serve(ctx context.Context, in io.Reader, out io.Writer, version string) error {
	debug.SetGCPercent(garbage)
	s := &server{version: version, documents: map[string]*document{}, loaded: map[string]loaded{}, quit: make(chan struct{})}
	defer s.closeAll()
	// Messages are worked on one after the other, in the order in which they came:
	// a question is about the text as it is after the changes before it.
	handler := jsonrpc2.HandlerWithError(s.handle).SuppressErrClosed()
	frames := newFrames(in, out)
	conn := jsonrpc2.NewConn(ctx, frames, handler, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	defer conn.Close()
	select {
	case <-s.quit:
	case <-conn.DisconnectNotify():
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := frames.refused.Load(); !s.shutdown && n > 0 {
		return fmt.Errorf("the input ended without `shutdown`; it was refused as no message of the protocol %d times, for the reasons in the answers", n)
	}
	if !s.shutdown {
		return fmt.Errorf("the client left without `shutdown`")
	}
	return nil
}

// server is the state of one connection. Requests come one at a time; mu guards
// what the reading of texts in the background shares with them.
type server struct {
	version  string
	snippets bool

	mu        sync.Mutex
	documents map[string]*document // by URI
	settings  Settings
	loaded    map[string]loaded // data files, by what names them
	shutdown  bool
	quit      chan struct{}
	quitOnce  sync.Once
}

// handle answers one message. A panic is a bug of ours: it is told, and the server
// goes on.
func (s *server) handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.fault(ctx, conn, req.Method, r)
			result, err = nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: fmt.Sprintf("internal error: %v", r)}
		}
	}()
	s.mu.Lock()
	down := s.shutdown
	s.mu.Unlock()
	if down && req.Method != "exit" {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "the server is shut down"}
	}
	method, known := methods[req.Method]
	if !known {
		if req.Notif {
			return nil, nil // what is optional may be left alone
		}
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "no method " + req.Method}
	}
	params := json.RawMessage("null")
	if req.Params != nil {
		params = *req.Params
	}
	return method(s, ctx, conn, params)
}

// fault tells the client of a bug.
func (s *server) fault(ctx context.Context, conn *jsonrpc2.Conn, where string, what any) {
	// A client that is gone needs no telling.
	_ = conn.Notify(ctx, "window/logMessage", showMessageParams{errorMessage,
		fmt.Sprintf("internal error in %s: %v\nThis is a bug in bilevelc; please report it with the model.\n%s", where, what, debug.Stack())})
}

// A method answers one kind of message.
type method func(s *server, ctx context.Context, conn *jsonrpc2.Conn, params json.RawMessage) (any, error)

// with reads the parameters that a method takes.
func with[P any](answer func(s *server, ctx context.Context, conn *jsonrpc2.Conn, params *P) (any, error)) method {
	return func(s *server, ctx context.Context, conn *jsonrpc2.Conn, raw json.RawMessage) (any, error) {
		params := new(P)
		if err := json.Unmarshal(raw, params); err != nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "params: " + jsonfault.Plain(err).Error()}
		}
		return answer(s, ctx, conn, params)
	}
}

// of reads the parameters of a question about a document; of one that is not open there is
// nothing to say.
func of[P any, Q interface {
	*P
	uri() string
}](answer func(s *server, ctx context.Context, d *document, params *P) (any, error)) method {
	return with(func(s *server, ctx context.Context, _ *jsonrpc2.Conn, params *P) (any, error) {
		d := s.document(Q(params).uri())
		if d == nil {
			return nil, nil
		}
		return answer(s, ctx, d, params)
	})
}

// at is of for a place in the document.
func at[P any, Q interface {
	*P
	uri() string
	position() Position
}](answer func(s *server, d *document, offset int, params *P) (any, error)) method {
	return of[P, Q](func(s *server, _ context.Context, d *document, params *P) (any, error) {
		return answer(s, d, d.lines.offset(Q(params).position()), params)
	})
}

// methods are the messages that the server takes; fixed at start.
var methods map[string]method

func init() {
	methods = map[string]method{
		"initialize":                       with((*server).initialize),
		"initialized":                      with(func(*server, context.Context, *jsonrpc2.Conn, *struct{}) (any, error) { return nil, nil }),
		"shutdown":                         with((*server).end),
		"exit":                             with((*server).exit),
		"textDocument/didOpen":             with((*server).didOpen),
		"textDocument/didChange":           with((*server).didChange),
		"textDocument/didClose":            with((*server).didClose),
		"workspace/didChangeConfiguration": with((*server).didChangeConfiguration),
		"textDocument/hover":               at((*server).hover),
		"textDocument/definition":          at((*server).definition),
		"textDocument/references":          at((*server).references),
		"textDocument/documentHighlight":   at((*server).highlight),
		"textDocument/prepareRename":       at((*server).prepareRename),
		"textDocument/rename":              at((*server).rename),
		"textDocument/completion":          at((*server).completion),
		"textDocument/formatting":          of((*server).formatting),
		"textDocument/documentSymbol":      of((*server).documentSymbol),
		"textDocument/codeAction":          of((*server).codeAction),
		"workspace/executeCommand":         with((*server).executeCommand),
	}
}

func (s *server) initialize(_ context.Context, _ *jsonrpc2.Conn, p *initializeParams) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snippets = p.Capabilities.TextDocument.Completion.CompletionItem.SnippetSupport
	if len(p.InitializationOptions) > 0 {
		// Options of another kind are another client's business.
		_ = json.Unmarshal(p.InitializationOptions, &s.settings)
	}
	return map[string]any{
		"serverInfo": map[string]any{"name": "bilevelc", "version": s.version},
		"capabilities": map[string]any{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           map[string]any{"openClose": true, "change": 2},
			"hoverProvider":              true,
			"definitionProvider":         true,
			"referencesProvider":         true,
			"documentHighlightProvider":  true,
			"renameProvider":             map[string]any{"prepareProvider": true},
			"completionProvider":         map[string]any{"triggerCharacters": []string{"[", "\"", "~", "("}},
			"documentFormattingProvider": true,
			"documentSymbolProvider":     true,
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{"quickfix"}},
			"executeCommandProvider":     map[string]any{"commands": []string{explainCommand}},
		},
	}, nil
}

func (s *server) end(context.Context, *jsonrpc2.Conn, *struct{}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutdown = true
	return nil, nil
}

func (s *server) exit(context.Context, *jsonrpc2.Conn, *struct{}) (any, error) {
	s.quitOnce.Do(func() { close(s.quit) })
	return nil, nil
}

func (s *server) didChangeConfiguration(_ context.Context, conn *jsonrpc2.Conn, p *struct {
	Settings struct {
		Bilevelc *Settings `json:"bilevelc"`
	} `json:"settings"`
}) (any, error) {
	if p.Settings.Bilevelc == nil {
		return nil, nil
	}
	s.mu.Lock()
	s.settings = *p.Settings.Bilevelc
	all := slices.Collect(maps.Values(s.documents))
	s.mu.Unlock()
	for _, d := range all {
		s.examine(conn, d)
	}
	return nil, nil
}
