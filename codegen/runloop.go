package codegen

import (
	"bilevelc/codegen/kernel"
	"bilevelc/ir/expr"
)

// sums is the room for one piece's sums.
func (l *loop) sums() int {
	n := 0
	for _, r := range l.results {
		n += r.sum
	}
	return padded(n)
}

// runLoop executes a loop: its pieces, then the sums over them.
func (e *Evaluator) runLoop(in *instr) {
	l := in.loop
	e.pieces(in, nil, in.parts)
	at, stride := in.scratch, l.sums()
	for k, r := range l.results {
		if r.sum == 0 {
			continue
		}
		out := e.at(in.out[k])
		copy(out, e.arena[at:at+r.sum])
		for p := 1; p < in.parts; p++ {
			kernel.Axpy(out, 1, e.arena[at+p*stride:][:r.sum])
		}
		at += r.sum
	}
}

// loopPiece executes piece p of a loop with the registers of one thread.
func (e *Evaluator) loopPiece(in *instr, p, thread int) {
	l := in.loop
	size := l.block()
	from, to := kernel.Share(l.n, size, p, in.parts)
	sums := e.arena[in.scratch+p*l.sums():][:l.sums()]
	clear(sums)
	regs := e.arena[e.program.scratch+thread*e.program.regs*blockLen:]
	for lo := from; lo < to; lo += size {
		hi := min(lo+size, to)
		for i := range l.steps {
			e.runStep(in, &l.steps[i], regs, sums, lo, hi)
		}
	}
}

// sum is the running sum that a step adds to.
func (l *loop) sum(sums []float64, s *step) []float64 {
	return sums[l.sumAt(s):][:l.results[s.dst.index].sum]
}

// sumAt is where a piece's sums have that of a step.
func (l *loop) sumAt(s *step) (at int) {
	for _, r := range l.results[:s.dst.index] {
		at += r.sum
	}
	return at
}

// block is the operand's entries lo to hi.
func (e *Evaluator) block(in *instr, o operand, regs []float64, lo, hi int) []float64 {
	switch o.kind {
	case fromArg:
		return e.at(in.in[o.index])[lo:hi]
	case fromReg:
		return regs[o.index*blockLen:][:hi-lo]
	}
	return e.at(in.out[o.index])[lo:hi]
}

// entries are those of a block, or nil and the operand's value where it is a scalar.
func (e *Evaluator) entries(in *instr, o operand, regs []float64, lo, hi int) ([]float64, float64) {
	if o.kind == fromScalar {
		return nil, e.at(in.in[o.index])[0]
	}
	return e.block(in, o, regs, lo, hi), 0
}

// runStep executes one step on entries lo to hi.
func (e *Evaluator) runStep(in *instr, s *step, regs, sums []float64, lo, hi int) {
	switch {
	case s.op == opSum:
		in.loop.sum(sums, s)[0] += kernel.Sum(e.block(in, s.in[0], regs, lo, hi))
		return
	case s.op == opDot:
		in.loop.sum(sums, s)[0] += kernel.Dot(e.block(in, s.in[0], regs, lo, hi), e.block(in, s.in[1], regs, lo, hi))
		return
	case s.op == opMatVec && s.transposed:
		sum := in.loop.sum(sums, s)
		m := e.at(in.in[s.in[0].index])[lo*len(sum) : hi*len(sum)]
		kernel.Gemv(sum, 1, m, hi-lo, len(sum), true, e.block(in, s.in[1], regs, lo, hi))
		return
	}
	dst := e.block(in, s.dst, regs, lo, hi)
	switch s.op {
	case opMatVec:
		v := e.at(in.in[s.in[1].index])
		clear(dst)
		kernel.Gemv(dst, 1, e.at(in.in[s.in[0].index])[lo*len(v):hi*len(v)], hi-lo, len(v), false, v)
		return
	case opLin:
		e.runLin(in, s, dst, regs, lo, hi)
		return
	}
	a, u := e.entries(in, s.in[0], regs, lo, hi)
	switch {
	case len(s.in) > 1:
		b, v := e.entries(in, s.in[1], regs, lo, hi)
		binary(s.op, dst, a, u, b, v)
	case a != nil:
		unary(s.op, dst, a)
	default: // a function of a scalar: once, then repeated
		dst[0] = u
		unary(s.op, dst[:1], dst[:1])
		kernel.Fill(dst, dst[0])
	}
}

// unary applies an elementwise operation of one argument.
func unary(o op, dst, a []float64) {
	switch o {
	case opSquare:
		kernel.Square(dst, a)
	case opCopy:
		copy(dst, a)
	default:
		if k := kernels[expr.Op(o-opFunction)]; k != nil {
			k(dst, a)
			return
		}
		kernel.Map(dst, a, o.function().Eval1)
	}
}

// kernels are loops of their own, faster than kernel.Map by a call an entry.
var kernels = [len(expr.Primitives)]func(dst, a []float64){
	expr.Exp: kernel.Exp, expr.Log: kernel.Log, expr.Sqrt: kernel.Sqrt, expr.Tanh: kernel.Tanh, expr.Sin: kernel.Sin,
	expr.Cos: kernel.Cos, expr.Log1pExp: kernel.Log1pExp, expr.Sigmoid: kernel.Sigmoid,
}

// binary applies an elementwise operation of two arguments; nil arrays stand
// for the scalars u and v.
func binary(o op, dst, a []float64, u float64, b []float64, v float64) {
	switch {
	case a == nil && b == nil:
		var one, two, res [1]float64
		one[0], two[0] = u, v
		binary(o, res[:], one[:], 0, two[:], 0)
		kernel.Fill(dst, res[0])
	case o == opMul && a == nil:
		kernel.Lin1(dst, b, u, 0)
	case o == opMul && b == nil:
		kernel.Lin1(dst, a, v, 0)
	case o == opMul:
		kernel.Mul(dst, a, b)
	case o == opDiv && a == nil:
		kernel.Over(dst, u, b)
	case o == opDiv && b == nil:
		kernel.DivBy(dst, a, v)
	case o == opDiv:
		kernel.Div(dst, a, b)
	case o == opPow && a == nil:
		kernel.PowOf(dst, u, b)
	case o == opPow && b == nil:
		kernel.PowBy(dst, a, v)
	case o == opPow:
		kernel.Pow(dst, a, b)
	case o == opPosPow && a == nil:
		kernel.PosPowFrom(dst, u, b)
	case o == opPosPow && b == nil:
		kernel.PosPowBy(dst, a, v)
	case o == opPosPow:
		kernel.PosPow(dst, a, b)
	}
}

// runLin sums arrays with coefficients; scalar operands join the bias.
func (e *Evaluator) runLin(in *instr, s *step, dst, regs []float64, lo, hi int) {
	bias := s.bias
	arrays := 0
	for k, o := range s.in {
		if o.kind == fromScalar {
			bias += s.coef[k] * e.at(in.in[o.index])[0]
			continue
		}
		arrays++
	}
	if arrays == 0 {
		kernel.Fill(dst, bias)
		return
	}
	var first []float64
	var c float64
	done := 0
	for k, o := range s.in {
		if o.kind == fromScalar {
			continue
		}
		a := e.block(in, o, regs, lo, hi)
		done++
		switch {
		case done == 1 && arrays == 1:
			kernel.Lin1(dst, a, s.coef[k], bias)
		case done == 1:
			first, c = a, s.coef[k]
		case done == 2:
			kernel.Lin2(dst, first, c, a, s.coef[k], bias)
		default:
			kernel.Add(dst, s.coef[k], a)
		}
	}
}
