package tree

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// lift is what relaxations have beside the system: columns p = x_c t for products of a binary entry of x and another unknown, which f has (products.go), or which
// strong duality asks for,
//
//	y'Hy + y'Gx + q'y + b'lambda - lambda'A x = 0
//
// of each part of the lower level that shares no variable with others. With the products as columns it is a row: of parts where H = 0 it is linear in z and p. Where x_c is fixed, p is a multiple of t, and what is fixed entirely is complementary without branches on pairs. Bounds that are proved of multipliers (kkt.Interiors) make rows of p. A term of lambda_i >= 0 and of entries of x without a column is at least what the box of x says
// (Kleinert, Labbe, Plein, Schmidt 2021).
type lift struct {
	cols   []product
	levels []level
	strong []strongRow
	exact  []bool // pairs of parts for which it is an equation
	slopes []slope
	own    [][]int   // the columns of each slope's part; nil where they are all that there are
	units  []float64 // by which rows of strong duality are divided
	// program is the relaxation with these columns and rows behind its own.
	program *activeset.Program
}

// product is the column x_Entry t: t is Sign (z_col - From) >= 0, or z_col where Sign is 0, a multiplier, an entry of y or another one of x.
type product struct {
	Entry, col int
	Sign, From float64
	Levels     []float64
	Most       float64 // where there are Tops, t is no more, with rows (x_c - v)(Most - t) for these v
	Tops       []float64
	ofF        bool // f has the column in the place of x_Entry z_col, with this coefficient
	cost       float64
	choice     int     // that has it; -1 for none
	scale      float64 // of the column
	nonneg     bool    // t >= 0
}

// level is the row p - v t = (x_c - v) t, or (x_c - v)(Most - t).
type level struct {
	col int // of lift.cols
	v   float64
	top bool
}

// strongRow is strong duality of a part of the lower level, the one with y_Answer, where H = 0. Rows of choices are of other kinds (ofChoice).
type strongRow struct {
	Answer, Times int
	kind          strongKind
	Row           int
}

type strongKind uint8

const (
	duality strongKind = iota
	totalTimes
	upperTimes
	noBetter
)

// part of the lower level: entries of y and rows that are linked.
type part struct {
	y, rows []int
	curved  bool
}

