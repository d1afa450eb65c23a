package codegen

import "bilevelc/codegen/kernel"

// matVec sets out to alpha M v + base, or alpha M v without a base.
func (e *Evaluator) matVec(in *instr, out []float64) {
	if len(in.in) > 2 {
		copy(out, e.at(in.in[2]))
	} else {
		clear(out)
	}
	triangle := in.symmetric && in.sparse == nil
	if in.parts > 1 && triangle && kernel.SymvFew(out, in.alpha, e.at(in.in[0]), in.rows, e.at(in.in[1])) {
		return
	}
	if in.parts > 1 {
		e.pieces(in, nil, in.parts)
		if triangle {
			for p := range in.parts {
				kernel.Axpy(out, 1, e.arena[in.scratch+p*padded(in.rows):][:in.rows])
			}
		}
		return
	}
	v := e.at(in.in[1])
	switch {
	case in.sparse != nil:
		kernel.SparseMulVec(out, in.alpha, in.sparse, in.transA, v)
	case in.symmetric:
		kernel.Symv(out, in.alpha, e.at(in.in[0]), in.rows, v)
	default:
		kernel.Gemv(out, in.alpha, e.at(in.in[0]), in.rows, in.cols, in.transA, v)
	}
}

// piece runs piece p of an instruction on a thread.
func (e *Evaluator) piece(in *instr, p, thread int) {
	switch {
	case in.op == opFused:
		e.loopPiece(in, p, thread)
	case in.sparse != nil:
		from, to := kernel.Share(in.rows, 1, p, in.parts)
		out, v := e.at(in.out[0]), e.at(in.in[1])
		kernel.SparseMulRows(out, in.alpha, in.sparse, v, from, to)
	case in.symmetric:
		from, to := kernel.Triangle(in.rows, p, in.parts)
		sum := e.arena[in.scratch+p*padded(in.rows):][:in.rows]
		clear(sum)
		kernel.SymvRows(sum, in.alpha, e.at(in.in[0]), in.rows, e.at(in.in[1]), from, to)
	case in.transA:
		from, to := kernel.Share(in.cols, 8, p, in.parts)
		kernel.GemvColumns(e.at(in.out[0]), in.alpha, e.at(in.in[0]), in.rows, in.cols, e.at(in.in[1]), from, to)
	default:
		from, to := kernel.Share(in.rows, 4, p, in.parts)
		m := e.at(in.in[0])[from*in.cols : to*in.cols]
		kernel.Gemv(e.at(in.out[0])[from:to], in.alpha, m, to-from, in.cols, false, e.at(in.in[1]))
	}
}

// matVecPieces cuts a matrix-vector product.
func matVecPieces(in *instr) int {
	switch {
	case in.sparse != nil && in.transA: // rows scatter into the same places
		return 1
	case in.sparse != nil:
		return piecesOf(in.sparse.NNZ())
	case in.symmetric:
		return piecesOf(in.rows * in.cols / 2)
	}
	return piecesOf(in.rows * in.cols)
}
