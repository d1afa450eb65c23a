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
	"fmt"
	"os"
	"sort"
	"time"

	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/curvature"
	"bilevelc/ir/data"
	"bilevelc/ir/separable"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// Model is a checked model, not yet bound to data.
type Model struct {
	Program *ir.Program
	// Warnings are the diagnostics that did not stop the compilation.
	Warnings diag.List

	took time.Duration // by Compile
}

// Compile parses and checks a model. The error is a diag.List with every
// error of the model, in order of place.
func Compile(name, text string) (*Model, error) {
	began := time.Now()
	file, diags := parser.ParseFile(diag.NewSource(name, text))
	if parser.NoModel(diags) {
		return nil, diags
	}
	if diags.HasErrors() {
		// Names and shapes of what parsed are checked all the same, so that
		// one run reports every error; what the parser already reported is
		// not reported twice (the checker skips what is broken). Warnings
		// are left out: what is never used may be used in a line that did
		// not parse.
		_, more := check.Check(file)
		for _, d := range more {
			if d.Severity == diag.Error {
				diags = append(diags, d)
			}
		}
		diags.Sort()
		return nil, diags
	}
	program, more := check.Check(file)
	diags = append(diags, more...)
	diags.Sort()
	if err := diags.Err(); err != nil {
		return nil, err
	}
	return &Model{Program: program, Warnings: diags, took: time.Since(began)}, nil
}

// CompileFile is Compile on a file.
func CompileFile(path string) (*Model, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Compile(path, string(text))
}

// BindOptions are the choices of binding.
type BindOptions struct {
	Seed uint64 // of generated data
	// Strict turns what the compiler could not prove into errors.
	Strict bool
	// Context ends the proofs early, and Bind with its cause; nil: nothing does.
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
func (m *Model) Bind(d Data, opts BindOptions) (*Problem, error) {
	set, err := d.set()
	if err != nil {
		return nil, err
	}
	return m.BindSet(set, opts)
}

// BindSet is Bind on arrays that were read from files.
func (m *Model) BindSet(set *data.Set, opts BindOptions) (*Problem, error) {
	watch := stopwatch{last: time.Now()}
	phases := Phases{Compile: m.took.Seconds()}
	bound, diags := bind.Bind(m.Program, set, opts.binding())
	if err := diags.Err(); err != nil {
		diags.Sort()
		return nil, diags
	}
	phases.Bind = watch.lap()
	rule, tau, err := tiesOf(bound)
	if err != nil {
		return nil, err
	}
	var t *ties
	if rule != "" {
		if bound, t, err = breakTies(bound, rule, tau); err != nil {
			return nil, fmt.Errorf("the regularized follower: %w", err)
		}
	}
	limits := bindProofs
	limits.Context = opts.Context
	proof := curvature.Prove(bound, limits)
	if ctx := opts.Context; ctx != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	diags = append(diags, proof.Diagnostics(opts.Strict)...)
	if err := diags.Err(); err != nil {
		diags.Sort()
		return nil, diags
	}
	phases.Prove = watch.lap()
	p, err := compileProblem(bound, proof)
	if err != nil {
		return nil, err
	}
	phases.Compile += watch.lap()
	p.Warnings, p.phases, p.ties = diags, phases, t
	return p, nil
}

// compileProblem compiles a bound problem for the solvers.
func compileProblem(bound *ir.Problem, proof *curvature.Proof) (*Problem, error) {
	bound.Facts, bound.Blocks = proof.Facts(), separable.Blocks(bound)
	objective := bound.Upper.Objective
	if bound.Penalized != nil {
		objective = bound.Penalized
	}
	f, err := compileFunction(bound, objective)
	if err != nil {
		return nil, fmt.Errorf("compiling the upper objective: %w", err)
	}
	g, err := compileFunction(bound, bound.Lower.Objective)
	if err != nil {
		return nil, fmt.Errorf("compiling the lower objective: %w", err)
	}
	numeric := lowerProblem(bound, f, g)
	if err := divide(bound, numeric); err != nil {
		return nil, fmt.Errorf("compiling the lower objective: %w", err)
	}
	return &Problem{IR: bound, Proof: proof, Numeric: numeric, f: f, g: g}, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
