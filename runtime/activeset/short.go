package activeset

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Shorter is a solution of the last program with bounds b, or another one where the rounding of the terms of the objective and a constant, 2^-48 of them, is more than tolerance.Target of what they add up
// to: the optimal face may reach as far as the bounds do, and at a far end rounding is all that is left of the value. The other one is in a box about 0 of 1, 8, 64, ... units, the first whose sides have no multiplier beyond rounding
// and where the objective is no more but for that, so that it is a solution without them; work is what finding it takes.
func Shorter(ctx context.Context, s Reoptimizer, b *Bounds, sol *Solution, constant float64) (short *Solution, work int64) {
	if sol.Status != Optimal {
		return sol, 0
	}
	of := s.minimized()
	of.Const = constant
	rounding := 0x1p-48 * of.Terms(sol.Z)
	if tolerance.Target*math.Abs(sol.Value+constant) > rounding {
		return sol, 0
	}
	box := &Bounds{RowLo: b.RowLo, RowHi: b.RowHi, Lo: make([]float64, len(b.Lo)), Hi: make([]float64, len(b.Hi))}
	for r, far := 1.0, linalg.NormInf(sol.Z); r < far; r *= 8 {
		for j := range b.Lo {
			box.Lo[j], box.Hi[j] = max(b.Lo[j], min(-r, b.Hi[j])), min(b.Hi[j], max(r, b.Lo[j]))
		}
		near := s.Solve(ctx, box, sol.Basis, Options{})
		work += near.Work
		if near.Status == Stopped {
			break
		}
		if near.Status == Optimal && near.Value <= sol.Value+rounding && !pressed(near, linalg.NormInf(of.Lin), b, box) {
			return near, work
		}
	}
	return sol, work
}

// pressed reports that a solution has a multiplier beyond rounding, beside costs of a size, at a side that the box has and the bounds have not.
func pressed(sol *Solution, cost float64, b, box *Bounds) bool {
	least := tolerance.Sign * max(linalg.NormInf(sol.Row), linalg.NormInf(sol.Bound), cost)
	for j, m := range sol.Bound {
		if m > least && box.Lo[j] > b.Lo[j] || m < -least && box.Hi[j] < b.Hi[j] {
			return true
		}
	}
	return false
}
