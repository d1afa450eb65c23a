package certify

import (
	"math"

	"bilevelc/runtime/tolerance"
)

// bounded checks that F does not fall without a limit next to the point: beside a pole on both of
// whose sides F is defined its gradients have any size and both signs, and what they leave is a
// small part of them wherever the point is near enough.
func (v *verification) bounded() {
	steep, reach := norm(v.doc.Hypergradient), math.Max(1e-6*v.d.s.x, v.delta())
	// c/r^k is its slope times r/k: within reach of a pole of an order of a tenth or more the
	// slope makes F over the reach. With an F that is much less than that there is nothing to see.
	if v.at == nil || !(steep*reach > math.Abs(v.doc.Upper)/10) {
		return
	}
	const claim = "solved: F has a limit near the point"
	x, low := v.doc.X, v.doc.Upper
	// Downhill to where F is least within reach: at a pole that is as near to it as numbers are.
	for step := reach; step > 0x1p-53*math.Max(norm(x), reach) && distance(x, v.doc.X) <= 2*reach; step /= 2 {
		// Beside one pole two steps of a length are the most that lead down after those of twice the length did not.
		for range 2 {
			down, up := v.along(x, -step/steep), v.along(x, step/steep) // the pole may have been stepped over
			if value := v.valueAt(down); value < low {
				x, low = down, value
			} else if value := v.valueAt(up); value < low {
				x, low = up, value
			} else {
				break
			}
		}
	}
	// Distances by a common factor: towards a pole F falls by no less over each part than over the
	// one before but for the terms beside it, and by ever less towards a kink, a root or a valley.
	first, least := 1e-3*norm(v.d.s.width), 0x1p-43*math.Max(norm(x), v.d.s.x)
	factor := math.Cbrt(math.Max(1e-9, least/first))
	var falls [3]float64
	before := v.valueAt(v.along(x, first/steep))
	size := math.Abs(before)
	for k := range falls {
		value := v.valueAt(v.along(x, first*math.Pow(factor, float64(k+1))/steep))
		falls[k], before = before-value, value
	}
	pole := factor < 0.1 && falls[0] > tolerance.Target*size && falls[1] >= falls[0]/2 && falls[2] >= falls[1]/2
	v.Check(claim, !pole, "")
}

// descending fails a point from which F goes on falling along the way from the model's start, in the entries of x
// that X does not bound there. It is looked for where the measure lets F fall by a part of itself that a limit of F
// would not leave it, over the length of the way: what is small beside gradients that the curvature of F makes of
// the radius may be all that F falls by.
func (v *verification) descending(measure float64) {
	start, way := v.p.Origin(), make([]float64, v.p.Dx)
	for j, from := range start {
		d := v.doc.X[j] - from
		if d > 0 && math.IsInf(v.p.X.Hi[j], 1) || d < 0 && math.IsInf(v.p.X.Lo[j], -1) {
			way[j] = d
		}
	}
	f := v.doc.Upper
	if v.at == nil || v.doc.Coupled != nil || !(measure*norm(way) > tolerance.Slack*math.Abs(f)) {
		return
	}
	size := v.fall()
	for t := 1.0; t >= tolerance.Target; t /= 10 { // nearer points are the same one
		to := moved(v.doc.X, t, way)
		if off, _ := v.outsideX(to); off > tolerance.Target {
			continue
		}
		if there := v.valueAt(to); there < f-t*tolerance.Slack*size && measure*norm(way) > tolerance.Slack*size {
			v.fail("solved", "F goes on improving along x, which X does not bound: by %.3g over %.3g of its length", f-there, t)
			return
		}
	}
}

// along is the point of the box of X that many times the hypergradient from x.
func (v *verification) along(x []float64, by float64) []float64 {
	return inBox(v.p, moved(x, by, v.doc.Hypergradient))
}

// valueAt is F at a point, NaN where it is not found.
func (v *verification) valueAt(x []float64) float64 {
	f, _ := v.penalizedAt(x)
	return f
}

// penalizedAt is valueAt, and what the weights of the upper constraints add there.
func (v *verification) penalizedAt(x []float64) (f, penalty float64) {
	defer func() { v.d.near = nil }() // the curvature is to be that at the document's x
	at, err := v.d.lower(x, v.at.y, v.at.face)
	if err != nil {
		return math.NaN(), 0
	}
	if c := v.doc.Coupled; c != nil && len(c.Penalty) == len(v.p.Coupled.Kind) {
		for i, t := range v.violations(v.d.coupled(at)) {
			penalty += c.Penalty[i] * math.Max(0, t)
		}
	}
	return v.d.f.Value(x, v.p.Answer(at.y, at.lambda)), penalty
}
