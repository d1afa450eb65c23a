package certify

import (
	"fmt"
	"math"

	"bilevelc/runtime/problem"
)

// joint checks a joint certificate: signs, that every row whose multiplier counts comes
// within delta of (x, y), that the normal is one of X, and the norm.
func (v *verification) joint(c *Joint) {
	const name = "certificate over both levels' rows"
	p := v.p
	if !(c.Delta >= 0) || math.IsInf(c.Delta, 1) {
		v.fail(name, "delta %v", c.Delta)
		return
	}
	if p.Coupled != nil || len(p.Duals) > 0 || len(p.X.Balls) > 0 {
		v.fail(name, "constraints of the upper level that read y, its balls and multipliers that f reads take no part in it")
		return
	}
	unit := unitOfY(v.p)
	wrong, far, where := 0.0, 0.0, "every row"
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
		wrong = math.Max(wrong, -nu*length)
		if away := -h[i] / orOne(length); away > far && nu*length > v.tol.KKT*terms {
			far, where = away, fmt.Sprintf("row %d", i)
		}
	}
	v.atMost(name+": multipliers are not negative", 0, wrong, v.tol.KKT*terms, "")
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
