package qp

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// guessed is how near dependence a guess of the working set is taken.
var guessed = math.Sqrt(tolerance.Dependence)

// limit is how many changes a solve takes at most: each full step raises the dual objective strictly, so no working set
// repeats; in practice their number is a small multiple of m + n.
func (ws *Workspace) limit() int { return 100 + 40*len(ws.member) }

// minimize finds the minimizer from the state, a guess. All that is violated enters at once; where that does not raise the dual objective, the furthest
// alone does, twice as many in the next round, and so on. Where one alone does not raise it, ascend goes on.
func (ws *Workspace) minimize() Status {
	best, portion := math.Inf(-1), len(ws.member)
	var broken []breach
	for load := true; ; {
		if ws.stopped() {
			return Stopped
		}
		if !ws.restore(load) {
			return Failed
		}
		now := ws.objective()
		switch {
		case math.IsNaN(now) || math.IsInf(now, 0):
			return Failed
		case now > best && ws.changes <= ws.limit():
			if broken = ws.violated(); len(broken) == 0 {
				return Solved
			}
			best = now
			ws.copyTo(&ws.kept)
			load, portion = false, min(2*portion, len(ws.member))
		case portion > 1 && len(broken) > 1:
			ws.kept.copyTo(&ws.state)
			load, portion = true, 1
		default:
			ws.kept.copyTo(&ws.state)
			if !ws.restore(true) {
				return Failed
			}
			return ws.ascend()
		}
		load = ws.take(broken[:min(portion, len(broken))], load)
	}
}

// stopped reports whether the context has ended.
func (ws *Workspace) stopped() bool { return ws.p.Context != nil && ws.p.Context.Err() != nil }

// take puts violated bounds and rows into the working set, and the first one of the
// pieces: two pieces of much the same gradient would only be in each other's way. It reports whether the state is to be loaded, as it is where that is so before
// or entries become fixed.
func (ws *Workspace) take(broken []breach, load bool) bool {
	taken, from := false, len(ws.set)
	for _, b := range broken {
		if ws.isPiece(b.number) {
			if taken {
				continue
			}
			taken = true
		}
		j, _ := ws.entry(b.number)
		load = load || j >= ws.metric.k
		ws.set = append(ws.set, active{number: b.number})
	}
	ws.changes += len(broken)
	if !load {
		ws.include(from, guessed)
	}
	return load
}

// slack is the multiplier of a fixed entry's bound where one may be negative, and rounding its size of nothing.
func (ws *Workspace) slack(j int, force, sizes []float64) (multiplier, rounding float64, ok bool) {
	f := ws.fixed[j]
	return -float64(f) * force[j], tolerance.Feasibility * sizes[j], f != 0 && !ws.isEqual(ws.boundOf(j))
}

// restore factorizes for the state, where that is to be done, and leaves out of the working set, in blocks, what has a multiplier of the wrong
// sign, until none has: the point is then the solution of a subproblem, from which a
// dual method may go on. It reports false where numbers fail.
func (ws *Workspace) restore(load bool) bool {
	for {
		if load && !ws.load(guessed) || len(ws.p.Pieces) > 0 && ws.pieces() == 0 {
			return false
		}
		ws.refresh()
		load = false
		for j := range ws.fixed {
			if u, rounding, ok := ws.slack(j, ws.force, ws.sizes); ok && u < -rounding {
				ws.fixed[j], load = 0, true
			}
		}
		out := load
		for i := len(ws.set) - 1; i >= 0; i-- {
			a := &ws.set[i]
			if math.IsNaN(a.u) {
				return false
			}
			if a.equal || a.u >= 0 {
				continue
			}
			ws.changes++
			out = true
			ws.drop(i)
		}
		if !out {
			return true
		}
	}
}

// pieces is how many of them are in the working set.
func (ws *Workspace) pieces() (n int) {
	for _, a := range ws.set {
		if ws.isPiece(a.number) {
			n++
		}
	}
	return n
}

// ascend brings the violated constraints in one by one, the furthest first, each by
// steps that raise the dual objective.
func (ws *Workspace) ascend() Status {
	limit := ws.changes + ws.limit()
	best, stalls := ws.objective(), 0
	for {
		if ws.stopped() {
			return Stopped
		}
		broken := ws.violated()
		if len(broken) == 0 {
			return Solved
		}
		if ws.changes > limit {
			return Failed
		}
		if status := ws.enter(broken[0]); status != Solved {
			return status
		}
		// A step that does not raise the dual objective is a violation at the level of
		// rounding: widen that, at most to where constraints are anyhow undecided.
		now := ws.objective()
		if math.IsNaN(now) {
			return Failed
		}
		if now > best {
			best, stalls = now, 0
		} else if stalls++; stalls > 3 && ws.slackTol < tolerance.Sign {
			ws.slackTol *= 10
			stalls = 0
		}
	}
}

