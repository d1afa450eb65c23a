package reduced

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// finish makes the point of the document: y and the multipliers refined against the system itself, its branch, and the multipliers of the branch problem.
func (p *piece) finish(ctx context.Context, st *State, status Status) (*Result, error) {
	if st.Phase == OnPath || st.Phase == Crossing {
		if err := p.cross(context.WithoutCancel(ctx), st); err != nil { // a run that is stopped on its path ends where one with as many steps does
			return nil, err
		}
	}
	p.z.forget()
	if !p.load(st) && !p.returnTo(st.W) {
		return nil, ErrNumerical
	}
	j := p.judge()
	j.size = math.Max(st.Scale, j.size)
	s, f := p.f.sys, p.f
	out := &Result{Status: status, Left: j.stationarity(), Work: st.Work, End: st}
	list := p.releases(j)
	if (len(list) > 0 || j.stuck) && j.dependent() {
		if q := p.resolve(ctx, j, st); q != nil && math.Max(q.left, q.worst) < math.Max(out.Left, most(list)/j.size) {
			j.eq, j.stuck = q.eq, false
			p.adjoint(j)
			out.Left = math.Max(out.Left, q.left)
			list = p.releases(j)
		}
	}
	for _, r := range list {
		out.Least = math.Min(out.Least, r.amount/math.Max(j.size, 1e-300))
	}
	if status == Stationary && (j.stuck || out.Least < -tolerance.Weak || p.pressed(j, st)) {
		out.Status = Stalled
	}
	z := make([]float64, s.N)
	for k, v := range p.w { // rounding of steps may have left one beyond its box
		p.w[k] = math.Min(math.Max(v, f.lo[k]), f.hi[k])
	}
	copy(s.X(z), p.w)
	copy(z[s.Nx+s.Ny+s.M:], p.w[s.Nx:])
	p.refine(z)
	held := make([]bool, s.M)
	for r := range f.rows {
		if i, _ := p.heldRow(r); i >= 0 {
			held[i] = true
		}
	}
	s.Onto(z, held)
	for _, i := range f.spare {
		rows := s.P.Rows
		off := rows.Rhs[i] + rows.B.RowDot(i, s.Y(z)) - rows.A.RowDot(i, s.X(z))
		if !(math.Abs(off) <= tolerance.Sign*rows.B.AddTerms(rows.A.AddTerms(math.Abs(rows.Rhs[i]), i, s.X(z)), i, s.Y(z))) {
			return nil, fmt.Errorf("%w: an equality row that nearly depends on others does not hold", ErrNumerical)
		}
	}
	pt := &kkt.Point{Z: z, F: s.Value(z), SecondOrder: st.Curvature, Vertices: len(st.Vertices), AllVertices: len(st.Vertices) > 0 && !st.MoreVertices}
	m := s.NoMultipliers()
	copy(m.Bound, j.bound)
	for r := range f.rows {
		if i, high := p.heldRow(r); i >= 0 {
			m.Slack[i] = sign(high) * j.slack[r] * f.rows[r].unit
		}
	}
	nk := len(p.k)
	for a, i := range j.walls {
		w, mu := &f.walls[i], -j.eq[nk+a]
		switch n := len(s.P.X.Kind); {
		case w.lower >= 0:
			m.Slack[w.lower] += mu
			for b, c := range w.combo {
				m.Slack[c] -= mu * w.weight[b]
			}
		case w.upper < n:
			m.UpperRows[w.upper] = mu
		default:
			m.Extended[w.upper-n] = mu
		}
	}
	for a, i := range j.couple {
		m.Coupled[i] = -j.eq[nk+len(j.walls)+a]
	}
	p.fromStationarity(m, z)
	pt.Branch = make([]kkt.Fix, len(s.Pairs))
	for k, pair := range s.Pairs {
		o := f.of[pair.Row]
		pt.Branch[k] = kkt.MultZero
		if o.row < 0 {
			continue
		}
		switch at := p.side[o.row] != 0 && held[pair.Row]; {
		case at && p.inK[o.row]:
			pt.Biactive = append(pt.Biactive, k)
		case at || f.rows[o.row].equal:
			pt.Branch[k] = kkt.SlackZero
		}
	}
	pt.Multipliers = m
	out.Point = pt
	if left, size := s.Residual(m, z); left > tolerance.Weak*math.Max(size, st.Scale) && out.Status == Stationary {
		out.Status = Stalled
	}
	f.by.original(m, s.P.Rows)
	return out, nil
}

// pressed reports that nothing decides on a row which was let go, as its slack was to open, without a step behind that: it is biactive still, and its multiplier would grow where F falls; or that nothing decides on
// one which holds as w does not move it, and its slack would open where F falls.
func (p *piece) pressed(j *judged, st *State) bool {
	k, room, side, top := p.k, p.roomC, slices.Clone(p.side), linalg.NormInf(p.lambda)
	defer func() { p.k, p.roomC, p.side = k, room, side }()
	p.k, p.roomC = nil, nil
	for _, r := range st.Weakened {
		at, ok := p.undecided(r, top)
		switch {
		case ok && p.side[r] == 0:
			p.k = append(p.k, r)
			p.side[r] = at
		case ok && float64(at)*j.slack[r] < -p.opts.Tolerance*linalg.NormInf(j.slack):
			return true
		}
	}
	slices.Sort(p.k)
	read := make([]float64, p.f.m) // of multipliers that f reads, of these rows too
	p.multiplierGradient(read, j.g.dual)
	q := newEquations(p)
	for a, r := range p.k {
		j.nu[r] += read[r]
		j.read[r] += read[r]
		v, pivot := p.pull(j, r, float64(p.side[r]))
		if v < 0 && pivot > tolerance.SolveAccuracy && q.length[a] > 0 {
			if v*q.length[a]/pivot < -math.Max(p.opts.Tolerance, 2*j.stationarity())*j.size {
				return true
			}
		} else if v < -p.opts.Tolerance*j.nuTerms {
			return true // no step in w makes its multiplier positive, or its slack
		}
	}
	return false
}

