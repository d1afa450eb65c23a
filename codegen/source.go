package codegen

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// This file writes a program as Go functions over a Frame: instructions are
// calls of kernels with their sizes and places filled in, loops are loops with
// registers as local variables. The functions compute the interpreter's bits:
// operations, blocks and sums are in the same order.

// writer collects the Go source of one program.
type writer struct {
	b      strings.Builder // bodies of entries
	pieces strings.Builder // functions that run pieces
	name   string          // prefix of the program's functions
	sparse map[*instr]int  // position in Frame.Sparse
	index  map[*instr]int  // position in Frame.Index
	math   bool            // package math is used
}

// nativeSource writes the functions of p and the variable name of type
// codegen.Native that holds them.
func nativeSource(p *Program, name string) (text string, usesMath bool) {
	w := &writer{name: name, sparse: map[*instr]int{}, index: map[*instr]int{}}
	for _, in := range p.instructions() {
		if in.sparse != nil {
			w.sparse[in] = len(w.sparse)
		}
		if in.index != nil {
			w.index[in] = len(w.index)
		}
	}
	w.line("// %s is the compiled %s: its code for each way to call it.", name, name)
	w.line("var %s = &codegen.Native{", name)
	w.line("Fingerprint: %q,", p.Fingerprint())
	w.line("Hold: []func(*codegen.Frame){")
	for i := range p.hold {
		w.line("%sHold%d,", name, i)
	}
	w.line("},")
	w.line("Entry: [...]func(*codegen.Frame){")
	for e := range entryCount {
		w.line("%s%s,", name, e)
	}
	w.line("},")
	w.line("}")
	for i := range p.hold {
		w.line("\n// %sHold%d depends on x only.", name, i)
		w.function(fmt.Sprintf("%sHold%d", name, i), p.hold[i:i+1])
	}
	for e := range entryCount {
		w.line("\n// %s%s is what %s runs on every call.", name, e, e)
		w.function(name+e.String(), p.code[e])
	}
	return w.b.String() + w.pieces.String(), w.math
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// function writes one function that runs code.
func (w *writer) function(name string, code []instr) {
	w.line("func %s(m *codegen.Frame) {", name)
	for i := range code {
		w.line("{")
		w.instr(fmt.Sprintf("%sPiece%d", name, i), &code[i])
		w.line("}")
	}
	w.line("}")
}

// place is the Go expression of a place.
func place(r ref) string {
	base := [...]string{inArena: "m.Arena", inX: "m.X", inY: "m.Y", inGradX: "m.GradX", inGradY: "m.GradY"}
	if r.base == inData {
		return fmt.Sprintf("m.Data[%d]", r.off)
	}
	return fmt.Sprintf("%s[%d:%d]", base[r.base], r.off, r.off+r.n)
}

// number is a float64 in Go.
func (w *writer) number(v float64) string {
	switch {
	case math.IsNaN(v):
		w.math = true
		return "math.NaN()"
	case math.IsInf(v, 0):
		w.math = true
		return fmt.Sprintf("math.Inf(%d)", int(math.Copysign(1, v)))
	case v == 0 && math.Signbit(v):
		w.math = true
		return "math.Copysign(0, -1)"
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	if v < 0 {
		return "(" + s + ")"
	}
	return s
}

func (w *writer) matVec(piece string, in *instr) {
	if len(in.in) > 2 {
		w.line("copy(out, %s)", place(in.in[2]))
	} else {
		w.line("clear(out)")
	}
	v, alpha := place(in.in[1]), w.number(in.alpha)
	matrix := ""
	if in.sparse == nil {
		matrix = place(in.in[0])
	}
	if in.parts == 1 {
		switch {
		case in.sparse != nil:
			w.line("kernel.SparseMulVec(out, %s, m.Sparse[%d], %t, %s)", alpha, w.sparse[in], in.transA, v)
		case in.symmetric:
			w.line("kernel.Symv(out, %s, %s, %d, %s)", alpha, matrix, in.rows, v)
		default:
			w.line("kernel.Gemv(out, %s, %s, %d, %d, %t, %s)", alpha, matrix, in.rows, in.cols, in.transA, v)
		}
		return
	}
	triangle := in.symmetric && in.sparse == nil
	if triangle {
		w.line("if !kernel.SymvFew(out, %s, %s, %d, %s) {", alpha, matrix, in.rows, v)
	}
	w.line("m.Pieces(%d, %s)", in.parts, piece)
	p := &w.pieces
	fmt.Fprintf(p, "\nfunc %s(m *codegen.Frame, piece, _ int) {\n", piece)
	switch {
	case in.sparse != nil:
		fmt.Fprintf(p, "from, to := kernel.Share(%d, 1, piece, %d)\n", in.rows, in.parts)
		fmt.Fprintf(p, "kernel.SparseMulRows(%s, %s, m.Sparse[%d], %s, from, to)\n", place(in.out[0]), alpha,
			w.sparse[in], v)
	case in.symmetric:
		fmt.Fprintf(p, "from, to := kernel.Triangle(%d, piece, %d)\n", in.rows, in.parts)
		fmt.Fprintf(p, "sum := m.Arena[%d+piece*%d:][:%d]\nclear(sum)\n", in.scratch, padded(in.rows), in.rows)
		fmt.Fprintf(p, "kernel.SymvRows(sum, %s, %s, %d, %s, from, to)\n", alpha, matrix, in.rows, v)
		w.line("for piece := range %d {", in.parts)
		w.line("kernel.Axpy(out, 1, m.Arena[%d+piece*%d:][:%d])", in.scratch, padded(in.rows), in.rows)
		w.line("}")
		w.line("}")
	case in.transA:
		fmt.Fprintf(p, "from, to := kernel.Share(%d, 8, piece, %d)\n", in.cols, in.parts)
		fmt.Fprintf(p, "kernel.GemvColumns(%s, %s, %s, %d, %d, %s, from, to)\n", place(in.out[0]), alpha, matrix,
			in.rows, in.cols, v)
	default:
		fmt.Fprintf(p, "from, to := kernel.Share(%d, 4, piece, %d)\n", in.rows, in.parts)
		fmt.Fprintf(p, "kernel.Gemv(%s[from:to], %s, %s[from*%d:to*%d], to-from, %d, false, %s)\n", place(in.out[0]), alpha,
			matrix, in.cols, in.cols, in.cols, v)
	}
	fmt.Fprintf(p, "}\n")
}
