// Package certify holds the certificates of a result and verifies them.
//
// Input of Verify: a Document, which is what a result claims (points,
// multipliers, values, certificate), and the numeric problem it is about.
// Output: a Report, one Check a claim. Every claim is evaluated again from the
// problem's functions and rows; nothing of the solvers, oracles or outer methods
// is imported and nothing here makes a certificate: this package stays apart on
// purpose, with linear algebra of its own. The modulus of strong convexity is the
// one thing taken from the compiler's proof; it is tried at the point and at
// others around it (modulus).
//
// # Lower level
//
// With r = grad_y g - B' lambda, lambda >= 0 on inequality rows, and h at
// (x, y), g(x, .) being mu-strongly convex,
//
//	min_z g + lambda' h >= g(x, y) + lambda' h - |r|^2 / (2 mu),
//
// and the left side is at most g(x, y*) (weak duality). So for a feasible y
//
//	g(x, y) - g(x, y*) <= gap = -lambda' h + |r|^2 / (2 mu),
//	|y - y*| <= sqrt(2 gap / mu),
//
// the second by strong convexity and optimality of y*. A y that violates rows
// by rounding is feasible for rows moved by that much (Residuals.Primal), and
// the bound is then one for the moved rows: violated and equality rows count
// as h_i = 0 in the gap.
//
// # Upper level
//
// X and D = { x : some y satisfies the rows } are convex. A Goldstein
// certificate (def:GoldsteinDeltaEpsStationary, with constraints) gives points
// x_i of X within delta of x, the gradient G_i of F at each, convex weights
// w_i and a vector n: the measure is |sum w_i G_i + n|, where n is normal to
// the constraints of X and D that the delta-ball around x meets. With X and D
// all of R^d, n = 0 and the measure bounds dist(0, d_delta F(x)).
//
// F is a continuous selection of smooth pieces, one for each face of the lower
// level, and a gradient G_i counts only where F is that piece on an open set:
// where the strict complementarity of y*(x_i) is beyond the errors with which it
// is known, or where a direction exists along which it becomes so (piece.go).
// Sample.Active names the face; where it does not, those that differ in weakly
// active rows are tried.
//
// A gradient-mapping certificate (eq:gradient-mapping) gives grad F(x), the
// step 1/L and x+ = the projection of x - grad F(x)/L on X and D; the measure
// is L |x - x+|.
//
// A joint certificate gives multipliers nu of the rows, nonnegative on inequalities but for
// those without which no lambda makes up grad_y g, and a normal n of X, of rows within delta
// of (x, y): the measure is
//
//	|(grad_x f + A'nu + n, u (grad_y f - B'nu))|,
//
// u being how far y moves as x does. Where y = y*(x) it bounds how fast F falls from x:
// (d, dy), dy being the derivative of y* along d, leads into the rows of both levels and
// along those that every lambda needs, which stay tight, and grad f falls along no such
// direction by more than the measure. This is stronger than Goldstein stationarity, and
// needs no piece of F.
//
// # Sizes
//
// Every tolerance is relative to the sizes of the problem around the point
// (scales): of x over X, of y as x moves over X, of the terms of gradients and
// rows. What a document may claim for itself, the radius delta and the errors of
// its gradients, is bounded by shares of them (tolerances).
package certify

import (
	"encoding/json"

	"bilevelc/runtime/problem"
)

// Document is what a result claims, in the problem's own order and signs: both
// objectives are minimized, rows are h <= 0 or = 0.
type Document struct {
	// Rough says that the document itself calls its lower level not solved. What it says
	// of F there, but for the numbers that follow from its own point, is then neither
	// claimed nor checked; one that is Solved cannot say so.
	Rough         bool
	X             []float64 // len Dx
	Y             []float64 // len Dy
	Lambda        []float64 // len m
	Upper         float64   // F = f(X, Y)
	Lower         float64   // g(X, Y)
	Hypergradient []float64 // len Dx; nil where none is claimed
	// GradientError is the claimed error of Hypergradient, in the 2-norm.
	GradientError float64
	Certificate   *Certificate // nil where none is claimed
	// Solved claims that what was asked for is reached: the lower level is solved
	// and, where Stationary, x is stationary to the accuracy asked for.
	Solved, Stationary bool
	// Epsilon is the accuracy asked for: of a gradient mapping, or of a Goldstein
	// certificate relative to the gradients; 0 where it is not known.
	Epsilon float64
	// Radius is the radius asked for of a Goldstein certificate, relative to the size of x over X plus its distance from where X is nearest to 0; 0 where it is not known.
	Radius float64
	// Relative says that the radius of a Goldstein certificate was taken relative to X: it is then to be one over which F hardly changes.
	Relative bool
	// Unbounded claims that F falls without end over X: it needs a ray.
	Unbounded bool
	// Strict claims strict complementarity at X.
	Strict bool
	// Tied says that g is convex in y and need not be strongly so: the follower may have other answers than Y, which its multipliers show to be one.
	Tied bool
	// Coupled is there where the problem has coupled constraints.
	Coupled *Coupled
}

