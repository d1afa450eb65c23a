package oracle

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// complementarity measures strict complementarity at a lower solution at x against
// the errors of y and lambda: the margin is the least slack or multiplier over its
// error, +Inf where no row is an inequality, and the undecided rows, ascending, are
// those for which it is below decided.
//
// A hypergradient is that of the smooth piece of F that the active rows select.
// F has that piece on an open set around x only where every row is decided: its
// slack, or its multiplier, is above the error with which it is known. At a point
// with undecided rows the gradient of a piece need not be an element of the
// subdifferential at all: F(x) = x can be written with y >= 0 such that at x = 0 the
// four faces give the slopes 2, 1, 1 and 0.
func (h *Hyper) complementarity(x []float64, s *lower.Solution, face []int) (margin float64, undecided []int) {
	if !h.p.HasInequalities() {
		return math.Inf(1), nil
	}
	pull := make([]float64, h.p.Dy)
	h.p.Rows.B.AddMulVecT(pull, 1, s.Lambda)
	measured := h.terms == nil
	if measured {
		h.terms = h.measure(x, s.Y)
	}
	sigma := h.sine(s, face)
	margins := judge(h.p, x, s, face, sigma, linalg.Norm(pull), h.terms)
	if margin, undecided = verdict(margins); margin < near && !measured {
		h.terms = h.measure(x, s.Y)
		margins = judge(h.p, x, s, face, sigma, linalg.Norm(pull), h.terms)
		margin, undecided = verdict(margins)
	}
	if len(undecided) > 0 && h.sharpen(margins, undecided, x, s, face) {
		return verdict(margins)
	}
	return margin, undecided
}

// verdict is the least of the margins of the rows, and the undecided ones.
func verdict(margins []float64) (least float64, undecided []int) {
	least = math.Inf(1)
	for i, m := range margins {
		if least = math.Min(least, m); !(m >= decided) {
			undecided = append(undecided, i)
		}
	}
	return least, undecided
}

// The unit roundoff, and the roundings that an entry of a gradient or of a row
// collects: two for each product and its sum, twice that for a gradient of a
// gradient's size, and an order of magnitude because the size of the terms is
// itself an estimate.
const (
	unit      = 0x1p-53
	roundings = 16
)

// decided is the margin of a row of which the state is certain: the errors are estimates,
// and a verification makes its own, which must not come out above the slack.
const decided = 10

// stiff is how much larger an error of y has to be than what the rows of a face leave of it
// at a vertex for the curvature of g to be that of a tie break, or as little.
const stiff = 1e5

// near is the margin below which the terms of the gradient are measured at the
// point itself, rather than taken from the last point where they were.
const near = 1e2 * decided

// terms are the sizes of what grad_y g is made of.
type terms struct {
	Size      float64 // of the terms that add up to the gradient: its rounding is this times the unit
	Width     float64 // by how much the gradient changes as x moves by its width in X, to first order
	Curvature float64 // |grad g(y + v) - grad g(y)| / |v| along one v
}

// termsOf is the size of the terms of grad_y g at (x, y), where it is base, found with
// a few gradients. Changing every entry of
// x and y by a small part of itself, of its own sign and size, changes the gradient by
// about that part of the terms' size, whatever cancels between them: changes of one size
// cancel where terms do. Two changes may be of nearly one size by chance, to a
// sixteenth (roundings) one time in ten, in all of the probes one time in 10^4.
func termsOf(p *problem.Problem, x, y, base []float64) float64 {
	return termsAlong(p, x, y, base, probePart)
}

// termsAlong is termsOf with entries of x changed by another part of themselves, 0 for none.
func termsAlong(p *problem.Problem, x, y, base []float64, partOfX float64) (size float64) {
	const probes = 4
	moved, xs, ys := make([]float64, len(y)), make([]float64, len(x)), make([]float64, len(y))
	share := shares(1)
	for range probes {
		for j, v := range x {
			xs[j] = v * (1 + partOfX*share())
		}
		for j, v := range y {
			ys[j] = v * (1 + probePart*share())
		}
		p.G.GradY(moved, xs, ys)
		if d := linalg.Distance(moved, base) / probePart; d < math.Inf(1) {
			size = math.Max(size, d)
		}
	}
	return size + linalg.Norm(base)
}

