package kkt

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/problem"
)

// Limits are bounds of the slack and of the multiplier of each pair that hold at all points of the system (model's units): constants for those who take pairs as binary variables only.
type Limits struct{ Slack, Mult []float64 }

// NoLimit is a row of the lower level for which there are none, and why, in words.
type NoLimit struct {
	Row int
	Why string
}

// Limits finds them for each part of the lower level that shares no variable with others. An affine map y(x) with slacks of at least t_i > 0 for all x of their box (Slater's condition) bounds the multipliers:
// at an answer y* with multipliers lambda
//
//	lambda's(y) = lambda'B(y - y*) = grad g(y*)'(y - y*) = -grad g(y)'(y* - y) - (y* - y)'H(y* - y) <= theta,
//
// with theta from the box of y or from m_j > 0 such that H - diag(m) is positive semidefinite: theta = r^2/4, r^2 the sum of (grad g(y))_j^2/m_j, which bounds y* as well, |y*_j - y_j| <= r/sqrt(m_j). So lambda_i <= theta/t_i. Linear programs over the relaxation within these bounds
// tighten them.
func (s *System) Limits(ctx context.Context) (*Limits, *NoLimit, error) {
	l := &limiter{s: s, ctx: ctx, program: *s.Relaxation, blame: true}
	l.program.Q, l.program.C = nil, make([]float64, s.N)
	l.program.Lo, l.program.Hi = append([]float64(nil), s.Relaxation.Lo...), append([]float64(nil), s.Relaxation.Hi...)
	if err := l.variables(); err != nil {
		return nil, nil, err
	}
	for _, p := range l.parts() {
		if _, no, err := l.multipliers(p); no != nil || err != nil {
			return nil, no, err
		}
	}
	return l.pairs()
}

// Interior is an affine map y(x) = At + sum of By[k] x_Entry[k], for the entries Y of y, which are a part of the lower level, inside of its constraints for all x of their box; H less the diagonal
// matrix Curvature is positive semidefinite there (nil: none with positive entries is known). Model's units.
type Interior struct {
	Y, Entry  []int
	At        []float64
	By        [][]float64
	Curvature []float64
}

// Interiors are those of the parts of the lower level that have one, and the system within the bounds of y and multipliers that they give.
func (s *System) Interiors(ctx context.Context) ([]Interior, *System, error) {
	l := &limiter{s: s, ctx: ctx, program: *s.Relaxation}
	l.program.Lo, l.program.Hi = append([]float64(nil), s.Relaxation.Lo...), append([]float64(nil), s.Relaxation.Hi...)
	var all []Interior
	for _, p := range l.parts() {
		in, no, err := l.multipliers(p)
		if err != nil {
			return nil, nil, err
		}
		if no == nil && in != nil {
			all = append(all, l.plain(p, in))
		}
	}
	boxed, program := *s, *s.Relaxation
	program.Lo, program.Hi = l.program.Lo, l.program.Hi
	boxed.Relaxation = &program
	return all, &boxed, nil
}

// plain is an affine map around 0.
func (l *limiter) plain(p lowerPart, in *affine) Interior {
	out := Interior{Y: p.y, At: append([]float64(nil), in.at...), Curvature: l.curvature(p)}
	for c := range l.s.Nx {
		by := in.by[c]
		if by == nil {
			continue
		}
		lo, hi := l.box(c)
		slope := make([]float64, len(by))
		for k, v := range by {
			if v != 0 && hi > lo {
				slope[k] = v / ((hi - lo) / 2)
				out.At[k] -= slope[k] * (lo + hi) / 2
			}
		}
		out.Entry, out.By = append(out.Entry, c), append(out.By, slope)
	}
	return out
}

// limiter finds limits: program is the relaxation, within the bounds that are known so far.
type limiter struct {
	s       *System
	ctx     context.Context
	program activeset.Program
	work    int64
	blame   bool // rows are named
}

// limitWork is what tightening by linear programs may take in the measure of activeset.Solution, about two seconds; what it leaves out keeps the bounds that it has.
const limitWork = 2e9

