package qp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Model is the function max_i (offset_i + gradient_i'd) + 1/2 d'Hd of a step d: the model of a
// gradient bundle.
type Model struct {
	H      *Hessian
	Pieces []Affine // at least one
}

// Step minimizes a Model over the steps d with x + d in X and D.
type Step struct {
	D         []float64 // len n
	Value     float64   // the model without its curvature
	Curvature float64   // 1/2 d'Hd
	Weights   []float64 // one for each piece: >= 0, sum 1
	// Normal is the part of the multipliers that X and D hold: an element of
	// their normal cone at x + d, so that sum_i Weights_i gradient_i +
	// Hd + Normal = 0.
	Normal []float64
	Balls  []float64 // multipliers of the balls' tangents, one a ball
}

// Step solves the model at a point x of X and D. Balls are replaced by their
// tangent half spaces at x, so that x + d may leave a ball by O(|d|^2); a caller
// that adds the balls' multipliers to H as curvature, and projects x + d, sees
// steps of second order.
func (p *Projector) Step(x []float64, m *Model) (_ *Step, err error) {
	defer must.Catch(&err)
	step := must.Get(p.step(x, m, p.upper))
	next := make([]float64, p.dx)
	floats.AddTo(next, x, step.D)
	inside, err := p.contains(next)
	if inside || err != nil {
		return step, err
	}
	return p.step(x, m, p.joint)
}

// step solves the model over the rows on, which are those of X, or of X and D with
// the variables s.
func (p *Projector) step(x []float64, m *Model, on *constraints) (*Step, error) {
	n := p.dx
	q := &Problem{H: m.H, Pieces: m.Pieces, C: make([]float64, n), Context: p.ctx}
	ratio := 0.0
	var center []float64
	if on == p.joint {
		// The variables s and u at their center, with a curvature well below that of H.
		ratio, center = nearness*m.H.least(), p.center()
		q.H, q.C = m.H.extended(len(center), ratio), make([]float64, n+len(center))
	}
	p.around(q, x, on)
	largest := 0.0
	for i := range m.Pieces {
		largest = math.Max(largest, linalg.Norm(m.Pieces[i].Gradient))
	}
	var s *Solution
	for round := 1; ; round++ {
		for j, c := range center {
			q.C[n+j] = -ratio * c
		}
		switch s = Solve(q, &p.ws); s.Status {
		case Stopped:
			return nil, context.Cause(p.ctx)
		case Failed, Infeasible:
			return nil, &StalledError{"the step's quadratic program: " + s.Status.String()}
		}
		q.Warm = s.Active
		settled := true
		for j := range center {
			v := s.Z[n+j]
			moved := math.Abs(v - center[j])
			settled = settled && (moved <= 1e-13*math.Abs(v) || ratio*moved <= 1e-15*largest)
			center[j] = v
		}
		if settled || round == tolerance.Steps {
			break
		}
	}
	if on == p.joint {
		p.remember(center)
	}
	step := &Step{D: s.Z[:n], Weights: s.Weights, Normal: s.Bound, Balls: s.Lambda[:len(p.set.Balls)]}
	for j := range step.D {
		step.D[j] = math.Min(math.Max(step.D[j], q.Lo[j]), q.Hi[j])
	}
	for i, u := range s.Lambda {
		q.A.AddRow(step.Normal, i, u)
	}
	step.Normal, step.Value, step.Curvature = step.Normal[:n], m.value(step.D), m.H.quadratic(step.D)/2
	return step, nil
}

// around sets the rows and bounds of the steps from x: the balls' tangents, then on.
func (p *Projector) around(q *Problem, x []float64, on *constraints) {
	n := p.dx
	size := q.H.Dim()
	q.A = sparse.Empty(size)
	end := func(side, terms float64, equal bool) {
		q.A.EndRow()
		q.B, q.Terms, q.Equal = append(q.B, side), append(q.Terms, terms), append(q.Equal, equal)
	}
	for b := range p.set.Balls {
		ball := &p.set.Balls[b]
		r := ball.Distance(x)
		for j := ball.Start; j < ball.End; j++ {
			q.A.Col, q.A.Val = append(q.A.Col, j), append(q.A.Val, x[j]-ball.At(j))
		}
		end((ball.Radius-r)*(ball.Radius+r)/2, ball.Radius*ball.Radius, false)
	}
	for i := 0; i < on.e.Rows; i++ {
		cols, vals := on.e.Row(i)
		q.A.Col, q.A.Val = append(q.A.Col, cols...), append(q.A.Val, vals...)
		slack, terms, reads := on.side[i], math.Abs(on.side[i]), false
		for t, j := range cols {
			if j >= n { // s: it is not moved to 0
				reads = true
				continue
			}
			slack -= vals[t] * x[j]
			terms += math.Abs(vals[t] * x[j])
		}
		if !on.equal[i] && !reads {
			// x is a point of the set: what rounding makes of it is no violation.
			slack = math.Max(slack, 0)
		}
		end(slack, terms, on.equal[i])
	}
	q.Lo, q.Hi = make([]float64, size), make([]float64, size)
	for j := range q.Lo {
		q.Lo[j], q.Hi[j] = math.Inf(-1), math.Inf(1)
		if j < n && p.set.Lo != nil {
			q.Lo[j], q.Hi[j] = math.Min(p.set.Lo[j]-x[j], 0), math.Max(p.set.Hi[j]-x[j], 0)
		}
	}
}

// value is the model at d, of len n at least, without its curvature.
func (m *Model) value(d []float64) float64 {
	v := math.Inf(-1)
	for _, a := range m.Pieces {
		v = math.Max(v, a.Offset+linalg.Dot(a.Gradient, d[:len(a.Gradient)]))
	}
	return v
}

// Hull is the smallest element of conv{g_i} + N, where N is the normal cone of X
// and D.
type Hull struct {
	Weights []float64 // convex weights of the g_i
	Normal  []float64 // len n, an element of N
	Norm    float64   // |sum_i w_i g_i + normal|
}

// MinNorm finds the smallest element of the hull of gradients (at least one)
// plus the normal cone of X and D at some point within radius > 0 of x, which is
// the cone that goes with a Goldstein subdifferential of that radius. With
// s = radius / max |g_i|, the step d that minimizes max_i s g_i'd + 1/2 |d|^2
// subject to x + d in X and D is, by duality, -s times that element; as
// |d| <= radius, only constraints within radius of x take part, and d = 0 exactly
// where x is stationary for the hull. For one gradient and s its step this is
// the gradient mapping (eq:gradient-mapping).
func (p *Projector) MinNorm(x []float64, gradients [][]float64, radius float64) (_ *Hull, err error) {
	defer must.Catch(&err)
	largest := 0.0
	for _, g := range gradients {
		largest = math.Max(largest, linalg.Norm(g))
	}
	if largest == 0 {
		largest = radius
	}
	// Divided first: beside a gradient of 1e-310 their quotient is beyond the numbers; and what is too small for the
	// squares of its inner products is none.
	model := make([]Affine, len(gradients))
	for i, g := range gradients {
		model[i].Gradient = make([]float64, len(g))
		for j, v := range g {
			if t := v / largest; t*t*t*t >= 0x1p-1022 {
				model[i].Gradient[j] = t * radius
			}
		}
	}
	step := must.Get(p.Step(x, &Model{H: Identity(p.dx), Pieces: model}))
	h := &Hull{Weights: step.Weights, Normal: step.Normal}
	for j := range h.Normal {
		h.Normal[j] = h.Normal[j] / radius * largest
	}
	// Of the combination itself: by duality it is |d| over the scale, but for rounding.
	least := append([]float64(nil), h.Normal...)
	for i, w := range h.Weights {
		linalg.Axpy(least, w, gradients[i])
	}
	h.Norm = linalg.Norm(least)
	return h, nil
}
