package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/status"
)

func (a *app) verifyCommand() *cobra.Command {
	var d documentFlags
	var proof string
	cmd := &cobra.Command{
		Use:   "verify RESULT.json",
		Short: "Check a result's claims and certificates again",
		Long: `verify binds the model that a result document is about to its data, derives what
the document claims again from them, with code that shares nothing with the
solvers, and says what it could not check. It fails, with exit code 14, on a
document that was changed, that claims what does not hold, or that is not about
this model and data; with 4 on one that has other variables or rows than they have.

What the document says of all x (its global bound) is checked with the proof that
solve --proof has written: the bound of every leaf of the tree is computed again
from the model, with directed rounding, and that the leaves leave nothing out.

It opens only files that you name, and files in the document's own folder under
the names that the document gives. --model and --data say where the others are.`,
		Example: `  bilevelc toll.blv --json > result.json
  bilevelc verify result.json

  bilevelc toll.blv --json --proof toll.proof > result.json
  bilevelc verify result.json --proof toll.proof`,
		Args: cobra.ExactArgs(1),
	}
	d.register(cmd.Flags())
	cmd.Flags().StringVar(&proof, "proof", "", "the proof of the global bound, if not beside the document where that says")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		result := a.readResult(cmd.Context(), args[0])
		problem := must.Get(a.problemOf(cmd.Context(), args[0], result, &d, cmd.Flags().Changed("seed")))
		report, err := a.verifyProof(cmd.Context(), args[0], problem, result, proof)
		if errors.As(err, new(*stoppedError)) {
			return err
		}
		if err != nil {
			if problem.IR.Name != result.Model {
				err = fmt.Errorf("the result is of the model `%s`, and what was read is `%s`: %w", result.Model, problem.IR.Name, err)
			}
			return coded(exitData, err)
		}
		for _, check := range report.Checks {
			fmt.Fprintln(a.io.out, diag.ShownLines(check.String()))
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

// documentFlags are the flags of commands that read a result document, with the model
// and the data that it is about.
type documentFlags struct {
	inputs
	model string
}

func (d *documentFlags) register(fs *pflag.FlagSet) {
	d.inputs.register(fs)
	fs.StringVar(&d.model, "model", "", "the model, if not where the result says")
}

// readResult reads a result document.
func (a *app) readResult(ctx context.Context, path string) *runtime.Result {
	result, err := runtime.ReadResult(a.textOf(ctx, path, maxDocument, exitUsage))
	if err != nil {
		must.Do(coded(exitData, fmt.Errorf("%s: %w", path, err)))
	}
	return result
}

// problemOf binds the model that a document is about to its data: from the files that
// the user named, or those beside the document. seeded says that the user gave a seed.
func (a *app) problemOf(ctx context.Context, path string, result *runtime.Result, d *documentFlags, seeded bool) (problem *runtime.Problem, err error) {
	defer must.Catch(&err)
	in, modelPath := d.inputs, d.model
	named := modelPath != "" // by the user, who may read what is wrong with it
	var foreign []string     // files that the document names
	hold(result.Inputs != nil || named, "the result does not say which model it is of: give --model and --data")
	if result.Inputs != nil {
		if modelPath == "" {
			modelPath, err = beside(path, result.Inputs.Model)
			hold(err == nil, "the model: %v%s", err, elsewhere("--model", "", result.Inputs.Model))
			foreign = append(foreign, modelPath)
		}
		if len(in.data)+len(in.set) == 0 {
			in.ignore = result.Inputs.Ignore
			in.set = result.Inputs.Set
			for _, spec := range result.Inputs.Data {
				name, file, of := strings.Cut(spec, "=")
				if !of {
					name, file = "", spec
				}
				there, err := beside(path, file)
				hold(err == nil, "the data: %v%s", err, elsewhere("--data", name, file))
				file = there
				foreign = append(foreign, file)
				if of {
					file = name + "=" + file
				}
				in.data = append(in.data, file)
			}
		}
		if !seeded {
			in.seed = result.Inputs.DataSeed
		}
	}
	// Warnings were shown when the model was solved.
	defer func(quiet bool) { a.quiet = quiet }(a.quiet)
	a.quiet = true
	a.aux = in.aux
	var model *runtime.Model
	if err = must.Try(func() { model = a.load(ctx, modelPath) }); err != nil {
		return nil, unseen(err, named, foreign)
	}
	if err = must.Try(func() { problem = a.bind(ctx, model, in) }); err != nil {
		return nil, unseen(err, named && len(foreign) == 0, foreign)
	}
	return problem, nil
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
		return "", fmt.Errorf("%q is not in %s, the folder of the document, where alone files that it names are looked for", plain, filepath.Dir(document))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("the document names %q, which is not a plain file", name)
	}
	return path, nil
}

// elsewhere says how to name a file that is not beside the document: as the document does,
// where such a file lies here.
func elsewhere(flag, name, path string) string {
	file := "PATH"
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && strconv.Quote(path) == `"`+path+`"` {
		file = path
	}
	if name != "" {
		file = name + "=" + file
	}
	return fmt.Sprintf("; put it there, or name it with %s %s", flag, file)
}

// unseen is the error of files that the user may not have meant to be read: it
// names them and shows nothing of what is in them.
func unseen(err error, named bool, files []string) error {
	if named || errors.As(err, new(*stoppedError)) {
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
