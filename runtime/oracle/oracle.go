// Package oracle evaluates the hyperobjective F(x) = f(x, y*(x)) and its
// (approximate) gradient with first-order access to f and g alone. One file a
// method; each registers a Spec.
//
// Input is a problem.Problem, a lower solver and a method; output are Points.
// Sign conventions are those of package problem: h = A x - B y - b, Lagrangian
// g + lambda'h, so that the part of its gradient in x that comes from the rows
// is A'lambda, and grad_y g = B'lambda at a lower solution.
package oracle

import (
	"context"
	"fmt"

	"bilevelc/runtime/central"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// Point is what is known of F at one x. Its slices are its own.
type Point struct {
	X     []float64 // len Dx
	F     float64   // f(x, y~)
	Grad  []float64 // len Dx; nil where only a value was asked for
	Lower *lower.Solution
	// Face is the rows whose piece of F the gradient is of: Lower.Active, and
	// those weak rows that hold y, by however small a multiplier; and m + i for each
	// coupled constraint i that is positive.
	Face []int
	// Coupled are the values of the coupled constraints, and Penalty what they add
	// to F.
	Coupled []float64
	Penalty float64
	// FError and GradError are the oracle's own estimates of |F~ - F| and
	// |Grad - grad F(x)|. They are estimates, not bounds, unless the modulus of
	// strong convexity and L_f are proved, when FError is a bound.
	FError, GradError float64
	Terms             float64 // of Grad, see At
	// Strict reports that strict complementarity holds at X with a margin above
	// the errors of y and lambda, so that F is differentiable there. Margin is the
	// least slack or multiplier over its error, +Inf where no row is an inequality,
	// and Undecided the rows, ascending, for which it is below 1.
	Strict    bool
	Margin    float64
	Undecided []int
	// Open reports that Grad is the gradient of a smooth piece that F has on an
	// open set around the point At, which is next to X, or around X where At is nil.
	// Without it Grad is the gradient of some face, which need not have anything to
	// do with F.
	Open bool
	At   []float64
}

// Hyperobjective is F as the outer methods see it. Points outside the set
// where the lower level is feasible give an *InfeasibleError.
type Hyperobjective interface {
	Dim() int
	Value(ctx context.Context, x []float64) (*Point, error)
	Gradient(ctx context.Context, x []float64) (*Point, error)
	// Complete adds the gradient to a point that Value has made.
	Complete(ctx context.Context, pt *Point) error
	// ActiveSetChange is the jump of a point's gradient where one row changes its state; ErrNoChange where it
	// cannot.
	ActiveSetChange(ctx context.Context, pt *Point, row int) ([]float64, error)
	// Project sets dst to the nearest point of X and { x : some y is
	// feasible }, both polyhedra (and balls), which Projector describes.
	Project(dst, x []float64) error
	Projector() *qp.Projector
	// Problem is what F is of, and Calls those to f and g so far.
	Problem() *problem.Problem
	Calls() problem.Calls
	// Central is the path of the lower level's central points, nil where there is none; Recalls
	// reports whether it can be made of what lower solves have learned.
	Central(recalled bool) *central.Path
	Recalls() bool
	// Snapshot is what later results depend on beside their arguments: warm starts and
	// what was learned. EncodeSnapshot writes it down, and Restore goes on from there.
	// Fits reports what keeps a point that was written down from being one of F.
	Snapshot() any
	EncodeSnapshot(snapshot any) ([]byte, error)
	Restore(encoded []byte) error
	Fits(pt *Point) error
}

var _ Hyperobjective = (*Hyper)(nil)

// At is a lower level solved at one x, from which an oracle makes a gradient.
type At struct {
	Problem *problem.Problem
	Solver  lower.Solver
	X       []float64
	Lower   *lower.Solution
	Face    []int // rows held as equalities, ascending; see Point. nil: Lower.Active
	// Terms is set by Gradient: the size of the terms that the gradient is the sum of,
	// grad_x f and what y and lambda bring, which may cancel.
	Terms float64

	sizeY float64 // see size; 0 until it is asked for
}

// held is the rows that the gradient holds as equalities.
func (at *At) held() []int {
	if at.Face == nil {
		return at.Lower.Active
	}
	return at.Face
}

// Oracle is one way to a hypergradient. An Oracle holds workspaces and is not
// safe for concurrent use; what it returns depends on its arguments alone, not
// on earlier calls.
type Oracle interface {
	// Gradient sets dst (len Dx) to an approximation of grad F at the point
	// and returns an estimate of its error in the Euclidean norm.
	Gradient(ctx context.Context, dst []float64, at *At) (gradError float64, err error)
}

// Spec describes an oracle.
type Spec struct {
	Name      string
	Summary   string               // one sentence
	Reference string               // labels of the paper, or the literature
	Assumes   []problem.Assumption // what its theory needs
	// Multipliers says that f may read multipliers of the lower level, and that the
	// upper level may have coupled constraints.
	Multipliers bool
	Settings    []method.Setting
	// New makes an oracle with the defaults changed by values.
	New func(values method.Values) (Oracle, error)
}

// Check returns an error that says why the oracle does not apply to p, or nil.
func (s *Spec) Check(p *problem.Problem) error {
	if s.Multipliers {
		return nil
	}
	if len(p.Duals) > 0 {
		return fmt.Errorf("oracle %s cannot differentiate an upper objective that reads multipliers (`dual`): use face, difference or value", s.Name)
	}
	if p.Coupled != nil {
		return fmt.Errorf("oracle %s cannot differentiate upper constraints that read the lower level or are curved: use face, difference or value", s.Name)
	}
	return nil
}

// Default is the name of the default oracle.
const Default = "face"

var registry = method.Registry[Spec]{Kind: "oracle"}

// register adds an oracle with settings of type S, which build makes from the defaults
// changed by those settings that were given.
func register[S any](spec Spec, defaults *S, build func(settings S) Oracle) {
	spec.Settings = method.Describe(defaults)
	spec.New = method.Maker(defaults, func(settings S, _ method.Values) (Oracle, error) { return build(settings), nil })
	registry.Register(spec.Name, spec)
}

// Lookup returns the oracle of that name; its error names what was meant.
func Lookup(name string) (Spec, error) { return registry.Lookup(name) }

// All lists the oracles, sorted by name.
func All() []Spec { return registry.All() }
