package certify

import (
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Limits of sparse factorizations: entries of a factor, about a second; rows of more than
// one entry, whose Schur complement is dense; gradients that one curvature takes.
const (
	mostFactor  = 2e7
	mostGeneral = 1500
	mostColours = 200
	// sparseFrom is the size of a block from which on its curvature is taken as sparse
	// where the model shows that it is.
	sparseFrom = 200
)

// sparseCurvature is the Hessian of g in y by differences along directions that each
// move entries of which no two meet in a row (Curtis, Powell, Reid 1974). The pattern
// is the compiler's; one product along a random direction tries it. nil where that
// differs, or where the curvature is not sparse.
func (h *hessian) sparseCurvature(pattern *sparse.CSR) *sparse.CSR {
	n := h.p.Dy
	if pattern == nil || pattern.Rows != n || pattern.Cols != n {
		return nil
	}
	colour, count := colours(pattern)
	if count > mostColours {
		return nil
	}
	var entries []sparse.Entry
	up, down := make([]float64, n), make([]float64, n)
	step, z, all := make([]float64, n), make([]float64, n), make([]int, n)
	for j := range all {
		all[j] = j
	}
	for c := range count {
		shift := func(dst []float64, sign float64) {
			copy(z, h.y)
			for j := range z {
				if colour[j] == c {
					z[j] += sign * step[j]
				}
			}
			h.g.GradY(dst, h.x, z)
			h.calls++
		}
		for j := range step {
			step[j] = h.step(j)
		}
		var width stepping
		for range shortenings {
			shift(up, 1)
			if h.p.Facts.QuadraticInY {
				copy(down, h.base)
			} else {
				shift(down, -1)
			}
			by := width.next(h.uneven(all, up, down))
			if by == 1 {
				break
			}
			for j := range step {
				step[j] *= by
			}
		}
		for j := range z {
			if colour[j] != c {
				continue
			}
			width := h.y[j] + step[j] - h.y[j]
			if !h.p.Facts.QuadraticInY {
				width = h.y[j] + step[j] - (h.y[j] - step[j])
			}
			cols, _ := pattern.Row(j)
			for _, i := range cols {
				half := (up[i] - down[i]) / width / 2
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: half}, sparse.Entry{Row: j, Col: i, Val: half})
			}
		}
	}
	m := sparse.FromEntries(n, n, entries)
	rng := rand.New(rand.NewPCG(4, uint64(n)))
	v, image := make([]float64, n), make([]float64, n)
	for j := range v {
		v[j] = rng.NormFloat64() * h.size(j)
	}
	h.mul(image, v)
	found := make([]float64, n)
	m.MulVec(found, v)
	const agree = 1e-5 // differences of a smooth g leave 1e-10 of their terms
	if !(distance(image, found) <= agree*norm(image)) {
		return nil
	}
	return m
}

// trySparse takes the curvature as sparse where it is, and positive definite.
func (h *hessian) trySparse(parts [][]int) bool {
	if h.sparse = h.sparseCurvature(h.p.Facts.HessianPattern); h.sparse == nil {
		return false
	}
	h.divide(parts)
	for k := range h.comps {
		if _, err := h.part(k, nil); err != nil {
			h.sparse, h.comps, h.parts = nil, nil, nil
			return false
		}
	}
	return true
}

// colours gives each column the least number that no column it shares a row with has.
func colours(pattern *sparse.CSR) (colour []int, count int) {
	n := pattern.Cols
	colour = make([]int, n)
	taken := make([]int, n+1)
	for j := range colour {
		colour[j] = -1
	}
	for j := range n {
		rows, _ := pattern.Row(j)
		for _, i := range rows {
			cols, _ := pattern.Row(i)
			for _, k := range cols {
				if c := colour[k]; c >= 0 {
					taken[c] = j + 1
				}
			}
		}
		c := 0
		for taken[c] == j+1 {
			c++
		}
		colour[j], count = c, max(count, c+1)
		if count > mostColours {
			return nil, count
		}
	}
	return colour, count
}

// sparsePart is the system of a component with a sparse curvature. Entries that a row of
// a single entry holds are fixed; what is left of H is factorized as it is, and the other
// rows have a dense Schur complement.
type sparsePart struct {
	p       *problem.Problem
	m       *sparse.CSR // H of all of y
	entries []int
	index   []int
	held    []int       // position in index -> entry of y that it alone holds, or -1
	coef    []float64   // of that row
	general []int       // positions in index of the others
	free    []int       // entries of y that no row holds alone
	factor  *ldl        // of H over them
	normals [][]float64 // the general rows over the free entries
	solved  [][]float64 // H^-1 of them
	schur   *mat.Cholesky
	place   []int // entry of y -> position in entries
	small   float64
	senses  map[int]sense
}

