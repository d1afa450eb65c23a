package certify

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/problem"
)

// sparseVector is a vector by its entries that are not zero.
type sparseVector struct {
	At  []int     `json:"at"`
	Val []float64 `json:"val"`
}

// each calls f for the entries, which are to be numbers at places below n. A vector that is nil is 0.
func (v *sparseVector) each(what string, n int, f func(at int, v float64)) {
	if v == nil {
		return
	}
	must.Be(len(v.At) == len(v.Val), "%s: %d places for %d numbers", what, len(v.At), len(v.Val))
	for k, at := range v.At {
		if at < 0 || at >= n || !isNumber(v.Val[k]) {
			must.Be(false, "%s: %v at place %d of %d", what, v.Val[k], at, n)
		}
		f(at, v.Val[k])
	}
}

// dense is the vector with its n entries, each there once.
func (v *sparseVector) dense(what string, n int) []float64 {
	out := make([]float64, n)
	v.each(what, n, func(at int, t float64) {
		must.Be(out[at] == 0, "%s: place %d is there twice", what, at)
		out[at] = t
	})
	return out
}

// treeWeights are a leaf of a proof. With the gradient of the objective at Z, d = Q Z + c - rows'weights, and
//
//	f(z) >= k - 1/2 Z'Q Z + sum of weight x side of the rows + sum over columns of the least d_j z_j in the column's box
//
// for every z of the leaf, by convexity and weak duality: weights of inequalities have the sign of their sense, a row that the leaf
// holds at zero is an equation, and a column without an end has d_j = 0, or of the right sign. A leaf that is empty has weights with f = 0 for
// which the right side is positive.
type treeWeights struct {
	Z            *sparseVector `json:"z,omitempty"`
	Stationarity *sparseVector `json:"stationarity,omitempty"`
	Lower        *sparseVector `json:"lower,omitempty"`
	Upper        *sparseVector `json:"upper,omitempty"`
	Extended     *sparseVector `json:"extended,omitempty"`
	Coupled      *sparseVector `json:"coupled,omitempty"`
	Levels       *sparseVector `json:"levels,omitempty"`
	Duality      *sparseVector `json:"duality,omitempty"`
	Slopes       *sparseVector `json:"slopes,omitempty"`
	Along        *sparseVector `json:"along,omitempty"` // of the ranges of directions: of any sign
	// Curved are multiples of the leader's quadratic constraints that f has in addition on this leaf, >= 0 where these are c <= 0: coupled ones, then balls of X.
	Curved *sparseVector `json:"curved,omitempty"`
}

// treeLeaf is what a branch holds, and the room to evaluate leaves.
type treeLeaf struct {
	t      *treeModel
	side   []int8 // of each row of the lower level: 0 where it is open
	lo, hi []float64
	along  []interval // the range of each direction
	times  []float64  // how many times the objective has its square
	boxes  []slopeBox // of the slopes
	ranged *treeRange // the one that is being checked
	undo   []func()   // restore what branches and ranges changed, the last ones last

	empty   bool
	of      *treeObjective // of the leaf
	nothing *treeObjective
	w       [treeKinds][]interval
	v       []interval // weights of the ranges
	z       []interval
	d       []interval
	shown   []bool        // columns with d_j = 0 by a solution that is proved to exist
	moved   []movedWeight // by that solution
}

func newTreeLeaf(t *treeModel) *treeLeaf {
	l := &treeLeaf{t: t, side: make([]int8, t.m), lo: append([]float64(nil), t.lo...), hi: append([]float64(nil), t.hi...),
		z: make([]interval, t.n), d: make([]interval, t.n), shown: make([]bool, t.n), nothing: newTreeObjective(t.n)}
	for k := range l.w {
		l.w[k] = make([]interval, t.rows[k].Rows)
	}
	l.along = each.Of(t.squares, func(s treeSquare) interval { return s.over(t.lo, t.hi) })
	l.v, l.times = make([]interval, len(l.along)), make([]float64, len(l.along))
	l.boxes = t.slopeBoxes()
	return l
}

// The sides of a row.
const (
	slackZero = iota + 1
	multiplierZero
)

// change makes a number what a branch or a range says of it, until back.
func change[T any](l *treeLeaf, at *T, to T) {
	was := *at
	l.undo, *at = append(l.undo, func() { *at = was }), to
}

// back undoes all changes but the first n.
func (l *treeLeaf) back(n int) {
	for len(l.undo) > n {
		last := len(l.undo) - 1
		l.undo[last]()
		l.undo = l.undo[:last]
	}
}

// narrow leaves of a range what is in another.
func (l *treeLeaf) narrow(lo, hi *float64, to interval) {
	change(l, lo, math.Max(*lo, to.lo))
	change(l, hi, math.Min(*hi, to.hi))
}

// hold fixes a side of row i, and the box of its multiplier or of the entry that it bounds alone.
func (l *treeLeaf) hold(i int, side int8) {
	change(l, &l.side[i], side)
	t := l.t
	col, to := t.nx+t.ny+i, interval{}
	if side == slackZero {
		cols, vals := t.rows[treeLower].Row(i)
		if len(cols) != 1 || cols[0] < t.nx {
			return
		}
		col, to = cols[0], signed(point(t.rhs[treeLower][i]).over(math.Abs(vals[0])), vals[0])
	}
	l.narrow(&l.lo[col], &l.hi[col], to)
}

// split narrows the box of entry j of x, with those of its slopes.
func (l *treeLeaf) split(j int, to interval) {
	l.narrow(&l.lo[j], &l.hi[j], to)
	for k, s := range l.t.lift.slopes {
		if s.Entry == j {
			l.narrow(&l.boxes[k].a, &l.boxes[k].b, to)
		}
	}
}

