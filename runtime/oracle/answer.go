package oracle

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// adjointRHS is how f draws at the follower's answer at one x: q = grad_y f, and where
// f reads multipliers w = grad_lambda f. With L = g + lambda'(A x - B y - b),
//
//	grad F = grad_x f + d/dt grad_x L(x, y_t, lambda_t) at t = 0,
//
// where (y_t, lambda_t) solves the lower level, on the face of its active rows,
// with g + t q'y in the place of g and b - t w in the place of b: its KKT matrix
// is the transpose of the one that dy*/dx and dlambda*/dx solve. For w = 0 it is
// the argument of lem:lineq-finitediff-equals-gradf.
type adjointRHS struct {
	q []float64 // len Dy
	w []float64 // len m, 0 on rows that f does not read; nil where f reads none
}

// newAdjointRHS evaluates the gradients of f at a point: grad_x f in dst (len Dx).
func newAdjointRHS(dst []float64, at *At) *adjointRHS {
	p := at.Problem
	z := make([]float64, p.AnswerLen())
	p.F.ValueGrad(dst, z, at.X, p.Answer(at.Lower.Y, at.Lower.Lambda))
	return splitAdjointRHS(p, z)
}

// splitAdjointRHS splits a gradient in the follower's answer (problem.Problem.Answer).
func splitAdjointRHS(p *problem.Problem, z []float64) *adjointRHS {
	v := &adjointRHS{q: z[:p.Dy:p.Dy]}
	if len(p.Duals) > 0 {
		v.w = make([]float64, p.Rows.Len())
		for k, i := range p.Duals {
			v.w[i] += z[p.Dy+k]
		}
	}
	return v
}

// force is the direction in which a unit of the perturbation pushes y, len Dy: q,
// and the rows' motion -w brought to y by their normals. Zero means that f does
// not feel the follower.
func (v *adjointRHS) force(p *problem.Problem, held []int) []float64 {
	if v.w == nil {
		return v.q
	}
	out := append([]float64(nil), v.q...)
	for _, i := range held {
		cols, vals := p.Rows.B.Row(i)
		size := linalg.Norm(vals)
		if v.w[i] == 0 || size == 0 {
			continue
		}
		for k, j := range cols {
			out[j] += math.Abs(v.w[i] / size * vals[k] / size)
		}
	}
	return out
}

// moved is the problem with its right-hand sides moved by -t w.
func (v *adjointRHS) moved(p *problem.Problem, t float64) *problem.Problem {
	if v.w == nil {
		return p
	}
	q := *p
	q.Rows = p.Rows.Moved(-t, v.w)
	return &q
}

// inY is what oracles read of f in the place of y, at a fixed x.
type inY interface {
	Value(x, y []float64) float64
	GradY(dst, x, y []float64)
	ValueGradY(dst, x, y []float64) float64
}

// frozen is f as a function of y, with the multipliers that it reads held.
type frozen struct {
	f      problem.Function
	answer []float64 // y is overwritten
	grad   []float64
}

// freeze holds the multipliers of f at those of the lower solution.
func freeze(at *At) inY {
	p := at.Problem
	if p.AnswerLen() == p.Dy {
		return p.F
	}
	return &frozen{f: p.F, answer: p.Answer(at.Lower.Y, at.Lower.Lambda), grad: make([]float64, p.AnswerLen())}
}

func (f *frozen) at(y []float64) []float64 {
	copy(f.answer, y)
	return f.answer
}

func (f *frozen) Value(x, y []float64) float64 { return f.f.Value(x, f.at(y)) }

func (f *frozen) GradY(dst, x, y []float64) {
	f.f.GradY(f.grad, x, f.at(y))
	copy(dst, f.grad[:len(y)])
}

func (f *frozen) ValueGradY(dst, x, y []float64) float64 {
	v := f.f.ValueGradY(f.grad, x, f.at(y))
	copy(dst, f.grad[:len(y)])
	return v
}
