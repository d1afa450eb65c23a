package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/method"
	"bilevelc/runtime/status"
)

// solveFlags are the flags of solve.
type solveFlags struct {
	inputs
	runFlags
	jobFlags
	outputs
	proof   string
	start   string
	memory  size
	threads int
	trace   string
	// checkpoint is the file that a run which did not end writes its state to,
	// resume the one to go on from.
	checkpoint, resume string
	checkpointEvery    time.Duration
	// sweep is the folder of a sweep whose jobs the starts are.
	sweep string
	flags *pflag.FlagSet
}

// runFlags are the flags that solve and eval share.
type runFlags struct {
	methodFlags
	check   bool
	json    bool
	all     bool
	explain bool
}

// methodFlags say how the follower is solved, and gradients are made.
type methodFlags struct {
	oracle, solver string
	options        []string
}

// jobFlags are the flags that solve shares with each job of a sweep.
type jobFlags struct {
	method        string
	starts        int
	gap           float64
	nodes         int64
	global, local bool
	maxIter       int
	timeLimit     time.Duration
}

func (in *inputs) register(fs *pflag.FlagSet) {
	fs.StringArrayVarP(&in.data, "data", "d", nil, "data file (JSON, CSV, .npy, .npz, .mtx, .parquet, .xlsx; - for standard input), or name=file; repeatable")
	fs.StringArrayVarP(&in.set, "set", "s", nil, "param or data by value, n=5; repeatable")
	fs.Uint64Var(&in.seed, "seed", 1, "seed of all randomness: generated data, starts, samples")
	fs.BoolVar(&in.ignore, "ignore-undeclared", false, "leave out data, and columns of tables, that the model does not declare")
	fs.StringVar(&in.aux, "aux", "", "auxiliary file of a model that is an MPS file (default: the one of its name)")
	fs.BoolVar(&in.strict, "strict", false, "treat what the compiler cannot prove as an error")
}

// of records where a result's model and data came from.
func (in *inputs) of(model string) *runtime.Inputs {
	return &runtime.Inputs{Model: model, Data: in.data, Set: in.set, DataSeed: in.seed, Ignore: in.ignore}
}

func (m *methodFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&m.oracle, "oracle", "", "hypergradient oracle ("+names("oracle")+")")
	fs.StringVar(&m.solver, "solver", "", "lower solver ("+names("solver")+")")
	fs.StringArrayVarP(&m.options, "option", "o", nil, "setting of a method, oracle or solver, name=value (see 'bilevelc methods'); repeatable")
}

// register registers the flags of a run; what is what the time limit ends.
func (j *jobFlags) register(fs *pflag.FlagSet, what string) {
	fs.StringVarP(&j.method, "method", "m", "", "outer method ("+names("method")+")")
	fs.IntVar(&j.starts, "starts", 0, "number of starts, of which the best result is returned; 0: as many as a stopping rule asks for where x and y are small, else what a quarter of a second has room for, and others from the lowest of points all over X where the search for the global optimum ends undecided")
	fs.Float64Var(&j.gap, "gap", 0, "relative gap of objective and bound at which the search for the global optimum ends (0: 1e-6)")
	fs.Int64Var(&j.nodes, "nodes", 0, "most nodes of the search for the global optimum; 0: one to three seconds of work, or a quarter of the local solve's")
	fs.BoolVar(&j.global, "global", false, "search for the global optimum until it is proved or a limit is met")
	fs.BoolVar(&j.local, "local", false, "do not search for the global optimum: a local solution only")
	fs.IntVar(&j.maxIter, "max-iter", 0, "outer iterations of each start")
	fs.DurationVar(&j.timeLimit, "time-limit", 0, "end "+what+" after this long, with the best point (30s, 5m)")
}

// valid refuses values that no run can have; 0 of some stands for the default.
func (j *jobFlags) valid(fs *pflag.FlagSet) {
	atLeast(fs, "starts", int64(j.starts), 0)
	atLeast(fs, "nodes", j.nodes, 0)
	atLeast(fs, "max-iter", int64(j.maxIter), 1)
	positive(fs, "time-limit", j.timeLimit)
	hold(!fs.Changed("gap") || j.gap >= 0, "--gap is not below 0, and not %v", j.gap)
	hold(!j.local || !j.global && !fs.Changed("gap") && !fs.Changed("nodes"), "--local leaves out the search that --global, --gap and --nodes are about")
}

// atLeast refuses a number that the user gave and that is too small.
func atLeast(fs *pflag.FlagSet, name string, value, least int64) {
	hold(!fs.Changed(name) || value >= least, "--%s is at least %d, not %d", name, least, value)
}

