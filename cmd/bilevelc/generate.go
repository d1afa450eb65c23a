package main

import (
	"errors"

	"github.com/spf13/cobra"

	"bilevelc/internal/planted"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
)

func (a *app) generateCommand() *cobra.Command {
	o := planted.Defaults()
	family := o.Family.String()
	var dir string
	cmd := &cobra.Command{
		Use:   "generate -o DIR",
		Short: "Write a problem with a known global optimum",
		Long: `generate plants a global optimum, with the chosen active rows, kinks and weakly
active rows, and writes the model (model.blv), its data (data.json) and the
optimum (optimum.json) into a folder.`,
		Example: `  bilevelc generate -o planted --dx 20 --dy 50 --floors 30 --active 10 --kinks 5
  bilevelc planted/model.blv --data planted/data.json`,
		Args: cobra.NoArgs,
	}
	fs := cmd.Flags()
	outFlag(fs, &dir, "folder to write to (made where it is missing)")
	fs.StringVar(&family, "family", family, "convex (F convex, closed form) or slack (general rows, F not convex)")
	fs.IntVar(&o.Dx, "dx", o.Dx, "entries of x")
	fs.IntVar(&o.Dy, "dy", o.Dy, "entries of y")
	fs.IntVar(&o.Links, "links", o.Links, "equality rows")
	fs.IntVar(&o.Floors, "floors", o.Floors, "inequality rows")
	fs.IntVar(&o.Active, "active", o.Active, "inequality rows that are active at the optimum")
	fs.IntVar(&o.Kinks, "kinks", o.Kinks, "rows at which F has a kink at the optimum")
	fs.IntVar(&o.Weak, "weak", o.Weak, "rows that are weakly active at the optimum")
	fs.IntVar(&o.Implied, "implied", o.Implied, "redundant rows")
	fs.BoolVar(&o.Bounds, "bounds", o.Bounds, "make every row a bound on one entry of y")
	fs.BoolVar(&o.Curved, "curved", o.Curved, "a g that is not quadratic (family convex)")
	fs.IntVar(&o.UpperActive, "upper-active", o.UpperActive, "entries of x at a bound of X at the optimum")
	fs.Float64Var(&o.Condition, "condition", o.Condition, "condition number of the Hessian of g in y")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		hold(dir != "", "generate needs a folder: -o DIR")
		var err error
		if o.Family, err = planted.ParseFamily(family); err != nil {
			return usageError("%v", err)
		}
		instance, err := during(cmd.Context(), "generating", func() (*planted.Instance, error) { return planted.New(o) })
		if _, ok := errors.AsType[*stoppedError](err); ok {
			return err
		}
		hold(err == nil, "%v", err)
		return writeInstance(a, dir, instance)
	}
	return cmd
}

func writeInstance(a *app, dir string, instance *planted.Instance) error {
	optimum := &data.Set{}
	optimum.Add("F", data.Scalar(instance.Optimum.F), "")
	optimum.Add("x", data.Vector(instance.Optimum.X), "")
	optimum.Add("y", data.Vector(instance.Optimum.Y), "")
	optimum.Add("multipliers", data.Vector(instance.Optimum.Lambda), "")
	return a.writeFolder(dir, []file{
		{"model.blv", []byte(instance.Model)},
		{"data.json", datafile.WriteJSON(nil, instance.Data)},
		{"optimum.json", datafile.WriteJSON(nil, optimum)},
	})
}
