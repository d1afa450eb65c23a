package certify

import (
	"fmt"
	"math"

	"bilevelc/runtime/problem"
)

// joint checks a joint certificate: signs, that rows with a negative multiplier hold y, that every row whose multiplier counts comes
// within delta of (x, y), that the normal is one of X, and the norm.
func (v *verification) joint(c *Joint) {
	const name = "certificate over both levels' rows"
	p := v.p
	if !(c.Delta >= 0) || math.IsInf(c.Delta, 1) {
		v.fail(name, "delta %v", c.Delta)
		return
	}
	if p.Coupled != nil || len(p.Duals) > 0 || len(p.X.Balls) > 0 || p.X.Extended != nil {
		v.fail(name, "constraints of the upper level that read y, its balls and multipliers that f reads take no part in it")
		return
	}
	unit := unitOfY(v.p)
	wrong, far, where := 0.0, 0.0, "every row"
	var every *needed
	h := make([]float64, p.Rows.Len())
	p.Rows.Residual(h, v.doc.X, v.at.y)
	gx, gy, terms := v.pulls(c)
	for i, nu := range c.Multipliers {
		if p.Rows.Kind[i] == problem.Equal || nu == 0 {
			continue
		}
		_, a := p.Rows.A.Row(i)
		_, b := p.Rows.B.Row(i)
		length := math.Hypot(norm(a), unit*norm(b))
		if -nu*length > v.tol.KKT*terms {
			if every == nil {
				every = v.needed(h, unit, c.Delta)
			}
			if !every.has(i) {
				wrong = math.Max(wrong, -nu*length)
			}
		}
		if away := -h[i] / orOne(length); away > far && nu*length > v.tol.KKT*terms {
			far, where = away, fmt.Sprintf("row %d", i)
		}
	}
	v.atMost(name+": multipliers are not negative but of rows that hold y whatever the multipliers", 0, wrong, v.tol.KKT*terms, "")
	v.atMost(name+": rows come within delta", c.Delta, far, v.tol.KKT*v.d.s.x, where)
	away := normalDistance(p, v.doc.X, v.at.y, c.Normal, c.Delta+v.tol.KKT*v.d.s.x, v.tol.KKT*terms)
	v.atMost(name+": distance of the normal from the normal cone", 0, away, v.tol.KKT*terms, "")
	v.equal(name+": norm", c.Norm, math.Hypot(norm(gx), unit*norm(gy)), v.tol.Value, terms)
}

// pulls is what the multipliers and the normal leave of grad f, and the size of its terms
// in the unit of x.
func (v *verification) pulls(c *Joint) (gx, gy []float64, terms float64) {
	p := v.p
	gx, gy = make([]float64, p.Dx), make([]float64, p.Dy)
	v.d.f.ValueGrad(gx, gy, v.doc.X, v.doc.Y)
	terms = math.Hypot(norm(gx), unitOfY(v.p)*norm(gy))
	for i, nu := range c.Multipliers {
		p.Rows.A.AddRow(gx, i, nu)
		p.Rows.B.AddRow(gy, i, -nu)
	}
	for j, n := range c.Normal {
		gx[j] += n
	}
	return gx, gy, math.Max(terms, v.d.s.gradient)
}

// needed says which rows hold y in every way to make up its forces.
type needed struct {
	v     *verification
	force []float64 // grad_y g at the derived y
	near  []int     // rows that come within the radius
}

func (v *verification) needed(h []float64, unit, delta float64) *needed {
	p := v.p
	n := &needed{v: v, force: make([]float64, p.Dy)}
	v.d.g.GradY(n.force, v.doc.X, v.at.y)
	for i, kind := range p.Rows.Kind {
		_, a := p.Rows.A.Row(i)
		_, b := p.Rows.B.Row(i)
		if kind == problem.Equal || -h[i] <= (delta+v.tol.KKT*v.d.s.x)*math.Hypot(norm(a), unit*norm(b)) {
			n.near = append(n.near, i)
		}
	}
	return n
}

// has reports that no forces of the other rows next to y make up grad_y g, by more than what
// it is known to: then, u being what they leave, B_j'u <= 0 for each of them and the
// multiplier of the row is at least u'grad_y g/B_i'u > 0, whatever the others are, at x and
// next to it. The row stays tight along every way that x takes, and counts as an equation.
func (n *needed) has(row int) bool {
	p := n.v.p
	cone := generators{size: p.Dy}
	for _, i := range n.near {
		if i == row {
			continue
		}
		b := make([]float64, p.Dy)
		p.Rows.B.AddRow(b, i, 1)
		cone.add(b)
		if p.Rows.Kind[i] == problem.Equal {
			cone.add(scaled(b, -1))
		}
	}
	return norm(cone.residual(n.force)) > n.v.tol.KKT*norm(n.force)
}