// Certificate is the part `certificate` of the result document. Its fields are
// stable: other programs read them. Indices count from 0.
type Certificate struct {
	Lower           *Lower           `json:"lower,omitempty"`
	Goldstein       *Goldstein       `json:"goldstein,omitempty"`
	GradientMapping *GradientMapping `json:"gradient_mapping,omitempty"`
	Strong          *Strong          `json:"strong,omitempty"`
	// Gradient are multipliers on the one branch of the follower's KKT system that the point lies inside, along which x moves freely: Bound is then the hypergradient.
	Gradient *Multipliers `json:"gradient,omitempty"`
	// Ray shows that F has no bound.
	Ray *Ray `json:"ray,omitempty"`
}

// Finite reports that all numbers of the certificate are, so that JSON holds it.
func (c *Certificate) Finite() bool {
	_, err := json.Marshal(c)
	return err == nil
}

// Lower certifies that y is close to y*(x).
type Lower struct {
	Active    []int             `json:"active"`    // rows of the face: equalities, and inequalities with positive multiplier
	Residuals problem.Residuals `json:"residuals"` // of the KKT conditions at (x, y, lambda)
	Bound     *Bound            `json:"bound,omitempty"`
	Hidden    *Hidden           `json:"hidden,omitempty"`
}

// Hidden is the part of (y, lambda) that belongs to hidden variables and rows, by
// which functions with kinks were restated: the last entries of y, and the
// multipliers of the last rows. A result shows neither.
type Hidden struct {
	Values      []float64 `json:"values"`
	Multipliers []float64 `json:"multipliers"`
}

// Bound is the gap bound; it is there where a modulus was proved.
type Bound struct {
	Modulus  float64 `json:"modulus"`  // mu: g(x, .) is mu-strongly convex
	Gap      float64 `json:"gap"`      // bounds g(x, y) - g(x, y*)
	Distance float64 `json:"distance"` // bounds |y - y*|
}

// Goldstein certifies (delta, epsilon)-stationarity.
type Goldstein struct {
	Delta   float64  `json:"delta"`
	Samples []Sample `json:"samples"`
	// Normal is n, len Dx; nil where no constraint of x takes part.
	Normal []float64 `json:"normal,omitempty"`
	Norm   float64   `json:"norm"` // |sum w_i G_i + n|
	// GradientError bounds sum w_i |G_i - grad F(x_i)|, as the oracle estimates it.
	GradientError float64 `json:"gradient_error"`
	Epsilon       float64 `json:"epsilon"` // Norm + GradientError
}

// Sample is one point of a Goldstein certificate.
type Sample struct {
	Point    []float64 `json:"point"`    // x_i, len Dx
	Gradient []float64 `json:"gradient"` // G_i, len Dx
	Weight   float64   `json:"weight"`   // w_i >= 0
	// Active is the face of the lower level on which G_i was taken: the rows
	// that hold with equality, and m + i for each coupled constraint i that is
	// positive. At a kink it says which side. nil (null) leaves it to the
	// verification.
	Active []int `json:"active"`
}

// GradientMapping certifies stationarity where F is smooth.
type GradientMapping struct {
	Smoothness    float64   `json:"smoothness"` // L, the inverse of the step
	Gradient      []float64 `json:"gradient"`   // of F at x
	Projected     []float64 `json:"projected"`  // x+
	Norm          float64   `json:"norm"`       // L |x - x+|
	GradientError float64   `json:"gradient_error"`
}
