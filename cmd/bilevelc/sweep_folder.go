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
	read := func(spec string) (sweep.Input, error) {
		name, path := "", spec
		if before, after, ok := strings.Cut(spec, "="); ok && !strings.ContainsAny(before, `/\.`) {
			name, path = before+"=", after
		}
		if base != "" && !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		text, err := a.readFile(ctx, path, datafile.MaxFile)
		if err != nil {
			return sweep.Input{}, a.unreadable(path, err, exitData)
		}
		hash := sweep.HashOf(text)
		inputs[hash] = text
		return sweep.Input{Name: name + path, Hash: hash}, nil
	}
	var err error
	if fixed.Model, err = read(model); err != nil {
		return nil, err
	}
	for _, spec := range dataFiles {
		input, err := read(spec)
		if err != nil {
			return nil, err
		}
		fixed.Data = append(fixed.Data, input)
	}
	space.Data = map[string]sweep.Input{}
	named := func(spec string) error {
		input, err := read(spec)
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
	if f.flags.Changed("seed") {
		fixed.Seed = f.seed
	}
	for _, c := range []struct {
		name string
		from string
		to   *string
	}{{"method", f.method, &fixed.Method}, {"oracle", f.oracle, &fixed.Oracle}, {"solver", f.solver, &fixed.Solver}} {
		if f.flags.Changed(c.name) {
			*c.to = c.from
		}
	}
	for _, c := range []struct {
		name string
		from int
		to   *int
	}{{"starts", f.starts, &fixed.Starts}, {"max-iter", f.maxIter, &fixed.MaxIter}} {
		if f.flags.Changed(c.name) {
			if c.from < 1 {
				return usageError("--%s is at least 1, not %d", c.name, c.from)
			}
			*c.to = c.from
		}
	}
	if f.flags.Changed("time-limit") {
		if f.timeLimit <= 0 {
			return usageError("--time-limit is a positive duration, not %v", f.timeLimit)
		}
		fixed.Limit = f.timeLimit
	}
	if f.flags.Changed("gap") {
		fixed.Gap = f.gap
	}
	if f.flags.Changed("nodes") {
		fixed.Nodes = f.nodes
	}
	switch {
	case f.global && f.local:
		return usageError("--global and --local exclude each other")
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
	if f.flags.Changed("draws") {
		space.Draws = f.draws
	}
	if f.flags.Changed("draw-seed") {
		space.Seed = f.drawSeed
	}
	return nil
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
