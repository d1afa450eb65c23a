package truth

import (
	"math"
	"slices"
)

// Quadratic is Const + C'w + w'Hw/2 with a symmetric H, convex or not.
type Quadratic struct {
	Const float64
	C     []float64
	H     [][]float64
}

// System is a small bilevel program with a linear or convex quadratic follower:
//
//	minimize F(w), w = (x, y, lambda), over X, the rows Upper, and
//	y in argmin { x'Py + q'y + y'Qy/2 : Rows }
//
// where lambda are multipliers of Rows, >= 0 on inequalities, of the Lagrangian
// g + lambda'(A x + C y - Rhs). Where the follower has several answers, or several
// multipliers, the leader takes the best. F is to be linear in lambda.
//
// Everything about it is found by enumeration: of the sets S of independent rows that
// may hold with multipliers, and of the faces of the polyhedron of each. By
// Caratheodory's theorem independent sets are enough.
type System struct {
	Dx, Dy int
	Lo, Hi []float64 // of x; infinite where there is no bound
	Whole  []bool    // of x: whole numbers; their bounds are finite
	Upper  []Linear  // read x and y
	Rows   []Linear
	Q, P   [][]float64 // Dy by Dy, Dx by Dy
	Linear []float64   // q
	F      Quadratic   // over Dx + Dy + len(Rows)
	// What only an Evaluator reads: smooth terms of F and g, and c of a c'x in g, which moves no answer.
	UpperTerms, LowerTerms []Term
	OfX                    []float64
}

// FarAway is a bound on entries that have none: an optimum there is one at infinity. Boxes
// of x are to be smaller, and so is F: what falls without end hides behind an F as low as that.
const FarAway = 1e11

// loose is what sums may miss by rounding, relative to the sizes that went into them.
const loose = 1e-11

// rounding is that of a few operations.
const rounding = 1e-14

// Given is what a computed double misses what it stands for by, relative to its size: four units of its last place.
const Given = 0x1p-50

// Dim is the length of w.
func (s *System) Dim() int { return s.Dx + s.Dy + len(s.Rows) }

// Value is F and the sum of the sizes of its terms.
func (q *Quadratic) Value(w []float64) (value, terms float64) {
	value, terms = q.Const, math.Abs(q.Const)
	for i, v := range w {
		t := q.C[i] * v
		value, terms = value+t, terms+math.Abs(t)
		if v == 0 || q.H[i] == nil {
			continue
		}
		for j, u := range w {
			t := v * q.H[i][j] * u / 2
			value, terms = value+t, terms+math.Abs(t)
		}
	}
	return value, terms
}

// Slope is H w + C.
func (q *Quadratic) Slope(w []float64) []float64 {
	g := slices.Clone(q.C)
	for i := range w {
		for j, h := range q.H[i] {
			g[i] += h * w[j]
		}
	}
	return g
}

// Follower is g over y at one x, as a function of w.
func (s *System) Follower() *Quadratic {
	n := s.Dim()
	g := &Quadratic{C: make([]float64, n), H: make([][]float64, n)}
	copy(g.C, s.OfX)
	copy(g.C[s.Dx:], s.Linear)
	for i := range n {
		g.H[i] = make([]float64, n)
	}
	for j := range s.Dy {
		for k := range s.Dy {
			g.H[s.Dx+j][s.Dx+k] = s.Q[j][k]
		}
		for i := range s.Dx {
			g.H[i][s.Dx+j], g.H[s.Dx+j][i] = s.P[i][j], s.P[i][j]
		}
	}
	return g
}

// plane is a'w <= b or a'w == b.
type plane struct {
	a     []float64
	b     float64
	given bool // b is a double that was computed, and no decimal of the program
}

// over writes a row as a plane over w.
func (s *System) over(r Linear) plane {
	a := make([]float64, s.Dim())
	copy(a, r.A)
	copy(a[s.Dx:], r.C)
	return plane{a: a, b: r.Rhs}
}

// entry is sign * w_i <= b.
func (s *System) entry(i int, sign, b float64) plane {
	a := make([]float64, s.Dim())
	a[i] = sign
	return plane{a: a, b: b}
}

// at is entry for a b that was computed.
func (s *System) at(i int, sign, b float64) plane {
	p := s.entry(i, sign, b)
	p.given = true
	return p
}

// Region is a part of w's space: entries of x that are fixed, and boxes around entries of w.
type Region struct {
	X      []float64    // nil: free
	Around map[int]Near // entry of w: its box
	end    float64      // bound of entries that have none
}

// Near is what is within Radius of Middle: each entry of w has a radius of its own, as one that is far out says nothing of how near to others another piece is.
type Near struct{ Middle, Radius float64 }

// Answer is what an enumeration found.
type Answer struct {
	Feasible bool
	Far      bool // the least value is met far away only
	W        []float64
	Value    float64
	Terms    float64   // the sum of the sizes of its terms
	Least    []float64 // of y over all points that were met, vertices included
	Most     []float64
	share    float64 // of given numbers that is rounding
}

