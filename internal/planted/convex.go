package planted

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// convexFunctions is an instance of the family Convex: its data in the
// notation of the package's documentation.
type convexFunctions struct {
	curved bool
	d      []float64   // len Dy, curvatures of g
	m      *sparse.CSR // Dy x Dx
	s      []float64   // len Dy
	axis   []float64   // len Dy, unit or zero
	w      []float64   // len Dy
	q      []float64   // len Dy
	tau    []float64   // len Dy
	c      []float64   // len Dx
	rho    float64
	rows   *rows
	groups [][]int // of the rows that are not implied
}

// couplings is how many entries of x each entry of t(x) and each row reads:
// enough to mix, and few enough that a problem of size 1000 is small.
const couplings = 4

func newConvex(o Options) *Instance {
	src := newSource(o.Seed)
	n := o.Dy
	fn := &convexFunctions{curved: o.Curved, d: src.spectrum(n, o.Condition), m: src.sparseMatrix(n, o.Dx, couplings),
		s: src.normals(n), axis: src.axis(n, o.Bounds), w: make([]float64, n), q: make([]float64, n),
		tau: src.normals(n), rho: src.within(0.1, 1)}
	x := src.normals(o.Dx)
	set, side := src.upperSet(x, o.UpperActive)
	fn.drawRows(src, o, x)
	fn.drawUpper(src)

	// c makes 0 an element of dF(x*) + N_X(x*): the entries at a bound get a
	// gradient that points out of X.
	theta := each.Below(len(fn.groups), func(int) float64 { return src.within(0.3, 0.7) })
	fn.c = make([]float64, o.Dx)
	for j, g := range fn.subgradient(x, theta) {
		fn.c[j] = side[j]*src.within(0.1, 1) - g
	}
	fn.rows.imply(src, o.Implied)

	start := src.normals(o.Dx)
	for j := range start {
		start[j] = math.Max(set.Lo[j], math.Min(set.Hi[j], x[j]+start[j]))
	}
	in := &Instance{Options: o, convex: fn}
	in.Problem = &problem.Problem{
		Name: "planted", Dx: o.Dx, Dy: n,
		F:    function{&convexUpper{fn.space(n)}},
		G:    function{&convexLower{fn.space(n)}},
		Rows: fn.rows.problemRows(fn.axis), X: set, Start: start,
		Facts: problem.Facts{StrongConvexity: 1, Smoothness: fn.smoothness(), QuadraticInY: !o.Curved,
			FixedHessian: !o.Curved, EqualityOnly: o.Floors+o.Implied == 0},
	}
	exact := fn.exact(x)
	in.Optimum = Optimum{X: x, Y: exact.Y, Lambda: exact.Lambda, F: exact.F, Activity: fn.rows.activity}
	in.Model, in.Data = fn.model(in)
	return in
}

// smoothness is C_g in y: max d_j, twice that where phi has log cosh.
func (fn *convexFunctions) smoothness() float64 {
	top := 0.0
	for _, d := range fn.d {
		top = math.Max(top, d)
	}
	if fn.curved {
		return 2 * top
	}
	return top
}

// drawRows draws the groups and the rows, with the shift that gives each row
// its activity at x.
func (fn *convexFunctions) drawRows(src source, o Options, x []float64) {
	activity := src.activities(o)
	free := src.Perm(o.Dy)
	fn.groups = make([][]int, len(activity))
	for i := range fn.groups {
		fn.groups[i] = []int{free[0]}
		free = free[1:]
	}
	// Half of the rows take up to two entries more, while some are left free.
	for i := range fn.groups {
		if !o.Bounds && !o.Curved && src.IntN(2) == 0 {
			more := min(1+src.IntN(2), len(free)/2)
			fn.groups[i] = append(fn.groups[i], free[:more]...)
			free = free[more:]
		}
	}
	var right []sparse.Entry
	for i, group := range fn.groups {
		for _, j := range group {
			right = append(right, sparse.Entry{Row: i, Col: j, Val: 1})
		}
	}
	r := &rows{links: o.Links, activity: activity, shift: make([]float64, len(activity)),
		left:  src.sparseMatrix(len(activity), o.Dx, couplings),
		right: sparse.FromEntries(len(activity), o.Dy, right)}
	for i, is := range activity {
		at := map[Activity]float64{inactive: -src.within(0.5, 1.5), active: src.within(0.5, 1.5), link: src.NormFloat64()}[is]
		// row i at u = t(x) is left x + shift - sum t_j; it is to be `at`.
		r.shift[i] = at - r.left.RowDot(i, x) + fn.sumTargets(i, x)
	}
	fn.rows = r
}

// drawUpper draws w and q: any w and q on entries that are affine in x, w > 0
// and q = 0 on those of floors, w = 0 on those of weak rows.
func (fn *convexFunctions) drawUpper(src source) {
	for j := range fn.w {
		fn.w[j] = src.NormFloat64()
		fn.q[j] = src.within(0, 1)
	}
	for i, group := range fn.groups {
		for _, j := range group {
			switch fn.rows.activity[i] {
			case link:
				continue
			case weak:
				fn.w[j] = 0
			default:
				fn.w[j] = src.within(0.5, 1.5)
			}
			fn.q[j] = 0
		}
	}
}

// sumTargets is the sum of t_j(x) over the group of row i.
func (fn *convexFunctions) sumTargets(i int, x []float64) float64 {
	sum := 0.0
	for _, j := range fn.groups[i] {
		sum += fn.m.RowDot(j, x) + fn.s[j]
	}
	return sum
}

