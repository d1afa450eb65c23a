package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// conditions are the KKT residuals at (x, y, lambda) as they are found here.
type conditions struct {
	problem.Residuals
	gap    float64 // of the lower level, for the modulus mu; NaN where none is claimed
	worst  float64 // violation of a row, by the size of its terms
	where  string
	paired float64 // product of a multiplier and such a violation or slack
}

// lowerConditions evaluates the KKT conditions, and the gap bound for mu > 0 (see
// the package's documentation). Multipliers of the wrong sign count as 0 in the
// bound, with what that does to the stationarity.
func (v *verification) lowerConditions(mu float64) conditions {
	p, x, y, lambda := v.p, v.doc.X, v.doc.Y, v.doc.Lambda
	var c conditions
	pressing := slices.Clone(lambda) // with the right sign
	slack := 0.0                     // -lambda' h over the rows that hold
	for i, kind := range p.Rows.Kind {
		h, terms := v.d.residual(i, x, y), orOne(v.rowTerms(i))
		violation := kind.Over(h)
		c.Primal = larger(c.Primal, violation)
		if rel := violation / terms; rel > c.worst || math.IsNaN(rel) {
			c.worst, c.where = rel, fmt.Sprintf("row %d", i)
		}
		if kind == problem.Equal {
			continue
		}
		c.paired = larger(c.paired, math.Abs(lambda[i]*h)/terms)
		c.Dual = larger(c.Dual, -lambda[i])
		c.Complementarity = larger(c.Complementarity, math.Abs(lambda[i]*h))
		if pressing[i] = math.Max(lambda[i], 0); h < 0 {
			slack -= pressing[i] * h
		}
	}
	for _, r := range v.d.unbalanced(x, y, lambda) {
		c.Stationarity = larger(c.Stationarity, math.Abs(r))
	}
	r := norm(v.d.unbalanced(x, y, pressing))
	c.gap = slack + r*r/(2*mu)
	return c
}

// kktClaims are the checks of the KKT conditions of the lower level.
var kktClaims = []string{"stationarity of the lower level", "feasibility of y, each row by the size of its terms",
	"signs of the multipliers", "complementarity"}

// Unsolved reports that a check has failed of y and the multipliers as a solution of the lower level.
func (r *Report) Unsolved() bool {
	return slices.ContainsFunc(r.Failures(), func(c Check) bool {
		return slices.Contains(kktClaims, c.Claim) || strings.HasPrefix(c.Claim, AnswerClaim)
	})
}

// lowerLevel checks the KKT conditions at (x, y, lambda), and the claimed
// residuals and bound.
func (v *verification) lowerLevel() {
	mu, claimed := math.NaN(), v.certificate().Lower
	if claimed != nil && claimed.Bound != nil {
		mu = claimed.Bound.Modulus
	}
	found, s := v.lowerConditions(mu), v.d.s
	scale := problem.Residuals{Stationarity: v.forceTerms()}
	v.Residuals, v.Forces = found.Residuals, scale.Stationarity
	shortest := math.Inf(1)
	for i, n := range s.normB {
		scale.Primal = math.Max(scale.Primal, v.rowTerms(i))
		if n > 0 {
			shortest = math.Min(shortest, n)
		}
	}
	scale.Primal = orOne(scale.Primal)
	scale.Dual = math.Max(maxAbs(v.doc.Lambda), scale.Stationarity/shortest)
	scale.Complementarity = scale.Primal * scale.Dual
	rough := v.doc.Rough && !v.doc.Solved
	none := func(claim string, found, tolerance float64, detail string) {
		if !rough {
			v.atMost(claim, 0, found, tolerance, detail)
		}
	}
	none(kktClaims[0], found.Stationarity, tolerance.Target*scale.Stationarity, "max norm of grad g - B' lambda")
	none(kktClaims[1], found.worst, tolerance.Target, found.where)
	none(kktClaims[2], found.Dual, tolerance.Target*scale.Dual, "most negative multiplier of an inequality")
	none(kktClaims[3], found.paired, tolerance.Target*scale.Dual, "largest product of a multiplier and the slack of its row by the size of that row's terms")
	if claimed == nil {
		return
	}
	// Residuals at a solution are rounding, in terms of these sizes.
	r := claimed.Residuals
	v.Check("claimed residuals are at least 0", math.Min(math.Min(r.Stationarity, r.Primal), math.Min(r.Dual, r.Complementarity)) >= 0, "")
	v.equal("claimed residual of stationarity", r.Stationarity, found.Stationarity, scale.Stationarity)
	v.equal("claimed residual of feasibility", r.Primal, found.Primal, scale.Primal)
	v.equal("claimed residual of signs", r.Dual, found.Dual, scale.Dual)
	v.equal("claimed residual of complementarity", r.Complementarity, found.Complementarity, scale.Complementarity)
	if !rough {
		v.activeRows(claimed.Active, scale)
	}
	bound := claimed.Bound
	if bound == nil {
		if v.p.Facts.StrongConvexity > 0 && v.doc.Solved && !(found.Dual > 0) {
			v.fail("bound on the distance to y*", "the model proves a modulus, and there is none")
		}
		return
	}
	if !v.modulus(bound.Modulus) {
		return
	}
	// At a solution the gap is made of rounding, which may come out otherwise
	// here: of each product lambda h, and of each entry of r.
	ofRows := float64(v.p.Rows.Len()) * tolerance.SumRounding * scale.Complementarity
	ofEntries := float64(v.p.Dy) * math.Pow(tolerance.SumRounding*scale.Stationarity, 2) / bound.Modulus
	v.atMost("gap of the lower level", bound.Gap, found.gap, tolerance.SolveAccuracy*bound.Gap+ofRows+ofEntries, "")
	// Half a unit in the last place of y, and one of the rows' forces over the modulus, are more than anything computed shows.
	rowForces := make([]float64, v.p.Dy)
	v.p.Rows.B.AddMulVecT(rowForces, 1, v.doc.Lambda)
	v.atMost("rounding of y, within the bound on the distance to y*", bound.Distance, 0x1p-53*math.Max(norm(v.doc.Y), norm(rowForces)/bound.Modulus), 0, "")
	distance := math.Sqrt(2 * bound.Gap / bound.Modulus)
	// The gap, its square, is no number of full precision below about LeastSquared.
	v.equal("bound on the distance to y*", bound.Distance, distance, math.Max(distance, tolerance.LeastSquared))
}

