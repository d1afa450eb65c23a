package pieces

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// curvature says how f curves along the critical directions at p, those of its branch that keep what has a multiplier at equality and do not leave what else holds; with one along which it curves down, in the relaxation's
// units, where one was found.
func (v *Solver) curvature(ctx context.Context, p *kkt.Point, sol *activeset.Solution) (kkt.SecondOrder, []float64) {
	h := v.scaledHessian(p.Z)
	if empty(h) {
		return kkt.Holds, nil
	}
	value, down := v.reducedLeast(ctx, h, p, sol, false)
	if value < 0 {
		if _, d := v.reducedLeast(ctx, h, p, sol, true); d != nil {
			return kkt.Fails, d
		}
		if d := v.downInCone(ctx, h, p, sol, down); d != nil {
			return kkt.Fails, d
		}
	}
	if ctx.Err() != nil || value < 0 { // whether a form has a negative value in a cone is NP-hard to tell (Murty and Kabadi 1987)
		return kkt.NotChecked, nil
	}
	return kkt.Holds, nil
}

// downInCone is a critical direction d with d'hd < 0 that projected gradient steps from a direction and its opposite lead to; nil where they lead to none, or not with the work of a fifth of a second.
func (v *Solver) downInCone(ctx context.Context, h *sparse.CSR, p *kkt.Point, sol *activeset.Solution, from []float64) []float64 {
	n, r, at := v.s.N, v.s.Relaxation, v.s.Scaled(p.Z)
	var b activeset.Bounds
	v.s.Bounds(&b, p.Branch)
	side := func(value, lo, hi, multiplier float64) (float64, float64) {
		below, above := math.Inf(-1), math.Inf(1)
		switch strong := math.Abs(multiplier) > tolerance.Sign; {
		case !atEnd(value, lo, hi):
		case strong || lo == hi:
			return 0, 0
		case value-lo <= hi-value:
			below = 0
		default:
			above = 0
		}
		return below, above
	}
	program := &activeset.Program{N: n, C: make([]float64, n), A: r.A, Q: sparse.Diagonal(slices.Repeat([]float64{1}, n))}
	for i := range b.RowLo {
		lo, hi := side(r.A.RowDot(i, at), b.RowLo[i], b.RowHi[i], sol.Row[i])
		program.RowLo, program.RowHi = append(program.RowLo, lo), append(program.RowHi, hi)
	}
	for j := range n {
		lo, hi := side(at[j], b.Lo[j], b.Hi[j], sol.Bound[j])
		program.Lo, program.Hi = append(program.Lo, lo), append(program.Hi, hi)
	}
	top, hd, begin := linalg.NormInf(h.Val), make([]float64, n), v.work
	for _, sign := range []float64{-1, 1} {
		for j := range from {
			program.C[j] = sign * from[j]
		}
		for last := math.Inf(1); v.work-begin < tolerance.Second/5; {
			found := activeset.Once(ctx, program)
			v.work += found.Work
			length := 0.0
			if found.Status == activeset.Optimal {
				length = linalg.Norm(found.Z)
			}
			if !(length > tolerance.Sign) {
				break
			}
			floats.Scale(1/length, found.Z)
			h.MulVec(hd, found.Z)
			value := linalg.Dot(found.Z, hd)
			if value < -tolerance.HalfDigits*top {
				return found.Z
			}
			if last-value <= tolerance.Slack*value {
				break
			}
			last = value
			for j, d := range found.Z {
				program.C[j] = hd[j]/top - d
			}
		}
	}
	return nil
}

// atEnd reports that a row or a variable is at one of its bounds.
func atEnd(value, lo, hi float64) bool {
	return lo == hi || math.Min(value-lo, hi-value) <= tolerance.Sign*(1+math.Abs(value))
}