// compliance is s_i, the sum of 1/d_j over the group of row i.
func (fn *convexFunctions) compliance(i int) float64 {
	sum := 0.0
	for _, j := range fn.groups[i] {
		sum += 1 / fn.d[j]
	}
	return sum
}

// phi is the lower level's loss and its derivative.
func (fn *convexFunctions) phi(r float64) (value, slope float64) {
	if !fn.curved {
		return r * r / 2, r
	}
	// log cosh r = |r| + log(1 + exp(-2|r|)) - log 2, without overflow
	a := math.Abs(r)
	return r*r/2 + a + math.Log1p(math.Exp(-2*a)) - math.Ln2, r + math.Tanh(r)
}

// solve returns u(x), and per row that is not implied its value r_i at
// u = t(x).
func (fn *convexFunctions) solve(x []float64) (u, r []float64) {
	u = make([]float64, len(fn.d))
	fn.m.MulVec(u, x)
	for j := range u {
		u[j] += fn.s[j]
	}
	r = make([]float64, len(fn.groups))
	for i, group := range fn.groups {
		r[i] = fn.rows.left.RowDot(i, x) + fn.rows.shift[i]
		for _, j := range group {
			r[i] -= u[j]
		}
		if fn.rows.activity[i] != link && r[i] <= 0 {
			continue
		}
		for _, j := range group {
			u[j] += r[i] / (fn.compliance(i) * fn.d[j])
		}
	}
	return u, r
}

// exact solves the lower level and F at x; see the package's documentation.
func (fn *convexFunctions) exact(x []float64) Exact {
	u, r := fn.solve(x)
	lambda := make([]float64, fn.rows.len())
	theta := make([]float64, len(r))
	for i := range r {
		if fn.rows.activity[i] == link || r[i] > 0 {
			_, slope := fn.phi(r[i]) // of groups of one, where phi is not quadratic
			lambda[i] = slope / fn.compliance(i)
			theta[i] = 1
		}
	}
	e := Exact{Y: make([]float64, len(u)), Lambda: lambda}
	mirror(e.Y, fn.axis, u)
	e.F = (&convexUpper{fn.space(len(u))}).eval(nil, nil, x, e.Y)
	e.Gradient = fn.gradient(x, u, theta)
	return e
}

// subgradient is the element of dF(x) less c, with the given fractions at
// kinks.
func (fn *convexFunctions) subgradient(x, kinks []float64) []float64 {
	u, r := fn.solve(x)
	theta := make([]float64, len(r))
	for i, is := range fn.rows.activity[:len(r)] {
		switch {
		case is == kink || is == weak:
			theta[i] = kinks[i]
		case is == link || r[i] > 0:
			theta[i] = 1
		}
	}
	return fn.gradient(x, u, theta)
}

// gradient is sum_j (w_j + q_j (u_j - tau_j)) grad u_j + rho x + c, where
// grad u_j = M_j + theta_i (left_i - sum_{k in G_i} M_k) / (s_i d_j).
func (fn *convexFunctions) gradient(x, u, theta []float64) []float64 {
	weight := each.Below(len(u), func(j int) float64 { return fn.w[j] + fn.q[j]*(u[j]-fn.tau[j]) })
	grad := make([]float64, len(x))
	for j := range grad {
		grad[j] = fn.rho * x[j]
		if fn.c != nil {
			grad[j] += fn.c[j]
		}
	}
	for i, group := range fn.groups {
		if theta[i] == 0 {
			continue
		}
		mean := 0.0 // of the weights of the group, in the metric of d
		for _, j := range group {
			mean += weight[j] / (fn.compliance(i) * fn.d[j])
		}
		mean *= theta[i]
		fn.rows.left.AddRow(grad, i, mean)
		for _, j := range group {
			weight[j] -= mean
		}
	}
	fn.m.AddMulVecT(grad, 1, weight)
	return grad
}

// convexSpace is what f and g are evaluated in.
type convexSpace struct {
	*convexFunctions
	u, r []float64 // workspaces, len Dy
}

func (fn *convexFunctions) space(dy int) convexSpace {
	return convexSpace{fn, make([]float64, dy), make([]float64, dy)}
}

// convexLower evaluates g.
type convexLower struct{ convexSpace }

func (e *convexLower) clone() evaluator { return &convexLower{e.space(len(e.u))} }

func (e *convexLower) eval(gx, gy, x, y []float64) float64 {
	mirror(e.u, e.axis, y)
	e.m.MulVec(e.r, x)
	value := 0.0
	for j, u := range e.u {
		phi, slope := e.phi(u - e.r[j] - e.s[j])
		value += e.d[j] * phi
		e.r[j] = e.d[j] * slope
	}
	if gx != nil {
		clear(gx)
		e.m.AddMulVecT(gx, -1, e.r)
	}
	if gy != nil {
		mirror(gy, e.axis, e.r)
	}
	return value
}

// convexUpper evaluates f.
type convexUpper struct{ convexSpace }

func (e *convexUpper) clone() evaluator { return &convexUpper{e.space(len(e.u))} }

func (e *convexUpper) eval(gx, gy, x, y []float64) float64 {
	mirror(e.u, e.axis, y)
	value := floats.Dot(e.c, x) + e.rho/2*floats.Dot(x, x)
	for j, u := range e.u {
		away := u - e.tau[j]
		value += e.w[j]*u + e.q[j]/2*away*away
		e.r[j] = e.w[j] + e.q[j]*away
	}
	for j := range gx {
		gx[j] = e.c[j] + e.rho*x[j]
	}
	if gy != nil {
		mirror(gy, e.axis, e.r)
	}
	return value
}
