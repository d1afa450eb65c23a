package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
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
}

// inputs are the flags that bind a model.
type inputs struct {
	data   []string
	set    []string
	seed   uint64
	strict bool
}

// load compiles the model and reports its warnings.
func (a *app) load(path string) (*runtime.Model, error) {
	text, err := a.readFile(path)
	if err != nil {
		return nil, &exitError{Code: exitUsage, Err: err}
	}
	model, err := runtime.Compile(path, string(text))
	if err != nil {
		return nil, err
	}
	a.reportDiagnostics(model.Warnings)
	return model, nil
}

// readFile reads a file, or standard input where the path is "-".
func (a *app) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(a.io.in)
	}
	return os.ReadFile(path)
}

// bind reads the data and binds the model to it.
func (a *app) bind(model *runtime.Model, in inputs) (*runtime.Problem, error) {
	set, err := a.readData(in)
	if err != nil {
		return nil, err
	}
	problem, err := model.BindSet(set, runtime.BindOptions{Seed: in.seed, Strict: in.strict})
	if err != nil {
		return nil, err
	}
	a.reportDiagnostics(problem.Warnings)
	return problem, nil
}

func (a *app) readData(in inputs) (*data.Set, error) {
	all := &data.Set{}
	var diags diag.List
	for _, spec := range in.data {
		set, more := datafile.Load(spec, a.io.in)
		diags = append(diags, more...)
		if set != nil {
			all.Entries = append(all.Entries, set.Entries...)
		}
	}
	for _, spec := range in.set {
		set, more := datafile.ParseSet(spec)
		diags = append(diags, more...)
		if set != nil {
			all.Entries = append(all.Entries, set.Entries...)
		}
	}
	return all, diags.Err()
}

// reportDiagnostics renders diagnostics on the error stream; without --quiet
// warnings too.
func (a *app) reportDiagnostics(diags diag.List) {
	var shown diag.List
	for _, d := range diags {
		if !a.quiet || d.Severity == diag.Error {
			shown = append(shown, d)
		}
	}
	// A stream that cannot be written to leaves nobody to tell.
	_ = diag.Render(a.io.err, shown, diag.Style{Color: a.colored(a.io.err)})
}

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
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