// rowTerms is what the violation of a row is relative to: its terms at the point itself, however far x and y may go over X, and so much
// that the tolerance covers what rounding of those far off leaves, of which a y near 0 may be the difference.
func (v *verification) rowTerms(i int) float64 {
	r, s, least := v.p.Rows, v.d.s, math.Inf(1)
	for j, a := range r.A.Nonzeros(i) {
		if term := math.Abs(a) * math.Max(math.Abs(v.doc.X[j]), s.width[j]); term > 0 {
			least = math.Min(least, term)
		}
	}
	for _, b := range r.B.Nonzeros(i) {
		least = math.Min(least, math.Abs(b)*s.y)
	}
	return r.B.AddTerms(r.A.AddTerms(math.Abs(r.Rhs[i]), i, v.doc.X), i, v.doc.Y) + hiddenTerms(tolerance.SumRounding/tolerance.Target*s.rows[i], least)
}

// hiddenTerms is what a row's terms are raised by for the rounding of entries, where the least of the terms is least over the range of its entry. Rounding that would hide
// that one as a whole (of an entry times 1e300, beside another times 1) excuses nothing: the row would not hold the other entry at all.
func hiddenTerms(rounding, least float64) float64 { return math.Min(rounding, least) }

// forceTerms is what is left of the forces on y is relative to: their terms at the point itself, however wide X is, and so much that the tolerance covers the rounding of those far off (see rowTerms).
func (v *verification) forceTerms() float64 {
	most := maxAbs(v.forces())
	for i, l := range v.doc.Lambda {
		most = math.Max(most, math.Abs(l)*largest(v.p.Rows.B, i))
	}
	return most + tolerance.SumRounding/tolerance.Target*v.d.s.force
}

// activeRows checks that the claimed face is made of rows that hold with
// equality: all equality rows, and no row that is slack or has a multiplier of the wrong sign;
// and that no row with a multiplier is left out.
func (v *verification) activeRows(active []int, scale problem.Residuals) {
	in := set(active)
	for _, i := range active {
		h := v.d.residual(i, v.doc.X, v.doc.Y)
		if math.Abs(h) > tolerance.Target*v.rowTerms(i) {
			v.fail("active rows", "row %d is slack by %.3g", i, -h)
			return
		}
	}
	for i, kind := range v.p.Rows.Kind {
		switch {
		case in[i]:
		case kind == problem.Equal:
			v.fail("active rows", "the equality row %d is missing", i)
			return
		case v.doc.Lambda[i] > tolerance.Target*scale.Dual:
			v.fail("active rows", "row %d has the multiplier %.3g and is missing", i, v.doc.Lambda[i])
			return
		}
	}
	v.Check("active rows", true, "")
}

