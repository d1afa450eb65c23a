package main

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/must"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
)

// oneFolder takes a sweep's folder as its argument.
func oneFolder(cmd *cobra.Command, args []string) error {
	hold(len(args) == 1, "%s takes the folder of a sweep, not %d arguments", cmd.CommandPath(), len(args))
	return nil
}

func (a *app) sweepStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "How far a sweep is, and how its jobs ended",
		Args:  oneFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			folder := a.openSweep(args[0])
			c := readable(folder.Counts())
			if asJSON {
				return a.printJSON(map[string]any{"jobs": c.Jobs, "done": c.Done, "failed": c.Failed, "missing": c.Jobs - c.Done - c.Failed, "status": c.ByStatus,
					"proofs": c.Proofs, "unproved": c.Unproved})
			}
			w := tabwriter.NewWriter(a.io.out, 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "jobs\t%d\nwith a result\t%d\n", c.Jobs, c.Done)
			for _, word := range slices.Sorted(maps.Keys(c.ByStatus)) {
				fmt.Fprintf(w, "  %s\t%d\n", word, c.ByStatus[word])
			}
			if c.Proofs+c.Unproved > 0 {
				fmt.Fprintf(w, "with a proof\t%d\nwithout one\t%d\n", c.Proofs, c.Unproved)
			}
			fmt.Fprintf(w, "failed\t%d\nmissing\t%d\n", c.Failed, c.Jobs-c.Done-c.Failed)
			must.Do(w.Flush())
			return a.failures(folder)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as a JSON object")
	return cmd
}

// failures lists some of the jobs that could not be run.
func (a *app) failures(folder *sweep.Folder) error {
	const shown = 10
	n := 0
	for _, j := range folder.Plan.Jobs {
		why := folder.Failure(j.Key)
		if why == "" || folder.Has(j.Key) {
			continue
		}
		if n++; n > shown {
			continue
		}
		must.Get(fmt.Fprintf(a.io.out, "failed: %s: %s\n", diag.Shown(folder.Plan.Place(j)), diag.Shown(clipped(why))))
	}
	if n > shown {
		_, err := fmt.Fprintf(a.io.out, "and %d more\n", n-shown)
		return err
	}
	return nil
}

func (a *app) sweepTableCommand() *cobra.Command {
	var out, format string
	var brief bool
	cmd := &cobra.Command{
		Use:   "table DIR",
		Short: "A table with a row for each job: CSV or Parquet",
		Long: `table has a row for each job: its key, its place on the axes, status, objective,
stationarity, the gap to the global optimum where it is known, calls, time, seed, the file
of its proof, and every entry of the variables of both levels and of the report; with --brief, only those
that have one entry.`,
		Example: `  bilevelc sweep table toll.sweep > toll.csv
  bilevelc sweep table toll.sweep -o toll.parquet`,
		Args: oneFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			kind := datafile.CSV
			switch other := strings.ToLower(filepath.Ext(out)); {
			case format == "parquet" || format == "" && strings.HasSuffix(strings.ToLower(out), ".parquet"):
				kind = datafile.Parquet
			case format != "" && format != "csv":
				return usageError("--format is csv or parquet, not %q", format)
			case format == "" && other != ".csv" && datafile.Holds(out):
				return usageError("a table is CSV or Parquet: %q is the ending of another format; --format csv says what is meant", other)
			}
			folder := a.openSweep(args[0])
			table := readable(folder.Table(brief))
			var b bytes.Buffer
			must.Do(datafile.WriteTable(&b, kind, table))
			return a.deliver(out, b.Bytes())
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file (default: standard output): Parquet where it ends in .parquet, else CSV")
	cmd.Flags().StringVar(&format, "format", "", "csv or parquet")
	cmd.Flags().BoolVar(&brief, "brief", false, "of the model's values, those that have one entry")
	return cmd
}

func (a *app) sweepReportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "A page with a chart of the objective over each axis",
		Args:  oneFolder, ValidArgsFunction: folders,
		RunE: func(_ *cobra.Command, args []string) error {
			folder := a.openSweep(args[0])
			var b bytes.Buffer
			must.Do(coded(exitData, folder.Report(&b, filepath.Base(filepath.Clean(args[0])))))
			return a.deliver(out, b.Bytes())
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file (default: standard output)")
	return cmd
}
