// Package runtime is the embedding API of bilevelc: compile a model, bind it
// to data, solve it, read values by name.
//
//	model, err := runtime.CompileFile("toll.blv")
//	problem, err := model.Bind(runtime.Data{"demand": 7.0}, runtime.BindOptions{})
//	result, err := problem.Solve(ctx, runtime.Options{})
//	toll, _ := result.Upper.Variables.Get("toll")
//
// Errors of the model and of its data are a diag.List, whose entries have a
// code, a place and a fix. How a solve ended is not an error but the result's
// Status; the best point found comes with every status. The package never
// prints: progress goes to an Observer.
package runtime

import (
	"context"
	"os"
	"time"

	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/curvature"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime/input"
)

// Model is a checked model, not yet bound to data.
type Model struct {
	Program *ir.Program
	// Warnings are the diagnostics that did not stop the compilation.
	Warnings diag.List

	took     time.Duration // by Compile
	supplied *data.Set     // the model's own numbers; nil for models in the language
}

// Compile parses and checks a model. The error is a diag.List with every
// error of the model, in order of place.
func Compile(name, text string) (*Model, error) {
	return CompileContext(context.Background(), name, text)
}

// CompileContext is Compile, given up when ctx ends, at the next token or name: the
// error is then its cause.
func CompileContext(ctx context.Context, name, text string) (_ *Model, err error) {
	defer must.Catch(&err)
	began := time.Now()
	file, diags, err := parser.ParseFileContext(ctx, diag.NewSource(name, text))
	must.Do(err)
	model := checked(ctx, file, diags)
	model.took = time.Since(began)
	return model, nil
}

// CompileFile is Compile on a file, or on an MPS file with its auxiliary file beside it.
func CompileFile(path string) (_ *Model, err error) {
	defer must.Catch(&err)
	if IsMPS(path) {
		return compileMPSFile(path)
	}
	return Compile(path, string(must.Get(os.ReadFile(path))))
}

// Data gives numbers to a model by name, and Sparse a matrix by its entries: package input
// says which Go values serve.
type (
	Data   = input.Data
	Sparse = input.Sparse
)

// BindOptions are the choices of binding.
type BindOptions struct {
	Seed uint64 // of generated data
	// Strict turns what the compiler could not prove into errors.
	Strict bool
	// Context ends Bind early, with its cause: at the next expression or row of the
	// data, the next step of a proof, or the next function to compile. nil: nothing does.
	Context context.Context
	// IgnoreUndeclared leaves out data, and columns of tables, that the model
	// does not declare, rather than refuse them.
	IgnoreUndeclared bool
}

// binding are the options of package bind.
func (o BindOptions) binding() bind.Options {
	return bind.Options{Seed: o.Seed, IgnoreUndeclared: o.IgnoreUndeclared}
}

// bindProofs bound the proofs that go before a run: a tenth of what `check`
// spends, at most about a second on a dense lower level of a thousand
// variables. What is not proved within that is a warning, not an error.
var bindProofs = curvature.Options{MaxWork: curvature.Defaults().MaxWork / 10,
	Samples: curvature.Defaults().Samples, Seed: curvature.Defaults().Seed}

// Bind gives the model its data and compiles it. The error is a diag.List.
func (m *Model) Bind(d Data, opts BindOptions) (_ *Problem, err error) {
	defer must.Catch(&err)
	return m.BindSet(must.Get(d.Set()), opts)
}

// BindSet is Bind on arrays that were read from files.
func (m *Model) BindSet(set *data.Set, opts BindOptions) (*Problem, error) {
	return m.bindAfter(set, opts, nil)
}

// bindAfter is BindSet that takes over from an earlier problem of the model what has
// not changed; nil for none.
func (m *Model) bindAfter(set *data.Set, opts BindOptions, before *Problem) (_ *Problem, err error) {
	defer must.Catch(&err)
	s := begin(opts, bindProofs)
	s.before = before
	s.phases.Compile = m.took.Seconds()
	bound := must.Get(s.bind(m.Program, m.with(set), opts.binding()))
	if before != nil {
		must.Do(sameShapes(before.IR, bound))
	}
	p := must.Get(s.withTies(bound))
	opts.Context = nil // Update may come when it has ended
	p.origin = &origin{m, set, opts}
	return p, nil
}