// newSparsePart holds the independent ones of the given rows.
func newSparsePart(h *hessian, k int, rows []int) (*sparsePart, error) {
	c := &h.comps[k]
	s := &sparsePart{p: h.p, m: h.sparse, entries: c.entries, place: h.place, senses: map[int]sense{}, small: math.Inf(1)}
	holder := map[int]bool{}
	var general []int
	type bound struct {
		row, entry int
		coef       float64
	}
	var bounds []bound
	for _, i := range rows {
		j, coef := h.p.Rows.Bound(i)
		switch {
		case j < 0:
			general = append(general, i)
		case !holder[j]:
			holder[j] = true
			bounds = append(bounds, bound{i, j, coef})
		}
	}
	at := make(map[int]int, len(c.entries))
	for _, j := range c.entries {
		if !holder[j] {
			at[j] = len(s.free)
			s.free = append(s.free, j)
		}
	}
	var err error
	if s.factor, err = factorize(h.sparse, s.free, at); err != nil {
		return nil, err
	}
	if len(general) > mostGeneral {
		return nil, errProducts
	}
	kept, err := s.complement(general, at)
	if err != nil {
		return nil, err
	}
	b, g := 0, 0
	for b < len(bounds) || g < len(kept) { // in the order of rows
		if g == len(kept) || b < len(bounds) && bounds[b].row < kept[g] {
			s.index = append(s.index, bounds[b].row)
			s.held, s.coef = append(s.held, bounds[b].entry), append(s.coef, bounds[b].coef)
			b++
			continue
		}
		s.general = append(s.general, len(s.index))
		s.index, s.held, s.coef = append(s.index, kept[g]), append(s.held, -1), append(s.coef, 0)
		g++
	}
	s.small = h.p.Facts.StrongConvexity
	if !(s.small > 0) {
		s.small = s.factor.smallest()
	}
	return s, nil
}

// complement factorizes S = B H^-1 B' over a maximal independent subset of the general
// rows, earlier ones first, which it returns.
func (s *sparsePart) complement(general []int, at map[int]int) (kept []int, err error) {
	// Of a row's own length, in the metric of H^-1 and squared, what those before it leave:
	// below that the digits of S are rounding.
	const dependent = 1e-12
	var l [][]float64 // lower triangle, by rows
	for _, i := range general {
		row := make([]float64, len(s.free))
		cols, vals := s.p.Rows.B.Row(i)
		for k, j := range cols {
			if r, ok := at[j]; ok {
				row[r] += vals[k]
			}
		}
		w := append([]float64(nil), row...)
		s.factor.solve(w)
		own := dot(row, w)
		line := make([]float64, len(kept)+1)
		left := own
		for r := range kept {
			v := dot(s.solved[r], row)
			for t := range r {
				v -= l[r][t] * line[t]
			}
			line[r] = v / l[r][r]
			left -= line[r] * line[r]
		}
		if !(left > dependent*own) {
			continue
		}
		line[len(kept)] = math.Sqrt(left)
		l, kept = append(l, line), append(kept, i)
		s.normals, s.solved = append(s.normals, row), append(s.solved, w)
	}
	if k := len(kept); k > 0 {
		u := mat.NewTriDense(k, mat.Upper, nil)
		for i, line := range l {
			for j, v := range line {
				u.SetTri(j, i, v)
			}
		}
		s.schur = &mat.Cholesky{}
		s.schur.SetFromU(u)
	}
	return kept, nil
}

func (s *sparsePart) rows() []int          { return s.index }
func (s *sparsePart) least() float64       { return s.small }
func (s *sparsePart) known() map[int]sense { return s.senses }

func (s *sparsePart) spread() float64 {
	if s.schur == nil {
		return 1
	}
	return math.Max(1, s.schur.Cond())
}

// give takes H as diagonal.
func (s *sparsePart) give(k int) float64 {
	sum := 0.0
	cols, vals := s.p.Rows.B.Row(s.index[k])
	for t, j := range cols {
		sum += vals[t] * vals[t] / s.m.At(j, j)
	}
	return sum
}

