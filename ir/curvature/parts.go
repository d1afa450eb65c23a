package curvature

import (
	"math"
	"slices"

	"bilevelc/internal/directed"
)

// signedTerm is a term with its Jacobians and its sign.
type signedTerm struct {
	*term
	a, b  *jacobian // b nil for a square form
	sign  float64
	pairs func(visit func(i, j, k int))
}

func (p *signedTerm) weight(k int) Interval {
	w := entry(p.w, k)
	if p.sign < 0 {
		return w.neg()
	}
	return w
}

func (s *study) signed(t *term, negative bool) signedTerm {
	p := signedTerm{term: t, sign: 1, pairs: t.pairs}
	if negative {
		p.sign = -1
	}
	// A square form that is bounded by 0 needs no Jacobian.
	if t.square() {
		needed := false
		for k := range t.w {
			needed = needed || p.weight(k).Lo != 0
		}
		if !needed {
			p.a = &jacobian{cols: s.cols(), ptr: []int{0}}
			return p
		}
	}
	p.a = s.jacobianOf(t.arg)
	if t.square() {
		return p
	}
	p.b = s.jacobianOf(t.other)
	if p.pairs == nil {
		p.pairs = func(visit func(i, j, k int)) {
			for k := range p.a.rows {
				visit(k, k, k)
			}
		}
	}
	return p
}

// addPart adds one term, row by row.
func (s *study) addPart(f *form, p *signedTerm) {
	if p.square() {
		s.addSquares(f, p)
		return
	}
	if p.a.unknown || p.b.unknown {
		f.fail(p.term)
		return
	}
	weight := p.weight
	if w, ok := p.common(); ok && !w.isPoint() {
		// c S with an uncertain factor c: S >= l I gives
		// c S >= c.Lo S + (min(c l) - c.Lo l) I.
		if c := p.weight(0); !math.IsInf(c.Lo, 0) {
			l, cols := s.leastOf(p)
			shift := c.mul(point(l)).sub(point(c.Lo).mul(point(l))).Lo
			if !math.IsInf(l, 0) && !math.IsInf(shift, 0) && !math.IsNaN(shift) {
				for _, j := range cols {
					f.diag[j] = directed.AddDown(f.diag[j], shift)
				}
				weight = func(int) Interval { return point(c.Lo) }
			}
		}
	}
	count, ended := 0, false
	p.pairs(func(i, j, k int) {
		if count++; count%endedRows == 0 {
			ended = s.work.ended()
		}
		if !ended {
			s.addPair(f, p, i, j, weight(k))
		}
	})
	if ended {
		f.fail(p.term)
	}
}

// leastOf is a lower bound of the eigenvalues of the term with weight 1 on the
// columns it touches.
func (s *study) leastOf(p *signedTerm) (l float64, cols []int) {
	one := *p.term
	one.w = []Interval{point(1)}
	f := s.below([]term{one}, false)
	l = math.Inf(1)
	if f.failed != nil {
		return math.Inf(-1), nil
	}
	for b := range f.cols {
		if slices.ContainsFunc(f.cols[b], func(c int) bool { return f.touched[c] }) {
			l = min(l, f.leastBlock(b, s.work, effort{}).bound)
			cols = append(cols, f.cols[b]...)
		}
	}
	return l, cols
}

func (f *form) fail(t *term) {
	if f.failed == nil {
		f.failed = t
	}
}

// endedRows is after how many rows the context is asked: a row of a few
// thousand entries takes some ten microseconds.
const endedRows = 256

// thin is how uncertain a row may be, relative to its size, before a positive
// part made of it is dropped rather than kept with its uncertainty.
const thin = 1e-6

// addSquares adds d_k a_k a_k' for the rows of one term.
func (s *study) addSquares(f *form, p *signedTerm) {
	if p.a.unknown {
		for k := range p.w {
			if p.weight(k).Lo < 0 {
				f.fail(p.term)
			}
		}
		return
	}
	if s.addShared(f, p) {
		return
	}
	for k := range p.a.rows {
		if k%endedRows == 0 && s.work.ended() {
			f.fail(p.term)
			return
		}
		w := p.weight(k).mul(p.a.scaleOf(k).sqr())
		d := w.Lo
		if d == 0 {
			continue
		}
		items, size, spread := p.a.items(s.left[:0], k)
		s.left = items // room for the next
		if len(items) == 0 {
			continue
		}
		if len(items) == 1 {
			add := point(d).mul(items[0].value().sqr()).Lo
			if math.IsInf(add, -1) {
				f.fail(p.term)
				continue
			}
			c := items[0].col
			f.diag[c] = directed.AddDown(f.diag[c], add)
			f.touched[c] = f.touched[c] || add != 0
			continue
		}
		if math.IsInf(d, -1) || math.IsInf(spread, 1) && d < 0 {
			f.fail(p.term)
			continue
		}
		block := f.block[items[0].col]
		dense := f.dense[block]
		cost, full := rowCost(len(items), len(f.cols[block]))
		keep := dense != nil && spread <= thin*size && s.work.spend(cost)
		if d > 0 && (!keep || math.IsInf(d, 1)) {
			continue // positive semidefinite: at least 0
		}
		ad := math.Abs(d)
		var together []float64 // where the row goes if it is added with others
		if keep {
			f.rows[block]++
			if full {
				together = f.gather(block).row(dense, d)
			}
		}
		root := math.Sqrt(ad)
		for _, it := range items {
			c, am := it.col, math.Abs(it.mid)
			f.touched[c] = true
			f.loosen(c, directed.MulUp(ad, directed.AddUp(directed.MulUp(am, spread), directed.MulUp(it.rad, directed.AddUp(size, spread)))))
			entries := directed.MulUp(ad, directed.MulUp(am, size))
			if !keep {
				f.loosen(c, entries)
				continue
			}
			f.mass[c] = directed.AddUp(f.mass[c], entries)
			if together != nil {
				together[f.place[c]] = root * it.mid
				continue
			}
			m := len(f.cols[block])
			to := dense[f.place[c]*m : (f.place[c]+1)*m]
			for _, other := range items {
				to[f.place[other.col]] += d * it.mid * other.mid
			}
		}
	}
}

