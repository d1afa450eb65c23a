package tree

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// slope is the coefficient of an entry of x in strong duality of a part of the lower level where H = 0 (lift),
//
//	q'y + b'lambda + sum over c of x_c T_c = 0,   T_c = (G'y)_c - (A'lambda)_c,
//
// as a column of relaxations, with another for the product w = x_c T_c: of entries that are not binary strong duality is a row, too. Over a box, x_c in [a, b] and T in [l, u], w has the rows of
// McCormick (1976). T does not rise with x_c (the system of primal and dual solutions is monotone): its least value where x_c = b bounds it below on the box, and its greatest where x_c = a above, and a
// branch on x_c narrows both. Either is a linear program, and its multipliers are the proof: where they are m of rows with the sides e and tau of strong duality, and d of x_c is what the rows leave of T,
//
//	T >= e'm + d x_c + tau (b - x_c) T
//
// for all x_c of the box, as strong duality there has x_c T in the place of b T. So T (1 - tau (b - x_c)) has a linear bound, and T its quotient, which is monotone in x_c.
type slope struct {
	part  part
	Entry int
	coef  []term  // of T, over z
	scale float64 // of T; that of w is this times that of x
	col   int     // T is this column of the program, w the next one
	row   int     // of strong duality, in lift.strong
}

// term is a coefficient of a column.
type term struct {
	col int
	val float64
}

// slopeRange is where T is at a node. Right is the end of the box of x_c at which Lo was found, Left that of Hi.
type slopeRange struct {
	Lo    infinite `json:"lo"`
	Hi    infinite `json:"hi"`
	Left  infinite `json:"left"`
	Right infinite `json:"right"`
}

// slopeRows are the rows of each slope: its definition, then McCormick's.
const slopeRows = 5

// slopesOf are the slopes of a part; ok is false where its strong duality would not be an equation with them.
func (s *search) slopesOf(p part) (all []slope, ok bool) {
	if p.curved || s.choices != nil || s.isSmall(p) {
		return nil, false
	}
	sys := s.sys
	binary := map[int]bool{}
	for _, c := range s.binary() {
		binary[c] = true
	}
	place := map[int]int{}
	add := func(c, col int, v float64) {
		if v == 0 || binary[c] {
			return
		}
		k, is := place[c]
		if !is {
			k = len(all)
			place[c], all = k, append(all, slope{part: p, Entry: c})
		}
		all[k].coef = append(all[k].coef, term{col, v})
	}
	for _, j := range p.y {
		for c, v := range sys.G.Entries(j) {
			add(c, sys.Nx+j, v)
		}
	}
	for _, i := range p.rows {
		for c, v := range sys.P.Rows.A.Entries(i) {
			add(c, sys.Nx+sys.Ny+i, -v)
		}
	}
	if len(all) > 1 { // the range of one of them asks for those of the others
		return nil, false
	}
	for k := range all {
		of := &all[k]
		if sys.P.X.Lo == nil || math.IsInf(sys.P.X.Lo[of.Entry], 0) || math.IsInf(sys.P.X.Hi[of.Entry], 0) {
			return nil, false
		}
		for _, t := range of.coef {
			of.scale = math.Max(of.scale, math.Abs(t.val*sys.ColScale[t.col]))
		}
		of.scale = unit(of.scale)
	}
	return all, true
}

// slopeBox is a box of x_c and T, model's units.
type slopeBox struct{ a, b, lo, hi float64 }

// free reports that there is no box.
func (of slopeBox) free() bool { return math.IsInf(of.a, -1) }

// rows are McCormick's rows of a box, in this order (x - a)(T - lo), (b - x)(hi - T), (x - a)(hi - T), (b - x)(T - lo) >= 0, as sign (w - v T - t x) >= -sign v t; what has no end makes no row. Where a = b
// they say w = a T.
func (of slopeBox) rows() (rows [4]struct{ sign, v, t float64 }) {
	if of.a == of.b {
		of.lo, of.hi = 0, 0
	}
	for k, r := range [4][3]float64{{1, of.a, of.lo}, {1, of.b, of.hi}, {-1, of.a, of.hi}, {-1, of.b, of.lo}} {
		if !math.IsInf(r[2], 0) {
			rows[k] = struct{ sign, v, t float64 }{r[0], r[1], r[2]}
		}
	}
	return rows
}

