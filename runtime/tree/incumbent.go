package tree

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// points looks for a point of the system from the solution of a node's relaxation.
func (p *plunger) points(ctx context.Context, n *node, sol *activeset.Solution) {
	s := p.s
	z := s.sys.Unscaled(sol.Z)
	p.near = sol.Z
	if basis := sol.Basis; p.last == nil && basis != nil { // of the rows and columns that branches have
		p.last = &activeset.Basis{Var: basis.Var[:s.prog.N], Row: basis.Row[:s.prog.A.Rows]}
	}
	before := p.Work
	defer func() { p.Looked += p.Work - before }()
	switch open := len(p.options(n, sol.Z)); {
	case open == 0:
		// The solution is complementary itself.
		if p.allFixed(n.fix) && p.s.feasible(sol.Z) {
			z := sol.Z[:s.sys.N]
			p.keep(&candidate{z: z, fix: n.fix, f: s.scaled.Value(z) + s.quad.Const})
		}
		p.descend(ctx, p.rounded(n, sol.Z), p.wholeBox(z))
	case open > few && (p.Nodes > 1 || s.best != nil && n.depth > 0):
		return
	case !math.IsInf(p.cutoff, 1) && 2*(p.before.Looked+p.Looked) > p.before.Work+p.Work: // bounds have half of the work at the least, once there is a point
		return
	case open > few:
		if p.descend(ctx, p.supporting(n, sol.Z), p.wholeBox(z)); s.best != nil {
			return
		}
	}
	p.byFollower(ctx, z)
}

// few is how many pairs are open where points are looked for, as at the first nodes as long as there is none, and from the y of the very first in any case:
// a search for one costs about as much as sixteen nodes.
const few = 8

func (p *plunger) allFixed(fix []kkt.Fix) bool {
	return !slices.Contains(fix, kkt.Open)
}

// rounded is n.fix with open pairs on the side that is smaller at z.
func (p *plunger) rounded(n *node, z []float64) []kkt.Fix {
	fix := append([]kkt.Fix(nil), n.fix...)
	for k, f := range fix {
		if f == kkt.Open {
			fix[k] = kkt.SlackZero + kkt.Fix(p.nearer(k, z))
		}
	}
	return fix
}

// supporting is n.fix with the multipliers of open pairs at zero where their slacks are not: the branch of the x, and multipliers, for which the y of z is an answer of the follower (inverse optimization: Ahuja and Orlin 2001).
func (p *plunger) supporting(n *node, z []float64) []kkt.Fix {
	fix := slices.Clone(n.fix)
	for k, f := range fix {
		if f == kkt.Open {
			fix[k] = kkt.SlackZero
			if a, b := p.s.sides(k, z); a > tolerance.Sign*(1+a+b) {
				fix[k] = kkt.MultZero
			}
		}
	}
	return fix
}

// wholeBox holds the integer entries at the whole numbers next to those of z (model's units).
func (p *plunger) wholeBox(z []float64) []change {
	var box []change
	for _, j := range p.s.whole {
		v := math.Round(z[j])
		box = append(box, change{int32(j), v, v})
	}
	return box
}

// byFollower descends from the follower's answer to the x of z, its integer entries rounded.
func (p *plunger) byFollower(ctx context.Context, z []float64) {
	s := p.s
	x := append([]float64(nil), s.sys.X(z)...)
	for _, j := range s.whole {
		x[j] = math.Round(x[j])
	}
	if p.follower == nil {
		made, err := kkt.NewFollower(s.sys)
		if err != nil {
			return
		}
		p.follower = made
	}
	before := p.follower.Work
	answer, status := p.follower.Solve(ctx, x)
	p.Work += p.follower.Work - before
	p.Tried++
	if status != activeset.Optimal {
		return
	}
	p.near = s.sys.Scaled(answer)
	fix, _ := s.sys.BranchAt(answer)
	p.descend(ctx, fix, p.wholeBox(answer))
}

// branch solves the problem of one branch.
func (p *plunger) branch(ctx context.Context, fix []kkt.Fix, box []change) *activeset.Solution {
	p.nodeBounds(&node{fix: fix, box: box})
	linear := p.settled(fix, box)
	p.Tried++
	var sol *activeset.Solution
	if p.s.concave != nil {
		sol = p.convexConcave(ctx, linear, p.near)
	} else {
		sol = p.onBranch(ctx, linear)
	}
	sol.Value += p.s.quad.Const
	return sol
}

