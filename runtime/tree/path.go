package tree

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// path is the follower's answer along the one entry of x that a part has, from one end of its box to the other: an answer that is unique is continuous and affine between vertices, where its branch changes (parametric quadratic
// programming: Best 1996), so that f is quadratic there, and its least value over all of x is known without a branch.
type path struct {
	sys      *kkt.System
	answers  *kkt.Follower
	vertices []vertex
	blocks   []strong // that f or the leader's rows read
	best     []float64
	value    float64 // of f at best, the least
	work     int64
}

type vertex struct {
	x     float64
	z     []float64
	signs kkt.Signs
}

// strong is a block of the follower with what shows that its answers are unique (kkt.System.StrongConvexity).
type strong struct {
	kkt.Block
	least, squares []float64
}

// newPath follows the answer of a part; nil where it has other entries of x, or none without end or gaps, where f is not quadratic or reads multipliers, where an answer that is read is not known to be unique, where multipliers have no bound, with which rounding of a slack may weigh anything, where some x has no answer, and
// where that takes more than the second of a search that nobody asked for.
func newPath(ctx context.Context, sys *kkt.System) *path {
	set, o := sys.P.X, sys.Objective
	if sys.Nx != 1 || sys.N != sys.Nx+sys.Ny+sys.M || len(sys.Pairs) == 0 || set.Lo == nil || !linalg.Finite([]float64{set.Lo[0], set.Hi[0]}) || !(set.Lo[0] < set.Hi[0]) || len(sys.P.Integer) > 0 && sys.P.Integer[0] || len(sys.Curved) > 0 || !o.Known {
		return nil
	}
	p := &path{sys: sys, value: math.Inf(1)}
	read := make([]bool, sys.N)
	for j := range read {
		read[j] = o.Lin[j] != 0 || o.Hess != nil && o.Hess.Reads(j)
	}
	for r, origin := range sys.Origin {
		for j := range sys.Relaxation.A.Nonzeros(r) {
			read[j] = read[j] || origin.Kind == kkt.CoupledRow
		}
	}
	if slices.Contains(read[sys.Nx+sys.Ny:], true) {
		return nil
	}
	for _, b := range sys.Blocks() {
		if slices.ContainsFunc(b.Y, func(j int) bool { return read[sys.Nx+j] }) {
			least, squares := sys.StrongConvexity(b)
			if least == nil {
				return nil
			}
			p.blocks = append(p.blocks, strong{b, least, squares})
		}
	}
	if len(p.blocks) == 0 {
		return nil
	}
	_, bounded, err := sys.Interiors(ctx)
	if err != nil || slices.ContainsFunc(p.blocks, func(b strong) bool {
		return slices.ContainsFunc(b.Rows, func(i int) bool {
			return math.IsInf(bounded.Relaxation.Hi[sys.Nx+sys.Ny+i], 1) && sys.P.Rows.Kind[i] == problem.AtMost
		})
	}) {
		return nil
	}
	if p.answers, err = kkt.NewFollower(sys); err != nil {
		return nil
	}
	if !p.follow(ctx, set.Lo[0], set.Hi[0]) || !p.minimize() {
		return nil
	}
	return p
}

// at is the vertex at an x; nil where the follower has no answer, or no time is left.
func (p *path) at(ctx context.Context, x float64) *vertex {
	if p.work = p.answers.Work + NodeWork*int64(len(p.vertices)); p.work > 4*tolerance.Second {
		return nil
	}
	z, status := p.answers.Solve(ctx, []float64{x})
	if status != activeset.Optimal {
		return nil
	}
	return &vertex{x, z, p.sys.SignsAt(z)}
}

// joined reports that the answers and multipliers of two vertices have no product in these rows: all between them then are answers to the x between.
func (p *path) joined(a, b *vertex, rows []int) bool {
	return !slices.ContainsFunc(rows, func(i int) bool {
		return (a.signs.Slack[i] || b.signs.Slack[i]) && (a.signs.Mult[i] || b.signs.Mult[i])
	})
}

// follow finds the vertices from lo to hi. From each one it looks for a point ahead on the same branch, and goes on along the line through both as far as signs stay.
func (p *path) follow(ctx context.Context, lo, hi float64) bool {
	rows, least := each.Number(p.sys.M), tolerance.Sign*(math.Abs(lo)+math.Abs(hi))
	from := p.at(ctx, lo)
	if from == nil {
		return false
	}
	p.vertices = []vertex{*from}
	step := hi - lo
	for from.x < hi {
		var to *vertex
		for step = math.Min(step, hi-from.x); ; step /= tolerance.Shorten {
			x := from.x + step
			if hi-x < least {
				x = hi
			}
			if to = p.at(ctx, x); to == nil || step < least {
				return false
			}
			if p.joined(from, to, rows) {
				break
			}
		}
		for to.x < hi {
			next := p.at(ctx, math.Min(hi, p.end(from, to)))
			if next == nil {
				return false
			}
			if next.x-to.x <= tolerance.SumRounding*math.Abs(next.x) || !p.joined(from, next, rows) {
				break
			}
			to = next
		}
		step = tolerance.Shorten * (to.x - from.x)
		p.vertices = append(p.vertices, *to)
		from = to
	}
	return true
}

// end is how far the line through two points of a branch goes until a slack or a multiplier that is positive at the second is 0.
func (p *path) end(from, to *vertex) float64 {
	sys, end := p.sys, math.Inf(1)
	a, b := make([]float64, sys.M), make([]float64, sys.M)
	sys.Slack(a, nil, from.z)
	sys.Slack(b, nil, to.z)
	until := func(positive bool, a, b float64) {
		if positive && b < a {
			end = math.Min(end, to.x+(to.x-from.x)*(b/(a-b)))
		}
	}
	for i := range a {
		until(to.signs.Slack[i], a[i], b[i])
		until(to.signs.Mult[i], sys.Lambda(from.z)[i], sys.Lambda(to.z)[i])
	}
	return end
}

