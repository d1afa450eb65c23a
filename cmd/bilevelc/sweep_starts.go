package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/must"
	"bilevelc/runtime/status"
)

// solveBySweep is solve with its starts as the jobs of a sweep: each starts where it
// would among the others, and the best is printed.
func (a *app) solveBySweep(ctx context.Context, path string, f *solveFlags) error {
	for _, name := range []string{"start", "resume", "checkpoint", "checkpoint-every", "trace", "proof", "global", "gap", "nodes", "check-gradient", "strict", "ignore-undeclared"} {
		hold(!f.flags.Changed(name), "--%s is of a run in one piece; --sweep makes a job of each start", name)
	}
	hold(f.starts >= 2, "--sweep is for several starts: give --starts N")
	sf := &sweepFlags{solveFlags: *f, dir: f.sweep, jobs: f.threads}
	sf.over = []string{fmt.Sprintf("start=1..%d", f.starts)}
	sf.flags = pflag.NewFlagSet("sweep", pflag.ContinueOnError)
	f.flags.VisitAll(func(flag *pflag.Flag) { // what the user gave holds for every job
		if flag.Name != "starts" {
			sf.flags.AddFlag(flag)
		}
	})
	sf.starts = 0
	folder := a.sweepFolder(ctx, path, sf)
	defer folder.Close()
	missing := folder.Missing(sweep.Shard{}, true)
	bar := a.meter("starts", len(folder.Plan.Jobs)-len(missing), len(folder.Plan.Jobs))
	var fault error
	err := folder.Run(ctx, missing, max(1, f.threads), func(o sweep.Outcome) {
		if fault == nil {
			fault = o.Err
		}
		bar.step(o.Err != nil, "")
	})
	bar.close()
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		a.note("interrupted; the same command goes on with what is missing in %s", folder.Path)
	case err != nil:
		return err
	case fault != nil: // of the model or its data: every start has it
		_ = os.RemoveAll(filepath.Join(folder.Path, "failed"))
		return runError(errors.Unwrap(fault), f.start)
	}
	best := must.Get(folder.Best())
	if best == nil {
		if best = must.Get(folder.Pointless()); best == nil || err != nil {
			return &exitError{Code: status.Interrupted.Exit(false)}
		}
	}
	shown := best
	if !f.json {
		shown = best.OfStarts(must.Get(folder.Ends()))
	}
	must.Do(a.show(shown, f.runFlags))
	if err != nil {
		return &exitError{Code: status.Interrupted.Exit(true)}
	}
	return statusError(best)
}