// most is the largest value of a linear form over the program, in its units; +Inf where none is known.
func (l *limiter) most(solver *activeset.Solver, form func(cost []float64)) (float64, error) {
	if l.work > limitWork {
		return math.Inf(1), nil
	}
	cost := make([]float64, l.s.N)
	form(cost)
	for j := range cost {
		cost[j] = -cost[j]
	}
	solver.SetObjective(nil, cost)
	sol := solver.Solve(l.ctx, nil, nil, activeset.Options{Cutoff: math.Inf(1)})
	l.work += sol.Work
	switch sol.Status {
	case activeset.Optimal:
		return outward(-sol.Value), nil
	case activeset.Stopped:
		return 0, l.ctx.Err()
	}
	return math.Inf(1), nil
}

// outward is v with a margin for the accuracy of linear programs.
func outward(v float64) float64 { return v + 1e3*Tolerance*math.Max(1, math.Abs(v)) }

// variables finds ends of the ranges of x and y where they have none.
func (l *limiter) variables() error {
	solver, err := activeset.New(&l.program)
	if err != nil {
		return err
	}
	for j := range l.s.Nx + l.s.Ny {
		for side, sign := range [2]float64{-1, 1} {
			end := [2]*float64{&l.program.Lo[j], &l.program.Hi[j]}[side]
			if !math.IsInf(*end, 0) {
				continue
			}
			v, err := l.most(solver, func(cost []float64) { cost[j] = sign })
			if err != nil {
				return err
			}
			*end = sign * v
		}
	}
	return nil
}

// box is the range of variable j in the model's units.
func (l *limiter) box(j int) (lo, hi float64) {
	return l.program.Lo[j] * l.s.ColScale[j], l.program.Hi[j] * l.s.ColScale[j]
}

// lowerPart is a part of the lower level.
type lowerPart struct{ y, rows []int }

