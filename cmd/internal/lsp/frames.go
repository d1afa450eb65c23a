package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"bilevelc/internal/jsonfault"
)

// The limits of a message: the text of a model has at most 16 MB (the command line's
// limit), which JSON writes in six times as much at most; a line of headers is some
// dozen bytes.
const (
	maxMessage = 6 << 24
	maxHeader  = 1 << 12
)

// lengthHeader stands before each message.
const lengthHeader = "Content-Length:"

// frames is the stream of messages behind their headers, as the protocol's base has
// them. What is no message is answered with the protocol's error, and reading goes on
// at the next header: a client that stumbles once loses one message, not the server.
type frames struct {
	in     *bufio.Reader
	source rewound
	told   bool       // what is read next has been refused as a message
	mu     sync.Mutex // of out
	out    io.Writer

	refused atomic.Int32 // what was no message
}

// rewound is a stream with bytes that are read once more before it.
type rewound struct {
	again []byte
	rest  io.Reader
}

// Read implements io.Reader.
func (r *rewound) Read(p []byte) (int, error) {
	if len(r.again) == 0 {
		return r.rest.Read(p)
	}
	n := copy(p, r.again)
	r.again = r.again[n:]
	return n, nil
}

func newFrames(in io.Reader, out io.Writer) *frames {
	f := &frames{source: rewound{rest: in}, out: out}
	f.in = bufio.NewReaderSize(&f.source, maxHeader)
	return f
}

// unread puts bytes back in front of what is to be read.
func (f *frames) unread(text []byte) {
	ahead, _ := f.in.Peek(f.in.Buffered()) // which is there
	f.source.again = slices.Concat(text, ahead, f.source.again)
	f.in.Reset(&f.source)
}

// Close implements jsonrpc2.ObjectStream. It closes neither stream: the process ends
// with them.
func (*frames) Close() error { return nil }

// WriteObject implements jsonrpc2.ObjectStream.
func (f *frames) WriteObject(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = fmt.Fprintf(f.out, "%s %d\r\n\r\n%s", lengthHeader, len(body), body)
	return err
}

// ReadObject implements jsonrpc2.ObjectStream: it reads the next message. The error is
// the end of the stream.
func (f *frames) ReadObject(v any) error {
	for {
		n, err := f.headers()
		if err != nil {
			return err
		}
		body := make([]byte, n)
		got, err := io.ReadFull(f.in, body)
		body = body[:got]
		if err == nil && json.Valid(body) {
			if err = f.accept(body, v); err == nil {
				return nil
			}
			continue
		}
		// A length that is too great has taken in the headers behind the message.
		f.unread(body)
		f.told = true
		f.refuse(nil, jsonrpc2.CodeParseError, "the message is not JSON, or its length is not that of its header")
	}
}

// headers reads up to the blank line before a message, whose length it gives. What is
// no header is passed over, and told of once.
func (f *frames) headers() (length int, err error) {
	length, told := -1, f.told
	f.told = false
	garbage := func(what string) {
		if !told {
			told = true
			f.refuse(nil, jsonrpc2.CodeParseError, what)
		}
	}
	for {
		line, err := f.in.ReadSlice('\n')
		at := headerIn(line)
		if errors.Is(err, bufio.ErrBufferFull) {
			// What may be the beginning of a header is read with what follows it.
			garbage("a line that is no header")
			length = -1
			keep := len(line) - len(lengthHeader)
			if at > 0 {
				keep = min(keep, at)
			}
			f.unread(slices.Clone(line[keep:]))
			continue
		}
		if err != nil {
			if len(line) > 0 {
				garbage("the stream ends inside a header")
			}
			return 0, io.EOF
		}
		name, value, isHeader := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":")
		switch {
		case len(bytes.TrimRight(line, "\r\n")) == 0:
			if length >= 0 {
				return length, nil
			}
			garbage("a message without " + lengthHeader)
		case at >= 0:
			if at > 0 {
				garbage("what stands before a header is no message")
			}
			text := strings.TrimSpace(string(line[at+len(lengthHeader):]))
			n, err := strconv.ParseUint(text, 10, 31)
			if err != nil || n == 0 || n > maxMessage {
				garbage(fmt.Sprintf("%s %.40q is not between 1 and %d", lengthHeader, text, maxMessage))
				length = -1
				continue
			}
			length = int(n)
		case !isHeader || name == "" || strings.ContainsAny(name, " {}\"") || value == "":
			garbage("a line that is no header")
			length = -1
		}
	}
}

// headerIn is where the header of a length begins in a line, in letters of either
// case, or -1.
func headerIn(line []byte) int {
	for i := 0; i+len(lengthHeader) <= len(line); i++ {
		if bytes.EqualFold(line[i:i+len(lengthHeader)], []byte(lengthHeader)) {
			return i
		}
	}
	return -1
}

// accept reads a message into v. An error has been answered.
func (f *frames) accept(body []byte, v any) error {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	err := json.Unmarshal(body, &m)
	id := m.ID
	switch {
	case err != nil && bytes.TrimSpace(body)[0] == '[':
		err = errors.New("requests come one by one, not in a list")
	case err != nil:
		err = errors.New("a message is an object")
	case len(id) == 0 || id[0] == '"' || string(id) == "null":
	case id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		id, err = nil, errors.New("an id is a number or a text")
	default: // the library keeps it in 64 bits, and would answer another one
		if _, wrong := strconv.ParseInt(string(id), 10, 64); wrong != nil || id[0] == '-' {
			err = errors.New("an id that is a number is a whole number from 0 to 2^63 - 1")
		}
	}
	if err == nil && len(m.Method) > 0 && m.Method[0] != '"' {
		err = errors.New("a method is a text")
	}
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		f.refuse(id, jsonrpc2.CodeInvalidRequest, jsonfault.Plain(err).Error())
	}
	return err
}

// refuse answers what is no message. A client that is gone needs no answer.
func (f *frames) refuse(id json.RawMessage, code int64, why string) {
	f.refused.Add(1)
	if id == nil {
		id = json.RawMessage("null")
	}
	_ = f.WriteObject(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
}
