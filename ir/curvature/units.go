package curvature

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/directed"
	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// illConditioned is the ratio of largest to least curvature from which on the place of y is
// lost in rounding: a gradient known to some sixteen roundings of its largest terms, 2^-49 of
// them, leaves y open by 2^-49 of its own size times the ratio, which from here on is more
// than the radius 1e-6 within which runs tell points apart, and a margin of sixteen.
const illConditioned = 0x1p25

// IllConditioned reports that nothing is known of the modulus, or that it is so small beside
// the largest curvature that y is lost in rounding.
func (p *Proof) IllConditioned() bool {
	return p.SmoothnessG.Known && (p.Convexity.Outcome == unknown || p.Convexity.Outcome == proved && p.condition() > illConditioned)
}

// condition is the ratio of largest to least curvature of g, as far as proved.
func (p *Proof) condition() float64 {
	if p.Convexity.Outcome != proved || !p.SmoothnessG.Known {
		return math.Inf(1)
	}
	return p.SmoothnessG.Value / p.Convexity.Modulus
}

// Units are powers of two, one an entry of y: with y = units times z, entry by entry, the
// second derivatives of g along the entries of z are of the size of 1. Dividing by the square
// roots of the diagonal makes the ratio of largest to least eigenvalue as small as any units
// do, to a factor of the order (van der Sluis 1969, Numerische Mathematik 14, 14-23). They are
// nil where the entries curve alike, or too little is known of how they curve.
func Units(p *ir.Problem, opts Options) []float64 {
	pr := newProver(p, opts)
	regions := pr.regions()
	s := pr.study(p.Lower.Objective, expr.DependsY, regions[len(regions)-1].domain, pr.budget())
	terms := s.differentiate(false).terms
	least, most := s.below(terms, false), s.below(terms, true)
	units := make([]float64, p.Lower.Dim)
	low, high := math.Inf(1), 0.0
	for c := range units {
		curves := least.along(c)
		if !(curves > 0) || math.IsInf(curves, 1) {
			curves = -most.along(c)
		}
		if !(curves > 0) || math.IsInf(curves, 1) || opts.Context != nil && opts.Context.Err() != nil {
			return nil
		}
		_, exponent := math.Frexp(math.Sqrt(curves))
		units[c] = math.Ldexp(1, -exponent)
		low, high = math.Min(low, units[c]), math.Max(high, units[c])
	}
	const alike = 4 // what powers of two leave of the diagonal
	if high <= alike*low {
		return nil
	}
	return units
}

// along is the entry of the diagonal, without what rounding leaves open.
func (f *form) along(c int) float64 {
	v := f.diag[c]
	if b := f.block[c]; f.dense[b] != nil {
		k := f.place[c]
		v += f.dense[b][k*len(f.cols[b])+k]
	}
	return v
}

// InUnits takes over from the proof of the same problem in units for y (ir.Problem.InUnits)
// what holds in the model's own, and reports whether those units are the better ones to solve
// it in: whether rounding there leaves less of y open.
func (p *Proof) InUnits(in *Proof, units []float64) bool {
	const gain = 4 // what the rounding of units to powers of two may lose
	if in.Convexity.Outcome != proved || in.condition() > p.condition()/gain {
		return false
	}
	if p.Convexity.Outcome == unknown {
		largest := slices.Max(units)
		// v'Hv = w'(DHD)w with v = D w, and |w| >= |v|/largest.
		if mu := directed.Below(in.Convexity.Modulus / largest / largest); mu > 0 {
			p.Convexity = in.Convexity
			p.Convexity.Modulus = mu
			p.Convexity.Derivation = &Step{Modulus: &mu,
				Claim: fmt.Sprintf("the second derivative of g in y is at least mu = %s, %s and x in X", number(mu), in.Convexity.Scope),
				Rule:  "in units of y in which its entries curve alike, the largest " + number(largest), From: []*Step{in.Convexity.Derivation}}
		}
	}
	return true
}
