package tree

import (
	"context"
	"math"
	"sort"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// Reliability branching (Achterberg, Koch and Martin 2005): pseudo-costs that rest on fewer than `reliable` observations
// of a side are replaced by what the children's relaxations give; no more candidates are tried once `lookahead` of them have not raised the best score, or
// where that takes more work than the relaxations of nodes and a tenth of a second together.
const reliable, lookahead = 4, 8

// option is a candidate for branching.
type option struct {
	k        int
	distance [2]float64 // what each side moves
	score    float64
	known    [2]*outlook
}

// options are the pairs with two positive sides, the integer entries that are not whole, or whose products are not theirs, other entries whose products with slopes are not theirs, and the directions along
// which secants are below f, at the solution z of the relaxation of n.
func (p *plunger) options(n *node, z []float64) []option {
	var all []option
	var off map[int]bool
	var sloped map[int]float64
	var settled []bool
	if p.s.lift != nil {
		off, sloped = p.s.lift.off(p.s, z), p.slopeOptions(n, z)
		if len(off) > 0 { // once these are their products' there is a row that is strong duality; of ranges of slopes there is always one that is shorter
			settled = p.s.lift.exact
		}
	}
	loose, lacks := p.s.loose(z), map[int]float64{}
	for k, f := range n.fix {
		if f != kkt.Open || settled != nil && settled[k] {
			continue
		}
		if a, b := p.s.sides(k, z); min(a, b) > tolerance.Sign*(1+max(a, b)) {
			all = append(all, option{k: k, distance: [2]float64{a, b}})
			lacks[k] = min(a, b)
		} else if len(loose) > 0 && p.s.optionOf[k] >= 0 && loose[p.s.optionOf[k]] {
			if rest, is := p.s.between(k, a); is {
				all = append(all, option{k: k, distance: [2]float64{a, rest}})
			}
		}
	}
	for i, j := range p.s.whole {
		v := z[j] * p.s.sys.ColScale[j]
		if down := v - math.Floor(v); min(down, 1-down) > tolerance.Target {
			all = append(all, option{k: len(n.fix) + i, distance: [2]float64{down, 1 - down}})
		} else if lo, hi := n.limits(p.s, j); off[j] && lo < hi { // its products are not those of its value
			all = append(all, option{k: len(n.fix) + i, distance: [2]float64{0.5, 0.5}})
		}
	}
	shared := p.splitOptions(n, lacks)
	for i, j := range p.s.split {
		if t := max(sloped[j], shared[j]); t > 0 {
			all = append(all, option{k: p.s.firstSplit() + i, distance: [2]float64{t, t}})
		}
	}
	if c := p.s.concave; c != nil {
		in, at := p.ranges(n), c.at(z)
		least := tolerance.Sign * p.s.terms(&candidate{z: z})
		for d, of := range c.Of {
			if of >= 0 && p.s.over(of, z, at) == 0 {
				continue
			} else if of >= 0 {
				least = tolerance.Sign * p.s.curved[of].Terms(z)
			}
			if t := c.lack(d, in.lo[d], in.hi[d], z); t > least {
				all = append(all, option{k: p.s.directions() + d, distance: [2]float64{t, t}})
			}
		}
	}
	return all
}

// splits is where the range of direction d splits: at z, but no nearer to its ends than a fifth of it (Tawarmalani and Sahinidis 2004).
func (p *plunger) splits(d int, lo, hi float64, z []float64) float64 {
	at := lo + (hi-lo)/2
	if z != nil {
		at = p.s.concave.w(d, z)
	}
	return min(max(at, lo+0.2*(hi-lo)), hi-0.2*(hi-lo))
}

// widest is the direction whose secant may be furthest below f; -1 where all are as near as rounding.
func (p *plunger) widest(n *node) int {
	c := p.s.concave
	if c == nil {
		return -1
	}
	best, most := -1, 0.0
	in := p.ranges(n)
	for d := range c.V {
		lo, hi := in.lo[d], in.hi[d]
		if t := c.Weight[d] * (hi - lo) * (hi - lo); t > most && hi-lo > tolerance.Target*(1+math.Abs(lo)+math.Abs(hi)) {
			best, most = p.s.directions()+d, t
		}
	}
	return best
}

// choose branches on n, whose relaxation has the solution sol. It reports false where it was interrupted.
func (p *plunger) choose(ctx context.Context, n *node, sol *activeset.Solution) bool {
	all := p.options(n, sol.Z)
	if len(all) == 0 {
		// The solution is complementary, and no point was found there that closes the node: what is open is branched on.
		k := p.anyOpen(n, sol)
		if k < 0 {
			p.failed = true
			p.close(n, unresolved)
			return true
		}
		p.split(n, k, p.at(n, k, sol.Z), [2]*outlook{}, p.nearer(k, sol.Z))
		return true
	}
	mean := [2]float64{p.costs.mean(0), p.costs.mean(1)}
	least := tolerance.Sign * max(1, math.Abs(n.bound))
	for i := range all {
		o := &all[i]
		o.score = scored(p.costs.of(o.k, 0, mean[0])*o.distance[0], p.costs.of(o.k, 1, mean[1])*o.distance[1], least)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].score > all[j].score })
	best, beaten := -1, 0 // beaten is how many that were tried have not had a higher score than the best
	for i := range all {
		o := &all[i]
		sure := min(p.costs.Count[0][o.k], p.costs.Count[1][o.k]) >= reliable
		if !sure {
			if p.s.plain || p.Trial >= tolerance.Second/10 || beaten >= lookahead { // children are tried where the search comes to them
				if best < 0 {
					best = i
				}
				continue
			}
			before := p.Work
			if !p.try(ctx, n, o, sol) {
				return false
			}
			p.Trial += p.Work - before
			closes := 0
			for _, c := range o.known {
				if c.kind != openNode {
					closes++
				}
			}
			if closes > 0 { // no other branch is better than one that leaves a single child
				best = i
				break
			}
			o.score = scored(o.known[0].bound-n.bound, o.known[1].bound-n.bound, least)
			beaten++
		}
		if best < 0 || o.score > all[best].score {
			best, beaten = i, 0
		}
	}
	o := &all[best]
	first := p.nearer(o.k, sol.Z)
	if o.known[0] != nil && o.known[0].bound != o.known[1].bound {
		first = 0
		if o.known[1].bound < o.known[0].bound {
			first = 1
		}
	}
	if o.known[first] != nil && o.known[first].kind != openNode {
		first = 1 - first
	}
	p.split(n, o.k, p.at(n, o.k, sol.Z), o.known, first)
	for _, c := range p.stack[max(0, len(p.stack)-2):] {
		if side := int(c.id) - int(p.records[n.id].First); side >= 0 && side < 2 && o.known[side] == nil {
			c.from = observation{o.k, side, o.distance[side], n.bound}
		}
	}
	return true
}

