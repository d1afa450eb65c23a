package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// ofLeader is what the multipliers of X make of its outer normals at the document's x: in x, and in its further variables.
func (v *verification) ofLeader(m *Multipliers) (inX, further []float64) {
	p := v.p
	sum := make([]float64, p.Dx+p.X.Extended.Extra())
	for i, t := range m.Extended {
		p.X.Extended.E.AddRow(sum, i, t)
	}
	for i, t := range m.Rows {
		p.X.E.AddRow(sum, i, t)
	}
	floats.Sub(sum[:p.Dx], m.Bound)
	for k, t := range m.Balls {
		offset, length := fromCenter(&p.X.Balls[k], v.doc.X)
		for j, u := range offset {
			sum[p.X.Balls[k].Start+j] += share(t*u, length)
		}
	}
	return sum[:p.Dx], sum[p.Dx:]
}

// multipliersLeave is what multipliers leave of grad f, relative to its terms, whatever their signs, and its error; false where that is not to be had.
func (v *verification) multipliersLeave(name string, m *Multipliers, at *pointOfSystem) (worst, errorBound float64, terms sizesOfF, ok bool) {
	p, x, y := v.p, v.doc.X, v.doc.Y
	gx, ga, terms := v.gradientOfSystem(m, at.length)
	// G'Adjoint and H Adjoint are derivatives of grad g along it.
	hx, hy, off, err := v.d.products(x, y, m.Adjoint)
	if err != nil {
		v.fail(name, "%v", err)
		return 0, 0, terms, false
	}
	inX, further := v.ofLeader(m)
	gx = moved(gx, 1, minus(inX, hx))
	floats.Sub(ga[:p.Dy], hy)
	// What the multipliers of rows carry to x and to y, as far as it counts (see gradientOfSystem): an f that reads multipliers alone has no terms in y of its own.
	carried, carriedY := 0.0, 0.0
	for i, t := range m.Slack {
		carried = math.Max(carried, math.Abs(t)*largest(p.Rows.A, i))
		carriedY = math.Max(carriedY, math.Abs(t)*largest(p.Rows.B, i))
	}
	carried = math.Min(carried, math.Max(terms.most, tolerance.Hiding*share(terms.sum, maxAbs(x))))
	carriedY = math.Min(carriedY, tolerance.Hiding*share(terms.sum, maxAbs(y)))
	p.Rows.A.AddMulVecT(gx, 1, m.Slack)
	p.Rows.B.AddMulVecT(ga[:p.Dy], -1, m.Slack)
	read := map[int]float64{} // grad_lambda f
	for k, i := range p.Duals {
		read[i] += ga[p.Dy+k]
	}
	// Entries of y and of lambda count in the units in which they move with x: per entry of grad f the largest term.
	worst = share(maxAbs(gx), math.Max(terms.x, carried))
	worst = math.Max(worst, share(maxAbs(further), terms.x))
	if terms.y == 0 { // f reads multipliers alone, and those of slacks may be all rounding: what they make of f as far as y reaches
		carriedY = math.Max(carriedY, share(terms.sum, v.length()))
	}
	inY := share(maxAbs(ga[:p.Dy]), math.Max(terms.y, carriedY))
	sizeX := terms.x
	if sizeX == 0 { // no term moves F with x, and the error is next to what G'Adjoint might have been
		sizeX = off.sizeX
	}
	errorBound = math.Max(share(off.x, sizeX), share(off.y, terms.y))
	errorBound = math.Max(errorBound, math.Max(share(terms.lostX, terms.x), share(terms.lostY, terms.y)))
	left, size := 0.0, 0.0
	for i, kind := range p.Rows.Kind {
		rest := read[i] + p.Rows.B.RowDot(i, m.Adjoint)
		size = math.Max(size, math.Abs(read[i]))
		size = math.Max(size, v.adjointOf(i, m, &terms))
		if at.push[i] > 0 { // an adjoint that is all rounding: what it makes of f as far as lambda reaches
			size = math.Max(size, terms.sum/at.push[i])
		}
		if kind == problem.Equal {
			left = math.Max(left, math.Abs(rest))
			if m.Multiplier[i] != 0 {
				v.fail(name, "the equality row %d has a multiplier of lambda >= 0", i)
			}
			continue
		}
		left = math.Max(left, math.Abs(rest-m.Multiplier[i]))
	}
	if inY > tolerance.Certified {
		if inY = math.Min(inY, v.byAdjoint(ga[:p.Dy], terms, size)); v.bySlacks(ga[:p.Dy], at, terms) <= tolerance.Eliminated {
			inY = 0
		}
	}
	return math.Max(math.Max(worst, share(left, size)), inY), errorBound, terms, true
}

