package codegen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"bilevelc/codegen/kernel"
)

// Native is a program's code as Go functions, written by Source.
type Native struct {
	// Fingerprint is the program's that the code was written from.
	Fingerprint string
	Hold        []func(*Frame)           // the instructions of the x stage
	Entry       [entryCount]func(*Frame) // Value, GradX, GradY, ValueGradY, ValueGrad
}

// Frame is what native code works on.
type Frame struct {
	Arena        []float64
	X, Y         []float64
	GradX, GradY []float64
	Data         [][]float64      // dense constants
	Sparse       []*kernel.Sparse // sparse constants
	Index        [][]int          // of gathers and scatters

	evaluator *Evaluator
}

// Registers is the scratch space of one thread.
func (m *Frame) Registers(thread int) []float64 {
	p := m.evaluator.program
	return m.Arena[p.scratch+thread*p.regs*blockLen:][:p.regs*blockLen]
}

// Pieces runs work on pieces 0 to count-1, on several threads where helpers are
// idle.
func (m *Frame) Pieces(count int, work func(m *Frame, piece, thread int)) {
	m.evaluator.pieces(nil, work, count)
}

// Fingerprint identifies a program's code, places and scalar constants; not
// the entries of its arrays.
func (p *Program) Fingerprint() string {
	h := sha256.New()
	fmt.Fprintln(h, "program", p.dx, p.dy, p.arena, p.scratch, p.regs, p.value)
	for k, code := range p.codes() {
		fmt.Fprintln(h, "code", k)
		for i := range code {
			in := &code[i]
			fmt.Fprintln(h, in.op, in.out, in.in, in.rows, in.cols, in.rowsB, in.colsB, in.transA, in.transB,
				in.symmetric, in.alpha, in.index, in.sparse != nil, in.parts, in.scratch)
			if in.loop != nil {
				fmt.Fprintf(h, "%+v\n", *in.loop)
			}
		}
	}
	for _, d := range p.data {
		fmt.Fprintln(h, len(d))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Specialize makes the program's evaluators (those made from now on) run
// native code instead of interpreting instructions. It reports whether the
// code fits: a program of other sizes or scalar data is another program, and
// keeps being interpreted, with the same results.
func (p *Program) Specialize(n *Native) bool {
	if n.Fingerprint != p.Fingerprint() {
		return false
	}
	p.native = n
	return true
}

// Specialized reports whether the program runs native code.
func (p *Program) Specialized() bool { return p.native != nil }

// Interpreted is the program without native code.
func (p *Program) Interpreted() *Program {
	q := *p
	q.native = nil
	return &q
}

// newFrame is the frame of an evaluator.
func (e *Evaluator) newFrame() Frame {
	p := e.program
	m := Frame{Arena: e.arena, Data: p.data, evaluator: e}
	for _, in := range p.instructions() {
		if in.sparse != nil {
			m.Sparse = append(m.Sparse, in.sparse)
		}
		if in.index != nil {
			m.Index = append(m.Index, in.index)
		}
	}
	return m
}

// codes are the x stage's code and that of each entry.
func (p *Program) codes() [][]instr { return append([][]instr{p.hold}, p.code[:]...) }

// instructions lists the whole code in a fixed order.
func (p *Program) instructions() []*instr {
	var all []*instr
	for _, code := range p.codes() {
		for i := range code {
			all = append(all, &code[i])
		}
	}
	return all
}
