// Package jupyter is a kernel for notebooks: the messaging protocol of Jupyter over
// ZeroMQ, for a language that the caller supplies.
package jupyter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-zeromq/zmq4"

	"bilevelc/internal/jsonfault"
	"bilevelc/internal/must"
)

// Language is what a kernel runs.
type Language interface {
	// Execute runs a cell. What it prints goes to out; the error ends the cell.
	Execute(ctx context.Context, cell string, out *Output) error
	// Complete lists the texts that may stand in place of the bytes [start, at).
	Complete(cell string, at int) (texts []string, start int)
	// Inspect is what there is to say of the word at an offset; "" for nothing.
	Inspect(cell string, at int) string
	// Incomplete tells whether a text goes on in the next line.
	Incomplete(cell string) bool
}

// Failure is the error of a cell as a notebook shows it.
type Failure struct {
	Name  string // of its kind: a code
	Value string // in one line
	Trace string // in full
}

func (f *Failure) Error() string { return f.Value }

// About is what the kernel says of itself.
type About struct {
	Name, Version, Banner, Extension, MIME string
}

// connection is the file by which Jupyter tells a kernel where to listen.
type connection struct {
	Transport string `json:"transport"`
	IP        string `json:"ip"`
	Shell     int    `json:"shell_port"`
	Control   int    `json:"control_port"`
	Stdin     int    `json:"stdin_port"`
	IOPub     int    `json:"iopub_port"`
	Heartbeat int    `json:"hb_port"`
	Key       string `json:"key"`
	Scheme    string `json:"signature_scheme"`
}