// parts are those of the lower level with at least one row and entry of y.
func parts(s *kkt.System) []part {
	classes := sparse.NewClasses(s.Ny + s.M)
	for i := range s.M {
		classes.JoinRow(s.P.Rows.B, i, s.Ny+i)
	}
	for j := range s.Ny {
		classes.JoinRow(s.H, j, j)
	}
	var out []part
	for _, members := range classes.Members(s.Ny + s.M) {
		var p part
		for _, k := range members {
			if k >= s.Ny {
				p.rows = append(p.rows, k-s.Ny)
				continue
			}
			p.y = append(p.y, k)
			p.curved = p.curved || s.H.Reads(k)
		}
		if len(p.y) > 0 && len(p.rows) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// newLift finds the products of a system and its rows of strong duality; nil where there are none.
func (s *search) newLift() *lift {
	l := &lift{}
	s.split = slices.Clone(s.shared)
	var all []part
	if s.strong {
		all = parts(s.sys)
	}
	for _, p := range all {
		of, _ := s.slopesOf(p)
		if cols, ok := s.productsOf(p, of); ok && len(cols)+len(of) > 0 && !p.curved {
			for k := range of {
				of[k].row = len(l.strong)
			}
			l.slopes = append(l.slopes, of...)
			l.cols = append(l.cols, cols...)
			l.strong = append(l.strong, strongRow{Answer: p.y[0]})
		}
	}
	s.choiceProducts(l)
	s.productsOfF(l)
	if len(l.cols)+len(l.slopes) == 0 {
		return nil
	}
	for k := range l.cols {
		l.levels = append(l.levels, each.Of(l.cols[k].Levels, func(v float64) level { return level{col: k, v: v} })...)
		l.levels = append(l.levels, each.Of(l.cols[k].Tops, func(v float64) level { return level{k, v, true} })...)
	}
	for k := range l.slopes {
		of := &l.slopes[k]
		of.col = s.prog.N + len(l.cols) + 2*k
		if !slices.Contains(s.whole, of.Entry) && !slices.Contains(s.split, of.Entry) {
			s.split = append(s.split, of.Entry)
		}
	}
	slices.Sort(s.split)
	l.own = each.Of(l.slopes, func(of slope) []int { return l.columnsOf(s, of.part) })
	l.assemble(s)
	return l
}

// columnsOf are the columns of a part, with products and slopes; nil where no other is left.
func (l *lift) columnsOf(s *search, p part) []int {
	_, all := p.columns(s.sys)
	in := func(j int) bool { _, is := slices.BinarySearch(all, j); return is }
	for k := range l.cols {
		if of := &l.cols[k]; in(of.Entry) && in(of.col) {
			all = append(all, s.prog.N+k)
		}
	}
	for k := range l.slopes {
		if of := &l.slopes[k]; of.part.y[0] == p.y[0] {
			all = append(all, of.col, of.col+1)
		}
	}
	if len(all) == s.prog.N+len(l.cols)+2*len(l.slopes) {
		return nil
	}
	return all
}

// productsOf are the products of integer entries in strong duality of a part, but those with slopes; ok is false where other terms of it have no bound.
func (s *search) productsOf(p part, slopes []slope) (cols []product, ok bool) {
	sys := s.sys
	binary := map[int]bool{}
	for _, j := range s.binary() {
		binary[j] = true
	}
	sloped := func(c int) bool { return slices.ContainsFunc(slopes, func(of slope) bool { return of.Entry == c }) }
	add := func(of product) { cols = append(cols, of) }
	for _, i := range p.rows {
		nonneg := sys.P.Rows.Kind[i] == problem.AtMost
		for c, v := range sys.P.Rows.A.Entries(i) {
			switch {
			case v == 0 || sloped(c):
			case binary[c]:
				add(s.factor(c, sys.Nx+sys.Ny+i))
			case !nonneg || sys.P.X.Lo == nil || math.IsInf(sys.P.X.Lo[c], 0) || math.IsInf(sys.P.X.Hi[c], 0):
				return nil, false
			}
		}
	}
	for _, j := range p.y {
		for c, v := range sys.G.Entries(j) {
			switch {
			case v == 0 || sloped(c):
			case !binary[c]:
				return nil, false
			default:
				add(s.factor(c, sys.Nx+j))
			}
		}
	}
	return cols, true
}

// factor is the product of x_c and column col, from an end of its box where there is one.
func (s *search) factor(c, col int) product {
	sys := s.sys
	of := product{Entry: c, col: col, Levels: []float64{1}, choice: -1, scale: sys.ColScale[col]} // at the level 0 it has bounds of its own
	if i := col - sys.Nx - sys.Ny; i >= 0 {
		if of.nonneg = sys.P.Rows.Kind[i] == problem.AtMost; of.nonneg {
			of.topped(sys.Relaxation.Hi[col] * of.scale)
		}
		return of
	}
	lo, hi := sys.Relaxation.Lo[col]*of.scale, sys.Relaxation.Hi[col]*of.scale
	switch { // A proof's bound is rounded the other way: it must hold this one.
	case !math.IsInf(lo, -1):
		of.Sign, of.From, of.nonneg = 1, lo-0x1p-50*math.Abs(lo), true
	case !math.IsInf(hi, 1):
		of.Sign, of.From, of.nonneg = -1, hi+0x1p-50*math.Abs(hi), true
	}
	return of
}

// topped adds rows for an end of the other factor, rounded outwards: a proof's bound is rounded the other way, and must hold this one.
func (of *product) topped(most float64) {
	if !math.IsInf(most, 1) {
		of.Most, of.Tops = most+0x1p-50*math.Abs(most), []float64{0}
	}
}

// binary are the entries of x that are 0 or 1. Others would need a row p - v t for each of their values, which costs more time than it saves nodes.
func (s *search) binary() (all []int) {
	return each.Where(s.whole, s.sys.Binary)
}

// t is the other factor of a product, scaled z in the model's units.
func (of *product) t(s *search, z []float64) float64 {
	v := z[of.col] * s.sys.ColScale[of.col]
	if of.Sign != 0 {
		return of.Sign * (v - of.From)
	}
	return v
}
