package runtime

// freeEntries names the leader's variables that nothing depends on: neither objective, no
// row of either level. Any value within their bounds is as good as another.
func (p *Problem) freeEntries() []string {
	p.shared.findFree.Do(func() {
		for j, free := range p.Numeric.Facts.Free {
			if set := p.Numeric.X; free && set.Lo[j] < set.Hi[j] {
				p.shared.free = append(p.shared.free, p.IR.Upper.EntryName(j))
			}
		}
	})
	return p.shared.free
}
