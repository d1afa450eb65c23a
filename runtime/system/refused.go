package system

import (
	"cmp"
	"context"
	"math"
	"slices"

	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// kept is the point that a start has come to, and which of the run's ends it is.
type kept struct {
	point *kkt.Point
	end   int
}

// keepEnd keeps the point of the start that ends now, as long as there is room: each has its z and about as many multipliers twice.
func (run *Run) keepEnd(point *kkt.Point) {
	if len(run.kept)*3*len(point.Z) <= tolerance.MostNumbers {
		run.kept = append(run.kept, kept{point, len(run.Ends)})
	}
}

// Refuse takes back the best point, which its verification has refused for the reason given, for the lowest of those that other starts have come to, and reports whether there is one. What else the run has found, a bound as well, stays.
func (run *Run) Refuse(ctx context.Context, why string) bool {
	refused := run.Best
	run.Ends = slices.Clone(run.Ends) // documents have them
	run.kept = slices.DeleteFunc(run.kept, func(k kept) bool {
		is := k.point == refused
		if is {
			run.Ends[k.end] = document.StartResult{Objective: document.Number(math.NaN()), Status: status.NumericalFailure, Reason: why}
		}
		return is
	})
	if len(run.kept) == 0 {
		return false
	}
	run.Best, run.err = slices.MinFunc(run.kept, func(a, b kept) int { return cmp.Compare(a.point.F, b.point.F) }).point, nil
	if run.Smooth != nil && run.linearized() != nil {
		return false
	}
	if run.Global != nil && run.Tree != nil {
		run.close()
	}
	run.Status, run.Reason = run.status(ctx, nil)
	return true
}
