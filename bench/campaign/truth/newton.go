package truth

import (
	"math"
	"math/big"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/exact"
)

// newton minimizes G at x by Newton steps, each the minimizer of the quadratic
// model under all rows. G is strongly convex, so that it does not matter where it starts:
// at the last solution, or where that leads nowhere inside the rows.
func (e *Evaluator) newton(x []float64) (*Point, bool) {
	if e.last != nil && e.inDomain(x, e.last) {
		if p, ok := e.newtonFrom(x, e.last); ok {
			return p, true
		}
	}
	y, ok := e.interior(x)
	if !ok {
		return &Point{X: x, Violation: math.Inf(1)}, e.Infeasibility(x) > 1e3*tiny
	}
	return e.newtonFrom(x, y)
}

// inDomain tells whether the argument of every entropy is positive.
func (e *Evaluator) inDomain(x, y []float64) bool {
	for i := range e.g.terms {
		if t := &e.g.terms[i]; t.Kind == Entropy && !(t.argument(x, y) > 0) {
			return false
		}
	}
	return true
}

func (e *Evaluator) newtonFrom(x, y []float64) (*Point, bool) {
	before := math.Inf(1)
	for range 200 {
		f, next := e.step(x, y)
		if f == nil {
			return nil, false
		}
		e.remember(f.rows)
		direction, slope := make([]float64, len(y)), 0.0
		_, gy := e.g.gradient(x, y)
		for j := range y {
			direction[j] = next[j] - y[j]
			slope += gy[j] * direction[j]
		}
		size := 0.0
		for j := range y {
			size = math.Max(size, math.Abs(direction[j])/(1+math.Abs(y[j])))
		}
		// Beside its end an entropy curves so much that steps are short far from any minimizer.
		for i := range e.g.terms {
			if term := &e.g.terms[i]; term.Kind == Entropy {
				size = math.Max(size, 1e-4*math.Abs(dot(term.C, direction))/term.argument(x, y))
			}
		}
		// Steps of Newton's method that are small and do not halve are the rounding of the rows' terms.
		if size < 1e-13 || size < 1e-10 && (slope >= 0 || size > before/2) {
			e.last = next
			return e.point(f, x), true
		}
		before = size
		value, t := e.g.value(x, y), e.toDomain(x, y, direction)
		if t == 1 && e.violation(x, y) > tiny { // what G is worth outside the rows says nothing; all of the step leads into them
			y = next
			continue
		}
		trial := make([]float64, len(y))
		for {
			for j := range y {
				trial[j] = y[j] + t*direction[j]
			}
			v := e.g.value(x, trial)
			if v <= value+1e-4*t*slope+1e-15*math.Abs(value) && !math.IsInf(v, 0) {
				break
			}
			if t /= 2; t < 1e-12 {
				if size < 1e-9 {
					e.last = next
					return e.point(f, x), true
				}
				return nil, false
			}
		}
		y = trial
	}
	return nil, false
}

// toDomain is the greatest step up to 1 that leaves the argument of every
// entropy a tenth of what it is.
func (e *Evaluator) toDomain(x, y, direction []float64) float64 {
	t := 1.0
	for i := range e.g.terms {
		term := &e.g.terms[i]
		if change := dot(term.C, direction); term.Kind == Entropy && change < 0 {
			t = math.Min(t, -0.9*term.argument(x, y)/change)
		}
	}
	return t
}

// remember puts the rows of a face first among those that steps try.
func (e *Evaluator) remember(rows []int) {
	const most = 16
	for k, r := range e.recent {
		if slices.Equal(r, rows) {
			e.recent = slices.Delete(e.recent, k, k+1)
			break
		}
	}
	e.recent = append([][]int{rows}, e.recent[:min(len(e.recent), most-1)]...)
}

