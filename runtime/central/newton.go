package central

import (
	"context"
	"errors"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// ErrOff says that no point of the path was found at an x: the rows may have no point
// inside there, or g is not finite.
var ErrOff = errors.New("central: the path was not found at this x")

// farOff are the residuals, relative to their terms, of a point that is no start: slacks near 0 would
// have to change sides, step by step.
const farOff = 1e-2

// At moves the point to that of the path at x and mu > 0, by a primal-dual
// interior-point method from where it is. Where that fails the point stays.
func (c *Path) At(ctx context.Context, x []float64, mu float64) error {
	if c.warm {
		c.kept.set(&c.primalDual)
	}
	err := c.from(ctx, x, mu)
	if err == nil {
		if c.warm = true; c.middle == nil {
			c.middle = append([]float64(nil), c.y...)
		}
	} else if c.warm {
		c.primalDual.set(&c.kept)
	}
	return err
}

// Return moves back to the x where the last At or Evaluate began, and to its point; false
// where that was none of the path.
func (c *Path) Return(x []float64) bool {
	if !c.warm {
		return false
	}
	c.primalDual.set(&c.kept)
	return c.barrier.set(x, c.mu) && (c.p.Facts.FixedHessian || c.measure(x)) && c.factor()
}

// from goes on from the point, or, where that is none of the path, from inside.
func (c *Path) from(ctx context.Context, x []float64, mu float64) error {
	c.mu = mu
	if !c.barrier.set(x, c.mu) {
		return ErrOff
	}
	if !c.warm {
		c.start(x)
	}
	if c.p.Facts.QuadraticInY && !c.p.Facts.FixedHessian {
		c.hessian = nil
	}
	full := 0
	// From a point of the path near by Newton's method takes three to six steps, from anywhere about twenty; many more show rows without an
	// inside.
	for pass := range 80 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		off := c.residuals(x)
		if math.IsNaN(off) || math.IsInf(off, 0) {
			return ErrOff
		}
		if pass == 0 && c.warm && off > farOff {
			c.start(x)
			off = c.residuals(x)
		}
		target, central := c.aim()
		if c.hessian == nil || !c.p.Facts.QuadraticInY {
			if !c.measure(x) {
				return ErrOff
			}
		}
		if !c.factor() {
			return ErrOff
		}
		// A point is on the path where residuals are at most 1e-9, relative to their
		// terms, and s_i lambda_i differ from mu by at most 1e-8, relative to it: as
		// Newton's method squares the latter, the step before was as good as 1e-4. Where
		// forces differ by ten digits and more rounding keeps it from that; 1e-3 will do
		// after 12 full steps.
		if off <= 1e-9 && (central <= 1e-8 || central <= 1e-3 && full > 12) {
			return nil
		}
		if target == c.barrier.now {
			full++
		}
		if !c.advance(x, target, off) {
			return ErrOff
		}
	}
	return ErrOff
}

// aim returns the s_i lambda_i of the next step, mu(x) or a part of their mean while that is larger, and how far the farthest of them, by mu(x), is from 1.
func (c *Path) aim() (target, central float64) {
	own, mean, count := c.barrier.now, 0.0, 0.0
	for i, kind := range c.p.Rows.Kind {
		if kind != problem.Equal {
			v := c.s[i] * c.lambda[i] / own
			mean += v
			count++
			central = max(central, v-1, 1-v)
		}
	}
	if mean *= tolerance.MuShrink; mean > count {
		return own * mean / count, central
	}
	return own, central
}

// start sets slacks and multipliers inside, about y, or about the first point
// found, which is far from all rows.
func (c *Path) start(x []float64) {
	least := 0.1 // of the mean slack: y may lie on rows
	if c.middle != nil {
		copy(c.y, c.middle)
		least = 1e-3
	}
	c.p.Rows.Residual(c.primal, x, c.y)
	mean, count := 0.0, 0.0
	for i, kind := range c.p.Rows.Kind {
		if kind != problem.Equal {
			mean += max(0, -c.primal[i])
			count++
		}
	}
	if mean /= count; !(mean > 0) {
		mean = 1
	}
	// Multipliers that balance the gradient: with smaller ones a step leads through
	// the rows.
	c.p.G.GradY(c.dual, x, c.y)
	force := linalg.NormInf(c.dual)
	for i, kind := range c.p.Rows.Kind {
		c.s[i], c.lambda[i] = 0, 0
		if kind != problem.Equal {
			c.s[i] = max(-c.primal[i], least*mean)
			c.lambda[i] = c.barrier.now / c.s[i]
			if _, vals := c.p.Rows.B.Row(i); len(vals) > 0 {
				c.lambda[i] = max(c.lambda[i], force/max(linalg.NormInf(vals), tolerance.Roundoff))
			}
		}
	}
}

