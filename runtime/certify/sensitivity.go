package certify

import (
	"errors"
	"math"
	"slices"
)

// Sensitivities of the lower level's solution on a face, and gradients of F by them.

// sensitivity is the gradient in x of c'(y(x), -lambda(x)) on the face of at,
// where c = (cy, cv), cv in the order of at.active: with the adjoint p, q of the
// KKT system,
//
//	H p + B_I' q = cy,  B_I p = cv:  gradient = -(d/dy grad_x g) p + A_I' q,
//
// the derivative of grad_x g along p being a central difference. Where g is not
// quadratic the adjoint is refined with products H p at the point itself, since
// the factorized curvature may be that of a point near by.
func (d *deriver) sensitivity(at *derived, cy, cv []float64, adjoint func() (p, q []float64, err error)) ([]float64, error) {
	if grad := d.byAnswers(at, cy, cv); grad != nil {
		return grad, nil
	}
	p, q, err := adjoint()
	if err != nil {
		return nil, err
	}
	if d.refines(at) {
		if p, q, err = d.refine(at, cy, cv, p, q); err != nil {
			return nil, err
		}
	}
	grad, _, _, err := d.products(at.x, at.y, p)
	if err != nil {
		return nil, err
	}
	grad = scaled(grad, -1)
	for k, i := range at.active {
		d.p.Rows.A.AddRow(grad, i, q[k])
	}
	return grad, nil
}

// refines reports that the curvature at hand is that of another point.
func (d *deriver) refines(at *derived) bool {
	return d.near != nil && d.near.direct() && !(d.p.Facts.QuadraticInY && d.p.Facts.FixedHessian) && !d.near.isAt(at)
}

// isAt reports that the curvature is that of the point itself.
func (h *hessian) isAt(at *derived) bool {
	return slices.Equal(h.x, at.x) && slices.Equal(h.y, at.y)
}

// refine improves an adjoint with the curvature at the point itself, until it changes by
// no more than its rounding: a share of it or, where rows leave it nothing and it is a
// difference of terms cy over the curvature, of those. A correction that is small but does
// not shrink may be a large error, where the factorized curvature is much too stiff: it is
// taken for rounding only where it is about that of a central difference.
func (d *deriver) refine(at *derived, cy, cv, p, q []float64) (_, _ []float64, err error) {
	here := &hessian{p: d.p, g: d.g, s: d.s, x: at.x, y: at.y, base: make([]float64, d.p.Dy)}
	d.g.GradY(here.base, at.x, at.y)
	image := make([]float64, d.p.Dy)
	nothing := 0x1p-52 * norm(cy) / d.near.largest() // at most the rounding of H^-1 cy
	last := math.Inf(1)
	for range 20 {
		here.mul(image, p)
		for j := range image {
			image[j] = cy[j] - image[j]
		}
		rest := make([]float64, len(cv))
		for k, i := range at.active {
			d.p.Rows.B.AddRow(image, i, -q[k])
			rest[k] = cv[k] - d.p.Rows.B.RowDot(i, p)
		}
		dp, dq, err := at.system.solve(image, rest)
		if err != nil {
			return nil, nil, err
		}
		size := norm(dp)
		if size > last/2 { // rounding of the differences is reached
			break
		}
		last = size
		for j := range p {
			p[j] += dp[j]
		}
		for k := range q {
			q[k] += dq[k]
		}
		if size <= math.Max(1e-12*norm(p), nothing) {
			break
		}
	}
	rounding := 100 * cubeRootEps * cubeRootEps * norm(p)
	if last > math.Max(rounding, nothing) { // the factorized curvature is too far from this one
		h, err := d.hessian(at.x, at.y)
		if err != nil {
			return nil, nil, err
		}
		d.near = h
		if at.system, err = h.system(at.face); err != nil {
			return nil, nil, err
		}
		return at.system.solve(cy, cv)
	}
	return p, q, nil
}

// gradient is the gradient of F on the face of at, with the penalty of the coupled
// constraints where the deriver has weights for them.
func (d *deriver) gradient(at *derived) ([]float64, error) {
	if d.coupling == nil {
		return d.gradientSigned(at, nil)
	}
	return d.gradientSigned(at, d.signed(at))
}

// gradientSigned is the gradient of F + signs'c on the face of at.
func (d *deriver) gradientSigned(at *derived, signs []float64) ([]float64, error) {
	fx, adjointGradient := make([]float64, d.p.Dx), make([]float64, d.p.AnswerLen())
	d.f.ValueGrad(fx, adjointGradient, at.x, d.p.Signed(signs).Answer(at.y, at.lambda))
	if !isFinite(fx) || !isFinite(adjointGradient) {
		return nil, errors.New("the gradient of F is not finite")
	}
	rows := make([]float64, len(at.active)) // of multipliers that f reads
	for k, i := range at.active {
		for t, j := range d.p.Duals {
			if i == j {
				rows[k] -= adjointGradient[d.p.Dy+t]
			}
		}
	}
	inY := adjointGradient[:d.p.Dy]
	grad, err := d.sensitivity(at, inY, rows, func() (p, q []float64, err error) { return at.system.solve(inY, rows) })
	if err != nil {
		return nil, err
	}
	for j := range grad {
		grad[j] += fx[j]
	}
	if !isFinite(grad) {
		return nil, errors.New("the gradient of F is not finite")
	}
	return grad, nil
}