// step minimizes the quadratic model of G at (x, y): on one of the last faces, on one
// that exchanges of rows lead to, or on the best of all. The conditions at a face that
// hold with a margin above rounding are those of the minimizer, however it was found.
func (e *Evaluator) step(x, y []float64) (*face, []float64) {
	yy, yx := e.g.hessian(x, y)
	_, gy := e.g.gradient(x, y)
	for j := range gy {
		gy[j] -= dot(yy[j], y) + dot(yx[j], x)
	}
	const clear = tiny / 10
	try := func(rows []int) (*face, []float64, bool) {
		f := e.face(rows, yy, yx, gy)
		if f == nil {
			return nil, nil, false
		}
		next, _, margin, violation := e.at(f, x)
		return f, next, margin > clear && violation <= tiny
	}
	for _, rows := range e.recent {
		if f, next, ok := try(rows); ok {
			return f, next
		}
	}
	rows := e.equal
	if len(e.recent) > 0 {
		rows = e.recent[0]
	}
	for range 2 * len(e.rows) {
		f, next, ok := try(rows)
		if ok {
			return f, next
		}
		if f == nil {
			break
		}
		if rows = e.exchanged(f, x); rows == nil {
			break
		}
	}
	var best *face
	bestMargin := -1e3 * tiny
	for _, f := range e.enumerate(x, y) {
		if _, _, margin, violation := e.at(f, x); violation <= tiny && margin > bestMargin {
			best, bestMargin = f, margin
		}
	}
	if best == nil {
		return nil, nil
	}
	next, _, _, _ := e.at(best, x)
	return best, next
}

// exchanged is the rows of a face with its most violated row added, or else the one of
// the most negative multiplier dropped; nil where there is neither.
func (e *Evaluator) exchanged(f *face, x []float64) []int {
	y, lambda, _, _ := e.at(f, x)
	worst, add := tiny, -1
	for _, i := range e.free {
		if v := -e.rows[i].slack(x, y); v > worst && !slices.Contains(f.rows, i) {
			worst, add = v, i
		}
	}
	if add >= 0 {
		rows := append(slices.Clone(f.rows), add)
		slices.Sort(rows[len(e.equal):]) // as in an enumeration
		return rows
	}
	least, drop := 0.0, -1
	for k, i := range f.rows {
		if !e.rows[i].Equal && lambda[k] < least {
			least, drop = lambda[k], k
		}
	}
	if drop < 0 {
		return nil
	}
	return slices.Delete(slices.Clone(f.rows), drop, drop+1)
}

// interior finds a y with the greatest slack in inequalities and in the
// domains of entropies (at most 1): a start for Newton's method.
func (e *Evaluator) interior(x []float64) ([]float64, bool) {
	m := e.s
	p := &exact.LP{N: m.Dy + 1}
	at := exact.Doubles(x)
	slacked := func(c []*big.Rat, by int64) []*big.Rat {
		return append(slices.Clip(c), ratio(by, 1))
	}
	for i, r := range e.lower {
		rhs := new(big.Rat).Sub(r.rhs, exact.Dot(r.a, at))
		switch {
		case e.rows[i].Equal && !slices.Contains(e.equal, i):
			// implied by the others, up to the rounding of x
		case e.rows[i].Equal:
			p.Add(slacked(r.c, 0), rhs, true)
		case zero(e.rows[i].C):
		default:
			p.Leq(slacked(r.c, 1), rhs)
		}
	}
	for _, t := range m.LowerTerms {
		if t.Kind == Entropy { // C y + A x + Const >= t
			c := each.Of(t.C, func(v float64) *big.Rat { return rational(-v) })
			rhs := rational(t.Const)
			p.Leq(slacked(c, 1), rhs.Add(rhs, exact.Dot(rationals(t.A), at)))
		}
	}
	p.Leq(slacked(zeros(m.Dy), 1), ratio(1, 1))
	cost := zeros(m.Dy + 1)
	cost[m.Dy] = ratio(-1, 1)
	outcome, v, value := p.Minimize(cost)
	if outcome != exact.Optimal {
		return nil, false
	}
	least := float(value)
	return floats(v[:m.Dy]), least <= tiny
}
