package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/spf13/cobra"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/must"
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
	proofs     bool
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
oracle, solver, starts, max_iter, time_limit, options, and global, local, gap, nodes and
proof (as of solve's flags) for all. With a proof, each job writes that of its bound to
results/KEY.proof; 'bilevelc sweep verify DIR' checks results and proofs again.

Where it runs: on this machine, --jobs at a time; as the i-th of n processes that share
the disk (--shard; --emit writes the script for a cluster); or on workers that take jobs
from a queue (--serve, or --nats; see 'bilevelc worker --help'). Results do not depend on
where, but for what a --time-limit ends.

The folder holds plan.json, inputs/, results/KEY.json and KEY.proof, failed/KEY.json and
journal/. Two documents are the same where their "seal" is, which is of all but the times.

Exit codes: 0 all jobs have a result (look at 'bilevelc sweep status DIR' for how they
ended), 1 some failed, 130 interrupted.`,
		Example: `  bilevelc sweep toll.blv --over cap=1:10:1 --over seed=1..20
  bilevelc sweep plan.toml --jobs 8
  bilevelc sweep toll.sweep                        # goes on with what is missing
  bilevelc sweep status toll.sweep
  bilevelc sweep table toll.sweep -o toll.parquet
  bilevelc sweep report toll.sweep -o toll.html
  bilevelc sweep toll.blv --over cap=1:10:1 --proof && bilevelc sweep verify toll.sweep
  bilevelc sweep toll.sweep --emit slurm --shards 32 > toll.sh
  bilevelc sweep toll.sweep --serve --listen 127.0.0.1:4222`,
		Args: func(cmd *cobra.Command, args []string) error {
			hold(len(args) == 1, "%s takes a model, a plan or a folder, not %d arguments\nSee '%s --help'.", cmd.CommandPath(), len(args), cmd.CommandPath())
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.sweep(cmd.Context(), args[0], f) },
	}
	fs := cmd.Flags()
	f.flags = fs
	fs.StringArrayVar(&f.over, "over", nil, "an axis of the grid: cap=1:10:1, seed=1..20, method=pgd,goldstein, start=1..5 for a job of each start; repeatable")
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
	fs.BoolVar(&f.serve, "serve", false, "start a queue for workers to take jobs from")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:4222", "where that queue listens; other machines need --nats-config")
	fs.StringVar(&f.config, "nats-config", "", "configuration file of the queue's server, in NATS's own form: users, TLS")
	f.nats.register(fs)
	f.inputs.register(fs)
	f.methodFlags.register(fs)
	f.jobFlags.register(fs, "each job")
	fs.BoolVar(&f.proofs, "proof", false, "write the proof of each bound beside its result, for 'bilevelc sweep verify'")
	cmd.AddCommand(a.sweepStatusCommand(), a.sweepTableCommand(), a.sweepReportCommand(), a.sweepVerifyCommand())
	return cmd
}

// who names this process in journals.
func who() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d", cmp.Or(host, "host"), os.Getpid())
}

func (a *app) sweep(ctx context.Context, arg string, f *sweepFlags) error {
	var shard sweep.Shard
	var err error
	if f.shard != "" {
		shard, err = sweep.ParseShard(f.shard, os.Getenv)
		hold(err == nil, "--shard: %v", err)
	}
	queued := f.serve || f.nats.url != ""
	hold(!f.serve || f.nats.url == "", "--serve starts a queue, --nats uses one: give one of them")
	hold(!queued || f.shard == "", "a queue hands out jobs one by one; --shard is for processes without one")
	hold((f.jobs >= 1 || !f.flags.Changed("jobs")) && (f.shards >= 1 || !f.flags.Changed("shards")) && (f.draws >= 1 || !f.flags.Changed("draws")),
		"--jobs, --shards and --draws are at least 1")
	if queued {
		f.nats.valid()
		if !hasQueue && f.emit == "" {
			return a.queueProgram(ctx)
		}
	}
	folder := a.sweepFolder(ctx, arg, f)
	defer folder.Close()
	if f.emit != "" {
		path := must.Get(filepath.Abs(folder.Path))
		text, err := sweep.Emit(f.emit, sweep.Cluster{Folder: path, Name: strings.TrimSuffix(filepath.Base(path), ".sweep"), Shards: f.shards, Image: f.image, Claim: f.claim})
		hold(err == nil, "--emit: %v", err)
		_, err = fmt.Fprint(a.io.out, text)
		return err
	}
	jobs, total := folder.Missing(shard, f.retry), len(shard.Pick(folder.Plan))
	bar := a.meter("sweep", total-len(jobs), total)
	failed, unproved, why := 0, 0, ""
	watch := func(o sweep.Outcome) {
		note := ""
		if o.Unproved != "" {
			unproved, why = unproved+1, o.Unproved
		}
		if o.Err != nil {
			failed++
			note = "; " + clipped(o.Err.Error())
		}
		bar.step(o.Err != nil, note)
	}
	if queued {
		err = a.sweepQueue(ctx, folder, f, watch)
	} else {
		err = folder.Run(ctx, jobs, cmp.Or(f.jobs, goruntime.NumCPU()), watch)
	}
	bar.close()
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		a.note("interrupted; go on with: bilevelc sweep %s", folder.Path)
		return &exitError{Code: status.Interrupted.Exit(false)}
	}
	must.Do(err)
	a.note("%d of %d jobs have a result in %s", total-len(folder.Missing(shard, true)), total, folder.Path)
	if unproved > 0 {
		a.note("%d of them have no proof of their bound: %s", unproved, clipped(why))
	}
	if failed > 0 {
		err = fmt.Errorf("%d jobs could not be run; see 'bilevelc sweep status %s'", failed, folder.Path)
	}
	return coded(exitInternal, err)
}

// clipped keeps a message on a line.
func clipped(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 100 {
		s = string(r[:99]) + "…"
	}
	return s
}
