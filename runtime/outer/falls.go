package outer

import (
	"context"
	"fmt"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// far is the distance from the start, relative to the size of x, at which a run that
// still falls counts as unbounded: beyond it what is left of the digits of x - start
// no longer tells models apart.
const far = 1e10

// falls reports that F falls along the way from the start to s, so far out that
// nothing but a fall without bound is left: its slope there makes up a part of F
// itself, which a limit of F would not leave it.
func (r *Run) falls(s *Sample) bool {
	if s.G == nil || s.F >= 0 || !(linalg.Distance(s.X, r.Start) > far*r.Size(r.Start)) {
		return false
	}
	return linalg.Dot(s.G, linalg.Minus(s.X, r.Start)) < tolerance.Slack*s.F
}

// descending is the end of a run at a point x from which F goes on falling along the way from the start, in the entries
// of x that X does not bound there: with an F that is curved across the way and linear along it, what it falls by is
// small beside the gradients that the curvature makes of the start or of the radius. It is looked for where the measure lets
// F fall by a part of itself over the length of the way. nil for others.
func (r *Run) descending(ctx context.Context, x []float64, f, measure float64) error {
	way := unbounded(r.h.Problem().X, linalg.Minus(x, r.Start))
	if !(measure*linalg.Norm(way) > tolerance.Slack*math.Abs(f)) {
		return nil
	}
	from, err := r.h.Value(ctx, r.Start)
	if err != nil {
		return ignoring(err)
	}
	size := math.Max(math.Abs(f), math.Abs(from.F-f))
	if !(measure*linalg.Norm(way) > tolerance.Slack*size) {
		return nil
	}
	for t := 1.0; t >= nearest; t /= 10 {
		on := linalg.Plus(x, t, way)
		err := r.Project(on, on)
		var there *oracle.Point
		if err == nil {
			there, err = r.h.Value(ctx, on)
		}
		switch {
		case err != nil && !Outside(err):
			return err
		case err != nil || !(there.F < f-t*tolerance.Slack*size):
			continue
		case f < 0 && linalg.Norm(way) > far*(r.widthAt(r.Start)+linalg.Norm(r.Start)):
			return unboundedError{}
		}
		return Stuck(fmt.Sprintf("F goes on improving along the way from the start, over which X is not bounded: by %.2g over %.2g of its length", f-there.F, t))
	}
	return nil
}

// nearest is the least part of the way from the start at which descending looks: ten times the radius of the default
// certificate, within which a kink may be that ends the way.
const nearest = 1e-5

// unbounded are the entries of a direction along which the entry of x has no bound, 0 for the others.
func unbounded(set *problem.Set, direction []float64) []float64 {
	out := linalg.Clone(direction)
	for j, d := range direction {
		if set != nil && set.Lo != nil && (d > 0 && !math.IsInf(set.Hi[j], 1) || d < 0 && !math.IsInf(set.Lo[j], -1)) {
			out[j] = 0
		}
	}
	return out
}
