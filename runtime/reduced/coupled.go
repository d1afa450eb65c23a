package reduced

import (
	"context"
	"fmt"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// broken is by how much the worst of the leader's constraints that read the follower is broken at the point, against its terms; 0 where that is not beyond least.
func (p *piece) broken(least float64) float64 {
	worst := 0.0
	for i := range p.f.coupled {
		c := &p.f.coupled[i]
		off := -p.gap(c, p.w, p.y, p.lambda)
		if c.equal {
			off = math.Abs(off)
		}
		worst = math.Max(worst, off/math.Max(c.size(p), 1e-300))
	}
	if worst <= 1e3*least { // what Newton's method leaves of an equation
		return 0
	}
	return worst
}

func (c *coupledRow) size(p *piece) float64 {
	return math.Abs(c.rhs) + linalg.Norm(c.x)*linalg.Norm(p.w) + linalg.Norm(c.y)*linalg.Norm(p.y)
}

// feasible moves the point to one at which the leader's constraints that read the follower hold: a local minimizer, by the same three phases, of half the sum of squares by
// which they are broken.
func (p *piece) feasible(ctx context.Context) (err error) {
	defer must.Catch(&err)
	f := *p.f
	f.coupled = nil
	q := *p.p
	broken := &violation{rows: p.f.coupled, nx: p.f.sys.Nx, ny: p.f.n, duals: q.Duals, margin: p.margins()}
	q.Coupled, q.F = nil, problem.Joint(broken.valueGrad)
	q.Facts.DegreeF = 3
	s := &solver{f: &f, p: &q, calc: newCalculus(&q, f.nw), opts: Options{Tolerance: p.opts.Tolerance, Steps: tolerance.Steps, NoPath: p.opts.NoPath}}
	sub := s.newPiece()
	st := must.Get(sub.start(p.w[:f.sys.Nx]))
	for st.Phase != Done && st.Iteration < tolerance.Steps {
		end := must.Get(sub.step(ctx, st))
		if st.Iteration++; end != nil {
			break
		}
		if st.Phase == OnPieces && sub.load(st) {
			if sub.place(); p.takeOver(sub) {
				break
			}
		}
	}
	p.ops += s.ops
	p.factors += s.factors
	p.products += s.products
	p.crossings += s.crossings
	p.calc.calls += s.calc.calls
	if p.broken(tolerance.Feasibility) > 0 {
		return fmt.Errorf("%w: no point near the start keeps the constraints of the leader that read the follower", ErrInfeasible)
	}
	return nil
}

// takeOver takes the point of another piece over where the leader's constraints hold there.
func (p *piece) takeOver(q *piece) bool {
	copy(p.w, q.w)
	copy(p.fixed, q.fixed)
	copy(p.wallOn, q.wallOn)
	copy(p.side, q.side)
	copy(p.inK, q.inK)
	p.k = append(p.k[:0], q.k...)
	p.z.set(q.z.rows)
	p.place()
	return p.broken(tolerance.Feasibility) == 0
}

// margins are how far inside its side a constraint is to come: six digits less than its terms, far beyond rounding.
func (p *piece) margins() []float64 {
	out := make([]float64, len(p.f.coupled))
	for i := range out {
		if c := &p.f.coupled[i]; !c.equal {
			out[i] = rounding * c.size(p)
		}
	}
	return out
}

// violation is half the sum of squares by which constraints are broken.
type violation struct {
	rows   []coupledRow
	nx, ny int
	duals  []int
	margin []float64
}

// valueGrad is a problem.Joint.
func (v *violation) valueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	clear(dy)
	sum := 0.0
	for i := range v.rows {
		c := &v.rows[i]
		off := linalg.Dot(c.x[:v.nx], x) + linalg.Dot(c.y, y[:v.ny]) - c.rhs + v.margin[i]
		for k, r := range v.duals {
			off += c.l[r] * y[v.ny+k]
		}
		if off <= 0 && !c.equal {
			continue
		}
		sum += off * off / 2
		if dx != nil {
			linalg.Axpy(dx, off, c.x[:v.nx])
		}
		if dy != nil {
			linalg.Axpy(dy[:v.ny], off, c.y)
			for k, r := range v.duals {
				dy[v.ny+k] += off * c.l[r]
			}
		}
	}
	return sum
}