// boxes are those of the slopes at a node.
func (l *lift) boxes(s *search, n *node) []slopeBox {
	all := make([]slopeBox, len(l.slopes))
	for k := range all {
		lo, hi := n.limits(s, l.slopes[k].Entry)
		all[k] = slopeBox{lo, hi, math.Inf(-1), math.Inf(1)}
		if !slices.Contains(n.fix, kkt.Open) { // strong duality follows from the pairs
			all[k].a, all[k].b = math.Inf(-1), math.Inf(1) // free
		} else if n.slopes != nil {
			all[k].lo, all[k].hi = float64(n.slopes[k].Lo), float64(n.slopes[k].Hi)
		}
	}
	return all
}

// within is the program with the rows of slopes in boxes, behind the others.
func (l *lift) within(s *search, boxes []slopeBox) *activeset.Program {
	p := *l.program
	p.A = p.A.Clone()
	b := &p.Bounds
	b.RowLo, b.RowHi = slices.Clone(b.RowLo), slices.Clone(b.RowHi)
	end := func(lo, hi float64) {
		p.A.EndRow()
		b.RowLo, b.RowHi = append(b.RowLo, lo), append(b.RowHi, hi)
	}
	for k := range l.slopes {
		of := &l.slopes[k]
		for _, t := range of.coef {
			p.A.Append(t.col, t.val*s.sys.ColScale[t.col]/of.scale)
		}
		p.A.Append(of.col, -1)
		end(0, 0)
		for _, r := range boxes[k].rows() {
			v, t := r.v/s.sys.ColScale[of.Entry], r.t/of.scale
			if r.sign == 0 {
				end(math.Inf(-1), math.Inf(1))
				continue
			}
			for _, e := range [3]term{{of.Entry, -r.sign * t}, {of.col, -r.sign * v}, {of.col + 1, r.sign}} {
				if e.val != 0 {
					p.A.Append(e.col, e.val)
				}
			}
			end(-r.sign*v*t, math.Inf(1))
		}
	}
	return &p
}

// relaxation is the program of a node, the one before where the boxes of its slopes are the same.
func (p *plunger) relaxation(n *node) *activeset.Program {
	l := p.s.lift
	if l == nil || len(l.slopes) == 0 {
		return p.s.relaxation()
	}
	boxes := l.boxes(p.s, n)
	if p.boxed == nil || !slices.Equal(boxes, p.boxes) {
		p.boxes, p.boxed = boxes, l.within(p.s, boxes)
	}
	return p.boxed
}

// slopeBounds appends the bounds of columns and rows of slopes.
func (l *lift) slopeBounds(b *activeset.Bounds, of *activeset.Program, boxes []slopeBox) {
	for k := range l.slopes {
		scale, inf := l.slopes[k].scale, math.Inf(1)
		b.Lo, b.Hi = append(b.Lo, boxes[k].lo/scale, -inf), append(b.Hi, boxes[k].hi/scale, inf)
	}
	from := len(of.RowLo) - slopeRows*len(l.slopes)
	b.RowLo, b.RowHi = append(b.RowLo, of.RowLo[from:]...), append(b.RowHi, of.RowHi[from:]...)
}

// narrowed is a range that narrow found: T of slope k is at least Value, or with most at most, by the solution sol.
type narrowed struct {
	k     int
	most  bool
	value float64
	sol   *activeset.Solution
}