// advance takes one Newton step towards s_i lambda_i = target.
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
			c.side[i] -= c.s[i] - target/c.lambda[i]
		}
		if j := c.bound[i]; j >= 0 {
			c.rhs[j] += c.coefficient[i] * c.weight[i] * c.side[i]
		}
	}
	for k, i := range c.general {
		c.rhs[c.n+k] = -c.side[i]
	}
	c.solve(tolerance.SolveAccuracy)
	dy := c.step[:c.n]
	for i, kind := range rows.Kind {
		if kind != problem.Equal {
			along := c.along(i, dy)
			c.ds[i], c.dlambda[i] = along-c.primal[i], c.weight[i]*(c.side[i]-along)
		}
	}
	for k, i := range c.general {
		if c.dlambda[i] = c.step[c.n+k]; rows.Kind[i] == problem.Equal {
			c.dlambda[i] = 0 // for now: it has no end
		}
	}
	length := linalg.ToBoundary(c.lambda, c.dlambda, tolerance.ToBoundary, linalg.ToBoundary(c.s, c.ds, tolerance.ToBoundary, 1))
	if !(length > 1e-8) { // below it no progress is made
		return false
	}
	for k, i := range c.general {
		c.dlambda[i] = c.step[c.n+k]
	}
	c.move(length)
	if c.p.Facts.QuadraticInY {
		return true
	}
	// The residuals of a quadratic fall with the step. Those of others need not:
	// shorter steps do.
	back := -length / 2
	for range 30 {
		now := c.residuals(x)
		if now <= max(2*off, 1e-6) {
			return true
		}
		c.move(back)
		back /= 2
	}
	return false
}

// move adds a part of the step.
func (c *Path) move(part float64) {
	linalg.Axpy(c.y, part, c.step[:c.n])
	linalg.Axpy(c.lambda, part, c.dlambda)
	linalg.Axpy(c.s, part, c.ds) // 0 on equality rows
}

// residuals sets those of stationarity and of the rows, and returns the largest,
// relative to its terms.
func (c *Path) residuals(x []float64) float64 {
	rows := c.p.Rows
	c.p.G.GradY(c.dual, x, c.y)
	sizes := c.probe
	for j, v := range c.dual {
		sizes[j] = math.Abs(v)
		if c.hessian != nil { // g's own terms cancel, too
			sizes[j] += math.Abs(c.curvature(j) * c.y[j])
		}
	}
	for i, l := range c.lambda {
		if j := c.bound[i]; j >= 0 {
			l *= c.coefficient[i]
			c.dual[j] -= l
			sizes[j] += math.Abs(l)
			continue
		}
		for j, v := range rows.B.Entries(i) {
			c.dual[j] -= v * l
			sizes[j] += math.Abs(v * l)
		}
	}
	off := linalg.NormInf(c.dual)
	if terms := linalg.NormInf(sizes); terms > 0 {
		off /= terms
	}
	return max(off, c.apart(x))
}

// apart sets the residuals of the rows and returns the largest, relative to its terms.
func (c *Path) apart(x []float64) float64 {
	rows, off := c.p.Rows, 0.0
	for i := range c.primal {
		v, size := c.s[i]-rows.Rhs[i], math.Abs(rows.Rhs[i])+c.s[i]
		if c.tied[i] {
			for j, a := range rows.A.Entries(i) {
				v += a * x[j]
				size += math.Abs(a * x[j])
			}
		}
		if j := c.bound[i]; j >= 0 {
			along := c.coefficient[i] * c.y[j]
			v -= along
			size += math.Abs(along)
		} else {
			for j, a := range rows.B.Entries(i) {
				v -= a * c.y[j]
				size += math.Abs(a * c.y[j])
			}
		}
		if math.Abs(v) <= 16*tolerance.Roundoff*size {
			v = 0 // next to a row it would be multiplied by lambda/s
		}
		if c.primal[i] = v; v != 0 {
			off = max(off, math.Abs(v)/size)
		}
	}
	return off
}
