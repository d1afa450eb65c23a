package system

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/sequential"
)

// Measure is what the stationarity of a point of the KKT system measures.
const Measure = "what multipliers of the KKT system leave of grad f, by its terms"

// runCertificate makes the stable form of what shows that a point of the system is stationary.
type runCertificate struct {
	n      *problem.Problem
	s      *kkt.System
	smooth *sequential.Solver // nil where the system is linear
	point  *kkt.Point
}

// Certificate is the stable form of what shows that the best point is stationary, and the largest residual that its multipliers leave.
func (run *Run) Certificate() (c *certify.Certificate, residual float64) {
	c = (&runCertificate{n: run.n, s: run.System, smooth: run.Smooth, point: run.Best}).make(&residual)
	return c, residual
}

// make is the certificate; residual is set to the largest that its multipliers leave.
func (c *runCertificate) make(residual *float64) *certify.Certificate {
	out := &certify.Strong{Biactive: []int{}, Curvature: map[kkt.SecondOrder]string{kkt.Holds: "holds", kkt.Fails: "fails", kkt.NotChecked: "not checked"}[c.point.SecondOrder]}
	out.Biactive = append(out.Biactive, each.Of(c.point.Biactive, func(k int) int { return c.s.Pairs[k].Row })...)
	if m := c.point.Multipliers; m != nil {
		out.Multipliers = Multipliers(m, len(c.n.X.Balls))
		*residual = c.share(m)
	}
	for _, leaf := range c.point.Leaves {
		l := certify.StrongLeaf{Multipliers: Multipliers(leaf.Multipliers, len(c.n.X.Balls)), SlackZero: []int{}, MultiplierZero: []int{}}
		for _, k := range c.point.Biactive {
			switch leaf.Fix[k] {
			case kkt.SlackZero:
				l.SlackZero = append(l.SlackZero, c.s.Pairs[k].Row)
			case kkt.MultZero:
				l.MultiplierZero = append(l.MultiplierZero, c.s.Pairs[k].Row)
			}
		}
		out.Leaves = append(out.Leaves, l)
		*residual = math.Max(*residual, c.share(leaf.Multipliers))
	}
	out.Residual = *residual
	return &certify.Certificate{Strong: out}
}

func (c *runCertificate) share(m *kkt.Multipliers) float64 {
	r, size := c.s.Residual(m, c.point.Z)
	if c.smooth != nil {
		s := c.s
		gx, hy, errors, err := c.smooth.Products(s.X(c.point.Z), s.Y(c.point.Z), m.Adjoint)
		if err != nil {
			return math.Inf(1)
		}
		r, size = s.ResidualWith(m, c.point.Z, gx, hy, errors)
	}
	if r == 0 {
		return 0
	}
	return r / size
}

// Multipliers are multipliers in their stable form. Those of X's balls come behind those of the coupled constraints (package sequential).
func Multipliers(m *kkt.Multipliers, balls int) certify.Multipliers {
	coupled := len(m.Coupled) - balls
	return certify.Multipliers{Balls: unsigned(m.Coupled[coupled:]), Adjoint: unsigned(m.Adjoint), Slack: unsigned(m.Slack), Multiplier: unsigned(m.Lambda), Bound: unsigned(m.Bound),
		Rows: unsigned(m.UpperRows), Extended: unsigned(m.Extended), Coupled: unsigned(m.Coupled[:coupled])}
}

// unsigned is a copy with 0 in the place of -0, which not every reader of JSON keeps.
func unsigned(v []float64) []float64 {
	if v == nil {
		return nil
	}
	return each.Of(v, func(t float64) float64 { return t + 0 })
}

// Ray is the stable form of a ray of a problem, on its system or one linearized.
func Ray(p *problem.Problem, s *kkt.System, ray []float64) *certify.Ray {
	out := &certify.Ray{X: unsigned(s.X(ray)), Y: unsigned(s.Y(ray)), Multipliers: unsigned(s.Lambda(ray))}
	if p.Facts.DegreeF > 2 {
		out.Steps = math.Ilogb(math.MaxFloat64) - math.Ilogb(math.SmallestNonzeroFloat64) // all that numbers have
	}
	return out
}