// ErrorOfY bounds |Y - y*| at a point that Value has made, for a proved modulus: to the bound
// of the lower solution, which takes gradients and rows as they were computed, comes what
// rounding hides, in the gradient over the modulus and in the rows that hold y (see judge).
// At x = 1e9 terms that cancel leave 1e-7, and a computed gradient of 0 says no more than
// that. Where rows are not met what they are off moves y like their rounding; of one that
// depends on others it cannot be told which of them would give way: +Inf. It takes a few
// gradients of g.
func (h *Hyper) ErrorOfY(pt *Point) float64 {
	s, facts := pt.Lower, &h.p.Facts
	mu := facts.StrongConvexity
	if !(mu > 0) || math.IsInf(s.ErrorBound, 1) {
		return s.ErrorBound
	}
	t := h.measure(pt.X, s.Y)
	pull := make([]float64, h.p.Dy)
	h.p.Rows.B.AddMulVecT(pull, 1, s.Lambda)
	bound := s.ErrorBound + roundings*unit*math.Max(t.Size, linalg.Norm(pull))/mu
	rho, dependent, rounding := 0.0, 0.0, 0.0
	for _, i := range s.Active {
		r := stateOf(h.p.Rows, i, pt.X, s.Y)
		if r.length == 0 {
			continue
		}
		off := math.Max(0, -r.slack)
		if h.p.Rows.Kind[i] == problem.Equal {
			off = math.Abs(r.slack)
		}
		if slices.Contains(s.Dependent, i) {
			dependent = math.Max(dependent, off/r.length)
		}
		rounding = math.Max(rounding, r.error/r.length)
		rho = math.Hypot(rho, math.Max(off, r.error)/r.length)
	}
	// What the others are off by rounding is in a row that follows from them, however small
	// its own terms are: where they are all at 0 it has none.
	if dependent > roundings*roundings*rounding {
		return math.Inf(1)
	}
	if rho > 0 {
		bound += math.Sqrt(math.Max(1, math.Max(facts.Smoothness, t.Curvature)/mu)) * rho / h.sine(s, s.Active)
	}
	return bound
}

// unmet is the part of the gradient's terms that a solution may leave of stationarity: what a
// verification takes for met.
const unmet = 1e-6

// Unsolved reports that the lower solution at a point leaves more of stationarity than a part of
// the terms of the gradient. Solvers take rounding from the largest curvature, which may be that
// of an entry of y that is 0, as beside a pole, and hide all else; here the terms are measured
// entry by entry of y, with a few gradients of g where the multipliers do not show them.
func (h *Hyper) Unsolved(pt *Point) bool {
	s := pt.Lower
	pull := make([]float64, h.p.Dy)
	h.p.Rows.B.AddMulVecT(pull, 1, s.Lambda)
	left := math.Sqrt(float64(h.p.Dy)) * s.Residuals.Stationarity
	if !(left > unmet*linalg.Norm(pull)) {
		return false
	}
	base := make([]float64, h.p.Dy)
	h.p.G.GradY(base, pt.X, s.Y)
	return left > unmet*termsAlong(h.p, pt.X, s.Y, base, 0)
}

// sine is the least singular value of the rows of a face, each of length 1.
func (h *Hyper) sine(s *lower.Solution, face []int) float64 {
	if s.Sine > 0 && slices.Equal(s.Working, face) {
		return s.Sine
	}
	return h.angles.least(h.p.Rows, face)
}

// probePart is well above the rounding, and well below curvature's effect on a size.
const probePart = 0x1p-20

// measure finds the terms at (x, y) with a few gradients.
func (h *Hyper) measure(x, y []float64) *terms {
	base := make([]float64, len(y))
	h.p.G.GradY(base, x, y)
	t := &terms{Size: termsOf(h.p, x, y, base)}
	moved, ys, share := make([]float64, len(y)), make([]float64, len(y)), shares(3)
	xs := slices.Clone(x)
	for j, size := range extents(h.p, x) {
		xs[j] += probePart * share() * size
	}
	h.p.G.GradY(moved, xs, y)
	if d := linalg.Distance(moved, base) / probePart; d < math.Inf(1) {
		t.Width = d
	}
	if h.p.Facts.StrongConvexity > 0 && h.p.Facts.Smoothness > 0 {
		return t
	}
	at := &At{Problem: h.p, X: x, Lower: &lower.Solution{Y: y}}
	length := probePart * at.size() / math.Sqrt(float64(len(y)))
	for j, v := range y {
		ys[j] = v + length*share()
	}
	h.p.G.GradY(moved, x, ys)
	if d := linalg.Distance(moved, base) / linalg.Distance(ys, y); d < math.Inf(1) {
		t.Curvature = d
	}
	return t
}