// examine is the end of a run at its start.
func (p *piece) examine(ctx context.Context, st *State) (*Result, error) {
	if err := p.cross(ctx, st); err != nil {
		return nil, err
	}
	p.load(st)
	p.place()
	for i := range p.f.coupled {
		c := &p.f.coupled[i]
		p.coupleOn[i] = c.equal || math.Abs(p.gap(c, p.w, p.y, p.lambda)) <= tolerance.Sign*c.size(p)
	}
	j := p.judge()
	p.size(st, j)
	_, st.Curvature = p.curved(j)
	if p.vertex(st) { // it stays
		p.save(st)
		st.Vertices = nil
	}
	return p.finish(ctx, st, OutOfSteps)
}

// fromStationarity sets the adjoint and the multipliers of lambda >= 0 by their own equations, grad_y f = H Adjoint + B'Slack - ... and Lambda = grad_lambda f + B Adjoint + ...
func (p *piece) fromStationarity(m *kkt.Multipliers, z []float64) {
	s := p.f.sys
	grad := make([]float64, s.N)
	s.Gradient(grad, z)
	gy, gl := s.Y(grad), s.Lambda(grad)
	for i, v := range m.Coupled {
		if v != 0 {
			linalg.Axpy(gy, v, p.f.coupled[i].y)
			linalg.Axpy(gl, v, p.f.coupled[i].l)
		}
	}
	rhs := slices.Clone(gy)
	s.P.Rows.B.AddMulVecT(rhs, -1, slices.Clone(m.Slack))
	for range 2 {
		step := slices.Clone(rhs)
		for i := range step {
			step[i] -= s.H.RowDot(i, m.Adjoint)
		}
		p.f.solveH(step)
		linalg.Axpy(m.Adjoint, 1, step)
	}
	for i := range m.Lambda {
		if s.P.Rows.Kind[i] == problem.Equal {
			continue
		}
		if p.lambdaOf(i) > 0 {
			continue
		}
		m.Lambda[i] = gl[i] + s.P.Rows.B.RowDot(i, m.Adjoint)
	}
}

// lambdaOf is the multiplier of a row of the problem.
func (p *piece) lambdaOf(i int) float64 {
	v := p.ofRow(i, p.lambda)
	if p.p.Rows.Kind[i] != problem.Equal {
		v = math.Max(0, v)
	}
	return v
}

// ofRow is the entry of row i of the problem in signed multipliers, or rates of them.
func (p *piece) ofRow(i int, lambda []float64) float64 {
	o := p.f.of[i]
	if o.row < 0 {
		return 0
	}
	row := &p.f.rows[o.row]
	if !row.equal && (p.side[o.row] != sideOf(o.high) || p.inK[o.row]) {
		return 0
	}
	return sign(o.high) * lambda[o.row] * row.unit
}

// refine sets y and lambda of z to the answer on the piece, by steps of refinement on the follower's own equations:
//
//	H y + G x + q - B'lambda = 0,   b + B y - A x = 0 on S.
func (p *piece) refine(z []float64) {
	s, f := p.f.sys, p.f
	copy(s.Y(z), p.y)
	lambda, y := s.Lambda(z), s.Y(z)
	rows := p.z.rows
	for range 3 {
		for i := range lambda {
			lambda[i] = p.lambdaOf(i)
		}
		r := slices.Clone(s.Q)
		for i := range r {
			r[i] = -(r[i] + s.H.RowDot(i, y) + s.G.RowDot(i, s.X(z)))
		}
		s.P.Rows.B.AddMulVecT(r, 1, lambda)
		f.solveH(r) // the step of y with lambda as it is
		off := make([]float64, len(rows))
		for a, k := range rows {
			i, high := f.rows[k].low, p.side[k] < 0 && f.rows[k].high >= 0
			if high {
				i = f.rows[k].high
			}
			v := s.P.Rows.Rhs[i] + s.P.Rows.B.RowDot(i, y) + s.P.Rows.B.RowDot(i, r) - s.P.Rows.A.RowDot(i, s.X(z))
			off[a] = -v * sign(high) * f.rows[k].unit
		}
		dl := make([]float64, len(rows))
		p.z.times(dl, off)
		linalg.Axpy(y, 1, r)
		for a, k := range rows {
			p.lambda[k] += dl[a]
		}
		f.addET(y, rows, func(a, _ int) float64 { return dl[a] })
	}
	for i := range lambda {
		lambda[i] = p.lambdaOf(i)
	}
	s.P.Rows.Within(y)
}

// heldRow is the row of the problem that row r of the follower holds, and whether it is the upper end; -1 where it holds none.
func (p *piece) heldRow(r int) (i int, high bool) {
	row := &p.f.rows[r]
	if p.side[r] == 0 {
		return -1, false
	}
	if high = p.side[r] < 0; row.equal {
		high = row.high >= 0 && p.lambda[r] < 0
	}
	if high {
		return row.high, true
	}
	return row.low, false
}