// modulus checks a modulus of strong convexity. That it holds everywhere is
// taken from the compiler's proof; here it is tried: by the least eigenvalue of
// the Hessian at (x, y), and by pairs of gradients at feasible points around,
//
//	(grad g(z) - grad g(y))' (z - y) >= mu |z - y|^2.
func (v *verification) modulus(mu float64) bool {
	proved := v.p.Facts.StrongConvexity
	if !(mu > 0) || math.IsInf(mu, 1) || !(proved > 0) {
		v.fail(ModulusClaim, "claimed %.10g, the model proves %.10g", mu, proved)
		return false
	}
	// The compiler's spectra carry rounding of their own.
	if !v.atMost("modulus of strong convexity is proved", proved, mu, tolerance.Target*proved, "") {
		return false
	}
	least, how := math.Inf(1), ""
	note := func(found float64, words string) {
		if found < least || math.IsNaN(found) {
			least, how = found, words
		}
	}
	h, err := v.d.curvature(v.doc.X, v.doc.Y, true)
	switch {
	case err != nil:
		v.fail(ModulusClaim, "at (x, y): %v", err)
		return false
	case h.blocks != nil:
		for k, b := range h.blocks {
			if along := b.alongRows(h.equal(k)); along != nil && !above(along, mu*(1-tolerance.Target), h.rounding()) {
				note(smallest(along), "the least eigenvalue of the Hessian of g at (x, y)")
			}
		}
	default:
		for k := range h.comps {
			least, err := h.leastAlong(k)
			if err != nil && h.direct() {
				v.fail(ModulusClaim, "at (x, y): %v", err)
				return false
			} else if err != nil { // products with H solve no system here
				continue
			}
			// From above, and not below by more than differences know of H.
			known := math.Max(1e-9*h.largest(), h.rounding())
			note(least+known, "inverse iteration with the Hessian of g at (x, y)")
		}
	}
	for _, found := range v.pairs(math.Max(mu, h.largest())) {
		note(found, "gradients of g at two feasible points")
	}
	if least < mu*(1-tolerance.Target) {
		v.fail(ModulusClaim, "claimed %.10g, found %.10g: %s", mu, least, how)
		return false
	}
	v.Check(ModulusClaim, true, "taken from the compiler's proof; curvature at the point and gradients around it agree")
	return true
}

// rounding is that of an entry of the Hessian: a few roundings of the forces' terms, over
// the shortest step of the differences.
func (h *hessian) rounding() float64 {
	shortest := math.Inf(1)
	for j := range h.y {
		shortest = math.Min(shortest, h.step(j))
	}
	return tolerance.SumRounding * h.s.force / shortest
}

// above reports that H - mu I is positive semidefinite to rounding.
func above(h *mat.SymDense, mu, rounding float64) bool {
	n := h.SymmetricDim()
	shifted := mat.NewSymDense(n, nil)
	shifted.CopySym(h)
	// Differences of gradients know H to about this share of its largest entry.
	known := math.Max(1e-9*mat.Norm(h, math.Inf(1)), float64(n)*rounding)
	for j := range n {
		shifted.SetSym(j, j, shifted.At(j, j)-mu+known)
	}
	var c mat.Cholesky
	return c.Factorize(shifted)
}

// smallest is the least eigenvalue of H.
func smallest(h *mat.SymDense) float64 {
	var e mat.EigenSym
	if !e.Factorize(h, true) { // without eigenvectors gonum v0.17 panics where a block of H is near 0
		return math.NaN()
	}
	return e.Values(nil)[0]
}

func equalities(p *problem.Problem) []int {
	return each.WhereBelow(p.Rows.Len(), func(i int) bool {
		cols, _ := p.Rows.B.Row(i)
		return p.Rows.Kind[i] == problem.Equal && len(cols) > 0
	})
}

// pairs are moduli that gradients of g show between y and feasible points at
// distances of a thousandth to a few times the size of y. steepest is the largest curvature of g at y.
func (v *verification) pairs(steepest float64) []float64 {
	if len(equalities(v.p)) > 0 {
		return nil // points off the equality rows say nothing
	}
	rng := rand.New(rand.NewPCG(3, uint64(v.p.Dy)))
	x, y := v.doc.X, v.doc.Y
	base := gradY(v.d.g, x, y)
	lo, hi := boundsOfY(v.p, x)
	var found []float64
	for _, far := range []float64{1e-3, 0.03, 0.3, 1, 3, 10} {
		for range 2 {
			z := each.Below(len(y), func(j int) float64 { return math.Max(lo[j], math.Min(hi[j], y[j]+far*v.d.s.y*rng.NormFloat64())) })
			for halvings := 0; halvings < 20 && !v.feasible(z); halvings++ {
				z = between(y, z, 0.5)
			}
			if !v.feasible(z) || !isNumber(v.d.g.Value(x, z)) { // past the edge of where g is defined, by rounding of the rows that keep y there, its gradients mean nothing
				continue
			}
			grad, d, size := gradY(v.d.g, x, z), minus(z, y), 0.0
			rise, square, way := floats.Dot(minus(grad, base), d), floats.Dot(d, d), floats.Norm(d, 1)
			for j, t := range d {
				size += (math.Abs(grad[j]) + math.Abs(base[j])) * math.Abs(t)
			}
			// Rounding of the gradients' terms, of which gradients that cancel say nothing, and
			// where they are finite: among them are the products of the curvature with y.
			rise += 1e-12*size + tolerance.SumRounding*math.Max(v.d.s.force, steepest*math.Max(norm(y), norm(z)))*way
			if square > 0 && isNumber(rise) {
				found = append(found, rise/square)
			}
		}
	}
	return found
}

// feasible reports that rows hold at z by their terms there: the size of y by which those of the document are measured is any where g hardly curves far away.
func (v *verification) feasible(z []float64) bool {
	rows := v.p.Rows
	return !slices.ContainsFunc(each.Number(rows.Len()), func(i int) bool {
		return v.d.residual(i, v.doc.X, z) > tolerance.Target*rows.B.AddTerms(rows.A.AddTerms(math.Abs(rows.Rhs[i]), i, v.doc.X), i, z)
	})
}
