package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bilevelc/lang/diag"
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
		Long: `verify binds the model that a result document is about to its data, derives what
the document claims again from them, with code that shares nothing with the
solvers, and says what it could not check. It fails, with exit code 14, on a
document that was changed, that claims what does not hold, or that is not about
this model and data.

It opens only files that you name, and files in the document's own folder under
the names that the document gives. --model and --data say where the others are.`,
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
		named := modelPath != "" // by the user, who may read what is wrong with it
		var foreign []string     // files that the document names
		if result.Inputs == nil && modelPath == "" {
			return usageError("the result does not say which model it is of: give --model and --data")
		}
		if result.Inputs != nil {
			if modelPath == "" {
				if modelPath, err = beside(args[0], result.Inputs.Model); err != nil {
					return usageError("model: %v; give --model", err)
				}
				foreign = append(foreign, modelPath)
			}
			if len(in.data)+len(in.set) == 0 {
				in.ignore = result.Inputs.Ignore
				in.set = result.Inputs.Set
				for _, spec := range result.Inputs.Data {
					name, path, of := strings.Cut(spec, "=")
					if !of {
						name, path = "", spec
					}
					if path, err = beside(args[0], path); err != nil {
						return usageError("data: %v; give --data", err)
					}
					foreign = append(foreign, path)
					if of {
						path = name + "=" + path
					}
					in.data = append(in.data, path)
				}
			}
			if !cmd.Flags().Changed("seed") {
				in.seed = result.Inputs.DataSeed
			}
		}
		a.quiet = true // warnings were shown when the model was solved
		model, err := a.load(cmd.Context(), modelPath)
		if err != nil {
			return unseen(err, named, foreign)
		}
		problem, err := a.bind(cmd.Context(), model, in)
		if err != nil {
			return unseen(err, named && len(foreign) == 0, foreign)
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
		for _, part := range report.Unchecked {
			fmt.Fprintln(a.io.out, "--    not checked:", part)
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

// beside is the path of a file that a document names: one in the document's own
// folder, by its plain name. Any other would let a document have files read that
// its reader never meant to open.
func beside(document, name string) (string, error) {
	plain := name[strings.LastIndexAny(name, `/\`)+1:] // of what lay elsewhere, a copy beside the document
	if plain == "" || plain == "-" || plain == "." || plain == ".." || document == "-" {
		return "", fmt.Errorf("the document names %q, and only a file beside it is opened without being named by you", name)
	}
	path := filepath.Join(filepath.Dir(document), plain)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("the document names %q, and only a file beside it is opened without being named by you", name)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("the document names %q, which is not a plain file", name)
	}
	return path, nil
}

// unseen is the error of files that the user may not have meant to be read: it
// names them and shows nothing of what is in them.
func unseen(err error, named bool, files []string) error {
	var stopped *stoppedError
	if named || errors.As(err, &stopped) {
		return err
	}
	code := exitData
	var diags diag.List
	var exit *exitError
	if errors.As(err, &diags) {
		code = diagnosticsCode(diags)
	} else if errors.As(err, &exit) {
		code = exit.Code
	}
	return &exitError{Code: code, Err: fmt.Errorf("%s, which the document names, do not make a model with its data; name them with --model and --data to see why",
		strings.Join(files, ", "))}
}