// enter takes steps in the dual space until the constraint holds, and is in the
// working set. With b its column, in the direction in which it is violated, and
// QR those of the working set, raising its multiplier by t moves
//
//	u by t (-R^-1 Q'b - sigma R^-1 R^-T o),  U z by t (-rest + sigma Q R^-T o),
//
// sigma = (its own price - o'R^-1 Q'b) / |R^-T o|^2, until it holds, or the multiplier
// of another one is 0. Solved means done; Infeasible that the working set, fixed entries and the constraint
// contradict each other, which Solution.Farkas proves; Failed that numbers do.
func (ws *Workspace) enter(b breach) Status {
	a, by, sign := active{number: b.number}, math.Abs(b.by), 1.0
	if b.by < 0 {
		sign = -1
	}
	for first := true; ; first = false {
		ws.changes++
		ws.orient(&a)
		norm := a.norm
		if norm == 0 {
			norm = 1 // it reads fixed entries alone
		}
		f, k := len(ws.free), len(ws.set)
		left := ws.split()
		if first && (ws.p.H.couples() || ws.isPiece(a.number)) && by <= tolerance.Feasibility/32*ws.size*a.norm {
			// Within what rounding of w makes of z, which termSizes does not tell of pieces, and where H couples variables. 32 is how many
			// more of them the products with the data take, of which feasibility allows for hundreds, than those with the columns.
			ws.ignored[a.number] = true
			return Solved
		}
		ws.move, ws.cost = linalg.Cleared(ws.move, k), linalg.Cleared(ws.cost, k)
		own, sigma := 0.0, 0.0
		if len(ws.p.Pieces) > 0 {
			for i, s := range ws.set {
				ws.cost[i] = s.one
			}
			ws.factor.SolveT(ws.cost)
			own = linalg.Dot(ws.cost, ws.cost)
		}
		step := ws.step[:f+1]
		clear(step)
		if left <= tolerance.Dependence {
			left = 0
		} else {
			linalg.Axpy(step, -sign, ws.rest)
			if own > 0 {
				sigma = (a.one - sign*linalg.Dot(ws.cost, ws.coef[:k])) / own
			}
		}
		for i, c := range ws.cost {
			ws.move[i] = -sign*ws.coef[i] - sigma*c
			linalg.Axpy(step, sigma*c, ws.factor.Column(i))
		}
		ws.factor.Solve(ws.move)
		rate := left*left + sigma*sigma*own // of by/norm
		only := ws.pieces() == 1
		for i := range ws.set {
			s := &ws.set[i]
			if s.move = ws.move[i] / s.norm; ws.isPiece(s.number) && only && !ws.isPiece(a.number) {
				s.move = 0 // the weight of one piece is 1
			}
		}
		ws.shift(&a, sign/norm, step)
		full := math.Inf(1)
		if rate > 0 {
			full = by / norm / rate
		}
		t, leaving, freeing := math.Inf(1), -1, -1
		for i := range ws.set {
			s := &ws.set[i]
			if !s.equal && s.move < 0 {
				if at := math.Max(s.u, 0) / -s.move; at < t {
					t, leaving = at, i
				}
			}
		}
		for j := range ws.fixed {
			if change, rounding, ok := ws.slack(j, ws.change, ws.bend); ok && change < -rounding {
				u, _, _ := ws.slack(j, ws.force, ws.sizes)
				if at := math.Max(u, 0) / -change; at < t {
					t, leaving, freeing = at, -1, j
				}
			}
		}
		switch {
		case math.IsNaN(full) || math.IsNaN(t):
			return Failed
		case full <= t && math.IsInf(full, 1):
			return ws.give(&a, by, sign/norm)
		case full <= t:
			ws.push(a, left)
			ws.refresh()
			return Solved
		}
		for i := range ws.set {
			ws.set[i].u += t * ws.set[i].move
		}
		linalg.Axpy(ws.force, t, ws.change)
		by -= t * rate * norm
		if freeing >= 0 {
			held := len(ws.free) - k
			ws.fixed[freeing] = 0
			// All members stay independent where entries become free, and bounds among them become fixed entries.
			if !ws.load(tolerance.Dependence) || len(ws.free)-len(ws.set) != held+1 {
				return Failed
			}
			continue
		}
		last := only && ws.isPiece(ws.set[leaving].number)
		ws.drop(leaving)
		if last { // The whole weight is on the entering one now.
			ws.push(a, ws.split())
			ws.refresh()
			return Solved
		}
	}
}

// shift makes change, that of force in a step, and bend, the sizes of its terms, the entering constraint's multiplier growing
// by t; step is that of U z.
func (ws *Workspace) shift(a *active, t float64, step []float64) {
	if len(ws.free) == ws.n {
		return
	}
	ws.metric.solve(step[:len(ws.free)])
	clear(ws.normal)
	linalg.Scatter(ws.normal, ws.free, step)
	ws.lagrangian(ws.change, ws.bend, ws.normal, 0, func(a *active) float64 { return a.move })
	if !ws.isBound(a.number) {
		ws.addGradient(ws.change, ws.bend, a.number, t)
	}
}

// give deals with a constraint that nothing can satisfy any more, where raising its multiplier by 1 raises the others by move: to rounding it is
// satisfied, or the constraints contradict each other: its normal is the sum of the others' times their moves, of which none that needs a sign is
// of the wrong one, while its side is below the same sum of sides. t is its own weight.
func (ws *Workspace) give(a *active, by, t float64) Status {
	if by <= tolerance.Sign*ws.termSize(a.number) {
		ws.refresh()
		ws.ignored[a.number] = true
		return Solved
	}
	ws.farkas, ws.farkasBound = make([]float64, ws.m), make([]float64, ws.n)
	weigh := func(k int, t float64) {
		if j, sign := ws.entry(k); j >= 0 {
			ws.farkasBound[j] += sign * t
		} else if k < ws.m {
			ws.farkas[k] += t
		}
	}
	weigh(a.number, t)
	for _, s := range ws.set {
		if !s.equal {
			s.move = math.Max(s.move, 0)
		}
		weigh(s.number, s.move)
	}
	for j, f := range ws.fixed {
		if f != 0 {
			ws.farkasBound[j] -= ws.change[j]
		}
	}
	if !ws.p.refuted(ws.farkas) {
		return Failed
	}
	return Infeasible
}