// narrow finds the ranges of slopes at a node whose boxes of x are other ones than where they were found; told is given each, nil for nobody. It reports false where it was interrupted.
func (p *plunger) narrow(ctx context.Context, n *node, told func(narrowed)) bool {
	l := p.s.lift
	if l == nil || len(l.slopes) == 0 || !slices.Contains(n.fix, kkt.Open) {
		return true
	}
	inf := math.Inf(1)
	ranges := slices.Clone(n.slopes)
	if ranges == nil {
		ranges = slices.Repeat([]slopeRange{{infinite(-inf), infinite(inf), infinite(-inf), infinite(inf)}}, len(l.slopes))
	}
	n.slopes = ranges
	for k := range l.slopes {
		lo, hi := n.limits(p.s, l.slopes[k].Entry)
		r := &ranges[k]
		if lo == hi {
			continue
		}
		for _, most := range [2]bool{false, true} {
			if !most && float64(r.Right) == hi || most && float64(r.Left) == lo {
				continue
			}
			v, sol := p.extreme(ctx, n, k, most)
			if sol.Status == activeset.Stopped {
				return false
			}
			if n.basis == nil { // nothing is nearer, if it is of all columns
				n.basis = sol.Basis
			}
			if most {
				r.Left = infinite(lo)
			} else {
				r.Right = infinite(hi)
			}
			better := most && v < float64(r.Hi) || !most && v > float64(r.Lo)
			if !better || float64(r.Lo) > float64(r.Hi) {
				continue
			}
			if most {
				r.Hi = infinite(v)
			} else {
				r.Lo = infinite(v)
			}
			if told != nil {
				told(narrowed{k, most, v, sol})
			}
		}
	}
	return true
}

// extreme is what bounds T of slope k at a node: below, by its least value where x is at the upper end of its box, or with most above, by the greatest at the lower end; infinite where nothing does. Of several parts of the lower level it is what the
// slope's own says: at an x it is decided by no other's answer, but for the leader's rows.
func (p *plunger) extreme(ctx context.Context, n *node, k int, most bool) (float64, *activeset.Solution) {
	s, l := p.s, p.s.lift
	of := &l.slopes[k]
	boxes := l.boxes(s, n)
	at, far, sign := boxes[k].b, boxes[k].a, 1.0
	if most {
		at, far, sign = far, at, -1
	}
	boxes[k].a, boxes[k].b = at, at
	program := l.within(s, boxes)
	p.nodeBounds(n)
	l.bounds(s, &p.bounds)
	l.slopeBounds(&p.bounds, program, boxes)
	scale := s.sys.ColScale[of.Entry]
	p.bounds.Lo[of.Entry], p.bounds.Hi[of.Entry] = at/scale, at/scale
	program.Q, program.C = nil, make([]float64, program.N)
	program.C[of.col] = sign
	program.Bounds = p.bounds
	own, rows, warm := program, []int(nil), fits(n.basis, len(program.RowHi))
	if l.own[k] != nil {
		own, rows = overColumns(program, l.own[k])
		warm = nil
	}
	sol := newSolver(own).Solve(ctx, nil, warm, activeset.Options{})
	p.Work += sol.Work
	p.Tried++
	nothing := math.Inf(-1)
	if sol.Status != activeset.Optimal {
		return sign * nothing, sol
	}
	value, terms := shows(own, own.C, &own.Bounds, sol)
	if l.own[k] != nil {
		row, bound := make([]float64, len(program.RowHi)), make([]float64, program.N)
		linalg.Scatter(row, rows, sol.Row)
		linalg.Scatter(bound, l.own[k], sol.Bound)
		sol = &activeset.Solution{Status: activeset.Optimal, Row: row, Bound: bound}
	}
	value, terms = value*of.scale, terms*of.scale
	d := sol.Bound[of.Entry] * of.scale / scale
	tau := sol.Row[len(program.RowHi)-slopeRows*len(l.slopes)-len(l.strong)+of.row] * of.scale / l.units[of.row]
	width := math.Abs(far - at)
	if !(1-tau*width > 0.5) { // half of its digits would be lost
		return sign * nothing, sol
	}
	value = math.Min(value, (value+d*(far-at))/(1-tau*width))
	return sign * (value - tolerance.Target*math.Max(of.scale, math.Abs(value)) - tolerance.Sign*terms), sol
}

