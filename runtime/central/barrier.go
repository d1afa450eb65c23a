package central

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Barrier says how strong the barrier is: by
//
//	mu(x) = mu sqrt(1 + max(0, u - 1)^3/u^2),  u = |grad_y g(x, At)|^2/(Dy Floor^2),
//
// mu where forces are below the Floor, mu sqrt(u) far above, with two derivatives in between. A leader who can
// make the forces on a follower larger, as one who sets its prices can, would else make the
// barrier count for nothing beside them, and F_mu the same as F, whatever mu: descent on
// F_mu then leads to where forces are large and F has all its kinks. Far above the Floor a
// follower whose objective is multiplied by a number answers as before.
//
// The zero Barrier leaves mu as it is.
type Barrier struct {
	Mu    float64   // of the first stage: where the barrier is as strong as the follower
	Floor float64   // the force above which forces count; 0: mu(x) is mu everywhere
	At    []float64 // len Dy: where the forces are measured
}

// Of is the barrier at a lower solution (y, lambda) at x. Its Mu is the mean slack of the
// inequality rows times the larger of their mean multiplier and of the force that the
// curvature of g makes over that slack, in units in which rows have length 1; forces count
// where they are ten times the largest at x. The zero Barrier is returned where no
// inequality row reads y.
func (c *Path) Of(x, y, lambda []float64) Barrier {
	h := make([]float64, c.m)
	c.p.Rows.Residual(h, x, y)
	slack, force, count := 0.0, 0.0, 0.0
	for i, kind := range c.p.Rows.Kind {
		if length := linalg.RowNorm(c.p.Rows.B, i); kind != problem.Equal && length > 0 {
			slack += math.Max(0, -h[i]) / length
			force += math.Max(0, lambda[i]) * length
			count++
		}
	}
	if count == 0 {
		return Barrier{}
	}
	slack, force = slack/count, force/count
	copy(c.y, y)
	curv := 0.0
	if c.measure(x) {
		for j := range c.n {
			curv += c.curvature(j) / float64(c.n)
		}
	}
	force = math.Max(force, curv*slack)
	c.p.G.GradY(c.dual, x, y)
	// 10 is how much larger than at the beginning the forces on y are where they begin to count. Beside forces so much larger a mu does
	// what its tenth does at the beginning: that is for the next mu to show, which is a tenth (see pathState in package outer).
	return Barrier{Mu: slack * force, Floor: 10 * math.Max(linalg.NormInf(c.dual), force), At: append([]float64(nil), y...)}
}

// strength evaluates mu(x)/mu, the share.
type strength struct {
	Barrier
	c          *Path
	share, now float64   // now is mu(x)
	force      []float64 // len n: grad_y g(x, At)
}

// begin takes a barrier over.
func (s *strength) begin(b Barrier) { s.Barrier, s.share, s.now = b, 1, 0 }

// set measures the share at x; false where it is not finite.
func (s *strength) set(x []float64, mu float64) bool {
	if s.Floor > 0 {
		s.share = s.measure(s.force, x)
	}
	s.now = mu * s.share
	return !math.IsInf(s.share, 0) && !math.IsNaN(s.share)
}

// measure returns the share at x, and sets force to grad_y g(x, At).
func (s *strength) measure(force, x []float64) float64 {
	s.c.p.G.GradY(force, x, s.At)
	if u := s.square(force); !(u <= 1) {
		return math.Sqrt(1 + (u-1)*(1-1/u)*(1-1/u))
	}
	return 1
}

// square is u.
func (s *strength) square(force []float64) float64 {
	sum, unit := 0.0, 1/s.Floor
	for _, v := range force {
		sum += v * unit * (v * unit)
	}
	return sum / float64(s.c.n)
}

// weigh adds to dst (len n) the weights with which grad_y g(x, At) makes a times the gradient of the share, from the share and the
// forces at x: (1 - 1/u)^2 (1 + 2/u)/(share Floor^2) times the mean of the forces.
func (s *strength) weigh(dst []float64, a, share float64, force []float64) {
	u := s.square(force)
	if u <= 1 {
		return
	}
	a *= (1 - 1/u) * (1 - 1/u) * (1 + 2/u) / (share * float64(s.c.n)) / s.Floor
	for j, v := range force {
		dst[j] += a * (v / s.Floor)
	}
}

// sum adds w up over the inequality rows.
func (s *strength) sum(w func(i int) float64) (sum float64) {
	for i, kind := range s.c.p.Rows.Kind {
		if kind != problem.Equal {
			sum += w(i)
		}
	}
	return sum
}