// positive refuses a duration that the user gave and that is none.
func positive(fs *pflag.FlagSet, name string, value time.Duration) {
	hold(!fs.Changed(name) || value > 0, "--%s is a positive duration, not %v", name, value)
}

func (r *runFlags) register(fs *pflag.FlagSet) {
	r.methodFlags.register(fs)
	fs.BoolVar(&r.check, "check-gradient", false, "compare the hypergradient with finite differences of F")
	fs.BoolVar(&r.json, "json", false, "print the result document")
	fs.BoolVar(&r.all, "all", false, "print every entry of long vectors")
	fs.BoolVar(&r.explain, "explain-result", false, "say what solved, proved, biactive, tie and safe point mean for this result")
}

func names(kind string) string { return strings.Join(methodNames(kind), ", ") }

func (a *app) solveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "solve MODEL",
		Short: "Solve a model",
		Example: `  bilevelc solve toll.blv
  bilevelc solve toy.blv --data toy.json --starts 5 --seed 7
  bilevelc solve ridge.blv -d X=X.npy -d t=t.csv -d Xv=Xv.npy -d tv=tv.csv --json > result.json`,
	}
	a.solveInto(cmd)
	return cmd
}

// solveInto makes a command solve: `bilevelc MODEL` is `bilevelc solve MODEL`.
func (a *app) solveInto(cmd *cobra.Command) {
	f := &solveFlags{}
	f.register(cmd.Flags())
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		if len(args) == 0 && cmd.HasSubCommands() {
			return cmd.Help()
		}
		for _, arg := range args {
			if name, value, ok := strings.Cut(arg, "="); ok && name != "" && value != "" {
				return usageError("%s takes one model; did you mean `--set %s`?", cmd.CommandPath(), arg)
			}
		}
		if cmd.HasSubCommands() {
			if _, err := os.Stat(args[0]); err != nil {
				if hint := diag.DidYouMean(args[0], each.Of(cmd.Commands(), (*cobra.Command).Name)); hint != "" {
					return usageError("there is no command %s%s\nSee '%s --help'.", args[0], hint, cmd.CommandPath())
				}
			}
		}
		return usageError("%s takes one model, not %d arguments\nSee '%s --help'.", cmd.CommandPath(), len(args), cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil // help was shown
		}
		return a.solve(cmd.Context(), args[0], f)
	}
}

func (a *app) solve(ctx context.Context, path string, f *solveFlags) error {
	if f.sweep != "" {
		return a.solveBySweep(ctx, path, f)
	}
	began := time.Now()
	unlimited := ctx
	ctx, cancel := f.limited(ctx) // the whole command, but for a proof
	defer cancel()
	f.outputs.validate(f.json)
	kept := newCheckpointFile(a, path, f.checkpoint)
	var result *runtime.Result
	var problem *runtime.Problem
	var trace error
	err := must.Try(func() { result, problem, trace = a.run(ctx, path, f, kept) })
	if stopped, ok := errors.AsType[*stoppedError](err); ok {
		how, _ := stopped.ended()
		result, err = runtime.Unfinished(path, how, stopped.Error()), nil
	}
	if shown := emptyBefore(path, err); shown != nil {
		result, err = shown, nil
	}
	must.Do(err)
	a.timed(result, began)
	result.Inputs = f.inputs.of(path)
	unproved := must.Get(a.present(unlimited, ctx, result, problem, f, kept))
	ended := statusError(result)
	if own := (*exitError)(nil); unproved != nil && errors.As(ended, &own) { // as of rows that contradict each other: the run says how it ended
		unproved = &exitError{Code: own.Code, Err: errors.Unwrap(unproved)}
	}
	return cmp.Or(trace, unproved, ended)
}

// present keeps the state of a run that goes on, and gives its result in all forms that were asked for. unproved is why there is no proof.
func (a *app) present(unlimited, ctx context.Context, r *runtime.Result, p *runtime.Problem, f *solveFlags, kept *checkpointFile) (unproved, err error) {
	// The state goes first, for a result can be made again from it, not the other way.
	kept.finish(r, ctx.Err() != nil)
	unproved = a.writeProof(unlimited, ctx, r, f.proof)
	if err = must.Try(func() {
		must.Do(a.show(r, f.runFlags))
		a.more(r, p, f.outputs)
	}); err != nil {
		kept.undelivered(r)
		return nil, fmt.Errorf("the result could not be written: %w", err)
	}
	kept.delivered(r)
	return unproved, nil
}