// solve has one step of refinement.
func (s *sparsePart) solve(a, b []float64) (u, v []float64, err error) {
	u, v = s.once(a, b)
	ra, rb := append([]float64(nil), a...), append([]float64(nil), b...)
	for r, j := range s.entries {
		cols, vals := s.m.Row(j)
		for t, i := range cols {
			ra[r] -= vals[t] * u[s.place[i]]
		}
	}
	for k, i := range s.index {
		cols, vals := s.p.Rows.B.Row(i)
		for t, j := range cols {
			ra[s.place[j]] -= vals[t] * v[k]
			rb[k] -= vals[t] * u[s.place[j]]
		}
	}
	du, dv := s.once(ra, rb)
	for r, t := range du {
		u[r] += t
	}
	for k, t := range dv {
		v[k] += t
	}
	if !isFinite(u) || !isFinite(v) {
		return nil, nil, errFace
	}
	return u, v, nil
}

func (s *sparsePart) once(a, b []float64) (u, v []float64) {
	u, v = make([]float64, len(a)), make([]float64, len(b))
	rest := append([]float64(nil), a...) // a - H u - B' v as they are found
	apart := append([]float64(nil), b...)
	for k, j := range s.held {
		if j >= 0 {
			u[s.place[j]] = b[k] / s.coef[k]
		}
	}
	minus := func(j int, t float64) {
		if t == 0 {
			return
		}
		cols, vals := s.m.Row(j)
		for r, i := range cols {
			rest[s.place[i]] -= vals[r] * t
		}
	}
	for _, j := range s.held {
		if j >= 0 {
			minus(j, u[s.place[j]])
		}
	}
	for _, k := range s.general {
		cols, vals := s.p.Rows.B.Row(s.index[k])
		for t, j := range cols {
			apart[k] -= vals[t] * u[s.place[j]]
		}
	}
	w := make([]float64, len(s.free))
	for r, j := range s.free {
		w[r] = rest[s.place[j]]
	}
	s.factor.solve(w)
	if len(s.general) > 0 {
		rhs, multipliers := mat.NewVecDense(len(s.general), nil), mat.VecDense{}
		for r, k := range s.general {
			rhs.SetVec(r, dot(s.normals[r], w)-apart[k])
		}
		_ = s.schur.SolveVecTo(&multipliers, rhs) // an error of it warns about conditioning
		for r, k := range s.general {
			v[k] = multipliers.AtVec(r)
			for t, q := range s.solved[r] {
				w[t] -= q * v[k]
			}
		}
	}
	for r, j := range s.free {
		u[s.place[j]] = w[r]
		minus(j, w[r])
	}
	for _, k := range s.general {
		cols, vals := s.p.Rows.B.Row(s.index[k])
		for t, j := range cols {
			rest[s.place[j]] -= vals[t] * v[k]
		}
	}
	for k, j := range s.held {
		if j >= 0 {
			v[k] = rest[s.place[j]] / s.coef[k]
		}
	}
	return u, v
}

// ldl is L D L' of a sparse positive definite matrix, row by row of L by the elimination
// tree (Davis 2005), in the reverse order of Cuthill and McKee (1969).
type ldl struct {
	order []int // order[k] is the row that is the k-th
	col   []int // starts of the columns of L
	row   []int
	val   []float64
	d     []float64
}

// factorize factorizes m over the entries in free, whose positions are at.
func factorize(m *sparse.CSR, free []int, at map[int]int) (*ldl, error) {
	n := len(free)
	near := make([][]int, n) // positions
	vals := make([][]float64, n)
	for r, j := range free {
		cols, v := m.Row(j)
		for t, i := range cols {
			if q, ok := at[i]; ok {
				near[r], vals[r] = append(near[r], q), append(vals[r], v[t])
			}
		}
	}
	f := &ldl{order: cuthillMcKee(near), d: make([]float64, n)}
	where := make([]int, n)
	for k, r := range f.order {
		where[r] = k
	}
	parent, flag, count := make([]int, n), make([]int, n), make([]int, n)
	for k, r := range f.order {
		parent[k], flag[k] = -1, k
		for _, q := range near[r] {
			for i := where[q]; i < k && flag[i] != k; i = parent[i] {
				if parent[i] < 0 {
					parent[i] = k
				}
				count[i]++
				flag[i] = k
			}
		}
	}
	f.col = make([]int, n+1)
	for k, c := range count {
		f.col[k+1] = f.col[k] + c
	}
	if f.col[n] > mostFactor {
		return nil, errProducts
	}
	f.row, f.val = make([]int, f.col[n]), make([]float64, f.col[n])
	fill := append([]int(nil), f.col[:n]...)
	y, reach := make([]float64, n), make([]int, n)
	for k := range flag {
		flag[k] = -1
	}
	for k, r := range f.order {
		top, own := n, 0.0
		flag[k] = k
		var path []int
		for t, q := range near[r] {
			i := where[q]
			if i == k {
				own += vals[r][t]
				continue
			}
			if i > k {
				continue
			}
			y[i] += vals[r][t]
			path = path[:0]
			for ; flag[i] != k; i = parent[i] {
				path = append(path, i)
				flag[i] = k
			}
			for s := len(path) - 1; s >= 0; s-- {
				top--
				reach[top] = path[s]
			}
		}
		left := own
		for _, i := range reach[top:] {
			v := y[i]
			y[i] = 0
			for t := f.col[i]; t < fill[i]; t++ {
				y[f.row[t]] -= f.val[t] * v
			}
			w := v / f.d[i]
			left -= w * v
			f.row[fill[i]], f.val[fill[i]] = k, w
			fill[i]++
		}
		// Less than the rounding of its terms is not positive.
		if !(left > 0x1p-50*math.Abs(own)) || math.IsInf(left, 1) {
			return nil, errCurvature
		}
		f.d[k] = left
	}
	return f, nil
}

