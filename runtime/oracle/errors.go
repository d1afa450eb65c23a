package oracle

import (
	"fmt"
	"strings"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// InfeasibleError says that the lower level has no feasible y at X.
type InfeasibleError struct {
	X      []float64
	Farkas []float64 // len m, see lower.Infeasible
	Rows   []string  // the rows that contradict each other
}

func (e *InfeasibleError) Error() string {
	if len(e.Rows) == 0 {
		return "the lower level has no feasible point"
	}
	return "the lower level has no feasible point: " + strings.Join(e.Rows, ", ") + " contradict each other"
}

// UnboundedError says that g falls without bound over the feasible y at X.
type UnboundedError struct {
	X         []float64
	Direction []float64 // len Dy
}

func (e *UnboundedError) Error() string { return "the lower level is unbounded below" }

// LowerError says that the lower level could not be solved at X for a
// numerical reason.
type LowerError struct {
	X      []float64
	Status lower.Status
	Reason string
}

func (e *LowerError) Error() string {
	return fmt.Sprintf("the lower level was not solved (%s): %s", e.Status, e.Reason)
}

// lowerError turns the status of a lower solution into the error it means, or
// nil for a usable point. A stopped solve is the context's error, which the
// caller has.
func lowerError(p *problem.Problem, x []float64, s *lower.Solution) error {
	at := append([]float64(nil), x...)
	switch s.Status {
	case lower.Solved, lower.Inaccurate:
		return nil
	case lower.Infeasible, lower.Dependent:
		e := &InfeasibleError{X: at, Farkas: s.Witness}
		for i, u := range s.Witness {
			if u != 0 && i < p.Rows.Len() {
				e.Rows = append(e.Rows, p.Rows.RowName(i))
			}
		}
		return e
	case lower.Unbounded:
		return &UnboundedError{X: at, Direction: s.Witness}
	}
	return &LowerError{X: at, Status: s.Status, Reason: s.Reason}
}
