// Package sequential finds local solutions of bilevel problems whose KKT system (package kkt) is not one of linear rows: g is smooth and strongly convex in y,
// constraints of the leader are smooth, X may have balls. It solves a sequence of quadratic programs with linear complementarity constraints (QPECs) within trust
// regions (Luo, Pang and Ralph 1996, chapter 6; Fukushima, Luo and Pang 1998; Scholtes and Stohr 1999).
//
// At z_k = (x_k, y_k, lambda_k), a point of the system
//
//	r(z) = grad_y g(x, y) - B'lambda = 0,   s = b + B y - A x >= 0,   lambda >= 0,   s_i lambda_i = 0,   c(x, y, lambda) <= 0,
//
// r and c are linearized, with H = d2g/dy2 and G = d2g/dydx from differences of grad_y g; rows and pairs are linear as they stand. The Lagrangian of a branch is
//
//	L = f - a'r + nu'c + (rows and sides of pairs, linear),
//
// with the signs of kkt.Multipliers: a is the adjoint, the multiplier of r, nu that of c. The subproblem
//
//	minimize grad f'd + 1/2 d'W d    over the linearized system,  |d_x| <= Delta,  W = Hessian of f - a'grad_y g + nu'c,
//
// is a problem of package pieces, which solves it locally from d = 0. On a branch that it keeps this is Newton's method for the branch's KKT conditions: a step
// leaves an error of second order, and convergence is quadratic where the branch satisfies the second-order conditions (Nocedal and Wright 2006, theorem 18.4).
// First-order terms are exact and all branches that meet at z_k are in the subproblem, so that d = 0 is its solution only if z_k is B-stationary.
//
// A trial x is judged by the true problem: the follower is solved there exactly (follower.go), and
//
//	phi(x) = f(x, y*(x), lambda(x)) + sum rho_i max(0, c_i)
//
// has to fall by a part of what the model promised, else Delta shrinks (Nocedal and Wright 2006, algorithm 4.1). The violations are variables of the subproblem, so that it is
// feasible at d = 0 (Fletcher 1987, section 14.4), and rho grows until they vanish. Where the fall of phi drowns in its rounding, steps go on as long as they make the point more stationary.
//
// The follower's rows hold at each trial x, since they are linear; values that are not finite, beyond the domain of f, g or c, shorten steps.
//
// At the end the point is examined on the system linearized there (pieces.Solver.Examine), whose stationarity is that of the problem: first-order terms are all that strong
// stationarity and B-stationarity read, and the Hessian of the model is that of the Lagrangian, which the second-order condition reads.
package sequential

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// ErrNotFinite says that a function, or its gradient, is not finite where it is needed.
var ErrNotFinite = errors.New("a function is not finite")

// ErrNoPoint says that no point was found at which the leader's constraints hold.
var ErrNoPoint = errors.New("no point was found at which the constraints of the upper level hold: their violation is stationary")

// errNoModel is the end of a descent from a point at which the linearized system has no least f, however near: what f makes of the system itself is another matter.
var errNoModel = errors.New("next to a point the linearized system has no least value of f")

// Options of a solve.
type Options struct {
	// Observer, optional, is told of each step.
	Observer func(pieces.Step)
	// Working, optional, is told that subproblems go on, between steps: Work says how far.
	Working func()
	// Begin, optional, finds an answer of the follower at x where nothing is known of it: y (len Dy), nil where there is none.
	Begin func(ctx context.Context, x []float64) ([]float64, error)
	// Large says that the system is too large for factors of it all: the follower is strongly convex, and eliminated.
	Large bool
}

// Solver holds what solves of one problem share. It is not safe for concurrent use.
type Solver struct {
	p            *problem.Problem
	opts         Options
	kinds        []problem.Kind // of the constraints: the coupled ones, then the balls of X
	names        []string
	coupled      int     // of them
	followers    [][]int // problem.Problem.Followers
	owner, place []int   // of each entry of y its follower, and its place there
	groups       [][]int
	exact        *lower      // grad_y g where it is affine: at 0
	columns      [][]float64 // of the second derivatives of g, where it is affine along an entry of (x, y)
	follower     *answers
	pieces       *pieces.Solver // of the last system, for its storage
	unit         []float64      // len Dx: lengths of x in which the system is equilibrated
	weight       []float64      // of each coupled constraint, with which its gradient was last told from that of f (slopes)
	work         int64
	over         *Solver // of the system with sums as entries, which finds answers and local solutions; nil where there is none
	sums         *sums
}

