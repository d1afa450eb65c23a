package main

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bilevelc/codegen"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime"
)

func (a *app) buildCommand() *cobra.Command {
	var in inputs
	var dir, pkg string
	cmd := &cobra.Command{
		Use:   "build MODEL -o DIR",
		Short: "Write a Go package specialised to a model",
		Long: `build writes Go source for the model, bound to its data: f and g and their
gradients as Go functions (fused loops, no interpreter), and a typed interface to
the data and the solution. The package imports bilevelc/runtime and returns the
same results bit for bit. Arrays of the same sizes run on the same code.`,
		Example: `  bilevelc build toll.blv -o internal/toll
  bilevelc build ridge.blv --data ridge.json -o ridge --package ridge`,
		Args: cobra.ExactArgs(1),
	}
	in.register(cmd.Flags())
	cmd.Flags().StringVarP(&dir, "out", "o", "", "folder to write to (made where it is missing)")
	cmd.Flags().StringVar(&pkg, "package", "", "name of the package (default: the folder's)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		hold(dir != "", "build needs a folder: -o DIR")
		if pkg == "" {
			pkg = packageName(dir)
		}
		problem := a.loadBound(cmd.Context(), args[0], in)
		return a.writeSource(cmd.Context(), problem, pkg, dir)
	}
	return cmd
}

func (a *app) writeSource(ctx context.Context, problem *runtime.Problem, pkg, dir string) error {
	files := must.Get(during(ctx, "writing the package", func() (map[string][]byte, error) {
		f, g := problem.Programs()
		files, err := codegen.Source(pkg, problem.IR, f, g)
		return files, coded(exitUsage, err)
	}))
	list := each.Of(slices.Sorted(maps.Keys(files)), func(name string) file { return file{name, files[name]} })
	return a.writeFolder(dir, list)
}

// packageName makes a package's name of a folder's: letters and digits, in
// lower case.
func packageName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(filepath.Base(dir)))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "model" + name
	}
	return name
}
