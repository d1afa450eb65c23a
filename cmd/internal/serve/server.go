package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"

	"bilevelc/internal/jsonfault"
	"bilevelc/internal/must"
	"bilevelc/runtime/status"
)

// maxLine bounds a line, and so what a client can make the process hold at once: as the
// command line bounds the documents that it reads.
const maxLine = 1 << 30

// server holds what one client has made. It serves one connection.
type server struct {
	version string

	mu      sync.Mutex // of what follows
	queue   []*task
	wake    chan struct{}
	ended   bool // no more requests come
	running *task

	writing sync.Mutex // of out
	out     io.Writer
	broken  error // of a write: the client is gone

	models   map[string]*model
	problems map[string]*bound
	made     map[string]int // how many of each kind, for the next name
}

// task is a request that waits or runs.
type task struct {
	request
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Serve answers the requests of in until it ends, all of them, or until ctx does. The
// error is one of the streams.
func Serve(ctx context.Context, in io.Reader, out io.Writer, version string) error {
	s := &server{version: version, out: out, wake: make(chan struct{}, 1),
		models: map[string]*model{}, problems: map[string]*bound{}, made: map[string]int{}}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	read := make(chan error, 1)
	go func() {
		read <- s.read(ctx, in)
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		s.tell()
	}()
	for {
		t, more := s.next()
		if t != nil {
			s.do(t)
			if err := s.gone(); err != nil {
				return err
			}
			continue
		}
		if !more {
			return <-read
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// gone is the error of a write: the reader of requests writes, too.
func (s *server) gone() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.broken
}

// tell wakes the loop of Serve.
func (s *server) tell() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next takes the first task that waits. more says that others may come.
func (s *server) next() (t *task, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, !s.ended
	}
	t = s.queue[0]
	s.queue = s.queue[1:]
	s.running = t
	return t, true
}

// read puts requests into the queue, line by line. It answers those that are none, and
// `cancel`, at once.
func (s *server) read(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := readLine(lines)
		if len(bytes.TrimSpace(line)) > 0 || errors.Is(err, errLong) {
			s.accept(ctx, line, err)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, errLong):
			return err
		}
	}
}

var errLong = fmt.Errorf("a line has at most %d bytes", maxLine)

// readLine reads up to the end of a line. Of one that is too long it reads all and keeps
// nothing.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil && long:
			return nil, errLong
		}
		return line, err
	}
}

// accept takes a line apart.
func (s *server) accept(ctx context.Context, line []byte, long error) {
	null := json.RawMessage("null")
	if errors.Is(long, errLong) {
		s.answer(null, nil, failure(notRequest, "%v", errLong))
		return
	}
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		code := notRequest
		if !json.Valid(line) {
			code = notJSON
		}
		s.answer(null, nil, failure(code, "not a request: %v", jsonfault.Plain(err)))
		return
	}
	id := r.ID
	if len(id) == 0 {
		id = null
	}
	switch {
	case id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f':
		s.answer(null, nil, failure(notRequest, "an id is a number or a text, not %s", id))
		return
	case r.Version != "2.0":
		s.answer(id, nil, failure(notRequest, `a request has "jsonrpc": "2.0"`))
		return
	case r.Method == "cancel":
		result, err := attempt(ctx, func() any { return s.cancel(r.Params) })
		s.answer(r.ID, result, err)
		return
	}
	t := &task{request: r}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	used := s.find(id) != nil
	if !used {
		s.queue = append(s.queue, t)
	}
	s.mu.Unlock()
	if used {
		s.answer(null, nil, failure(notRequest, "the id %s is of a request that has no answer yet", id))
		return
	}
	s.tell()
}

// find is the task of an id that waits or runs; nil without one, as for a null id. The
// caller holds mu.
func (s *server) find(id json.RawMessage) *task {
	if string(id) == "null" {
		return nil
	}
	for _, t := range append([]*task{s.running}, s.queue...) {
		if t != nil && bytes.Equal(t.ID, id) {
			return t
		}
	}
	return nil
}

// cancel ends the request with an id, and says whether there was one.
func (s *server) cancel(params json.RawMessage) any {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	must.Do(decode(params, &p))
	s.mu.Lock()
	t := s.find(p.ID)
	s.mu.Unlock()
	if t != nil {
		t.cancel(errCancelled)
	}
	return map[string]bool{"cancelled": t != nil}
}

// do carries out a request and answers it.
func (s *server) do(t *task) {
	result, err := s.guarded(t)
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
	t.cancel(nil)
	s.answer(t.ID, result, err)
}

// guarded is call with faults of this program, and what waited too long, as errors.
func (s *server) guarded(t *task) (result any, failed *Error) {
	defer func() {
		if v := recover(); v != nil {
			result, failed = nil, panicked(v, debug.Stack())
		}
	}()
	m, ok := methods[t.Method]
	if !ok {
		return nil, failure(unknownMethod, "there is no method %q; there are %s", t.Method, strings.Join(methodNames(), ", "))
	}
	if t.ctx.Err() != nil {
		return nil, &Error{Code: status.Interrupted.Exit(false), Message: "cancelled"}
	}
	return attempt(t.ctx, func() any { return m(s, t) })
}

// attempt is what a piece of work makes, or what ended it in the protocol's form.
func attempt(ctx context.Context, work func() any) (result any, failed *Error) {
	if err := must.Try(func() { result = work() }); err != nil {
		return nil, errorOf(ctx, err)
	}
	return result, nil
}

// answer writes a response, unless the request wants none.
func (s *server) answer(id json.RawMessage, result any, err *Error) {
	if len(id) == 0 {
		return
	}
	r := response{ID: id, Result: result, Error: err}
	if err != nil {
		r.Result = nil
	}
	s.write(r)
}

// write writes a line. What cannot be written as JSON is an error in its place.
func (s *server) write(r response) {
	r.Version = "2.0"
	text, err := json.Marshal(r)
	if err != nil {
		r = response{Version: "2.0", ID: r.ID, Error: failure(internalError, "internal error: %v", err)}
		text, _ = json.Marshal(r) // texts and numbers
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.broken == nil {
		_, s.broken = s.out.Write(append(text, '\n'))
	}
}

// decode reads parameters, in which a name that means nothing is an error.
func decode(params json.RawMessage, into any) error {
	if len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return failure(wrongParams, "params: %v", jsonfault.Plain(err))
	}
	return nil
}
