package problem

// AnswerLen is the length of what F takes in the place of y: Dy, and an entry for
// each multiplier that F reads.
func (p *Problem) AnswerLen() int { return p.Dy + len(p.Duals) }

// Answer is the follower's answer as F reads it: y (len Dy), followed by the
// multipliers lambda_i (lambda len m) of the rows i in Duals. Where F reads none,
// it is y itself.
func (p *Problem) Answer(y, lambda []float64) []float64 {
	if len(p.Duals) == 0 {
		return y
	}
	z := make([]float64, p.AnswerLen())
	copy(z, y)
	for k, i := range p.Duals {
		z[p.Dy+k] = lambda[i]
	}
	return z
}

// Moved is the rows with right-hand sides b + t w, w len m: the same structure,
// shared.
func (r *Rows) Moved(t float64, w []float64) *Rows {
	moved := *r
	moved.Rhs = make([]float64, len(r.Rhs))
	for i, b := range r.Rhs {
		moved.Rhs[i] = b + t*w[i]
	}
	return &moved
}
