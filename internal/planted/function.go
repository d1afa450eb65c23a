package planted

import "bilevelc/runtime/problem"

// Evaluator gives the value of a function and, where gx or gy is not nil, its
// gradients. Clones share the data and have workspaces of their own.
type Evaluator interface {
	Eval(gx, gy, x, y []float64) float64
	Clone() Evaluator
}

// Function makes a problem.Function of an evaluator.
func Function(e Evaluator) problem.Function { return function{e} }

type function struct{ e Evaluator }

func (f function) Value(x, y []float64) float64           { return f.e.Eval(nil, nil, x, y) }
func (f function) GradX(dst, x, y []float64)              { f.e.Eval(dst, nil, x, y) }
func (f function) GradY(dst, x, y []float64)              { f.e.Eval(nil, dst, x, y) }
func (f function) ValueGradY(dst, x, y []float64) float64 { return f.e.Eval(nil, dst, x, y) }
func (f function) ValueGrad(dstX, dstY, x, y []float64) float64 {
	return f.e.Eval(dstX, dstY, x, y)
}

func (f function) Clone() problem.Function { return function{f.e.Clone()} }