// free reports whether a row's weight may have any sign.
func (l *treeLeaf) free(kind, i int) bool {
	positive, negative := l.signsOf(kind, i)
	return positive && negative
}

// load takes the weights of a leaf.
func (l *treeLeaf) load(w *treeWeights, empty bool) {
	l.empty = empty
	for k := range l.w {
		clear(l.w[k])
	}
	clear(l.z)
	clear(l.v)
	clear(l.shown)
	l.moved = l.moved[:0]
	fill := func(what string, dst []interval, v *sparseVector) {
		v.each(what, len(dst), func(at int, t float64) { dst[at] = point(t) })
	}
	l.products()
	for k, v := range [...]*sparseVector{w.Stationarity, w.Lower, w.Upper, w.Extended, w.Coupled, w.Levels, w.Duality, w.Slopes} {
		fill(kindWords[k], l.w[k], v)
	}
	fill("along", l.v, w.Along)
	l.withCurved(w.Curved)
	if !empty || len(l.of.curved) > 0 {
		fill("z", l.z, w.Z)
	}
	l.signs()
}

var kindWords = [treeKinds]string{"stationarity", "lower", "upper", "extended", "coupled", "levels", "duality", "slopes"}

// signs checks those of the weights.
func (l *treeLeaf) signs() {
	for k := range l.w {
		for i, v := range l.w[k] {
			if !v.zero() && l.wrong(k, i, v) {
				must.Be(false, "the weight of %s row %d has the wrong sign", kindWords[k], i)
			}
		}
	}
}

// reduce sets d.
func (l *treeLeaf) reduce() {
	for j, c := range l.of.c {
		l.d[j] = c.val
	}
	add := func(u unknown) {
		if by := *l.value(u); !by.zero() {
			l.derivative(u, func(j int, v interval) { l.d[j] = l.d[j].add(by.mul(v)) })
		}
	}
	for _, i := range l.of.curved {
		add(unknown{treeKinds, i})
	}
	for k := range l.w {
		for i := range l.w[k] {
			add(unknown{k, i})
		}
	}
	for k, s := range l.t.squares {
		v := l.v[k].add(l.slope(k))
		if v.zero() {
			continue
		}
		for e, j := range s.Of.At {
			l.d[j] = l.d[j].sub(v.mul(point(s.Of.Val[e])))
		}
	}
	for j, is := range l.shown {
		if is {
			l.d[j] = interval{}
		}
	}
}

// fails reports whether the box of column j has no end where d_j needs one.
func (l *treeLeaf) fails(j int) bool {
	return l.d[j].hi > 0 && math.IsInf(l.lo[j], -1) || l.d[j].lo < 0 && math.IsInf(l.hi[j], 1) || !l.d[j].finite()
}

// bound is the lower bound of f on the leaf, rounded down; for an empty leaf it is +Inf.
func (l *treeLeaf) bound() float64 {
	if l.contradicts() {
		return math.Inf(1)
	}
	for k, r := range l.along {
		if r.lo > r.hi {
			return math.Inf(1)
		}
		must.Be(l.times[k] == 0 || r.finite(), "direction %d has no range", k)
	}
	l.complete()
	sum := l.sum()
	must.Be(!math.IsNaN(sum.lo), "the bound is no number")
	if !l.empty {
		return sum.lo
	}
	must.Be(sum.lo > 0, "the weights of an empty leaf prove %.3g > 0", sum.lo)
	return math.Inf(1)
}

// contradicts reports that what rows say of boxes and the branches contradict each other.
func (l *treeLeaf) contradicts() bool {
	for j := range l.lo {
		if l.lo[j] > l.hi[j] {
			return true
		}
	}
	return false
}

// sum is what the weights show, with the least that d leaves over the boxes.
func (l *treeLeaf) sum() interval {
	t := l.t
	sum := l.of.konst
	for _, i := range l.of.curved {
		if l.z[i].zero() {
			continue
		}
		row := interval{}
		for _, e := range l.of.q[i] {
			row = row.add(e.val.mul(l.z[e.col]))
		}
		sum = sum.sub(point(0.5).mul(row.mul(l.z[i])))
	}
	for j, lack := range l.of.deficit {
		if lack == 0 {
			continue
		}
		away := point(interval{l.lo[j], l.hi[j]}.sub(l.z[j]).size())
		sum = sum.sub(point(0.5).mul(point(lack).mul(away.mul(away))))
	}
	for k, s := range t.squares {
		if l.times[k] > 0 {
			sum = sum.add(point(l.times[k]).mul(point(s.Weight)).mul(point(l.along[k].lo).mul(point(l.along[k].hi))))
		}
		if !l.v[k].zero() {
			sum = sum.add(l.v[k].mul(l.along[k]))
		}
	}
	for k := range l.w {
		for i, v := range l.w[k] {
			if !v.zero() {
				sum = sum.add(v.mul(l.sideOf(k, i)))
			}
		}
	}
	for j, d := range l.d {
		if !d.zero() {
			sum = sum.add(d.mul(interval{l.lo[j], l.hi[j]}))
		}
	}
	return sum
}

// slope is that of the secant of direction k: the objective has -slope w.
func (l *treeLeaf) slope(k int) interval {
	if l.times[k] == 0 {
		return interval{}
	}
	return point(l.times[k]).mul(point(l.t.squares[k].Weight)).mul(point(l.along[k].lo).add(point(l.along[k].hi)))
}

// integer reports whether entry j of x takes whole numbers only.
func integer(p *problem.Problem, j int) bool { return j < len(p.Integer) && p.Integer[j] }
