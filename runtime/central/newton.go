package central

import (
	"context"
	"errors"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// ErrOff says that no point of the path was found at an x: the rows may have no point
// inside there, or g is not finite.
var ErrOff = errors.New("central: the path was not found at this x")

// Limits of one evaluation. From a point of the path near by Newton's method takes
// three to six steps, from anywhere about twenty; many more show rows without an
// inside.
const (
	mostSteps = 80
	toEdge    = 0.99 // of the way to s = 0 or lambda = 0 that a step may go
	shrink    = 0.1  // of s'lambda in one step, while it is larger than the mu_i
	leastStep = 1e-8 // below it no progress is made
	// A point is on the path where residuals are at most feasibility, relative to their
	// terms, and s_i lambda_i differ from mu_i by at most nearly, relative to it: as
	// Newton's method squares the latter, the step before was as good as 1e-4. Where
	// forces differ by ten digits and more rounding keeps it from that; roughly will do
	// after fullSteps steps.
	feasibility = 1e-9
	nearly      = 1e-8
	roughly     = 1e-3
	fullSteps   = 12
	// A point whose residuals are larger than farOff is no start: slacks near 0 would
	// have to change sides, step by step.
	farOff = 1e-2
	// The largest entry of what a solution of the KKT system may leave of its right-hand
	// side, relative to that, in units in which the matrix has entries of about 1.
	accurate = 1e-10
)

// regular are what may stand for an equality row on the diagonal of the KKT matrix, next to
// entries of about 1. The larger, the less its elimination rounds, in any order; where y is
// held from all sides, however, the row's own pivot is as small as the last of them, and
// refinement cannot make up for one that is larger.
var regular = [...]float64{1e-8, 1e-11, 1e-14, 1e-16}

// At moves the point to that of the path at x and mu > 0, by a primal-dual
// interior-point method from where it is. Where that fails the point stays.
func (c *Path) At(ctx context.Context, x []float64, mu float64) error {
	if c.warm {
		copy(c.kept.y, c.y)
		copy(c.kept.s, c.s)
		copy(c.kept.lambda, c.lambda)
	}
	err := c.from(ctx, x, mu)
	if err == nil {
		if c.warm = true; c.middle == nil {
			c.middle = append([]float64(nil), c.y...)
		}
	} else if c.warm {
		copy(c.y, c.kept.y)
		copy(c.s, c.kept.s)
		copy(c.lambda, c.kept.lambda)
	}
	return err
}

// Return moves back to the x where the last At or Evaluate began, and to its point; false
// where that was none of the path.
func (c *Path) Return(x []float64) bool {
	if !c.warm {
		return false
	}
	copy(c.y, c.kept.y)
	copy(c.s, c.kept.s)
	copy(c.lambda, c.kept.lambda)
	return c.barrier.set(x) && (c.p.Facts.FixedHessian || c.measure(x)) && c.factor()
}

// from goes on from the point, or, where that is none of the path, from inside.
func (c *Path) from(ctx context.Context, x []float64, mu float64) error {
	if !c.warm {
		c.start(x, mu)
	}
	c.mu = mu
	if !c.barrier.set(x) {
		return ErrOff
	}
	if c.p.Facts.QuadraticInY && !c.p.Facts.FixedHessian {
		c.hessian = nil
	}
	if c.condensed != nil {
		c.follow(x, mu)
	}
	full := 0
	for pass := range mostSteps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		off := c.residuals(x)
		if math.IsNaN(off) || math.IsInf(off, 0) {
			return ErrOff
		}
		if pass == 0 && c.warm && off > farOff {
			c.start(x, mu)
			off = c.residuals(x)
		}
		mean, central := c.complementarity(mu)
		if c.hessian == nil || !c.p.Facts.QuadraticInY {
			if !c.measure(x) {
				return ErrOff
			}
		}
		if !c.factor() {
			return ErrOff
		}
		if off <= feasibility && (central <= nearly || central <= roughly && full > fullSteps) {
			return nil
		}
		target := mu * math.Max(1, shrink*mean)
		if target == mu {
			full++
		}
		if !c.advance(x, target, off) {
			return ErrOff
		}
	}
	return ErrOff
}

