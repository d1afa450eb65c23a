package outer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// Sample is a point at which F has been evaluated, as methods keep it.
type Sample struct {
	X []float64 // len Dx
	F float64
	G []float64 // len Dx, nil where only the value was asked for
	// Piece names the smooth piece of F that holds X, by the rows of the lower
	// level that hold y (oracle.Point.Face); empty where that is not known.
	Piece  string
	Active []int   // those rows, ascending
	GError float64 // the oracle's estimate of |G - grad F|
	Terms  float64 // the size of what G is the sum of
	// Open reports that G is the gradient of a piece that F has on an open set
	// around At, a point next to X, or X itself where At is nil. Only gradients
	// taken at such points may enter a certificate.
	Open bool
	At   []float64
	Weak []int   // rows undecided at X: F may have a kink there
	Off  float64 `json:",omitempty"` // what F is known to at X (off)
}

// Where is a point around which F has the piece of G.
func (s *Sample) Where() []float64 {
	if s.At != nil {
		return s.At
	}
	return s.X
}

// Run is a method's view of the run: F, its random numbers, the best point.
type Run struct {
	Start       []float64 // projected onto X and D
	Rand        *rand.Rand
	Iteration   int
	Evaluations int

	h         oracle.Hyperobjective
	projector *qp.Projector
	source    *rand.PCG
	limits    Limits
	width     float64 // size of x over X, see Width
	slope     float64 // size of the terms of the first gradient that has any
	best      *Sample
	bestPoint *oracle.Point // of best, where it is still at hand
	before    problem.Calls // of the part of the run before it was resumed
	begun     bool          // the method has a state
	trace     Trace
	published *published
}

// newRun is a run on h whose random numbers are those of a seed.
func newRun(h oracle.Hyperobjective, start []float64, seed uint64) *Run {
	source := rand.NewPCG(seed, stream)
	return &Run{Start: start, Rand: rand.New(source), source: source, h: h, projector: h.Projector(), published: &published{}}
}

// limitError ends a run at a limit.
type limitError struct{ reason string }

func (e *limitError) Error() string { return e.reason }

// unboundedError ends a run whose F is far off and still improves by a part of itself. That shows no more than that it was followed so far: a ray shows that there is no bound.
type unboundedError struct{}

func (unboundedError) Error() string { return "F improves as far as it was followed" }

// Dim is Dx.
func (r *Run) Dim() int { return r.h.Dim() }

// Projector is the set X and D.
func (r *Run) Projector() *qp.Projector { return r.projector }

// Project sets dst to the nearest point of X and D.
func (r *Run) Project(dst, x []float64) error { return r.h.Project(dst, x) }

// Calls are the calls to f and g so far, those before a checkpoint from which the
// run goes on included.
func (r *Run) Calls() problem.Calls { return r.before.Add(r.h.Calls()) }

// check reports a limit or the end of the context.
func (r *Run) check(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.limits.Evaluations > 0 && r.Evaluations >= r.limits.Evaluations {
		return &limitError{fmt.Sprintf("%d evaluations of F", r.limits.Evaluations)}
	}
	if r.limits.Calls > 0 && r.Calls().Total() >= r.limits.Calls {
		return &limitError{fmt.Sprintf("%d calls to f and g", r.limits.Calls)}
	}
	return nil
}

// Value evaluates F at x, which it copies.
func (r *Run) Value(ctx context.Context, x []float64) (_ *Sample, err error) {
	defer must.Catch(&err)
	must.Do(r.check(ctx))
	r.Evaluations++
	pt := must.Get(r.h.Value(ctx, x))
	return r.see(pt)
}

// Gradient evaluates F and its gradient at x, which it copies. Where strict
// complementarity fails at x the gradient is that of a piece next to it.
func (r *Run) Gradient(ctx context.Context, x []float64) (_ *Sample, err error) {
	defer must.Catch(&err)
	pt := must.Get(r.Point(ctx, x))
	return r.see(pt)
}