func (l *limiter) parts() (out []lowerPart) {
	s := l.s
	classes := sparse.NewClasses(s.Ny + s.M)
	join := func(m *sparse.CSR, from int) {
		for i := range m.Rows {
			cols, vals := m.Row(i)
			for t, j := range cols {
				if vals[t] != 0 {
					classes.Join(from+i, j)
				}
			}
		}
	}
	join(s.H, 0)
	join(s.P.Rows.B, s.Ny)
	for _, members := range classes.Members(s.Ny + s.M) {
		var p lowerPart
		for _, k := range members {
			if k < s.Ny {
				p.y = append(p.y, k)
			} else {
				p.rows = append(p.rows, k-s.Ny)
			}
		}
		if len(p.rows) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// affine is y(x) = at + sum of by[c] (x_c - mid_c)/half_c over the entries c of x, of a part.
type affine struct {
	at []float64
	by map[int][]float64
}

// multipliers bounds those of a part's inequalities, and its y.
func (l *limiter) multipliers(p lowerPart) (*affine, *NoLimit, error) {
	s := l.s
	inequality := -1
	for _, i := range p.rows {
		if s.P.Rows.Kind[i] == problem.AtMost {
			inequality = i
			break
		}
	}
	switch {
	case inequality < 0:
		return nil, nil, nil
	case len(p.y) == 0:
		return nil, &NoLimit{inequality, "which reads none of the follower's variables, the multiplier has no bound"}, nil
	}
	var entries []int // of x, in rows of the part
	seen := map[int]bool{}
	reads := func(m *sparse.CSR, i int, all *[]int) string {
		cols, vals := m.Row(i)
		for t, c := range cols {
			if lo, hi := l.box(c); vals[t] != 0 && !seen[c] {
				if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
					return fmt.Sprintf("entry %d of x, on which the follower depends, has no finite range", c+1)
				}
				seen[c] = true
				*all = append(*all, c)
			}
		}
		return ""
	}
	for _, i := range p.rows {
		if why := reads(s.P.Rows.A, i, &entries); why != "" {
			return nil, &NoLimit{i, why}, nil
		}
	}
	costs := append([]int(nil), entries...)
	for _, j := range p.y {
		if why := reads(s.G, j, &costs); why != "" {
			return nil, &NoLimit{inequality, why}, nil
		}
	}
	inner, no, err := l.interior(p, entries)
	if no != nil || err != nil {
		return nil, no, err
	}
	slope := func(m *sparse.CSR, row, c int) float64 { // m_row by[c]
		sum := 0.0
		cols, vals := m.Row(row)
		for t, j := range cols {
			for k, of := range p.y {
				if of == j {
					sum += vals[t] * inner.by[c][k]
				}
			}
		}
		return sum
	}
	at := make([]float64, s.Ny)
	for k, j := range p.y {
		at[j] = inner.at[k]
	}
	// The gradient of g at y(x), and what it leaves g to fall.
	least := l.curvature(p)
	square, box := 0.0, 0.0
	for k, j := range p.y {
		mid, radius, moves := s.Q[j]+s.H.RowDot(j, at), 0.0, 0.0
		for _, c := range costs {
			lo, hi := l.box(c)
			mid += s.G.At(j, c) * (lo + hi) / 2
			by := s.G.At(j, c) * (hi - lo) / 2
			if inner.by[c] != nil {
				by += slope(s.H, j, c)
				moves += math.Abs(inner.by[c][k])
			}
			radius += math.Abs(by)
		}
		d := math.Abs(mid) + radius
		if least != nil {
			square += d * d / least[k]
		}
		if lo, hi := l.box(s.Nx + j); d > 0 {
			box += d * math.Max(at[j]+moves-lo, hi-at[j]+moves)
		}
	}
	theta := box
	if least != nil {
		theta = math.Min(theta, square/4)
	}
	if math.IsNaN(theta) || math.IsInf(theta, 0) {
		return nil, &NoLimit{inequality, "the follower's variables have no finite range, and its objective is not strongly convex"}, nil
	}
	for k, j := range p.y {
		if least == nil {
			break
		}
		reach, moves := math.Sqrt(square/least[k]), 0.0
		for _, c := range entries {
			moves += math.Abs(inner.by[c][k])
		}
		v, scale := s.Nx+j, s.ColScale[s.Nx+j]
		if math.IsInf(l.program.Lo[v], -1) { // others are sides of pairs
			l.program.Lo[v] = -outward(reach+moves-at[j]) / scale
		}
		if math.IsInf(l.program.Hi[v], 1) {
			l.program.Hi[v] = outward(reach+moves+at[j]) / scale
		}
	}
	for _, i := range p.rows {
		if s.P.Rows.Kind[i] != problem.AtMost {
			continue
		}
		slack := s.P.Rows.Rhs[i] + s.P.Rows.B.RowDot(i, at)
		for _, c := range entries {
			lo, hi := l.box(c)
			slack -= s.P.Rows.A.At(i, c)*(lo+hi)/2 + math.Abs(slope(s.P.Rows.B, i, c)-s.P.Rows.A.At(i, c)*(hi-lo)/2)
		}
		if !(slack > 0) {
			return nil, &NoLimit{i, "its slack has no bound above 0"}, nil
		}
		v := s.Nx + s.Ny + i
		l.program.Hi[v] = math.Min(l.program.Hi[v], outward(theta/slack)/s.ColScale[v])
	}
	return inner, nil, nil
}

// curvature is m of Interior: a multiple of the diagonal of H; nil where there is none.
func (l *limiter) curvature(p lowerPart) []float64 {
	n := len(p.y)
	out, dense := make([]float64, n), mat.NewSymDense(n, nil)
	for a, i := range p.y {
		if out[a] = l.s.H.At(i, i); !(out[a] > 0) {
			return nil
		}
		for b, j := range p.y[:a+1] {
			dense.SetSym(a, b, l.s.H.At(i, j)/math.Sqrt(out[a])/math.Sqrt(out[b]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(dense, false) {
		return nil
	}
	least := eigen.Values(nil)[0] - float64(n)*Tolerance // a margin for what is verified
	if !(least > 0) {
		return nil
	}
	for a := range out {
		out[a] *= least
	}
	return out
}

// interiorWork is what the factors of the linear program for an affine map may take, about a tenth of a second; where they take more it is a constant.
const interiorWork = 1e8

// unit is the power of two next to the largest coefficient of y in row i of the lower level, y in the relaxation's units; 1 for none.
func (l *limiter) unit(i int) float64 {
	most := 0.0
	cols, vals := l.s.P.Rows.B.Row(i)
	for t, j := range cols {
		most = math.Max(most, math.Abs(vals[t])*l.s.ColScale[l.s.Nx+j])
	}
	if most == 0 {
		return 1
	}
	_, e := math.Frexp(most)
	return math.Ldexp(1, e)
}

// interior is y(x) of a part with the largest slack, relative to the coefficients of each row, that all inequalities have for all x of their box.
func (l *limiter) interior(p lowerPart, entries []int) (*affine, *NoLimit, error) {
	s := l.s
	place := map[int]int{}
	for k, j := range p.y {
		place[j] = k
	}
	ny, nc := len(p.y), len(entries)
	wide, deviations := ny*(1+nc), 0 // y's; then how far a slack moves with an entry
	for _, i := range p.rows {
		if s.P.Rows.Kind[i] == problem.AtMost {
			deviations += nc
		}
	}
	n := wide + deviations + 1
	if work := float64(n) * float64(n) * float64(n) / 2; work > interiorWork {
		nc, wide = 0, ny
		n = wide + deviations + 1
	}
	lp := &activeset.Program{N: n, C: make([]float64, n), A: sparse.Empty(n)}
	inf := math.Inf(1)
	for j := range n {
		lo := -inf
		if j >= wide {
			lo = 0
		}
		lp.Lo, lp.Hi = append(lp.Lo, lo), append(lp.Hi, inf)
	}
	lp.Hi[n-1] = 1
	var owner []int // the lower row that each is of
	row := func(i int, lo, hi float64) {
		owner = append(owner, i)
		lp.A.EndRow()
		lp.RowLo, lp.RowHi = append(lp.RowLo, lo), append(lp.RowHi, hi)
	}
	put := func(i, shift int, unit float64) {
		cols, vals := s.P.Rows.B.Row(i)
		for t, j := range cols {
			if vals[t] != 0 {
				lp.A.Append(shift+place[j], vals[t]*s.ColScale[s.Nx+j]/unit)
			}
		}
	}
	next := wide
	var slackRow []int // of inequalities
	for _, i := range p.rows {
		unit := l.unit(i)
		side := -s.P.Rows.Rhs[i] / unit
		for _, c := range entries {
			lo, hi := l.box(c)
			side += s.P.Rows.A.At(i, c) * (lo + hi) / 2 / unit
		}
		equal := s.P.Rows.Kind[i] == problem.Equal
		for e, c := range entries {
			lo, hi := l.box(c)
			moves := s.P.Rows.A.At(i, c) * (hi - lo) / 2 / unit
			at := ny * (1 + e)
			put := func() {
				if nc > 0 {
					put(i, at, unit)
				}
			}
			put()
			if equal {
				row(i, moves, moves)
				continue
			}
			lp.A.Append(next+e, 1)
			row(i, moves, inf)
			put()
			lp.A.Append(next+e, -1)
			row(i, -inf, moves)
		}
		put(i, 0, unit)
		if equal {
			row(i, side, side)
			continue
		}
		for range entries {
			lp.A.Append(next, -1)
			next++
		}
		lp.A.Append(n-1, -1)
		slackRow = append(slackRow, len(lp.RowLo))
		row(i, side, inf)
	}
	lp.C[n-1] = -1
	solver, err := activeset.New(lp)
	if err != nil {
		return nil, nil, err
	}
	sol := solver.Solve(l.ctx, nil, nil, activeset.Options{Cutoff: inf})
	l.work += sol.Work
	switch {
	case sol.Status == activeset.Stopped:
		return nil, nil, l.ctx.Err()
	case sol.Status != activeset.Optimal:
		i := p.rows[0]
		most := 0.0
		for r, w := range sol.FarkasRow {
			if j, _ := s.P.Rows.Bound(owner[r]); math.Abs(w) > most && j < 0 { // a bound of a single entry says less
				i, most = owner[r], math.Abs(w)
			}
		}
		return nil, &NoLimit{i, "which contradicts others at some x, nothing that is affine in x satisfies the follower's constraints for all x"}, nil
	case !l.blame && -sol.Value <= 1e3*Tolerance:
		return nil, &NoLimit{p.rows[0], "there is none"}, nil
	case -sol.Value > 1e3*Tolerance:
		out := &affine{at: make([]float64, ny), by: map[int][]float64{}}
		unscaled := func(dst, z []float64) {
			for k, j := range p.y {
				dst[k] = z[k] * s.ColScale[s.Nx+j]
			}
		}
		unscaled(out.at, sol.Z)
		for e, c := range entries {
			if out.by[c] = make([]float64, ny); nc > 0 {
				unscaled(out.by[c], sol.Z[ny*(1+e):])
			}
		}
		return out, nil, nil
	}
	// The one whose own slack can never be positive.
	inequalities := 0
	for _, i := range p.rows {
		if s.P.Rows.Kind[i] != problem.AtMost {
			continue
		}
		k := inequalities
		inequalities++
		own := *lp
		own.A = lp.A.Clone()
		for m, r := range slackRow {
			if m != k {
				own.A.Val[own.A.Ptr[r+1]-1] = 0
			}
		}
		solver, err := activeset.New(&own)
		if err != nil {
			return nil, nil, err
		}
		if sol := solver.Solve(l.ctx, nil, nil, activeset.Options{Cutoff: inf}); sol.Status == activeset.Optimal && -sol.Value <= 1e3*Tolerance {
			return nil, &NoLimit{i, "the follower's constraints leave it no slack at some x, so that nothing bounds its multiplier"}, nil
		}
	}
	return nil, &NoLimit{p.rows[0], "the follower's constraints leave no slack together at some x, so that nothing bounds their multipliers"}, nil
}

// pairs tightens what is known of each by linear programs over the relaxation.
func (l *limiter) pairs() (*Limits, *NoLimit, error) {
	s, out := l.s, &Limits{}
	solver, err := activeset.New(&l.program)
	if err != nil {
		return nil, nil, err
	}
	side := func(d Side) (float64, error) {
		var most, scale float64
		if d.Row >= 0 {
			scale = 1 / s.RowScale[d.Row]
			most = -s.Relaxation.RowLo[d.Row]
			cols, vals := s.Relaxation.A.Row(d.Row)
			for t, j := range cols {
				most += math.Max(vals[t]*l.program.Lo[j], vals[t]*l.program.Hi[j])
			}
		} else {
			scale = s.ColScale[d.Var]
			most = l.program.Hi[d.Var] - l.program.Lo[d.Var]
		}
		v, err := l.most(solver, func(cost []float64) {
			switch {
			case d.Row >= 0:
				s.Relaxation.A.AddRow(cost, d.Row, 1)
			case d.Upper:
				cost[d.Var] = -1
			default:
				cost[d.Var] = 1
			}
		})
		switch {
		case d.Row >= 0:
			v -= s.Relaxation.RowLo[d.Row]
		case d.Upper:
			v += s.Relaxation.Hi[d.Var]
		default:
			v -= s.Relaxation.Lo[d.Var]
		}
		return math.Max(0, outward(math.Min(most, v))) * scale, err
	}
	for _, p := range s.Pairs {
		slack, err := side(p.Slack)
		if err != nil {
			return nil, nil, err
		}
		mult, err := side(p.Mult)
		if err != nil {
			return nil, nil, err
		}
		if math.IsInf(slack, 0) || math.IsNaN(slack) {
			return nil, &NoLimit{p.Row, "its slack has no bound"}, nil
		}
		out.Slack, out.Mult = append(out.Slack, slack), append(out.Mult, mult)
	}
	return out, nil, nil
}