// minimize finds the least value of f between the vertices, where the leader's rows hold. It reports false where they hold nowhere.
func (p *path) minimize() bool {
	f := &p.sys.Objective.Quadratic
	for k := range p.vertices[1:] {
		from, to := &p.vertices[k], &p.vertices[k+1]
		lo, hi := p.within(from.z, to.z)
		if lo > hi {
			continue
		}
		point := func(t float64) []float64 {
			z := make([]float64, len(from.z))
			for j := range z {
				z[j] = from.z[j] + t*(to.z[j]-from.z[j])
			}
			return z
		}
		ways := []float64{lo, hi}
		d := linalg.Minus(to.z, from.z)
		g := make([]float64, len(d))
		f.Gradient(g, from.z)
		slope, curvature := linalg.Dot(g, d), 0.0
		if f.Hess != nil {
			for i, t := range d {
				curvature += t * f.Hess.RowDot(i, d)
			}
		}
		if t := -slope / curvature; curvature > 0 && lo < t && t < hi {
			ways = append(ways, t)
		}
		for _, t := range ways {
			if z := point(t); f.Value(z) < p.value {
				p.value, p.best = f.Value(z), z
			}
		}
	}
	return p.best != nil
}

// within is the part of the way between two points, [0, 1] being all of it, on which the leader's rows hold, to the rounding of their terms; lo > hi where there is none.
func (p *path) within(from, to []float64) (lo, hi float64) {
	sys, relaxation := p.sys, p.sys.Relaxation
	lo, hi = 0, 1
	a, b := sys.Scaled(from), sys.Scaled(to)
	for r, origin := range sys.Origin {
		if origin.Kind != kkt.UpperRow && origin.Kind != kkt.CoupledRow {
			continue
		}
		rounding := tolerance.Feasibility * (relaxation.A.RowTerms(r, a) + relaxation.A.RowTerms(r, b))
		for _, side := range [2]struct{ sign, end float64 }{{1, relaxation.RowHi[r]}, {-1, -relaxation.RowLo[r]}} {
			at := func(z []float64) float64 { // > 0 where it is violated
				return side.sign*relaxation.A.RowDot(r, z) - side.end - rounding
			}
			switch first, last := at(a), at(b); {
			case first > 0 && last > 0:
				return 1, 0
			case first > 0:
				lo = math.Max(lo, first/(first-last))
			case last > 0:
				hi = math.Min(hi, first/(first-last))
			}
		}
	}
	return lo, hi
}

// takePath ends the search with what the path shows; it reports false where that leaves more open than the gap, beside large terms of f.
func (s *search) takePath(p *path) bool {
	fix, _ := s.sys.BranchAt(p.best)
	s.path, s.best = p, s.measure(&candidate{z: s.sys.Scaled(p.best), fix: fix, f: p.value})
	if s.leaves(s.best) > max(s.gap, tolerance.Target)*math.Abs(p.value) {
		s.path, s.best = nil, nil
		return false
	}
	s.Work, s.Nodes, s.least = p.work, 1, p.value
	s.records = []record{{Kind: closed, Bound: infinite(p.value)}}
	return true
}

// path writes the segments of each block, as long as branches have them, and the one leaf.
func (pw *proofWriter) path() {
	p := pw.s.path
	sys := p.sys
	for _, b := range p.blocks {
		y, rows := each.Of(b.Y, pw.answer), each.Of(b.Rows, pw.row)
		unit := func(v *vertex, j int) float64 { return math.Abs(sys.Y(v.z)[j]) / sys.ColScale[sys.Nx+j] }
		most := each.Largest(p.vertices, func(v vertex) float64 { // beside it what is 0 is rounding
			return each.Largest(b.Y, func(j int) float64 { return unit(&v, j) })
		})
		for k := 0; k < len(p.vertices)-1; {
			to := k + 1
			for to+1 < len(p.vertices) && p.joined(&p.vertices[k], &p.vertices[to+1], b.Rows) {
				to++
			}
			first, last := &p.vertices[k], &p.vertices[to]
			line := map[string]any{"answer": y[0], "entry": pw.s.part.Cols[0], "from": first.x, "to": last.x}
			put := func(name string, of *entries) {
				if of != nil {
					line[name] = of
				}
			}
			along := func(at, by string, numbers []int, from, to []float64) {
				put(at, over(numbers, from))
				put(by, over(numbers, each.Below(len(from), func(i int) float64 { return (to[i] - from[i]) / (last.x - first.x) })))
			}
			multipliers := func(v *vertex) []float64 {
				return each.Of(b.Rows, func(i int) float64 {
					if sys.P.Rows.Kind[i] == problem.AtMost && !first.signs.Mult[i] && !last.signs.Mult[i] {
						return 0
					}
					return sys.Lambda(v.z)[i]
				})
			}
			answer := func(v *vertex) []float64 {
				return each.Of(b.Y, func(j int) float64 {
					if unit(v, j) <= 0x1p-45*most {
						return 0
					}
					return sys.Y(v.z)[j]
				})
			}
			along("at", "by", y, answer(first), answer(last))
			along("multipliers", "slopes", rows, multipliers(first), multipliers(last))
			if k == 0 {
				put("curvature", over(y, b.least))
				put("squares", over(rows, b.squares))
			}
			pw.line(map[string]any{"segment": line})
			k = to
		}
	}
	pw.line(map[string]any{"followed": true})
}
