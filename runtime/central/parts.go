package central

import (
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// parts are those of the lower level which neither a row nor an entry of the Hessian joins
// to others. At an x each is a problem of its own: forces on one may be far larger than those
// on another, and steps of Newton's method are as long as a part's own rows let them be.
type parts struct {
	count int   // of parts with entries of y; rows without any are one more, the last
	of    []int // of each entry of y
	row   []int // of each row

	// Of each part at a point, len count+1:
	off    []float64 // the largest residual, relative to its terms
	terms  []float64 // of stationarity, the largest
	mean   []float64 // of s_i lambda_i/mu_i over its inequality rows; of start: of slacks
	bounds []float64 // the number of these rows
	target []float64 // the mu of a step
	length []float64 // the part of a step that is taken
	force  []float64 // of start: the largest entry of grad_y g
}

// divide finds the parts.
func (c *Path) divide() {
	classes := sparse.NewClasses(c.n)
	for i := range c.n {
		cols, _ := c.pattern.Row(i)
		for _, j := range cols {
			classes.Join(i, j)
		}
	}
	for i := 0; i < c.m; i++ {
		cols, _ := c.p.Rows.B.Row(i)
		for _, j := range cols {
			classes.Join(cols[0], j)
		}
	}
	d := &c.parts
	d.row = make([]int, c.m)
	d.of, d.count = classes.Number(c.n)
	for _, v := range []*[]float64{&d.off, &d.terms, &d.mean, &d.bounds, &d.target, &d.length, &d.force} {
		*v = make([]float64, d.count+1)
	}
	for i := range d.row {
		d.row[i] = d.count
		if cols, _ := c.p.Rows.B.Row(i); len(cols) > 0 {
			d.row[i] = d.of[cols[0]]
		}
		if c.p.Rows.Kind[i] != problem.Equal {
			d.bounds[d.row[i]]++
		}
	}
}

// aim sets the target of each part: mu, or a part of the mean s_i lambda_i while that is
// larger. It returns how far the farthest s_i lambda_i/mu_i is from 1, and whether all
// targets are mu.
func (c *Path) aim(mu float64) (central float64, arriving bool) {
	d := &c.parts
	clear(d.mean)
	for i, kind := range c.p.Rows.Kind {
		if kind != problem.Equal {
			v := c.s[i] * c.lambda[i] / c.barrier.row(i, mu)
			d.mean[d.row[i]] += v
			central = max(central, v-1, 1-v)
		}
	}
	arriving = true
	for p, n := range d.bounds {
		d.target[p] = mu
		if n > 0 && tolerance.MuShrink*d.mean[p] > n {
			d.target[p], arriving = mu*tolerance.MuShrink*d.mean[p]/n, false
		}
	}
	return central, arriving
}

// reach sets the length of the step (ds, dlambda) of each part, at most 1, that stays
// inside, and returns the least.
func (c *Path) reach() (least float64) {
	d := &c.parts
	for p := range d.length {
		d.length[p] = 1
	}
	for i, kind := range c.p.Rows.Kind {
		if kind == problem.Equal {
			continue
		}
		t := &d.length[d.row[i]]
		if c.ds[i] < 0 {
			*t = min(*t, -tolerance.ToBoundary*c.s[i]/c.ds[i])
		}
		if c.dlambda[i] < 0 {
			*t = min(*t, -tolerance.ToBoundary*c.lambda[i]/c.dlambda[i])
		}
	}
	least = 1
	for _, t := range d.length {
		least = min(least, t)
	}
	return least
}
