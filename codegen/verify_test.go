package codegen

import (
	"fmt"

	"bilevelc/ir/expr"
)

// verify checks what holds of every form: arguments precede users and fit the
// operation in number and shape, stages follow the arguments, outputs exist
// and do not overlap. Tests run it between passes.
func (f *form) verify() error {
	for i := range f.vals {
		if err := f.verifyVal(i); err != nil {
			return fmt.Errorf("%%%d = %s: %w", i, f.vals[i].op, err)
		}
	}
	end := map[target]int{}
	for _, o := range f.outs {
		if o.v < 0 || o.v >= len(f.vals) {
			return fmt.Errorf("output of value %d", o.v)
		}
		n := f.vals[o.v].shape.Len()
		switch o.to {
		case toValue:
			if n != 1 {
				return fmt.Errorf("the value has %d entries", n)
			}
		case toX, toY:
			if o.offset < end[o.to] {
				return fmt.Errorf("gradients overlap at %d", o.offset)
			}
			end[o.to] = o.offset + n
		}
	}
	if end[toX] > f.dx || end[toY] > f.dy {
		return fmt.Errorf("gradients of %d and %d entries, want %d and %d", end[toX], end[toY], f.dx, f.dy)
	}
	return nil
}

// arity is the least and largest number of arguments of an operation.
func (o op) arity() (least, most int) {
	switch o {
	case opConst, opVar, opHeld:
		return 0, 0
	case opMul, opDiv, opPow, opPosPow, opDot, opMatMul, opOuter:
		return 2, 2
	case opMatVec:
		return 2, 3
	case opLin, opFused:
		return 0, 1 << 30
	}
	return 1, 1
}

func (f *form) verifyVal(i int) error {
	v := &f.vals[i]
	least, most := v.op.arity()
	if len(v.args) < least || len(v.args) > most {
		return fmt.Errorf("%d arguments", len(v.args))
	}
	s := dataStage
	shapes := make([]expr.Shape, len(v.args))
	for k, a := range v.args {
		if a < 0 || a >= i {
			return fmt.Errorf("argument %%%d comes later", a)
		}
		s = max(s, f.vals[a].stage)
		shapes[k] = f.vals[a].shape
	}
	switch v.op {
	case opVar, opHeld:
		return nil
	}
	if v.stage != s {
		return fmt.Errorf("stage %s, arguments say %s", v.stage, s)
	}
	if want, ok := v.result(shapes); !ok {
		return fmt.Errorf("shapes %v do not give %s", shapes, want)
	}
	return nil
}

// result checks the shapes of a value against its arguments'; want is what
// they ask for.
func (v *val) result(in []expr.Shape) (want expr.Shape, ok bool) {
	turned := func(s expr.Shape, t bool) (int, int) {
		if t {
			return s.Cols, s.Rows
		}
		return s.Rows, s.Cols
	}
	want = v.shape
	switch {
	case v.op.elementwise():
		for _, s := range in {
			if s != v.shape && s.Rank != 0 {
				return s, false
			}
		}
		if v.op == opLin && len(v.coef) != len(in) {
			return want, false
		}
	case v.op == opSum || v.op == opProd || v.op == opLogSumExp:
		want = expr.ScalarShape()
	case v.op == opDot:
		want = expr.ScalarShape()
		if in[0].Len() != in[1].Len() {
			return want, false
		}
	case v.op == opMatVec:
		m, n := turned(in[0], v.transA)
		want = expr.VectorShape(m)
		if in[0].Rank != 2 || in[1].Len() != n || len(in) == 3 && in[2] != want || v.symmetric && v.transA {
			return want, false
		}
	case v.op == opMatMul:
		m, k := turned(in[0], v.transA)
		k2, n := turned(in[1], v.transB)
		want = expr.MatrixShape(m, n)
		if k != k2 {
			return want, false
		}
	case v.op == opOuter:
		want = expr.MatrixShape(in[0].Rows, in[1].Rows)
	case v.op == opTranspose:
		want = expr.MatrixShape(in[0].Cols, in[0].Rows)
	case v.op == opGather:
		return want, len(v.index) == want.Len() && indexWithin(v.index, in[0].Len())
	case v.op == opScatterAdd:
		return want, len(v.index) == in[0].Len() && indexWithin(v.index, want.Len())
	case v.op == opProdExcept:
		want = in[0]
	case v.op == opFused:
		return want, v.loop.verify(in) == nil
	}
	return want, want == v.shape
}

func indexWithin(index []int, n int) bool {
	for _, i := range index {
		if i >= n {
			return false
		}
	}
	return true
}

// verify checks a loop: operands exist, registers are written before they are
// read, every result is written once.
func (l *loop) verify(args []expr.Shape) error {
	written := map[operand]bool{}
	for k, s := range l.steps {
		for _, o := range s.in {
			switch o.kind {
			case fromArg, fromScalar:
				if o.index >= len(args) || o.kind == fromArg && args[o.index].Len() != l.n || o.kind == fromScalar && args[o.index].Len() != 1 {
					return fmt.Errorf("step %d reads argument %d", k, o.index)
				}
			case fromWhole:
				if o.index >= len(args) || s.op != opMatVec {
					return fmt.Errorf("step %d reads all of argument %d", k, o.index)
				}
			default:
				if !written[o] {
					return fmt.Errorf("step %d reads %v before it is written", k, o)
				}
			}
		}
		if s.dst.kind == fromResult && written[s.dst] {
			return fmt.Errorf("step %d writes result %d again", k, s.dst.index)
		}
		if s.dst.kind == fromReg && s.dst.index >= l.registers {
			return fmt.Errorf("step %d writes register %d of %d", k, s.dst.index, l.registers)
		}
		written[s.dst] = true
	}
	for k := range l.results {
		if !written[operand{fromResult, k}] {
			return fmt.Errorf("result %d is never written", k)
		}
	}
	return nil
}
