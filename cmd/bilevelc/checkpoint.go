package main

import (
	"encoding/json"
	"os"
	"strings"

	"bilevelc/internal/atomicfile"
	"bilevelc/runtime"
	"bilevelc/runtime/status"
)

// checkpointFile is where the state of a run is kept: the file that the user names,
// or one beside the model for runs that last, and for those that are interrupted.
type checkpointFile struct {
	app     *app
	path    string // "" where there is no place for it
	asked   bool   // the user named the file
	written bool   // by this run
	failed  bool   // an error was told
}

func newCheckpointFile(a *app, model, asked string) *checkpointFile {
	f := &checkpointFile{app: a, path: asked, asked: asked != ""}
	if !f.asked && model != "-" {
		f.path = strings.TrimSuffix(model, ".blv") + ".checkpoint.json"
	}
	return f
}

// keep writes a state in place of the last one. A failure is told once, and the run
// goes on: there may be room again later.
func (f *checkpointFile) keep(c *runtime.Checkpoint) {
	if f.path == "" || c == nil {
		return
	}
	text, err := json.Marshal(c)
	if err == nil {
		err = atomicfile.Write(f.path, text)
	}
	switch {
	case err == nil:
		f.written, f.failed = true, false
	case !f.failed:
		f.failed = true
		f.app.tell("warning: the checkpoint could not be written: %v", err)
	}
}

// finish keeps the last state of a run that has not ended by itself.
func (f *checkpointFile) finish(r *runtime.Result, interrupted bool) {
	if r.Checkpoint == nil || !(f.asked || f.written || interrupted && r.Status != status.LimitReached) {
		return
	}
	f.failed = false
	f.keep(r.Checkpoint)
	if f.path != "" && !f.failed {
		f.app.note("checkpoint written; go on with --resume %s", f.path)
	}
}

// undelivered keeps the state from which a result that could not be written is made
// again.
func (f *checkpointFile) undelivered(r *runtime.Result) {
	if c, err := r.Rewind(); err == nil && c != nil && f.path != "" {
		f.failed = false
		if f.keep(c); !f.failed {
			f.app.tell("checkpoint written; --resume %s gives the result again", f.path)
		}
	}
}

// delivered removes the state of a run that has come to its end and was told of: to
// go on from it would be to repeat that end.
func (f *checkpointFile) delivered(r *runtime.Result) {
	if f.written && r.Checkpoint == nil {
		_ = os.Remove(f.path) // what stays gives the same result again
	}
}
