package runtime

import "bilevelc/codegen"

// Programs are the compiled upper and lower objectives.
func (p *Problem) Programs() (f, g *codegen.Program) { return p.f.program, p.g.program }

// Specialize makes the problem evaluate its objectives by native code, written
// by codegen.Source, in place of the interpreter; results are the same. It
// reports for each objective whether the code fits; where it does not, or is
// nil, nothing changes. It is for before the problem is shared.
func (p *Problem) Specialize(f, g *codegen.Native) (upper, lower bool) {
	upper, lower = p.f.specialize(f), p.g.specialize(g)
	p.shared = &shared{digest: p.Digest()} // evaluators that were made before go
	return upper, lower
}

func (c *compiled) specialize(n *codegen.Native) bool {
	if n == nil || !c.program.Specialize(n) {
		return false
	}
	c.Evaluator = c.program.NewEvaluator()
	return true
}