// solve sets b to the solution for the right side b.
func (f *ldl) solve(b []float64) {
	w := make([]float64, len(b))
	for k, r := range f.order {
		w[k] = b[r]
	}
	for k := range w {
		if v := w[k]; v != 0 {
			for t := f.col[k]; t < f.col[k+1]; t++ {
				w[f.row[t]] -= f.val[t] * v
			}
		}
	}
	for k := len(w) - 1; k >= 0; k-- {
		v := w[k] / f.d[k]
		for t := f.col[k]; t < f.col[k+1]; t++ {
			v -= f.val[t] * w[f.row[t]]
		}
		w[k] = v
	}
	for k, r := range f.order {
		b[r] = w[k]
	}
}

// smallest is an estimate of the least eigenvalue, from above; +Inf for no entries.
func (f *ldl) smallest() float64 {
	if len(f.d) == 0 {
		return math.Inf(1)
	}
	least, _ := inverseIteration(len(f.d), func(v []float64) ([]float64, error) {
		f.solve(v)
		return v, nil
	})
	return least
}

// leastAlong is an estimate of the least eigenvalue of the k-th component's H along its
// equality rows, from above.
func (h *hessian) leastAlong(k int) (float64, error) {
	c := &h.comps[k]
	var equal []int
	for _, i := range c.rows {
		if h.p.Rows.Kind[i] == problem.Equal {
			equal = append(equal, i)
		}
	}
	p, err := h.part(k, equal)
	if err != nil {
		return 0, err
	}
	zero := make([]float64, len(p.rows()))
	return inverseIteration(len(c.entries), func(v []float64) ([]float64, error) {
		u, _, err := p.solve(v, zero)
		return u, err
	})
}

// inverseIteration is the least eigenvalue of the matrix that solve inverts, from above.
func inverseIteration(n int, solve func(v []float64) ([]float64, error)) (float64, error) {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	v := make([]float64, n)
	for j := range v {
		v[j] = rng.NormFloat64()
	}
	grown := 0.0
	for range 8 {
		size := norm(v)
		if size == 0 {
			break
		}
		var err error
		if v, err = solve(scaled(v, 1/size)); err != nil {
			return 0, err
		}
		grown = math.Max(grown, norm(v))
	}
	return 1 / grown, nil
}

// cuthillMcKee orders a graph's nodes by breadth-first searches, each from a node of
// least degree among those left, and turns the order round.
func cuthillMcKee(near [][]int) []int {
	n := len(near)
	by := make([]int, n)
	for r := range by {
		by[r] = r
	}
	less := func(list []int) func(a, b int) bool {
		return func(a, b int) bool {
			p, q := list[a], list[b]
			return len(near[p]) < len(near[q]) || len(near[p]) == len(near[q]) && p < q
		}
	}
	sort.Slice(by, less(by))
	order, seen := make([]int, 0, n), make([]bool, n)
	for _, start := range by {
		if seen[start] {
			continue
		}
		seen[start] = true
		order = append(order, start)
		for k := len(order) - 1; k < len(order); k++ {
			from := len(order)
			for _, q := range near[order[k]] {
				if !seen[q] {
					seen[q] = true
					order = append(order, q)
				}
			}
			next := order[from:]
			sort.Slice(next, less(next))
		}
	}
	for a, b := 0, n-1; a < b; a, b = a+1, b-1 {
		order[a], order[b] = order[b], order[a]
	}
	return order
}
