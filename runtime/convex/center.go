package convex

import "context"

// Center moves towards the minimizer from the inside until all bounds and rows
// hold, and stops there, inside every inequality: a point to begin from for
// objectives that are not defined on the boundary. It reports false where there
// is none within reach.
func (s *Solver) Center(ctx context.Context) bool {
	size, force := s.scales()
	it := s.newIterate(size, force)
	for range 100 {
		if ctx.Err() != nil {
			return false
		}
		s.model()
		mu := it.ahead(0)
		_, primal := s.interiorResiduals(it, 0)
		if primal <= 1e-12*(s.size()+size) { // as good as rounding lets rows hold
			return true
		}
		if !s.factorInterior(it, 0) {
			return false
		}
		s.direction(it, 0.5*mu, false)
		if !s.move(it, it.longest(0.9)) {
			return false
		}
	}
	return false
}
