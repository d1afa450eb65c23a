package codegen

import (
	"fmt"
	"slices"
	"strings"
)

// This file writes loops (opFused) as Go. Steps between two sums or products
// become one loop over the block with registers as local variables; a register
// that a sum or a later run of steps reads is stored in its block as well.

// loopWriter writes the piece function of one loop.
type loopWriter struct {
	*writer
	in      *instr
	l       *loop
	head    []string        // declarations before the blocks
	blocks  []string        // declarations in a block
	body    strings.Builder // statements in a block
	known   map[string]bool // names declared
	usesReg bool
}

// loop writes the call of the loop's pieces and the sums over them.
func (w *writer) loop(piece string, in *instr) {
	l := in.loop
	if in.parts == 1 {
		w.line("%s(m, 0, 0)", piece)
	} else {
		w.line("m.Pieces(%d, %s)", in.parts, piece)
	}
	at := in.scratch
	for k, r := range l.results {
		if r.sum == 0 {
			continue
		}
		out := place(in.out[k])
		w.line("copy(%s, m.Arena[%d:%d])", out, at, at+r.sum)
		if in.parts > 1 {
			w.line("for piece := 1; piece < %d; piece++ {", in.parts)
			w.line("kernel.Axpy(%s, 1, m.Arena[%d+piece*%d:][:%d])", out, at, l.sums(), r.sum)
			w.line("}")
		}
		at += r.sum
	}
	lw := &loopWriter{writer: w, in: in, l: l, known: map[string]bool{}}
	lw.write(piece)
}

// write writes the function that runs one piece.
func (w *loopWriter) write(name string) {
	l := w.l
	for from := 0; from < len(l.steps); {
		to := from
		for to < len(l.steps) && l.steps[to].op.elementwise() {
			to++
		}
		if to > from {
			w.run(from, to)
			from = to
			continue
		}
		w.reduction(&l.steps[from])
		from++
	}
	p := &w.pieces
	thread := "_"
	if w.usesReg {
		thread = "thread"
	}
	fmt.Fprintf(p, "\nfunc %s(m *codegen.Frame, piece, %s int) {\n", name, thread)
	fmt.Fprintf(p, "from, to := kernel.Share(%d, %d, piece, %d)\n", l.n, l.block(), w.in.parts)
	if n := l.sums(); n > 0 {
		fmt.Fprintf(p, "sums := m.Arena[%d+piece*%d:][:%d]\nclear(sums)\n", w.in.scratch, n, n)
	}
	if w.usesReg {
		fmt.Fprintf(p, "regs := m.Registers(thread)\n")
	}
	for _, s := range w.head {
		fmt.Fprintln(p, s)
	}
	fmt.Fprintf(p, "for lo := from; lo < to; lo += %d {\nhi := min(lo+%d, to)\n", l.block(), l.block())
	for _, s := range w.blocks {
		fmt.Fprintln(p, s)
	}
	fmt.Fprintf(p, "%s}\n}\n", w.body.String())
}

// declare adds a declaration once.
func (w *loopWriter) declare(to *[]string, name, text string) string {
	if !w.known[name] {
		w.known[name] = true
		*to = append(*to, name+" := "+text)
	}
	return name
}

// block is the slice of an operand's entries in the block.
func (w *loopWriter) block(o operand) string {
	switch o.kind {
	case fromArg:
		r := w.in.in[o.index]
		return w.declare(&w.blocks, fmt.Sprintf("a%d", o.index), place(r)+"[lo:hi]")
	case fromReg:
		w.usesReg = true
		return w.declare(&w.blocks, fmt.Sprintf("q%d", o.index), fmt.Sprintf("regs[%d:][:hi-lo]", o.index*blockLen))
	}
	return w.declare(&w.blocks, fmt.Sprintf("o%d", o.index), place(w.in.out[o.index])+"[lo:hi]")
}

// reduction writes a sum, or a product with the rows of a matrix.
func (w *loopWriter) reduction(s *step) {
	switch {
	case s.op == opSum:
		fmt.Fprintf(&w.body, "sums[%d] += kernel.Sum(%s)\n", w.l.sumAt(s), w.block(s.in[0]))
	case s.op == opDot:
		fmt.Fprintf(&w.body, "sums[%d] += kernel.Dot(%s, %s)\n", w.l.sumAt(s), w.block(s.in[0]), w.block(s.in[1]))
	case s.transposed:
		at, k := w.l.sumAt(s), w.l.results[s.dst.index].sum
		fmt.Fprintf(&w.body, "kernel.Gemv(sums[%d:%d], 1, %s[lo*%d:hi*%d], hi-lo, %d, true, %s)\n", at, at+k,
			place(w.in.in[s.in[0].index]), k, k, k, w.block(s.in[1]))
	default:
		v := w.in.in[s.in[1].index]
		dst := w.block(s.dst)
		fmt.Fprintf(&w.body, "clear(%s)\nkernel.Gemv(%s, 1, %s[lo*%d:hi*%d], hi-lo, %d, false, %s)\n", dst, dst,
			place(w.in.in[s.in[0].index]), v.n, v.n, v.n, place(v))
	}
}

