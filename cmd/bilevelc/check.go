package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

func (a *app) checkCommand() *cobra.Command {
	var in inputs
	var explain, asJSON bool
	cmd := &cobra.Command{
		Use:   "check MODEL",
		Short: "Check a model and print what is proved about it",
		Long: `check compiles the model and prints what is proved: smoothness, strong convexity
with its modulus, Lipschitz constants, the rank of the constraints, and what the
methods assume beyond it. Without data the proofs hold for any data, where they
can be made.`,
		Example: `  bilevelc check toll.blv
  bilevelc check ridge.blv --data ridge.json --explain`,
		Args: cobra.ExactArgs(1),
	}
	in.register(cmd.Flags())
	cmd.Flags().BoolVar(&explain, "explain", false, "print the derivation of each claim")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print diagnostics and proofs as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		checked, err := a.check(cmd.Context(), args[0], in)
		if asJSON {
			return a.printChecked(checked, err)
		}
		if err != nil {
			return err
		}
		a.reportDiagnostics(checked.Warnings)
		_, err = fmt.Fprint(a.io.out, checked.Text(explain))
		return err
	}
	return cmd
}

func (a *app) check(ctx context.Context, path string, in inputs) (_ *runtime.Checked, err error) {
	defer must.Catch(&err)
	a.aux = in.aux
	model := a.compile(ctx, path)
	set := a.readData(ctx, in)
	return during(ctx, "proving what can be proved", func() (*runtime.Checked, error) {
		return model.Check(set, runtime.BindOptions{Context: ctx, Seed: in.seed, Strict: in.strict, IgnoreUndeclared: in.ignore})
	})
}

// maxJSONDiagnostics is maxDiagnostics for programs, which read further.
const maxJSONDiagnostics = 1000

// printChecked writes the JSON form of a check, errors included.
func (a *app) printChecked(checked *runtime.Checked, err error) error {
	var diags diag.List
	if err != nil && !errors.As(err, &diags) {
		return err
	}
	document := struct {
		Schema      int             `json:"schema"`
		Diagnostics json.RawMessage `json:"diagnostics"`
		Proof       any             `json:"proof,omitempty"`
	}{Schema: runtime.SchemaVersion}
	if checked != nil {
		diags = checked.Warnings
		document.Proof = checked.Proof
	}
	document.Diagnostics = diag.RenderJSON(diags.First(maxJSONDiagnostics))
	if err := a.printJSON(document); err != nil {
		return err
	}
	if diags.HasErrors() {
		return &exitError{Code: diagnosticsCode(diags)}
	}
	return nil
}
