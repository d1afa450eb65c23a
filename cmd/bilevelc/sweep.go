package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bilevelc/internal/sweep"
	"bilevelc/internal/sweep/queue"
	"bilevelc/ir/datafile"
	"bilevelc/runtime/status"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	solveFlags
	over, draw []string
	draws      int
	drawSeed   uint64
	dir        string
	jobs       int
	shard      string
	retry      bool
	emit       string
	shards     int
	image      string
	claim      string
	serve      bool
	listen     string
	config     string
	nats       natsFlags
}

func (a *app) sweepCommand() *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep MODEL|PLAN.toml|DIR",
		Short: "Solve a model over many values of its parameters, data, seeds, starts and methods",
		Long: `sweep solves a model for every combination of the values of some axes (--over), for
random points (--draw), or for a list of jobs (in a plan). A sweep is a folder: the plan,
one result document a job, and a journal; running it again does what is missing.

An axis is a param or data of the model, or seed, start (of a run from many starts),
method, oracle, solver or data (a file). Values are FROM:TO:STEP, FROM..TO for whole
numbers, or a list. A plan is a file:

  model = "toll.blv"
  data = ["roads.csv"]
  set = {n = 5}
  [over]
  cap = "1:10:1"
  seed = "1..20"
  method = ["pgd", "goldstein"]
  [draw]
  slope = "uniform(0.5, 2)"     # or loguniform, integer, normal
  [draws]
  count = 50
  seed = 7

or, in the place of over and draw, a [[job]] for each job. It may set seed, method,
oracle, solver, starts, max_iter, time_limit and options for all.

Where it runs: on this machine, --jobs at a time; as the i-th of n processes that share
the disk (--shard; --emit writes the script for a cluster); or on workers that take jobs
from a queue (--serve, or --nats; see 'bilevelc worker --help'). Results do not depend on
where, but for what a --time-limit ends.

The folder holds plan.json, inputs/, results/KEY.json, failed/KEY.json and journal/. Two
documents are the same where their "seal" is, which is of all but the times.

Exit codes: 0 all jobs have a result (look at 'bilevelc sweep status DIR' for how they
ended), 1 some failed, 130 interrupted.`,
		Example: `  bilevelc sweep toll.blv --over cap=1:10:1 --over seed=1..20
  bilevelc sweep plan.toml --jobs 8
  bilevelc sweep toll.sweep                        # goes on with what is missing
  bilevelc sweep status toll.sweep
  bilevelc sweep table toll.sweep -o toll.parquet
  bilevelc sweep report toll.sweep -o toll.html
  bilevelc sweep toll.sweep --emit slurm --shards 32 > toll.sh
  bilevelc sweep toll.sweep --serve --listen 127.0.0.1:4222`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("%s takes a model, a plan or a folder, not %d arguments\nSee '%s --help'.", cmd.CommandPath(), len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.sweep(cmd.Context(), args[0], f) },
	}
	fs := cmd.Flags()
	f.flags = fs
	fs.StringArrayVar(&f.over, "over", nil, "an axis of the grid: cap=1:10:1, seed=1..20, method=pgd,goldstein; repeatable")
	fs.StringArrayVar(&f.draw, "draw", nil, "a random value for each draw: slope=uniform(0.5,2); repeatable")
	fs.IntVar(&f.draws, "draws", 0, "how many random points")
	fs.Uint64Var(&f.drawSeed, "draw-seed", 0, "seed of the random points")
	fs.StringVar(&f.dir, "dir", "", "the sweep's folder (default: the name of the model or plan with .sweep)")
	fs.IntVarP(&f.jobs, "jobs", "j", 0, "jobs at a time in this process (default: one a processor; none with --serve and --nats)")
	fs.StringVar(&f.shard, "shard", "", "run a part of the jobs: i/n, or auto/n with i from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX")
	fs.BoolVar(&f.retry, "retry", false, "try jobs again that could not be run")
	fs.StringVar(&f.emit, "emit", "", "print a script for a cluster, and run nothing: slurm or k8s")
	fs.IntVar(&f.shards, "shards", 8, "processes in that script")
	fs.StringVar(&f.image, "image", "bilevelc", "container image in a manifest for k8s")
	fs.StringVar(&f.claim, "claim", "sweeps", "persistent volume claim with the folder, in a manifest for k8s")
	fs.BoolVar(&f.serve, "serve", false, "start a queue in this process for workers to take jobs from")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:4222", "where that queue listens; other machines need --nats-config")
	fs.StringVar(&f.config, "nats-config", "", "configuration file of the queue's server, in NATS's own form: users, TLS")
	f.nats.register(fs)
	f.inputs.register(fs)
	fs.StringVarP(&f.method, "method", "m", "", "outer method ("+names("method")+")")
	fs.StringVar(&f.oracle, "oracle", "", "hypergradient oracle ("+names("oracle")+")")
	fs.StringVar(&f.solver, "solver", "", "lower solver ("+names("solver")+")")
	fs.StringArrayVarP(&f.runFlags.options, "option", "o", nil, "setting of a method, oracle or solver, name=value; repeatable")
	fs.IntVar(&f.starts, "starts", 0, "number of starts of each job; for one job a start, --over start=1..N")
	fs.IntVar(&f.maxIter, "max-iter", 0, "outer iterations of each start")
	fs.DurationVar(&f.timeLimit, "time-limit", 0, "of each job")
	cmd.AddCommand(a.sweepStatusCommand(), a.sweepTableCommand(), a.sweepReportCommand())
	return cmd
}

