// Package outer minimizes the hyperobjective F over X and the set D where the
// lower level is feasible. One file a method; each registers a Spec.
//
// Input is an oracle.Hyperobjective, a method and Options; output is a Result:
// why the run ended, apart from the best point found, its stationarity measure
// with a certificate, and what was spent. Every random number comes from one
// seed; results do not depend on time or threads. A run that is interrupted
// gives a Checkpoint from which it goes on as if it had never stopped.
package outer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// Limits of a run; zero means none.
type Limits struct {
	Iterations  int
	Evaluations int   // values and gradients of F
	Calls       int64 // calls to f, grad f, g and grad g together
	// Gain, where it is above 0, ends a run that is a step on the way to another one: done,
	// without a certificate, as soon as its last gainsOver iterations have lowered the
	// least F by less than this. Nor does it look for lower points elsewhere: the last one does.
	Gain float64
}

// gainsOver is over how many iterations a gain is measured: a search that turns a corner
// may gain nothing for a few.
const gainsOver = 8

// Progress is what an Observer sees after an iteration.
type Progress struct {
	Iteration int
	F         float64 // at the iterate
	Best      float64 // least F seen
	Step      float64 // length of the last step
	Measure   float64 // the method's stationarity measure, or an estimate of it
	Calls     problem.Calls
	X         []float64 // the iterate; not to be changed or kept
}

// Observer is told about every iteration. It runs on the solver's goroutine.
type Observer func(Progress)

// Options of a run.
type Options struct {
	Start    []float64 // len Dx; it is projected onto X and D
	Seed     uint64
	Limits   Limits
	Cost     float64  // how many numbers a call of f or g reads, about; 0: not known
	Observer Observer // may be nil
	// Announce, where not nil, is told the method's prediction before the run.
	Announce func(*Budget)
	Resume   *Checkpoint // may be nil; Start and Seed are then not used
	// Keep, where not nil, is given the state of the run now and then: between two
	// iterations, when Every has passed since the last time. It runs on the solver's
	// goroutine and changes nothing of the run.
	Keep  func(*Checkpoint)
	Every time.Duration
}

// Result of a run.
type Result struct {
	Status status.Status
	Reason string
	// Best is the best point seen, with its gradient; nil where no point of F
	// could be evaluated.
	Best *oracle.Point
	// Sampled is the point that the method's theorem speaks of, where it is
	// one drawn at random over the iterates; nil otherwise.
	Sampled     *oracle.Point
	Certificate *Certificate // of Best; nil where it could not be made
	Measure     Measure
	Iterations  int
	Evaluations int
	Predicted   *Budget // the method's prediction, made before the run; nil where it makes none
	Parameters  map[string]float64
	Trace       Trace
	Start       []float64     // where the run began: Options.Start projected onto X and D
	Calls       problem.Calls // of the whole run, that before a checkpoint included, and of what was measured at its end

	name  string
	last  *snapshot
	ended *Ended  // where that is all that is kept of the run
	noise float64 // difference in F at Best that means nothing
}

// State is the state of the run before its last iteration, the one that ended it
// or that was not finished; nil where none was begun. A run resumed from it ends
// as this one did, or goes on where this one was kept from it.
func (r *Result) State() (*Checkpoint, error) {
	if r.last == nil {
		return nil, nil
	}
	return r.last.encode(r.name)
}

// The measures of stationarity by name, each with its certificate.
const (
	GoldsteinMeasure = "norm of the smallest element of the Goldstein subdifferential plus the normal cone"
	MappingMeasure   = "norm of the gradient mapping"
)

// Measure is a method's stationarity measure at the best point.
type Measure struct {
	Name  string
	Value float64
	Delta float64 // radius of the Goldstein subdifferential; 0 where it has none
}

// String says what was measured.
func (m Measure) String() string {
	switch {
	case m.Name == "none" || m.Name == "":
		return "nothing was measured at the best point"
	case m.Delta > 0:
		return fmt.Sprintf("measured at the best point, within %.3g of it: %s %.3g", m.Delta, m.Name, m.Value)
	}
	return fmt.Sprintf("measured at the best point: %s %.3g", m.Name, m.Value)
}

// Budget is what a theorem, or a rule, says a run takes.
type Budget struct {
	Iterations  float64
	Evaluations float64
	Basis       string // the theorem and the constants used
	// Chosen reports that the budget was set by hand, not derived.
	Chosen bool
}

// Method is one outer method. A Method serves one run at a time. Its state
// between steps is a value that JSON holds without loss, whose slices are
// never changed in place, so that a copy of it is a snapshot.
type Method interface {
	// Begin prepares at run.Start, a point of X and D.
	Begin(ctx context.Context, run *Run) error
	// Predict is what the run will take, asked once after Begin; nil where there is
	// nothing to go by.
	Predict(run *Run) *Budget
	// Step does one iteration. A nonempty reason says that the method has met
	// its target; a spent error, that its theorem's budget is used up.
	Step(ctx context.Context, run *Run) (reason string, err error)
	// Iterate describes the state for observers.
	Iterate() (x []float64, f, step, measure float64)
	// Snapshot returns the state, and Restore sets it from its JSON form; see Keeps.
	Snapshot() any
	Restore(state json.RawMessage) error
	// Valid reports what keeps a restored state from being one of a problem of these
	// Dimensions.
	Valid(d Dimensions) error
	// Finish fills in what the method adds to a result whose Best is set:
	// measure, certificate, sampled point. It is called once, at the end.
	Finish(ctx context.Context, run *Run, result *Result) error
}

// Spec describes an outer method.
type Spec struct {
	Name      string
	Summary   string               // one sentence
	Reference string               // labels of the paper, or the literature
	Assumes   []problem.Assumption // what its theory needs
	Settings  []method.Setting
	// New makes a method with the defaults changed by values.
	New func(values method.Values) (Method, error)
}

var registry = method.Registry[Spec]{Kind: "outer method", Also: []string{"pieces"}} // on the KKT system, by package runtime itself

// Register adds a method with settings of type S. build makes it from the defaults,
// changed by those settings that were given.
func Register[S any](spec Spec, defaults *S, build func(settings S, given method.Values) (Method, error)) {
	spec.Settings = method.Describe(defaults)
	spec.New = method.Maker(defaults, build)
	registry.Register(spec.Name, spec)
}

// Keeps is embedded in a method: its state, which JSON holds, and no prediction.
type Keeps[S any] struct{ State S }

// Snapshot implements Method.
func (k *Keeps[S]) Snapshot() any { return k.State }

// Restore implements Method.
func (k *Keeps[S]) Restore(state json.RawMessage) error { return json.Unmarshal(state, &k.State) }

// Predict implements Method.
func (k *Keeps[S]) Predict(*Run) *Budget { return nil }

// Lookup returns the method of that name; its error names what was meant.
func Lookup(name string) (Spec, error) { return registry.Lookup(name) }

// All lists the methods, sorted by name.
func All() []Spec { return registry.All() }

// Default is the method for a problem where none is named: quasi-Newton steps
// where F is smooth, as f is and rows are equations, gradient sampling elsewhere (package paper).
func Default(p *problem.Problem, smooth bool) string {
	if p.HasInequalities() || p.Coupled != nil || !smooth {
		return "goldstein"
	}
	return "bfgs"
}
