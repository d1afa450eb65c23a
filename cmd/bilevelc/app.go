package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/status"
)

// stdio is where a command reads and writes.
type stdio struct {
	in  io.Reader
	out io.Writer // results only
	err io.Writer // diagnostics, progress, logs
}

// app is one run of the command line.
type app struct {
	io    stdio
	color string
	quiet bool
	args  []string // of the command line
	aux   string   // the auxiliary file of an MPS file; "" for the one beside it
	// verbose adds to results where the time went.
	verbose bool
	reading time.Duration // of files, so far
}

// inputs are the flags that bind a model.
type inputs struct {
	data   []string
	set    []string
	seed   uint64
	strict bool
	ignore bool // what the model does not declare
	aux    string
}

// Most bytes of a model, whose numbers belong into data files, and of the documents
// that the command itself writes.
const (
	maxModel    = 1 << 24
	maxDocument = 1 << 30
)

// load compiles the model and reports its warnings.
func (a *app) load(ctx context.Context, path string) *runtime.Model {
	model := a.compile(ctx, path)
	a.reportDiagnostics(model.Warnings)
	return model
}

// loadBound reads, compiles and binds a model.
func (a *app) loadBound(ctx context.Context, path string, in inputs) *runtime.Problem {
	a.aux = in.aux
	return a.bind(ctx, a.load(ctx, path), in)
}

// compile reads and compiles a model.
func (a *app) compile(ctx context.Context, path string) *runtime.Model {
	text := a.textOf(ctx, path, maxModel, exitUsage)
	if !runtime.IsMPS(path) {
		return a.compileText(ctx, path, text)
	}
	name, aux := a.auxiliary(ctx, path)
	return must.Get(during(ctx, "compiling "+path, func() (*runtime.Model, error) {
		return runtime.CompileMPS(ctx, path, string(text), name, aux)
	}))
}

// auxiliary reads the auxiliary file of an MPS file.
func (a *app) auxiliary(ctx context.Context, path string) (name, text string) {
	if name = a.aux; name == "" {
		name = runtime.AuxPath(path)
		if older := strings.TrimSuffix(name, ".aux") + ".txt"; !there(name) && there(older) { // so in MibS's own collection
			name = older
		}
	}
	read, err := a.readFile(ctx, name, maxModel)
	hold(err == nil || a.aux != "", "an MPS file is a bilevel program by its auxiliary file, which says what the follower decides: %w; --aux names another one", err)
	must.Do(unreadable(name, err, exitUsage))
	return name, string(read)
}

// there reports that a path names something.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compileText compiles a model that has been read.
func (a *app) compileText(ctx context.Context, path string, text []byte) *runtime.Model {
	return must.Get(during(ctx, "compiling "+path, func() (*runtime.Model, error) { return runtime.CompileContext(ctx, path, string(text)) }))
}

// readFile reads a file, or standard input where the path is "-".
func (a *app) readFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	began := time.Now()
	defer func() { a.reading += time.Since(began) }()
	return during(ctx, "reading "+path, func() ([]byte, error) {
		text, err := datafile.ReadFile(path, a.io.in, limit)
		return []byte(text), err
	})
}

// textOf is what is in a file; code is of one that cannot be read.
func (a *app) textOf(ctx context.Context, path string, limit int64, code int) []byte {
	text, err := a.readFile(ctx, path, limit)
	must.Do(unreadable(path, err, code))
	return text
}

// unreadable is the error of a file that cannot be read.
func unreadable(path string, err error, code int) error {
	if err == nil || errors.As(err, new(*stoppedError)) {
		return err
	}
	var known *fs.PathError // it has the path
	if !errors.As(err, &known) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return &exitError{Code: code, Err: err}
}

// bind reads the data and binds the model to it.
func (a *app) bind(ctx context.Context, model *runtime.Model, in inputs) *runtime.Problem {
	set := a.readData(ctx, in)
	problem, err := during(ctx, "binding the data and proving what can be proved", func() (*runtime.Problem, error) {
		return model.BindSet(set, runtime.BindOptions{Context: ctx, Seed: in.seed, Strict: in.strict, IgnoreUndeclared: in.ignore})
	})
	must.Do(besideModel(model, in, err))
	a.reportDiagnostics(problem.Warnings)
	return problem
}

// besideModel names the data file of the model's own name and folder, where data were missing and no file was given.
func besideModel(model *runtime.Model, in inputs, err error) error {
	var list diag.List
	path := model.Program.File.Source.Name
	name := strings.TrimSuffix(path, filepath.Ext(path)) + ".json"
	if info, failed := os.Stat(name); len(in.data) > 0 || !errors.As(err, &list) || failed != nil || info.IsDir() {
		return err
	}
	for _, d := range list {
		if d.Code == diag.BindNoData {
			d.Fix = fmt.Sprintf("give the file beside the model, `--data %s`, or another", name)
		}
	}
	return err
}

func (a *app) readData(ctx context.Context, in inputs) *data.Set {
	began := time.Now()
	defer func() { a.reading += time.Since(began) }()
	return must.Get(during(ctx, "reading the data", func() (*data.Set, error) {
		var all datafile.Sum
		for _, spec := range in.data {
			all.Add(datafile.Load(spec, a.io.in))
		}
		for _, spec := range in.set {
			all.Add(datafile.ParseSet(spec))
		}
		return &all.Set, all.Diagnostics.Err()
	}))
}

// stoppedError is the end of the command's context in a phase that has nothing to
// show for itself.
type stoppedError struct {
	phase string
	cause error
}

func (e *stoppedError) Error() string {
	_, reason := e.ended()
	return fmt.Sprintf("%s, while %s", reason, e.phase)
}

// ended is how a run that stopped there has ended.
func (e *stoppedError) ended() (as status.Status, reason string) {
	if limit, ok := errors.AsType[status.Limit](e.cause); ok {
		return status.LimitReached, limit.Error()
	}
	return status.Interrupted, "interrupted"
}

// during does the work of a phase, unless the context ends first. Most work ends with
// it; what waits for a file or a pipe is left where it is.
func during[T any](ctx context.Context, phase string, work func() (T, error)) (T, error) {
	value, err := await.Do(ctx, work)
	return value, stopped(ctx, phase, err)
}

// stopped is a phase's error, which may be the end of its context.
func stopped(ctx context.Context, phase string, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return &stoppedError{phase: phase, cause: err}
	}
	return err
}

// reportDiagnostics renders diagnostics on the error stream; without --quiet
// warnings too.
func (a *app) reportDiagnostics(diags diag.List) {
	shown := diag.List(each.Where(diags, func(d *diag.Diagnostic) bool { return !a.quiet || d.Severity == diag.Error }))
	// An error of writing to the stream of errors cannot be reported anywhere.
	_ = diag.Render(a.io.err, shown.First(maxDiagnostics), diag.Style{Color: a.colored(a.io.err)})
}

// maxDiagnostics is how many diagnostics of one kind are shown: some screens; a file
// of garbage has one on every line.
const maxDiagnostics = 100

// colored tells whether a stream gets color: --color, then NO_COLOR, then
// whether it is a terminal.
func (a *app) colored(w io.Writer) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && isTerminal(w)
}

func isTerminal(stream any) bool {
	f, ok := fileOf(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}
