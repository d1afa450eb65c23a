package curvature

import (
	"math"
	"slices"
)

// maxDense bounds the order of a matrix that is assembled densely: 2000^2
// doubles are 32 MB.
const maxDense = 2000

// form is a fixed symmetric matrix that lies below a Hessian in the Loewner
// order. Variables that no term couples are in different blocks. Its value is
// diag - slack on the diagonal plus a dense matrix for each block of several.
type form struct {
	n       int
	block   []int       // of each column
	cols    [][]int     // of each block
	place   []int       // of each column within its block
	dense   [][]float64 // of each block, row-major; nil for single columns and coarse blocks
	rows    []int       // rank-one parts added to each block, for the rounding bound
	diag    []float64   // rounded down
	slack   []float64   // rounded up: radii and rounding errors, by row sums (Gershgorin)
	mass    []float64   // row sums of the absolute values that were added to the dense blocks
	touched []bool      // columns that some term bends
	failed  *term       // a term without a finite lower bound, or nil
}

// below assembles a matrix below the sum of the terms, or below its negative.
// In a coarse study nothing is assembled: every part is bounded by a diagonal
// matrix, positive semidefinite parts by 0.
// The extra rows are added as squares.
func (s *study) below(terms []term, negative bool, extra ...part) *form {
	n := s.cols()
	f := &form{n: n, block: make([]int, n), place: make([]int, n), diag: make([]float64, n),
		slack: make([]float64, n), mass: make([]float64, n), touched: make([]bool, n)}
	parts := make([]part, len(terms))
	for i := range terms {
		parts[i] = s.partOf(&terms[i], negative)
	}
	parts = append(parts, extra...)
	f.partition(parts, s.coarse)
	for i := range parts {
		s.addPart(f, &parts[i])
	}
	f.round()
	return f
}

// part is a term with its Jacobians and its sign.
type part struct {
	*term
	a, b  *jacobian // b nil for a square form
	sign  float64
	pairs func(visit func(i, j, k int))
}

func (p *part) weight(k int) Interval {
	w := entry(p.w, k)
	if p.sign < 0 {
		return w.neg()
	}
	return w
}

func (s *study) partOf(t *term, negative bool) part {
	p := part{term: t, sign: 1, pairs: t.pairs}
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
	if t.left != nil {
		p.b = s.dataTimes(s.known(t.left.node), t.left.trans, p.b)
	}
	if p.pairs == nil {
		p.pairs = func(visit func(i, j, k int)) {
			for k := range p.a.rows {
				visit(k, k, k)
			}
		}
	}
	return p
}

// partition finds the blocks: columns that meet in a row are in one block.
func (f *form) partition(parts []part, coarse bool) {
	parent := make([]int, f.n)
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	join := func(j *jacobian, k, with int) int {
		cols, mid, _ := j.row(k)
		for i := range mid {
			c := i
			if cols != nil {
				c = cols[i]
			}
			if with >= 0 {
				parent[find(c)] = find(with)
			}
			with = c
		}
		return with
	}
	if !coarse {
		for _, p := range parts {
			switch {
			case p.a.unknown || p.b != nil && p.b.unknown:
			case p.square():
				for k := range p.a.rows {
					if p.weight(k).Lo != 0 {
						join(p.a, k, -1)
					}
				}
			default:
				p.pairs(func(i, j, k int) { join(p.b, j, join(p.a, i, -1)) })
			}
		}
	}
	number := map[int]int{}
	for c := range f.n {
		root := find(c)
		b, ok := number[root]
		if !ok {
			b = len(f.cols)
			number[root] = b
			f.cols = append(f.cols, nil)
		}
		f.block[c], f.place[c] = b, len(f.cols[b])
		f.cols[b] = append(f.cols[b], c)
	}
	f.dense = make([][]float64, len(f.cols))
	f.rows = make([]int, len(f.cols))
	for b, cols := range f.cols {
		if m := len(cols); m > 1 && m <= maxDense {
			f.dense[b] = make([]float64, m*m)
		}
	}
}

// addPart adds one term, row by row.
func (s *study) addPart(f *form, p *part) {
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
					f.diag[j] = addDown(f.diag[j], shift)
				}
				weight = func(int) Interval { return point(c.Lo) }
			}
		}
	}
	p.pairs(func(i, j, k int) { s.addPair(f, p, i, j, weight(k)) })
}