// who names this process in journals.
func who() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

func (a *app) sweep(ctx context.Context, arg string, f *sweepFlags) error {
	shard := sweep.Shard{}
	var err error
	if f.shard != "" {
		if shard, err = sweep.ParseShard(f.shard, os.Getenv); err != nil {
			return usageError("--shard: %v", err)
		}
	}
	queued := f.serve || f.nats.url != ""
	switch {
	case f.serve && f.nats.url != "":
		return usageError("--serve starts a queue, --nats uses one: give one of them")
	case queued && f.shard != "":
		return usageError("a queue hands out jobs one by one; --shard is for processes without one")
	case f.flags.Changed("jobs") && f.jobs < 1, f.flags.Changed("shards") && f.shards < 1, f.flags.Changed("draws") && f.draws < 1:
		return usageError("--jobs, --shards and --draws are at least 1")
	}
	folder, err := a.sweepFolder(ctx, arg, f)
	if err != nil {
		return err
	}
	defer folder.Close()
	if f.emit != "" {
		path, err := filepath.Abs(folder.Path)
		if err != nil {
			return err
		}
		text, err := sweep.Emit(f.emit, sweep.Cluster{Folder: path, Name: strings.TrimSuffix(filepath.Base(path), ".sweep"), Shards: f.shards, Image: f.image, Claim: f.claim})
		if err != nil {
			return usageError("--emit: %v", err)
		}
		_, err = fmt.Fprint(a.io.out, text)
		return err
	}
	jobs := shard.Pick(folder.Plan, folder.Missing(f.retry))
	total := len(folder.Plan.Jobs)
	if shard.Of > 0 {
		total = len(shard.Pick(folder.Plan, folder.Plan.Jobs))
	}
	bar := a.meter("sweep", total-len(jobs), total)
	failed := 0
	watch := func(o sweep.Outcome) {
		note := ""
		if o.Err != nil {
			failed++
			note = "; " + clipped(o.Err.Error())
		}
		bar.step(o.Err != nil, note)
	}
	if queued {
		err = a.sweepQueue(ctx, folder, f, watch)
	} else {
		workers := f.jobs
		if workers == 0 {
			workers = goruntime.NumCPU()
		}
		err = folder.Run(ctx, jobs, workers, watch)
	}
	bar.close()
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		if !a.quiet {
			fmt.Fprintf(a.io.err, "interrupted; go on with: bilevelc sweep %s\n", folder.Path)
		}
		return &exitError{Code: status.Interrupted.Exit(false)}
	}
	if err != nil {
		return err
	}
	if !a.quiet {
		fmt.Fprintf(a.io.err, "%d of %d jobs have a result in %s\n", total-len(shard.Pick(folder.Plan, folder.Missing(true))), total, folder.Path)
	}
	if failed > 0 {
		return &exitError{Code: exitInternal, Err: fmt.Errorf("%d jobs could not be run; see 'bilevelc sweep status %s'", failed, folder.Path)}
	}
	return nil
}

// clipped keeps a message on a line.
func clipped(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 100 {
		s = string(r[:99]) + "…"
	}
	return s
}

