package codegen

import "bilevelc/codegen/kernel"

// run executes one instruction.
func (e *Evaluator) run(in *instr) {
	out := e.at(in.out[0])
	switch in.op {
	case opFused:
		e.runLoop(in)
	case opMatVec:
		e.matVec(in, out)
	case opMatMul:
		a, c := in.in[0], e.at(in.in[1])
		if in.sparse != nil {
			kernel.SparseMatMul(out, in.sparse, in.transA, c, in.rowsB, in.colsB, in.transB)
			return
		}
		kernel.Gemm(out, e.at(a), in.rows, in.cols, in.transA, c, in.rowsB, in.colsB, in.transB)
	case opOuter:
		kernel.Outer(out, e.at(in.in[0]), e.at(in.in[1]))
	case opProd:
		out[0] = kernel.Prod(e.at(in.in[0]))
	case opLogSumExp:
		out[0] = kernel.LogSumExp(e.at(in.in[0]))
	case opTranspose:
		kernel.Transpose(out, e.at(in.in[0]), in.rows, in.cols)
	case opGather:
		kernel.Gather(out, e.at(in.in[0]), in.index)
	case opScatterAdd:
		kernel.ScatterAdd(out, e.at(in.in[0]), in.index)
	case opProdExcept:
		kernel.ProdExcept(out, e.at(in.in[0]))
	case opCopy:
		copy(out, e.at(in.in[0]))
	case opZero:
		clear(out)
	}
}

// matVec sets out to alpha M v + base, or alpha M v without a base.
func (e *Evaluator) matVec(in *instr, out []float64) {
	v := e.at(in.in[1])
	if len(in.in) > 2 {
		copy(out, e.at(in.in[2]))
	} else {
		clear(out)
	}
	if in.sparse != nil {
		kernel.SparseMulVec(out, in.alpha, in.sparse, in.transA, v)
		return
	}
	kernel.Gemv(out, in.alpha, e.at(in.in[0]), in.rows, in.cols, in.transA, v)
}
