package runtime

import (
	"context"
	"errors"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/status"
)

// StatusError is the end of a run, or of an evaluation, that is not "solved", as an
// error. errors.Is compares it by its status with ErrInfeasible and its kind.
type StatusError struct {
	Status Status
	Reason string
	Err    error // the cause, where one is known
}

// The statuses as errors.
var (
	ErrLimitReached     = &StatusError{Status: LimitReached}
	ErrBudgetSpent      = &StatusError{Status: BudgetSpent}
	ErrInfeasible       = &StatusError{Status: Infeasible}
	ErrUnbounded        = &StatusError{Status: Unbounded}
	ErrNumericalFailure = &StatusError{Status: NumericalFailure}
	ErrInterrupted      = &StatusError{Status: Interrupted}
)

func (e *StatusError) Error() string {
	if e.Reason == "" || e.Reason == e.Status.String() {
		return e.Status.String()
	}
	return e.Status.String() + ": " + e.Reason
}

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error { return e.Err }

// Is reports that target is a StatusError of the same status.
func (e *StatusError) Is(target error) bool {
	t, ok := target.(*StatusError)
	return ok && t.Status == e.Status && t.Reason == ""
}

// Err is nil for a result that is solved, and a *StatusError for any other; the point
// that it holds may be good for something all the same (HasPoint).
func (r *Result) Err() error {
	if r.Status == Solved {
		return nil
	}
	e := &StatusError{Status: r.Status, Reason: r.Reason}
	if err := r.Diagnostics.Err(); err != nil {
		e.Err = err
	}
	return e
}

// outcome is an error at a point as the status it means.
func outcome(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err == nil || cause != nil && errors.Is(err, cause) {
		return err
	}
	var broken *oracle.LowerError
	how := statusAt(err)
	if how == status.Running || errors.As(err, &broken) && broken.Status == lower.Stopped {
		return err
	}
	return &StatusError{Status: how, Reason: err.Error(), Err: err}
}
