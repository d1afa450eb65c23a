package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

func (a *app) explainCommand() *cobra.Command {
	var in inputs
	var stage string
	var program bool
	stages := each.Of(runtime.Stages(), func(s runtime.Stage) string { return s.Name })
	cmd := &cobra.Command{
		Use:   "explain CODE | MODEL",
		Short: "Explain a diagnostic's code, or show a model's stages in the compiler",
		Long: "explain CODE says what a code means, with a model that fails with it.\n" +
			"explain MODEL shows the forms that a model takes on its way: " + strings.Join(stages, ", ") + ".",
		Example: `  bilevelc explain E0301
  bilevelc explain toll.blv --stage rows
  bilevelc explain toy.blv --data toy.json --program`,
		Args: cobra.ExactArgs(1),
	}
	in.register(cmd.Flags())
	cmd.Flags().StringVar(&stage, "stage", "", "show one stage only ("+strings.Join(stages, ", ")+")")
	cmd.Flags().BoolVar(&program, "program", false, "show the compiled program (--stage program)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if code := codeOf(args[0]); code != "" && !there(args[0]) {
			return a.explainCode(code)
		}
		if program {
			stage = "program"
		}
		hold(stage == "" || slices.Contains(stages, stage), "there is no stage %q; there are %s", stage, strings.Join(stages, ", "))
		problem := a.loadBound(cmd.Context(), args[0], in)
		for _, s := range runtime.Stages() {
			if stage != "" && s.Name != stage {
				continue
			}
			if stage == "" {
				fmt.Fprintf(a.io.out, "== %s: %s\n", s.Name, s.Summary)
			}
			must.Do(s.Dump(a.io.out, problem))
		}
		return nil
	}
	return cmd
}

// codeOf is the code that a text means, as E0301, e301 and 301 do; "" for none.
func codeOf(text string) diag.Code {
	digits := strings.TrimPrefix(strings.ToUpper(text), "E")
	if digits == "" || len(digits) > 4 || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return diag.Code("E" + strings.Repeat("0", 4-len(digits)) + digits)
}

func (a *app) explainCode(code diag.Code) error {
	entry, ok := diag.Lookup(code)
	hold(ok, "there is no code %s; the codes run from %s to %s", code, diag.Codes()[0].Code, diag.Codes()[len(diag.Codes())-1].Code)
	fmt.Fprintf(a.io.out, "%s: %s\n\n%s\n", entry.Code, entry.Title, strings.TrimSpace(entry.Explanation))
	if entry.Example != "" {
		fmt.Fprintf(a.io.out, "\nThis fails with it:\n\n%s\n", indent(entry.Example))
	}
	if entry.DataFile != "" {
		fmt.Fprintf(a.io.out, "\nwith %s:\n\n%s\n", entry.DataFile, indent(entry.Data))
	}
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
