// Package document is the result document: what is known of a solved or evaluated model,
// as data under the model's own names, in JSON under a seal, and as text for people.
package document

import (
	"fmt"
	"math"
	"strings"

	"bilevelc/runtime/certify"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// SchemaVersion is the version of the result document. It grows when a field
// changes its meaning or goes away; new fields do not change it.
const SchemaVersion = 1

// Result is the result document: everything known about a solved, or
// evaluated, model, under the model's own names and in the user's own sense
// of each objective. Its JSON form is versioned and stable.
type Result struct {
	Schema int           `json:"schema"`
	Model  string        `json:"model"`
	Status status.Status `json:"status"`
	Reason string        `json:"reason"`
	Seed   uint64        `json:"seed"`
	Method string        `json:"method,omitempty"` // outer method; empty for an evaluation
	Oracle string        `json:"oracle"`

	Upper UpperResult `json:"upper"`
	Lower LowerResult `json:"lower"`

	// Global is what is known of the global optimum; nil where nobody has looked.
	Global *Global `json:"global,omitempty"`

	Residuals    Residuals    `json:"residuals"`
	Stationarity Stationarity `json:"stationarity"`
	Calls        Calls        `json:"calls"`
	// Verification are the calls with which a run checked its own result, beyond Calls.
	Verification *Calls `json:"verification,omitempty"`
	Report       Values `json:"report"`

	Starts      []StartResult        `json:"starts,omitempty"`
	Trace       []TracePoint         `json:"trace,omitempty"` // of the start that is returned; its times are in Phases
	Settings    map[string]any       `json:"settings,omitempty"`
	Parameters  map[string]Number    `json:"parameters,omitempty"` // what the method derived from its targets
	Budget      *Budget              `json:"budget,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
	Certificate *certify.Certificate `json:"certificate,omitempty"`
	Check       *GradientCheck       `json:"gradient_check,omitempty"`
	Sensitivity []EntrySensitivity   `json:"sensitivity,omitempty"` // of an evaluation, where it was asked for
	Iterations  int                  `json:"iterations"`
	Time        float64              `json:"time"` // seconds, of all phases
	Phases      Phases               `json:"phases"`
	Version     string               `json:"version"`
	Digest      string               `json:"digest"`           // SHA-256 of the model's text and its data
	Inputs      *Inputs              `json:"inputs,omitempty"` // where they came from
	Seal        string               `json:"seal"`             // of all the rest of the document but its times; set when it is written
	read        bool                 // from a document
	broken      bool                 // its seal did not hold
}

// noPoint is the lower status of a result without a point of F.
const noPoint = "none"

// HasPoint reports whether the result holds a point of F: an upper point with
// the lower level solved at it.
func (r *Result) HasPoint() bool { return r.Lower.Status != noPoint }

// NoPoint makes r a result without a point of F: what is known at one is NaN.
func (r *Result) NoPoint() {
	none := Number(math.NaN())
	r.Upper.Objective, r.Lower.Objective, r.Lower.Status = none, none, noPoint
	r.Lower.MinMultiplier, r.Lower.MinSlack, r.Lower.ErrorBound = none, none, none
	r.Residuals = Residuals{none, none, none, none, none, nil}
	r.Stationarity.Value, r.Stationarity.GradientError = none, none
}

// UpperResult is the leader's side.
type UpperResult struct {
	Objective     Number `json:"objective"`
	Sense         string `json:"sense"` // minimize or maximize; Objective and Hypergradient are in it
	Variables     Values `json:"variables"`
	Hypergradient Values `json:"hypergradient"`
	// AtBounds are the entries of the variables at a bound of X: "toll[2] lower".
	// Where both bounds are one number the entry is "fixed".
	AtBounds []string `json:"at_bounds,omitempty"`
	// Free are the entries that no objective and no constraint depends on: their values
	// mean nothing.
	Free []string `json:"free,omitempty"`
	// Residuals of the constraints that are not part of X, because they read the
	// lower level or are curved: c <= 0 or = 0, positive is violated. Multipliers are
	// of the Lagrangian of the minimized objective, >= 0 on inequalities, as the
	// certificate shows them, and Penalty the weights of the exact penalty under
	// which the run ended. Absent without such constraints.
	Residuals   Values `json:"residuals,omitempty"`
	Multipliers Values `json:"multipliers,omitempty"`
	Penalty     Values `json:"penalty,omitempty"`
}

// FollowerResult is the part of one follower by name: of one for each
// combination of its indices, where it has some. Objective has one value, called
// like the follower.
type FollowerResult struct {
	Name        string `json:"name"`
	Sense       string `json:"sense"` // minimize or maximize; Objective is in it
	Objective   Values `json:"objective"`
	Variables   Values `json:"variables"`
	Multipliers Values `json:"multipliers"`
}

// Sides are the entries of AtBounds with their sides: lower, upper or fixed.
func (u *UpperResult) Sides() map[string]string {
	out := map[string]string{}
	for _, at := range u.AtBounds {
		if k := strings.LastIndexByte(at, ' '); k >= 0 {
			out[at[:k]] = at[k+1:]
		}
	}
	return out
}

// Equivalent is the objective that was minimized in the place of the follower's own, at the result's point, with the multipliers of the rows that were solved with.
type Equivalent struct {
	Objective   Number `json:"objective"` // minimized
	Multipliers Values `json:"multipliers"`
}

// LowerResult is the follower's side at the upper point. Multipliers are >= 0
// on inequalities in the user's direction, of either sense.
type LowerResult struct {
	Objective Number `json:"objective"`
	Sense     string `json:"sense"`
	Solver    string `json:"solver"`
	// Curvature says that gradient differences of g were kept between solves
	// and used as its Hessian in y, which was proved not to move: "recycled" by
	// alm (setting recycle), "recovered" by quadratic. Empty where every solve
	// stood alone.
	Curvature string `json:"curvature,omitempty"`
	Status    string `json:"status"`
	// Ties is there where the follower is not strongly convex; Objective is then its
	// own, without what was added to it.
	Ties      *Ties  `json:"ties,omitempty"`
	Variables Values `json:"variables"`
	// Units are powers of two by which y is divided where it is solved for: in them its
	// entries curve g alike. ErrorBound, the modulus and the distance of the certificate, and
	// the stationarity among the residuals are then about y over them. Left out where all are 1.
	Units       Values `json:"units,omitempty"`
	Multipliers Values `json:"multipliers"`
	// Equivalent is there where the objective is an increasing function of a simpler one, which was minimized in its place, or equality rows that nearly depend on others were combined with
	// them: both have the same best answers. The certificate, the residuals but for those by constraint, MinMultiplier, ErrorBound and Ties' loss are then about that one.
	Equivalent *Equivalent `json:"equivalent,omitempty"`
	// Followers are the followers that have names, each with its part of the
	// above; Objective is then the sum of theirs.
	Followers []FollowerResult `json:"followers,omitempty"`
	// Active are rows that hold with equality and a positive multiplier, and all
	// equalities; two inequalities without room between them, as of a box from a
	// number to itself, are one equality, of which both are named.
	Active []string `json:"active"`
	Weak   []string `json:"weak"` // rows with slack and multiplier both zero: F may have a kink here
	// Dependent are active rows whose gradients depend on those of the others: their multipliers are not unique.
	Dependent []string `json:"dependent,omitempty"`
	// MinMultiplier and MinSlack are the margin of strict complementarity.
	MinMultiplier Number `json:"min_multiplier"`
	MinSlack      Number `json:"min_slack"`
	ErrorBound    Number `json:"error_bound"` // certified |y - y*| over Units, Infinity where no modulus is proved
}

// States are the rows that hold, by name: active, weak or dependent.
func (l *LowerResult) States() map[string]string {
	out := map[string]string{}
	for _, list := range []struct {
		state string
		rows  []string
	}{{"active", l.Active}, {"weak", l.Weak}, {"dependent", l.Dependent}} {
		for _, name := range list.rows {
			out[name] = list.state
		}
	}
	return out
}

// Residuals are the document's form of problem.Residuals, with those of x in X
// and of each constraint (h <= 0 or = 0; positive is violated) by name.
type Residuals struct {
	Stationarity    Number `json:"stationarity"`
	Primal          Number `json:"primal"`
	Dual            Number `json:"dual"`
	Complementarity Number `json:"complementarity"`
	Upper           Number `json:"upper"`
	Constraints     Values `json:"constraints"`
}

// Text are the residuals of the follower's conditions in words.
func (r Residuals) Text() string {
	return fmt.Sprintf("stationarity %s, primal %s, dual %s, complementarity %s", r.Stationarity.Brief(), r.Primal.Brief(), r.Dual.Brief(), r.Complementarity.Brief())
}

// Stationarity is the outer method's measure at the returned point.
type Stationarity struct {
	Measure string `json:"measure"` // what Value is
	Value   Number `json:"value"`
	Delta   Number `json:"delta,omitempty"` // radius of the Goldstein subdifferential
	// GradientError is an estimate of the error of the hypergradient: the oracle's own, and what the error of the follower's answer makes of it.
	GradientError Number `json:"gradient_error"`
	Strict        bool   `json:"strict_complementarity"`
}

// Calls to the oracles of f and g over the whole run.
type Calls = problem.Calls

// Budget is what the method's theorem predicted before the run, and what the
// run took.
type Budget struct {
	Iterations  Number `json:"iterations"`
	Evaluations Number `json:"evaluations"` // of F or its gradient
	Basis       string `json:"basis"`       // the theorem and the constants used
	Actual      int    `json:"actual_evaluations"`
}

// StartResult is one of several starts.
type StartResult struct {
	Objective Number `json:"objective"`
	// Penalty is what the run added to F, in the sense that is minimized, for upper constraints
	// that do not hold exactly where the start ended: starts are compared with it.
	Penalty Number        `json:"penalty,omitempty"`
	Status  status.Status `json:"status"`
	Reason  string        `json:"reason"`
}

// TracePoint is how far a run had come after an iteration: all of them for a short
// run, evenly spaced ones for a long one. Objectives are in the user's sense. Where
// upper constraints are not part of X they hold the penalty of the last round, and
// where a run has stages the trace is of the last one.
type TracePoint struct {
	Iteration int    `json:"iteration"`
	Objective Number `json:"objective"` // at the iterate
	Best      Number `json:"best"`
	Step      Number `json:"step"`    // length of the last step
	Measure   Number `json:"measure"` // the method's stationarity measure, or an estimate of it
	Calls     int64  `json:"calls"`   // to f, grad f, g and grad g together
}

// GradientCheck compares the oracle's hypergradient with finite differences
// of F.
type GradientCheck struct {
	Difference Values `json:"difference"` // finite-difference gradient
	Error      Number `json:"error"`      // |oracle - difference|
	Relative   Number `json:"relative"`
}