// run writes the elementwise steps from to to as one loop.
func (w *loopWriter) run(from, to int) {
	steps := w.l.steps[from:to]
	local := map[operand]string{} // what earlier steps of this run computed
	var slicesUsed []string
	use := func(b string) {
		if !slices.Contains(slicesUsed, b) {
			slicesUsed = append(slicesUsed, b)
		}
	}
	read := func(o operand) string {
		if o.kind == fromScalar {
			return w.declare(&w.head, fmt.Sprintf("s%d", o.index), place(w.in.in[o.index])+"[0]")
		}
		if name, ok := local[o]; ok {
			return name
		}
		b := w.block(o)
		use(b)
		return b + "[i]"
	}
	var lines []string
	for k := range steps {
		s := &steps[k]
		name := fmt.Sprintf("v%d", from+k)
		text := w.expression(s, read)
		lines = append(lines, fmt.Sprintf("%s := %s", name, text))
		if s.dst.kind == fromResult || w.read(s.dst, from+k, to, len(w.l.steps)) {
			b := w.block(s.dst)
			use(b)
			lines = append(lines, fmt.Sprintf("%s[i] = %s", b, name))
		} else if !w.read(s.dst, from+k, 0, to) {
			lines = append(lines, "_ = "+name)
		}
		local[s.dst] = name
	}
	b := &w.body
	if len(slicesUsed) == 0 {
		fmt.Fprintf(b, "for range hi - lo {\n")
	} else {
		for _, s := range slicesUsed[1:] { // one bound for all slices
			fmt.Fprintf(b, "%s = %s[:len(%s)]\n", s, s, slicesUsed[0])
		}
		fmt.Fprintf(b, "for i := range %s {\n", slicesUsed[0])
	}
	for _, l := range lines {
		fmt.Fprintln(b, l)
	}
	fmt.Fprintln(b, "}")
}

// read reports whether one of the steps from to below to reads the place that step k writes, before it is written again.
func (w *loopWriter) read(dst operand, k, from, to int) bool {
	for j := k + 1; j < to; j++ {
		s := &w.l.steps[j]
		if j >= from && slices.Contains(s.in, dst) {
			return true
		}
		if s.dst == dst {
			return false
		}
	}
	return false
}

// expression is a step's value for one entry, with the operations in the
// kernels' order.
func (w *loopWriter) expression(s *step, read func(operand) string) string {
	u := func() string { return read(s.in[0]) }
	v := func() string { return read(s.in[1]) }
	if s.op >= opFunction {
		text := s.op.function().Go
		w.math = w.math || strings.Contains(text, "math.")
		return fmt.Sprintf(text, u())
	}
	switch s.op {
	case opPow:
		w.math = true
		return "math.Pow(" + u() + ", " + v() + ")"
	case opPosPow:
		return "kernel.PosPowOf(" + u() + ", " + v() + ")"
	case opSquare:
		return u() + " * " + u()
	case opCopy:
		return u()
	case opMul:
		if s.in[0].kind == fromScalar && s.in[1].kind != fromScalar {
			return u() + "*" + v() + " + 0"
		}
		if s.in[1].kind == fromScalar && s.in[0].kind != fromScalar {
			return v() + "*" + u() + " + 0"
		}
		return u() + " * " + v()
	case opDiv:
		return u() + " / " + v()
	}
	return w.lin(s, read)
}

// lin is a sum: scalar operands join the bias once, the first two arrays meet
// it, the others are added one by one.
func (w *loopWriter) lin(s *step, read func(operand) string) string {
	bias := w.number(s.bias)
	scalars := false
	var terms []string
	for k, o := range s.in {
		term := w.number(s.coef[k]) + "*" + read(o)
		if o.kind == fromScalar {
			bias, scalars = bias+" + "+term, true
			continue
		}
		terms = append(terms, term)
	}
	if scalars {
		bias = w.declare(&w.head, fmt.Sprintf("c%d", len(w.head)), bias)
	}
	if len(terms) == 0 {
		return bias
	}
	n := min(2, len(terms))
	text := strings.Join(terms[:n], " + ") + " + " + bias
	for _, t := range terms[n:] {
		text += " + " + t
	}
	return text
}
