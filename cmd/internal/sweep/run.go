package sweep

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"bilevelc/internal/must"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// Inputs gives the bytes of an input by its hash.
type Inputs interface {
	Input(ctx context.Context, hash string) ([]byte, error)
}

// Runner runs jobs. Models that it has compiled are kept, and the last problems that
// it has bound. It may be used by several goroutines at a time.
type Runner struct {
	Inputs Inputs

	mu     sync.Mutex
	models map[string]*runtime.Model
	bound  []boundProblem // most recent last
}

type boundProblem struct {
	key     string
	problem *runtime.Problem
}

// problemsKept is how many bound problems a runner keeps: jobs that differ in their
// start or method alone come one after the other.
const problemsKept = 4

// FaultError is a job that cannot be run at all, by a fault in the model, in its data
// or in what is asked of it: another try would end so again.
type FaultError struct{ Err error }

func (e *FaultError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *FaultError) Unwrap() error { return e.Err }

// Run runs a job to its end. The error is a *FaultError, the cause of ctx, or one of
// reading the inputs. A job that ctx ends has no result.
func (r *Runner) Run(ctx context.Context, job Job) (*runtime.Result, error) {
	problem, err := r.problem(ctx, job)
	if err != nil {
		return nil, err
	}
	opts := runtime.Options{Method: job.Method, Oracle: job.Oracle, Solver: job.Solver, Settings: job.Options,
		Seed: job.Seed, Starts: job.Starts, MaxIter: job.MaxIter, TimeLimit: job.Limit}
	opts.Gap, opts.Nodes = job.Gap, job.Nodes
	if opts.Search, err = runtime.ParseSearch(job.Search); err != nil {
		return nil, fault(err)
	}
	if job.Start > 0 {
		opts.Starts, opts.FirstStart = 1, job.Start
	}
	result, err := problem.Solve(ctx, opts)
	if err != nil {
		return nil, fault(err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result.Inputs = &runtime.Inputs{Model: job.Model.Name, Set: job.Set, DataSeed: job.Seed}
	for _, d := range job.Data {
		result.Inputs.Data = append(result.Inputs.Data, d.Name)
	}
	return result, nil
}

// fault tells what is wrong with the job from what is wrong with this process.
func fault(err error) error {
	if errors.As(err, new(diag.List)) || errors.As(err, new(*runtime.UsageError)) {
		return &FaultError{err}
	}
	return err
}

// problem is the job's model bound to its data.
func (r *Runner) problem(ctx context.Context, job Job) (_ *runtime.Problem, err error) {
	defer must.Catch(&err)
	part := Fixed{Model: job.Model, Data: job.Data, Set: job.Set, Seed: job.Seed}
	key := part.key()
	r.mu.Lock()
	for _, b := range r.bound {
		if b.key == key {
			r.mu.Unlock()
			return b.problem, nil
		}
	}
	r.mu.Unlock()
	model := r.model(ctx, job.Model)
	var all datafile.Sum
	for _, input := range job.Data {
		text := must.Get(r.Inputs.Input(ctx, input.Hash))
		name, file := datafile.SplitSpec(input.Name)
		all.Add(datafile.Read(datafile.Auto, file, string(text), name))
	}
	for _, spec := range job.Set {
		all.Add(datafile.ParseSet(spec))
	}
	must.Do(fault(all.Diagnostics.Err()))
	problem, err := model.BindSet(&all.Set, runtime.BindOptions{Seed: job.Seed, Context: ctx})
	must.Do(fault(err))
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bound) == problemsKept {
		r.bound = append(r.bound[:0:0], r.bound[1:]...)
	}
	r.bound = append(r.bound, boundProblem{key, problem})
	return problem, nil
}

// model is a compiled model, each once.
func (r *Runner) model(ctx context.Context, input Input) *runtime.Model {
	key := input.Hash + " " + input.Name
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.models[key]; m != nil {
		return m
	}
	text := must.Get(r.Inputs.Input(ctx, input.Hash))
	m, err := runtime.CompileContext(ctx, input.Name, string(text))
	must.Do(fault(err))
	if r.models == nil {
		r.models = map[string]*runtime.Model{}
	}
	r.models[key] = m
	return m
}

// bindingName is the part of an input's name that decides what it binds: the name
// given with it, or that of the file.
func bindingName(spec string) string {
	name, path := datafile.SplitSpec(spec)
	if name != "" {
		return name + "=" + filepath.Ext(path)
	}
	return filepath.Base(path)
}
