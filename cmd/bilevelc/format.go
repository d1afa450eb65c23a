package main

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"bilevelc/internal/must"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

func (a *app) formatCommand() *cobra.Command {
	var write, showDiff bool
	cmd := &cobra.Command{
		Use:   "fmt [MODEL ...]",
		Short: "Bring models into the canonical form",
		Long: `fmt prints the canonical form of each model; without a model it reads standard
input. Comments are kept. A model with a syntax error is left alone.`,
		Example: `  bilevelc fmt toll.blv
  bilevelc fmt -w *.blv
  bilevelc fmt -d toll.blv`,
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the result back to the file")
	cmd.Flags().BoolVarP(&showDiff, "diff", "d", false, "print a diff in place of the result; exit code 1 where there is one")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			hold(!write, "fmt -w needs files")
			args = []string{"-"}
		}
		var broken diag.List
		differs := false
		for _, path := range args {
			text := a.textOf(cmd.Context(), path, maxModel, exitUsage)
			file, diags, err := parser.ParseFileContext(cmd.Context(), diag.NewSource(path, string(text)))
			must.Do(stopped(cmd.Context(), "parsing "+path, err))
			if diags.HasErrors() {
				broken = append(broken, diags...)
				continue
			}
			formatted := []byte(lang.Format(file))
			changed := !bytes.Equal(text, formatted)
			differs = differs || changed
			switch {
			case showDiff:
				if changed {
					a.io.out.Write(diff.Diff(path, text, path+" (formatted)", formatted))
				}
			case write && path != "-":
				if changed {
					must.Do(writeFile(path, formatted))
				}
			default:
				a.io.out.Write(formatted)
			}
		}
		must.Do(broken.Err())
		if showDiff && differs {
			return &exitError{Code: exitInternal}
		}
		return nil
	}
	return cmd
}
