package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"

	"bilevelc/internal/must"
)

// The queue of sweeps, a NATS server and its client, is as large as the rest of this program, and
// few runs need it: it is in a program of its own, bilevelc-queue, which is this one built with the
// tag "nats". Where a command needs a queue, this program gives its place to that one.

// queueName is that program's, without what the system appends.
const queueName = "bilevelc-queue"

// ownProcess says that the command line has the process for itself, as main's has and a test's has not.
var ownProcess = false

// queueProgram runs this command line in the program that holds the queue.
func (a *app) queueProgram(ctx context.Context) error {
	path, err := findQueue()
	if err != nil {
		return err
	}
	if ownProcess {
		if err := replaceProcess(path, append([]string{path}, a.args...), os.Environ()); !errors.Is(err, errors.ErrUnsupported) {
			return usageError("%s: %v", path, err) // where it succeeds it does not return
		}
	}
	cmd := exec.CommandContext(ctx, path, a.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.io.in, a.io.out, a.io.err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return usageError("%s: %v", path, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return &exitError{Code: code}
	}
	return nil
}

// findQueue is the path of the program that holds the queue: beside this one, or in PATH.
func findQueue() (_ string, err error) {
	defer must.Catch(&err)
	own := must.Get(os.Executable())
	name := queueName
	if goruntime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(filepath.Dir(own), name)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(name); err != nil {
			return "", usageError("the queue of sweeps is in a program of its own, %s, which is neither beside this one nor in PATH; with the sources at hand:\n"+
				"  go build -tags nats -o DIR/%[1]s ./cmd/bilevelc      # DIR in PATH", name)
		}
	}
	a := must.Get(os.Stat(own))
	if b, err := os.Stat(path); err == nil && os.SameFile(a, b) {
		return "", usageError("%s was built without the queue: go build -tags nats -o DIR/%s ./cmd/bilevelc", path, name)
	}
	return path, nil
}