// Serve runs a kernel until a client shuts it down or ctx ends. warn is given what the
// user should know of the connection.
func Serve(ctx context.Context, connectionFile string, about About, language Language, warn func(string)) (err error) {
	defer must.Catch(&err)
	var c connection
	err = json.Unmarshal(must.Get(os.ReadFile(connectionFile)), &c)
	must.Be(err == nil, "%s: %w", connectionFile, jsonfault.Plain(err))
	must.Be(c.Transport == "tcp", "%s: transport %q; this kernel speaks tcp", connectionFile, c.Transport)
	must.Be(c.Scheme == "" || c.Scheme == "hmac-sha256", "%s: signatures by %q; this kernel signs by hmac-sha256", connectionFile, c.Scheme)
	if c.Key == "" {
		const unsigned = "the connection file has no key: messages are not signed, and whoever reaches the ports can run cells"
		warn(connectionFile + ": " + unsigned)
		about.Banner += "\nwarning: " + unsigned
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k := &kernel{about: about, language: language, sign: signer{[]byte(c.Key)}, session: identifier(), end: cancel, interrupt: func() {}}
	sockets := []struct {
		socket zmq4.Socket
		port   int
	}{
		{zmq4.NewRouter(ctx), c.Shell}, {zmq4.NewRouter(ctx), c.Control}, {zmq4.NewRouter(ctx), c.Stdin},
		{zmq4.NewPub(ctx), c.IOPub}, {zmq4.NewRep(ctx), c.Heartbeat},
	}
	for _, s := range sockets {
		defer s.socket.Close()
		err = s.socket.Listen(fmt.Sprintf("tcp://%s:%d", c.IP, s.port))
		must.Be(err == nil, "listening on %s:%d: %w", c.IP, s.port, err)
	}
	k.publish = sockets[3].socket
	go k.echo(sockets[4].socket)
	// Cells run one after the other; what comes by the control socket is answered
	// beside them, so that a cell can be interrupted.
	failed := make(chan error, 2)
	go func() { failed <- k.answer(ctx, sockets[0].socket) }()
	go func() { failed <- k.answer(ctx, sockets[1].socket) }()
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// kernel is the state of one kernel.
type kernel struct {
	about    About
	language Language
	sign     signer
	session  string
	end      context.CancelFunc

	mu        sync.Mutex // of what is sent, and of interrupt
	publish   zmq4.Socket
	interrupt context.CancelFunc // of the cell that runs

	count int // of executed cells; of the shell socket alone
}

// echo answers heartbeats.
func (k *kernel) echo(s zmq4.Socket) {
	for {
		m, err := s.Recv()
		if err != nil || s.Send(m) != nil {
			return
		}
	}
}

// answer works on the messages of a socket, one after the other.
func (k *kernel) answer(ctx context.Context, s zmq4.Socket) (err error) {
	defer must.Catch(&err)
	for ctx.Err() == nil {
		received := must.Get(s.Recv())
		m, err := k.sign.parse(received.Frames)
		if err != nil {
			continue // malformed, or signed with another key
		}
		k.broadcast(m, "status", map[string]any{"execution_state": "busy"})
		kind, content := k.reply(ctx, m)
		if kind != "" {
			frames := must.Get(k.sign.frames(m.ids, k.session, kind, m.parent, content))
			must.Do(s.SendMulti(zmq4.NewMsgFrom(frames...)))
		}
		k.broadcast(m, "status", map[string]any{"execution_state": "idle"})
		if m.header.Type == "shutdown_request" {
			k.end()
		}
	}
	return nil
}

// broadcast tells all clients something about the message that is worked on.
func (k *kernel) broadcast(parent *message, kind string, content any) {
	frames, err := k.sign.frames([][]byte{[]byte("kernel." + kind)}, k.session, kind, parent.parent, content)
	if err != nil {
		return // content is ours, and JSON has it
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.publish.SendMulti(zmq4.NewMsgFrom(frames...)) // who is gone hears nothing
}

// reply answers one message; an empty kind is no answer.
func (k *kernel) reply(ctx context.Context, m *message) (kind string, content any) {
	switch m.header.Type {
	case "kernel_info_request":
		return "kernel_info_reply", map[string]any{
			"status": "ok", "protocol_version": protocolVersion, "implementation": k.about.Name, "implementation_version": k.about.Version,
			"banner": k.about.Banner, "help_links": []any{},
			"language_info": map[string]any{"name": k.about.Name, "version": k.about.Version, "mimetype": k.about.MIME, "file_extension": k.about.Extension},
		}
	case "execute_request":
		return "execute_reply", k.execute(ctx, m)
	case "complete_request":
		code, at := k.place(m)
		texts, start := k.language.Complete(code, at)
		if texts == nil {
			texts = []string{}
		}
		return "complete_reply", map[string]any{"status": "ok", "matches": texts, "metadata": map[string]any{},
			"cursor_start": utf8.RuneCountInString(code[:start]), "cursor_end": utf8.RuneCountInString(code[:at])}
	case "inspect_request":
		code, at := k.place(m)
		text := k.language.Inspect(code, at)
		data := map[string]string{}
		if text != "" {
			data["text/plain"], data["text/markdown"] = text, text
		}
		return "inspect_reply", map[string]any{"status": "ok", "found": text != "", "data": data, "metadata": map[string]any{}}
	case "is_complete_request":
		code, _ := k.place(m)
		if k.language.Incomplete(code) {
			return "is_complete_reply", map[string]any{"status": "incomplete", "indent": "  "}
		}
		return "is_complete_reply", map[string]any{"status": "complete"}
	case "history_request":
		return "history_reply", map[string]any{"status": "ok", "history": []any{}}
	case "comm_info_request":
		return "comm_info_reply", map[string]any{"status": "ok", "comms": map[string]any{}}
	case "interrupt_request":
		k.mu.Lock()
		k.interrupt()
		k.mu.Unlock()
		return "interrupt_reply", map[string]any{"status": "ok"}
	case "shutdown_request":
		var p struct {
			Restart bool `json:"restart"`
		}
		_ = json.Unmarshal(m.content, &p) // without it, it is no restart
		return "shutdown_reply", map[string]any{"status": "ok", "restart": p.Restart}
	}
	return "", nil
}

// place is the code of a message, and the offset of its cursor, which counts
// characters there.
func (k *kernel) place(m *message) (code string, at int) {
	var p struct {
		Code   string `json:"code"`
		Cursor int    `json:"cursor_pos"`
	}
	if json.Unmarshal(m.content, &p) != nil {
		return "", 0
	}
	for at < len(p.Code) && p.Cursor > 0 {
		_, n := utf8.DecodeRuneInString(p.Code[at:])
		at += n
		p.Cursor--
	}
	return p.Code, at
}

func (k *kernel) execute(ctx context.Context, m *message) any {
	var p struct {
		Code   string `json:"code"`
		Silent bool   `json:"silent"`
	}
	if err := json.Unmarshal(m.content, &p); err != nil {
		return map[string]any{"status": "error", "ename": "Protocol", "evalue": err.Error(), "traceback": []string{}, "execution_count": k.count}
	}
	if !p.Silent {
		k.count++
		k.broadcast(m, "execute_input", map[string]any{"code": p.Code, "execution_count": k.count})
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	k.mu.Lock()
	k.interrupt = stop
	k.mu.Unlock()
	err := k.run(ctx, p.Code, &Output{kernel: k, parent: m, silent: p.Silent})
	if err == nil {
		return map[string]any{"status": "ok", "execution_count": k.count, "payload": []any{}, "user_expressions": map[string]any{}}
	}
	var f *Failure
	if !errors.As(err, &f) {
		f = &Failure{Name: "error", Value: err.Error(), Trace: err.Error()}
	}
	shown := map[string]any{"ename": f.Name, "evalue": f.Value, "traceback": strings.Split(strings.TrimRight(f.Trace, "\n"), "\n")}
	if !p.Silent {
		k.broadcast(m, "error", shown)
	}
	shown["status"], shown["execution_count"] = "error", k.count
	return shown
}

// run executes a cell. A panic is a bug of ours, which ends the cell only.
func (k *kernel) run(ctx context.Context, cell string, out *Output) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Failure{Name: "internal", Value: fmt.Sprint(r),
				Trace: fmt.Sprintf("internal error: %v\nThis is a bug in bilevelc; please report it with the model.", r)}
		}
	}()
	return k.language.Execute(ctx, cell, out)
}

// Output is where a cell's output goes.
type Output struct {
	kernel *kernel
	parent *message
	silent bool
}

// Stream is one of the streams of text, "stdout" or "stderr".
func (o *Output) Stream(name string) *Stream { return &Stream{o, name} }

// Display shows something in several forms, by MIME type; text/plain is one of them.
func (o *Output) Display(forms map[string]string) {
	if !o.silent {
		o.kernel.broadcast(o.parent, "display_data", map[string]any{"data": forms, "metadata": map[string]any{}, "transient": map[string]any{}})
	}
}

// Stream is a stream of text.
type Stream struct {
	out  *Output
	name string
}

// Write implements io.Writer.
func (s *Stream) Write(text []byte) (int, error) {
	if !s.out.silent && len(text) > 0 {
		s.out.kernel.broadcast(s.out.parent, "stream", map[string]any{"name": s.name, "text": string(text)})
	}
	return len(text), nil
}