// sweepFolder opens the sweep that the argument names, or makes it.
func (a *app) sweepFolder(ctx context.Context, arg string, f *sweepFlags) (*sweep.Folder, error) {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		for _, name := range []string{"over", "draw", "draws", "dir", "data", "set", "seed", "method", "oracle", "solver", "option", "starts", "max-iter", "time-limit"} {
			if f.flags.Changed(name) {
				return nil, usageError("%s is a sweep with a plan of its own: --%s belongs to a new one", arg, name)
			}
		}
		return a.openSweep(arg)
	}
	var fixed sweep.Fixed
	var space sweep.Space
	model, dataFiles, base := arg, slices.Clone(f.data), ""
	if strings.HasSuffix(arg, ".toml") {
		text, err := a.readFile(ctx, arg, maxModel)
		if err != nil {
			return nil, a.unreadable(arg, err, exitUsage)
		}
		var file *sweep.File
		if file, fixed, space, err = sweep.ParseFile(arg, string(text)); err != nil {
			return nil, usageError("%v", err)
		}
		base = filepath.Dir(arg)
		model, dataFiles = file.Model, append(slices.Clone(file.Data), f.data...)
	} else {
		fixed.Seed = f.seed
	}
	if err := f.overlay(&fixed, &space); err != nil {
		return nil, err
	}
	inputs := map[string][]byte{}
	read := func(spec string) (sweep.Input, error) {
		name, path := "", spec
		if before, after, ok := strings.Cut(spec, "="); ok && !strings.ContainsAny(before, `/\.`) {
			name, path = before+"=", after
		}
		if base != "" && !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		text, err := a.readFile(ctx, path, datafile.MaxFile)
		if err != nil {
			return sweep.Input{}, a.unreadable(path, err, exitData)
		}
		hash := sweep.HashOf(text)
		inputs[hash] = text
		return sweep.Input{Name: name + path, Hash: hash}, nil
	}
	var err error
	if fixed.Model, err = read(model); err != nil {
		return nil, err
	}
	for _, spec := range dataFiles {
		input, err := read(spec)
		if err != nil {
			return nil, err
		}
		fixed.Data = append(fixed.Data, input)
	}
	space.Data = map[string]sweep.Input{}
	named := func(spec string) error {
		input, err := read(spec)
		space.Data[spec] = input
		return err
	}
	for _, axis := range space.Axes {
		if axis.Name == "data" {
			for _, spec := range axis.Values {
				if err := named(spec); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, job := range space.List {
		if spec := job["data"]; spec != "" {
			if err := named(spec); err != nil {
				return nil, err
			}
		}
	}
	// A model with an error is told before anything is written.
	if _, err := a.compileText(ctx, fixed.Model.Name, inputs[fixed.Model.Hash]); err != nil {
		return nil, err
	}
	plan, err := sweep.NewPlan(fixed, space)
	if err != nil {
		return nil, usageError("%v", err)
	}
	dir := f.dir
	if dir == "" {
		dir = strings.TrimSuffix(strings.TrimSuffix(arg, ".toml"), ".blv") + ".sweep"
	}
	folder, err := sweep.Create(dir, plan, inputs, who())
	if errors.Is(err, sweep.ErrOtherPlan) {
		return nil, usageError("%v", err)
	}
	return folder, err
}

// overlay takes what the flags say over a plan's.
func (f *sweepFlags) overlay(fixed *sweep.Fixed, space *sweep.Space) error {
	settings, err := f.settings()
	if err != nil {
		return err
	}
	for name, v := range settings {
		if fixed.Options == nil {
			fixed.Options = map[string]any{}
		}
		fixed.Options[name] = v
	}
	if f.flags.Changed("seed") {
		fixed.Seed = f.seed
	}
	for _, c := range []struct {
		name string
		from string
		to   *string
	}{{"method", f.method, &fixed.Method}, {"oracle", f.oracle, &fixed.Oracle}, {"solver", f.solver, &fixed.Solver}} {
		if f.flags.Changed(c.name) {
			*c.to = c.from
		}
	}
	for _, c := range []struct {
		name string
		from int
		to   *int
	}{{"starts", f.starts, &fixed.Starts}, {"max-iter", f.maxIter, &fixed.MaxIter}} {
		if f.flags.Changed(c.name) {
			if c.from < 1 {
				return usageError("--%s is at least 1, not %d", c.name, c.from)
			}
			*c.to = c.from
		}
	}
	if f.flags.Changed("time-limit") {
		if f.timeLimit <= 0 {
			return usageError("--time-limit is a positive duration, not %v", f.timeLimit)
		}
		fixed.Limit = f.timeLimit
	}
	fixed.Set = append(fixed.Set, f.set...)
	for _, text := range f.over {
		axis, err := sweep.ParseAxis(text)
		if err != nil {
			return usageError("--over: %v", err)
		}
		space.Axes = append(space.Axes, axis)
	}
	for _, text := range f.draw {
		d, err := sweep.ParseDraw(text)
		if err != nil {
			return usageError("--draw: %v", err)
		}
		space.Draw = append(space.Draw, d)
	}
	if f.flags.Changed("draws") {
		space.Draws = f.draws
	}
	if f.flags.Changed("draw-seed") {
		space.Seed = f.drawSeed
	}
	return nil
}

// openSweep opens a folder.
func (a *app) openSweep(dir string) (*sweep.Folder, error) {
	folder, err := sweep.Open(dir, who())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("%s is no sweep: it has no plan.json", dir)
	}
	if err != nil {
		return nil, &exitError{Code: exitData, Err: err}
	}
	return folder, nil
}

// sweepQueue has workers do the jobs: those of other processes, and --jobs here.
func (a *app) sweepQueue(ctx context.Context, folder *sweep.Folder, f *sweepFlags, watch func(sweep.Outcome)) error {
	url := f.nats.url
	if f.serve {
		at, stop, err := queue.Serve(folder, f.listen, f.config)
		if err != nil {
			return usageError("--serve: %v", err)
		}
		defer stop()
		url = at
		if !a.quiet {
			fmt.Fprintf(a.io.err, "the queue is at %s; start workers with: bilevelc worker --nats %s\n", at, at)
		}
	}
	conn, err := f.nats.connect(url, "sweep "+who())
	if err != nil {
		return err
	}
	defer conn.Close()
	if f.jobs > 0 {
		local, err := f.nats.connect(url, "worker "+who())
		if err != nil {
			return err
		}
		defer local.Close()
		working, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w := &queue.Worker{Conn: local, Name: who(), Jobs: f.jobs}
			_ = w.Run(working) // its jobs go to others
		}()
		defer func() { stop(); <-ended }()
	}
	c := &queue.Coordinator{Folder: folder, Conn: conn, Watch: watch, Retry: f.retry, Redeliver: f.nats.redeliver}
	return c.Run(ctx)
}

