package runtime

import (
	"path/filepath"
	"strings"

	"bilevelc/runtime/document"
	"bilevelc/runtime/status"
)

// Unfinished is the result of a run that ended before there was a problem to solve:
// while the model at path was read, compiled or bound.
func Unfinished(path string, how status.Status, why string) *Result {
	r := &Result{Result: document.Result{Schema: SchemaVersion, Model: strings.TrimSuffix(filepath.Base(path), ".blv"), Status: how, Reason: why,
		Version: Version}}
	r.NoPoint()
	return r
}
