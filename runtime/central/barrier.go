package central

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Barrier says how strong the barrier is. Each part p of the lower level (see divide) has
// a mu of its own,
//
//	mu_p(x) = mu sqrt(1 + max(0, u - 1)^3/u^2),  u = |grad_y g(x, At)|_p^2 / Floor^2,
//
// where |.|_p is the root mean square over the entries of y of the part: mu where forces are
// below the Floor, mu sqrt(u) far above, with two derivatives in between. A leader who can
// make the forces on a follower larger, as one who sets its prices can, would else make the
// barrier count for nothing beside them, and F_mu the same as F, whatever mu: descent on
// F_mu then leads to where forces are large and F has all its kinks. Far above the Floor a
// follower whose objective is multiplied by a number answers as before.
//
// The zero Barrier leaves mu as it is.
type Barrier struct {
	Mu    float64   // of the first stage: where the barrier is as strong as the follower
	Floor float64   // the force above which forces count; 0: mu_p is mu everywhere
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
		_, vals := c.p.Rows.B.Row(i)
		if length := linalg.Norm(vals); kind != problem.Equal && length > 0 {
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

// strength evaluates mu_p/mu, the share of each part, at an x.
type strength struct {
	Barrier
	c     *Path
	count []float64 // entries of y of each part
	share []float64 // of each part
	force []float64 // len n: grad_y g(x, At)
	step  []float64 // len n
	slope []float64 // of parts, see add
	above bool      // a share is not 1
}

func newStrength(c *Path) *strength {
	v := func(k int) []float64 { return make([]float64, k) }
	k := c.parts.count
	s := &strength{c: c, count: v(k), share: v(k), force: v(c.n), step: v(c.n), slope: v(k)}
	for _, p := range c.parts.of {
		s.count[p]++
	}
	return s
}

// begin takes a barrier over.
func (s *strength) begin(b Barrier) {
	s.Barrier, s.above = b, false
	for p := range s.share {
		s.share[p] = 1
	}
}

// set measures the shares at x; false where one is not finite.
func (s *strength) set(x []float64) bool {
	if s.Floor == 0 {
		return true
	}
	ok := s.measure(s.share, s.force, x)
	s.above = false
	for _, share := range s.share {
		s.above = s.above || share != 1
	}
	return ok
}

// measure sets share, and force to grad_y g(x, At).
func (s *strength) measure(share, force, x []float64) bool {
	s.c.p.G.GradY(force, x, s.At)
	s.squares(share, force)
	for p, u := range share {
		share[p] = 1
		if u > 1 {
			share[p] = math.Sqrt(1 + (u-1)*(1-1/u)*(1-1/u))
		}
		if math.IsInf(u, 0) || math.IsNaN(u) {
			return false
		}
	}
	return true
}

// squares sets u of each part.
func (s *strength) squares(u, force []float64) {
	clear(u)
	unit := 1 / s.Floor
	for j, v := range force {
		v *= unit
		u[s.c.parts.of[j]] += v * v
	}
	for p, n := range s.count {
		u[p] /= n
	}
}

// row is mu_p for the part p of row i.
func (s *strength) row(i int, mu float64) float64 {
	if p := s.c.parts.row[i]; p < len(s.share) {
		return mu * s.share[p]
	}
	return mu
}

// add adds the gradient of sum_p a_p mu_p/mu to dst (len Dx), at an x where shares and forces
// are known: of a part, that is a (1 - 1/u)^2 (1 + 2/u)/(share Floor^2) times the mean of its
// forces times their gradients, which a difference of gradients of g along them gives.
func (s *strength) add(dst, a, share, force, x []float64) {
	s.squares(s.slope, force)
	for p, u := range s.slope {
		if s.slope[p] = 0; u > 1 {
			s.slope[p] = a[p] * (1 - 1/u) * (1 - 1/u) * (1 + 2/u) / (share[p] * s.count[p]) / s.Floor
		}
	}
	unit := 1 / s.Floor
	for j, v := range force {
		s.step[j] = s.slope[s.c.parts.of[j]] * (v * unit)
	}
	s.c.cross(dst, x, s.At, s.step, 1)
}

// weigh sets a_p to the sum of w over the inequality rows of part p.
func (s *strength) weigh(a []float64, w func(i int) float64) {
	clear(a)
	for i, p := range s.c.parts.row {
		if p < len(a) && s.c.p.Rows.Kind[i] != problem.Equal {
			a[p] += w(i)
		}
	}
}
