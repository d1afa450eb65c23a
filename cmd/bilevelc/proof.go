package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"bilevelc/internal/atomicfile"
	"bilevelc/internal/must"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/status"
)

// writeProof writes the proof of a result's global bound to a file, and has the result say so; "" is no file. What is shown of a run that has no bound is the result,
// so that the error is for after that. limited is the run's, whose time limit is not the proof's: that of what the run found is written after it, until ctx ends.
func (a *app) writeProof(ctx, limited context.Context, r *runtime.Result, path string) error {
	if path == "" {
		return nil
	}
	interrupted := errors.New("interrupted; a run that goes on from the checkpoint can write it")
	if limited.Err() != nil && !errors.Is(context.Cause(limited), runtime.ErrTimeLimit) {
		return notWritten(interrupted)
	}
	err := atomicfile.Stream(path, func(w io.Writer) error { return r.WriteProof(ctx, w) })
	switch {
	case err == nil:
		r.Global.Proof = path
		return nil
	case ctx.Err() != nil:
		err = interrupted
	}
	return notWritten(err)
}

func notWritten(err error) error {
	code := status.LimitReached.Exit(true)
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		code = exitInternal
	}
	return coded(code, fmt.Errorf("no proof was written: %w", err))
}

// verifyProof verifies a result with the proof of its global bound: the file that the user names, or one beside the document by the name that it has there.
// Without either the bound is among what is not checked.
func (a *app) verifyProof(ctx context.Context, document string, problem *runtime.Problem, r *runtime.Result, named string) (*certify.Report, error) {
	path := named
	if path == "" && r.Global != nil && r.Global.Proof != "" {
		if there, err := beside(document, r.Global.Proof); err == nil {
			path = there
		}
	}
	if path == "" {
		return during(ctx, "verifying", func() (*certify.Report, error) { return problem.Verify(r) })
	}
	f, err := os.Open(path)
	must.Do(coded(exitUsage, err))
	defer f.Close() // which ends what still reads it where the command is interrupted
	return during(ctx, "verifying the proof", func() (*certify.Report, error) { return problem.VerifyProof(r, path, f) })
}
