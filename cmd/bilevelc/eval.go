package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"bilevelc/internal/must"
	"bilevelc/runtime"
	"bilevelc/runtime/chart"
	"bilevelc/runtime/report"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	inputs
	runFlags
	outputs
	at, along   string
	sensitivity bool
}

func (a *app) evalCommand() *cobra.Command {
	f := &evalFlags{}
	cmd := &cobra.Command{
		Use:   "eval MODEL --at POINT.json",
		Short: "Evaluate F, y*, multipliers and the hypergradient at an upper point",
		Long: `eval solves the lower level at the upper point given as JSON, an object with the
upper variables by name, and prints F, y*, the multipliers, the active rows and
the hypergradient there. The upper level is not solved.

--sensitivity adds the derivatives of F, y* and the multipliers in every entry of x:
at a kink, those of both sides. --along evaluates along a line instead: one entry
takes the values FROM, FROM+STEP, ..., TO, the others stay.`,
		Example: `  echo '{"toll": [1, 0, 0, 2, 0, 0]}' | bilevelc eval toll.blv --at -
  bilevelc eval toll.blv --at point.json --oracle penalty -o alpha=0.01 --json
  bilevelc eval toll.blv --at point.json --along 'toll[1]=0:5:0.1' --plot --csv line`,
		Args: cobra.ExactArgs(1),
	}
	f.inputs.register(cmd.Flags())
	f.runFlags.register(cmd.Flags())
	f.outputs.register(cmd.Flags())
	cmd.Flags().StringVar(&f.at, "at", "", "JSON file with the upper variables, or a result document (- for standard input)")
	cmd.Flags().StringVar(&f.along, "along", "", "evaluate along a line, ENTRY=FROM:TO:STEP, as in 'x[3]=0:5:0.1'")
	cmd.Flags().BoolVar(&f.sensitivity, "sensitivity", false, "add the derivatives of F, y* and multipliers in x")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.eval(cmd.Context(), args[0], f)
	}
	return cmd
}

func (a *app) eval(ctx context.Context, path string, f *evalFlags) error {
	hold(f.at != "" || f.along != "", "eval needs the point: --at point.json")
	hold(f.along == "" || !f.sensitivity && !f.check, "--along gives values along a line; --sensitivity and --check-gradient are of one point")
	hold(f.along == "" || f.report == "", "--report is of one point; --plot and --csv show a line")
	f.outputs.validate(f.json)
	began := time.Now()
	opts := runtime.Options{Oracle: f.oracle, Solver: f.solver, Settings: f.settings(), Seed: f.seed, CheckGradient: f.check, Sensitivity: f.sensitivity}
	var along runtime.Along
	if f.along != "" {
		var err error
		along, err = runtime.ParseAlong(f.along)
		hold(err == nil, "--along: %v", err)
	}
	var problem *runtime.Problem
	err := must.Try(func() { problem = a.loadBound(ctx, path, f.inputs) })
	if empty := emptyBefore(path, err); empty != nil {
		return a.evaluated(empty, nil, path, began, f)
	}
	must.Do(err)
	var point runtime.Values
	if f.at != "" {
		point = a.readPoint(ctx, f.at)
	}
	if f.along != "" {
		return a.alongLine(ctx, problem, point, along, opts, f)
	}
	result, err := problem.Eval(ctx, point, opts)
	must.Do(runError(err, f.at))
	return a.evaluated(result, problem, path, began, f)
}

// evaluated shows an evaluation in all forms that were asked for.
func (a *app) evaluated(result *runtime.Result, problem *runtime.Problem, path string, began time.Time, f *evalFlags) error {
	result.Inputs = f.inputs.of(path)
	must.Do(a.show(a.timed(result, began), f.runFlags))
	a.more(result, problem, f.outputs)
	return statusError(result)
}

// alongLine evaluates along a line. One that is interrupted shows how far it came.
func (a *app) alongLine(ctx context.Context, p *runtime.Problem, point runtime.Values, along runtime.Along, opts runtime.Options, f *evalFlags) error {
	line, err := p.Along(ctx, point, along, opts)
	if err != nil && (line == nil || ctx.Err() == nil) {
		return runError(err, f.at)
	}
	if f.json {
		must.Do(a.printJSON(line))
	} else {
		a.lineText(line, f)
	}
	if f.plot {
		fmt.Fprintln(a.io.out)
		must.Do(report.PlotLine(a.io.out, line, a.columns()))
	}
	if f.csv != "" {
		writeTables(f.csv, []report.Table{report.LineTable(line)})
	}
	return stopped(ctx, "evaluating along the line", err)
}

// lineText writes a line as a table: F and the follower's answer, as many entries as
// text shows of a vector.
func (a *app) lineText(line *runtime.Line, f *evalFlags) {
	t := report.LineTable(line)
	const wide = 12
	shown := len(t.Header)
	if !f.all && shown > wide {
		shown = wide
	}
	w := tabwriter.NewWriter(a.io.out, 0, 0, 3, ' ', 0)
	write := func(cells []string) {
		fmt.Fprintln(w, strings.Join(cells[:shown], "\t"))
	}
	write(t.Header)
	for k, p := range line.Points {
		row := t.Rows[k]
		for i, v := range slices.Concat([]float64{float64(p.Objective), float64(p.Lower)}, p.Variables.Entries(), p.Multipliers.Entries()) {
			if i+2 < len(row) {
				row[i+2] = chart.Number(v, 10)
			}
		}
		row[0] = chart.Number(float64(p.At), 10)
		write(row)
	}
	must.Do(w.Flush())
	if shown < len(t.Header) {
		fmt.Fprintf(a.io.out, "... %d columns in all; --all shows them, --csv and --json have them\n", len(t.Header))
	}
	for _, p := range line.Points {
		if p.Status != runtime.Solved {
			fmt.Fprintf(a.io.out, "%s = %v: %s (%s)\n", line.Along.Entry, p.At, p.Status, p.Reason)
		}
	}
	fmt.Fprintf(a.io.out, "calls: %s\n", line.Calls.Text())
}

// modelFiles completes the name of a model.
func modelFiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"blv"}, cobra.ShellCompDirectiveFilterFileExt
}
