package certify

import (
	"math"
	"slices"

	"bilevelc/internal/must"
)

// treeCoefficient names the coefficient of an entry of x in strong duality of the part of the lower level with y_Answer,
//
//	T = (G'y)_Entry - (A'lambda)_Entry
//
// over the rows of that part: a proof has a column for it, and behind that one for the product w = x_Entry T. Its rows are 0 = T - (..), and with x in [a, b] and T in [lo, hi] those of McCormick (1976),
//
//	(x - a)(T - lo) >= 0,   (b - x)(hi - T) >= 0,   (x - a)(hi - T) >= 0,   (b - x)(T - lo) >= 0,
//
// which are linear with w, and say w = a T where a = b.
type treeCoefficient struct {
	Answer int `json:"answer"`
	Entry  int `json:"entry"`
}

const slopeRows = 5

// slopeBox is a box of x and T.
type slopeBox struct{ a, b, lo, hi float64 }

// treeRange is a line that says of T that on the present node, with x in [a, b], it is at least Least, or at most Most. By are weights of the rows, of strong duality with x T as e T, e = b for Least
// and a for Most, that bound it at x = e; with tau that of strong duality, U = T or -T, and what the rows and boxes of all columns but x leave, K,
//
//	U >= K + d x + tau (e - x) T,   which is   U (1 - tau |e - x|) >= K + d x.
//
// Where 1 - tau |e - x| is positive at both ends of the box, U is at least the lower one of the two quotients there: between them it is monotone.
type treeRange struct {
	Slope int          `json:"slope"`
	Least *float64     `json:"least"`
	Most  *float64     `json:"most"`
	By    *treeWeights `json:"by"`
}

// slopeColumn is the column of slope k; that of its product is the next.
func (t *treeModel) slopeColumn(k int) int { return t.base + len(t.lift.products) + 2*k }

// addSlopes makes their rows; those of McCormick have coefficients of the leaf.
func (t *treeModel) addSlopes(*treeAdded) {
	for k, s := range t.lift.slopes {
		must.Be(s.Answer >= 0 && s.Answer < t.ny && s.Entry >= 0 && s.Entry < t.nx, "slope %d: no such entry of x or y", k)
		y, rows := t.part(s.Answer)
		for _, j := range y {
			t.put(treeSlopes, t.nx+j, t.g[s.Entry][j])
		}
		for _, i := range rows {
			t.put(treeSlopes, t.nx+t.ny+i, -t.p.Rows.A.At(i, s.Entry))
		}
		t.put(treeSlopes, t.slopeColumn(k), -1)
		t.end(treeSlopes, true, 0)
		for range slopeRows - 1 {
			for _, j := range [3]int{s.Entry, t.slopeColumn(k), t.slopeColumn(k) + 1} {
				t.rows[treeSlopes].Append(j, 0)
			}
			t.end(treeSlopes, false, 0)
		}
	}
}

// slopesOf are the slopes of the part with these entries of y, by entries of x.
func (t *treeModel) slopesOf(y []int) map[int]int {
	all := map[int]int{}
	for k, s := range t.lift.slopes {
		if slices.Contains(y, s.Answer) {
			all[s.Entry] = k
		}
	}
	return all
}

// slopeBoxes are those of the root.
func (t *treeModel) slopeBoxes() (all []slopeBox) {
	for _, s := range t.lift.slopes {
		box := slopeBox{lo: math.Inf(-1), hi: math.Inf(1)}
		if box.a, box.b = t.boxOfX(s.Entry); integer(t.p, s.Entry) {
			box.a, box.b = math.Ceil(box.a), math.Floor(box.b)
		}
		all = append(all, box)
	}
	return all
}

// mcCormick is row i of slopes as sign (w - v T - t x) >= -sign v t; is tells whether it holds on the leaf.
func (l *treeLeaf) mcCormick(i int) (sign, v, t float64, is bool) {
	box := l.boxes[i/slopeRows]
	if box.a == box.b {
		box.lo, box.hi = 0, 0
	}
	switch i % slopeRows {
	case 1:
		sign, v, t = 1, box.a, box.lo
	case 2:
		sign, v, t = 1, box.b, box.hi
	case 3:
		sign, v, t = -1, box.a, box.hi
	case 4:
		sign, v, t = -1, box.b, box.lo
	}
	merged := l.ranged != nil && l.ranged.Slope == i/slopeRows // the leaf has the slope's products as multiples of it
	return sign, v, t, !math.IsInf(v, 0) && !math.IsInf(t, 0) && !merged
}

