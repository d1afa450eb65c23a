package convex

import "math"

// Momentum is the extrapolation of Nesterov's accelerated gradient method: from the
// points y and y+ of two steps, the next gradient is taken at y+ + beta (y+ - y).
// The zero Momentum has the weights for convex functions whose modulus is not known
// (Nesterov 1983), and starts them anew where a step points uphill (O'Donoghue and
// Candes 2015).
type Momentum struct {
	constant float64 // where the constants are known
	fixed    bool
	weight   float64 // of the next step, 0 for the first
}

// FixedMomentum is that of functions of modulus mu and smoothness c, c >= mu > 0
// (Nesterov 2004, 2.2.1). A proved mu may be far below the curvature met, where this momentum
// swings about the minimum; a step that points uphill ends the swing, and the next has none
// (O'Donoghue and Candes 2015, section 3).
func FixedMomentum(mu, c float64) Momentum {
	root := math.Sqrt(c / mu)
	return Momentum{constant: (root - 1) / (root + 1), fixed: true}
}

// Restart forgets the steps before.
func (m *Momentum) Restart() { m.weight = 0 }

// Next is beta for the step just taken.
func (m *Momentum) Next(uphill bool) (beta float64) {
	if m.fixed {
		if uphill {
			return 0
		}
		return m.constant
	}
	if uphill {
		m.Restart()
	}
	weight := math.Max(1, m.weight)
	m.weight, beta = Weight(weight)
	return beta
}

// Weight is Nesterov's sequence for convex functions: the weight after one of at least 1,
// and beta for the step between the two.
func Weight(weight float64) (next, beta float64) {
	next = (1 + math.Sqrt(1+4*weight*weight)) / 2
	return next, (weight - 1) / next
}
