package certify

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// goldstein checks a Goldstein certificate: points, gradients, weights,
// normal vector and norm.
func (v *verification) goldstein(c *Goldstein) {
	if len(c.Samples) == 0 || !(c.Delta >= 0) || math.IsInf(c.Delta, 1) {
		v.fail("Goldstein certificate", "%d samples, delta %v", len(c.Samples), c.Delta)
		return
	}
	if !(c.GradientError >= 0) || math.IsInf(c.GradientError, 1) {
		v.fail("Goldstein certificate", "its claimed error of gradients is %v", c.GradientError)
		return
	}
	sum, size, total := 0.0, math.Max(v.d.s.local, c.Size()), 0.0
	worst, detail := 0.0, "no sample is off"
	if !v.penalized() {
		return
	}
	defer func() { v.d.coupling = nil }()
	var multipliers []float64
	for k, s := range c.Samples {
		name := fmt.Sprintf("sample %d", k)
		v.atMost(name+" is within delta", c.Delta, distance(s.Point, v.doc.X), tolerance.SolveAccuracy*v.d.s.x, "")
		v.Check(name+" has a weight of at least 0", s.Weight >= 0, "")
		sum += s.Weight
		if !v.upperSet(name, s.Point) {
			continue
		}
		hints := [][]int{v.at.face}
		rows, positive := v.split(s.Active)
		if s.Active != nil {
			hints = [][]int{rows}
		}
		if v.d.coupling != nil {
			v.d.coupling.positive = positive
		}
		enough := c.GradientError + gradientTolerance*math.Max(size, norm(s.Gradient))
		at, found, err := v.d.gradientNear(s.Point, v.at.y, hints, s.Gradient, enough, v.radius())
		if err != nil {
			v.fail(name+": gradient", "could not be derived again: %v", err)
			continue
		}
		if s.Active != nil {
			v.face(name, rows, at)
		}
		if v.d.coupling != nil {
			if multipliers == nil {
				multipliers = make([]float64, len(v.d.coupling.weight))
			}
			floats.AddScaled(multipliers, s.Weight, v.d.signed(at))
		}
		off := s.Weight * v.d.apart(s.Gradient, found)
		total += off
		if off > worst {
			worst = off
			detail = fmt.Sprintf("sample %d the worst: %.3g times the weight %.3g", k, off/s.Weight, s.Weight)
		}
	}
	if c.GradientError > size {
		v.fail("error of the gradients", "claimed as %.3g, more than the gradients, %.3g", c.GradientError, size)
	}
	v.atMost("error of the gradients, weighted", c.GradientError, total, gradientTolerance*size, detail)
	v.equal("sum of the weights", 1, sum, 1)
	if multipliers != nil {
		v.multipliers(multipliers)
	}
	if c.Normal != nil {
		enough := tolerance.Target * math.Max(norm(c.Normal), size)
		away := normalDistance(v.p, v.doc.X, v.at.y, c.Normal, c.Delta+tolerance.Target*v.d.s.x, enough)
		v.atMost("normal vector: distance from the normal cone", 0, away, enough, "")
	}
	v.equal("norm of the combination", c.Norm, norm(c.combination()), size)
	v.equal("epsilon", c.Epsilon, c.Norm+c.GradientError, size)
}

// face checks the rows that a sample names as those its gradient was taken on:
// the derived face, up to rows that are weakly active there or depend on others.
func (v *verification) face(name string, claimed []int, at *derived) {
	held, undecided := set(at.active), set(v.d.weak(at))
	for _, i := range claimed {
		if cols, _ := v.p.Rows.B.Row(i); !held[i] && !undecided[i] && len(cols) > 0 && v.p.Rows.Kind[i] == problem.AtMost {
			v.fail(name+": active rows", "row %d does not hold with equality", i)
			return
		}
		delete(held, i)
	}
	for i := range held {
		if !undecided[i] {
			v.fail(name+": active rows", "row %d holds y and is not among them", i)
			return
		}
	}
}

// gradientMapping checks the gradient, that the projected point is the
// projection (it is in X and D, and what was cut off is normal to them there),
// and the norm.
func (v *verification) gradientMapping(c *GradientMapping) {
	if !(c.Smoothness > 0) || math.IsInf(c.Smoothness, 1) {
		v.fail("gradient mapping", "its smoothness is %v", c.Smoothness)
		return
	}
	v.gradient("gradient mapping: gradient", c.Gradient, c.GradientError, v.doc.X, v.hints())
	step := scaled(minus(v.doc.X, c.Projected), c.Smoothness)
	normal := minus(step, c.Gradient)
	size := math.Max(norm(c.Gradient), v.d.s.local)
	v.equal("norm of the gradient mapping", c.Norm, norm(step), size)
	if !v.upperSet("the projected point", c.Projected) {
		return
	}
	at, err := v.d.lower(c.Projected, v.at.y, v.at.face)
	if err != nil {
		v.fail("the projected point has a feasible y", "not found: %v", err)
		return
	}
	// The projection is known to rounding of x, which the step magnifies by L.
	enough := tolerance.Target*size + c.Smoothness*0x1p-50*math.Max(norm(v.doc.X), v.d.s.x)
	away := normalDistance(v.p, c.Projected, at.y, normal, tolerance.Target*v.d.s.x, enough)
	v.atMost("what the projection cut off is normal", 0, away, enough, "")
}

// Size is that of the terms of the combination, sum w_i |G_i|. A steep sample counts by its weight: one in the ramp of a
// tie, with a gradient as large as its weight is small, says nothing of how F falls elsewhere within delta.
func (c *Goldstein) Size() float64 {
	return c.sum(func(s Sample) float64 { return 1 })
}

// sum is that of w_i |G_i| by_i.
func (c *Goldstein) sum(by func(s Sample) float64) (sum float64) {
	for _, s := range c.Samples {
		sum += math.Abs(s.Weight) * norm(s.Gradient) * by(s)
	}
	return sum
}

// combination is sum w_i G_i + n.
func (c *Goldstein) combination() []float64 {
	sum := c.Normal
	for _, s := range c.Samples {
		if sum == nil {
			sum = make([]float64, len(s.Gradient))
		}
		sum = moved(sum, s.Weight, s.Gradient)
	}
	return sum
}
