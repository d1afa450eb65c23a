package problem

// Assumption is one condition under which a method's theory holds.
type Assumption uint8

// The assumptions of the paper (assumption:linEq_smoothness, assumption:ineq_mild),
// one by one, and those of the gradients of F.
const (
	StronglyConvexG       Assumption = iota // mu_g > 0
	SmoothG                                 // C_g
	LipschitzF                              // L_f
	SmoothF                                 // C_f
	EqualityRows                            // so that F is smooth
	StrictComplementarity                   // at the x of a hypergradient, so that F is differentiable there
)

func (a Assumption) String() string {
	return [...]string{
		"g strongly convex in y", "g smooth", "f Lipschitz", "f smooth",
		"equality rows only", "strict complementarity at x (checked at each)",
	}[a]
}

// Proved reports whether the facts known of p show the assumption.
func (p *Problem) Proved(a Assumption) bool {
	switch a {
	case StronglyConvexG:
		return p.Facts.StrongConvexity > 0
	case SmoothG:
		return p.Facts.Smoothness > 0
	case LipschitzF:
		return p.Facts.LipschitzF > 0
	case SmoothF:
		return p.Facts.SmoothnessF > 0
	default:
		// Without inequalities there is nothing to be complementary.
		return !p.HasInequalities()
	}
}