// reducedLeast is the least eigenvalue of h, over its largest entry, along the null space of the constraints at p: all that hold with equality, or those with a
// multiplier. 0 stands for none that is negative beyond noise, too where ctx ends first.
func (v *Solver) reducedLeast(ctx context.Context, h *sparse.CSR, p *kkt.Point, sol *activeset.Solution, all bool) (float64, []float64) {
	s, r := v.s, v.s.Relaxation
	at := v.s.Scaled(p.Z)
	var b activeset.Bounds
	s.Bounds(&b, p.Branch)
	holds := func(value, lo, hi, multiplier float64) bool {
		return lo == hi || atEnd(value, lo, hi) && (all || math.Abs(multiplier) > tolerance.Sign)
	}
	q := v.normals(func(i int) bool { return holds(r.A.RowDot(i, at), b.RowLo[i], b.RowHi[i], sol.Row[i]) },
		func(j int) bool { return holds(at[j], b.Lo[j], b.Hi[j], sol.Bound[j]) })
	v.count(h, q)
	type least struct {
		value float64
		at    []float64
	}
	found, _ := await.Do(ctx, func() (least, error) { // takes seconds of systems of a thousand unknowns
		o, within := restricted(h, q, true)
		if within == nil {
			return least{}, nil
		}
		value, along := lowest(within, tolerance.SumRounding*linalg.NormInf(h.Val))
		if along == nil {
			return least{}, nil
		}
		d := make([]float64, s.N)
		o.AddScaled(d, 1, along)
		return least{value, d}, nil
	})
	return found.value, found.at
}

// lowest is the least eigenvalue of a, over its largest entry, with its direction, where it is negative beyond the noise of a's entries and of their differences.
func lowest(a *mat.SymDense, noise float64) (float64, []float64) {
	n, top := a.SymmetricDim(), 0.0
	for i := range n {
		top = math.Max(top, each.LargestBelow(i+1, func(j int) float64 { return math.Abs(a.At(i, j)) }))
	}
	if top == 0 {
		return 0, nil
	}
	values, vectors := linalg.Eigen(a)
	if values == nil || values[0] >= -math.Max(noise, tolerance.HalfDigits*top) {
		return 0, nil
	}
	return values[0] / top, mat.Col(nil, 0, vectors)
}

// project takes out of d what the normals of q span.
func project(q *linalg.QR, d []float64) {
	c := make([]float64, q.Size())
	q.Coordinates(c, d)
	q.AddScaled(d, -1, c)
}

// along is a point with a lower f than p along a direction or its opposite, as far as the branch goes; nil where f does not fall.
func (v *Solver) along(p *kkt.Point, d []float64) []float64 {
	at := v.s.Scaled(p.Z)
	var b activeset.Bounds
	v.s.Bounds(&b, p.Branch)
	slope := 0.0
	for j, g := range v.scaledGradient(p.Z) {
		slope += g * d[j]
	}
	if slope > 0 {
		floats.Scale(-1, d)
	}
	if moved := v.down(p, at, d, &b); moved != nil {
		return moved
	}
	floats.Scale(-1, d)
	return v.down(p, at, d, &b)
}

// down is along in one direction, from at, in the relaxation's units.
func (v *Solver) down(p *kkt.Point, at, d []float64, b *activeset.Bounds) []float64 {
	s, r := v.s, v.s.Relaxation
	room := v.size(p.Z)
	limit := func(value, rate, lo, hi float64) {
		switch {
		case rate > tolerance.Sign:
			room = math.Min(room, math.Max(0, hi-value)/rate)
		case rate < -tolerance.Sign:
			room = math.Min(room, math.Max(0, value-lo)/-rate)
		}
	}
	for i := range b.RowLo {
		limit(r.A.RowDot(i, at), r.A.RowDot(i, d), b.RowLo[i], b.RowHi[i])
	}
	for j := range d {
		limit(at[j], d[j], b.Lo[j], b.Hi[j])
	}
	moved, terms := make([]float64, s.N), v.terms(p.Z)
	for t := room; t > 0x1p-20*room; t /= 2 {
		for j := range moved {
			moved[j] = (at[j] + t*d[j]) * s.ColScale[j]
		}
		// A fall below what decides anything else is no way down: the next look would find as little again.
		if f := s.Value(moved); f < p.F-tolerance.Sign*terms {
			return moved
		}
	}
	return nil
}
