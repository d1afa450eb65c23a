package qp

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
)

// Affine is the function offset + gradient'd of a step d.
type Affine struct {
	Offset   float64
	Gradient []float64 // len n
}

// Model is the function max_i (offset_i + gradient_i'd) + sum_k max(0, hinge_k) +
// 1/2 d'Hd of a step d, where hinge_k = offset_k + gradient_k'd: the model of a
// bundle method, with the kinks that are known one by one as hinges.
type Model struct {
	H      *Hessian
	Pieces []Affine // at least one
	Hinges []Affine
}

// Step minimizes a Model over the steps d with x + d in X and D.
type Step struct {
	D         []float64 // len n
	Value     float64   // the model without its curvature
	Curvature float64   // 1/2 d'Hd
	Weights   []float64 // one for each piece: >= 0, sum 1
	Slopes    []float64 // one for each hinge: in [0, 1]
	// Normal is the part of the multipliers that X and D hold: an element of
	// their normal cone at x + d, so that sum_i Weights_i gradient_i +
	// sum_k Slopes_k gradient_k + Hd + Normal = 0.
	Normal []float64
	Balls  []float64 // multipliers of the balls' tangents, one a ball
}

// Step solves the model at a point x of X and D. Balls are replaced by their
// tangent half spaces at x, so that x + d may leave a ball by O(|d|^2); a caller
// that adds the balls' multipliers to H as curvature, and projects x + d, sees
// steps of second order.
func (p *Projector) Step(x []float64, m *Model) (*Step, error) {
	step, err := p.step(x, newEpigraph(m), p.upper)
	if err != nil {
		return nil, err
	}
	next := make([]float64, p.dx)
	for j, v := range x {
		next[j] = v + step.D[j]
	}
	inside, err := p.recourse.contains(next)
	if inside || err != nil {
		return step, err
	}
	e := newEpigraph(m)
	e.joint(p.center())
	if step, err = p.step(x, e, p.joint); err == nil {
		p.remember(e.center[e.y:])
	}
	return step, err
}

// epigraph is a Model as a quadratic program: minimize t + sum_k s_k + 1/2 d'Hd
// subject to piece_i - t <= 0, hinge_k - s_k <= 0, s_k >= 0. A single piece
// needs no t. A small curvature in each of the added variables, about its last
// value, makes the program strictly convex; repeating that is the proximal point
// method in them, which converges to the exact solution, and fast: as a function
// of such a variable the rest has at least the curvature 1/|gradient|^2 in the
// metric of H^-1.
type epigraph struct {
	*Model
	h       *Hessian  // n + len(center) variables
	ratio   []float64 // curvature in each added variable
	center  []float64 // their last values
	cost    []float64 // their costs: 1, and 0 for the s of Projector.joint
	y       int       // number of the first s among them
	shared  bool      // there is a t, the first of them
	largest float64   // the largest |gradient|^2 in the metric of H^-1
	warm    []int
	ws      Workspace
	scratch []float64
}

// proximal is the ratio of the artificial curvature to the least natural one.
const proximal = 1e-2

func newEpigraph(m *Model) *epigraph {
	e := &epigraph{Model: m, h: m.H, scratch: make([]float64, m.H.Dim()), shared: len(m.Pieces) > 1}
	for _, a := range m.Pieces {
		e.largest = math.Max(e.largest, e.squared(a.Gradient))
	}
	if e.shared {
		// The minimum over one piece alone is at minus its square.
		e.add(e.largest, -e.largest/2)
	}
	for _, a := range m.Hinges {
		e.add(e.squared(a.Gradient), 0)
	}
	e.y = len(e.center)
	return e
}

// joint adds the variables s at their center, with a curvature well below that of H.
func (e *epigraph) joint(center []float64) {
	ratio := nearness * e.H.least()
	for _, c := range center {
		e.h = e.h.extended(ratio)
		e.ratio, e.center, e.cost = append(e.ratio, ratio), append(e.center, c), append(e.cost, 0)
	}
}

// squared is |g|^2 in the metric of H^-1.
func (e *epigraph) squared(g []float64) float64 {
	copy(e.scratch, g)
	e.H.solveT(e.scratch)
	return dot(e.scratch, e.scratch)
}

func (e *epigraph) add(squared, center float64) {
	r := 1.0
	if squared > 0 {
		r = proximal / squared
	}
	e.h = e.h.extended(r)
	e.ratio, e.center, e.cost = append(e.ratio, r), append(e.center, center), append(e.cost, 1)
}

