package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"time"

	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
)

// combination is one way to solve a model.
type combination struct{ method, oracle, solver string }

func (c combination) String() string { return c.method + "/" + c.oracle + "/" + c.solver }

func combinations() (out []combination) {
	for _, m := range outer.All() {
		for _, o := range oracle.All() {
			for _, s := range lower.All() {
				out = append(out, combination{m.Name, o.Name, s.Name})
			}
		}
	}
	return out
}

// modelFiles lists the models under a directory that can be bound: alone, or
// with the JSON document beside them.
func modelFiles(root string) (out []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".blv" {
			return err
		}
		if _, err := bindFile(path); err == nil {
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// bindFile binds a model without data, or with a document of the same name.
func bindFile(path string) (*runtime.Problem, error) {
	model, err := runtime.CompileFile(path)
	if err != nil {
		return nil, err
	}
	return bindBeside(context.Background(), model, path)
}

// bindBeside binds a model without data, or with a document of the name of a file.
func bindBeside(ctx context.Context, model *runtime.Model, path string) (*runtime.Problem, error) {
	problem, err := model.Bind(nil, runtime.BindOptions{Context: ctx})
	if err == nil || ctx.Err() != nil {
		return problem, err
	}
	beside, _ := filepath.Glob(strings.TrimSuffix(path, ".blv") + "*.json")
	for _, name := range beside {
		set, diags := datafile.Load(name, nil)
		if diags.HasErrors() {
			continue
		}
		if problem, also := model.BindSet(set, runtime.BindOptions{Context: ctx}); also == nil {
			return problem, nil
		}
	}
	return nil, err
}

// combinationLimit is the time of one run; iterations are few besides, so that
// most end by them.
const (
	combinationLimit      = 2 * time.Second
	combinationIterations = 30
)

// tryCombination solves a model of the repository in one way. What is true of
// it is not known here; what must hold is that the run ends within its limit
// without a panic, that its document passes the verification, and that another
// solver finds the same F at the same x.
func tryCombination(file string, index int) (r *report) {
	c := combinations()[index]
	r = &report{Seed: uint64(index), Family: file, about: fmt.Sprintf("%s, %s: ", file, c)}
	defer r.caught()
	p, err := bindFile(file)
	if err != nil {
		r.false("refused", "%v", firstLine(err))
		return r
	}
	result := r.run(p, runtime.Options{Method: c.method, Oracle: c.oracle, Solver: c.solver,
		MaxIter: combinationIterations, TimeLimit: combinationLimit, Seed: 1}, 2*combinationLimit)
	if result != nil {
		r.again(p, result, result.Status == runtime.Solved)
	}
	return r
}

// run solves a model of which the truth is not known, and examines the end: it keeps its limit,
// and what its document says passes verification. The result is nil where there is none to look at.
func (r *report) run(p *runtime.Problem, opts runtime.Options, limit time.Duration) *runtime.Result {
	ended := r.within(limit)
	result, err := p.Solve(context.Background(), opts)
	var usage *runtime.UsageError
	var list diag.List
	switch {
	case errors.As(err, &usage), opts.Method == "" && errors.As(err, &list): // a method that is named takes all of these models
		r.outcome("refused before the run")
		return nil
	case err != nil:
		r.false("error", "%v", firstLine(err))
		return nil
	}
	r.outcome("%s", strings.TrimSpace(opts.Method+" "+result.Status.String()))
	ended("it")
	failed := result.Status == runtime.NumericalFailure
	if failed {
		reason, _, _ := strings.Cut(result.Reason, " at ")
		r.soft("numerical failure", reason, "%s", result.Reason)
	}
	if !result.HasPoint() {
		return nil
	}
	checks, err := p.Verify(result)
	if err != nil {
		r.false("verify error", "%s: %v", result.Status, err)
		return nil
	}
	switch failures := checks.Failures(); {
	case len(failures) == 0:
	case failed: // which may say so because its numbers do not hold
		r.soft("verify rejects a failed run", "", "%s: %s: %s", result.Status, failures[0].Claim, failures[0].Detail)
	default:
		r.false("verify rejects", "%s: %s: %s", result.Status, failures[0].Claim, failures[0].Detail)
	}
	return result
}

// again evaluates F anew at the x of a result, by default settings, and holds it to be the same where that is asked.
func (r *report) again(p *runtime.Problem, result *runtime.Result, same bool) {
	again, err := p.Eval(context.Background(), result.Upper.Variables, runtime.Options{})
	if err != nil || again.Status != runtime.Solved {
		r.outcome("F not found again")
		return
	}
	a, b := float64(result.Upper.Objective), float64(again.Upper.Objective)
	if d := math.Abs(a - b); same && d > 1e-5*(1+math.Abs(a)) {
		r.false("F differs", "%v, evaluated there %v", a, b)
	}
}
