package runtime

import (
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
	"bilevelc/runtime/document"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
	"bilevelc/runtime/system"
)

// SchemaVersion is the version of the result document.
const SchemaVersion = document.SchemaVersion

// Status tells why a run ended, apart from what its point is worth.
type Status = status.Status

// The statuses (package status says what each means). The best point found
// comes with every one of them.
const (
	Solved           = status.Solved
	LimitReached     = status.LimitReached
	BudgetSpent      = status.BudgetSpent
	Infeasible       = status.Infeasible
	Unbounded        = status.Unbounded
	NumericalFailure = status.NumericalFailure
	Interrupted      = status.Interrupted
)

// The parts of a result document: package document says what each holds.
type (
	Value            = document.Value
	Values           = document.Values
	Axis             = document.Axis
	Number           = document.Number
	UpperResult      = document.UpperResult
	LowerResult      = document.LowerResult
	FollowerResult   = document.FollowerResult
	Equivalent       = document.Equivalent
	Ties             = document.Ties
	SafePoint        = document.SafePoint
	Global           = document.Global
	BoundPoint       = document.BoundPoint
	Residuals        = document.Residuals
	Stationarity     = document.Stationarity
	Budget           = document.Budget
	StartResult      = document.StartResult
	TracePoint       = document.TracePoint
	GradientCheck    = document.GradientCheck
	EntrySensitivity = document.EntrySensitivity
	Rates            = document.Rates
	Phases           = document.Phases
	Inputs           = document.Inputs
	ConstraintRow    = document.ConstraintRow
	TextOptions      = document.TextOptions

	// Calls to the oracles of f and g over a whole run.
	Calls = problem.Calls
)

// Result is the result document with what a run knows beyond it.
type Result struct {
	document.Result
	// Checkpoint is where to go on from; nil where the run, every start of it and the search for the global optimum, came
	// to its end, or where its state cannot be written down, which a note says.
	Checkpoint *Checkpoint `json:"-"`
	// Diagnostics say where in the model the cause of a failure is.
	Diagnostics diag.List `json:"-"`

	rewind  func() (*Checkpoint, error)
	tree    *system.Proof // for WriteProof; nil where there is none
	endless bool          // the run on the KKT system found F to fall on and on: no other way finds more
}

// sign is that of F, minimized, in the result's own sense.
func (r *Result) sign() float64 {
	_, sign := senseOf(r.Upper.Sense == "maximize")
	return sign
}

// ReadResult reads a result document.
func ReadResult(text []byte) (_ *Result, err error) {
	defer must.Catch(&err)
	return &Result{Result: *must.Get(document.Read(text))}, nil
}

// Rewind is the state of a run before its last iterations, whether or not it came
// to its end: a run resumed from it gives the same result again. It serves where a
// result cannot be delivered. It is nil for results that were read or evaluated.
func (r *Result) Rewind() (*Checkpoint, error) {
	if r.rewind == nil {
		return nil, nil
	}
	return r.rewind()
}

// EntryName is the name of entry k (from 0, row-major) of a value, as rows are named: travel,
// cap[3], flow[2, 1], flow["Rome", "Oslo"].
func EntryName(v Value, k int) string { return document.EntryName(v, k) }

// ByLabel is a value that is given by label, as in JSON {"Rome": {"Oslo": 3}}; it takes its
// shape where it meets its declaration.
func ByLabel(name string, k *data.Keyed) Value { return document.ByLabel(name, k) }
