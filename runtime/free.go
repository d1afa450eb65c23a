package runtime

import (
	"bilevelc/runtime/named"
)

// freeEntries names the leader's variables that nothing depends on: neither objective, no
// row of either level. Any value within their bounds is as good as another.
func (p *Problem) freeEntries() []string {
	p.shared.findFree.Do(func() {
		free, set := p.Numeric.Facts.Free, p.Numeric.X
		if free == nil {
			return
		}
		j := 0
		for _, v := range named.Variables(&p.IR.Upper, make([]float64, len(free)), 1) {
			for k := range v.Data {
				if free[j] && set.Lo[j] < set.Hi[j] {
					p.shared.free = append(p.shared.free, EntryName(v, k))
				}
				j++
			}
		}
	})
	return p.shared.free
}
