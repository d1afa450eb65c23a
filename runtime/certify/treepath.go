package certify

import (
	"math"
	"slices"
	"sort"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/tolerance"
)

// treeSegment is an affine map of the answers and multipliers of the part of the lower level with y_Answer, as a proof states it, in order, for entry Entry of x in [From, To]:
//
//	y(x) = At + By (x - From),  mu(x) = Multipliers + Slopes (x - From)
//
// With m > 0 such that H + sum of Squares_i B_i'B_i - diag(m) is positive semidefinite there (treeInterior; those of the part's first segment are those of all), the inequality of treeInterior has, with delta = y - y(x) for the answer y,
//
//	sum of m_j delta_j^2 <= delta'H delta <= mu's(y(x)) - e'delta,   so that   |delta_j| <= |e_j| / 2 m_j + R / sqrt(m_j),   R^2 = mu's(y(x)) + sum of e_j^2 / 4 m_j:
//
// the answer is the map's but for rounding. Next to an end a slack may be 0 there and less by rounding: the map is taken apart there, with such a slack held at 0 (correct).
type treeSegment struct {
	Answer      int           `json:"answer"`
	Entry       int           `json:"entry"`
	From        float64       `json:"from"`
	To          float64       `json:"to"`
	At          *sparseVector `json:"at"`
	By          *sparseVector `json:"by"`
	Multipliers *sparseVector `json:"multipliers"`
	Slopes      *sparseVector `json:"slopes"`
	Curvature   *sparseVector `json:"curvature"`
	Squares     *sparseVector `json:"squares"`
}

// treeWay is what a segment, or a part of it, shows: for x in [lo, hi] the entries y are within reach of value + by (x - at).
type treeWay struct {
	lo, hi, at       float64
	entry            int
	y                []int
	value, by, reach []float64
}

// nextTo is how much of a segment is taken apart at an end: as far as slacks that are more than rounding at the other end are no more than that.
func (m *interiorMap) nextTo(s *treeSegment, end, other float64) (length float64) {
	on, whole := *m, s.To-s.From
	for _, i := range m.rows {
		on.on = &mapRange{s.Entry, s.From, interval{s.From, s.To}}
		rounding := 2 * tolerance.Eliminated * on.terms(i)
		at := func(x float64) float64 {
			on.on.in = point(x)
			return on.slackOf(i).lo
		}
		if near, far := at(end), at(other); near < rounding && far > rounding {
			length = math.Max(length, (rounding-near)/(far-near)*whole)
		}
	}
	return math.Min(length, whole/4)
}

// addSegments finds the ways of segments, in order along their entry.
func (t *treeModel) addSegments(a *treeAdded) {
	strong, ends := map[int]*interiorMap{}, map[int]float64{} // the first of a part; where its last one ends
	for k := range a.segments {
		s := &a.segments[k]
		must.Be(s.Entry >= 0 && s.Entry < t.nx && isNumber(s.From) && isNumber(s.To) && s.From < s.To, "segment %d is no range of an entry of x", k)
		entry := func(v *sparseVector) []treeSlope { return []treeSlope{{s.Entry, v}} }
		m := t.readInterior(&treeInterior{s.Answer, s.At, entry(s.By), s.Curvature, s.Squares, s.Multipliers, entry(s.Slopes)})
		end, is := ends[m.y[0]]
		must.Be(!is || end <= s.From, "segment %d begins before the last of its part ends", k)
		ends[m.y[0]] = s.To
		first := strong[m.y[0]]
		if first == nil {
			must.Be(m.curved && t.convexBy(m.y, m.least, m.weighted()), "segment %d: the part has not the curvature that is stated", k)
			first, strong[m.y[0]] = m, m
		}
		m.least, m.squares = first.least, first.squares
		lo := math.Nextafter(s.From+m.nextTo(s, s.From, s.To), s.To)
		hi := math.Max(lo, math.Nextafter(s.To-m.nextTo(s, s.To, s.From), s.From))
		for _, r := range [3][2]float64{{s.From, lo}, {lo, hi}, {hi, s.To}} {
			t.ways = append(t.ways, m.way(s, r[0], r[1]))
		}
	}
	sort.SliceStable(t.ways, func(a, b int) bool { return t.ways[a].lo < t.ways[b].lo })
}

