package runtime

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/runtime/document"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	_ "bilevelc/runtime/paper" // registers the methods of the paper
	"bilevelc/runtime/problem"
)

// MethodInfo describes one method of any kind, for help and documentation.
type MethodInfo struct {
	Kind      string // "method", "oracle" or "solver"
	Name      string
	Summary   string
	Reference string
	Settings  []method.Setting
	// Assumes is what its theory needs, of outer methods and oracles; lower
	// solvers check what they need.
	Assumes []problem.Assumption
}

// Methods lists every outer method, oracle and lower solver.
func Methods() []MethodInfo {
	return slices.Concat([]MethodInfo{{Kind: "method", Name: SystemMethod,
		Summary:   "active-set method on the follower's KKT system: exact at kinks and ties (the default where g is quadratic in x and y together, and, on the system linearized again and again, where it is smooth and strongly convex)",
		Reference: "Scheel and Scholtes 2000; Ralph and Dempe 1995"}}, each.Of(outer.All(), func(s outer.Spec) MethodInfo {
		return MethodInfo{"method", s.Name, s.Summary, s.Reference, s.Settings, s.Assumes}
	}), each.Of(oracle.All(), func(s oracle.Spec) MethodInfo {
		return MethodInfo{"oracle", s.Name, s.Summary, s.Reference, s.Settings, s.Assumes}
	}), each.Of(lower.All(), func(s lower.Spec) MethodInfo {
		return MethodInfo{"solver", s.Name, s.Summary, s.Reference, s.Settings, nil}
	}))
}

// chosen are the three methods of a run with the settings that go to each.
type chosen struct {
	method outer.Spec
	oracle oracle.Spec
	solver lower.Spec

	forMethod, forOracle, forSolver method.Values
}

// choose fills options in, and finds the methods that they name with their settings,
// and the hyperobjective of these.
func (p *Problem) choose(opts Options) (_ Options, c *chosen, h *oracle.Hyper, err error) {
	defer must.Catch(&err)
	opts = must.Get(p.resolve(opts))
	c, err = opts.split(opts.Settings)
	must.Do(usage(err))
	h, err = c.hyperobjective(p, opts.Threads)
	return opts, c, h, usage(err)
}

// split looks the three methods up and gives each setting to its owner: the
// one it is written with ("alm.tolerance"), or the first that has it of the
// outer method, the oracle and the lower solver. Ranges are checked.
func (o Options) split(values method.Values) (_ *chosen, err error) {
	defer must.Catch(&err)
	c := &chosen{forMethod: method.Values{}, forOracle: method.Values{}, forSolver: method.Values{}}
	if o.Method == SystemMethod {
		for name := range values {
			if slices.Contains(general, name) {
				return nil, notOfMethod(name)
			}
		}
		must.Be(len(values) == 0, "method %s has no settings", SystemMethod)
		c.method = outer.Spec{Name: SystemMethod}
		return c, nil
	}
	c.method = must.Get(outer.Lookup(o.Method))
	c.oracle = must.Get(oracle.Lookup(o.Oracle))
	c.solver = must.Get(lower.Lookup(o.Solver))
	owners := []struct {
		name     string
		settings []method.Setting
		values   method.Values
	}{
		{c.method.Name, c.method.Settings, c.forMethod},
		{c.oracle.Name, c.oracle.Settings, c.forOracle},
		{c.solver.Name, c.solver.Settings, c.forSolver},
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		owner, bare, ok := strings.Cut(name, ".")
		if !ok {
			owner, bare = "", name
		}
		placed := false
		var known []string
		for _, o := range owners {
			if owner != "" && owner != o.name {
				continue
			}
			for _, s := range o.settings {
				known = append(known, s.Name)
				if s.Name == bare && !placed {
					o.values[bare] = values[name]
					placed = true
				}
			}
		}
		if !placed {
			return nil, unknownSetting(name, bare, known, c)
		}
	}
	must.Get(c.solver.New(c.forSolver))
	must.Get(c.oracle.New(c.forOracle))
	_, err = c.method.New(c.forMethod)
	return c, err
}

// notOfMethod is the error of a setting of the run, or of the problem, that is given as one of a method.
func notOfMethod(name string) error {
	return fmt.Errorf("%s is no setting of a method: write it into the model, as in `solve { %s = %s }`", name, name,
		map[string]string{"ties": document.Optimistic, "tau": "1e-3", "method": SystemMethod, "oracle": oracle.Default, "solver": lower.Default,
			"starts": "5", "max_iter": "100", "time_limit": "30s", "gap": "1e-4", "nodes": "1000"}[name])
}

// noSettings reports the names in a model's `solve` block that are settings of nothing.
func noSettings(block *lang.Solve) (diags diag.List) {
	known := slices.Clone(general)
	for _, m := range Methods() {
		known = append(known, each.Of(m.Settings, func(s method.Setting) string { return s.Name })...)
	}
	for i := range block.Items {
		item := &block.Items[i]
		if item.Start || slices.Contains(known, item.Name.Name) {
			continue
		}
		d := diags.Errorf(diag.RunSetting, item.Name.Span(), "there is no setting `%s`", item.Name.Name)
		if d.Fix = diag.Meant(item.Name.Name, known); d.Fix == "" {
			d.Detail = "those of a run are " + strings.Join(general, ", ") + "; `bilevelc methods` lists those of each method"
		}
	}
	return diags
}

func unknownSetting(name, bare string, known []string, c *chosen) error {
	hint := diag.DidYouMean(bare, known)
	if slices.Contains(general, bare) {
		return notOfMethod(name)
	}
	if slices.Sort(known); hint == "" {
		hint = fmt.Sprintf("; method %s, oracle %s and solver %s have %s",
			c.method.Name, c.oracle.Name, c.solver.Name, strings.Join(slices.Compact(known), ", "))
	}
	return fmt.Errorf("there is no setting %s%s", name, hint)
}

// hyperobjective makes F of a problem for the chosen methods; independent
// followers are solved on that many threads.
func (c *chosen) hyperobjective(p *Problem, threads int) (_ *oracle.Hyper, err error) {
	defer must.Catch(&err)
	numeric := p.Numeric.Clone()
	solver := must.Get(lower.New(c.solver.Name, c.forSolver, numeric, threads))
	must.Do(c.oracle.Check(numeric))
	o := must.Get(c.oracle.New(c.forOracle))
	return oracle.New(numeric, solver, o), nil
}