// step solves the model over the rows on, which are those of X, or of X and D with
// the variables s.
func (p *Projector) step(x []float64, m *epigraph, on *constraints) (*Step, error) {
	n, k := p.dx, len(m.Pieces)
	added := len(m.center)
	q := &Problem{H: m.h, C: make([]float64, n+added), A: &sparse.CSR{Cols: n + added, Ptr: []int{0}},
		Lo: make([]float64, n+added), Hi: make([]float64, n+added), Warm: m.warm, Context: p.ctx}
	end := func(b, terms float64, eq bool) {
		q.A.Ptr = append(q.A.Ptr, len(q.A.Col))
		q.A.Rows++
		q.B, q.Terms, q.Equal = append(q.B, b), append(q.Terms, terms), append(q.Equal, eq)
	}
	below := func(a Affine, variable int) {
		for j, v := range a.Gradient {
			q.A.Col, q.A.Val = append(q.A.Col, j), append(q.A.Val, v)
		}
		q.A.Col, q.A.Val = append(q.A.Col, variable), append(q.A.Val, -1)
		end(-a.Offset, 0, false)
	}
	hinge := n // number of the first hinge's variable
	if m.shared {
		for _, a := range m.Pieces {
			below(a, n)
		}
		hinge++
	} else {
		k = 0
		copy(q.C, m.Pieces[0].Gradient)
	}
	for i, a := range m.Hinges {
		below(a, hinge+i)
	}
	balls := q.A.Rows
	for b := range p.set.Balls {
		ball := &p.set.Balls[b]
		r := radius(ball, x)
		for j := ball.Start; j < ball.End; j++ {
			q.A.Col, q.A.Val = append(q.A.Col, j), append(q.A.Val, x[j]-center(ball, j))
		}
		end((ball.Radius-r)*(ball.Radius+r)/2, ball.Radius*ball.Radius, false)
	}
	fixed := q.A.Rows
	for i := 0; i < on.e.Rows; i++ {
		cols, vals := on.e.Row(i)
		slack, terms, reads := on.side[i], math.Abs(on.side[i]), false
		for t, j := range cols {
			if j >= n { // s: it is not moved to 0, and comes after t and the hinges
				q.A.Col, q.A.Val = append(q.A.Col, j+m.y), append(q.A.Val, vals[t])
				reads = true
				continue
			}
			q.A.Col, q.A.Val = append(q.A.Col, j), append(q.A.Val, vals[t])
			slack -= vals[t] * x[j]
			terms += math.Abs(vals[t] * x[j])
		}
		if !on.equal[i] && !reads {
			// x is a point of the set: what rounding makes of it is no violation.
			slack = math.Max(slack, 0)
		}
		end(slack, terms, on.equal[i])
	}
	for j := range q.Lo {
		q.Lo[j], q.Hi[j] = math.Inf(-1), math.Inf(1)
		if j < n && p.set.Lo != nil {
			q.Lo[j], q.Hi[j] = math.Min(p.set.Lo[j]-x[j], 0), math.Max(p.set.Hi[j]-x[j], 0)
		}
		if j >= hinge && j < n+m.y {
			q.Lo[j] = 0
		}
	}
	s, err := p.proximal(m, q)
	if err != nil {
		return nil, err
	}
	m.warm = keepBelow(s.Active, balls)
	step := &Step{D: s.Z[:n], Weights: []float64{1}, Normal: make([]float64, n), Balls: append([]float64(nil), s.Lambda[balls:fixed]...)}
	if m.shared {
		step.Weights = make([]float64, k)
		sum := 0.0
		for _, w := range s.Lambda[:k] {
			sum += w
		}
		for i := range step.Weights {
			step.Weights[i] = s.Lambda[i] / sum
		}
	}
	for _, w := range s.Lambda[k:balls] {
		step.Slopes = append(step.Slopes, math.Min(w, 1))
	}
	step.Value = m.value(step.D)
	copy(step.Normal, s.Bound[:n])
	for i := balls; i < q.A.Rows; i++ {
		cols, vals := q.A.Row(i)
		for t, j := range cols {
			if j < n {
				step.Normal[j] += s.Lambda[i] * vals[t]
			}
		}
	}
	u := m.H.multiply(step.D)
	step.Curvature = dot(u, u) / 2
	return step, nil
}

// value is the model at d without its curvature.
func (m *Model) value(d []float64) float64 {
	v := math.Inf(-1)
	for _, a := range m.Pieces {
		v = math.Max(v, a.Offset+dot(a.Gradient, d))
	}
	for _, a := range m.Hinges {
		v += math.Max(0, a.Offset+dot(a.Gradient, d))
	}
	return v
}

// proximal runs the proximal rounds on the program of a step.
func (p *Projector) proximal(m *epigraph, q *Problem) (*Solution, error) {
	n := p.dx
	const rounds = 60 // a factor of a hundred each is expected; a bound all the same
	size := math.Sqrt(m.largest * m.H.least())
	for round := 1; ; round++ {
		for i, r := range m.ratio {
			q.C[n+i] = m.cost[i] - r*m.center[i]
		}
		s := Solve(q, &m.ws)
		switch s.Status {
		case Stopped:
			return nil, context.Cause(p.ctx)
		case Infeasible, Failed:
			return nil, &StalledError{"the step's quadratic program: " + s.Status.String()}
		}
		q.Warm = s.Active
		settled := true
		for i, r := range m.ratio {
			v := s.Z[n+i]
			moved := math.Abs(v - m.center[i])
			// The pull that is left: of 1 for t and the hinges, of the gradients for s.
			pull := 1.0
			if i >= m.y {
				pull = size
			}
			settled = settled && (moved <= 1e-13*math.Abs(v) || r*moved <= 1e-15*pull)
			m.center[i] = v
		}
		if settled || round == rounds {
			return s, nil
		}
	}
}

// keepBelow keeps the constraint numbers below k, which stay the same when a
// row is appended.
func keepBelow(active []int, k int) []int {
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
	step, err := p.Step(x, &Model{H: Identity(p.dx), Pieces: model})
	if err != nil {
		return nil, err
	}
	h := &Hull{Weights: step.Weights, Normal: step.Normal, Norm: norm2(step.D) / scale}
	for j := range h.Normal {
		h.Normal[j] /= scale
	}
	return h, nil
}
