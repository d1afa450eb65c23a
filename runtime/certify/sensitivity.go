package certify

import (
	"errors"
	"slices"
)

// Sensitivities of the lower level's solution on a face, and gradients of F by them.

// sensitivity is the gradient in x of c'(y(x), -lambda(x)) on the face of at,
// where c = (cy, cv), cv in the order of at.active: with the adjoint p, q of the
// KKT system,
//
//	H p + B_I' q = cy,  B_I p = cv:  gradient = -(d/dy grad_x g) p + A_I' q,
//
// the derivative of grad_x g along p being a central difference, and H the curvature at the point itself.
func (d *deriver) sensitivity(at *derived, cy, cv []float64, adjoint func() (p, q []float64, err error)) ([]float64, error) {
	if grad := d.byAnswers(at, cy, cv); grad != nil {
		return grad, nil
	}
	if err := d.here(at); err != nil {
		return nil, err
	}
	p, q, err := adjoint()
	if err != nil {
		return nil, err
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

// here takes the curvature of g at the point itself for the system of its face, where that at hand is of a point near by.
func (d *deriver) here(at *derived) error {
	near := d.near
	if near == nil || !near.direct() || d.p.Facts.QuadraticInY && d.p.Facts.FixedHessian || slices.Equal(near.x, at.x) && slices.Equal(near.y, at.y) {
		return nil
	}
	h, err := d.curvature(at.x, at.y, true)
	if err != nil {
		return err
	}
	at.system, err = h.system(at.face)
	if err == nil && !slices.Equal(at.system.rows(), at.active) {
		err = errFace
	}
	return err
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
	fx, adjointGradient := gradXY(d.f, at.x, d.p.Signed(signs).Answer(at.y, at.lambda))
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
	if grad = moved(grad, 1, fx); !isFinite(grad) {
		return nil, errors.New("the gradient of F is not finite")
	}
	return grad, nil
}
