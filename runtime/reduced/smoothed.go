package reduced

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Central is a point of the follower's central path, s lambda = mu in the rows' units: slacks and multipliers at the lower and upper ends (len m;
// unused where there is no end).
type Central struct {
	Slack, Mult [2][]float64
}

func (c *Central) clone() *Central {
	var out Central
	for k := range 2 {
		out.Slack[k] = slices.Clone(c.Slack[k])
		out.Mult[k] = slices.Clone(c.Mult[k])
	}
	return &out
}

// smoothed is the follower with the barrier -mu sum log s at one w: its answer, and the factor of Y + D^-1, D = lambda/s summed over the ends of each row, in the form
//
//	S = (Y + D^-1)^-1 = T N^-1 T,   T = (1 + D^-1)^-1/2,   N = T (Y + D^-1) T,
//
// where D^-1 is 0 for equality rows. With it v' = D^-1 S R and lambda' = -S R.
type smoothed struct {
	*solver
	mu        float64
	w, y      []float64
	lambda, v []float64
	free      []float64 // multipliers of equality rows
	at        *Central
	dinv, t   []float64
	factor    []*linalg.Cholesky // of each block
}

// has says whether row r has an end, 0 for lo and 1 for hi.
func (r *row) has(end int) bool {
	if r.equal {
		return false
	}
	if end == 0 {
		return !math.IsInf(r.lo, -1)
	}
	return !math.IsInf(r.hi, 1)
}

// begin is the central point next to multipliers and activities v: with a = s - lambda, s = (a + sqrt(a^2 + 4 mu))/2 (Chen and Harker 1993).
func (s *solver) begin(lambda, v []float64, mu float64) *Central {
	m := s.f.m
	c := &Central{}
	for end := range 2 {
		c.Slack[end], c.Mult[end] = make([]float64, m), make([]float64, m)
		for r := range s.f.rows {
			row := &s.f.rows[r]
			if !row.has(end) {
				continue
			}
			a := v[r] - row.lo - math.Max(0, lambda[r])
			if end == 1 {
				a = row.hi - v[r] - math.Max(0, -lambda[r])
			}
			root := math.Hypot(a, 2*math.Sqrt(mu))
			if a > 0 {
				c.Slack[end][r] = (a + root) / 2
				c.Mult[end][r] = mu / c.Slack[end][r]
			} else {
				c.Mult[end][r] = (root - a) / 2
				c.Slack[end][r] = mu / c.Mult[end][r]
			}
		}
	}
	return c
}

// center finds the central point at w from one near by, by primal-dual Newton steps; nil where it does not get there: no y is inside the rows, or too far. It leaves factors to factorize.
func (s *solver) center(w []float64, mu float64, from *Central, equal []float64) *smoothed {
	f := s.f
	c := &smoothed{solver: s, mu: mu, w: w, y: make([]float64, f.n), lambda: make([]float64, f.m), v: make([]float64, f.m), at: from.clone(), free: slices.Clone(equal),
		dinv: make([]float64, f.m), t: make([]float64, f.m)}
	q := make([]float64, f.m)
	copy(c.y, f.y0)
	f.addJ(c.y, w)
	copy(q, f.p0)
	linalg.Gemv(q, 1, f.r, f.m, f.nw, false, w)
	g, step, dv := make([]float64, f.m), make([]float64, f.m), make([]float64, f.m)
	for range 30 { // more than Newton's method takes where it converges
		for r := range f.rows {
			c.lambda[r] = c.at.Mult[0][r] - c.at.Mult[1][r]
			if f.rows[r].equal {
				c.lambda[r] = c.free[r]
			}
		}
		copy(c.v, q)
		f.timesY(c.v, 1, c.lambda)
		if c.off() <= tolerance.Target {
			f.timesET(c.y, 1, c.lambda)
			return c
		}
		if !c.factorize() {
			return nil
		}
		// D^-1 g, g the multipliers' step at v as it is.
		for r := range f.rows {
			row := &f.rows[r]
			g[r] = 0
			if row.equal {
				g[r] = row.lo - c.v[r]
				continue
			}
			for end := range 2 {
				if row.has(end) {
					sl, l := c.at.Slack[end][r], c.at.Mult[end][r]
					g[r] += sign(end == 1) * (mu - l*(sl+c.rho(r, end))) / sl
				}
			}
			if g[r] != 0 {
				g[r] *= c.dinv[r]
			}
		}
		c.apply(step, g)
		clear(dv)
		f.timesY(dv, 1, step)
		t := 1.0
		var ds, dl [2][]float64
		for end := range 2 {
			ds[end], dl[end] = make([]float64, f.m), make([]float64, f.m)
			for r := range f.rows {
				if !f.rows[r].has(end) {
					continue
				}
				sl, l := c.at.Slack[end][r], c.at.Mult[end][r]
				ds[end][r] = sign(end == 1)*dv[r] + c.rho(r, end)
				dl[end][r] = (mu - sl*l - l*ds[end][r]) / sl
			}
			t = linalg.ToBoundary(c.at.Slack[end], ds[end], tolerance.ToBoundary, t)
			t = linalg.ToBoundary(c.at.Mult[end], dl[end], tolerance.ToBoundary, t)
		}
		if !(t > 1e-9) { // no step that could reach the point in the steps that are left
			return nil
		}
		for end := range 2 {
			linalg.Axpy(c.at.Slack[end], t, ds[end])
			linalg.Axpy(c.at.Mult[end], t, dl[end])
		}
		for r := range f.rows {
			if f.rows[r].equal {
				c.free[r] += t * step[r]
			}
		}
		s.work(2 * f.square())
	}
	return nil
}

// rho is what the slack of an end lacks: v - lo - s, or hi - v - s.
func (c *smoothed) rho(r, end int) float64 {
	row := &c.f.rows[r]
	if end == 0 {
		return c.v[r] - row.lo - c.at.Slack[0][r]
	}
	return row.hi - c.v[r] - c.at.Slack[1][r]
}

// off is how far products are from mu, as a part, and rows from their slacks, as a part of sqrt(mu) or the slack.
func (c *smoothed) off() (off float64) {
	root := math.Sqrt(c.mu)
	for r := range c.f.rows {
		row := &c.f.rows[r]
		if row.equal {
			off = math.Max(off, math.Abs(c.v[r]-row.lo)/root)
			continue
		}
		for end := range 2 {
			if row.has(end) {
				s := c.at.Slack[end][r]
				off = math.Max(off, math.Abs(s*c.at.Mult[end][r]/c.mu-1))
				off = math.Max(off, math.Abs(c.rho(r, end))/math.Max(root, s))
			}
		}
	}
	return off
}

// factorize sets D^-1, T and the factor of N.
func (c *smoothed) factorize() bool {
	f := c.f
	for r := range f.rows {
		row := &f.rows[r]
		if row.equal {
			c.dinv[r], c.t[r] = 0, 1
			continue
		}
		d := 0.0
		for end := range 2 {
			if row.has(end) {
				d += c.at.Mult[end][r] / c.at.Slack[end][r]
			}
		}
		c.dinv[r], c.t[r] = 1/d, math.Sqrt(d/(1+d))
	}
	c.factor = make([]*linalg.Cholesky, len(f.blocks))
	for k := range f.blocks {
		o := &f.blocks[k]
		m := o.m
		n, t := make([]float64, m*m), o.rows(c.t)
		for a := range m {
			ya := o.y[a*m : (a+1)*m]
			na := n[a*m : (a+1)*m]
			ta := t[a]
			for b := a; b < m; b++ {
				na[b] = ta * ya[b] * t[b]
			}
			na[a] = 1 // Y_aa is 1
		}
		var ok bool
		if c.factor[k], ok = linalg.NewCholesky(m, n); !ok {
			return false
		}
		c.work(m * m / 6 * m)
	}
	if f.m > 0 {
		c.factors++
	}
	return true
}

// apply sets dst to S v.
func (c *smoothed) apply(dst, v []float64) {
	for r, t := range c.t {
		dst[r] = t * v[r]
	}
	for k := range c.f.blocks {
		part := c.f.blocks[k].rows(dst)
		c.factor[k].SolveT(part)
		c.factor[k].Solve(part)
		c.work(len(part) * len(part))
	}
	for r, t := range c.t {
		dst[r] *= t
	}
}

// adjoint holds what products with the second derivative of F_mu need.
type adjoint struct {
	*smoothed
	value  float64
	grad   []float64 // len nw
	second []float64 // len m: the coefficient of v_r'^2
}

// point is what f reads.
func (c *smoothed) point() point {
	out := point{c.w, c.y, make([]float64, len(c.p.Duals))}
	c.read(func(k int, o place, r *row) {
		if r.equal {
			out.dual[k] = c.lambda[o.row] * r.unit * sign(o.high)
			if r.high >= 0 {
				out.dual[k] = math.Max(0, out.dual[k])
			}
			return
		}
		out.dual[k] = c.at.Mult[index(o.high)][o.row] * r.unit
	})
	return out
}

// read calls do for each multiplier that f reads, with the row behind it.
func (s *solver) read(do func(k int, o place, r *row)) {
	for k, i := range s.p.Duals {
		if o := s.f.of[i]; o.row >= 0 {
			do(k, o, &s.f.rows[o.row])
		}
	}
}

func index(high bool) int {
	if high {
		return 1
	}
	return 0
}

// adjointRHS sets b (len m) to E g_y + D^-1 (lambda's own part), the right side of the adjoint S b, and own to the second derivatives' part that is
// no multiple of E g_y - Y S b.
func (c *smoothed) adjointRHS(b []float64, g point) (own []float64) {
	f := c.f
	clear(b)
	f.addE(b, g.y)
	own = make([]float64, f.m)
	c.read(func(k int, o place, r *row) {
		if r.equal {
			b[o.row] += g.dual[k] * r.unit * sign(o.high)
			return
		}
		// lambda' = -+lambda/s, lambda'' = 2 lambda/s^2 in v.
		end := index(o.high)
		l, s := c.at.Mult[end][o.row], c.at.Slack[end][o.row]
		b[o.row] += c.dinv[o.row] * g.dual[k] * r.unit * sign(o.high) * l / s
		own[o.row] += 2 * l / (s * s) * g.dual[k] * r.unit
	})
	return own
}

// differentiate finds F_mu and its gradient g_w + J'g_y - R'S b.
func (c *smoothed) differentiate() *adjoint {
	f := c.f
	a := &adjoint{smoothed: c, grad: make([]float64, f.nw), second: make([]float64, f.m)}
	value, g := c.calc.begin(c.point())
	a.value = value
	b, kappa := make([]float64, f.m), make([]float64, f.m)
	own := c.adjointRHS(b, g)
	c.apply(kappa, b)
	copy(a.grad, g.w)
	f.addJT(a.grad, g.y)
	linalg.Gemv(a.grad, -1, f.r, f.m, f.nw, true, kappa)
	// phi''_r (E g_y - Y kappa)_r + own, phi = lambda as a function of v.
	eg := make([]float64, f.m)
	f.addE(eg, g.y)
	f.timesY(eg, -1, kappa)
	for r := range f.rows {
		a.second[r] = own[r]
		for end := range 2 {
			if f.rows[r].has(end) {
				s := c.at.Slack[end][r]
				a.second[r] += sign(end == 1) * 2 * c.at.Mult[end][r] / (s * s) * eg[r]
			}
		}
	}
	c.work(f.nw*f.m + 2*f.square())
	return a
}

// product sets dst to F_mu” d:
//
//	f_w + J'f_y + R'S (D^-1 second v' - b(f_y, f_lambda)),   (f_w, f_y, f_lambda) = f'' (d, y', lambda').
func (a *adjoint) product(dst, d []float64) {
	f := a.f
	r, l := make([]float64, f.m), make([]float64, f.m)
	linalg.Gemv(r, 1, f.r, f.m, f.nw, false, d)
	a.apply(l, r)
	dv := r // v' = D^-1 S R d; rows without an end have no second derivative
	for i := range dv {
		dv[i] = 0
		if !math.IsInf(a.dinv[i], 1) {
			dv[i] = a.dinv[i] * l[i]
		}
	}
	move, out := newPoint(f.nw, f.n, len(a.p.Duals)), newPoint(f.nw, f.n, len(a.p.Duals))
	copy(move.w, d)
	f.addJ(move.y, d)
	f.timesET(move.y, -1, l)
	a.read(func(k int, o place, r *row) {
		if r.equal {
			move.dual[k] = -l[o.row] * r.unit * sign(o.high)
			return
		}
		end := index(o.high)
		move.dual[k] = -sign(o.high) * a.at.Mult[end][o.row] / a.at.Slack[end][o.row] * dv[o.row] * r.unit
	})
	a.calc.product(out, move)
	b := make([]float64, f.m)
	a.adjointRHS(b, out)
	for i := range b {
		b[i] = -b[i]
		if a.second[i] != 0 && dv[i] != 0 {
			b[i] += a.dinv[i] * a.second[i] * dv[i]
		}
	}
	kappa := make([]float64, f.m)
	a.apply(kappa, b)
	copy(dst, out.w)
	f.addJT(dst, out.y)
	linalg.Gemv(dst, 1, f.r, f.m, f.nw, true, kappa)
	a.work(2*f.nw*f.m + 2*f.square())
	a.products++
}