// byAdjoint is what a residual r of the multipliers in y is by the terms of grad f in x and of the rows' part: another adjoint, by u = H^-1 r, leaves none in y, and G'u and B u more of
// those; H >= mu says what becomes of what the solution of that system leaves. Where f does not feel y, and the adjoint is rounding, r has no terms of its own to be compared with; then what the change of the rows' part
// makes of f as far as lambda reaches counts. It has no end where r makes more of f than rounding, as far as y itself reaches: an entry that neither x nor rows move would have any adjoint.
func (v *verification) byAdjoint(r []float64, terms sizesOfF, rows float64) float64 {
	p, x, y := v.p, v.doc.X, v.doc.Y
	mu, reach, steep := p.Facts.StrongConvexity, 0.0, maxAbs(v.d.s.normB)
	if !(mu > 0) || absolute(r, y) > tolerance.Certified*terms.sum {
		return math.Inf(1)
	}
	for k := range signings { // |G'd| for entries of d of size 1
		gx, _, _, err := v.d.products(x, y, turned(slices.Repeat([]float64{1}, p.Dy), k))
		if err != nil {
			return math.Inf(1)
		}
		reach = math.Max(reach, maxAbs(gx))
	}
	if steep > 0 {
		rows = math.Max(rows, share(terms.sum*steep, maxAbs(v.forces())))
	}
	u, inX, left := v.solved(r)
	step := norm(left) / mu
	return math.Max(share(maxAbs(inX)+reach*step, terms.x), share(steep*(norm(u)+step), rows))
}

// bySlacks is what a residual r of the multipliers in y is by the terms of grad f in x: other multipliers of the slacks of rows that read x and are held whatever their sign, by w with B'w = r, leave none in y,
// and A'w more in x. It has no end where no such w is. Rounding comes to y from x, by these rows, as far as elimination brings it: next to rows of y alone r would be nothing, whatever it is.
func (v *verification) bySlacks(r []float64, at *pointOfSystem, terms sizesOfF) float64 {
	rows := v.p.Rows
	w, rest := make([]float64, rows.Len()), slices.Clone(r)
	held := func(i int) bool {
		return (rows.Kind[i] == problem.Equal || at.mult[i] > tolerance.Parted) && largest(rows.A, i) > 0
	}
	least, size := tolerance.SumRounding*norm(r), maxAbs(rows.B.Val)
	sparse.LeastSquares(w, rest, 2*len(w), func(dst, w []float64) { // twice what it takes without rounding
		clear(dst)
		rows.B.AddMulVecT(dst, 1, w)
	}, func(dst, rest []float64) {
		clear(dst)
		for i := range dst {
			if held(i) {
				dst[i] = rows.B.RowDot(i, rest)
			}
		}
	}, func(_, now float64) bool { // the second: no w leaves less, but for rounding (Paige and Saunders 1982, section 6.3)
		left := norm(rest)
		return left <= least || math.Sqrt(now) <= tolerance.FewRoundings*size*left
	})
	if !(norm(rest) <= least) {
		return math.Inf(1)
	}
	inX := make([]float64, v.p.Dx)
	rows.A.AddMulVecT(inX, 1, w)
	return share(maxAbs(inX), terms.x)
}

// solved is u = H^-1 r, as far as factors of H go and products with H, which have no errors of their own, refine what they leave; G'u, and what is left of r.
func (v *verification) solved(r []float64) (u, inX, left []float64) {
	p, x, y := v.p, v.doc.X, v.doc.Y
	u, inX, left = make([]float64, p.Dy), make([]float64, p.Dx), r
	h, err := v.d.hessian(x, y)
	if err != nil {
		return u, inX, left
	}
	system, err := h.system(nil)
	if err != nil {
		return u, inX, left
	}
	for norm(left) > 0x1p-52*norm(r) {
		more, _, err := system.solve(left, nil)
		if err != nil || !isFinite(more) {
			return u, inX, left
		}
		gx, hy, _, err := v.d.products(x, y, more)
		if err != nil {
			return u, inX, left
		}
		rest := moved(left, -1, hy)
		if !(norm(rest) < norm(left)/2) {
			return u, inX, left
		}
		u, inX, left = moved(u, 1, more), moved(inX, 1, gx), rest
	}
	return u, inX, left
}