// start sets slacks and multipliers inside, about y, or about the first point found,
// which is far from all rows.
func (c *Path) start(x []float64, mu float64) {
	least := 0.1 // of the mean slack: y may lie on rows
	if c.middle != nil {
		copy(c.y, c.middle)
		least = 1e-3
	}
	c.p.Rows.Residual(c.primal, x, c.y)
	mean, count := 0.0, 0.0
	for i, kind := range c.p.Rows.Kind {
		if kind != problem.Equal {
			mean += math.Max(0, -c.primal[i])
			count++
		}
	}
	if mean /= count; mean == 0 {
		mean = 1
	}
	// Multipliers that balance the gradient: with smaller ones a step leads through
	// the rows.
	c.p.G.GradY(c.dual, x, c.y)
	clear(c.force)
	for j, v := range c.dual {
		c.force[c.part[j]] = math.Max(c.force[c.part[j]], math.Abs(v))
	}
	for i, kind := range c.p.Rows.Kind {
		c.s[i], c.lambda[i] = 0, 0
		if kind != problem.Equal {
			c.s[i] = math.Max(-c.primal[i], least*mean)
			c.lambda[i] = c.barrier.row(i, mu) / c.s[i]
			if cols, vals := c.p.Rows.B.Row(i); len(cols) > 0 {
				c.lambda[i] = math.Max(c.lambda[i], c.force[c.part[cols[0]]]/math.Max(linalg.NormInf(vals), unit))
			}
		}
	}
}

// residuals sets those of stationarity and of the rows, and returns the largest,
// relative to its terms.
func (c *Path) residuals(x []float64) float64 {
	rows := c.p.Rows
	c.p.G.GradY(c.dual, x, c.y)
	for j, v := range c.dual {
		c.pull[j] = math.Abs(v)
	}
	for i, l := range c.lambda {
		cols, vals := rows.B.Row(i)
		for t, j := range cols {
			c.dual[j] -= vals[t] * l
			c.pull[j] += math.Abs(vals[t] * l)
		}
	}
	off := 0.0
	if terms := linalg.NormInf(c.pull); terms > 0 {
		off = linalg.NormInf(c.dual) / terms
	}
	return math.Max(off, c.apart(x))
}

// apart sets the residuals of the rows and returns the largest, relative to its terms.
func (c *Path) apart(x []float64) float64 {
	rows, off := c.p.Rows, 0.0
	for i := range c.primal {
		v, size := c.s[i]-rows.Rhs[i], math.Abs(rows.Rhs[i])+c.s[i]
		cols, vals := rows.A.Row(i)
		for t, j := range cols {
			v += vals[t] * x[j]
			size += math.Abs(vals[t] * x[j])
		}
		cols, vals = rows.B.Row(i)
		for t, j := range cols {
			v -= vals[t] * c.y[j]
			size += math.Abs(vals[t] * c.y[j])
		}
		if c.primal[i] = v; math.Abs(v) <= 16*unit*size {
			c.primal[i] = 0 // next to a row it would be multiplied by lambda/s
		}
		if size > 0 {
			off = math.Max(off, math.Abs(c.primal[i])/size)
		}
	}
	return off
}

// complementarity is the mean of s_i lambda_i/mu_i, and how far the farthest is from 1.
func (c *Path) complementarity(mu float64) (mean, off float64) {
	count := 0.0
	for i, kind := range c.p.Rows.Kind {
		if kind != problem.Equal {
			v := c.s[i] * c.lambda[i] / c.barrier.row(i, mu)
			mean += v
			count++
			off = math.Max(off, math.Abs(v-1))
		}
	}
	return mean / count, off
}

