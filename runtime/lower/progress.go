package lower

import (
	"math"

	"bilevelc/runtime/tolerance"
)

// progress tells a gradient method when to end: at its tolerance if that is enough for
// Solution.testAccuracy, and where rounding lets nothing improve any more.
type progress struct {
	stage    *stage
	relative float64 // tolerance of the residual, relative to the terms it is made of
	best     float64
	since    int // steps since the residual was last a tenth less than ever before
}

func (g *stage) progress(relative float64) progress {
	return progress{stage: g, relative: relative, best: math.Inf(1)}
}

// step takes the residual force after a step at y, of a function of that smoothness, and the
// size of the terms it is made of, and reports whether the method ends, and how.
func (p *progress) step(residual, terms, lipschitz float64, y []float64) (end outcome, ends bool) {
	p.since++
	mu := p.stage.active.known.Mu
	small := residual <= p.relative*terms
	// The gradient at y is at most twice the gradient mapping that led to it. A tolerance that is
	// wide leaves y as wide open.
	if small && (mu == 0 || 2*residual <= math.Max(tolerance.Target, p.relative)*mu*p.stage.poly.unit(y)) {
		return converged, true
	}
	if residual < 0.9*p.best {
		p.best, p.since = residual, 0
	}
	// With known constants the gap shrinks by 1 - sqrt(mu/L) a step and the residual by about its
	// root: by exp(-5) within 10 sqrt(L/mu) steps. Without mu nothing is promised.
	patience := 2000.0
	if mu > 0 {
		patience = math.Max(100, 10*math.Sqrt(lipschitz/mu))
	}
	if float64(p.since) <= patience {
		return converged, false
	}
	if small {
		return converged, true // as exactly as it can be; testAccuracy says what that leaves open
	}
	return stalled, residual <= 1e3*p.relative*terms
}
