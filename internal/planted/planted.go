// Package planted generates bilevel problems of any size whose global optimum
// is known by construction: x*, y*, lambda*, F*, and which rows are active,
// weakly active or at a kink of F there. Tests and benchmarks measure every
// method against them; `bilevelc generate` writes them as a model and its
// data.
//
// Both families have rows h(x, y) = L x + l - G u <= 0 (floors) and
// K x + e - E u = 0 (links), curvature of g with the spectrum d_1..d_n chosen
// (from 1 to Options.Condition, log-spaced), and a reflection
// R = I - 2 v v' that hides the structure: u = R y.
//
// # Family Convex: sharp kinks, F convex
//
//	g(x, y) = sum_j d_j phi(u_j - t_j(x)),  t(x) = M x + s
//	f(x, y) = w' u + 1/2 sum_j q_j (u_j - tau_j)^2 + rho/2 |x|^2 + c' x
//
// with phi(r) = r^2/2 (or, Curved, plus log cosh r), and the row i reads a
// group G_i of entries of u, with coefficient one, disjoint from the other
// rows' groups. The rows being disjoint, the lower level is solved in closed
// form: with r_i(x) the value of row i at u = t(x) and s_i = sum 1/d_j over
// G_i,
//
//	lambda_i = r_i / s_i on links, max(r_i, 0) / s_i on floors,
//	u_j = t_j + lambda_i / d_j.
//
// Proof that x* is global: u_j(x) is affine in x where j belongs to a link or
// to no row, and convex (an affine function plus a positive multiple of
// max(r_i, 0)) where it belongs to a floor. w_j >= 0 and q_j = 0 on the
// latter, so F is convex, strongly so with modulus rho. c is chosen such that
// 0 is in dF(x*) + N_X(x*), where dF uses a fraction theta_i in [0.3, 0.7] of
// the gradient of max(r_i, 0) at each kink (r_i(x*) = 0, w > 0): x* is the
// unique global minimizer, and with enough kinks F is sharp there.
//
// # Family Slack: general rows, F convex or not
//
//	g(x, y) = 1/2 sum_j d_j u_j^2 + y' (P x + p)
//	f(x, y) = 1/2 |y - y*|^2 + rho/2 |x - x*|^2 + sum_i pi_i slack_i(x, y) + nu' (x - x*) + F*
//
// with rows that share entries of y. First x*, y*, lambda* and the slacks are
// drawn, then p (so that grad_y g = B' lambda* at the point) and l, e (so that
// the rows have the slacks). slack_i = -h_i >= 0 is the slack of floor i, with
// pi_i > 0 on the kinks; nu_j is of the sign of the bound of X that x*_j
// stands at, and 0 elsewhere.
//
// Proof that x* is global: y*(x) is feasible, so every slack at (x, y*(x)) is
// nonnegative, as is nu' (x - x*) on X: F(x) >= F*. At x* the KKT conditions
// hold, g is strongly convex, so y*(x*) = y*, the floors with pi_i > 0 are
// tight and F(x*) = F*. Equality needs x = x* (rho > 0), so x* is unique.
// Elsewhere F has the kinks of y*(x) and need not be convex. At x* a row with
// lambda* = 0 and slack 0, a biactive one, makes a kink: F rises steeply on the
// side where the row is inactive.
package planted

import (
	"fmt"
	"math"

	"bilevelc/ir/data"
	"bilevelc/runtime/problem"
)

// Family is a way to plant an optimum; see the package's documentation.
type Family uint8

// The families.
const (
	Convex Family = iota
	Slack
)

func (f Family) String() string { return [...]string{"convex", "slack"}[f] }

// ParseFamily is the family of that name.
func ParseFamily(name string) (Family, error) {
	for _, f := range []Family{Convex, Slack} {
		if f.String() == name {
			return f, nil
		}
	}
	return 0, fmt.Errorf("planted: no family %q; the families are convex and slack", name)
}

// Options choose an instance. Every instance is a function of its options
// alone.
type Options struct {
	Family Family
	Dx, Dy int // at least 1

	Links  int // equality rows
	Floors int // inequality rows
	// Of the floors at the optimum: Active have a positive multiplier; Kinks
	// have multiplier and slack 0 and make a kink of F; Weak have multiplier
	// and slack 0 and F does not feel them; the rest are inactive.
	Active, Kinks, Weak int
	// Implied is a number of further floors that follow from other rows with
	// a margin: redundant, never active.
	Implied int

	Bounds      bool    // every row reads one entry of y, so that floors are bounds
	Curved      bool    // Convex: g is not quadratic in y (one entry of u a row)
	UpperActive int     // entries of x* at a bound of X; X is all of R^Dx if 0
	Condition   float64 // of the Hessian of g in y, at least 1 (Curved: up to twice that)
	Seed        uint64
}