// weighted are the rows with Squares.
func (m *interiorMap) weighted() map[int]float64 {
	out := map[int]float64{}
	for _, i := range m.rows {
		if w := m.squares[i]; w != 0 {
			out[i] = w
		}
	}
	return out
}

// way is the map on a range of its entry.
func (m *interiorMap) way(s *treeSegment, lo, hi float64) *treeWay {
	out := &treeWay{lo: lo, hi: hi, at: s.From, entry: s.Entry, y: m.y, value: each.Of(m.y, func(j int) float64 { return m.at[j] }), by: each.Of(m.y, func(j int) float64 { return m.by[s.Entry][j] })}
	out.reach = each.Of(m.y, func(int) float64 { return math.Inf(1) })
	on := *m
	on.on = &mapRange{s.Entry, s.From, interval{lo, hi}}
	on.ranges()
	if on.squared() == nil {
		return out
	}
	outside := on.outside()
	sum, negative := point(outside), make(map[int]float64) // multipliers that are less than 0 by rounding are 0
	for _, i := range m.rows {
		mu := on.over(m.mu, m.muBy, i)
		if !on.vanishes[i] && mu.lo < 0 {
			negative[i] = -mu.lo
			mu = interval{0, math.Max(0, mu.hi)}
		}
		sum = sum.add(mu.mul(on.slack[i]))
	}
	e := each.Of(m.y, func(j int) float64 {
		of := point(on.along(j, true).size())
		for i, v := range m.bt.Entries(j) {
			of = of.add(point(math.Abs(v)).mul(point(negative[i])))
		}
		return of.hi
	})
	for k, j := range m.y {
		sum = sum.add(point(e[k]).mul(point(e[k])).over(m.least[j]).over(4))
	}
	far := up(math.Sqrt(math.Max(0, orInf(sum.hi))))
	for k, j := range m.y {
		own := point(e[k]).over(m.least[j]).over(2)
		out.reach[k] = own.add(point(far).over(math.Sqrt(m.least[j]) * (1 - 0x1p-50))).add(point(on.moved[j])).hi
	}
	return out
}

// followed is the least value of f on the leaf, rounded down, where ways show the y that f reads: along each f is quadratic.
func (l *treeLeaf) followed() float64 {
	t := l.t
	must.Be(len(t.ways) > 0, "there are no segments")
	entry := t.ways[0].entry
	lo, hi := l.lo[entry], l.hi[entry]
	if lo > hi {
		return math.Inf(1)
	}
	at := []float64{lo, hi} // and where ways end between
	wayOf := map[int][]*treeWay{}
	for _, w := range t.ways {
		must.Be(w.entry == entry, "segments of several entries of x")
		for _, end := range [2]float64{w.lo, w.hi} {
			if lo < end && end < hi {
				at = append(at, end)
			}
		}
		wayOf[t.partOf[w.y[0]]] = append(wayOf[t.partOf[w.y[0]]], w)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) == 1 {
		at = append(at, hi)
	}
	ends := [2]*alongWay{newAlongWay(l), newAlongWay(l)}
	least := math.Inf(1)
	for k, to := range at[1:] {
		from := at[k]
		for e, x := range [2]float64{from, to} {
			ends[e].z[entry], ends[e].known[entry] = point(x), true
		}
		for part, ways := range wayOf {
			for len(ways) > 1 && ways[0].hi < to {
				ways = ways[1:]
			}
			wayOf[part] = ways
			w := ways[0]
			is := w.lo <= from && to <= w.hi
			for i, j := range w.y {
				for e, x := range [2]float64{from, to} {
					ends[e].z[t.nx+j] = point(w.value[i]).add(point(w.by[i]).mul(point(x).sub(point(w.at))))
					ends[e].known[t.nx+j], ends[e].reach[t.nx+j] = is, w.reach[i]
				}
			}
		}
		least = math.Min(least, leastBetween(ends[0], ends[1]))
	}
	return least
}

// alongWay is a point on ways.
type alongWay struct {
	l     *treeLeaf
	z     []interval
	known []bool
	reach []float64 // of the columns known
}

func newAlongWay(l *treeLeaf) *alongWay {
	return &alongWay{l, make([]interval, l.t.n), make([]bool, l.t.n), make([]float64, l.t.n)}
}