// solveBySweep is solve with its starts as the jobs of a sweep: each starts where it
// would among the others, and the best is printed.
func (a *app) solveBySweep(ctx context.Context, path string, f *solveFlags) error {
	for _, name := range []string{"start", "resume", "checkpoint", "checkpoint-every", "trace", "check-gradient", "strict", "ignore-undeclared"} {
		if flag := f.flags.Lookup(name); flag != nil && flag.Changed {
			return usageError("--%s is of a run in one piece; --sweep makes a job of each start", name)
		}
	}
	if f.starts < 2 {
		return usageError("--sweep is for several starts: give --starts N")
	}
	sf := &sweepFlags{solveFlags: *f, dir: f.sweep, jobs: f.threads}
	sf.over = []string{fmt.Sprintf("start=1..%d", f.starts)}
	sf.flags = pflag.NewFlagSet("sweep", pflag.ContinueOnError)
	f.flags.VisitAll(func(flag *pflag.Flag) { // what the user gave holds for every job
		if flag.Name != "starts" {
			sf.flags.AddFlag(flag)
		}
	})
	sf.starts = 0
	folder, err := a.sweepFolder(ctx, path, sf)
	if err != nil {
		return err
	}
	defer folder.Close()
	missing := folder.Missing(true)
	bar := a.meter("starts", len(folder.Plan.Jobs)-len(missing), len(folder.Plan.Jobs))
	var fault error
	err = folder.Run(ctx, missing, max(1, f.threads), func(o sweep.Outcome) {
		if fault == nil {
			fault = o.Err
		}
		bar.step(o.Err != nil, "")
	})
	bar.close()
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		if !a.quiet {
			fmt.Fprintf(a.io.err, "interrupted; the same command goes on with what is missing in %s\n", folder.Path)
		}
	case err != nil:
		return err
	case fault != nil: // of the model or its data: every start has it
		_ = os.RemoveAll(filepath.Join(folder.Path, "failed"))
		return runError(errors.Unwrap(fault))
	}
	best, failed := folder.Best()
	if failed != nil {
		return failed
	}
	if best == nil {
		return &exitError{Code: status.Interrupted.Exit(false)}
	}
	shown := best
	if !f.json {
		ends, failed := folder.Ends()
		if failed != nil {
			return failed
		}
		shown = best.OfStarts(ends)
	}
	if err := a.show(shown, f.runFlags); err != nil {
		return err
	}
	if err != nil {
		return &exitError{Code: status.Interrupted.Exit(true)}
	}
	return statusError(best)
}