// slopeApart is by how much the product of slope k is not what its factors say at z, relative to its size.
func (l *lift) slopeApart(s *search, k int, z []float64) float64 {
	of := &l.slopes[k]
	scale := s.sys.ColScale[of.Entry]
	w, x, t := z[of.col+1]*of.scale*scale, z[of.Entry]*scale, z[of.col]*of.scale
	return math.Abs(w-x*t) / (of.scale*scale + math.Abs(w) + math.Abs(x*t))
}

// slopeOptions are the entries of x that are not integer and whose products with slopes are not what their factors say, and how far these are apart.
func (p *plunger) slopeOptions(n *node, z []float64) (off map[int]float64) {
	l := p.s.lift
	for k := range l.slopes {
		if n.slopes == nil {
			break
		}
		c, r := l.slopes[k].Entry, n.slopes[k]
		if math.IsInf(float64(r.Lo), 0) || math.IsInf(float64(r.Hi), 0) {
			continue
		}
		if !n.splittable(p.s, c) {
			continue
		}
		if t := l.slopeApart(p.s, k, z); t > tolerance.Target {
			if off == nil {
				off = map[int]float64{}
			}
			off[c] = math.Max(off[c], t)
		}
	}
	return off
}

// splitsEntry is where the box of an entry with slopes splits: at a solution between the ends, which often is where the follower's answer changes, so that the ranges on both sides
// are exact; next to an end (tolerance.Hiding) one child would be the parent.
func (p *plunger) splitsEntry(j int, lo, hi float64, z []float64) float64 {
	if z != nil {
		if at := z[j] * p.s.sys.ColScale[j]; math.Min(at-lo, hi-at)*tolerance.Hiding > hi-lo {
			return at
		}
	}
	return lo + (hi-lo)/2
}

// sizeOfEnd is that of an end, 0 where there is none.
func sizeOfEnd(end float64) float64 {
	if math.IsInf(end, 0) {
		return 0
	}
	return math.Abs(end)
}

// rowDot is row i of m times z in twice the working precision: far out along a face on which a square is 0 all of it would be rounding of its terms.
func rowDot(m *sparse.CSR, i int, z []float64) float64 {
	sum, rest := m.AddDot(0, 1, i, z)
	return sum + rest
}

// shows is the bound that the multipliers of a solution show by themselves (weak duality), and the sum of its absolute terms, next to which it has rounding: signs are not exact, and what multipliers leave of
// the cost of a column counts with its box. Strong duality leaves relaxations no inner points, and multipliers may be as large as ranges are narrow: what they are times what rows are off by is no rounding of the value, what they leave of a cost has theirs.
func shows(of *activeset.Program, cost []float64, b *activeset.Bounds, sol *activeset.Solution) (sum, terms float64) {
	add := func(v float64) { sum, terms = sum+v, terms+math.Abs(v) }
	d, size, count := slices.Clone(cost), make([]float64, len(cost)), make([]float64, len(cost)) // what is left of the cost of columns, the size of what it is left of, and roundings
	if of.Q != nil {
		for j, z := range sol.Z {
			v := rowDot(of.Q, j, sol.Z)
			d[j], size[j], count[j] = d[j]+v, math.Abs(v), 2
			add(-0.5 * v * z)
		}
	}
	for i, m := range sol.Row {
		side := b.RowLo[i]
		if m < 0 {
			side = b.RowHi[i]
		}
		if m == 0 || math.IsInf(side, 0) {
			continue
		}
		add(m * side)
		for j, v := range of.A.Entries(i) {
			d[j], size[j], count[j] = d[j]-m*v, size[j]+math.Abs(m*v), count[j]+2
		}
	}
	for j, v := range d {
		end := b.Lo[j]
		if v < 0 {
			end = b.Hi[j]
		}
		if !math.IsInf(end, 0) {
			add(v * end)
		}
		// A unit of the last place for each rounding, as outward rounding takes, where 16 are counted; it may turn the sign, too.
		if off := count[j] * size[j]; math.Abs(v) <= 0x1p-52*off {
			terms += 0x1p-4 * off * math.Max(sizeOfEnd(b.Lo[j]), sizeOfEnd(b.Hi[j]))
		} else {
			terms += 0x1p-4 * off * sizeOfEnd(end)
		}
	}
	return sum, terms
}