// addShared adds minus a term whose weights are >= 0 and sum up to a known
// total: it is at least -total max |a_k|^2. It does so only where this is
// certainly better than weights that are all at their largest: where it is
// below the average eigenvalue of that.
func (s *study) addShared(f *form, p *signedTerm) bool {
	if p.total == 0 || p.sign > 0 {
		return false
	}
	largest, trace := 0.0, 0.0
	columns := map[int]bool{}
	for k := range p.a.rows {
		size := 0.0
		p.a.visit(k, func(c int, v Interval) {
			size = directed.AddUp(size, directed.MulUp(v.mag(), v.mag()))
			columns[c] = true
		})
		largest = max(largest, size)
		trace += -p.weight(k).Lo * size
	}
	most := directed.MulUp(p.total, largest)
	if !(most < trace/float64(len(columns))) {
		return false
	}
	for c := range columns {
		f.diag[c] = directed.AddDown(f.diag[c], -most)
		f.touched[c] = f.touched[c] || most != 0
	}
	return true
}

func (f *form) loosen(c int, by float64) { f.slack[c] = directed.AddUp(f.slack[c], by) }

// item is an entry of a row of a Jacobian.
type item struct {
	col      int
	mid, rad float64
}

func (it item) value() Interval {
	return Interval{directed.AddDown(it.mid, -it.rad), directed.AddUp(it.mid, it.rad)}
}

// items appends the entries of row k that are not 0, without its scale; size and spread are
// the sums of |mid| and of rad.
func (j *jacobian) items(to []item, k int) (_ []item, size, spread float64) {
	cols, mid, rad := j.row(k)
	for n, m := range mid {
		it := item{col: cols[n], mid: m}
		if rad != nil {
			it.rad = rad[n]
		}
		if it.mid != 0 || it.rad != 0 {
			to = append(to, it)
			if size = directed.AddUp(size, math.Abs(m)); it.rad != 0 {
				spread = directed.AddUp(spread, it.rad)
			}
		}
	}
	return to, size, spread
}

// addPair adds w (a_i b_j' + b_j a_i').
func (s *study) addPair(f *form, p *signedTerm, i, j int, w Interval) {
	w = w.mul(p.a.scaleOf(i)).mul(p.b.scaleOf(j))
	a, sizeA, spreadA := p.a.items(s.left[:0], i)
	b, sizeB, spreadB := p.b.items(s.right[:0], j)
	s.left, s.right = a, b // room for the next
	if len(a) == 0 || len(b) == 0 || w.isZero() {
		return
	}
	if !w.finite() || math.IsInf(spreadA+spreadB, 1) {
		f.fail(p.term)
		return
	}
	if len(a) == 1 && len(b) == 1 && a[0].col == b[0].col {
		c := a[0].col
		f.diag[c] = directed.AddDown(f.diag[c], w.mul(a[0].value()).mul(b[0].value()).mul(point(2)).Lo)
		f.touched[c] = true
		return
	}
	c := w.middle()
	radius := 0.0
	if !w.isPoint() {
		radius = max(directed.AddUp(w.Hi, -c), directed.AddUp(c, -w.Lo))
	}
	block := f.block[a[0].col]
	dense := f.dense[block]
	if dense != nil && !s.work.spend(2*float64(len(a))*float64(len(b))) {
		dense = nil
	}
	if dense != nil {
		f.rows[block]++
	}
	// |error of an entry| <= |a||b| radius + (|c| + radius) (|a| rb + ra |b| + ra rb)
	ac, exact := math.Abs(c), radius == 0 && spreadA == 0 && spreadB == 0
	loosen := func(items []item, size, spread float64) {
		for _, it := range items {
			m := math.Abs(it.mid)
			if !exact {
				f.loosen(it.col, directed.AddUp(directed.MulUp(directed.MulUp(m, size), radius),
					directed.MulUp(directed.AddUp(ac, radius), directed.AddUp(directed.MulUp(m, spread), directed.MulUp(it.rad, directed.AddUp(size, spread))))))
			}
			f.touched[it.col] = true
			if entries := directed.MulUp(ac, directed.MulUp(m, size)); dense != nil {
				f.mass[it.col] = directed.AddUp(f.mass[it.col], entries)
			} else {
				f.loosen(it.col, entries)
			}
		}
	}
	loosen(a, sizeB, spreadB)
	loosen(b, sizeA, spreadA)
	if dense == nil {
		return
	}
	m := len(f.cols[block])
	for _, u := range a {
		pu := f.place[u.col]
		for _, v := range b {
			pv := f.place[v.col]
			e := c * u.mid * v.mid
			dense[pu*m+pv] += e
			dense[pv*m+pu] += e
		}
	}
}