// leastOf is a lower bound of the eigenvalues of the term with weight 1 on the
// columns it touches.
func (s *study) leastOf(p *part) (l float64, cols []int) {
	one := *p.term
	one.w = []Interval{point(1)}
	f := s.below([]term{one}, false)
	l = math.Inf(1)
	if f.failed != nil {
		return math.Inf(-1), nil
	}
	for b := range f.cols {
		if slices.ContainsFunc(f.cols[b], func(c int) bool { return f.touched[c] }) {
			l = min(l, f.leastBlock(b, s.work, 0).bound)
			cols = append(cols, f.cols[b]...)
		}
	}
	if p.left != nil && gram(p.left.node) {
		l = max(l, 0)
	}
	return l, cols
}

func (f *form) fail(t *term) {
	if f.failed == nil {
		f.failed = t
	}
}

// thin is how uncertain a row may be, relative to its size, before a positive
// part made of it is dropped rather than kept with its uncertainty.
const thin = 1e-6

// addSquares adds d_k a_k a_k' for the rows of one term.
func (s *study) addSquares(f *form, p *part) {
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
		cols, mid, rad := p.a.row(k)
		w := p.weight(k).mul(p.a.scaleOf(k).sqr())
		d := w.Lo
		if len(mid) == 0 || d == 0 {
			continue
		}
		col := func(i int) int {
			if cols == nil {
				return i
			}
			return cols[i]
		}
		count, only := 0, 0
		size, spread := 0.0, 0.0 // sums of |mid| and of rad
		for i, m := range mid {
			r := 0.0
			if rad != nil {
				r = rad[i]
			}
			if m == 0 && r == 0 {
				continue
			}
			count, only = count+1, i
			size, spread = addUp(size, math.Abs(m)), addUp(spread, r)
		}
		if count == 0 {
			continue
		}
		if count == 1 {
			v := point(mid[only])
			if rad != nil {
				v = Interval{addDown(mid[only], -rad[only]), addUp(mid[only], rad[only])}
			}
			add := point(d).mul(v.sqr()).Lo
			if math.IsInf(add, -1) {
				f.fail(p.term)
				continue
			}
			c := col(only)
			f.diag[c] = addDown(f.diag[c], add)
			f.touched[c] = f.touched[c] || add != 0
			continue
		}
		if math.IsInf(d, -1) || math.IsInf(spread, 1) && d < 0 {
			f.fail(p.term)
			continue
		}
		dense := f.dense[f.block[col(only)]]
		n := float64(count)
		keep := dense != nil && spread <= thin*size && s.work.spend(2*n*n)
		if d > 0 && (!keep || math.IsInf(d, 1)) {
			continue // positive semidefinite: at least 0
		}
		ad := math.Abs(d)
		if keep {
			f.rows[f.block[col(only)]]++
		}
		for i, m := range mid {
			r := 0.0
			if rad != nil {
				r = rad[i]
			}
			if m == 0 && r == 0 {
				continue
			}
			c := col(i)
			f.touched[c] = true
			am := math.Abs(m)
			f.loosen(c, mulUp(ad, addUp(mulUp(am, spread), mulUp(r, addUp(size, spread)))))
			if entries := mulUp(ad, mulUp(am, size)); keep {
				f.mass[c] = addUp(f.mass[c], entries)
				f.addRow(dense, c, d*m, cols, mid)
			} else {
				f.loosen(c, entries)
			}
		}
	}
}

// addShared adds minus a term whose weights are >= 0 and sum up to a known
// total: it is at least -total max |a_k|^2. It does so only where this is
// certainly better than weights that are all at their largest: where it is
// below the average eigenvalue of that.
func (s *study) addShared(f *form, p *part) bool {
	if p.total == 0 || p.sign > 0 {
		return false
	}
	largest, trace := 0.0, 0.0
	columns := map[int]bool{}
	for k := range p.a.rows {
		size := 0.0
		p.a.visit(k, func(c int, v Interval) {
			size = addUp(size, mulUp(v.mag(), v.mag()))
			columns[c] = true
		})
		largest = max(largest, size)
		trace += -p.weight(k).Lo * size
	}
	most := mulUp(p.total, largest)
	if !(most < trace/float64(len(columns))) {
		return false
	}
	for c := range columns {
		f.diag[c] = addDown(f.diag[c], -most)
		f.touched[c] = f.touched[c] || most != 0
	}
	return true
}

// addRow adds v times a row to the matrix row of column c.
func (f *form) addRow(dense []float64, c int, v float64, cols []int, row []float64) {
	m := len(f.cols[f.block[c]])
	to := dense[f.place[c]*m : (f.place[c]+1)*m]
	if cols == nil {
		for i, e := range row {
			if e != 0 {
				to[f.place[i]] += v * e
			}
		}
		return
	}
	for i, e := range row {
		to[f.place[cols[i]]] += v * e
	}
}

