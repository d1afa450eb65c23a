package runtime

import (
	"bilevelc/ir/facts"
	"bilevelc/runtime/named"
)

// freeEntries names the leader's variables that nothing depends on: neither objective, no
// row of either level. Any value within their bounds is as good as another.
func (p *Problem) freeEntries() []string {
	p.shared.findFree.Do(func() {
		used := make([]bool, p.IR.Upper.Dim)
		facts.Reads(p.IR.Graph, p.IR.Upper.Objective, false, used)
		facts.Reads(p.IR.Graph, p.IR.Lower.Objective, false, used)
		facts.Reads(p.IR.Graph, p.IR.Plain, false, used)
		if t := p.IR.Transformed; t != nil {
			facts.Reads(p.IR.Graph, t.Objective, false, used)
		}
		facts.Reads(p.IR.Graph, p.IR.Penalized, false, used)
		if p.IR.A != nil {
			for _, j := range p.IR.A.Col {
				used[j] = true
			}
		}
		set := p.Numeric.X
		if set.E != nil {
			for _, j := range set.E.Col {
				used[j] = true
			}
		}
		if p.IR.X.Extended != nil || len(p.IR.X.Balls) > 0 || len(p.IR.Coupled) > 0 && p.IR.Penalized == nil {
			return // what these bind is not looked at
		}
		j := 0
		for _, v := range named.Variables(&p.IR.Upper, make([]float64, len(used)), 1) {
			for k := range v.Data {
				if !used[j] && set.Lo[j] < set.Hi[j] {
					p.shared.free = append(p.shared.free, EntryName(v, k))
				}
				j++
			}
		}
	})
	return p.shared.free
}
