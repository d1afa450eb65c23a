// Command studies measures the methods of the runtime against their theory
// and against problems with known optima. Each study is one subcommand:
//
//	go run ./bench/studies [-quick] [-stored] [-out DIR] [-seeds N] [-threads N] rates|alpha|dual|planted|all
//
// It writes tables (CSV) and figures (PNG and SVG) to DIR and prints the
// fitted numbers. Work is measured in calls to f, grad f, g and grad g, which
// do not depend on the machine: a study with the same options writes the same
// tables everywhere, up to rounding. What each one shows is said in
// bench/README.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"bilevelc/internal/must"
)

// options of a run of a study.
type options struct {
	quick bool // a few seconds: coarse grids and one or two seeds
	seeds int  // 0 for the study's own number
	// progress is where a study tells which part it is at.
	progress io.Writer
	threads  int // runs at a time
	// stored is the folder whose measurements are summarized again in place of new
	// ones; "" measures.
	stored string
}

// count is the number of seeds: the one set by hand, or else the study's.
func (o options) count(full, quick int) int {
	switch {
	case o.seeds > 0:
		return o.seeds
	case o.quick:
		return quick
	}
	return full
}

// study is one study: run measures, and returns what is to be written.
type study struct {
	name, summary string
	run           func(options) *results
}

func studies() []study {
	return []study{
		{"rates", "calls until a stationary point against the theorems' rates", runRates},
		{"alpha", "calls for one hypergradient against its accuracy", runAlpha},
		{"dual", "error of the hypergradient against the error of the lower solution", runDual},
		{"planted", "distance to a known optimum at equal budgets of calls", runPlanted},
	}
}

func main() {
	must.Exit("studies", 1, command(os.Args[1:], os.Stdout))
}

// command runs the studies that the arguments name.
func command(args []string, out io.Writer) (err error) {
	defer must.Catch(&err)
	flags := flag.NewFlagSet("studies", flag.ContinueOnError)
	dir := flags.String("out", "bench/results", "directory of the tables and figures")
	o := options{progress: os.Stderr}
	flags.IntVar(&o.threads, "threads", 1, "runs at a time; the results do not depend on it")
	flags.BoolVar(&o.quick, "quick", false, "coarse grids, in a few seconds")
	again := flags.Bool("stored", false, "summarize the measurements in the folder -out again, without measuring")
	flags.IntVar(&o.seeds, "seeds", 0, "instances a setting; 0 for the study's own number")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: studies [flags] NAME...")
		for _, s := range studies() {
			fmt.Fprintf(flags.Output(), "  %-8s %s\n", s.name, s.summary)
		}
		fmt.Fprintln(flags.Output(), "  all      every study")
		flags.PrintDefaults()
	}
	must.Do(flags.Parse(args))
	if *again {
		o.stored = *dir
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return fmt.Errorf("no study is named")
	}
	for _, name := range flags.Args() {
		found := false
		for _, s := range studies() {
			if name != s.name && name != "all" {
				continue
			}
			found = true
			start := time.Now()
			err := must.Try(func() { s.run(o).write(*dir, out) })
			must.Be(err == nil, "%s: %w", s.name, err)
			fmt.Fprintf(out, "%s: %.0f s\n", s.name, time.Since(start).Seconds())
		}
		must.Be(found, "there is no study %q; there are rates, alpha, dual, planted and all", name)
	}
	return nil
}