// Applies reports, in words, what keeps a problem out of the class; "" where nothing does.
func Applies(p *problem.Problem) string {
	switch {
	case !p.Facts.JointlyQuadratic && !(p.Facts.StrongConvexity > 0 || p.Facts.Convex):
		return "g is not proved convex in y"
	case slices.ContainsFunc(p.X.Balls, func(b problem.Ball) bool { return b.Radius == 0 }):
		return "X has a ball of radius 0"
	}
	return ""
}

// New prepares solves of p.
func New(p *problem.Problem, opts Options) (*Solver, error) {
	if why := Applies(p); why != "" {
		return nil, errors.New(why)
	}
	q := *p
	q.F = p.WithoutHeld()
	v := &Solver{p: &q, opts: opts}
	v.divide()
	if p.Coupled != nil {
		v.kinds = append(v.kinds, p.Coupled.Kind...)
		v.names = append(v.names, p.Coupled.Name...)
	}
	v.coupled = len(v.kinds)
	for range v.coupled {
		v.weight = append(v.weight, 1)
	}
	for _, ball := range p.X.Balls {
		v.kinds, v.names = append(v.kinds, problem.AtMost), append(v.names, ball.Name)
	}
	if opts.Large || p.Facts.JointlyQuadratic || !v.mayTie() {
		return v, nil
	}
	with, sums := overSums(p)
	if with == nil {
		return v, nil
	}
	v.sums = sums
	if begin := opts.Begin; begin != nil {
		opts.Begin = func(ctx context.Context, x []float64) ([]float64, error) {
			y, err := begin(ctx, x)
			if y == nil || err != nil {
				return nil, err
			}
			return sums.with(y), nil
		}
	}
	var err error
	v.over, err = New(with, opts)
	return v, err
}

// unconstrained is v without the leader's constraints.
func (v *Solver) unconstrained() *Solver {
	only := *v
	only.kinds = nil
	return &only
}

// divide tells the followers apart.
func (v *Solver) divide() {
	v.followers, v.owner, v.place = v.p.Followers(), make([]int, v.p.Dy), make([]int, v.p.Dy)
	v.groups = groupsOf(v.followers)
	for b, ys := range v.followers {
		for k, j := range ys {
			v.owner[j], v.place[j] = b, k
		}
	}
}

// point is a point of the system with the follower solved, and all functions there to first order.
type point struct {
	x, y, lambda []float64
	f            float64
	grad         []float64   // of f in (x, y, the multipliers that f reads)
	c            []float64   // values of the constraints
	jac          [][]float64 // their gradients, one row each
	lower        *lower
}

// evaluate is the point at (x, y, lambda) to first order, without the follower's derivatives.
func (v *Solver) evaluate(x, y, lambda []float64) (*point, error) {
	p := v.p
	n := p.Dx + p.Dy + len(p.Duals)
	pt := &point{x: x, y: y, lambda: lambda, grad: make([]float64, n)}
	answer := p.Answer(y, lambda)
	gx, ga := make([]float64, p.Dx), make([]float64, len(answer))
	pt.f = p.F.ValueGrad(gx, ga, x, answer)
	copy(pt.grad, gx)
	copy(pt.grad[p.Dx:], ga[:p.Dy+len(p.Duals)])
	pt.c = append(pt.c, p.CoupledPart(ga)...)
	units := kkt.Units(slices.Concat(x, answer[:p.Dy+len(p.Duals)]))
	for i := range v.coupled {
		row := v.slopes(i, pt, answer)
		cleared(row, units)
		pt.jac = append(pt.jac, row)
	}
	for k := range p.X.Balls {
		one := make([]float64, len(p.X.Balls))
		one[k] = 1
		row := make([]float64, n)
		v.ballGradient(row, x, one)
		pt.c, pt.jac = append(pt.c, ballValue(&p.X.Balls[k], x)), append(pt.jac, row)
	}
	if !linalg.Finite(pt.grad) || !linalg.Finite(pt.c) || !linalg.Finite([]float64{pt.f}) {
		return nil, ErrNotFinite
	}
	for _, row := range pt.jac {
		if !linalg.Finite(row) {
			return nil, ErrNotFinite
		}
	}
	return pt, nil
}

