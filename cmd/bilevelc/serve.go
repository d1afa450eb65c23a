package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"bilevelc/cmd/internal/serve"
)

func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve programs in any language: JSON, a line a message, on standard input and output",
		Long: `serve keeps compiled models in one process for a program that starts it and talks to
it on its standard input and output, in JSON-RPC 2.0 with a message a line: compile,
bind, update, solve, evaluate, verify, cancel, close. It opens no port, and ends with
its input, once what was asked is answered. docs/serve.md describes the protocol; the
Python package in python/ is a client.`,
		Example: `  echo '{"jsonrpc": "2.0", "id": 1, "method": "compile", "params": {"path": "toll.blv"}}
  {"jsonrpc": "2.0", "id": 2, "method": "bind", "params": {"model": "m1"}}
  {"jsonrpc": "2.0", "id": 3, "method": "solve", "params": {"problem": "p1"}}' | bilevelc serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			out := a.io.out
			if out == os.Stdout { // the protocol's alone, whatever a library may print
				os.Stdout = os.Stderr
				defer func() { os.Stdout = out.(*os.File) }()
			}
			return serve.Serve(ctx, &parented{Reader: a.io.in, parent: os.Getppid(), stop: stop}, out, version)
		},
	}
}

// parented is the input of a process that is to end with its parent. When the input has
// ended, requests go on until they are answered, but not for a parent that is gone: its
// children then have another one.
type parented struct {
	io.Reader
	parent int
	stop   context.CancelFunc
}

func (p *parented) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		go func() {
			for os.Getppid() == p.parent {
				time.Sleep(time.Second)
			}
			p.stop()
		}()
	}
	return n, err
}
