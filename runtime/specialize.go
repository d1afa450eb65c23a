package runtime

import "bilevelc/codegen"

// Programs are the compiled upper and lower objectives.
func (p *Problem) Programs() (f, g *codegen.Program) { return p.f.Program(), p.g.Program() }

// Specialize makes the problem evaluate its objectives by native code, written
// by codegen.Source, in place of the interpreter; results are the same. It
// reports for each objective whether the code fits; where it does not, or is
// nil, nothing changes. It is for before the problem is shared.
func (p *Problem) Specialize(f, g *codegen.Native) (upper, lower bool) {
	upper, lower = p.f.Specialize(f), p.g.Specialize(g)
	p.shared = &shared{digest: p.Digest()} // evaluators that were made before go
	return upper, lower
}