// Try is Gradient at the projection of x onto X and D, which it leaves in x; nil where F has no value there.
func (r *Run) Try(ctx context.Context, x []float64) (s *Sample, err error) {
	if err = r.Project(x, x); err == nil {
		s, err = r.Gradient(ctx, x)
	}
	if err != nil && Outside(err) {
		return nil, nil
	}
	return s, err
}

// Point is Gradient in full.
func (r *Run) Point(ctx context.Context, x []float64) (*oracle.Point, error) {
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	r.Evaluations++
	pt, err := r.h.Value(ctx, x)
	switch {
	case err != nil:
		return nil, err
	case pt.Strict:
		return pt, r.h.Complete(ctx, pt)
	}
	return pt, r.generic(ctx, pt)
}

// ActiveSetChange is the jump of the gradient of F at a sample where one row changes its state
// (oracle.Hyper.ActiveSetChange); nil where the row does not change alone. It counts as an evaluation.
func (r *Run) ActiveSetChange(ctx context.Context, at *Sample, row int) ([]float64, error) {
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	r.Evaluations++
	jumps, err := r.h.ActiveSetChange(ctx, &oracle.Point{X: at.X, F: at.F, Grad: at.G, Face: at.Active}, row)
	if errors.Is(err, oracle.ErrNoChange) {
		return nil, nil
	}
	return jumps, err
}

func (r *Run) see(pt *oracle.Point) (*Sample, error) {
	s := sampleOf(pt)
	// What is below its own error says nothing of the size of gradients.
	if size := math.Max(linalg.Norm(s.G), pt.Terms); r.slope == 0 && s.G != nil && size > s.GError {
		r.slope = size
	}
	if r.best == nil || s.F+s.Off < r.best.F+r.best.Off || (s.F == r.best.F && r.best.G == nil) {
		r.best, r.bestPoint = s, pt
	}
	r.published.evaluation(r)
	if r.falls(s) {
		return nil, unboundedError{}
	}
	return s, nil
}

// off is what F is known to at a point whose lower level is not solved to its tolerance; 0 elsewhere. The lowest F that is known is the best: an answer that is none may have any.
func off(pt *oracle.Point) float64 {
	if pt.Lower == nil || pt.Lower.Status != lower.Inaccurate {
		return 0
	}
	return math.Min(pt.FError, math.MaxFloat64)
}

// sampleOf is a point as a sample.
func sampleOf(pt *oracle.Point) *Sample {
	s := &Sample{X: pt.X, F: pt.F, G: pt.Grad, Terms: pt.Terms, Piece: piece(pt), Open: pt.Open, At: pt.At, Off: off(pt)}
	if pt.Lower != nil {
		s.Active, s.Weak = pt.Face, pt.Undecided
	}
	if pt.Grad != nil && !math.IsInf(pt.GradError, 0) && !math.IsNaN(pt.GradError) {
		s.GError = pt.GradError
	}
	return s
}

// piece names the smooth piece of a point.
func piece(pt *oracle.Point) string {
	if pt.Lower == nil {
		return ""
	}
	b := make([]byte, 0, 4*len(pt.Face)+1)
	b = append(b, 'I')
	for _, i := range pt.Face {
		b = fmt.Appendf(b, " %d", i)
	}
	return string(b)
}

// Outside reports an error that says that F has no usable value at the point
// alone, or that the point could not be projected: a trial there has failed, the
// run has not.
func Outside(err error) bool {
	return errors.As(err, new(*oracle.InfeasibleError)) || errors.As(err, new(*oracle.UnboundedError)) || errors.As(err, new(*oracle.LowerError)) || errors.As(err, new(*qp.StalledError))
}

// Direction fills dst with a direction drawn uniformly from the unit sphere.
func (r *Run) Direction(dst []float64) {
	for {
		s := 0.0
		for j := range dst {
			dst[j] = r.Rand.NormFloat64()
			s += dst[j] * dst[j]
		}
		if s > 0 {
			for j := range dst {
				dst[j] /= math.Sqrt(s)
			}
			return
		}
	}
}
