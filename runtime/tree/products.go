package tree

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// findProducts takes products of binary entries of x out of an f that is not convex: each is a column of relaxations, with McCormick's rows, which make it what its factors say wherever the binary entry is 0 or 1
// (McCormick 1976; of multipliers beside strong duality Kleinert, Labbe, Plein, Schmidt 2021). It does so where their entries of f are not convex by themselves.
func (s *search) findProducts() {
	if s.productHess == nil || s.convex() {
		return
	}
	n, rest := s.sys.N, []sparse.Entry{}
	for _, members := range sparse.Apart(s.productHess, nil) {
		own := []sparse.Entry{}
		for _, i := range members {
			for j, v := range s.productHess.Nonzeros(i) {
				own = append(own, sparse.Entry{Row: i, Col: j, Val: v})
			}
		}
		if kkt.Semidefinite(sparse.FromEntries(n, n, slices.Clone(own))) {
			rest = append(rest, own...)
			continue
		}
		for _, e := range own {
			switch {
			case e.Row == e.Col && e.Val >= 0 || !s.sys.Binary(e.Row) && !s.sys.Binary(e.Col):
				rest = append(rest, e)
			case s.sys.Binary(e.Row) && (e.Row <= e.Col || !s.sys.Binary(e.Col)):
				s.products = append(s.products, [2]int{e.Row, e.Col})
			}
		}
	}
	s.productHess = nil
	if len(rest) > 0 {
		s.productHess = sparse.FromEntries(n, n, rest)
	}
}

// productsOfF adds the columns of products that f has.
func (s *search) productsOfF(l *lift) {
	for _, of := range s.products {
		p := l.inF(s, of[0], of[1])
		if lo, hi := s.low[p.col], s.high[p.col]; p.nonneg && p.Sign >= 0 && !math.IsInf(hi, 1) {
			p.Most, p.Tops = roundedUp(hi-p.From), []float64{0, 1}
		} else if p.Sign < 0 && !math.IsInf(lo, -1) {
			p.Most, p.Tops = roundedUp(p.From-lo), []float64{0, 1}
		}
	}
}

// roundedUp is more than v by more than the rounding of a difference: a proof's bound is rounded the other way, and must hold this one.
func roundedUp(v float64) float64 { return v + 0x1p-50*math.Abs(v) }

// inF is the column for x_c z_col in f.
func (l *lift) inF(s *search, c, col int) *product {
	k := slices.IndexFunc(l.cols, func(p product) bool { return p.Entry == c && p.col == col })
	if k < 0 {
		k = len(l.cols)
		l.cols = append(l.cols, s.factor(c, col))
	}
	p := &l.cols[k]
	if p.ofF, p.cost = true, s.quad.Hess.At(c, col); c == col { // f has half of it
		p.cost /= 2
	}
	return p
}

// onColumn are the coefficients of the column and of x_Entry that f has for x_Entry z_col = Sign p + From x_Entry.
func (of *product) onColumn() (column, entry float64) {
	if of.Sign == 0 {
		return of.cost, 0
	}
	return of.Sign * of.cost, of.From * of.cost
}

// settled is the linear part of f on a branch, whose products of binary entries of x and of options are linear there: their factors are numbers.
func (p *plunger) settled(fix []kkt.Fix, box []change) []float64 {
	s := p.s
	if s.lift == nil {
		return s.prog.C
	}
	cost := slices.Clone(s.prog.C)
	for k := range s.lift.cols {
		of := &s.lift.cols[k]
		switch {
		case !of.ofF:
		case of.choice >= 0:
			choice := &s.choices[of.choice]
			if e := slices.Index(choice.y, of.col-s.sys.Nx); fix[choice.pairs[e]] == kkt.MultZero {
				cost[of.Entry] += of.cost * choice.total * s.sys.ColScale[of.Entry]
			}
		default:
			e := slices.IndexFunc(box, func(b change) bool { return int(b.Index) == of.Entry })
			cost[of.col] += of.cost * box[e].Lo * of.scale
		}
	}
	return cost
}

// reach is the range of each column over the relaxation as far as rows say it by the boxes of their other columns, three rounds of them, rounded outwards: a proof's is rounded so, too, and must be within
// this one. Entries of a mixed strategy have no other upper bound. Model's units.
func (s *search) reach() (lo, hi []float64) {
	prog, scale := s.sys.Relaxation, s.sys.ColScale
	for j := range s.sys.N {
		lo, hi = append(lo, prog.Lo[j]*scale[j]), append(hi, prog.Hi[j]*scale[j])
	}
	for range tolerance.Propagations {
		boxLo, boxHi := slices.Clone(lo), slices.Clone(hi)
		for r := range prog.A.Rows {
			narrowByRow(prog, scale, r, boxLo, boxHi, lo, hi)
		}
	}
	return lo, hi
}

// narrowByRow makes [lo, hi] what row r leaves of them by the boxes of its columns.
func narrowByRow(prog *activeset.Program, scale []float64, r int, boxLo, boxHi, lo, hi []float64) {
	cols, vals := prog.A.Row(r)
	least, most := make([]float64, len(cols)), make([]float64, len(cols))
	for e, c := range cols {
		if v := vals[e] / scale[c]; v != 0 {
			least[e], most[e] = min(v*boxLo[c], v*boxHi[c]), max(v*boxLo[c], v*boxHi[c])
		}
	}
	for t, j := range cols {
		v := vals[t] / scale[j]
		if v == 0 {
			continue
		}
		// What the others leave of the row: the greatest and the least of v x_j, and the size of their terms.
		ends, sizes := [2]float64{prog.RowHi[r], prog.RowLo[r]}, [2]float64{}
		for e := range cols {
			if e != t {
				ends[0], ends[1] = ends[0]-least[e], ends[1]-most[e]
				sizes[0], sizes[1] = sizes[0]+math.Abs(least[e]), sizes[1]+math.Abs(most[e])
			}
		}
		for side := range ends {
			ends[side] /= v
			if away := 0x1p-50 * float64(len(cols)) * (math.Abs(ends[side]) + sizes[side]/math.Abs(v)); !math.IsInf(ends[side], 0) {
				ends[side] += math.Copysign(away, float64(1-2*side)*v)
			}
		}
		if v < 0 {
			ends[0], ends[1] = ends[1], ends[0]
		}
		hi[j], lo[j] = min(hi[j], ends[0]), max(lo[j], ends[1])
	}
}
