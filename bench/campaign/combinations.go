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
	r = &report{Seed: uint64(index), Family: file}
	wrong := func(kind, format string, args ...any) {
		r.Findings = append(r.Findings, finding{Kind: kind, Detail: fmt.Sprintf("%s, %s: ", file, c) + fmt.Sprintf(format, args...)})
	}
	defer func() {
		if err := recover(); err != nil {
			wrong("panic", "%v", err)
		}
	}()
	p, err := bindFile(file)
	if err != nil {
		wrong("refused", "%v", firstLine(err))
		return r
	}
	began := time.Now()
	result, err := p.Solve(context.Background(), runtime.Options{Method: c.method, Oracle: c.oracle, Solver: c.solver,
		MaxIter: combinationIterations, TimeLimit: combinationLimit, Seed: 1})
	took := time.Since(began)
	var usage *runtime.UsageError
	switch {
	case errors.As(err, &usage):
		r.Outcomes = append(r.Outcomes, "refused before the run")
		return r
	case err != nil:
		wrong("error", "%v", firstLine(err))
		return r
	}
	r.Outcomes = append(r.Outcomes, c.method+" "+result.Status.String())
	if !r.judge(p, result, took, 2*combinationLimit, fmt.Sprintf("%s, %s: ", file, c)) {
		return r
	}
	again, err := p.Eval(context.Background(), result.Upper.Variables, runtime.Options{})
	if err != nil || again.Status != runtime.Solved {
		r.Outcomes = append(r.Outcomes, "F not found again by default")
		return r
	}
	a, b := float64(result.Upper.Objective), float64(again.Upper.Objective)
	if d := math.Abs(a - b); result.Status == runtime.Solved && d > 1e-5*(1+math.Abs(a)) {
		wrong("F differs", "%v, by default %v", a, b)
	}
	return r
}

// slow is what a run may take beyond its limit on a machine that has other work.
const slow = 5 * time.Second

// judge examines the end of a run of a model of which the truth is not known: it keeps its limit,
// and what its document says passes verification. It reports whether there is a point to look at.
func (r *report) judge(p *runtime.Problem, result *runtime.Result, took, limit time.Duration, of string) bool {
	found := func(kind string, soft bool, reason, format string, args ...any) {
		r.Findings = append(r.Findings, finding{Kind: kind, Soft: soft, Reason: reason, Detail: of + fmt.Sprintf(format, args...)})
	}
	if took > limit+slow {
		found("beyond the time limit", false, "", "%v for a limit of %v", took, limit)
	}
	failed := result.Status == runtime.NumericalFailure
	if failed {
		reason, _, _ := strings.Cut(generic(result.Reason), " at ")
		found("numerical failure", true, reason, "%s", result.Reason)
	}
	if !result.HasPoint() {
		return false
	}
	checks, err := p.Verify(result)
	if err != nil {
		found("verify error", false, "", "%s: %v", result.Status, err)
		return false
	}
	if failures := checks.Failures(); len(failures) > 0 {
		kind := "verify rejects"
		if failed { // which may say so because its numbers do not hold
			kind = "verify rejects a failed run"
		}
		found(kind, failed, "", "%s: %s: %s", result.Status, failures[0].Claim, failures[0].Detail)
	}
	return true
}
