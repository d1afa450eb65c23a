package runtime

import (
	"slices"

	"bilevelc/ir"
)

// inOrder is a result whose values by label, as they are read from JSON, are in
// the order of the model's sets; those that do not fit stay as they are.
func (p *Problem) inOrder(r *Result) *Result {
	out := *r
	arrange := func(vs Values, shape func(name string) ([]int, []Axis, bool)) Values {
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
	variable := func(level *ir.Level) func(string) ([]int, []Axis, bool) {
		return func(name string) ([]int, []Axis, bool) {
			v := findVariable(level, name)
			if v == nil {
				return nil, nil, false
			}
			return v.Shape.Dims(), v.Axes, true
		}
	}
	family := func(rows []ir.Row) func(string) ([]int, []Axis, bool) {
		return func(name string) ([]int, []Axis, bool) {
			for _, row := range rows {
				if row.Family.Name == name {
					return row.Family.Shape.Dims(), row.Family.Axes, true
				}
			}
			return nil, nil, false
		}
	}
	reported := func(name string) ([]int, []Axis, bool) {
		for _, item := range p.IR.Report {
			if item.Name == name {
				return item.Node.Shape.Dims(), item.Axes, true
			}
		}
		return nil, nil, false
	}
	out.Upper.Variables = arrange(r.Upper.Variables, variable(&p.IR.Upper))
	out.Upper.Hypergradient = arrange(r.Upper.Hypergradient, variable(&p.IR.Upper))
	out.Upper.Residuals = arrange(r.Upper.Residuals, family(p.IR.Coupled))
	out.Upper.Multipliers = arrange(r.Upper.Multipliers, family(p.IR.Coupled))
	out.Upper.Penalty = arrange(r.Upper.Penalty, family(p.IR.Coupled))
	out.Lower.Variables = arrange(r.Lower.Variables, variable(&p.IR.Lower))
	out.Lower.Units = arrange(r.Lower.Units, variable(&p.IR.Lower))
	out.Lower.Multipliers = arrange(r.Lower.Multipliers, family(p.IR.Rows))
	if e := r.Lower.Equivalent; e != nil {
		out.Lower.Equivalent = &Equivalent{Objective: e.Objective, Multipliers: arrange(e.Multipliers, family(p.IR.Rows))}
	}
	out.Residuals.Constraints = arrange(r.Residuals.Constraints, family(p.IR.Rows))
	out.Report = arrange(r.Report, reported)
	out.Sensitivity = slices.Clone(r.Sensitivity)
	for i := range out.Sensitivity {
		for _, side := range []**Rates{&out.Sensitivity[i].Right, &out.Sensitivity[i].Left} {
			if *side != nil {
				rates := **side
				rates.Variables = arrange(rates.Variables, variable(&p.IR.Lower))
				rates.Multipliers = arrange(rates.Multipliers, family(p.IR.Rows))
				*side = &rates
			}
		}
	}
	out.Lower.Followers = slices.Clone(r.Lower.Followers)
	for i := range out.Lower.Followers {
		f := &out.Lower.Followers[i]
		f.Variables = arrange(f.Variables, variable(&p.IR.Lower))
		f.Multipliers = arrange(f.Multipliers, family(p.IR.Rows))
		f.Objective = arrange(f.Objective, func(name string) ([]int, []Axis, bool) {
			for _, b := range p.IR.Followers {
				if b.Name == name {
					return b.Objective.Node.Shape.Dims(), b.Objective.Axes, true
				}
			}
			return nil, nil, false
		})
	}
	return &out
}
