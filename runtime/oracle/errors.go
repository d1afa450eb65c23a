package oracle

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// InfeasibleError says that the lower level has no feasible y at X; Everywhere, that
// the same combination of rows shows it at every x within the upper level's bounds.
type InfeasibleError struct {
	X          []float64
	Everywhere bool
	Farkas     []float64 // len m, see lower.Infeasible
	Rows       []string  // the rows that contradict each other
}

func (e *InfeasibleError) Error() string {
	if len(e.Rows) == 0 {
		return "the lower level has no feasible point"
	}
	return "the lower level has no feasible point: " + problem.Contradiction(e.Rows)
}

// UnboundedError says that g falls without bound over the feasible y at an x.
type UnboundedError struct{}

func (e *UnboundedError) Error() string { return "the lower level has no bound at this x" }

// LowerError says that F has no usable value or gradient at an x for a numerical
// reason: the lower level could not be solved there or, with Upper set, f is the
// one to blame. With Gradient set F has its value: the gradient is what is missing.
type LowerError struct {
	Status          lower.Status
	Reason          string
	Upper, Gradient bool
}

func (e *LowerError) Error() string {
	if e.Gradient {
		return fmt.Sprintf("the gradient of F could not be found at this x (%s): %s", e.Status, e.Reason)
	}
	if e.Upper {
		return "F is not defined at this x: " + e.Reason
	}
	return fmt.Sprintf("the lower level was not solved (%s): %s", e.Status, e.Reason)
}

// lowerError turns the status of a lower solution into the error it means, or
// nil for a usable point. A stopped solve is the context's error, which the
// caller has.
func lowerError(p *problem.Problem, x []float64, s *lower.Solution) error {
	if s.Status == lower.Solved || s.Status == lower.Inaccurate {
		return nil
	}
	switch s.Status {
	case lower.Infeasible, lower.Dependent:
		e := &InfeasibleError{X: slices.Clone(x), Farkas: s.Witness, Everywhere: refuted(p, s.Witness)}
		for i, u := range s.Witness {
			if u != 0 && i < p.Rows.Len() {
				e.Rows = append(e.Rows, p.Rows.RowName(i))
			}
		}
		return e
	case lower.Unbounded:
		return &UnboundedError{}
	}
	return &LowerError{Status: s.Status, Reason: s.Reason}
}

// refuted reports that a Farkas vector u of the lower level's rows, u'B = 0 with
// u >= 0 on inequalities, holds over the whole box of X: that u'(A x - b), of which
// a y that satisfies the rows at x makes at most u'B y = 0, is above the rounding of
// its terms at every x of the box.
func refuted(p *problem.Problem, u []float64) bool {
	if len(u) < p.Rows.Len() {
		return false
	}
	for i, v := range u[:p.Rows.Len()] {
		if v < 0 && p.Rows.Kind[i] == problem.AtMost {
			return false
		}
	}
	a, size, least, terms := combined(p, u)
	for j, v := range a {
		at := p.X.Lo[j]
		if v < 0 {
			at = p.X.Hi[j]
		}
		if v != 0 {
			least += v * at
			terms += math.Abs(size[j] * at)
		}
	}
	return least > tolerance.SumRounding*terms
}

// combined is u'A and -u'b of the lower level's rows, the former without what is rounding of its terms, and the sizes of the terms of both.
func combined(p *problem.Problem, u []float64) (a, size []float64, rest, terms float64) {
	a, size = make([]float64, p.Dx), make([]float64, p.Dx)
	for i, v := range u[:p.Rows.Len()] {
		for j, c := range p.Rows.A.Entries(i) {
			a[j] += v * c
			size[j] += math.Abs(v * c)
		}
		rest -= v * p.Rows.Rhs[i]
		terms += math.Abs(v * p.Rows.Rhs[i])
	}
	for j, v := range a {
		if math.Abs(v) <= tolerance.SumRounding*size[j] {
			a[j] = 0
		}
	}
	return a, size, rest, terms
}

// Rounding is how far from X the plane u'(A x - b) = 0 beyond which the rows contradict each other may be by the rounding of the
// terms of these rows at X: of an x that was computed in a few steps. Terms that are no more than what rounding leaves of those over the set
// of x have no digits: any rounding on the way might have made them 0. 0 where nothing is known of the rows, or x is not among them.
func (e *InfeasibleError) Rounding(p *problem.Problem) float64 {
	if len(e.Farkas) < p.Rows.Len() {
		return 0
	}
	a, size, _, terms := combined(p, e.Farkas)
	over := terms
	for j, s := range size {
		terms += s * math.Abs(e.X[j])
		if width := (p.X.Hi[j] - p.X.Lo[j]) / 2; !math.IsInf(width, 1) {
			over += s * width
		}
	}
	if terms <= tolerance.FewRoundings*over {
		terms = over
	}
	if steep := linalg.Norm(a); steep > 0 {
		return tolerance.FewRoundings * terms / steep
	}
	return 0
}