// scored is the score of two gains (Achterberg 2007).
func scored(a, b, least float64) float64 { return max(a, least) * max(b, least) }

// nearer is the side that is nearer to what z says.
func (p *plunger) nearer(k int, z []float64) int {
	if k >= len(p.s.sys.Pairs) {
		j, _ := p.s.entry(k)
		if j < 0 || k >= len(p.s.sys.Pairs)+len(p.s.whole) {
			return 0
		}
		if v := z[j] * p.s.sys.ColScale[j]; v-math.Floor(v) > 0.5 {
			return 1
		}
		return 0
	}
	if a, b := p.s.sides(k, z); b < a {
		return 1
	}
	return 0
}

// try solves the relaxations of both children of an option.
func (p *plunger) try(ctx context.Context, n *node, o *option, sol *activeset.Solution) bool {
	at := p.at(n, o.k, sol.Z)
	for side := range 2 {
		c := n.child(p.s, o.k, side, at, n.basis)
		r, _ := p.once(ctx, c, n.basis)
		if r.Status == activeset.Stopped {
			return false
		}
		p.Tried++
		out := &outlook{kind: openNode, bound: n.bound, basis: n.basis, slopes: c.slopes}
		o.known[side] = out
		switch r.Status {
		case activeset.Infeasible:
			out.kind, out.bound = empty, math.Inf(1)
		case activeset.CutOff, activeset.Optimal:
			out.bound = max(n.bound, r.Value)
			if o.distance[side] > 0 {
				p.learn(o.k, side, (out.bound-n.bound)/o.distance[side])
			}
			if out.bound+p.rough >= p.cutoff {
				out.kind = closed
			} else {
				out.basis = r.Basis
			}
		}
	}
	return true
}
