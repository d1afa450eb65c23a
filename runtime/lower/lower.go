// Package lower solves the lower level at a fixed x: y*(x), its multipliers
// and its active set, with first-order access to g and explicit linear
// algebra on the rows. One file a method; each registers a Spec.
package lower

import (
	"context"
	"fmt"

	"bilevelc/internal/must"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
)

// Objective is a smooth function of y at a fixed x: g(x, .) itself, or the
// perturbed g + delta f of the oracles.
type Objective interface {
	Value(y []float64) float64
	ValueGrad(dst, y []float64) float64 // value, and gradient in dst (len Dy)
}

// Status is how a solve ended, apart from what its point is worth
// (Solution.Residuals and the bounds).
type Status uint8

// The statuses.
const (
	Solved     Status = iota // residuals within the tolerances
	Inaccurate               // stopped short of them; the residuals say by how much
	Infeasible               // no y satisfies the rows: Witness is a Farkas vector
	Unbounded                // g falls without bound along Witness
	Dependent                // equality rows depend on each other and disagree: Witness combines them
	Failed                   // a NaN, or no progress
	Stopped                  // the context ended
)

func (s Status) String() string {
	return [...]string{"solved", "inaccurate", "infeasible", "unbounded", "dependent rows", "numerical failure", "stopped"}[s]
}

// Solution is the lower level solved at one x.
type Solution struct {
	Status  Status
	Reason  string
	Y       []float64 // len Dy
	Lambda  []float64 // len m; >= 0 on AtMost rows
	Active  []int     // I: the Equal rows, and the AtMost rows with h_i = 0 and lambda_i > 0, ascending
	Value   float64   // g(x, Y)
	Witness []float64 // see Status; len m or Dy

	Residuals     problem.Residuals
	MinMultiplier float64 // smallest multiplier of an active AtMost row (+Inf if none)
	MinSlack      float64 // smallest -h_i of an inactive row (+Inf if none)
	Weak          []int   // rows with slack and multiplier both 0 to tolerance: strict complementarity fails
	Dependent     []int   // active rows whose gradients depend on the others: multipliers are not unique
	ErrorBound    float64 // certified |Y - y*| <= sqrt(2 gap / mu) where mu is known, but for rounding; +Inf otherwise
	// RoundingBound is what the rounding of the gradient leaves open of Y on its face, where curvatures
	// are so far apart that it was bounded; 0 elsewhere.
	RoundingBound float64

	// Working are the rows that the multipliers were computed from, ascending and
	// independent, and Sine is the least sine of the angle between one of them and those
	// before it, bounds first; nil and 0 where that is not known.
	Working []int
	Sine    float64

	// Sparse reports that a sparse solver found the solution: solves on its faces
	// then are sparse, too.
	Sparse bool

	// Lengths are those on which the gradient of an objective that is not quadratic
	// is curved, where they were measured: one, or one for each independent part.
	Lengths []float64

	// Memory is what is known by now of a Hessian that is the same at every x, for
	// the solves that start from this solution; nil otherwise.
	Memory *Memory

	shape *shape // of its rows: it saves the making of another

	plan *sparsePlan // of the sparse solver: it saves the making of another
}

// Solver solves the lower level. A Solver holds workspaces and is not safe
// for concurrent use.
type Solver interface {
	// Solve minimizes obj over the rows of p at x. warm may be nil, or an
	// earlier solution of p near by, which it does not change; of a Solution
	// without Y only the Memory counts.
	Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution
}

// Spec describes a lower solver.
type Spec struct {
	Name      string
	Summary   string // one sentence
	Reference string // where the method comes from: labels of the paper, or the literature
	Needs     Needs
	Settings  []method.Setting
	// New makes a solver with the defaults changed by values.
	New func(values method.Values) (Solver, error)
}

// Needs are the conditions under which a solver applies.
type Needs struct {
	StrongConvex   bool // a modulus mu_g > 0 is known
	QuadraticFixed bool // g is quadratic in y with a Hessian that does not depend on x
	SparseHessian  bool // the pattern of the Hessian of g in y is known
}

// Check returns an error that says why a solver with these needs does not
// apply to p, or nil.
func (n Needs) Check(solver string, p *problem.Problem) error {
	switch {
	case n.StrongConvex && !(p.Facts.StrongConvexity > 0):
		return fmt.Errorf("lower solver %s needs a proved modulus of strong convexity of g in y", solver)
	case n.QuadraticFixed && !(p.Facts.QuadraticInY && p.Facts.FixedHessian):
		return fmt.Errorf("lower solver %s needs g to be proved quadratic in y with a Hessian that does not depend on x", solver)
	case n.SparseHessian && p.Facts.HessianPattern == nil:
		return fmt.Errorf("lower solver %s needs a sparse Hessian of g in y, and more than half of its entries may be nonzero", solver)
	}
	return nil
}

// Default is the name of the default solver.
const Default = "alm"

var registry = method.Registry[Spec]{Kind: "lower solver"}

// register adds a solver with settings of type S, which build makes from the defaults
// changed by those settings that were given.
func register[S any](spec Spec, defaults S, build func(settings S) Solver) {
	spec.Settings = method.Describe(&defaults)
	spec.New = method.Maker(&defaults, func(settings S, _ method.Values) (Solver, error) { return build(settings), nil })
	registry.Register(spec.Name, spec)
}

// New makes the named solver for p with the defaults changed by values; what it solves of independent followers goes on at most `threads` of them at a
// time, of which the solution does not depend. The error says what is wrong with the name, the settings or the method's needs.
func New(name string, values method.Values, p *problem.Problem, threads int) (_ Solver, err error) {
	defer must.Catch(&err)
	spec := must.Get(Lookup(name))
	must.Do(spec.Needs.Check(name, p))
	if name == "sparse" {
		settings := defaultSparse()
		must.Do(method.Apply(&settings, values))
		return newSparse(settings, max(1, threads)), nil
	}
	return inUnits{must.Get(spec.New(values))}, nil
}

// Lookup returns the solver of that name; its error names what was meant.
func Lookup(name string) (Spec, error) { return registry.Lookup(name) }

// All lists the solvers, sorted by name.
func All() []Spec { return registry.All() }
