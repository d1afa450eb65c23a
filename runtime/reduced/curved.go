package reduced

import (
	"context"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
)

// Curved is a follower whose Hessian in y is the same everywhere, and whose linear term is any smooth function of x: g = 1/2 y'H y + q(x)'y. A system linearized at x has it to first order.
type Curved interface {
	// Force sets dst (len Ny) to q(x), and Slopes is its derivative (Ny x Nx).
	Force(dst, x []float64)
	Slopes(x []float64) (*sparse.CSR, error)
	// HessianProduct sets dst (len Nx) to the derivative of x -> q'(x)'a along d.
	HessianProduct(dst, x, a, d []float64)
}

// Path is the end of the path from x0 for a curved follower, of which sys is the linearization there: that of F itself, as the follower's answers on it are those of its own q at each point. It is x0 where there
// is no path, or F is no less at its end.
func Path(ctx context.Context, sys *kkt.System, x0 []float64, curve Curved, opts Options) ([]float64, error) {
	space, err := New(sys)
	if err != nil {
		return nil, err
	}
	s := space.solver(opts)
	x0 = append([]float64(nil), x0...)
	for i := range s.f.walls {
		if len(s.f.walls[i].combo) > 0 { // what dependent rows ask of x is not affine
			return x0, nil
		}
	}
	s.curve = curve
	p := s.newPiece()
	st, err := p.start(x0)
	if err != nil {
		return nil, err
	}
	if st.Phase != OnPath {
		return x0, nil
	}
	before := p.calc.value(p.point())
	for st.Phase == OnPath {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, err := p.step(ctx, st); err != nil {
			return nil, err
		}
		st.Iteration++
		if opts.Observe != nil {
			opts.Observe(Step{st.Phase, st.Iteration, st.F, st.Measure, 0, st.Work.Operations})
		}
	}
	if err := p.relinearize(st.W); err != nil {
		return nil, err
	}
	if !p.load(&State{W: st.W, Fixed: st.Fixed}) || !p.lower() || !(p.calc.value(p.point()) < before) {
		return x0, nil
	}
	return st.W[:sys.Nx], nil
}

// free is y and v without rows, at w.
func (s *solver) free(y, v, w []float64) {
	f := s.f
	if s.curve == nil {
		copy(y, f.y0)
		linalg.Gemv(y, 1, f.j, f.n, f.nw, false, w)
		copy(v, f.p0)
		linalg.Gemv(v, 1, f.r, f.m, f.nw, false, w)
		return
	}
	s.curve.Force(y, w[:f.sys.Nx])
	scale(y, -1)
	clear(v)
	f.addE(v, y)
	f.solveH(y)
	for r := range f.rows {
		v[r] -= f.rows[r].unit * f.sys.P.Rows.A.RowDot(f.rows[r].low, w[:f.sys.Nx])
	}
}

// relinearize makes the follower that of the linearization at w.
func (s *solver) relinearize(w []float64) error {
	if s.curve == nil {
		return nil
	}
	f := s.f
	g, err := s.curve.Slopes(w[:f.sys.Nx])
	if err != nil {
		return err
	}
	f.slopes(g)
	for r := range f.rows {
		scale(f.r[r*f.nw:(r+1)*f.nw], f.rows[r].unit)
	}
	s.free(f.y0, f.p0, w)
	linalg.Gemv(f.y0, -1, f.j, f.n, f.nw, false, w)
	linalg.Gemv(f.p0, -1, f.r, f.m, f.nw, false, w)
	return nil
}
