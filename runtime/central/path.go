// Package central evaluates F along the central path of the lower level:
//
//	F_mu(x) = f(x, y_mu(x)),  y_mu(x) = argmin_y g(x, y) - mu sum_i log s_i,  s_i = -h_i(x, y),
//
// over the inequality rows i, with the equality rows kept; mu is in units of the forces
// on the follower at x (Barrier). F_mu is smooth wherever
// the rows have a point inside, has no kinks, and tends to F as mu goes to 0: the
// logarithmic barrier makes every row take part in y a little before it binds, so
// that the leader sees rows, and followers that would switch, ahead of time.
//
// Input is a problem.Problem with a strongly convex g; output are values, gradients
// and the point (y, s, lambda) with s_i lambda_i = mu. Derivatives of g are its
// gradients and differences of them alone; linear algebra on the rows is a sparse
// factorization of the KKT matrix.
package central

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Path evaluates F_mu for one problem. It goes from one point to the next and is not
// safe for concurrent use.
type Path struct {
	p           *problem.Problem
	n, m        int
	pattern     *sparse.CSR // of the Hessian of g in y
	colours     *linalg.Colouring
	known       []float64 // its entries, in the pattern's order, where it is known; or nil
	hessian     []float64 // its entries, in the pattern's order; nil before they are measured
	bound       []int     // of each row: the entry of y that it bounds, or -1
	coefficient []float64 // and its entry of B
	tied        []bool    // the rows that read x
	general     []int     // the other rows, in the order of the KKT matrix

	saddle *linalg.Saddle // the pattern of the KKT matrix: the Hessian, to whose diagonal bounds contribute, and all other rows
	ldl    *linalg.LDL
	kkt    []float64
	unit   []float64 // of entries of y and general rows: factorized is unit K unit
	own    []float64 // of general rows: S/Lambda in these units, where kkt has what stands for it

	primalDual      // the point
	warm       bool // it is one of the path
	kept       primalDual
	middle     []float64 // the y of the first point found; nil before
	mu         float64   // at the point
	barrier    strength

	dual, primal []float64 // residuals, len n and m
	side         []float64 // len m, see advance
	rhs, step    []float64 // len n + general rows
	ds, dlambda  []float64 // len m
	weight       []float64 // len m: lambda/s of a bound, where the system was factorized last
	probe        []float64 // len n
	adjoint      []float64 // len n: p of the last Evaluate
	front, back  []float64 // len Dx
	gradY        []float64 // len n: grad_y f
	weights      []float64 // len n: of gradients of g in y
	separable    bool      // grad_y g is a function of x and one of y: its slope in x is the same at every y
}

// primalDual is a point (y, s, lambda); s of equality rows is 0, their lambda free.
type primalDual struct{ y, s, lambda []float64 }

func (p *primalDual) set(q *primalDual) {
	copy(p.y, q.y)
	copy(p.s, q.s)
	copy(p.lambda, q.lambda)
}

// groups is the number of gradients up to which the Hessian of a g that is not quadratic, with
// n entries of y, is measured anew at each step: with more, a point of the path, which takes about
// five steps, costs more gradients than a lower solve without the Hessian, which takes about as
// many as y has entries, and at least some forty; up to tolerance.DenseOrder entries as many gradients cost little beside the rest. Where the pattern is that sparse, lower solves
// measure the Hessian along the same groups themselves.
func groups(n int) int { return max(8, n/8) }

