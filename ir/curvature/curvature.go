// Package curvature proves what the methods assume of a bound model and
// nothing in the run would notice if it were false: that g is strongly convex
// in y for every x in X, with a modulus; how large the second derivatives of f
// and g can be and how fast f can change; where f and g are smooth; and that
// the rows of the lower level qualify (paper: assumption:linEq_smoothness).
//
// Input is an ir.Problem, output a Proof: outcomes with their derivation, the
// subexpression to blame where nothing could be shown, and a witness that can
// be checked by hand where the opposite was shown.
//
// The method is exact second-order differentiation over ranges. The Hessian of
// a scalar s with respect to the variables z (y, or x and y together) is
//
//	sum over operations n of  J' W J,
//
// where J is the Jacobian of the operation's arguments in z and W the second
// derivative of the operation itself, weighted by the derivative of s with
// respect to its result. J and W are enclosed over the declared sets: ranges
// forward (ranges.go), weights backward (weights.go), Jacobians on demand
// (jacobian.go). Composition rules come out as signs: W >= 0 means that the
// operation adds a positive semidefinite part whatever J is. The parts are
// added up to two symmetric matrices L <= Hessian <= U (hessian.go), whose
// extreme eigenvalues are certified by Cholesky factorizations (spectrum.go).
//
// Invariants: every number that a proof rests on is rounded outwards, so a
// reported modulus is a lower bound and a reported constant an upper bound.
// Constant subexpressions are taken at their computed value, which is what the
// runtime works with. Work is bounded by Options.MaxWork; parts that would
// exceed it are bounded more coarsely, never skipped.
package curvature

import (
	"context"
	"encoding/json"
	"sync"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/lang/diag"
)

// Options bound the effort of Prove.
type Options struct {
	// MaxWork is the number of floating point operations that one claim may
	// spend on assembling and factorizing matrices.
	MaxWork float64
	// Samples is the number of points at which a witness against strong
	// convexity is sought.
	Samples int
	// Seed makes the samples reproducible.
	Seed uint64
	// Context ends the work early: claims that are then open stay unknown. nil:
	// nothing does.
	Context context.Context
	// Earlier, where not nil, is a problem like this one with its proof, of which is
	// taken over what does not depend on numbers that differ. What does is checked
	// again at a part of the cost: constants are then true, and may be weaker than
	// those of a proof from the beginning, by half a modulus and half a bound at most.
	Earlier *Earlier
}

// Defaults: 2e10 operations are a few seconds of one core, which covers dense
// lower levels of about a thousand variables.
func Defaults() Options { return Options{MaxWork: 2e10, Samples: 24, Seed: 1} }

// Outcome of a claim. The zero value is Unknown: neither shown nor refuted.
type Outcome uint8

// The outcomes.
const (
	unknown Outcome = iota
	proved
	refuted
)

func (o Outcome) String() string { return [...]string{"unknown", "proved", "refuted"}[o] }

// MarshalText writes the outcome as its word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Scope is the set of y for which a bound holds, x ranging over X.
type Scope uint8

// The scopes, each weaker than the one before it.
const (
	everywhere      Scope = iota // every y (in the domain of the function)
	withinBounds                 // y within the ranges that its rows imply
	alongEqualities              // between y that satisfy the equality rows (and the bounds)
)

func (s Scope) String() string {
	return [...]string{"for every y", "for y within its bounds", "along the equality rows"}[s]
}

// MarshalText writes the scope as its phrase.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Blame is the innermost subexpression that a claim failed at.
type Blame struct {
	Expr   string    // as the model writes it
	Place  string    // file:line:column
	Reason string    // what would have been needed of it
	Span   diag.Span `json:"-"`
	fix    string    // what may be written instead; ""
	row    string    // of a kink in a constraint: that one's name
	upper  bool      // of a kink in the upper objective, which is part of the lower one where it breaks ties
}

// Witness shows that g is not strongly convex: at x (in X) and y, along the
// direction, the second derivative of g is at most Curvature. With Ends, y lies
// between these two feasible points, and Curvature bounds the second divided
// difference of g over the three instead (g need not have a second derivative).
type Witness struct {
	X, Y      []float64
	Direction []float64   // len Dy, Euclidean length 1
	Curvature float64     // <= 0
	Flat      bool        // the second derivative is exactly 0
	Ends      [][]float64 `json:",omitempty"`
	Undefined bool        `json:",omitempty"` // g has a finite value at the Ends, but not at y
	Text      string      // the direction in the model's names: "along y[2]"
	At        string      // the point in the model's names, "" where every point will do
}

