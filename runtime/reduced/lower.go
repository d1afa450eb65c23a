package reduced

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// lower finds the rows that hold at p.w, from those of S on: by block principal pivoting and, where that makes no progress, by the dual
// method of Goldfarb and Idnani (1983), with sparse factors from the last S that is independent, or from the rows that hold by another solver.
// Biactive rows are left alone. It reports false where no y is feasible.
func (p *piece) lower() bool {
	sides, wrong := p.pivot()
	if wrong == 0 {
		return true
	}
	if p.f.sparse == nil || p.z.failed() {
		return p.dual()
	}
	if p.opts.Multipliers != nil {
		p.told(p.opts.Multipliers(p.w[:p.f.sys.Nx]))
		if sides, wrong = p.pivot(); wrong == 0 {
			return true
		}
	}
	if sides != nil {
		copy(p.side, sides)
		p.z.set(p.strong())
	}
	return p.dual()
}

// told makes S the rows that are not biactive and whose multipliers are not 0.
func (p *piece) told(multipliers []float64) {
	for r := range p.side {
		if !p.inK[r] && !p.f.rows[r].equal {
			p.side[r] = 0
		}
	}
	for i, v := range multipliers {
		if o := p.f.of[i]; v > 0 && o.row >= 0 && !p.inK[o.row] && !p.f.rows[o.row].equal {
			p.side[o.row] = sideOf(o.high)
		}
	}
}

// pivot is block principal pivoting. It returns how many rows were wrong at the least, 0 where they are found, and the sides of the last S that is independent; nil for none.
func (p *piece) pivot() (sides []int8, least int) {
	f := p.f
	least, left := f.m+1, tolerance.Exchanges
	for left >= 0 && !p.z.failed() {
		rows := p.strong()
		if !p.z.set(rows) {
			break
		}
		sides = append(sides[:0], p.side...)
		p.place()
		wrong := p.wrong()
		if len(wrong) == 0 {
			return sides, 0
		}
		left--
		if len(wrong) < least {
			least, left = len(wrong), tolerance.Exchanges
		}
		for _, r := range wrong {
			if p.side[r] != 0 {
				p.side[r] = 0
			} else {
				p.side[r] = sideOf(p.v[r] > f.rows[r].hi)
			}
		}
	}
	return sides, least
}

// strong are the rows with a side that are not biactive, ascending.
func (p *piece) strong() []int {
	return each.WhereBelow(len(p.side), func(r int) bool { return p.side[r] != 0 && !p.inK[r] })
}

// slackError is what decides on the slack of row r, top the largest multiplier.
func (p *piece) slackError(r int, top float64) float64 {
	return tolerance.Parted * p.slackTerms(r, top)
}

// slackTerms is the size of what the slack of row r is the sum of, top the largest multiplier: of a dense follower they are of that size.
func (p *piece) slackTerms(r int, top float64) float64 {
	row := &p.f.rows[r]
	if q := p.f.sparse; q != nil { // they are sums of entries of y, which are those of y0 and what the rows add
		top = 0
		for j, v := range q.b.Entries(r) {
			top += math.Abs(v) * (math.Abs(p.f.y0[j]) + math.Abs(p.y[j]))
		}
	}
	size := math.Abs(p.f.p0[r]) + math.Abs(p.v[r])
	for _, b := range [2]float64{row.lo, row.hi} {
		if !math.IsInf(b, 0) {
			size = math.Max(size, math.Abs(b))
		}
	}
	return math.Max(size, top)
}

// wrong are the rows of S with a multiplier of the wrong sign, and those outside S that are beyond one of their ends.
func (p *piece) wrong() []int {
	var out []int
	top := linalg.NormInf(p.lambda)
	force := tolerance.Parted * top
	for r := range p.f.rows {
		row := &p.f.rows[r]
		switch {
		case row.equal || p.inK[r]:
		case p.side[r] != 0:
			if float64(p.side[r])*p.lambda[r] < -force {
				out = append(out, r)
			}
		default:
			if off := math.Max(row.lo-p.v[r], p.v[r]-row.hi); off > 0 && off > p.slackError(r, top) {
				out = append(out, r)
			}
		}
	}
	return out
}

// dual is Goldfarb and Idnani's method: S with multipliers of the right signs throughout, the row that is most broken enters.
func (p *piece) dual() bool {
	f := p.f
	rows := p.strong()
	if f.sparse == nil || len(p.z.rows) != len(rows) {
		p.z.set(nil)
	}
	for _, equal := range [2]bool{true, false} {
		for _, r := range rows {
			if f.rows[r].equal != equal || p.z.has(r) {
				continue
			}
			if u, pivot := p.z.column(r); pivot > rounding {
				p.z.add(r, u, pivot)
			} else {
				p.side[r] = 0
			}
		}
	}
	for {
		if p.z.failed() {
			return false
		}
		p.place()
		fall := false
		for _, r := range slices.Clone(p.z.rows) {
			if !f.rows[r].equal && float64(p.side[r])*p.lambda[r] < 0 {
				p.z.drop(r)
				p.side[r], fall = 0, true
			}
		}
		if !fall {
			break
		}
	}
	for k := range f.blocks {
		if !p.dualOf(&f.blocks[k]) {
			return false
		}
	}
	p.place()
	return true
}

// dualOf is dual for the rows of a block, which move with each other alone.
func (p *piece) dualOf(b *block) bool {
	f, others := p.f, linalg.NormInf(p.lambda)
	for range 100*b.m + 100 { // finite; each row a few times in practice
		if p.z.failed() {
			return false
		}
		worst, at, top := 0.0, -1, math.Max(others, linalg.NormInf(b.rows(p.lambda)))
		for r := b.first; r < b.first+b.m; r++ {
			row := &f.rows[r]
			if row.equal || p.inK[r] || p.side[r] != 0 {
				continue
			}
			if off := math.Max(row.lo-p.v[r], p.v[r]-row.hi); off > worst && off > p.slackError(r, top) {
				worst, at = off, r
			}
		}
		if at < 0 {
			return true
		}
		if !p.push(at) {
			return false
		}
	}
	return false
}

// push makes the broken row j hold, others leaving as their multipliers come to 0; false where none is left to leave.
func (p *piece) push(j int) bool {
	f := p.f
	side := sideOf(p.v[j] > f.rows[j].hi)
	sigma := float64(side)
	for {
		u, pivot := p.z.column(j)
		most := math.Inf(1)
		if pivot > tolerance.SolveAccuracy {
			most = sigma * (f.end(j, side) - p.v[j]) / pivot
		}
		best, leaves := most, -1
		rows := p.z.beside(j)
		for a, r := range rows {
			if f.rows[r].equal {
				continue
			}
			s := float64(p.side[r])
			if fall := s * u[a] * sigma; fall > 0 {
				if t := math.Max(0, s*p.lambda[r]) / fall; t < best {
					best, leaves = t, r
				}
			}
		}
		if math.IsInf(best, 1) {
			return false
		}
		t := sigma * best
		f.addY(p.v, []int{j}, func(int, int) float64 { return t })
		p.lambda[j] += t
		for a, r := range rows {
			p.lambda[r] -= t * u[a]
		}
		f.addY(p.v, rows, func(a, _ int) float64 { return -t * u[a] })
		p.work(len(u) * len(u))
		if leaves < 0 {
			p.side[j] = side
			p.z.add(j, u, pivot)
			return true
		}
		p.z.drop(leaves)
		p.lambda[leaves], p.side[leaves] = 0, 0
	}
}
