package bind

import (
	"bilevelc/ir"
	"bilevelc/lang"
)

// followers binds what results say of each follower by name: its variables, its
// constraints and its objective, one number for each combination of its indices.
func (b *binder) followers(prob *ir.Problem) {
	for _, f := range b.prog.Lower.Followers {
		out := ir.BoundFollower{Name: f.Name}
		owns := map[*ir.Family]bool{}
		for _, v := range f.Vars {
			out.Vars = append(out.Vars, v.Name.Name)
			for _, family := range b.owned[v] {
				owns[family] = true
			}
		}
		for _, c := range f.Constraints {
			for _, family := range b.owned[c] {
				owns[family] = true
			}
		}
		seen := map[*ir.Family]bool{}
		for _, row := range prob.Rows {
			if owns[row.Family] && !seen[row.Family] {
				seen[row.Family] = true
				out.Families = append(out.Families, row.Family)
			}
		}
		if f.Objective == nil {
			continue
		}
		out.Maximize = f.Objective.Maximize
		x := f.Objective.Value
		if sum, ok := x.(*lang.Comprehension); ok && f.Block.Binders != nil {
			each := *sum
			each.Fn = lang.Ident{At: sum.Fn.At}
			x = &each
		}
		v := b.top().numeric(x)
		if v.bad() {
			continue
		}
		out.Objective = v.named(f.Name, f.Objective.Span())
		prob.Followers = append(prob.Followers, out)
	}
}
