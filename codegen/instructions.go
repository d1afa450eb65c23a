package codegen

import (
	"fmt"

	"bilevelc/codegen/kernel"
)

// instruction is what an operation of compiled programs does, twice: as the
// interpreter runs it and as Go source, which computes the same bits.
type instruction struct {
	// run writes the results; out is the place of the first.
	run func(e *Evaluator, in *instr, out []float64)
	// source writes Go in which out is that place; piece names the function that
	// runs pieces of the instruction.
	source func(w *writer, in *instr, piece string)
}

// instructions holds a row for each operation that programs are made of, and
// none for those that planning takes away.
var instructions [opFunction]instruction

func init() {
	instructions = [opFunction]instruction{
		opFused: {
			func(e *Evaluator, in *instr, _ []float64) { e.runLoop(in) },
			func(w *writer, in *instr, piece string) { w.loop(piece, in) }},
		opMatVec: {
			func(e *Evaluator, in *instr, out []float64) { e.matVec(in, out) },
			func(w *writer, in *instr, piece string) { w.matVec(piece, in) }},
		opMatMul: {matMul, matMulSource},
		opOuter: {
			func(e *Evaluator, in *instr, out []float64) { kernel.Outer(out, e.at(in.in[0]), e.at(in.in[1])) },
			func(w *writer, in *instr, _ string) {
				w.line("kernel.Outer(out, %s, %s)", place(in.in[0]), place(in.in[1]))
			}},
		opProd: {
			func(e *Evaluator, in *instr, out []float64) { out[0] = kernel.Prod(e.at(in.in[0])) },
			func(w *writer, in *instr, _ string) { w.line("out[0] = kernel.Prod(%s)", place(in.in[0])) }},
		opLogSumExp: {
			func(e *Evaluator, in *instr, out []float64) { out[0] = kernel.LogSumExp(e.at(in.in[0])) },
			func(w *writer, in *instr, _ string) { w.line("out[0] = kernel.LogSumExp(%s)", place(in.in[0])) }},
		opTranspose: {
			func(e *Evaluator, in *instr, out []float64) { kernel.Transpose(out, e.at(in.in[0]), in.rows, in.cols) },
			func(w *writer, in *instr, _ string) {
				w.line("kernel.Transpose(out, %s, %d, %d)", place(in.in[0]), in.rows, in.cols)
			}},
		opGather: {
			func(e *Evaluator, in *instr, out []float64) { kernel.Gather(out, e.at(in.in[0]), in.index) },
			func(w *writer, in *instr, _ string) {
				w.line("kernel.Gather(out, %s, m.Index[%d])", place(in.in[0]), w.index[in])
			}},
		opScatterAdd: {
			func(e *Evaluator, in *instr, out []float64) { kernel.ScatterAdd(out, e.at(in.in[0]), in.index) },
			func(w *writer, in *instr, _ string) {
				w.line("kernel.ScatterAdd(out, %s, m.Index[%d])", place(in.in[0]), w.index[in])
			}},
		opProdExcept: {
			func(e *Evaluator, in *instr, out []float64) { kernel.ProdExcept(out, e.at(in.in[0])) },
			func(w *writer, in *instr, _ string) { w.line("kernel.ProdExcept(out, %s)", place(in.in[0])) }},
		opCopy: {
			func(e *Evaluator, in *instr, out []float64) { copy(out, e.at(in.in[0])) },
			func(w *writer, in *instr, _ string) { w.line("copy(out, %s)", place(in.in[0])) }},
		opZero: {
			func(_ *Evaluator, _ *instr, out []float64) { clear(out) },
			func(w *writer, _ *instr, _ string) { w.line("clear(out)") }},
	}
	for o := range instructions {
		if i := &instructions[o]; (i.run == nil) != (i.source == nil) {
			panic(fmt.Sprintf("codegen: the instruction %s is run or written, not both", op(o)))
		}
	}
}

func matMul(e *Evaluator, in *instr, out []float64) {
	c := e.at(in.in[1])
	if in.sparse != nil {
		kernel.SparseMatMul(out, in.sparse, in.transA, c, in.rowsB, in.colsB, in.transB)
		return
	}
	kernel.Gemm(out, e.at(in.in[0]), in.rows, in.cols, in.transA, c, in.rowsB, in.colsB, in.transB, e.arena[in.scratch:])
}

func matMulSource(w *writer, in *instr, _ string) {
	c := place(in.in[1])
	if in.sparse != nil {
		w.line("kernel.SparseMatMul(out, m.Sparse[%d], %t, %s, %d, %d, %t)", w.sparse[in], in.transA, c, in.rowsB, in.colsB,
			in.transB)
		return
	}
	w.line("kernel.Gemm(out, %s, %d, %d, %t, %s, %d, %d, %t, m.Arena[%d:])", place(in.in[0]), in.rows, in.cols, in.transA,
		c, in.rowsB, in.colsB, in.transB, in.scratch)
}

// run executes one instruction.
func (e *Evaluator) run(in *instr) { instructions[in.op].run(e, in, e.at(in.out[0])) }

// instr writes one instruction.
func (w *writer) instr(piece string, in *instr) {
	if in.op != opFused { // which writes all of its results by name
		w.line("out := %s", place(in.out[0]))
	}
	instructions[in.op].source(w, in, piece)
}
