package named

import (
	"slices"

	"bilevelc/ir"
	"bilevelc/runtime/document"
)

// InOrder is a result whose values by label, as they are read from JSON, are in
// the order of the model's sets; those that do not fit stay as they are.
func InOrder(p *ir.Problem, r *document.Result) *document.Result {
	out := *r
	arrange := func(vs document.Values, shape func(name string) ([]int, []document.Axis, bool)) document.Values {
		list := slices.Clone(vs)
		for i, v := range list {
			if dims, axes, known := shape(v.Name); known {
				if fitted, err := v.Fit(dims, axes); err == nil {
					list[i] = fitted
				}
			}
		}
		return list
	}
	variable := func(level *ir.Level) func(string) ([]int, []document.Axis, bool) {
		of := make(map[string]*ir.Variable, len(level.Vars))
		for i := range level.Vars {
			of[level.Vars[i].Name] = &level.Vars[i]
		}
		return func(name string) ([]int, []document.Axis, bool) {
			v := of[name]
			if v == nil {
				return nil, nil, false
			}
			return v.Shape.Dims(), v.Axes, true
		}
	}
	family := func(rows []ir.Row) func(string) ([]int, []document.Axis, bool) {
		of := map[string]*ir.Family{}
		for _, row := range rows {
			of[row.Family.Name] = row.Family
		}
		return func(name string) ([]int, []document.Axis, bool) {
			f := of[name]
			if f == nil {
				return nil, nil, false
			}
			return f.Shape.Dims(), f.Axes, true
		}
	}
	reported := func(name string) ([]int, []document.Axis, bool) {
		for _, item := range p.Report {
			if item.Name == name {
				return item.Node.Shape.Dims(), item.Axes, true
			}
		}
		return nil, nil, false
	}
	out.Upper.Variables = arrange(r.Upper.Variables, variable(&p.Upper))
	out.Upper.Hypergradient = arrange(r.Upper.Hypergradient, variable(&p.Upper))
	out.Upper.Residuals = arrange(r.Upper.Residuals, family(p.Coupled))
	out.Upper.Multipliers = arrange(r.Upper.Multipliers, family(p.Coupled))
	out.Upper.Penalty = arrange(r.Upper.Penalty, family(p.Coupled))
	out.Lower.Variables = arrange(r.Lower.Variables, variable(&p.Lower))
	out.Lower.Units = arrange(r.Lower.Units, variable(&p.Lower))
	out.Lower.Multipliers = arrange(r.Lower.Multipliers, family(p.Rows))
	if e := r.Lower.Equivalent; e != nil {
		out.Lower.Equivalent = &document.Equivalent{Objective: e.Objective, Multipliers: arrange(e.Multipliers, family(p.Rows))}
	}
	out.Residuals.Constraints = arrange(r.Residuals.Constraints, family(p.Rows))
	out.Report = arrange(r.Report, reported)
	out.Sensitivity = slices.Clone(r.Sensitivity)
	for i := range out.Sensitivity {
		for _, side := range []**document.Rates{&out.Sensitivity[i].Right, &out.Sensitivity[i].Left} {
			if *side != nil {
				rates := **side
				rates.Variables = arrange(rates.Variables, variable(&p.Lower))
				rates.Multipliers = arrange(rates.Multipliers, family(p.Rows))
				*side = &rates
			}
		}
	}
	out.Lower.Followers = slices.Clone(r.Lower.Followers)
	for i := range out.Lower.Followers {
		f := &out.Lower.Followers[i]
		f.Variables = arrange(f.Variables, variable(&p.Lower))
		f.Multipliers = arrange(f.Multipliers, family(p.Rows))
		f.Objective = arrange(f.Objective, func(name string) ([]int, []document.Axis, bool) {
			for _, b := range p.Followers {
				if b.Name == name {
					return b.Objective.Node.Shape.Dims(), b.Objective.Axes, true
				}
			}
			return nil, nil, false
		})
	}
	return &out
}
