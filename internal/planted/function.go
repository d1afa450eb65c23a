package planted

import "bilevelc/runtime/problem"

// evaluator gives the value of a function and, where gx or gy is not nil, its
// gradients.
type evaluator interface {
	eval(gx, gy, x, y []float64) float64
	clone() evaluator
}

// function makes a problem.Function of an evaluator.
type function struct{ e evaluator }

func (f function) Value(x, y []float64) float64           { return f.e.eval(nil, nil, x, y) }
func (f function) GradX(dst, x, y []float64)              { f.e.eval(dst, nil, x, y) }
func (f function) GradY(dst, x, y []float64)              { f.e.eval(nil, dst, x, y) }
func (f function) ValueGradY(dst, x, y []float64) float64 { return f.e.eval(nil, dst, x, y) }
func (f function) ValueGrad(dstX, dstY, x, y []float64) float64 {
	return f.e.eval(dstX, dstY, x, y)
}

// Clone shares the data and has workspaces of its own.
func (f function) Clone() problem.Function { return function{f.e.clone()} }
