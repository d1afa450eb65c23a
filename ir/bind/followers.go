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
		var owns []*ir.Family
		for _, v := range f.Vars {
			out.Vars, owns = append(out.Vars, v.Name.Name), append(owns, b.owned[v]...)
		}
		for _, c := range f.Constraints {
			owns = append(owns, b.owned[c]...)
		}
		open := map[*ir.Family]bool{} // of those that no row was seen of
		for _, family := range owns {
			open[family] = true
		}
		for _, row := range prob.Rows {
			if open[row.Family] {
				open[row.Family] = false
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
