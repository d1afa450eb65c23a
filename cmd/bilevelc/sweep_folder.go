package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
)

// sweepFolder opens the sweep that the argument names, or makes it.
func (a *app) sweepFolder(ctx context.Context, arg string, f *sweepFlags) *sweep.Folder {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		for _, name := range []string{"over", "draw", "draws", "dir", "data", "set", "seed", "method", "oracle", "solver", "option", "starts", "max-iter", "time-limit", "global", "local", "gap", "nodes", "proof"} {
			hold(!f.flags.Changed(name), "%s is a sweep with a plan of its own: --%s belongs to a new one", arg, name)
		}
		return a.openSweep(arg)
	}
	var fixed sweep.Fixed
	var space sweep.Space
	model, dataFiles, base := arg, slices.Clone(f.data), ""
	if strings.HasSuffix(arg, ".toml") {
		text := a.textOf(ctx, arg, maxModel, exitUsage)
		var file *sweep.File
		var err error
		file, fixed, space, err = sweep.ParseFile(arg, string(text))
		hold(err == nil, "%v", err)
		base = filepath.Dir(arg)
		model, dataFiles = file.Model, append(slices.Clone(file.Data), f.data...)
	} else {
		fixed.Seed = f.seed
	}
	f.overlay(&fixed, &space)
	inputs := map[string][]byte{}
	read := func(spec string, code int) sweep.Input {
		name, path := "", spec
		if before, after, ok := strings.Cut(spec, "="); ok && !strings.ContainsAny(before, `/\.`) {
			name, path = before+"=", after
		}
		if base != "" && !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		text := a.textOf(ctx, path, datafile.MaxFile, code)
		hash := sweep.HashOf(text)
		inputs[hash] = text
		return sweep.Input{Name: name + path, Hash: hash}
	}
	fixed.Model = read(model, exitUsage)
	for _, spec := range dataFiles {
		fixed.Data = append(fixed.Data, read(spec, exitData))
	}
	space.Data = map[string]sweep.Input{}
	for _, axis := range space.Axes {
		if axis.Name == "data" {
			for _, spec := range axis.Values {
				space.Data[spec] = read(spec, exitData)
			}
		}
	}
	for _, job := range space.List {
		if spec := job["data"]; spec != "" {
			space.Data[spec] = read(spec, exitData)
		}
	}
	// A model with an error, or an axis that it does not have, is told before anything is written.
	m := a.compileText(ctx, fixed.Model.Name, inputs[fixed.Model.Hash])
	plan, err := sweep.NewPlan(fixed, space)
	hold(err == nil, "%v", err)
	if !f.ignore {
		declared(plan.Axes, m.Program)
	}
	possible(plan)
	dir := cmp.Or(f.dir, strings.TrimSuffix(strings.TrimSuffix(arg, ".toml"), ".blv")+".sweep")
	folder, err := sweep.Create(dir, plan, inputs, who())
	hold(!errors.Is(err, sweep.ErrOtherPlan) && !errors.As(err, new(*fs.PathError)), "%v", err)
	return readable(folder, err)
}

// declared refuses an axis that is neither a choice of a run nor what a model takes values for.
func declared(axes []string, p *ir.Program) {
	names := []string{"seed", "start", "method", "oracle", "solver", "data"}
	for _, name := range slices.Sorted(maps.Keys(p.Symbols)) {
		switch p.Symbols[name].Kind {
		case ir.ParamSymbol, ir.DataSymbol, ir.SetSymbol:
			names = append(names, name)
		}
	}
	for _, axis := range axes {
		hold(slices.Contains(names, axis), "the model has no param or data %s to vary%s; there are %s", axis, diag.DidYouMean(axis, names), strings.Join(names, ", "))
	}
}

// possible refuses a plan with a value that no job could be run with.
func possible(plan *sweep.Plan) {
	tried := map[[2]string]bool{}
	for _, job := range plan.Jobs {
		for k, axis := range plan.Axes {
			value := job.At[k]
			if tried[[2]string{axis, value}] || value == "" {
				continue
			}
			tried[[2]string{axis, value}] = true
			switch axis {
			case "seed", "start", "data": // the plan has read them
			case "method", "oracle", "solver":
				names := methodNames(axis)
				hold(slices.Contains(names, value), "there is no %s %s%s; 'bilevelc methods' lists them", axis, value, diag.DidYouMean(value, names))
			default:
				_, diags := datafile.ParseSet(axis + "=" + value)
				if diags.HasErrors() {
					hold(false, "%s cannot be %s: %s; a range is FROM:TO:STEP, or FROM..TO of whole numbers", axis, value, strings.TrimSuffix(diags[0].Summary, "."))
				}
			}
		}
	}
}

// overlay takes what the flags say over a plan's.
func (f *sweepFlags) overlay(fixed *sweep.Fixed, space *sweep.Space) {
	for name, v := range f.settings() {
		if fixed.Options == nil {
			fixed.Options = map[string]any{}
		}
		fixed.Options[name] = v
	}
	f.valid(f.flags)
	take(f.flags, "seed", &fixed.Seed, f.seed)
	take(f.flags, "method", &fixed.Method, f.method)
	take(f.flags, "oracle", &fixed.Oracle, f.oracle)
	take(f.flags, "solver", &fixed.Solver, f.solver)
	take(f.flags, "starts", &fixed.Starts, f.starts)
	take(f.flags, "max-iter", &fixed.MaxIter, f.maxIter)
	take(f.flags, "time-limit", &fixed.Limit, f.timeLimit)
	take(f.flags, "gap", &fixed.Gap, f.gap)
	take(f.flags, "nodes", &fixed.Nodes, f.nodes)
	take(f.flags, "draws", &space.Draws, f.draws)
	take(f.flags, "draw-seed", &space.Seed, f.drawSeed)
	fixed.Search = cmp.Or(sweep.SearchOf(f.global, f.local), fixed.Search)
	fixed.Proof = fixed.Proof || f.proofs
	fixed.Set = append(fixed.Set, f.set...)
	for _, text := range f.over {
		axis, err := sweep.ParseAxis(text)
		hold(err == nil, "--over: %v", err)
		space.Axes = append(space.Axes, axis)
	}
	for _, text := range f.draw {
		d, err := sweep.ParseDraw(text)
		hold(err == nil, "--draw: %v", err)
		space.Draw = append(space.Draw, d)
	}
}

// take gives a plan the value of a flag that the user gave.
func take[T any](fs *pflag.FlagSet, name string, to *T, value T) {
	if fs.Changed(name) {
		*to = value
	}
}

// openSweep opens a folder.
func (a *app) openSweep(dir string) *sweep.Folder {
	folder, err := sweep.Open(dir, who())
	hold(!errors.Is(err, fs.ErrNotExist), "%s is no sweep: it has no plan.json", dir)
	return readable(folder, err)
}

// readable is what is in the folder of a sweep, where that can be read.
func readable[T any](v T, err error) T {
	must.Do(coded(exitData, err))
	return v
}