// extents are the sizes of the entries of x over X of which x itself does not speak: half the
// widths where they are bounded; where not, 0, but the largest size of all where an entry is no more
// than what rounding leaves of that. A free entry that has come to 1e-16 beside others of size 1 has
// no digits: any rounding on the way might have made it 0.
func extents(p *problem.Problem, x []float64) []float64 {
	sizes, top := make([]float64, len(x)), 0.0
	for j, v := range x {
		lo, hi := p.X.Lo[j], p.X.Hi[j]
		if w := (hi - lo) / 2; w < math.Inf(1) {
			sizes[j] = w
			top = math.Max(top, w)
			continue
		}
		top = math.Max(top, math.Abs(v))
		for _, bound := range []float64{lo, hi} {
			if !math.IsInf(bound, 0) {
				top = math.Max(top, math.Abs(bound))
			}
		}
		if j < len(p.Start) {
			top = math.Max(top, math.Abs(p.Start[j]))
		}
	}
	for j, v := range x {
		if !(p.X.Hi[j]-p.X.Lo[j] < math.Inf(1)) && math.Abs(v) <= roundings*unit*top {
			sizes[j] = top
		}
	}
	return sizes
}

// shares returns a sequence of numbers without a pattern, of 1/2 to 1 and either sign,
// the same for a seed (SplitMix64; Steele, Lea, Flood 2014).
func shares(seed uint64) func() float64 {
	return func() float64 {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		return (1 - 2*float64(z>>63)) * (0.5 + float64(z<<12>>12)*0x1p-53)
	}
}

// judge compares slacks and multipliers with their errors. With an error e of the
// gradient (its rounding, and the residual of stationarity), errors rho of the
// rows of the face (scaled to length 1), mu and L the least and largest curvature
// of g, and sigma the least singular value of the face's rows, the perturbed
// equations of the face give
//
//	|dy| <= e/mu + sqrt(L/mu) rho/sigma,  |dlambda| <= sqrt(L/mu) e/sigma + L rho/sigma^2.
//
// Where mu and L are not proved, a measured curvature stands in for both. An error of
// the gradient moves y only along the face: the slack of a row outside it feels
// |P B_i| e/mu of that, where P projects onto the directions that the face leaves free.
// At a vertex, where linear followers answer, that is nothing, however small mu is.
//
// It returns the margin of each row, +Inf of those that need none.
func judge(p *problem.Problem, x []float64, s *lower.Solution, face []int, sigma, pull float64, t *terms) (margins []float64) {
	mu, smooth := p.Facts.StrongConvexity, p.Facts.Smoothness
	if mu == 0 {
		mu = t.Curvature
	}
	if smooth == 0 {
		smooth = math.Max(mu, t.Curvature)
	}
	if mu == 0 {
		mu, smooth = 1, 1
	}
	held := make([]bool, p.Rows.Len())
	for _, i := range face {
		held[i] = true
	}
	rows := statesOf(p, x, s.Y)
	rho := 0.0
	for i, r := range rows {
		if held[i] && r.length > 0 {
			rho = math.Max(rho, math.Max(r.error, math.Abs(r.slack))/r.length)
		}
	}
	root := math.Sqrt(smooth / mu)
	e := math.Sqrt(float64(p.Dy))*s.Residuals.Stationarity + roundings*unit*math.Max(t.Size+t.Width, pull)
	errorY := e/mu + root*rho/sigma
	errorForce := root*e/sigma + smooth*rho/(sigma*sigma)
	dependent := make(map[int]bool, len(s.Dependent))
	for _, i := range s.Dependent {
		dependent[i] = true
	}
	margins = make([]float64, len(rows))
	var free func(int) float64
	for i, r := range rows {
		if margins[i] = math.Inf(1); p.Rows.Kind[i] == problem.Equal || r.length == 0 || dependent[i] {
			continue // a condition on x alone, or one that holds wherever the others do
		}
		margin := 0.0
		if held[i] {
			margin = s.Lambda[i] * r.length / errorForce
		} else {
			margin = r.slack / (r.error + r.length*errorY)
			// The least error that there may be, if the face leaves the row no freedom. What is
			// gained has to be beyond all doubt: the other errors are estimates too.
			fixed := r.error + r.length*rho/sigma
			if !(margin >= decided) && r.slack >= decided*fixed && r.length*errorY >= stiff*fixed {
				if free == nil {
					free = freedom(p.Rows, face)
				}
				margin = r.slack / (fixed + free(i)*errorY)
			}
		}
		margins[i] = margin
	}
	return margins
}

// statesOf are those of all rows, with the digits that x has over X counted in.
func statesOf(p *problem.Problem, x, y []float64) []rowState {
	rows, sizes := make([]rowState, p.Rows.Len()), extents(p, x)
	for i := range rows {
		rows[i] = stateOf(p.Rows, i, x, y)
		cols, vals := p.Rows.A.Row(i)
		for k, j := range cols {
			rows[i].error += roundings * unit * math.Abs(vals[k]) * sizes[j]
		}
	}
	return rows
}

