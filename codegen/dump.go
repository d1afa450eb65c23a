package codegen

import (
	"bilevelc/internal/each"
	"bilevelc/lang/diag"
	"fmt"
	"io"
	"strings"
)

// Dump writes the program in readable form: the x stage, then the y stage of
// every entry point, each instruction with its stage, places and operands, and
// the sizes of the data and of the arena.
func (p *Program) Dump(w io.Writer) error {
	var b strings.Builder
	registers := 8 * p.regs * blockLen // of one thread: how many there are is the machine's
	total, live := p.ArenaBytes()
	total, live = total-p.threads*registers, live-p.threads*registers
	entries := 0
	for _, d := range p.data {
		entries += len(d)
	}
	fmt.Fprintf(&b, "dx %d, dy %d\n", p.dx, p.dy)
	fmt.Fprintf(&b, "data %d dense arrays, %d bytes\n", len(p.data), 8*entries)
	fmt.Fprintf(&b, "arena %d bytes, of which %d live at once, and %d of registers a thread\n", total, live, registers)
	fmt.Fprintf(&b, "\nx stage (once for each x)\n")
	for i := range p.hold {
		in := &p.hold[i]
		users := each.WhereBelow(int(entryCount), func(e int) bool { return in.need&(1<<e) != 0 })
		p.dumpInstr(&b, in, "for "+diag.Join(users, ", ", func(e int) string { return entry(e).String() }))
	}
	for e := range entryCount {
		fmt.Fprintf(&b, "\n%s\n", e)
		for i := range p.code[e] {
			p.dumpInstr(&b, &p.code[e][i], "")
		}
		if p.value[e].n == 1 {
			fmt.Fprintf(&b, "  return %s\n", p.value[e])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Program) dumpInstr(b *strings.Builder, in *instr, note string) {
	fmt.Fprintf(b, "  %s  %s = %s", in.stage, diag.Join(in.out, ", ", ref.String), in.describe())
	if note != "" {
		fmt.Fprintf(b, "   ; %s", note)
	}
	b.WriteString("\n")
	if in.loop == nil {
		return
	}
	for _, s := range in.loop.steps {
		fmt.Fprintf(b, "       %s\n", s.describe(in))
	}
}

// describe is the right-hand side of an instruction.
func (in *instr) describe() string {
	var b strings.Builder
	switch in.op {
	case opFused:
		fmt.Fprintf(&b, "loop over %d", in.loop.n)
		if in.parts > 1 {
			fmt.Fprintf(&b, " in %d pieces", in.parts)
		}
		return b.String()
	case opMatVec:
		b.WriteString("matvec")
		switch {
		case in.sparse != nil:
			fmt.Fprintf(&b, " sparse[%d x %d, %d entries]", in.rows, in.cols, in.sparse.NNZ())
		case in.symmetric:
			fmt.Fprintf(&b, " symmetric %s", in.in[0])
		default:
			fmt.Fprintf(&b, " %s", in.in[0])
		}
		if in.transA {
			b.WriteString("'")
		}
		fmt.Fprintf(&b, " * %s", in.in[1])
		if in.alpha != 1 {
			fmt.Fprintf(&b, " * %g", in.alpha)
		}
		if len(in.in) > 2 {
			fmt.Fprintf(&b, " + %s", in.in[2])
		}
		return b.String()
	}
	b.WriteString(in.op.String())
	for k, r := range in.in {
		fmt.Fprintf(&b, " %s", r)
		if in.op == opMatMul && (k == 0 && in.transA || k == 1 && in.transB) {
			b.WriteString("'")
		}
	}
	return b.String()
}

// describe is a step of a loop: registers are r0, r1, ...
func (s *step) describe(in *instr) string {
	text := func(o operand) string {
		switch o.kind {
		case fromArg, fromScalar, fromWhole:
			return in.in[o.index].String()
		case fromReg:
			return fmt.Sprintf("r%d", o.index)
		}
		return in.out[o.index].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s = ", text(s.dst))
	if s.op == opLin {
		for k, o := range s.in {
			if k > 0 {
				b.WriteString(" + ")
			}
			if s.coef[k] != 1 {
				fmt.Fprintf(&b, "%g ", s.coef[k])
			}
			b.WriteString(text(o))
		}
		if s.bias != 0 {
			fmt.Fprintf(&b, " + %g", s.bias)
		}
		return b.String()
	}
	b.WriteString(s.op.String())
	for k, o := range s.in {
		fmt.Fprintf(&b, " %s", text(o))
		if k == 0 && s.transposed {
			b.WriteString("'")
		}
	}
	return b.String()
}