// Defaults are options of a small instance with every feature but the
// special structures.
func Defaults() Options {
	return Options{Family: Convex, Dx: 10, Dy: 20, Links: 2, Floors: 10, Active: 4, Kinks: 2, Weak: 1, Condition: 100, Seed: 1}
}

// maxEntries bounds the entries of an instance's matrices, (Dx + Dy) for each row
// and each entry of y: 800 MB of numbers.
const maxEntries = 100_000_000

// Validate reports the first option out of range.
func (o Options) Validate() error {
	for _, c := range []struct {
		name  string
		value int
	}{
		{"links", o.Links}, {"floors", o.Floors}, {"active", o.Active}, {"kinks", o.Kinks},
		{"weak", o.Weak}, {"implied", o.Implied}, {"upper active", o.UpperActive},
	} {
		if c.value < 0 {
			return fmt.Errorf("planted: %s is %d, less than 0", c.name, c.value)
		}
	}
	switch {
	case o.Family != Convex && o.Family != Slack:
		return fmt.Errorf("planted: unknown family %d", o.Family)
	case o.Dx < 1 || o.Dy < 1:
		return fmt.Errorf("planted: dimensions %d and %d; both must be at least 1", o.Dx, o.Dy)
	case o.Dx > maxEntries || o.Dy > maxEntries || o.Implied > maxEntries || (o.Dx+o.Dy)*(o.Dy+o.Implied) > maxEntries:
		return fmt.Errorf("planted: dimensions %d and %d with %d implied rows make matrices of more than %d entries", o.Dx, o.Dy, o.Implied, maxEntries)
	case o.Links+o.Floors > o.Dy:
		return fmt.Errorf("planted: %d links and %d floors are more rows than the %d entries of y; use implied rows for more", o.Links, o.Floors, o.Dy)
	case o.Active+o.Kinks+o.Weak > o.Floors:
		return fmt.Errorf("planted: %d active, %d kinked and %d weak rows are more than the %d floors", o.Active, o.Kinks, o.Weak, o.Floors)
	case o.Implied > 0 && o.Links+o.Floors == 0:
		return fmt.Errorf("planted: implied rows need other rows to follow from")
	case o.UpperActive > o.Dx:
		return fmt.Errorf("planted: %d entries of x at a bound, of %d", o.UpperActive, o.Dx)
	case !(o.Condition >= 1) || math.IsInf(o.Condition, 1):
		return fmt.Errorf("planted: condition %v; it must be finite and at least 1", o.Condition)
	case o.Curved && o.Family != Convex:
		return fmt.Errorf("planted: only the family convex can be curved")
	}
	return nil
}

// Activity is what a row is at the optimum.
type Activity uint8

// The activities of a row.
const (
	inactive Activity = iota // slack > 0, multiplier 0
	active                   // slack 0, multiplier > 0
	weak                     // slack 0, multiplier 0, and F does not feel it
	kink                     // slack 0, multiplier 0, and F has a kink there
	link                     // an equality row; its multiplier has any sign
)

func (a Activity) String() string {
	return [...]string{"inactive", "active", "weak", "kink", "link"}[a]
}

// Optimum is the planted solution, unique and global.
type Optimum struct {
	X        []float64  // len Dx
	Y        []float64  // len Dy: y*(X)
	Lambda   []float64  // len m: lambda*(X), in the order of Problem.Rows
	F        float64    // F(X)
	Activity []Activity // len m
}

// Instance is a problem with its optimum, as numbers and as a model.
type Instance struct {
	Options Options
	Problem *problem.Problem // hand-written functions with analytic gradients
	Optimum Optimum
	Model   string    // text of the same problem in the modeling language
	Data    *data.Set // the model's data; sparse matrices stay sparse

	convex *convexFunctions // nil for other families
}

// New generates the instance of the options.
func New(o Options) (*Instance, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Family == Slack {
		return newSlack(o), nil
	}
	return newConvex(o), nil
}

// Exact is the lower level solved in closed form at x, with the
// hypergradient.
type Exact struct {
	Y, Lambda []float64
	F         float64
	// Gradient of F; where a floor stands at multiplier 0 and slack 0, the
	// one-sided gradient of the side on which the row is inactive.
	Gradient []float64
}

// Exact solves the lower level at any x, to rounding. ok is false for
// families without a closed form.
func (in *Instance) Exact(x []float64) (exact Exact, ok bool) {
	if in.convex == nil {
		return Exact{}, false
	}
	return in.convex.exact(x), true
}
