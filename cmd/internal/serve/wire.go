package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"bilevelc/internal/await"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/status"
)

// protocol is the version of the protocol. It grows when a field changes its meaning or
// goes away; new methods and new fields do not change it.
const protocol = 1

// request is a line from the client. ID is nil where no answer is wanted.
type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// response is a line to the client: an answer, with an ID, or a notification, with a
// Method.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
}

// Error is the error object of a response. Code is one of those that JSON-RPC reserves,
// for messages that are no requests, or else the exit code that the command line has for
// the same fault (package status).
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    *fault `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// fault says more about an error: of a model or data, where the faults are.
type fault struct {
	// Diagnostics is the document of diag.RenderJSON, and Text the same as a terminal
	// shows it.
	Diagnostics json.RawMessage `json:"diagnostics,omitempty"`
	Text        string          `json:"text,omitempty"`
	Status      string          `json:"status,omitempty"` // of an evaluation that has no point
}

// The codes that JSON-RPC 2.0 reserves.
const (
	notJSON       = -32700
	notRequest    = -32600
	unknownMethod = -32601
	wrongParams   = -32602
	internalError = -32603
)

// errCancelled is the cause of a context that the client's `cancel` has ended.
var errCancelled = errors.New("cancelled")

func failure(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// errorOf puts an error of the runtime into the protocol's form.
func errorOf(ctx context.Context, err error) *Error {
	var own *Error
	var diags diag.List
	var usage *runtime.UsageError
	var ended *runtime.StatusError
	var broken *outer.PanicError
	switch {
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return &Error{Code: status.Interrupted.Exit(false), Message: "cancelled"}
	case errors.As(err, &diags):
		return diagnosed(diags)
	case errors.As(err, &usage):
		return &Error{Code: status.ExitUsage, Message: usage.Error()}
	case errors.As(err, &ended):
		return &Error{Code: ended.Status.Exit(false), Message: ended.Error(), Data: &fault{Status: ended.Status.String()}}
	case errors.As(err, &broken):
		return &Error{Code: internalError, Message: "internal error: " + broken.Error(), Data: &fault{Text: string(broken.Stack)}}
	}
	return &Error{Code: status.ExitInternal, Message: err.Error()}
}

// panicked is the error of a request that ended in a fault of this program.
func panicked(value any, stack []byte) *Error {
	if f, ok := value.(*await.Fault); ok {
		value, stack = f.Value, f.Stack
	}
	return &Error{Code: internalError, Message: fmt.Sprintf("internal error: %v", value), Data: &fault{Text: string(stack)}}
}

// most is how many diagnostics an error has at most: a file of garbage has one on every
// line.
const most = 100

// diagnosed is the error of a model, or of data, that were refused. Its message is what
// the first error says, with its place.
func diagnosed(list diag.List) *Error {
	class, _ := list.Class()
	list = list.First(most)
	message := list.Error()
	if first, rest, more := strings.Cut(message, "\n"); more {
		message = fmt.Sprintf("%s (and %d more)", first, strings.Count(rest, "\n")+1)
	}
	return &Error{Code: status.OfClass(class), Message: message,
		Data: &fault{Diagnostics: diag.RenderJSON(list), Text: textOf(list)}}
}

// textOf is a list as a terminal shows it, without colors.
func textOf(list diag.List) string {
	var b strings.Builder
	_ = diag.Render(&b, list, diag.Style{}) // a Builder takes everything
	return b.String()
}
