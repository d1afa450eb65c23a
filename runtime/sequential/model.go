package sequential

import (
	"math"
	"slices"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// quadratic is a Quadratic of the displacement d = v - at, v = (x, answer), and the weights at the end of the answer times affine functions.
type quadratic struct {
	at []float64
	sparse.Quadratic
	// The constraints: their values at `at` and gradients, one row each; their weights are the last entries of the answer.
	rows   *sparse.CSR
	values []float64
}

// displacement is v - at, for the x and answer of a call, and the weights.
func (q *quadratic) displacement(x, answer []float64) (d, weights []float64) {
	d = make([]float64, len(q.at))
	n := copy(d, x)
	n += copy(d[n:], answer)
	for j := range d {
		d[j] -= q.at[j]
	}
	return d, answer[n-len(x):]
}

// valueGrad is a problem.Joint.
func (q *quadratic) valueGrad(dstX, dstY, x, answer []float64) float64 {
	d, w := q.displacement(x, answer)
	g := make([]float64, len(d))
	q.Gradient(g, d)
	value := q.Const
	for j, t := range d {
		value += t * (q.Lin[j] + g[j]) / 2
	}
	for i, t := range w {
		c := q.values[i] + q.rows.RowDot(i, d)
		value += t * c
		q.rows.AddRow(g, i, t)
		if dstY != nil {
			dstY[len(answer)-len(w)+i] = c
		}
	}
	copy(dstX, g[:len(x)])
	copy(dstY, g[len(x):])
	return value
}

// around is the model of g at a point, of which grad_y is the linearization of the follower's: grad + H (y - atY) + G (x - atX).
func (l *lower) around(atX, atY []float64) problem.Joint {
	return func(dstX, dstY, x, y []float64) (value float64) {
		dx, dy := linalg.Minus(x[:len(atX)], atX), linalg.Minus(y, atY)
		for i, d := range dy {
			h, g := l.h.RowDot(i, dy), l.g.RowDot(i, dx)
			value += d * (l.grad[i] + h/2 + g)
			if dstY != nil {
				dstY[i] = l.grad[i] + h + g
			}
		}
		if dstX != nil {
			clear(dstX)
			l.g.AddMulVecT(dstX[:len(atX)], 1, dy)
		}
		return value
	}
}

// trust is the region of a subproblem: how far each entry of x may move; nil: anywhere.
type trust []float64

// elastic are the weights of the violation of each constraint; nil: constraints are kept.
type elastic []float64

// model is the problem with f, its constraints and the follower's stationarity to the order that a subproblem has of them at a point, to be
// minimized within a trust region.
//
// With penalties it has further entries of x behind the others: by how much each constraint is violated (an equation: in each direction).
func (v *Solver) model(pt *point, hess *sparse.CSR, region trust, penalty elastic) *problem.Problem {
	p := v.p
	q := *p
	var sides []side
	if penalty != nil {
		sides = v.sides()
	}
	extra := len(sides)
	q.Dx = p.Dx + extra
	n := q.Dx + p.Dy + len(p.Duals)
	shift := func(j int) int { // of an entry of (x, y, duals)
		if j >= p.Dx {
			return j + extra
		}
		return j
	}
	f := &quadratic{at: make([]float64, n), Quadratic: sparse.Quadratic{Lin: make([]float64, n), Const: pt.f}, values: pt.c, rows: sparse.Empty(n)}
	copy(f.at, pt.x)
	copy(f.at[q.Dx:], pt.y)
	for k, i := range p.Duals {
		f.at[q.Dx+p.Dy+k] = pt.lambda[i]
	}
	for j, t := range pt.grad {
		f.Lin[shift(j)] = t
	}
	if hess != nil && hess.NNZ() > 0 {
		entries := make([]sparse.Entry, 0, hess.NNZ())
		for i := range hess.Rows {
			for j, v := range hess.Entries(i) {
				entries = append(entries, sparse.Entry{Row: shift(i), Col: shift(j), Val: v})
			}
		}
		f.Hess = sparse.FromEntries(n, n, entries)
	}
	k := 0
	for i := range v.kinds {
		for j, t := range pt.jac[i] {
			if t != 0 {
				f.rows.Append(shift(j), t)
			}
		}
		for ; k < extra && sides[k].of == i; k++ {
			f.rows.Append(p.Dx+k, -sides[k].sign)
			f.Lin[p.Dx+k] = penalty[i]
		}
		f.rows.EndRow()
	}
	q.F, q.G = problem.Joint(f.valueGrad), pt.lower.around(pt.x, pt.y)
	rows, set := *p.Rows, *p.X
	rows.A = wider(p.Rows.A, q.Dx)
	q.Rows = &rows
	set.Balls = nil
	if p.X.E != nil {
		set.E = wider(p.X.E, q.Dx)
	}
	set.Lo, set.Hi = v.bounds(pt, region, extra)
	if e := p.X.Extended; e.Len() > 0 {
		set.Extended = extendedBehind(e, p.Dx, extra)
	}
	q.X = &set
	q.Coupled = nil
	if len(v.kinds) > 0 {
		q.Coupled = &problem.Coupled{Kind: v.kinds, Name: v.names, Weight: make([]float64, len(v.kinds))}
	}
	q.Blocks = sparse.Apart(pt.lower.h, p.Rows.B)
	q.Facts = problem.Facts{StrongConvexity: p.Facts.StrongConvexity, Convex: p.Facts.Convex, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, EqualityOnly: p.Facts.EqualityOnly,
		DegreeF: 2, AffineCoupled: true, HessianPattern: p.Facts.HessianPattern}
	return &q
}

// side is what an entry says by how much a constraint is violated in.
type side struct {
	of   int // the constraint
	sign float64
}

// sides are those of all constraints, of equations both.
func (v *Solver) sides() (all []side) {
	for i, kind := range v.kinds {
		if all = append(all, side{i, 1}); kind == problem.Equal {
			all = append(all, side{i, -1})
		}
	}
	return all
}

// bounds are those of X within a trust region, and of the violations behind them. Entries that are held at a point stay there; to a bound from which F falls without end of its slope steps go part of the way.
func (v *Solver) bounds(pt *point, region trust, extra int) (lo, hi []float64) {
	lo, hi = make([]float64, v.p.Dx+extra), make([]float64, v.p.Dx+extra)
	for j := range lo {
		if j >= v.p.Dx {
			hi[j] = math.Inf(1)
			continue
		}
		lo[j], hi[j] = v.p.X.Box(j)
		if region != nil {
			lo[j], hi[j] = math.Max(lo[j], math.Min(hi[j], pt.x[j]-region[j])), math.Min(hi[j], math.Max(lo[j], pt.x[j]+region[j]))
		}
	}
	for _, j := range v.p.Held(pt.x) {
		lo[j], hi[j] = pt.x[j], pt.x[j]
	}
	for _, s := range v.p.Facts.Steep {
		switch j := s.Entry; {
		case region == nil || s.Rises:
		case s.Upper:
			hi[j] = math.Min(hi[j], pt.x[j]+tolerance.ToBoundary*(v.p.X.Hi[j]-pt.x[j]))
		default:
			lo[j] = math.Max(lo[j], pt.x[j]-tolerance.ToBoundary*(pt.x[j]-v.p.X.Lo[j]))
		}
	}
	return lo, hi
}

// wider is a matrix with more columns.
func wider(m *sparse.CSR, cols int) *sparse.CSR {
	out := *m
	out.Cols = cols
	return &out
}

// extendedBehind are the rows of an extended formulation over dx entries with extra ones behind them.
func extendedBehind(e *extended.Rows, dx, extra int) *extended.Rows {
	out := *e
	m := *e.E
	m.Cols += extra
	m.Col = slices.Clone(m.Col)
	for t, j := range m.Col {
		if j >= dx {
			m.Col[t] = j + extra
		}
	}
	out.E = &m
	return &out
}

// start is the point of the model's system that pt is: no step, the violations as they are.
func (v *Solver) start(s *kkt.System, pt *point) []float64 {
	z := make([]float64, s.N)
	copy(z, pt.x)
	if s.Nx > v.p.Dx {
		for k, side := range v.sides() {
			z[v.p.Dx+k] = math.Max(0, side.sign*pt.c[side.of])
		}
	}
	copy(s.Y(z), pt.y)
	copy(s.Lambda(z), pt.lambda)
	if e := v.p.X.Extended; e.Extra() > 0 {
		copy(z[s.Nx+s.Ny+s.M:], e.Least(pt.x)[v.p.Dx:])
	}
	return z
}