func (f *form) loosen(c int, by float64) { f.slack[c] = addUp(f.slack[c], by) }

// addPair adds w (a_i b_j' + b_j a_i').
func (s *study) addPair(f *form, p *part, i, j int, w Interval) {
	w = w.mul(p.a.scaleOf(i)).mul(p.b.scaleOf(j))
	type item struct {
		col      int
		mid, rad float64
	}
	gather := func(jac *jacobian, k int) (items []item, size, spread float64) {
		cols, mid, rad := jac.row(k)
		for n, m := range mid {
			it := item{col: n, mid: m}
			if cols != nil {
				it.col = cols[n]
			}
			if rad != nil {
				it.rad = rad[n]
			}
			if it.mid != 0 || it.rad != 0 {
				items = append(items, it)
				size, spread = addUp(size, math.Abs(m)), addUp(spread, it.rad)
			}
		}
		return items, size, spread
	}
	a, sizeA, spreadA := gather(p.a, i)
	b, sizeB, spreadB := gather(p.b, j)
	if len(a) == 0 || len(b) == 0 || w.isZero() {
		return
	}
	if !w.finite() || math.IsInf(spreadA+spreadB, 1) {
		f.fail(p.term)
		return
	}
	if len(a) == 1 && len(b) == 1 && a[0].col == b[0].col {
		va := Interval{addDown(a[0].mid, -a[0].rad), addUp(a[0].mid, a[0].rad)}
		vb := Interval{addDown(b[0].mid, -b[0].rad), addUp(b[0].mid, b[0].rad)}
		c := a[0].col
		f.diag[c] = addDown(f.diag[c], w.mul(va).mul(vb).mul(point(2)).Lo)
		f.touched[c] = true
		return
	}
	c := w.middle()
	radius := 0.0
	if !w.isPoint() {
		radius = max(addUp(w.Hi, -c), addUp(c, -w.Lo))
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
	ac := math.Abs(c)
	loosen := func(items []item, size, spread float64) {
		for _, it := range items {
			m := math.Abs(it.mid)
			e := addUp(mulUp(mulUp(m, size), radius),
				mulUp(addUp(ac, radius), addUp(mulUp(m, spread), mulUp(it.rad, addUp(size, spread)))))
			f.loosen(it.col, e)
			f.touched[it.col] = true
			if entries := mulUp(ac, mulUp(m, size)); dense != nil {
				f.mass[it.col] = addUp(f.mass[it.col], entries)
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

// round adds the rounding errors of the dense blocks to the slack: k additions
// of rounded products lose at most gamma(k) of the sum of the absolute values.
func (f *form) round() {
	for c, mass := range f.mass {
		if mass > 0 {
			f.loosen(c, mulUp(gamma(f.rows[f.block[c]]), mass)+tiny)
		}
	}
}

// matrix is the dense value of one block, slack subtracted.
func (f *form) matrix(b int) []float64 {
	m := len(f.cols[b])
	a := slices.Clone(f.dense[b])
	for i, c := range f.cols[b] {
		a[i*m+i] = addDown(a[i*m+i], addDown(f.diag[c], -f.slack[c]))
	}
	return a
}

// least is a lower bound of the smallest eigenvalue of the whole form. It may
// give away that part of a large block's eigenvalue to save work.
func (f *form) least(work *budget, give float64) extreme {
	out := extreme{bound: math.Inf(1), estimate: math.Inf(1)}
	for b := range f.cols {
		if e := f.leastBlock(b, work, give); e.bound < out.bound {
			out = e
		}
	}
	if f.failed != nil {
		out.bound = math.Inf(-1)
	}
	return out
}

// leastBlock is a lower bound of the smallest eigenvalue of one block, with an
// approximate eigenvector in z.
func (f *form) leastBlock(b int, work *budget, give float64) extreme {
	cols := f.cols[b]
	if f.dense[b] == nil {
		out := extreme{bound: math.Inf(1)}
		for _, c := range cols {
			if v := addDown(f.diag[c], -f.slack[c]); v < out.bound {
				out = extreme{bound: v, estimate: v, vector: []float64{1}, cols: []int{c}}
			}
		}
		return out
	}
	e := leastEigenvalue(f.matrix(b), len(cols), work, give)
	e.cols = cols
	return e
}
