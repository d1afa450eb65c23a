package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/status"
)

func (a *app) sweepVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Check the results of a sweep again, with their proofs",
		Long: `verify does for each result of a sweep what 'bilevelc verify' does for one: it derives
what the document claims again from the model and data in the folder, with code that
shares nothing with the solvers, and its global bound from its proof, where it has one. Of what is not checked it names
the parts; 'bilevelc verify' of one document says why. A result without a point and without a proof that there is none holds nothing
to check, and is counted apart. It fails, with exit code 14, where a claim does not hold.`,
		Example: "  bilevelc sweep toll.blv --over cap=1:10:1 --proof\n  bilevelc sweep verify toll.sweep",
		Args:    oneFolder, ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := a.openSweep(args[0])
			defer folder.Close()
			runner := &sweep.Runner{Inputs: folder}
			bar := a.meter("verify", 0, len(folder.Plan.Jobs))
			defer bar.close()
			results, wrong, pointless := 0, 0, 0
			var unchecked []string
			times := map[string]int{}
			for _, job := range folder.Plan.Jobs {
				report, err := during(cmd.Context(), "verifying", func() (*certify.Report, error) { return folder.Verify(cmd.Context(), runner, job) })
				if errors.As(err, new(*stoppedError)) {
					return err
				}
				bar.step(err != nil, "")
				if report == nil && err == nil {
					continue
				}
				if errors.As(err, new(*runtime.NoPointError)) { // it claims nothing that a document shows
					pointless++
					continue
				}
				results++
				var faults []string
				if err != nil {
					faults = append(faults, "FAILED "+err.Error())
				} else {
					for _, check := range report.Failures() {
						faults = append(faults, check.String())
					}
					for _, part := range report.Unchecked {
						part, _, _ = strings.Cut(part, " (") // why, 'bilevelc verify' says
						if times[part]++; times[part] == 1 {
							unchecked = append(unchecked, part)
						}
					}
				}
				if len(faults) > 0 {
					wrong++
				}
				for _, fault := range faults {
					fmt.Fprintf(a.io.out, "%s (%s): %s\n", job.Key, diag.Shown(folder.Plan.Place(job)), diag.ShownLines(fault))
				}
			}
			bar.close()
			for len(unchecked) > 0 { // those of as many results on one line
				n := times[unchecked[0]]
				var line, rest []string
				for _, part := range unchecked {
					if times[part] == n {
						line = append(line, part)
					} else {
						rest = append(rest, part)
					}
				}
				fmt.Fprintf(a.io.out, "--    not checked in %d of the results: %s\n", n, strings.Join(line, ", "))
				unchecked = rest
			}
			if pointless > 0 {
				fmt.Fprintf(a.io.out, "--    nothing to check in %s: no point, and no proof that there is none\n", diag.Count(pointless, "further result", "further results"))
			}
			fmt.Fprintf(a.io.out, "%d results checked, %d failed\n", results, wrong)
			if wrong > 0 {
				return &exitError{Code: status.NumericalFailure.Exit(true)}
			}
			return nil
		},
	}
}