// slopeCoef is the coefficient of row i of slopes at place e.
func (l *treeLeaf) slopeCoef(i, e int, v float64) float64 {
	if i%slopeRows == 0 {
		return v
	}
	sign, v, t, is := l.mcCormick(i)
	if !is {
		return 0
	}
	return [3]float64{-sign * t, -sign * v, sign}[e]
}

// slopeSide is the side of row i of slopes.
func (l *treeLeaf) slopeSide(i int) interval {
	sign, v, t, is := l.mcCormick(i)
	if i%slopeRows == 0 || !is {
		return interval{}
	}
	return point(-sign * v).mul(point(t))
}

// dual is the coefficient of row i of strong duality at place e.
func (l *treeLeaf) dual(i, e int) interval {
	wide := l.t.lift.wide[i]
	if l.ranged == nil {
		return wide[e]
	}
	cols, _ := l.t.rows[treeDuality].Row(i)
	switch t := l.t.slopeColumn(l.ranged.Slope); cols[e] {
	case t + 1:
		return interval{}
	case t: // its product is behind it
		return wide[e].add(wide[e+1].mul(point(l.ranged.at(l.boxes))))
	}
	return wide[e]
}

// at is e of a range.
func (r *treeRange) at(boxes []slopeBox) float64 {
	if r.Most != nil {
		return boxes[r.Slope].a
	}
	return boxes[r.Slope].b
}

// slopes sets the boxes of the slopes and products on the leaf.
func (l *treeLeaf) slopes() {
	for k, box := range l.boxes {
		j := l.t.slopeColumn(k)
		l.lo[j], l.hi[j] = box.lo, box.hi
		w := interval{box.lo, box.hi}.mul(interval{box.a, box.b})
		l.lo[j+1], l.hi[j+1] = w.lo, w.hi
	}
}

// take checks a range, and makes it one of the present node.
func (l *treeLeaf) take(r *treeRange) {
	must.Be(r.Slope >= 0 && r.Slope < len(l.boxes) && (r.Least != nil) != (r.Most != nil) && r.By != nil && r.By.Curved == nil && r.By.Z == nil,
		"a range is that of a slope, least or most, with weights")
	value, sign, shown := 0.0, 1.0, 0.0
	if r.Most != nil {
		value, sign = -*r.Most, -1
	} else {
		value = *r.Least
	}
	box := &l.boxes[r.Slope]
	must.Be(isNumber(value) && !math.IsInf(box.a, 0) && !math.IsInf(box.b, 0), "a range that is not finite")
	err := must.Try(func() { shown = l.extreme(r, sign) })
	must.Be(err == nil, "a range: %w", err)
	must.Be(shown >= value, "a range of slope %d with the end %v, where its weights show %v", r.Slope, sign*value, sign*shown)
	if sign > 0 {
		change(l, &box.lo, math.Max(box.lo, value))
	} else {
		change(l, &box.hi, math.Min(box.hi, -value))
	}
}

// extreme is what a range's weights show of sign T.
func (l *treeLeaf) extreme(r *treeRange, sign float64) float64 {
	l.ranged = r
	defer func() { l.ranged = nil }()
	t := l.t
	l.load(r.By, true)
	of, col := newTreeObjective(t.n), t.slopeColumn(r.Slope)
	of.addC(col, num(sign))
	l.of = of
	if l.contradicts() {
		return math.Inf(1)
	}
	l.complete()
	entry, box := t.lift.slopes[r.Slope].Entry, l.boxes[r.Slope]
	d := l.d[entry]
	l.d[entry] = interval{}
	k, tau := l.sum(), interval{}
	l.ranged = nil // strong duality with x T for what follows
	for i, v := range l.w[treeDuality] {
		tau = tau.add(v.mul(l.at(treeDuality, i, col+1)))
	}
	least := math.Inf(1)
	for _, x := range [2]float64{box.a, box.b} {
		away := point(x).sub(point(r.at(l.boxes)))
		by := point(1).sub(tau.mul(signed(away, away.mid())))
		must.Be(by.lo > 0, "strong duality has too large a weight")
		top := k.add(d.mul(point(x))).lo
		must.Be(!math.IsNaN(top), "the end is no number")
		if top >= 0 {
			least = math.Min(least, point(top).over(by.hi).lo)
		} else {
			least = math.Min(least, point(top).over(by.lo).lo)
		}
	}
	return least
}