// slopes are the gradient of coupled constraint i, which its weight times adds to that of f: with one, a power of 2, next to which f's hides no digits of it, if there is such a weight.
func (v *Solver) slopes(i int, pt *point, answer []float64) []float64 {
	p := v.p
	of, at := linalg.NormInf(pt.grad), len(answer)-v.coupled+i
	with := func(weight float64) []float64 {
		gx, ga := make([]float64, p.Dx), make([]float64, len(answer))
		answer[at] = weight
		p.F.ValueGrad(gx, ga, pt.x, answer)
		answer[at] = 0
		row := append(gx, ga[:len(pt.grad)-p.Dx]...)
		for j := range row {
			row[j] = (row[j] - pt.grad[j]) / weight
		}
		return row
	}
	row := with(v.weight[i])
	for range 2 { // where f's hides all of it the first tells of what size it is
		size := linalg.NormInf(row) * v.weight[i]
		if !(size < of) {
			break
		}
		_, e := math.Frexp(of / math.Max(size, 0x1p-52*of))
		more := math.Ldexp(v.weight[i], e)
		next := with(more)
		if !linalg.Finite(next) {
			break
		}
		row, v.weight[i] = next, more
	}
	return row
}

// cleared sets entries of a row to 0 that rounding leaves of a slope that vanishes: over the lengths on which variables vary they are rounding beside the others. A system with a coefficient of 1e-33 has units of 1e22,
// in which nothing else counts.
func cleared(row, units []float64) {
	most := each.LargestBelow(len(row), func(j int) float64 { return math.Abs(row[j]) * units[j] })
	for j, t := range row {
		if math.Abs(t)*units[j] <= tolerance.SumRounding*most {
			row[j] = 0
		}
	}
}

// ballValue is (|x - center|^2 - radius^2)/(2 radius), which has slopes of length 1 at the surface.
func ballValue(b *problem.Ball, x []float64) float64 {
	sum := 0.0
	for j := b.Start; j < b.End; j++ {
		t := x[j] - b.At(j)
		sum += t * t
	}
	return (sum - b.Radius*b.Radius) / (2 * b.Radius)
}

// ballGradient adds to dst the gradients of the balls' constraints times weights.
func (v *Solver) ballGradient(dst, x, weights []float64) {
	for k, w := range weights {
		b := &v.p.X.Balls[k]
		for j := b.Start; j < b.End; j++ {
			dst[j] += w * (x[j] - b.At(j)) / b.Radius
		}
	}
}

// second gives a point the follower's derivatives, fine or not; with the directions along which answers go on as in rank.
func (v *Solver) second(pt *point, fine bool) (err error) {
	defer must.Catch(&err)
	if v.over != nil {
		return v.sums.second(v.over, pt, fine)
	}
	if !v.p.Facts.JointlyQuadratic {
		if pt.lower, err = v.followerAt(pt.x, pt.y, true, fine); err != nil || !v.mayTie() || v.opts.Large {
			return err
		}
		only := v.unconstrained()
		s := must.Get(only.program(pt, nil, nil, nil))
		return v.rank(pt, s.SignsAt(only.start(s, pt)).Mult)
	}
	if v.exact == nil {
		v.exact = must.Get(v.affine())
	}
	pt.lower = &lower{grad: make([]float64, v.p.Dy), h: v.exact.h, g: v.exact.g}
	v.p.G.GradY(pt.lower.grad, pt.x, pt.y)
	return nil
}

// affine reads H and G off a follower whose g is quadratic in x and y.
func (v *Solver) affine() (_ *lower, err error) {
	defer must.Catch(&err)
	q := *v.p
	set := *q.X
	set.Balls = nil
	q.X, q.Coupled = &set, nil
	zero := quadratic{at: make([]float64, q.Dx+q.Dy+len(q.Duals)), Quadratic: sparse.Quadratic{Lin: make([]float64, q.Dx+q.Dy+len(q.Duals))}, rows: sparse.Empty(0)}
	q.F = problem.Joint(zero.valueGrad)
	q.Facts.DegreeF = 0
	s := must.Get(kkt.New(&q))
	return &lower{h: s.H, g: s.G}, nil
}

// violation is the weighted sum of what the constraints are violated by.
func (v *Solver) violation(c []float64, penalty elastic) (sum float64) {
	for i, t := range c {
		sum += penalty[i] * math.Max(0, v.kinds[i].Over(t))
	}
	return sum
}

// Work is what all solves so far have taken (activeset.Solution.Work).
func (v *Solver) Work() int64 {
	if v.over != nil {
		return v.work + v.over.Work()
	}
	return v.work
}
