package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// output is the stream of results. It keeps the error of the first write that failed, which is that of all behind it, so
// that a command whose output is lost, in part or as a whole, ends with an error.
type output struct {
	io.Writer
	lost error
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	if o.lost != nil {
		return 0, o.lost
	}
	n, err := o.Writer.Write(text)
	o.lost = err
	return n, err
}

// fileOf is the file behind a stream, where there is one.
func fileOf(stream any) (*os.File, bool) {
	if o, wrapped := stream.(*output); wrapped {
		stream = o.Writer
	}
	f, ok := stream.(*os.File)
	return f, ok
}

// closedStream stands for a standard stream that was closed when the process began.
type closedStream struct{ name string }

// Write implements io.Writer.
func (c closedStream) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: c.name, Err: syscall.EBADF}
}

// standard are the streams that the process was given.
func standard() stdio {
	s := stdio{os.Stdin, os.Stdout, os.Stderr}
	if closedAtStart(1) {
		s.out = closedStream{"/dev/stdout"}
	}
	if closedAtStart(2) {
		s.err = closedStream{"/dev/stderr"}
	}
	return s
}

// delivered is the exit code of a command with this one, once its output has been
// looked at: what was lost is told, unless told is the error that told it.
func (a *app) delivered(out *output, code int, told error) int {
	if out.lost == nil || told != nil && errors.Is(told, out.lost) {
		return code
	}
	if !errors.Is(out.lost, syscall.EPIPE) { // a reader that has seen enough
		a.tell("error: the output could not be written: %v", out.lost)
	}
	return exitInternal
}