// over goes through the faces that planes cut from a flat. A point counts as computed exactly, from planes whose numbers
// are decimals, and where it keeps all planes so.
func (a *Answer) over(s *System, f flat, q *Quadratic, planes []plane) {
	f.faces(q, planes, 0, func(f flat, w []float64) {
		if a.improves(s, q, w) {
			if w = f.exactly(q, planes, a.share); w != nil && a.improves(s, q, w) {
				a.meet(s, q, w)
			}
		}
	})
}

// improves reports whether a point is below all others, or extends the range of y, by more than rounding.
func (a *Answer) improves(s *System, q *Quadratic, w []float64) bool {
	v, terms := q.Value(w)
	if !a.Feasible || v < a.Value-rounding*(terms+a.Terms) {
		return true
	}
	for j, y := range w[s.Dx : s.Dx+s.Dy] {
		if d := rounding * math.Abs(y); y < a.Least[j]-d || y > a.Most[j]+d {
			return true
		}
	}
	return false
}

// Rough reports that the least value is rounding of its terms.
func (a *Answer) Rough() bool { return loose*a.Terms > math.Abs(a.Value) }

func (a *Answer) meet(s *System, q *Quadratic, w []float64) {
	v, terms := q.Value(w)
	if a.Least == nil {
		a.Least, a.Most = slices.Clone(w[s.Dx:s.Dx+s.Dy]), slices.Clone(w[s.Dx:s.Dx+s.Dy])
	}
	for j, y := range w[s.Dx : s.Dx+s.Dy] {
		a.Least[j], a.Most[j] = math.Min(a.Least[j], y), math.Max(a.Most[j], y)
	}
	if !a.Feasible || v < a.Value {
		a.Feasible, a.Value, a.Terms, a.W = true, v, terms, slices.Clone(w)
	}
}

// Minimize finds the least value of q over the program's points in a region.
func (s *System) Minimize(q *Quadratic, in Region) *Answer {
	in.end = FarAway
	least := func(share float64) *Answer {
		out := &Answer{share: share}
		s.whole(in, func(fixed []float64) { s.pieces(q, fixed, in, out) })
		return out
	}
	out := least(2 * Given)
	if !out.Feasible && (in.X != nil || in.Around != nil) { // a given x may miss a tie by more
		out = least(loose)
	}
	if distant(out.W, in.end) { // where F is level there, it has its least value nearer
		in.end /= 8
		nearer := least(out.share)
		if nearer.Value <= out.Value+loose*(1+nearer.Terms) {
			return nearer
		}
		out.Far = true
	}
	return out
}

// distant reports an entry at the end of space.
func distant(w []float64, end float64) bool {
	return slices.ContainsFunc(w, func(v float64) bool { return math.Abs(v) > end*(1-1e-6) })
}

// Reads reports whether F reads the multiplier of row i.
func (s *System) Reads(i int) bool {
	at := s.Dx + s.Dy + i
	return s.F.C[at] != 0 || slices.ContainsFunc(s.F.H[at], func(h float64) bool { return h != 0 })
}

// whole calls do for every choice of the whole entries of x, NaN for those that are free.
func (s *System) whole(in Region, do func([]float64)) {
	x := make([]float64, s.Dx)
	var rec func(i int)
	rec = func(i int) {
		switch {
		case i == s.Dx:
			do(x)
		case in.X != nil:
			x[i] = in.X[i]
			rec(i + 1)
		case s.Whole[i]:
			for v := math.Ceil(s.Lo[i]); v <= s.Hi[i]; v++ {
				if at, near := in.Around[i]; !near || math.Abs(v-at.Middle) <= at.Radius {
					x[i] = v
					rec(i + 1)
				}
			}
		default:
			x[i] = math.NaN()
			rec(i + 1)
		}
	}
	rec(0)
}

