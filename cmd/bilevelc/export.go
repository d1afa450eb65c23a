package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bilevelc/internal/must"
	"bilevelc/runtime"
)

func (a *app) exportCommand() *cobra.Command {
	var in inputs
	var format, out, pairs string
	var list strings.Builder
	var formats []string
	for _, f := range runtime.ExportFormats {
		formats = append(formats, f[0])
		fmt.Fprintf(&list, "\n  %-5s %s", f[0], f[1])
	}
	cmd := &cobra.Command{
		Use:   "export MODEL --to FORMAT [-o FILE]",
		Short: "Write a model for another solver",
		Long: `export writes a model, bound to its data, for another solver. The follower's KKT
conditions take its place (mps, lp), each pair of a slack and a multiplier a special ordered
set of type 1, so that no constant has to bound the multipliers; a mixed-integer
solver that reads the file confirms, or betters, a global optimum. Names are the
model's, spelled as the format allows; comments say how. For solvers that read no
sets (HiGHS), --pairs binary writes a binary column for each pair, where the model
bounds its slack and its multiplier.
` + list.String(),
		Example: `  bilevelc export toll.blv --to mps -o toll.mps
  bilevelc export toll.blv --to mps --pairs binary -o toll.mps
  bilevelc export ridge.blv -d ridge.json --to lp`,
		Args: cobra.ExactArgs(1),
	}
	in.register(cmd.Flags())
	cmd.Flags().StringVar(&format, "to", "", "format: "+strings.Join(formats, " or "))
	cmd.Flags().StringVar(&pairs, "pairs", "sos1", "how mps and lp say that a slack or its multiplier is zero: sos1 or binary")
	outFlag(cmd.Flags(), &out, "file to write (default: standard output)")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format = cmp.Or(format, strings.TrimPrefix(filepath.Ext(out), "."))
		hold(format != "", "export needs a format: --to %s", strings.Join(formats, ", --to "))
		hold(slices.Contains(formats, format), "there is no format %s: --to %s", format, strings.Join(formats, ", --to "))
		hold(pairs == "sos1" || pairs == "binary", "--pairs is sos1 or binary, not %s", pairs)
		if format == "blv" {
			text := must.Get(a.modelOfMPS(cmd.Context(), args[0], in))
			return a.deliver(out, []byte(text))
		}
		problem := a.loadBound(cmd.Context(), args[0], in)
		var text, aux bytes.Buffer
		if format != "mibs" {
			write := problem.Export
			if pairs == "binary" {
				write = func(to io.Writer, format string) error { return problem.ExportBinary(cmd.Context(), to, format) }
			}
			must.Do(runError(write(&text, format), ""))
			return a.deliver(out, text.Bytes())
		}
		hold(out != "", "the form of MibS is two files: -o FILE.mps")
		if !runtime.IsMPS(out) {
			out += ".mps"
		}
		must.Do(runError(problem.ExportBilevel(&text, &aux, filepath.Base(out)), ""))
		must.Do(a.deliver(out, text.Bytes()))
		return a.deliver(runtime.AuxPath(out), aux.Bytes())
	}
	return cmd
}

// outFlag is -o, of the commands that write a file or a folder; -O is what two of them had before.
func outFlag(fs *pflag.FlagSet, to *string, usage string) {
	fs.StringVarP(to, "out", "o", "", usage)
	fs.StringVarP(to, "output", "O", "", usage)
	_ = fs.MarkHidden("output")
}

// modelOfMPS is the text of the model that an MPS file with its auxiliary file is.
func (a *app) modelOfMPS(ctx context.Context, path string, in inputs) (string, error) {
	hold(runtime.IsMPS(path), "--to blv is for an MPS file with its auxiliary file; `bilevelc fmt` prints a model")
	a.aux = in.aux
	text := a.textOf(ctx, path, maxModel, exitUsage)
	name, aux := a.auxiliary(ctx, path)
	return runtime.MPSModel(path, string(text), name, aux)
}
