package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/status"
)

func (a *app) verifyCommand() *cobra.Command {
	var in inputs
	var modelPath string
	cmd := &cobra.Command{
		Use:   "verify RESULT.json",
		Short: "Check a result's claims and certificates again",
		Long: `verify compiles the model that a result document names, binds it to the data it
names, and evaluates every claim of the document again with code that shares
nothing with the solvers. It fails, with exit code 14, on a document that was
changed, or that is not about this model and data. --model and --data say where
they are now, if they moved.`,
		Example: `  bilevelc toll.blv --json > result.json
  bilevelc verify result.json`,
		Args: cobra.ExactArgs(1),
	}
	in.register(cmd.Flags())
	cmd.Flags().StringVar(&modelPath, "model", "", "the model, if not where the result says")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := a.readFile(cmd.Context(), args[0], maxDocument)
		if err != nil {
			return a.unreadable(args[0], err, exitUsage)
		}
		result, err := runtime.ReadResult(text)
		if err != nil {
			return &exitError{Code: exitData, Err: fmt.Errorf("%s: %w", args[0], err)}
		}
		if result.Inputs == nil && modelPath == "" {
			return usageError("the result does not say which model it is of: give --model and --data")
		}
		if result.Inputs != nil {
			if modelPath == "" {
				modelPath = result.Inputs.Model
			}
			if len(in.data)+len(in.set) == 0 {
				in.data, in.set = result.Inputs.Data, result.Inputs.Set
			}
			if !cmd.Flags().Changed("seed") {
				in.seed = result.Inputs.DataSeed
			}
		}
		a.quiet = true // warnings were shown when the model was solved
		model, err := a.load(cmd.Context(), modelPath)
		if err != nil {
			return err
		}
		problem, err := a.bind(cmd.Context(), model, in)
		if err != nil {
			return err
		}
		report, err := during(cmd.Context(), "verifying", func() (*certify.Report, error) { return problem.Verify(result) })
		if errors.As(err, new(*stoppedError)) {
			return err
		}
		if err != nil {
			return &exitError{Code: exitData, Err: err}
		}
		for _, check := range report.Checks {
			fmt.Fprintln(a.io.out, check)
		}
		failed := len(report.Failures())
		fmt.Fprintf(a.io.out, "%d claims checked, %d failed\n", len(report.Checks), failed)
		if failed > 0 {
			return &exitError{Code: status.NumericalFailure.Exit(true)}
		}
		return nil
	}
	return cmd
}
