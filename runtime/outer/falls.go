package outer

import (
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// falls reports that F falls along the way from the start to s, so far out that
// nothing but a fall without bound is left: its slope there makes up a part of F
// itself, which a limit of F would not leave it. Out there x has less than six digits of the start.
func (r *Run) falls(s *Sample) bool {
	if s.G == nil || s.F >= 0 || !(linalg.Distance(s.X, r.Start) > tolerance.Target/tolerance.Roundoff*r.Size(r.Start)) {
		return false
	}
	return linalg.Dot(s.G, linalg.Minus(s.X, r.Start)) < tolerance.Slack*s.F
}
