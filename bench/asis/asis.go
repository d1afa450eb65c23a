// Package asis makes the problem of a model as it stands, ties and all, without what a run adds to it: benchmarks hand it to a part of the runtime.
package asis

import (
	"bilevelc/internal/must"
	"bilevelc/ir/bind"
	"bilevelc/ir/curvature"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/runtime"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/problem"
)

// Problem binds the model to its numbers.
func Problem(model *runtime.Model, numbers *data.Set) *problem.Problem {
	bound, faults := bind.Bind(model.Program, numbers, bind.Options{})
	must.Do(faults.Err())
	bound.Facts = curvature.Prove(bound, curvature.Options{}).Facts()
	f := must.Get(compile.Objective(bound, bound.Upper.Objective, nil))
	g := must.Get(compile.Objective(bound, bound.Lower.Objective, nil))
	return compile.Problem(bound, f, g)
}

// Numbers are those of a file.
func Numbers(path string) *data.Set {
	set, faults := datafile.Load(path, nil)
	must.Do(faults.Err())
	return set
}
