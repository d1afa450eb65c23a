package outer

import (
	"bilevelc/runtime/linalg"
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
