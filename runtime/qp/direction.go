package qp

import (
	"math"

	"bilevelc/internal/sparse"
)

// Affine is the function offset + gradient'd of a step d.
type Affine struct {
	Offset   float64
	Gradient []float64 // len n
}

// Step minimizes max_i (offset_i + gradient_i'd) + 1/2 d'Hd over the steps d with
// x + d in X and D, the model of a bundle method.
type Step struct {
	D         []float64 // len n
	Value     float64   // max_i (offset_i + gradient_i'd)
	Curvature float64   // 1/2 d'Hd
	Weights   []float64 // one for each affine function: >= 0, sum 1
	// Normal is the part of the multipliers that X and D hold: an element of
	// their normal cone at x + d, so that sum_i w_i gradient_i + Hd + Normal = 0.
	Normal []float64
	Balls  []float64 // multipliers of the balls' tangents, one a ball
}

// Step solves the model at a point x of X and D. Balls are replaced by their
// tangent half spaces at x, so that x + d may leave a ball by O(|d|^2); a caller
// that adds the balls' multipliers to H as curvature, and projects x + d, sees
// steps of second order.
func (p *Projector) Step(x []float64, h *Hessian, model []Affine) (*Step, error) {
	n := p.dx
	next := make([]float64, n)
	m := newModel(h, model)
	for range maxCuts {
		step, err := p.stepX(x, m)
		if err != nil {
			return nil, err
		}
		for j, v := range x {
			next[j] = v + step.D[j]
		}
		learned, err := p.learn(next)
		if err != nil {
			return nil, err
		}
		if !learned {
			return step, nil
		}
	}
	return nil, &StalledError{"too many facets of the set where the lower level is feasible"}
}

// model is the max of affine functions in epigraph form: minimize
// t + 1/2 d'Hd subject to gradient_i'd - t <= -offset_i. A small curvature in t,
// about the last t, makes it strictly convex; repeating that is the proximal
// point method in t, which converges to the exact solution, by a factor of at
// least 1/(1 + 1/proximal) a round, since t + min { 1/2 d'Hd } as a function of
// t has at least the curvature 1/max_i |gradient_i|^2 in the metric of H^-1.
type model struct {
	h         *Hessian // n + 1 variables
	pieces    []Affine
	curvature float64
	t         float64
	warm      []int
	ws        Workspace
}

// proximal is the ratio of the artificial curvature to the least natural one.
const proximal = 1e-2

func newModel(h *Hessian, pieces []Affine) *model {
	largest := 0.0
	v := make([]float64, h.Dim())
	for _, a := range pieces {
		copy(v, a.Gradient)
		h.solveT(v)
		largest = math.Max(largest, dot(v, v))
	}
	m := &model{pieces: pieces, curvature: 1}
	if largest > 0 {
		m.curvature = proximal / largest
	}
	m.h = h.extended(m.curvature)
	for _, a := range pieces {
		m.t = math.Max(m.t, a.Offset)
	}
	m.t -= largest / 2 // the value at the unconstrained minimizer of one piece lies between
	return m
}

