package certify

import (
	"maps"
	"math"
	"math/big"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// treeInterior is an affine map y(x) = at + sum of by_c x_c that a proof states for the part of the lower level with y_Answer, and one of multipliers mu(x); other entries of y have no part in it. At each point
// of the system, with the slacks s, and H positive semidefinite on the part,
//
//	lambda's(y(x)) = -d'(y - y(x)) - (y - y(x))'H(y - y(x)),   d = H y(x) + G x + q,
//	lambda's(y(x)) + mu's(y) <= mu's(y(x)) - e'(y - y(x)),     e = d - B'mu,
//
// by stationarity, complementarity and the equations (Slater's condition for the program and for its dual): where all s(y(x)) >= t and mu >= m hold for all x in their box, lambda_i <= theta/t_i and
// s_i <= theta/m_i. theta is from the boxes of y; or from Curvature, m_j > 0 for all entries of the part such that H + sum of Squares_i B_i'B_i - diag(m) is positive semidefinite
// there, B_i the rows' coefficients in equations, whose slacks are 0 at y and y(x): theta = r^2/4, r^2 = sum of d_j^2/m_j, and then |y_j - y_j(x)| <= r/sqrt(m_j) as well; or from mu, where slacks that have bounds
// bound y (reach). y(x) is the map that is stated, moved by what it violates equations by (correct).
//
// Multipliers may be taken to be basic (treeNetwork), which bounds those that the map does not, as where constraints meet at some x. Where y(x) still violates constraints by rounding, or satisfies equations up to it,
// that times their bounds is added to theta.
type treeInterior struct {
	Answer      int           `json:"answer"`
	At          *sparseVector `json:"at"`
	By          []treeSlope   `json:"by"`
	Curvature   *sparseVector `json:"curvature"`
	Squares     *sparseVector `json:"squares"` // of rows
	Multipliers *sparseVector `json:"multipliers"`
	Slopes      []treeSlope   `json:"slopes"` // of the multipliers
}

// treeSlope is the derivative of the map in x_Entry.
type treeSlope struct {
	Entry int           `json:"entry"`
	Of    *sparseVector `json:"of"`
}

// addInterior tightens boxes of y and multipliers by what a proof states. Maps that are outside of a constraint say less or nothing.
func (t *treeModel) addInterior(a *treeAdded) {
	for k := range a.interiors {
		var in *interiorMap
		err := must.Try(func() { in = t.readInterior(&a.interiors[k]) })
		must.Be(err == nil, "interior %d: %w", k, err)
		in.tighten()
	}
}

// interiorMap is a statement that was read: entries and rows of its part, and its maps over all entries of y and rows; a slope that is nil is 0.
type interiorMap struct {
	t           *treeModel
	bt          *sparse.CSR // the transpose of the rows' coefficients of y
	y, rows     []int
	at, mu      []float64
	by, muBy    [][]float64
	least       []float64 // Curvature
	curved      bool      // it is positive
	squares     []float64 // Squares
	value       map[int]interval
	slack       map[int]interval
	moved       map[int]float64 // how far entries of y(x) are from those stated, at most (correct)
	vanishes    map[int]bool    // rows whose slack is 0 at all y that satisfy the constraints
	within      map[int]bool    // rows whose slack is above 0 by more than rounding: others bound no multiplier
	multipliers bool
	on          *mapRange // where the map is stated alone; nil: over all of x
}

// mapRange is a range of an entry of x, from which on a map has its slopes.
type mapRange struct {
	entry int
	from  float64
	in    interval
}

// box is the range of entry c of x, and origin from where the map's slopes are.
func (m *interiorMap) box(c int) (box interval, origin float64) {
	if m.on != nil && c == m.on.entry {
		return m.on.in, m.on.from
	}
	return m.t.box(c), 0
}

func (t *treeModel) readInterior(in *treeInterior) *interiorMap {
	must.Be(in.Answer >= 0 && in.Answer < t.ny, "no such entry of y")
	m := &interiorMap{t: t, bt: t.p.Rows.B.T(), curved: true, multipliers: in.Multipliers != nil}
	m.y, m.rows = t.part(in.Answer)
	read := func(v *sparseVector, in []int, n int) []float64 {
		out := v.dense("interior", n)
		for j, t := range out {
			_, is := slices.BinarySearch(in, j)
			must.Be(t == 0 || is, "entry or row %d is not in the part", j)
		}
		return out
	}
	slopes := func(of []treeSlope, in []int, n int) [][]float64 {
		by := make([][]float64, t.nx)
		for _, s := range of {
			must.Be(s.Entry >= 0 && s.Entry < t.nx && by[s.Entry] == nil, "entry %d of x is none, or twice", s.Entry)
			by[s.Entry] = read(s.Of, in, n)
		}
		return by
	}
	m.at, m.by = read(in.At, m.y, t.ny), slopes(in.By, m.y, t.ny)
	m.mu, m.muBy = read(in.Multipliers, m.rows, t.m), slopes(in.Slopes, m.rows, t.m)
	m.least, m.squares = read(in.Curvature, m.y, t.ny), read(in.Squares, m.rows, t.m)
	for _, j := range m.y {
		m.curved = m.curved && m.least[j] > 0
	}
	return m
}

// box is the range of a column.
func (t *treeModel) box(j int) interval { return interval{t.lo[j], t.hi[j]} }

// over is the range of entry k of an affine map.
func (m *interiorMap) over(at []float64, by [][]float64, k int) interval {
	out := point(at[k])
	for c, slope := range by {
		if slope != nil {
			box, origin := m.box(c)
			out = out.add(point(slope[k]).mul(box.sub(point(origin))))
		}
	}
	return out
}

// along is the gradient d_j = (H y(x) + G x + q)_j, less (B'mu)_j where that is asked for.
func (m *interiorMap) along(j int, less bool) interval {
	t := m.t
	of := func(start float64, y, mu []float64) interval {
		d := point(start)
		if y != nil {
			for _, k := range m.y {
				d = d.add(point(t.h[k][j]).mul(point(y[k])))
			}
		}
		if less && mu != nil {
			for i, v := range m.bt.Entries(j) {
				d = d.sub(point(v).mul(point(mu[i])))
			}
		}
		return d
	}
	d := of(t.linearG[j], m.at, m.mu)
	for c := range t.nx {
		box, origin := m.box(c)
		d = d.add(point(t.g[c][j]).mul(point(origin))).add(of(t.g[c][j], m.by[c], m.muBy[c]).mul(box.sub(point(origin))))
	}
	for _, k := range m.y { // in order: sums are the same each time
		if by := m.moved[k]; by > 0 {
			d = d.add(point(t.h[k][j]).mul(interval{-by, by}))
		}
	}
	return d
}

// ranges finds those of the map and of its slacks.
func (m *interiorMap) ranges() {
	m.value, m.slack, m.moved, m.vanishes, m.within = map[int]interval{}, map[int]interval{}, map[int]float64{}, map[int]bool{}, map[int]bool{}
	for _, i := range m.rows {
		m.slack[i] = m.slackOf(i)
	}
	for _, j := range m.y {
		m.value[j] = m.over(m.at, m.by, j)
	}
	m.correct()
	for _, i := range m.rows {
		m.within[i] = m.slack[i].lo > tolerance.HalfDigits*m.terms(i)
	}
}

// terms is the sum of the absolute terms of row i's slack over the boxes of x, those that cancel too.
func (m *interiorMap) terms(i int) float64 {
	t := m.t
	sum := math.Abs(t.p.Rows.Rhs[i])
	for c, v := range t.p.Rows.A.Entries(i) {
		box, _ := m.box(c)
		sum += point(v).mul(box).size()
	}
	for j, v := range t.p.Rows.B.Entries(i) {
		sum += math.Abs(v * m.at[j])
		for c, slope := range m.by {
			if slope != nil {
				box, origin := m.box(c)
				sum += math.Abs(v) * point(slope[j]).mul(box.sub(point(origin))).size()
			}
		}
	}
	return sum
}

// outside is what the constraints that the map violates, and the residuals of equations, add to theta.
func (m *interiorMap) outside() (sum float64) {
	t := m.t
	for _, i := range m.rows {
		by := math.Max(0, -m.slack[i].lo)
		if t.p.Rows.Kind[i] == problem.Equal {
			by = m.slack[i].size()
		}
		if by > 0 {
			sum = up(sum + point(by).mul(point(t.box(t.nx+t.ny+i).size())).hi)
		}
	}
	return sum
}

// tighten takes what the map shows, and before and after it what basic multipliers do: they are those of a point of which all that a map shows holds.
func (m *interiorMap) tighten() {
	t := m.t
	m.ranges()
	networks := t.networks(m.y, m.rows)
	t.takeBasic(networks)
	outside := m.outside()
	theta := math.Inf(1)
	curved := m.curved && t.convexBy(m.y, m.least, m.squared())
	if !math.IsNaN(outside) && (curved || t.convexBy(m.y, nil, nil)) {
		theta = math.Min(m.byBoxes(), m.byMultipliers(outside))
	}
	if curved {
		theta = math.Min(theta, m.byCurvature(outside == 0))
	}
	if theta = math.Max(0, up(theta+outside)); !math.IsNaN(theta) {
		for _, i := range m.rows { // also of those that other rows bound, the leader's among them
			if t.p.Rows.Kind[i] == problem.AtMost && m.within[i] {
				end := &t.hi[t.nx+t.ny+i]
				*end = math.Min(*end, point(theta).over(m.slack[i].lo).hi)
			}
		}
	}
	t.takeBasic(networks)
}

// byBoxes is theta from the boxes of y.
func (m *interiorMap) byBoxes() float64 {
	theta := interval{}
	for _, j := range m.y {
		theta = theta.sub(m.along(j, false).mul(m.t.box(m.t.nx + j).sub(m.value[j])))
	}
	return orInf(theta.hi)
}

// orInf is +Inf for what is no number.
func orInf(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// byCurvature is theta from a curvature; within is that y has the ends that it gives.
func (m *interiorMap) byCurvature(within bool) float64 {
	t, square := m.t, interval{}
	for _, j := range m.y {
		size := point(m.along(j, false).size())
		square = square.add(size.mul(size).over(m.least[j]))
	}
	if within && !math.IsNaN(square.hi) {
		for _, j := range m.y {
			t.narrow(t.nx+j, m.value[j], up(math.Sqrt(square.over(m.least[j]).hi)))
		}
	}
	return orInf(square.over(4).hi)
}

// narrow tightens the box of a column to within reach of a range.
func (t *treeModel) narrow(j int, of interval, reach float64) {
	within := of.add(interval{-reach, reach})
	t.lo[j], t.hi[j] = math.Max(t.lo[j], within.lo), math.Min(t.hi[j], within.hi)
}

// joined are the entries of y in rows whose slacks have bounds.
func (m *interiorMap) joined(least map[int]float64) map[int]bool {
	out := map[int]bool{}
	for _, i := range m.rows {
		for j := range m.t.p.Rows.B.Nonzeros(i) {
			if m.bounds(i, least) {
				out[j] = true
			}
		}
	}
	return out
}

// bounds reports whether the slack of row i has a bound.
func (m *interiorMap) bounds(i int, least map[int]float64) bool {
	return m.vanishes[i] || least[i] > 0
}

// byMultipliers is theta from the map of multipliers; y gets the ends that its slacks then give it.
func (m *interiorMap) byMultipliers(outside float64) float64 {
	t, inf := m.t, math.Inf(1)
	if !m.multipliers {
		return inf
	}
	sum, least := interval{}, map[int]float64{}
	for _, i := range m.rows {
		mu := m.over(m.mu, m.muBy, i)
		if !m.vanishes[i] {
			if !(mu.lo >= 0) {
				return inf
			}
			least[i] = mu.lo
		}
		sum = sum.add(mu.mul(m.slack[i]))
	}
	e, ends := make([]float64, t.ny), interval{} // ends: e'|y - y(x)| of the entries that have them
	joined := m.joined(least)
	for _, j := range m.y {
		if e[j] = m.along(j, true).size(); !joined[j] || t.box(t.nx+j).finite() {
			ends = ends.add(point(e[j]).mul(point(t.box(t.nx + j).sub(m.value[j]).size())))
			delete(joined, j)
		}
	}
	sum = sum.add(ends)
	reach := m.reach(slices.Sorted(maps.Keys(joined)), math.Max(0, orInf(up(sum.hi+outside))), least, e)
	for j := range joined {
		switch {
		case reach != nil:
			t.narrow(t.nx+j, m.value[j], reach[j])
			sum = sum.add(point(e[j]).mul(point(reach[j])))
		case e[j] > 0:
			return inf
		}
	}
	return orInf(sum.hi)
}

// slackOf is the range of b + B y(x) - A x of row i over the boxes of x, exactly: a map may be on the edge.
func (m *interiorMap) slackOf(i int) interval {
	t := m.t
	times := func(y []float64) *big.Rat {
		out, product := new(big.Rat), new(big.Rat)
		for j, v := range t.p.Rows.B.Nonzeros(i) {
			if y[j] != 0 {
				out.Add(out, product.Mul(rat(v), rat(y[j])))
			}
		}
		return out
	}
	lo := times(m.at)
	lo.Add(lo, rat(t.p.Rows.Rhs[i]))
	hi := new(big.Rat).Set(lo)
	for c, slope := range m.by {
		a := t.p.Rows.A.At(i, c)
		if a == 0 && slope == nil {
			continue
		}
		v := rat(-a)
		box, origin := m.box(c)
		for _, end := range [2]*big.Rat{lo, hi} {
			end.Add(end, new(big.Rat).Mul(v, rat(origin)))
		}
		if slope != nil {
			v.Add(v, times(slope))
		}
		switch {
		case v.Sign() == 0:
			continue
		case !box.finite():
			return interval{math.Inf(-1), math.Inf(1)}
		case v.Sign() < 0:
			box = interval{box.hi, box.lo}
		}
		for end, x := range map[*big.Rat]float64{lo: box.lo, hi: box.hi} {
			by := new(big.Rat).Sub(rat(x), rat(origin))
			end.Add(end, by.Mul(by, v))
		}
	}
	return interval{enclosure(lo).lo, enclosure(hi).hi}
}

// squared are the rows with Squares, where their slacks are 0 at y and at y(x); nil where one's is not, or there are none.
func (m *interiorMap) squared() map[int]float64 {
	out := map[int]float64{}
	for _, i := range m.rows {
		if w := m.squares[i]; w != 0 {
			if !m.vanishes[i] || !m.slack[i].zero() {
				return nil
			}
			out[i] = w
		}
	}
	return out
}

// convexBy shows that v'Hv + sum of squares_i (B_i v)^2 >= sum of least_j v_j^2 (nil: 0) for v over these entries of y.
func (t *treeModel) convexBy(y []int, least []float64, squares map[int]float64) bool {
	m := newMidpoints(len(y))
	zero := true
	rows, place := slices.Sorted(maps.Keys(squares)), places(y)
	add := make([]interval, len(y)*len(y))
	for _, i := range rows {
		for a, v := range t.p.Rows.B.Nonzeros(i) {
			for b, w := range t.p.Rows.B.Nonzeros(i) {
				at := &add[place[a]*len(y)+place[b]]
				*at = at.add(point(v).mul(point(w)).mul(point(squares[i])))
			}
		}
	}
	for a, i := range y {
		for b, j := range y {
			v := point(t.h[i][j]).add(point(t.h[j][i])).mul(point(0.5)).add(add[a*len(y)+b]) // of the symmetric part
			if i == j && least != nil {
				v = v.sub(point(least[j]))
			}
			zero = zero && v.zero()
			m.set(a, b, v)
		}
	}
	return zero || m.semidefinite()
}
