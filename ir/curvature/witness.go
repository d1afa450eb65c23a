package curvature

import (
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/directed"
	"bilevelc/ir/expr"
)

// refute looks for a feasible point and a direction along which the second
// derivative of g in y is negative, or exactly 0. The second derivative at a
// point is enclosed by the same rules as over a domain, so that a witness is
// as certain as a proof.
func (pr *prover) refute() *Witness {
	work := pr.budget()
	random := rand.New(rand.NewPCG(pr.opts.Seed, 0x77697473))
	fixed := pr.quadratic()
	if len(pr.Unbound) > 0 && !fixed.FixedHessian {
		return nil // sets that are not known yet: no point is certain to be feasible
	}
	// Across a pole or a hole of the domain second derivatives show nothing.
	escapes := !fixed.InY && pr.study(pr.Lower.Objective, expr.DependsY, pr.feasible, work).escapeOf() != nil
	for k := range pr.opts.Samples {
		if !work.spend(sampleWork * float64(pr.Lower.Dim) * float64(pr.Lower.Dim)) {
			return nil
		}
		x, ok := pr.upperSample(k, random, work)
		if !ok {
			continue
		}
		y := make([]float64, pr.Lower.Dim)
		if !fixed.InY {
			if y, ok = pr.definedSample(k, x, random, work); !ok {
				continue
			}
		}
		s := pr.study(pr.Lower.Objective, expr.DependsY, at(x, y), work)
		if s.escapeOf() != nil {
			continue // g has no second derivative here
		}
		w := pr.negativeCurvature(s)
		if w == nil {
			w = pr.flat(s)
		}
		if w == nil && escapes {
			w = pr.rises(x, y, random, work)
		}
		if w != nil {
			if w.X = x; w.Y == nil {
				w.Y = y
			}
			w.At = pr.pointText(x, w.Y, fixed)
			return w
		}
		if fixed.FixedHessian {
			return nil // every point is the same
		}
	}
	return nil
}

// definedTries is how many points are drawn at one x until g has a value.
const definedTries = 8

// definedSample is a feasible y at which g has a finite value.
func (pr *prover) definedSample(k int, x []float64, random *rand.Rand, work *budget) ([]float64, bool) {
	for t := range definedTries {
		y, ok := pr.lowerSample(k+t, x, random, work)
		if !ok {
			continue
		}
		if v, err := expr.Scalar(pr.Lower.Objective, x, y); err != nil {
			return nil, false
		} else if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return y, true
		}
	}
	return nil, false
}

// sampleWork is the cost of one point, in operations an entry of a dense
// Hessian: measured at 1500 coupled variables, where enclosing the Hessian in
// intervals takes some 250 ns an entry. The assembly does not count itself.
const sampleWork = 200

// negativeCurvature finds a direction of negative second derivative at the point of a
// study: v' H v <= -v' N v for the matrix N below -H.
func (pr *prover) negativeCurvature(s *study) *Witness {
	terms := s.differentiate(false).terms
	lower, negative := s.below(terms, false), s.below(terms, true)
	if lower.failed != nil || negative.failed != nil {
		return nil
	}
	for b := range lower.cols {
		e := lower.leastBlock(b, s.work, effort{})
		if e.vector == nil || !(e.estimate < 0) {
			continue
		}
		v := make([]float64, pr.Lower.Dim)
		for i, c := range e.cols {
			v[c] = e.vector[i]
		}
		normalize(v)
		if most := -negative.quadraticForm(v); most < 0 {
			return &Witness{Direction: v, Curvature: most, Text: pr.directionText(e)}
		}
	}
	return nil
}

// quadraticForm is a lower bound of v' N v for a form N.
func (f *form) quadraticForm(v []float64) float64 {
	total, size := 0.0, 0.0
	for b, cols := range f.cols {
		for i, c := range cols {
			d := directed.AddDown(f.diag[c], -f.slack[c]) * v[c] * v[c]
			total += d
			size += math.Abs(d)
			if f.dense[b] == nil {
				continue
			}
			for j, other := range cols {
				t := f.dense[b][i*len(cols)+j] * v[c] * v[other]
				total += t
				size += math.Abs(t)
			}
		}
	}
	return total - gamma(2*f.n*f.n)*size
}

// flat finds a direction v along which the second derivative is exactly 0: one
// that no part touches, or an exact solution of H v = 0.
func (pr *prover) flat(s *study) *Witness {
	parts, ok := s.exactParts()
	if !ok {
		return nil
	}
	n := pr.Lower.Dim
	touched := make([]bool, n)
	cost := 0.0
	for _, p := range parts {
		for _, row := range []map[int]float64{p.a, p.b} {
			for c := range row {
				touched[c] = true
			}
		}
		cost += float64(len(p.a)) * float64(len(p.b))
	}
	if c := slices.Index(touched, false); c >= 0 {
		return &Witness{Direction: unit(n, c), Flat: true, Text: "along " + pr.Lower.EntryName(c)}
	}
	// exactCost bounds the operations in rational arithmetic, at about a
	// microsecond each.
	const exactCost = 3e5
	if cost+math.Pow(float64(n), 3) > exactCost {
		return nil
	}
	v := nullVector(exactHessian(parts, n))
	if v == nil {
		return nil
	}
	return &Witness{Direction: v, Flat: true, Text: pr.directionText(extreme{vector: v, cols: expr.Sequence(0, n)})}
}