// run is the command up to its result, and the problem that it is of.
func (a *app) run(ctx context.Context, path string, f *solveFlags, kept *checkpointFile) (
	result *runtime.Result, problem *runtime.Problem, trace error) {
	opts := f.options(ctx, a)
	problem = a.loadBound(ctx, path, f.inputs)
	result, trace, err := a.watched(opts, f.trace, kept, func(opts runtime.Options) (*runtime.Result, error) { return problem.Solve(ctx, opts) })
	must.Do(runError(err, f.start))
	return result, problem, trace
}

// watched has a run shown and kept while it goes on. trace is the error of a trace that
// is not whole, which leaves the result as it is.
func (a *app) watched(opts runtime.Options, file string, kept *checkpointFile, solve func(runtime.Options) (*runtime.Result, error)) (
	result *runtime.Result, trace, err error) {
	progress := a.progress(file)
	defer func() { trace = progress.close() }()
	opts.Observer, opts.Announce, opts.Keep = progress.observe, progress.announce, kept.keep
	result, err = solve(opts)
	progress.clear()
	return result, nil, err
}

// timed gives a result the time of the whole command, reading included.
func (a *app) timed(r *runtime.Result, began time.Time) *runtime.Result {
	r.Phases.Read = a.reading.Seconds()
	r.Time = time.Since(began).Seconds()
	return r
}

// options reads the flags. The time limit is not among them: the command's context
// holds all of it to that.
func (f *solveFlags) options(ctx context.Context, a *app) runtime.Options {
	settings := f.settings()
	f.valid(f.flags)
	atLeast(f.flags, "threads", int64(f.threads), 1)
	positive(f.flags, "checkpoint-every", f.checkpointEvery)
	hold(!f.local || f.proof == "", "--local leaves out the search that --proof is of")
	for _, file := range [...][2]string{{"--proof", f.proof}, {"--checkpoint", f.checkpoint}, {"--trace", f.trace}} {
		if file[1] != "" {
			plainFile(file[0], file[1])
		}
	}
	hold(f.start == "" || f.resume == "", "--start and --resume exclude each other: a run that goes on has its start already")
	opts := runtime.Options{Method: f.method, Oracle: f.oracle, Solver: f.solver, Settings: settings,
		Starts: f.starts, Seed: f.seed, MaxIter: f.maxIter, Threads: f.threads, CheckGradient: f.check, KeepEvery: f.checkpointEvery, Gap: f.gap, Nodes: f.nodes}
	opts.Search = must.Get(runtime.ParseSearch(sweep.SearchOf(f.global, f.local)))
	if f.start != "" {
		opts.Start = a.readPoint(ctx, f.start)
	}
	if f.resume != "" {
		var err error
		opts.Resume, err = runtime.ReadCheckpoint(a.textOf(ctx, f.resume, maxDocument, exitUsage))
		hold(err == nil, "--resume %s: %v", f.resume, err)
	}
	return opts
}

func (f *solveFlags) register(fs *pflag.FlagSet) {
	f.flags = fs
	f.inputs.register(fs)
	f.runFlags.register(fs)
	f.jobFlags.register(fs, "the command")
	f.outputs.register(fs)
	fs.StringVar(&f.proof, "proof", "", "write the proof of the bound on all x to this file, for 'bilevelc verify'")
	fs.StringVar(&f.sweep, "sweep", "", "make the starts the jobs of a sweep in this folder, which goes on where it was left and may be shared by machines (see 'bilevelc sweep --help'), and print the best")
	fs.StringVar(&f.start, "start", "", "JSON file with upper variables to start from, or a result document")
	fs.Var(&f.memory, "memory-limit", "end it, with the best point, where it needs more memory than this (500MB, 4GiB; default: that of GOMEMLIMIT)")
	fs.IntVar(&f.threads, "threads", 1, "starts solved at once; the result does not depend on it")
	fs.StringVar(&f.checkpoint, "checkpoint", "", "file for the state of a run that goes on, meets a limit or is interrupted (of long and interrupted runs: MODEL.checkpoint.json)")
	fs.DurationVar(&f.checkpointEvery, "checkpoint-every", 30*time.Second, "how often a run that goes on writes it; a run that is killed loses no more than that and the iteration at work")
	fs.StringVar(&f.resume, "resume", "", "go on from a checkpoint")
	fs.StringVar(&f.trace, "trace", "", "write one JSON line an iteration to this file")
}

