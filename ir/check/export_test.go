package check

import "bilevelc/ir"

// Number evaluates a size at the defaults of the params and the lists of the sets.
func Number(d ir.Dim) (int, bool) {
	p := withDefaults(d.(*poly))
	for _, a := range p.atoms() {
		if a.set != nil && a.set.decl.Value != nil {
			p = p.substitute(a, constPoly(int64(len(a.set.decl.Value.Elems))))
		}
	}
	v, ok := p.constant()
	if !ok || !v.IsInt() {
		return 0, false
	}
	return int(v.Num().Int64()), true
}