// rough reports that a solution crosses inequalities, or is off stationarity, by well
// more than rounding.
func (h *Hyper) rough(x []float64, s *lower.Solution) bool {
	if s.Status != lower.Solved && s.Status != lower.Inaccurate || h.terms == nil || !h.p.HasInequalities() {
		return false
	}
	if s.Residuals.Stationarity > roundings*roundings*unit*h.terms.Size {
		return true
	}
	if s.Residuals.Primal == 0 {
		return false
	}
	for i, kind := range h.p.Rows.Kind {
		if r := stateOf(h.p.Rows, i, x, s.Y); kind == problem.AtMost && r.slack < -roundings*r.error {
			return true
		}
	}
	return false
}

// rowState is a row at (x, y).
type rowState struct {
	slack, error, length float64 // -h_i, its rounding, |B_i|
}

func stateOf(r *problem.Rows, i int, x, y []float64) rowState {
	var h, size, length float64
	cols, vals := r.A.Row(i)
	for k, j := range cols {
		t := vals[k] * x[j]
		h += t
		size += math.Abs(t)
	}
	cols, vals = r.B.Row(i)
	for k, j := range cols {
		t := vals[k] * y[j]
		h -= t
		size += math.Abs(t)
	}
	length = linalg.Norm(vals)
	return rowState{slack: r.Rhs[i] - h, error: roundings * unit * (size + math.Abs(r.Rhs[i])), length: length}
}

// angles keeps the independence of the last faces, which line searches cross and
// cross again. It is a function of the face alone, so that what is kept does not
// show in results.
type angles struct {
	faces  [][]int
	values []float64
}

// least is the independence of a face.
func (a *angles) least(r *problem.Rows, face []int) float64 {
	const kept = 8
	for k, f := range a.faces {
		if slices.Equal(f, face) {
			return a.values[k]
		}
	}
	if len(a.faces) == kept {
		a.faces, a.values = slices.Delete(a.faces, 0, 1), slices.Delete(a.values, 0, 1)
	}
	v := independence(r, face)
	a.faces, a.values = append(a.faces, face), append(a.values, v)
	return v
}

// mostDense bounds the work of orthogonalizing a face's rows as full vectors: about
// 10 ms. Larger faces go through a sparse factorization, which tells angles down to
// 1e-6 only.
const mostDense = 1e7

// independence estimates the least singular value of the rows of B in a face,
// scaled to length 1: the least sine of an angle between a row and those before it,
// bounds, which are orthogonal to each other, first. Dependent rows do not count.
func independence(r *problem.Rows, face []int) float64 {
	n := r.B.Cols
	fixed, general := parts(r, face)
	if len(general)*len(general)*n > mostDense {
		_, least := linalg.Independent(r.B, general, func(j int) bool { return fixed[j] })
		return least
	}
	_, least := span(r, general, fixed)
	return least
}

// freedom returns |P B_i| as a function of the row i, where P projects onto the
// complement of the rows of B in a face. Rows of faces that are costly to
// orthogonalize count as free.
func freedom(r *problem.Rows, face []int) func(i int) float64 {
	n := r.B.Cols
	fixed, general := parts(r, face)
	var basis [][]float64
	if len(general)*len(general)*n <= mostDense {
		basis, _ = span(r, general, fixed)
	}
	v := make([]float64, n)
	return func(i int) float64 {
		clear(v)
		r.B.AddRow(v, i, 1)
		for j, held := range fixed {
			if held {
				v[j] = 0
			}
		}
		orthogonalize(v, basis)
		return linalg.Norm(v)
	}
}

// parts splits a face into the entries that its bounds fix and its other rows.
func parts(r *problem.Rows, face []int) (fixed []bool, general []int) {
	fixed = make([]bool, r.B.Cols)
	for _, i := range face {
		if j, _ := r.Bound(i); j >= 0 {
			fixed[j] = true
		} else {
			general = append(general, i)
		}
	}
	return fixed, general
}

// span is an orthonormal basis of the rows of B on the entries that are not fixed, and
// the least sine of an angle between one and those before it. Dependent rows do not count.
func span(r *problem.Rows, general []int, fixed []bool) (basis [][]float64, least float64) {
	const dependent = 1e-10 // below it the lower solvers leave a row out of the face
	least = 1
	for _, i := range general {
		v := make([]float64, r.B.Cols)
		r.B.AddRow(v, i, 1)
		size := linalg.Norm(v)
		if size == 0 {
			continue
		}
		for j := range v {
			if fixed[j] {
				v[j] = 0
			}
			v[j] /= size
		}
		orthogonalize(v, basis)
		rest := linalg.Norm(v)
		if rest <= dependent {
			continue
		}
		least = math.Min(least, rest)
		for j := range v {
			v[j] /= rest
		}
		basis = append(basis, v)
	}
	return basis, least
}

// orthogonalize takes an orthonormal basis out of v, twice, for rounding.
func orthogonalize(v []float64, basis [][]float64) {
	for range 2 {
		for _, q := range basis {
			linalg.Axpy(v, -linalg.Dot(q, v), q)
		}
	}
}