// Convexity is the claim that g(x, .) is strongly convex for every x in X.
type Convexity struct {
	Outcome Outcome
	Modulus float64 // mu_g, a lower bound; 0 unless proved
	// Convex: the Hessian of g in y is shown to be positive semidefinite, where Outcome is not proved, or nothing is known of its modulus.
	Convex     bool `json:",omitempty"`
	Scope      Scope
	Linear     bool     `json:",omitempty"` // g is linear in y: convex, though not strongly
	Blame      *Blame   `json:",omitempty"` // where unknown
	Witness    *Witness `json:",omitempty"` // where refuted
	Derivation *Step    `json:",omitempty"`
}

// Bound is an upper bound on a constant such as C_g, where one is known.
type Bound struct {
	Known      bool
	Value      float64
	Scope      Scope
	Blame      *Blame `json:",omitempty"`
	Derivation *Step  `json:",omitempty"`
}

// Later is a bound that is found when somebody asks for it, once. It may be asked for by
// several goroutines.
type Later struct {
	once  sync.Once
	find  func() Bound
	bound Bound
}

// Bound is the bound.
func (l *Later) Bound() Bound {
	if l == nil {
		return Bound{}
	}
	l.once.Do(func() { l.bound, l.find = l.find(), nil })
	return l.bound
}

// MarshalJSON writes the bound.
func (l *Later) MarshalJSON() ([]byte, error) { return json.Marshal(l.Bound()) }

// Smoothness is the claim that a function is continuously differentiable for
// x in X and y within its bounds.
type Smoothness struct {
	Outcome Outcome
	Blames  []Blame `json:",omitempty"` // the places that are not, or may not be
}

// Quadratic says how the Hessian of g in y moves.
type Quadratic struct {
	InY          bool // g is quadratic in y for each x
	FixedHessian bool // and its Hessian in y is the same for all x
	Jointly      bool // g is quadratic in (x, y)
}

// Proof is everything that was found out about one problem.
type Proof struct {
	Model         string
	SmoothF       Smoothness
	SmoothG       Smoothness
	Convexity     Convexity
	Quadratic     Quadratic
	SmoothnessG   Bound  // C_g: norm of the Hessian of g in y
	JointG        *Later // norm of the Hessian of g in (x, y), which no method asks for
	SmoothnessF   Bound  // C_f: norm of the Hessian of f in (x, y)
	LipschitzF    Bound  // L_f: norm of the gradient of f in (x, y)
	Qualification Qualification

	pattern   *sparse.CSR // of the Hessian of g in y, see ir.Facts
	roots     *ir.Roots   // of the upper level, see ir.Facts
	objective diag.Span   // of the lower level, where refutations point
	maximize  bool        // the user maximizes it: g is its negative
	variables []string    // of the lower level, as the model calls them
	kinks     []ir.Kink   // that were restated
	folded    []ir.Folded // constraints on x alone that were
	refused   *Blame      // one that cannot be
	open      *Blame      // what keeps them from being restated: convexity that is not proved
	end       extreme     // of the Hessian of g in y, at its lower end
	step      *Step       // of the modulus in y and hidden variables
	scope     Scope       // of that
}

// Facts are the proved constants in the form that the runtime takes. Each
// holds on the scope of its claim, and so between any two feasible y at least.
func (p *Proof) Facts() ir.Facts {
	facts := ir.Facts{Roots: p.roots, QuadraticInY: p.Quadratic.InY, FixedHessian: p.Quadratic.FixedHessian, JointlyQuadratic: p.Quadratic.Jointly, HessianPattern: p.pattern}
	if p.Convexity.Outcome == proved {
		facts.StrongConvexity = p.Convexity.Modulus
	}
	facts.Convex = p.Convexity.Convex || p.Convexity.Outcome == proved && p.Convexity.Scope != alongEqualities
	for _, b := range []struct {
		bound Bound
		to    *float64
	}{{p.SmoothnessG, &facts.Smoothness}, {p.SmoothnessF, &facts.SmoothnessF}, {p.LipschitzF, &facts.LipschitzF}} {
		if b.bound.Known {
			*b.to = b.bound.Value
		}
	}
	return facts
}