// pieces goes through the sets of rows that may have multipliers.
func (s *System) pieces(q *Quadratic, fixed []float64, in Region, out *Answer) {
	start := origin(s.Dim())
	for i := range s.Dx + s.Dy {
		start = start.with(i)
	}
	ok := true
	impose := func(p plane) {
		if ok {
			start, _, ok = start.restrict(p)
		}
	}
	for i, v := range fixed {
		if !math.IsNaN(v) {
			p := s.entry(i, 1, v)
			p.given = in.X != nil
			impose(p)
		}
	}
	var held, bounds []plane // what holds on every piece, and what may be tight
	var independent [][]float64
	lambda, reads := []int{}, false
	for i := range s.Rows {
		reads = reads || s.Reads(i)
	}
	for i, r := range s.Rows {
		if r.Equal {
			impose(s.over(r))
			switch {
			case rank(append(independent, r.C)) > len(independent):
				independent, lambda = append(independent, r.C), append(lambda, i)
			case reads: // what dependent equations have together is anyone's
				lambda = append(lambda, i)
			}
			continue
		}
		held = append(held, s.over(r))
	}
	for _, r := range s.Upper {
		if r.Equal {
			impose(s.over(r))
		} else {
			held = append(held, s.over(r))
		}
	}
	if !ok {
		return
	}
	for i := range s.Dx + s.Dy {
		lo, hi := -in.end, in.end
		if i < s.Dx {
			if !math.IsInf(s.Lo[i], 0) {
				lo = s.Lo[i]
			}
			if !math.IsInf(s.Hi[i], 0) {
				hi = s.Hi[i]
			}
			if !math.IsNaN(fixed[i]) {
				continue
			}
		}
		if at, near := in.Around[i]; near {
			lo, hi = math.Max(lo, at.Middle-at.Radius), math.Min(hi, at.Middle+at.Radius)
		}
		near := in.Around != nil
		upper, lower := s.entry(i, 1, hi), s.entry(i, -1, -lo)
		upper.given, lower.given = near, near
		if near || i < s.Dx || !s.bounded(i-s.Dx, 1) {
			bounds = append(bounds, upper)
		}
		if near || i < s.Dx || !s.bounded(i-s.Dx, -1) {
			bounds = append(bounds, lower)
		}
	}
	for i, at := range in.Around {
		if i >= s.Dx+s.Dy {
			bounds = append(bounds, s.at(i, 1, at.Middle+at.Radius), s.at(i, -1, at.Radius-at.Middle))
		}
	}
	// Where F reads multipliers that are not unique it may fall along a ray of them: one
	// dependent row more, and an end.
	more := 0
	if reads {
		more = 1
		for i, r := range s.Rows {
			bounds = append(bounds, s.entry(s.Dx+s.Dy+i, 1, in.end))
			if r.Equal {
				bounds = append(bounds, s.entry(s.Dx+s.Dy+i, -1, in.end))
			}
		}
	}
	var choose func(i int, rows [][]float64, chosen []int)
	choose = func(i int, rows [][]float64, chosen []int) {
		s.piece(q, start, append(slices.Clone(held), bounds...), append(slices.Clone(lambda), chosen...), out)
		for ; i < len(s.Rows); i++ {
			if r := s.Rows[i]; !r.Equal {
				if next := append(slices.Clone(rows), r.C); rank(next) >= len(next)-more {
					choose(i+1, next, append(slices.Clone(chosen), i))
				}
			}
		}
	}
	choose(0, independent, nil)
}

// bounded reports whether a row is a bound on y_j from above (sign 1) or below (-1).
func (s *System) bounded(j int, sign float64) bool {
	return slices.ContainsFunc(s.Rows, func(r Linear) bool {
		for _, a := range r.A {
			if a != 0 {
				return false
			}
		}
		for k, c := range r.C {
			if (c != 0) != (k == j) {
				return false
			}
		}
		return r.Equal || r.C[j]*sign > 0
	})
}

// piece minimizes over the points at which the rows of a set hold and have the multipliers.
func (s *System) piece(q *Quadratic, from flat, held []plane, rows []int, out *Answer) {
	n, at := s.Dim(), s.Dx+s.Dy
	f := from
	for _, i := range rows {
		f = f.with(at + i)
	}
	ok := true
	for _, i := range rows {
		if !s.Rows[i].Equal {
			if f, _, ok = f.restrict(s.over(s.Rows[i])); !ok {
				return
			}
			held = append(held, s.entry(at+i, -1, 0))
		}
	}
	for j := range s.Dy { // grad_y g + C'lambda = 0
		a := make([]float64, n)
		for i := range s.Dx {
			a[i] = s.P[i][j]
		}
		for k := range s.Dy {
			a[s.Dx+k] = s.Q[j][k]
		}
		for _, i := range rows {
			a[at+i] = s.Rows[i].C[j]
		}
		if f, _, ok = f.restrict(plane{a: a, b: -s.Linear[j]}); !ok {
			return
		}
	}
	out.over(s, f, q, held)
}

// Responds is the least g over the follower's rows at x: whether there is such a y, and
// whether g falls without bound there.
func (s *System) Responds(x []float64) *Answer {
	f := origin(s.Dim())
	for i := range s.Dx + s.Dy {
		f = f.with(i)
	}
	for i, v := range x {
		f, _, _ = f.restrict(s.at(i, 1, v))
	}
	var held []plane
	for _, r := range s.Rows {
		if !r.Equal {
			held = append(held, s.over(r))
			continue
		}
		ok := true
		if f, _, ok = f.restrict(s.over(r)); !ok {
			return &Answer{}
		}
	}
	for j := range s.Dy {
		for _, sign := range []float64{1, -1} {
			if !s.bounded(j, sign) {
				held = append(held, s.entry(s.Dx+j, sign, FarAway))
			}
		}
	}
	g := s.Follower()
	out := &Answer{share: 2 * Given}
	if out.over(s, f, g, held); !out.Feasible {
		out.share = loose
		out.over(s, f, g, held)
	}
	out.Far = distant(out.W, FarAway)
	return out
}
