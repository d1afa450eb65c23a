package main

import (
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
	"bilevelc/ir"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
)

// sweepFolder opens the sweep that the argument names, or makes it.
func (a *app) sweepFolder(ctx context.Context, arg string, f *sweepFlags) (*sweep.Folder, error) {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		for _, name := range []string{"over", "draw", "draws", "dir", "data", "set", "seed", "method", "oracle", "solver", "option", "starts", "max-iter", "time-limit", "global", "local", "gap", "nodes", "proof"} {
			if f.flags.Changed(name) {
				return nil, usageError("%s is a sweep with a plan of its own: --%s belongs to a new one", arg, name)
			}
		}
		return a.openSweep(arg)
	}
	var fixed sweep.Fixed
	var space sweep.Space
	model, dataFiles, base := arg, slices.Clone(f.data), ""
	if strings.HasSuffix(arg, ".toml") {
		text, err := a.readFile(ctx, arg, maxModel)
		if err != nil {
			return nil, a.unreadable(arg, err, exitUsage)
		}
		var file *sweep.File
		if file, fixed, space, err = sweep.ParseFile(arg, string(text)); err != nil {
			return nil, usageError("%v", err)
		}
		base = filepath.Dir(arg)
		model, dataFiles = file.Model, append(slices.Clone(file.Data), f.data...)
	} else {
		fixed.Seed = f.seed
	}
	if err := f.overlay(&fixed, &space); err != nil {
		return nil, err
	}
	inputs := map[string][]byte{}
	read := func(spec string, code int) (sweep.Input, error) {
		name, path := "", spec
		if before, after, ok := strings.Cut(spec, "="); ok && !strings.ContainsAny(before, `/\.`) {
			name, path = before+"=", after
		}
		if base != "" && !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		text, err := a.readFile(ctx, path, datafile.MaxFile)
		if err != nil {
			return sweep.Input{}, a.unreadable(path, err, code)
		}
		hash := sweep.HashOf(text)
		inputs[hash] = text
		return sweep.Input{Name: name + path, Hash: hash}, nil
	}
	var err error
	if fixed.Model, err = read(model, exitUsage); err != nil {
		return nil, err
	}
	for _, spec := range dataFiles {
		input, err := read(spec, exitData)
		if err != nil {
			return nil, err
		}
		fixed.Data = append(fixed.Data, input)
	}
	space.Data = map[string]sweep.Input{}
	named := func(spec string) error {
		input, err := read(spec, exitData)
		space.Data[spec] = input
		return err
	}
	for _, axis := range space.Axes {
		if axis.Name == "data" {
			for _, spec := range axis.Values {
				if err := named(spec); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, job := range space.List {
		if spec := job["data"]; spec != "" {
			if err := named(spec); err != nil {
				return nil, err
			}
		}
	}
	// A model with an error, or an axis that it does not have, is told before anything is written.
	m, err := a.compileText(ctx, fixed.Model.Name, inputs[fixed.Model.Hash])
	if err != nil {
		return nil, err
	}
	plan, err := sweep.NewPlan(fixed, space)
	if err != nil {
		return nil, usageError("%v", err)
	}
	if !f.ignore {
		if err := declared(plan.Axes, m.Program); err != nil {
			return nil, err
		}
	}
	dir := f.dir
	if dir == "" {
		dir = strings.TrimSuffix(strings.TrimSuffix(arg, ".toml"), ".blv") + ".sweep"
	}
	folder, err := sweep.Create(dir, plan, inputs, who())
	if errors.Is(err, sweep.ErrOtherPlan) {
		return nil, usageError("%v", err)
	}
	return folder, err
}

// declared refuses an axis that is neither a choice of a run nor what a model takes values for.
func declared(axes []string, p *ir.Program) error {
	names := []string{"seed", "start", "method", "oracle", "solver", "data"}
	for _, name := range slices.Sorted(maps.Keys(p.Symbols)) {
		switch p.Symbols[name].Kind {
		case ir.ParamSymbol, ir.DataSymbol, ir.SetSymbol:
			names = append(names, name)
		}
	}
	for _, axis := range axes {
		if !slices.Contains(names, axis) {
			return usageError("the model has no param or data %s to vary%s; there are %s", axis, diag.DidYouMean(axis, names), strings.Join(names, ", "))
		}
	}
	return nil
}

// overlay takes what the flags say over a plan's.
func (f *sweepFlags) overlay(fixed *sweep.Fixed, space *sweep.Space) error {
	settings, err := f.settings()
	if err != nil {
		return err
	}
	for name, v := range settings {
		if fixed.Options == nil {
			fixed.Options = map[string]any{}
		}
		fixed.Options[name] = v
	}
	if err := f.valid(f.flags); err != nil {
		return err
	}
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
	switch {
	case f.global:
		fixed.Search = sweep.Global
	case f.local:
		fixed.Search = sweep.Local
	}
	fixed.Proof = fixed.Proof || f.proofs
	fixed.Set = append(fixed.Set, f.set...)
	for _, text := range f.over {
		axis, err := sweep.ParseAxis(text)
		if err != nil {
			return usageError("--over: %v", err)
		}
		space.Axes = append(space.Axes, axis)
	}
	for _, text := range f.draw {
		d, err := sweep.ParseDraw(text)
		if err != nil {
			return usageError("--draw: %v", err)
		}
		space.Draw = append(space.Draw, d)
	}
	return nil
}

// take gives a plan the value of a flag that the user gave.
func take[T any](fs *pflag.FlagSet, name string, to *T, value T) {
	if fs.Changed(name) {
		*to = value
	}
}

// openSweep opens a folder.
func (a *app) openSweep(dir string) (*sweep.Folder, error) {
	folder, err := sweep.Open(dir, who())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("%s is no sweep: it has no plan.json", dir)
	}
	if err != nil {
		return nil, &exitError{Code: exitData, Err: err}
	}
	return folder, nil
}