// onBranch solves the program of pieces in the bounds and ranges of p, with tangents of the constraints that have them.
func (p *plunger) onBranch(ctx context.Context, cost []float64) *activeset.Solution {
	var from refining
	for round := 0; ; round++ {
		p.pieces.ready(p, p.s.prog).SetObjective(p.s.prog.Q, cost)
		b := p.pieces.bounds(p)
		sol := p.pieces.solver.Solve(ctx, b, fits(p.last, len(b.RowHi)), activeset.Options{})
		p.Work += sol.Work
		if p.s.concave == nil {
			short, work := activeset.Shorter(ctx, p.pieces.solver, b, sol, p.s.quad.Const)
			sol, p.Work = short, p.Work+work
		}
		if sol.Basis != nil {
			p.last = sol.Basis
		}
		if len(p.s.curved) == 0 || round < tolerance.Steps && !p.refine(ctx, &p.pieces, sol, cost, &from) {
			return sol
		}
		if round == tolerance.Steps {
			if sol.Status == activeset.Optimal {
				sol.Status = activeset.Failed
			}
			return sol
		}
	}
}

// descend minimizes f on a branch, and goes on to the neighbouring branch, across a biactive pair, of the multiplier with the
// wrong sign that is largest, until there is none. It keeps the best point.
func (p *plunger) descend(ctx context.Context, fix []kkt.Fix, box []change) {
	fix = append([]kkt.Fix(nil), fix...)
	p.s.atVertices(fix, p.near)
	var best *candidate
	left := make([]bool, len(fix)) // pairs that changed sides since f last fell
	for range 4 * (1 + len(fix)) {
		sol := p.branch(ctx, fix, box)
		if sol.Status == activeset.Unbounded {
			p.from, p.falls = &candidate{z: sol.Z[:p.s.sys.N], fix: append([]kkt.Fix(nil), fix...), f: math.Inf(-1)}, sol.Ray
		}
		if sol.Status != activeset.Optimal {
			break
		}
		if best == nil || sol.Value < best.f-tolerance.Sign*math.Abs(best.f) {
			clear(left)
		}
		p.near = sol.Z
		if best == nil || sol.Value < best.f {
			best = &candidate{z: sol.Z[:p.s.sys.N], fix: append([]kkt.Fix(nil), fix...), f: sol.Value}
		}
		k := p.wrong(fix, left, sol)
		if k < 0 {
			break
		}
		left[k] = true
		fix[k] = kkt.SlackZero + kkt.MultZero - fix[k]
	}
	if best != nil {
		p.keep(best)
	}
}

// keep makes c the plunge's best point, if it is.
func (p *plunger) keep(c *candidate) {
	if p.s.lower(c, p.found) && p.s.lower(c, p.s.best) {
		p.found = p.s.measure(c)
		p.cutoff = min(p.cutoff, c.f-p.s.slack(c))
	}
}

// wrong is the biactive pair, of those not in `left`, whose other side f would fall on fastest; -1 for none.
func (p *plunger) wrong(fix []kkt.Fix, left []bool, sol *activeset.Solution) int {
	best, most := -1, 0.0
	largest := linalg.NormInf(sol.Row)
	for _, m := range sol.Bound {
		largest = max(largest, math.Abs(m))
	}
	for k, f := range fix {
		if left[k] || p.s.choices != nil && p.s.optionOf[k] >= 0 {
			continue
		}
		a, b := p.s.sides(k, sol.Z)
		held, other := p.s.sys.Pairs[k].Slack, b
		if f == kkt.MultZero {
			held, other = p.s.sys.Pairs[k].Mult, a
		}
		if other > tolerance.Sign*(1+math.Abs(a)+math.Abs(b)) {
			continue
		}
		m := 0.0
		if held.Row >= 0 {
			m = sol.Row[held.Row]
		} else {
			m = sol.Bound[held.Var]
		}
		if held.Upper {
			m = -m
		}
		if m < -tolerance.Sign*largest && m < most {
			best, most = k, m
		}
	}
	return best
}