// stepX solves the model over X and the known cuts.
func (p *Projector) stepX(x []float64, m *model) (*Step, error) {
	n, k := p.dx, len(m.pieces)
	rows := &sparse.CSR{Cols: n + 1, Ptr: []int{0}}
	var side []float64
	var equal []bool
	end := func(b float64, eq bool) {
		rows.Ptr = append(rows.Ptr, len(rows.Col))
		rows.Rows++
		side, equal = append(side, b), append(equal, eq)
	}
	for _, a := range m.pieces {
		for j, v := range a.Gradient {
			rows.Col, rows.Val = append(rows.Col, j), append(rows.Val, v)
		}
		rows.Col, rows.Val = append(rows.Col, n), append(rows.Val, -1)
		end(-a.Offset, false)
	}
	for b := range p.set.Balls {
		ball := &p.set.Balls[b]
		r := radius(ball, x)
		for j := ball.Start; j < ball.End; j++ {
			rows.Col, rows.Val = append(rows.Col, j), append(rows.Val, x[j]-center(ball, j))
		}
		end((ball.Radius-r)*(ball.Radius+r)/2, false)
	}
	fixed := rows.Rows
	for i := 0; i < p.e.Rows; i++ {
		cols, vals := p.e.Row(i)
		rows.Col, rows.Val = append(rows.Col, cols...), append(rows.Val, vals...)
		slack := p.side[i] - p.e.RowDot(i, x)
		if !p.equal[i] {
			// x is a point of the set: what rounding makes of it is no violation.
			slack = math.Max(slack, 0)
		}
		end(slack, p.equal[i])
	}
	q := &Problem{H: m.h, C: make([]float64, n+1), A: rows, Equal: equal, B: side,
		Lo: make([]float64, n+1), Hi: make([]float64, n+1), Warm: m.warm}
	for j := range n {
		q.Lo[j], q.Hi[j] = math.Inf(-1), math.Inf(1)
		if p.set.Lo != nil {
			q.Lo[j], q.Hi[j] = math.Min(p.set.Lo[j]-x[j], 0), math.Max(p.set.Hi[j]-x[j], 0)
		}
	}
	q.Lo[n], q.Hi[n] = math.Inf(-1), math.Inf(1)
	var s *Solution
	const rounds = 60 // a factor of a hundred each is expected; a bound all the same
	for range rounds {
		q.C[n] = 1 - m.curvature*m.t
		s = Solve(q, &m.ws)
		if s.Status != Solved {
			return nil, &StalledError{"the step's quadratic program: " + s.Status.String()}
		}
		q.Warm = s.Active
		moved := math.Abs(s.Z[n] - m.t)
		m.t = s.Z[n]
		if moved <= 1e-13*math.Abs(m.t) || m.curvature*moved <= 1e-15 {
			break
		}
	}
	m.warm = keepPieces(s.Active, k)
	step := &Step{D: s.Z[:n], Weights: make([]float64, k), Normal: make([]float64, n), Balls: make([]float64, len(p.set.Balls))}
	sum := 0.0
	for _, w := range s.Lambda[:k] {
		sum += w
	}
	step.Value = math.Inf(-1)
	for i, a := range m.pieces {
		step.Weights[i] = s.Lambda[i] / sum
		step.Value = math.Max(step.Value, a.Offset+dot(a.Gradient, step.D))
	}
	copy(step.Balls, s.Lambda[k:fixed])
	for j := range step.Normal {
		step.Normal[j] = s.Bound[j]
	}
	for i := k; i < rows.Rows; i++ {
		cols, vals := rows.Row(i)
		for t, j := range cols {
			step.Normal[j] += s.Lambda[i] * vals[t]
		}
	}
	u := m.h.multiply(s.Z)
	u[n] = 0
	step.Curvature = dot(u, u) / 2
	return step, nil
}

// keepPieces keeps the constraint numbers that stay the same when a row is
// appended: those of the pieces.
func keepPieces(active []int, k int) []int {
	var out []int
	for _, i := range active {
		if i < k {
			out = append(out, i)
		}
	}
	return out
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
func (p *Projector) MinNorm(x []float64, gradients [][]float64, radius float64) (*Hull, error) {
	largest := 0.0
	for _, g := range gradients {
		largest = math.Max(largest, norm2(g))
	}
	scale := 1.0
	if largest > 0 {
		scale = radius / largest
	}
	model := make([]Affine, len(gradients))
	for i, g := range gradients {
		model[i].Gradient = make([]float64, len(g))
		axpy(model[i].Gradient, scale, g)
	}
	step, err := p.Step(x, Identity(p.dx), model)
	if err != nil {
		return nil, err
	}
	h := &Hull{Weights: step.Weights, Normal: step.Normal, Norm: norm2(step.D) / scale}
	for j := range h.Normal {
		h.Normal[j] /= scale
	}
	return h, nil
}
