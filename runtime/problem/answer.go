package problem

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
)

// Coupled are constraints c_i(x, y*(x), lambda*(x)) <= 0 or = 0 of the upper level,
// smooth in their arguments. The runtime minimizes the exact penalty function
//
//	f + sum_i Weight_i max(0, c_i)    (|c_i| where the constraint is an equation),
//
// which has a kink where a constraint is tight.
type Coupled struct {
	Kind   []Kind
	Name   []string  // for messages: "budget[2]"
	Weight []float64 // >= 0; 0 leaves the constraint out
	Scale  []float64 // the size of each constraint over X, as far as it is known; nil: nothing is
	// Signed are the weights with which the constraints enter F at the point at
	// hand (Signs), len as Kind; nil for none.
	Signed []float64
}

// Size is that of constraint i over X, 1 where nothing is known of it.
func (k *Coupled) Size(i int) float64 {
	if k.Scale == nil || !(k.Scale[i] > 0) {
		return 1
	}
	return k.Scale[i]
}

// Over is by how much constraint i is violated at the value h, in parts of its size.
func (k *Coupled) Over(i int, h float64) float64 { return k.Kind[i].Over(h) / k.Size(i) }

// Penalty is the penalty at the values c of the constraints, and the weights with
// which they enter F there: Weight_i where c_i is violated, for an equation
// Weight_i with the sign of c_i, 0 elsewhere.
func (k *Coupled) Penalty(c []float64) (value float64, signs []float64) {
	signs = make([]float64, len(c))
	for i, v := range c {
		signs[i] = k.sign(i, v > 0)
		value += signs[i] * v
	}
	return value, signs
}

// Signs are the weights with which the constraints enter the piece of F on which
// exactly the given ones are positive.
func (k *Coupled) Signs(positive func(i int) bool) []float64 {
	return each.Below(len(k.Kind), func(i int) float64 { return k.sign(i, positive(i)) })
}

func (k *Coupled) sign(i int, positive bool) float64 {
	switch {
	case positive:
		return k.Weight[i]
	case k.Kind[i] == Equal:
		return -k.Weight[i]
	}
	return 0
}

// coupled is the number of coupled constraints.
func (p *Problem) coupled() int {
	if p.Coupled == nil {
		return 0
	}
	return len(p.Coupled.Kind)
}

// FaceLen bounds what the face of a piece of F names: i < m a row of the lower
// level, m + i coupled constraint i.
func (p *Problem) FaceLen() int { return p.Rows.Len() + p.coupled() }

// Signed is the problem whose F is the smooth f + signs'c.
func (p *Problem) Signed(signs []float64) *Problem {
	if p.Coupled == nil {
		return p
	}
	q, k := *p, *p.Coupled
	k.Signed = signs
	q.Coupled = &k
	return &q
}

// AnswerLen is the length of what F takes in the place of y: Dy, an entry for each
// multiplier that F reads, and one for each coupled constraint.
func (p *Problem) AnswerLen() int { return p.Dy + len(p.Duals) + p.coupled() }

// Answer is the follower's answer as F reads it: y (len Dy), followed by the
// multipliers lambda_i (lambda len m) of the rows i in Duals, and the signed
// weights of the coupled constraints. Where there are none of both, it is y itself.
func (p *Problem) Answer(y, lambda []float64) []float64 {
	n := p.AnswerLen()
	if n == p.Dy {
		return y
	}
	z := make([]float64, n)
	copy(z, y)
	for k, i := range p.Duals {
		z[p.Dy+k] = lambda[i]
	}
	if p.Coupled != nil {
		copy(z[p.Dy+len(p.Duals):], p.Coupled.Signed)
	}
	return z
}

// Feasibility is p with f = 0: what F reads has the weighted sum of the coupled constraints left. What is feasible is so whatever f is.
func (p *Problem) Feasibility() *Problem {
	q := *p
	q.Facts.DegreeF = 0
	weights := p.Dy + len(p.Duals)
	q.F = Joint(func(dstX, dstY, x, y []float64) float64 {
		f := func(dstX, dstY, y []float64) float64 {
			if dstX == nil && dstY == nil {
				return p.F.Value(x, y)
			}
			return p.F.ValueGrad(dstX, dstY, x, y)
		}
		value, plain, none := f(dstX, dstY, y), slices.Clone(y), make([]float64, p.Dx+len(y))
		clear(plain[weights:])
		if dstX == nil && dstY == nil {
			return value - f(nil, nil, plain)
		}
		value -= f(none[:p.Dx], none[p.Dx:], plain)
		floats.Sub(dstX, none[:p.Dx])
		floats.Sub(dstY[:weights], none[p.Dx:p.Dx+weights])
		return value
	})
	return &q
}

// CoupledPart is the part of a gradient of F in the follower's answer that holds
// the values of the coupled constraints.
func (p *Problem) CoupledPart(grad []float64) []float64 { return grad[p.Dy+len(p.Duals):] }

// Moved is the rows with right-hand sides b + t w, w len m: the same structure,
// shared.
func (r *Rows) Moved(t float64, w []float64) *Rows {
	moved := *r
	moved.Rhs = make([]float64, len(r.Rhs))
	for i, b := range r.Rhs {
		moved.Rhs[i] = b + t*w[i]
	}
	return &moved
}

// Origin is the starting x, or 0 where the model gives none, brought into the bounds of X.
func (p *Problem) Origin() []float64 {
	x := make([]float64, p.Dx)
	copy(x, p.Start)
	p.X.Clamp(x)
	return x
}