// settings reads --option name=value.
func (m *methodFlags) settings() method.Values {
	values := method.Values{}
	for _, text := range m.options {
		name, value, ok := strings.Cut(text, "=")
		hold(ok, "--option takes name=value, not %q", text)
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		} else {
			values[name] = value
		}
	}
	return values
}

// documentHead is how a result document begins, whole or not.
var documentHead = regexp.MustCompile(`^\s*{\s*"schema"\s*:\s*\d+\s*,\s*"model"\s*:\s*"`)

// readPoint reads upper variables from a JSON file: of their names, or a result document.
func (a *app) readPoint(ctx context.Context, path string) runtime.Values {
	text, err := a.readFile(ctx, path, maxDocument)
	name, value, ok := strings.Cut(path, "=")
	hold(!ok || !errors.Is(err, fs.ErrNotExist), "%s is no file: a point is a JSON file with the upper variables, such as {%q: %s}", path, name, value)
	hold(err == nil || !strings.HasPrefix(path, "{"), "a point is a file with this, or standard input: write it into one, or to a pipe, as in `echo '%s' | bilevelc ... -`", path)
	must.Do(unreadable(path, err, exitData))
	fails := func(format string, args ...any) {
		must.Do(coded(exitData, fmt.Errorf("%s "+format, append([]any{path}, args...)...)))
	}
	switch r, err := runtime.ReadResult(text); {
	case err == nil && r.HasPoint():
		return r.Upper.Variables
	case err == nil:
		fails("is a result without a point: %s (%s)", r.Status, r.Reason)
	case documentHead.Match(text):
		fails("is no point: %w", err)
	}
	if first := strings.TrimSpace(string(text)); first != "" && first[0] != '{' {
		fails("does not hold an object: a point names the upper variables, as in {\"x\": [1, 2]}")
	}
	set, diags := datafile.Read(datafile.JSON, path, string(text), "")
	must.Do(diags.Err())
	return pointOf(set)
}

func pointOf(set *data.Set) runtime.Values {
	var point runtime.Values
	for _, e := range set.Entries {
		switch {
		case e.Keyed != nil:
			point = append(point, runtime.ByLabel(e.Name, e.Keyed))
		case e.Array == nil: // labels or a table: no value of a variable
			point = append(point, runtime.Value{Name: e.Name, Shape: []int{0}})
		default:
			point = append(point, runtime.Value{Name: e.Name, Shape: e.Array.Shape, Data: e.Array.Values()})
		}
	}
	return point
}

// emptyBefore is the result of a run that ended before it began since its data show that nothing is feasible, which is a status as if a
// solve had found it; nil for other errors.
func emptyBefore(model string, err error) *runtime.Result {
	diags, ok := errors.AsType[diag.List](err)
	if class, _ := diags.Class(); !ok || class != diag.InfeasibleClass {
		return nil
	}
	first := slices.IndexFunc(diags, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error })
	result := runtime.Unfinished(model, status.Infeasible, diags[first].Summary)
	result.Diagnostics = diags
	return result
}

// runError gives an error of the runtime its exit code. point is the file of the run's point, whose faults are of data; "" for none.
func runError(err error, point string) error {
	usage, ok := errors.AsType[*runtime.UsageError](err)
	switch {
	case !ok:
		return err
	case usage.Point && point != "":
		return coded(exitData, fmt.Errorf("%s: %w", point, usage.Err))
	}
	return coded(exitUsage, usage.Err)
}

// show writes the result, and on the error stream where in the model a
// failure has its cause.
func (a *app) show(r *runtime.Result, f runFlags) error {
	a.reportDiagnostics(r.Diagnostics)
	if f.json {
		text := must.Get(json.Marshal(r))
		_, err := fmt.Fprintf(a.io.out, "%s\n", text)
		return err
	}
	opts := runtime.TextOptions{MaxEntries: 12, Phases: a.verbose}
	if isTerminal(a.io.out) {
		opts.Width = a.columns()
	}
	if f.all {
		opts.MaxEntries = 0
	}
	if err := r.WriteText(a.io.out, opts); err != nil || !f.explain {
		return err
	}
	return a.explainResult(r)
}

// explainResult says what the words of a result mean for it.
func (a *app) explainResult(r *runtime.Result) error {
	_, err := fmt.Fprintf(a.io.out, "\n%s\n", strings.Join(r.Words(), "\n"))
	return err
}

// statusError is the exit code of a status; nil for a solved model.
func statusError(r *runtime.Result) error {
	if r.Status == runtime.Solved {
		return nil
	}
	return &exitError{Code: r.Status.Exit(r.HasPoint())}
}