// factor factorizes the KKT matrix
//
//	[ H + sum over bounds (lambda/s) B_i'B_i   -B' ]
//	[ -B                                 -S/Lambda ]
//
// at the point, without s_i/lambda_i for equality rows. What is put in its place there,
// far below the other entries, makes the matrix quasi-definite; refinement undoes it.
func (c *Path) factor() bool {
	rows := c.p.Rows
	if z := c.condensed; z != nil {
		for i, kind := range rows.Kind {
			z.own[i] = 0
			if kind != problem.Equal {
				z.own[i] = c.s[i] / c.lambda[i]
			}
			c.unit[c.n+i] = 1 / math.Sqrt(math.Max(z.length[i]+z.own[i], 0x1p-900))
		}
		return z.factor()
	}
	for k, t := range c.lower {
		c.kkt[k] = c.hessian[t]
	}
	for i, j := range c.bound {
		if j < 0 {
			continue
		}
		c.kkt[c.onDiag[j]] += c.lambda[i] / c.s[i] * c.coefficient[i] * c.coefficient[i]
	}
	// Entries of y, whose curvatures may differ by twenty digits, and rows in units in
	// which their pivots are about 1.
	for j, k := range c.onDiag {
		c.unit[j] = 1 / math.Sqrt(c.kkt[k])
	}
	k := 0
	for i := 0; i < c.n; i++ {
		for ; k < len(c.lower) && c.lower[k] < c.pattern.Ptr[i+1]; k++ {
			c.kkt[k] *= c.unit[i] * c.unit[c.pattern.Col[c.lower[k]]]
		}
	}
	at := len(c.lower)
	diagonal := at + c.entries
	for k, i := range c.general {
		cols, vals := rows.B.Row(i)
		size, own := 0.0, 0.0
		for t, j := range cols {
			c.kkt[at+t] = -vals[t] * c.unit[j]
			size += c.kkt[at+t] * c.kkt[at+t]
		}
		if rows.Kind[i] != problem.Equal {
			own = c.s[i] / c.lambda[i]
		}
		u := 1 / math.Sqrt(math.Max(size+own, 0x1p-900))
		for t := range cols {
			c.kkt[at+t] *= u
		}
		at += len(cols)
		c.unit[c.n+k] = u
		c.kkt[diagonal+k] = -math.Max(own*u*u, regular[c.level])
	}
	return c.ldl.Factor(c.kkt, regular[c.level]/8)
}

// solve solves the KKT system for c.rhs into c.step to what its last digits allow.
func (c *Path) solve() { c.solveTo(unit) }

// solveTo is solve until a part of the right-hand side is left: with the factors of another
// level of regular where those at hand are not accurate.
func (c *Path) solveTo(part float64) {
	for i, j := range c.bound {
		if j >= 0 {
			c.press[i] = c.lambda[i] / c.s[i] * c.coefficient[i] * c.coefficient[i]
		}
	}
	for i, u := range c.unit {
		c.rhs[i] *= u
	}
	right := linalg.NormInf(c.rhs)
	if z := c.condensed; z != nil {
		z.solve(c.step, c.rhs)
		linalg.Refine(c.step, z.solve, c.remaining, 5, part*right)
	} else {
		c.solveLevels(right, part)
	}
	for i, u := range c.unit {
		c.step[i] *= u
	}
}

// solveLevels solves in the units of the factors, with those of the first level of regular
// that is accurate.
func (c *Path) solveLevels(right, part float64) {
	best, kept := math.Inf(1), c.level
	for range regular {
		c.ldl.Solve(c.step, c.rhs)
		left := c.ldl.Refine(c.step, c.remaining, 5, part*right)
		if left < best {
			best, kept = left, c.level
			copy(c.solution, c.step)
		}
		if left <= accurate*right || len(c.general) == 0 {
			break
		}
		c.level = (c.level + 1) % len(regular)
		if !c.factor() {
			break
		}
	}
	c.level = kept
	copy(c.step, c.solution)
}

