package main

import (
	"time"

	"github.com/spf13/cobra"

	"bilevelc/runtime"
)

func (a *app) evalCommand() *cobra.Command {
	var in inputs
	var run runFlags
	var at string
	cmd := &cobra.Command{
		Use:   "eval MODEL --at POINT.json",
		Short: "Evaluate F, y*, multipliers and the hypergradient at an upper point",
		Long: `eval solves the lower level at the upper point given as JSON, an object with the
upper variables by name, and prints F, y*, the multipliers, the active rows and
the hypergradient there. The upper level is not solved.`,
		Example: `  echo '{"toll": [1, 0, 0, 2, 0, 0]}' | bilevelc eval toll.blv --at -
  bilevelc eval toll.blv --at point.json --oracle penalty -o alpha=0.01 --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: modelFiles,
	}
	in.register(cmd.Flags())
	run.register(cmd.Flags())
	cmd.Flags().StringVar(&at, "at", "", "JSON file with the upper variables (- for standard input)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if at == "" {
			return usageError("eval needs the point: --at point.json")
		}
		began := time.Now()
		settings, err := run.settings()
		if err != nil {
			return err
		}
		model, err := a.load(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		problem, err := a.bind(cmd.Context(), model, in)
		if err != nil {
			return err
		}
		point, err := a.readPoint(cmd.Context(), at)
		if err != nil {
			return err
		}
		result, err := problem.Eval(cmd.Context(), point, runtime.Options{Oracle: run.oracle, Solver: run.solver,
			Settings: settings, Seed: in.seed, CheckGradient: run.check})
		if err != nil {
			return runError(err)
		}
		result.Inputs = in.of(args[0])
		return a.print(a.timed(result, began), run)
	}
	return cmd
}

// modelFiles completes the name of a model.
func modelFiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"blv"}, cobra.ShellCompDirectiveFilterFileExt
}
