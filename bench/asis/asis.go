// Package asis makes the problem of a model as it stands, ties and all, without what a run adds to it: benchmarks hand it to a part of the runtime.
package asis

import (
	"bilevelc/ir/bind"
	"bilevelc/ir/curvature"
	"bilevelc/ir/data"
	"bilevelc/runtime"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/problem"
)

// Problem binds the model to its numbers.
func Problem(model *runtime.Model, numbers *data.Set) (*problem.Problem, error) {
	bound, faults := bind.Bind(model.Program, numbers, bind.Options{})
	if err := faults.Err(); err != nil {
		return nil, err
	}
	bound.Facts = curvature.Prove(bound, curvature.Options{}).Facts()
	f, err := compile.Objective(bound, bound.Upper.Objective, nil)
	if err != nil {
		return nil, err
	}
	g, err := compile.Objective(bound, bound.Lower.Objective, nil)
	if err != nil {
		return nil, err
	}
	return compile.Problem(bound, f, g), nil
}