// remaining sets r to what a solution in the units of the factors leaves of the
// right-hand side.
func (c *Path) remaining(r, scaled []float64) {
	copy(r, c.rhs)
	v := c.scratch
	for i, u := range c.unit {
		v[i] = scaled[i] * u
	}
	for i := 0; i < c.n; i++ {
		sum := 0.0
		if c.condensed != nil {
			r[i] -= linalg.Dot(c.hessian[i*c.n:(i+1)*c.n], v) * c.unit[i]
			continue
		}
		for t := c.pattern.Ptr[i]; t < c.pattern.Ptr[i+1]; t++ {
			sum += c.hessian[t] * v[c.pattern.Col[t]]
		}
		r[i] -= sum * c.unit[i]
	}
	rows := c.p.Rows
	for i, j := range c.bound {
		if j >= 0 {
			r[j] -= c.press[i] * v[j] * c.unit[j]
		}
	}
	for k, i := range c.general {
		cols, vals := rows.B.Row(i)
		own, sum := v[c.n+k], 0.0
		for t, j := range cols {
			r[j] += vals[t] * own * c.unit[j]
			sum += vals[t] * v[j]
		}
		if rows.Kind[i] != problem.Equal {
			sum += c.s[i] / c.lambda[i] * own
		}
		r[c.n+k] += sum * c.unit[c.n+k]
	}
}

// advance takes one Newton step towards the s_i lambda_i of a mu.
func (c *Path) advance(x []float64, target, off float64) bool {
	rows := c.p.Rows
	clear(c.rhs)
	for j, v := range c.dual {
		c.rhs[j] = -v
	}
	// side is what eliminating s leaves of the residual of row i.
	for i, kind := range rows.Kind {
		c.side[i] = c.primal[i]
		if kind != problem.Equal {
			c.side[i] -= (c.s[i]*c.lambda[i] - c.barrier.row(i, target)) / c.lambda[i]
		}
		if j := c.bound[i]; j >= 0 {
			c.rhs[j] += c.coefficient[i] * c.lambda[i] / c.s[i] * c.side[i]
		}
	}
	for k, i := range c.general {
		c.rhs[c.n+k] = -c.side[i]
	}
	c.solve()
	dy := c.step[:c.n]
	for i, kind := range rows.Kind {
		c.dlambda[i] = 0
		if c.bound[i] >= 0 {
			c.dlambda[i] = c.lambda[i] / c.s[i] * (c.side[i] - c.along(i, dy))
		}
		if kind != problem.Equal {
			c.ds[i] = c.along(i, dy) - c.primal[i]
		}
	}
	for k, i := range c.general {
		c.dlambda[i] = c.step[c.n+k]
	}
	t := c.stepLength()
	if !(t > leastStep) {
		return false
	}
	c.move(t)
	if c.p.Facts.QuadraticInY {
		return true
	}
	// The residuals of a quadratic fall with the step. Those of others need not:
	// shorter steps do.
	for range 30 {
		now := c.residuals(x)
		if now <= math.Max(2*off, 1e-6) {
			return true
		}
		c.move(-t / 2)
		t /= 2
	}
	return false
}

// stepLength is the part of the step (ds, dlambda), at most 1, that stays inside.
func (c *Path) stepLength() float64 {
	t := 1.0
	for i, kind := range c.p.Rows.Kind {
		if kind == problem.Equal {
			continue
		}
		if c.ds[i] < 0 {
			t = math.Min(t, -toEdge*c.s[i]/c.ds[i])
		}
		if c.dlambda[i] < 0 {
			t = math.Min(t, -toEdge*c.lambda[i]/c.dlambda[i])
		}
	}
	return t
}

func (c *Path) move(t float64) {
	for j, d := range c.step[:c.n] {
		c.y[j] += t * d
	}
	for i, kind := range c.p.Rows.Kind {
		c.lambda[i] += t * c.dlambda[i]
		if kind != problem.Equal {
			c.s[i] += t * c.ds[i]
		}
	}
}
