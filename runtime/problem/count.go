package problem

import "fmt"

// Calls are the oracle calls of a run. An evaluation that gives a value and a
// gradient counts as one of each; the gradient in x, in y and in both is one.
type Calls struct {
	F     int64 `json:"f"`
	GradF int64 `json:"grad_f"`
	G     int64 `json:"g"`
	GradG int64 `json:"grad_g"`
}

// Add returns c + d.
func (c Calls) Add(d Calls) Calls {
	return Calls{c.F + d.F, c.GradF + d.GradF, c.G + d.G, c.GradG + d.GradG}
}

// Sub returns c - d: the calls since d was read.
func (c Calls) Sub(d Calls) Calls {
	return Calls{c.F - d.F, c.GradF - d.GradF, c.G - d.G, c.GradG - d.GradG}
}

// Total is the number of all calls.
func (c Calls) Total() int64 { return c.F + c.GradF + c.G + c.GradG }

// Text spells the calls.
func (c Calls) Text() string {
	return fmt.Sprintf("f %d, grad f %d, g %d, grad g %d", c.F, c.GradF, c.G, c.GradG)
}

// Counted is a Function that counts its calls. Its clones count apart, each
// without synchronization, and are part of the total of the one they were
// cloned from. Total is to be read while no clone runs.
type Counted struct {
	fn        Function
	values    int64
	gradients int64
	clones    []*Counted
}

// count wraps a function; a Counted is returned as it is.
func count(fn Function) *Counted {
	if c, ok := fn.(*Counted); ok {
		return c
	}
	return &Counted{fn: fn}
}

// Value counts one value.
func (c *Counted) Value(x, y []float64) float64 {
	c.values++
	return c.fn.Value(x, y)
}

// GradX counts one gradient.
func (c *Counted) GradX(dst, x, y []float64) {
	c.gradients++
	c.fn.GradX(dst, x, y)
}

// GradY counts one gradient.
func (c *Counted) GradY(dst, x, y []float64) {
	c.gradients++
	c.fn.GradY(dst, x, y)
}

// SlopeY counts one gradient.
func (c *Counted) SlopeY(direction, x, y []float64) (lo, hi float64, ok bool) {
	r, ok := c.fn.(Rounded)
	if !ok {
		return 0, 0, false
	}
	c.gradients++
	return r.SlopeY(direction, x, y)
}

// ValueGradY counts one value and one gradient.
func (c *Counted) ValueGradY(dst, x, y []float64) float64 {
	c.values++
	c.gradients++
	return c.fn.ValueGradY(dst, x, y)
}

// ValueGrad counts one value and one gradient.
func (c *Counted) ValueGrad(dstX, dstY, x, y []float64) float64 {
	c.values++
	c.gradients++
	return c.fn.ValueGrad(dstX, dstY, x, y)
}

// Clone returns an independent evaluator whose calls are part of the total of
// c. Like every use of c it must not run concurrently with another.
func (c *Counted) Clone() Function {
	d := &Counted{fn: c.fn.Clone()}
	c.clones = append(c.clones, d)
	return d
}

// total is the number of values and of gradients asked of c and its clones.
func (c *Counted) total() (values, gradients int64) {
	values, gradients = c.values, c.gradients
	for _, d := range c.clones {
		v, g := d.total()
		values += v
		gradients += g
	}
	return values, gradients
}

// Counted returns a copy of the problem whose f and g count their calls.
func (p *Problem) Counted() *Problem {
	q := *p
	q.F, q.G = count(p.F), count(p.G)
	return &q
}

// Calls reads the counters of a problem made by Counted; functions that do
// not count contribute nothing.
func (p *Problem) Calls() Calls {
	var c Calls
	if f, ok := p.F.(*Counted); ok {
		c.F, c.GradF = f.total()
	}
	if g, ok := p.G.(*Counted); ok {
		c.G, c.GradG = g.total()
	}
	return c
}

// Clone returns a copy of the problem with independent evaluators of f and g,
// for use from another goroutine; rows and X are shared and immutable.
func (p *Problem) Clone() *Problem {
	q := *p
	q.F, q.G = p.F.Clone(), p.G.Clone()
	return &q
}
