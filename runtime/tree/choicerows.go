package tree

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// choiceProducts adds to l the products of f that choices have, with rows for their factors' bounds (McCormick 1976). With hulls, a choice has a product of each option
// and each entry of x that its costs and f read, with what the equation of the choice, rows of X and optimality of the option say of these: the convex hull of the points at its vertices (Balas 1985;
// for games Conitzer and Korzhyk 2011). Then a single choice needs no branches, and of several each adds all that it would by itself.
func (s *search) choiceProducts(l *lift) {
	for n := range s.choices {
		if s.hulls {
			s.hull(l, n)
		} else {
			s.factors(l, n)
		}
	}
}

// compareHulls decides on hulls, by the work of a dense factor: of one program with them, which is to be within the budget, or of two nodes for each option, which branching takes at least, with rows
// for bounds alone.
func (s *search) compareHulls(opts Options) {
	if s.choices == nil || opts.Plain {
		return
	}
	base, options := s.prog.N+s.prog.A.Rows, 0
	bounds, hulls := base, base
	for n := range s.choices {
		of := &s.choices[n]
		columns := s.columnsOf(of)
		if columns == nil {
			return
		}
		t := len(of.y)
		options += t
		for _, j := range of.y {
			for c := range s.quad.Hess.Entries(s.sys.Nx + j) {
				bounds += 1 + s.ends(c) + 2
			}
		}
		hulls += len(columns) + len(s.within(columns))*t + t*(t-1)
		for _, c := range columns {
			hulls += t * (1 + s.ends(c))
		}
	}
	least, most := FactorWork(float64(bounds)), FactorWork(float64(hulls))
	s.hulls = most <= float64(2*options)*least && (opts.Work == 0 || most <= float64(opts.Work))
}

// ends is how many rows the range of x_c makes of a product.
func (s *search) ends(c int) (n int) {
	for _, v := range [2]float64{s.low[c], s.high[c]} {
		if v != 0 { // at 0 it has bounds of its own
			n++
		}
	}
	return n
}

// factors adds the products that f has of choice n.
func (s *search) factors(l *lift, n int) {
	for _, j := range s.choices[n].y {
		for c := range s.quad.Hess.Nonzeros(s.sys.Nx + j) {
			p := s.choiceProduct(l, n, c, j)
			p.Most = s.choices[n].total + 0x1p-50*s.choices[n].total // a proof's bound is rounded the other way: it must hold this one
			p.Tops = []float64{s.low[c], s.high[c]}
		}
	}
}

// choiceProduct is the product of x_c and an option, with rows for the range of x_c.
func (s *search) choiceProduct(l *lift, n, c, j int) *product {
	p := l.inF(s, c, s.sys.Nx+j)
	p.choice, p.Levels = n, nil
	for _, v := range [2]float64{s.low[c], s.high[c]} {
		if v != 0 {
			p.Levels = append(p.Levels, v)
		}
	}
	return p
}

// hull adds all products of choice n and entries of x, with their rows.
func (s *search) hull(l *lift, n int) {
	of := &s.choices[n]
	columns := s.columnsOf(of)
	for _, c := range columns {
		for _, j := range of.y {
			s.choiceProduct(l, n, c, j)
		}
		l.strong = append(l.strong, strongRow{kind: totalTimes, Row: of.row, Times: c})
	}
	for _, j := range of.y {
		l.strong = append(l.strong, each.Of(s.within(columns), func(r int) strongRow { return strongRow{kind: upperTimes, Row: r, Answer: j} })...)
		for _, other := range of.y {
			if other != j {
				l.strong = append(l.strong, strongRow{kind: noBetter, Answer: j, Row: other})
			}
		}
	}
}

// columnsOf are the entries of x that a choice's costs, and f beside its options, read; nil where one has no finite range.
func (s *search) columnsOf(of *choice) (all []int) {
	reads := make([]bool, s.sys.Nx)
	for _, j := range of.y {
		for _, m := range [2]sparseRow{rowOf(s.sys.G.Row(j)), rowOf(s.quad.Hess.Row(s.sys.Nx + j))} {
			for e, c := range m.cols {
				reads[c] = reads[c] || m.vals[e] != 0
			}
		}
	}
	for c, is := range reads {
		switch {
		case is && (math.IsInf(s.low[c], 0) || math.IsInf(s.high[c], 0)):
			return nil
		case is:
			all = append(all, c)
		}
	}
	return all
}

// within are the rows of X, in the relaxation, that read none but these entries.
func (s *search) within(columns []int) (all []int) {
	for r, o := range s.sys.Origin {
		if cols, _ := s.sys.Relaxation.A.Row(r); o.Kind == kkt.UpperRow && !slices.ContainsFunc(cols, func(c int) bool { return !slices.Contains(columns, c) }) {
			all = append(all, r)
		}
	}
	return all
}

// ofChoice is a row of a hull, coef z <= 0, = 0 where exact:
//
//	totalTimes  the equation of the choice times x_c
//	upperTimes  a row of X times y_t
//	noBetter    y_t times the multiplier of y_s >= 0, which is what option s costs more than what the follower pays, and that is what option t costs where y_t is not 0
func (l *lift) ofChoice(s *search, row strongRow, has map[[2]int]int) (coef []float64, exact bool) {
	sys := s.sys
	coef = make([]float64, sys.N+len(l.cols)+2*len(l.slopes))
	at := func(c, j int) *float64 { return &coef[sys.N+has[[2]int{c, sys.Nx + j}]] }
	switch row.kind {
	case totalTimes:
		for j, v := range sys.P.Rows.B.Entries(row.Row) {
			*at(row.Times, j) += v
		}
		coef[row.Times] = sys.P.Rows.Rhs[row.Row]
		return coef, true
	case upperTimes:
		for c, v := range sys.Relaxation.A.Nonzeros(row.Row) {
			*at(c, row.Answer) += v / sys.RowScale[row.Row] / sys.ColScale[c]
		}
		coef[sys.Nx+row.Answer] = -sys.Relaxation.RowHi[row.Row] / sys.RowScale[row.Row]
		return coef, sys.P.X.Kind[sys.Origin[row.Row].Index] == problem.Equal
	}
	for _, of := range [2]struct {
		j    int
		sign float64
	}{{row.Answer, 1}, {row.Row, -1}} {
		for c, v := range sys.G.Nonzeros(of.j) {
			*at(c, row.Answer) += of.sign * v
		}
		coef[sys.Nx+row.Answer] += of.sign * sys.Q[of.j]
	}
	return coef, false
}

type sparseRow struct {
	cols []int
	vals []float64
}

func rowOf(cols []int, vals []float64) sparseRow { return sparseRow{cols, vals} }