// New prepares the path of p; nil where there is none to follow, or following it
// costs too much: F reads multipliers, or constraints of the leader read y, no row is
// an inequality, g is not known to be strongly convex, or its Hessian is large and not
// known to be sparse. known, where not nil, is the Hessian of g in y where that is the same
// everywhere (Dy x Dy, symmetric); it is kept.
func New(p *problem.Problem, known []float64) *Path {
	if len(p.Duals) > 0 || p.Coupled != nil || !(p.Facts.StrongConvexity > 0) {
		return nil
	}
	c := &Path{p: p, n: p.Dy, m: p.Rows.Len(), pattern: p.Facts.HessianPattern, separable: p.Facts.QuadraticInY && p.Facts.FixedHessian}
	if c.pattern == nil {
		c.known = known
		// 1000 is the order up to which all of the Hessian, which lower solves measure as well, and its factors take a second or two: F is minimized in tens of points where no row bends it.
		if p.Dy > tolerance.DenseOrder && (p.HasInequalities() || p.Dy > 1000) {
			return nil
		}
		c.pattern = sparse.FromDense(p.Dy, p.Dy, slices.Repeat([]float64{1}, p.Dy*p.Dy))
	}
	if c.known == nil {
		if c.colours = linalg.Colour(c.pattern); !p.Facts.QuadraticInY && p.HasInequalities() && c.colours.Colours > groups(p.Dy) && p.Dy > tolerance.DenseOrder {
			return nil
		}
	}
	c.arrange()
	// 20000 is the number of entries of y and rows up to which points of the path, hundreds of them, cost seconds.
	if c.n+len(c.general) > 20000 {
		return nil
	}
	c.analyze()
	v := func(k int) []float64 { return make([]float64, k) }
	c.primalDual, c.kept = primalDual{v(c.n), v(c.m), v(c.m)}, primalDual{v(c.n), v(c.m), v(c.m)}
	c.dual, c.primal, c.side, c.weight = v(c.n), v(c.m), v(c.m), v(c.m)
	c.unit, c.rhs, c.step = v(c.n+len(c.general)), v(c.n+len(c.general)), v(c.n+len(c.general))
	c.ds, c.dlambda, c.probe = v(c.m), v(c.m), v(c.n)
	c.adjoint, c.gradY, c.weights = v(c.n), v(c.n), v(c.n)
	c.front, c.back = v(p.Dx), v(p.Dx)
	c.barrier = strength{c: c, force: v(c.n)}
	return c
}

// arrange tells bounds from other rows.
func (c *Path) arrange() {
	rows := c.p.Rows
	c.bound, c.coefficient, c.tied = make([]int, c.m), make([]float64, c.m), make([]bool, c.m)
	for i := range c.bound {
		cols, _ := rows.A.Row(i)
		c.tied[i] = len(cols) > 0
		c.bound[i] = -1
		if rows.Kind[i] != problem.Equal {
			c.bound[i], c.coefficient[i] = rows.Bound(i)
		}
		if c.bound[i] < 0 {
			c.general = append(c.general, i)
		}
	}
}

// along is B_i v for a v on y.
func (c *Path) along(i int, v []float64) float64 {
	if j := c.bound[i]; j >= 0 {
		return c.coefficient[i] * v[j]
	}
	return c.p.Rows.B.RowDot(i, v)
}

// across is A_i v for a v on x.
func (c *Path) across(i int, v []float64) float64 {
	if c.tied[i] {
		return c.p.Rows.A.RowDot(i, v)
	}
	return 0
}

// analyze prepares the factorization of the KKT matrix.
func (c *Path) analyze() {
	b := sparse.Empty(c.n)
	for _, i := range c.general {
		b.AppendAll(c.p.Rows.B.Row(i))
		b.EndRow()
	}
	c.saddle = linalg.NewSaddle(c.pattern, b)
	c.kkt, c.own = make([]float64, len(c.saddle.Row)), make([]float64, len(c.general))
	c.ldl = linalg.NewLDL(c.saddle.Symbolic, func(i int) bool { return i >= c.n })
}

// Begin sets the point from which the next evaluation starts, a y (len Dy) that is the
// answer to an x, or near it, and the barrier. What was known of the path is forgotten.
func (c *Path) Begin(y []float64, b Barrier) {
	copy(c.y, y)
	c.warm, c.middle, c.hessian = false, nil, nil
	c.barrier.begin(b)
}

// Y is the y of the last point, shared with the Path.
func (c *Path) Y() []float64 { return c.y }

// curvature is the second derivative of g along entry j of y.
func (c *Path) curvature(j int) float64 {
	return c.hessian[c.saddle.Lower[c.saddle.Diagonal[j]]]
}

// measure sets the Hessian of g in y from differences of gradients at (x, c.y), along
// groups of directions (linalg.Colouring). It reports false where one is not finite.
func (c *Path) measure(x []float64) bool {
	if c.known != nil {
		c.hessian = c.known
		return true
	}
	values := make([]float64, c.pattern.NNZ())
	base, step := make([]float64, c.n), make([]float64, c.n)
	size := math.Max(1, linalg.Norm(c.y)/math.Sqrt(float64(c.n)))
	for j, v := range c.y {
		// Of a quadratic, differences of any length are exact; the longer, the less
		// they round.
		step[j] = 16 * size
		if !c.p.Facts.QuadraticInY {
			step[j] = math.Sqrt(tolerance.Roundoff) * math.Max(size, math.Abs(v))
		}
	}
	c.p.G.GradY(base, x, c.y)
	if !c.colours.Differences(values, c.y, step, base, func(dst, y []float64) { c.p.G.GradY(dst, x, y) }) {
		return false
	}
	c.hessian = values
	return true
}
