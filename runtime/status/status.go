// Package status holds how a run can end: one enumeration for the outer
// methods, the result document and the command line, with its words and exit
// codes in one table.
//
// The ends of a single lower solve (lower.Status) and of a quadratic program
// (qp.Status) are another concept and stay apart: they say what is true of one
// inner problem, such as "dependent rows" or "inaccurate", from which a run
// may well recover.
package status

import (
	"fmt"

	"bilevelc/lang/diag"
)

// Status tells why a run ended, apart from what its point is worth.
type Status uint8

// The statuses. The best point found comes with every one of them, if any
// point was evaluated. The zero value is that of a run that has not ended.
const (
	Running          Status = iota
	Solved                  // what was asked for is reached, and the result's own verification agrees
	LimitReached            // iterations, evaluations, calls or time
	BudgetSpent             // the method's theorem speaks of an iterate drawn at random within a budget, which is used up
	Infeasible              // X, or X with the lower level's domain, is empty
	Unbounded               // F has no bound; of an evaluation, g at that x
	NumericalFailure        // no progress, numbers that are not finite, or a result that does not hold
	Interrupted             // the caller ended the run
	count
)

// NoBound is the reason of a run whose F is shown to have no bound.
func NoBound(maximize bool) string {
	if maximize {
		return "F rises without bound over the upper level's set"
	}
	return "F falls without bound over the upper level's set"
}

// Exit codes of the command line that scripts rely on, for what is no status.
const (
	ExitInternal = iota + 1
	ExitUsage
	ExitModel
	ExitData
)

// table has one row a status: its word in documents, which is stable, and the
// exit code of a run with a point of F and without one.
var table = [count]struct {
	word           string
	exit, exitNone int
}{
	Running:          {"running", ExitInternal, ExitInternal},
	Solved:           {"solved", 0, ExitInternal}, // solved without a point would be a fault of ours
	LimitReached:     {"limit reached", 12, 13},
	BudgetSpent:      {"budget spent", 12, 13},
	Infeasible:       {"infeasible", 10, 10},
	Unbounded:        {"unbounded", 11, 11},
	NumericalFailure: {"numerical failure", 14, 14},
	Interrupted:      {"interrupted", 130, 130},
}

// classes has the exit code of each class of diagnostics.
var classes = [diag.Classes]int{
	diag.ModelClass:      ExitModel,
	diag.DataClass:       ExitData,
	diag.InfeasibleClass: table[Infeasible].exitNone,
	diag.UnboundedClass:  table[Unbounded].exitNone,
	diag.NumericalClass:  table[NumericalFailure].exitNone,
}

// OfClass is the exit code of a process that ends with diagnostics of a class.
func OfClass(c diag.Class) int { return classes[c] }

// All lists the statuses a run can end with.
func All() []Status {
	all := make([]Status, 0, count-1)
	for s := Running + 1; s < count; s++ {
		all = append(all, s)
	}
	return all
}

func (s Status) String() string {
	if s >= count {
		return fmt.Sprintf("status %d", uint8(s))
	}
	return table[s].word
}

// Exit is the exit code of a process that ends with this status; point tells
// whether it has a point of F to show.
func (s Status) Exit(point bool) int {
	switch {
	case s >= count:
		return ExitInternal
	case point:
		return table[s].exit
	}
	return table[s].exitNone
}

// MarshalText writes the status as its word. A run that has not ended has no
// document.
func (s Status) MarshalText() ([]byte, error) {
	if s == Running || s >= count {
		return nil, fmt.Errorf("%s is not how a run ends", s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *Status) UnmarshalText(text []byte) error {
	for _, known := range All() {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("unknown status %q", text)
}
