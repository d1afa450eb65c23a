package reduced

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// near is how many times sqrt(mu), which slack and multiplier both are on the path at a kink, the larger of them may be on a row that becomes biactive.
const near = 3

// crossover goes from the end of the path onto a manifold of kinks next to it: the rows whose slack and multiplier are both at most tolerance become
// biactive, and w moves by the least step that makes them so; none where tolerance is 0.
func (p *piece) crossover(st *State, tolerance float64) bool {
	if !p.load(st) || !p.lower() {
		p.seed(st)
		if !p.lower() {
			return false
		}
	}
	p.touch()
	p.k = p.k[:0]
	for r := range p.f.rows {
		near, high := p.nearKink(r, tolerance)
		if p.inK[r] = near; near {
			p.side[r] = sideOf(high)
			p.k = append(p.k, r)
		}
	}
	return p.onto()
}

// nearKink reports that slack and multiplier of row r are both at most the tolerance, and of which of its ends.
func (p *piece) nearKink(r int, tolerance float64) (near, high bool) {
	row := &p.f.rows[r]
	low, up := p.v[r]-row.lo, row.hi-p.v[r]
	switch {
	case row.equal || tolerance == 0: // a row at its end may leave it: nothing says that F has a kink there
		return false, false
	case p.side[r] != 0:
		return math.Abs(p.lambda[r]) <= tolerance, p.side[r] < 0
	}
	return math.Min(low, up) <= tolerance, up < low
}

// nearKinks counts them.
func (p *piece) nearKinks(tolerance float64) (count int) {
	for r := range p.f.rows {
		if near, _ := p.nearKink(r, tolerance); near {
			count++
		}
	}
	return count
}

// warm is crossover with the rows that held, and were biactive, at the end of another run, where F is about the value that it has without.
func (p *piece) warm(exact *State, value float64) bool {
	last := p.opts.Warm
	if last == nil || len(last.Biactive) == 0 {
		return false
	}
	there := *exact
	there.Strong, there.Biactive = last.Strong, last.Biactive
	if p.load(&there) {
		p.touch()
		if p.onto() && len(p.k) > 0 && p.calc.value(p.point()) <= value+tolerance.Target*math.Abs(value) {
			return true
		}
	}
	p.load(exact)
	p.place()
	return false
}

// onto moves w by the least step that makes the biactive rows hold. Where they do not all, some go; it reports false where all did, w as it was.
func (p *piece) onto() bool {
	f := p.f
	before := slices.Clone(p.w)
	for range 5 { // each fixes what the step of the one before has run into
		if !p.z.set(p.strong()) {
			return p.returnTo(before)
		}
		p.place()
		p.differentiate()
		q := newWorking(p)
		p.restore(q)
		again := false
		for i := range f.walls {
			if w := &f.walls[i]; !p.wallOn[i] && w.off(p.w) > tolerance.Feasibility*w.terms(p.w) {
				p.wallOn[i], again = true, true
			}
		}
		for j, v := range p.w {
			if p.fixed[j] == 0 && (v <= f.lo[j] || v >= f.hi[j]) {
				p.fixed[j], again = 1, true
				if v <= f.lo[j] {
					p.fixed[j] = -1
				}
			}
		}
		p.place()
		if !again && !p.lower() {
			return p.returnTo(before)
		}
		if !again && p.holds() {
			p.touch() // not all that was met on the way need hold at the end
			return true
		}
	}
	// Biactive rows that do not hold go back to the lower solve, with which others may come off their ends.
	p.place()
	for {
		top := linalg.NormInf(p.lambda)
		p.k = slices.DeleteFunc(p.k, func(r int) bool {
			out := math.Abs(p.v[r]-f.end(r, p.side[r])) > p.slackError(r, top)
			if out {
				p.inK[r], p.side[r] = false, 0
			}
			return out
		})
		if !p.inside() || !p.lower() {
			return p.returnTo(before)
		}
		if p.holds() {
			p.touch()
			return true
		}
	}
}

// holds reports whether all biactive rows are at their ends, and the point is inside X.
func (p *piece) holds() bool {
	top := linalg.NormInf(p.lambda)
	for _, r := range p.k {
		if math.Abs(p.v[r]-p.f.end(r, p.side[r])) > p.slackError(r, top) {
			return false
		}
	}
	return p.inside()
}

func (p *piece) inside() bool {
	for i := range p.f.walls {
		w := &p.f.walls[i]
		off := w.off(p.w)
		if w.equal {
			off = math.Abs(off)
		}
		if off > 1e3*tolerance.Feasibility*w.terms(p.w) { // what a projection leaves
			return false
		}
	}
	return true
}

// returnTo goes back to w, without biactive rows.
func (p *piece) returnTo(w []float64) bool {
	copy(p.w, w)
	p.k = p.k[:0]
	clear(p.inK)
	p.touch()
	return p.lower()
}

// touch fixes the entries of w that are at their bounds, and takes the walls that hold for equations.
func (p *piece) touch() {
	f := p.f
	for j := range p.w {
		p.fixed[j] = 0
		if p.atBound(j, f.lo[j]) {
			p.fixed[j], p.w[j] = -1, f.lo[j]
		} else if p.atBound(j, f.hi[j]) {
			p.fixed[j], p.w[j] = 1, f.hi[j]
		}
	}
	for i := range f.walls {
		p.wallOn[i] = f.walls[i].holds(p.w)
	}
}

// seed takes the rows that hold at the end of the path for S.
func (p *piece) seed(st *State) {
	clear(p.side)
	clear(p.inK)
	p.k = p.k[:0]
	for r := range p.f.rows {
		row := &p.f.rows[r]
		if row.equal {
			p.side[r] = 1
			continue
		}
		if st.Path == nil {
			continue
		}
		for end := range 2 {
			if c := st.Path.Central; row.has(end) && c.Mult[end][r] > c.Slack[end][r] {
				p.side[r] = sideOf(end == 1)
			}
		}
	}
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