// objective is f there, and how much less it may be with the other point's reach by its slopes.
func (a *alongWay) objective() (f interval, grad []interval) {
	o := &a.l.t.treeObjective
	f, grad = o.konst, make([]interval, len(a.z))
	for j, c := range o.c {
		grad[j] = c.val
		half := interval{}
		for _, e := range o.q[j] {
			must.Be(a.known[j] && a.known[e.col], "no segment shows what f reads at %v", a.z[0])
			half = half.add(e.val.mul(a.z[e.col]))
		}
		if c.val.zero() && len(o.q[j]) == 0 {
			continue
		}
		must.Be(a.known[j], "no segment shows what f reads: column %s", a.l.column(j))
		grad[j] = c.val.add(half)
		f = f.add(a.z[j].mul(c.val.add(half.over(2))))
	}
	return f, grad
}

// leastBetween is the least of f between two points on the same ways, where the leader's rows hold: (1-s) f(a) + s f(b) - s (1-s) c, c = 1/2 d'Q d with d = b - a.
func leastBetween(a, b *alongWay) float64 {
	l := a.l
	lo, hi := 0.0, 1.0
	for _, kind := range [2]int{treeUpper, treeCoupled} {
		for i := range l.t.rows[kind].Rows {
			for _, sign := range [2]float64{1, -1} {
				if positive, negative := l.signsOf(kind, i); sign > 0 && !negative || sign < 0 && !positive {
					continue
				}
				first, last := a.violates(kind, i, sign), b.violates(kind, i, sign)
				switch {
				case first > 0 && last > 0:
					return math.Inf(1)
				case first > 0:
					lo = math.Max(lo, crossing(first, last).lo)
				case last > 0:
					hi = math.Min(hi, crossing(first, last).hi)
				}
			}
		}
	}
	if lo > hi {
		return math.Inf(1)
	}
	fa, ga := a.objective()
	fb, gb := b.objective()
	lack, curvature := interval{}, interval{}
	for j, row := range l.t.q {
		lack = lack.add(point(math.Max(ga[j].size(), gb[j].size())).mul(point(a.reach[j])))
		d := b.z[j].sub(a.z[j])
		for _, e := range row {
			curvature = curvature.add(d.mul(e.val).mul(b.z[e.col].sub(a.z[e.col])).over(2))
			lack = lack.add(point(e.val.size()).mul(point(a.reach[j])).mul(point(a.reach[e.col])).over(2))
		}
	}
	c := point(curvature.hi)
	at := func(s float64) float64 {
		t := point(1).sub(point(s))
		return t.mul(point(fa.lo)).add(point(s).mul(point(fb.lo))).sub(point(s).mul(t).mul(c)).lo
	}
	least := math.Min(at(lo), at(hi))
	if c.hi > 0 { // its least is f(a) - c s^2 at s = (1 - (f(b) - f(a))/c)/2
		s := point(1).sub(point(fb.lo).sub(point(fa.lo)).over(c.hi)).over(2)
		if s.hi > lo && s.lo < hi {
			s = interval{math.Max(0, s.lo), math.Min(1, s.hi)}
			least = math.Min(least, point(fa.lo).sub(c.mul(s).mul(s)).lo)
		}
	}
	return point(least).sub(lack).lo
}

// violates is the least by which a row is violated there, for a side of it; -Inf where that is not known.
func (a *alongWay) violates(kind, i int, sign float64) float64 {
	rows := a.l.t.rows[kind]
	sum := point(a.l.t.rhs[kind][i]).neg()
	for j, v := range rows.Nonzeros(i) {
		if !a.known[j] {
			return math.Inf(-1)
		}
		sum = sum.add(point(v).mul(a.z[j].add(interval{-a.reach[j], a.reach[j]})))
	}
	if sign < 0 {
		sum = sum.neg()
	}
	return sum.lo
}

// crossing is where a line from first to last, one of them > 0 and the other not, is 0.
func crossing(first, last float64) interval {
	size, by := point(math.Abs(first)), point(first).sub(point(last))
	if by.hi < 0 {
		by = by.neg()
	}
	if !(by.lo > 0) {
		return interval{0, 1}
	}
	return interval{size.over(by.hi).lo, size.over(by.lo).hi}
}
