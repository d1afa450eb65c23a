package convex

import "bilevelc/runtime/linalg"

// DependentActive lists the active rows that depend on others, for tests.
func (s *Solver) DependentActive() []int { return s.dependent(s.state, s.active) }

// Largest is the largest absolute value, for tests.
func Largest(v []float64) float64 { return linalg.NormInf(v) }
