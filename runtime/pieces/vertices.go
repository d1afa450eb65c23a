package pieces

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// A point of the system holds one of the follower's multipliers. Where the rows that hold at y are dependent there are others, the polytope
//
//	{ lambda : B'lambda = grad_y g, lambda_i >= 0, lambda_i = 0 where s_i > 0 },
//
// and a point that is stationary with one of them is stationary for the bilevel problem only if it is so with every vertex (Dempe and Dutta 2012): each is
// part of other branches. Multipliers that f reads are variables of the program, and stay.

// vertices are the vertices of the follower's multipliers at z but for z's own, where that is one; all says whether these are all of them. None where the multipliers are unique.
func (v *Solver) vertices(z []float64) (out [][]float64, all bool) {
	s, rows := v.s, v.s.P.Rows
	signs := s.SignsAt(z)
	var held []int
	for i, kind := range rows.Kind {
		if cols, _ := rows.B.Row(i); len(cols) > 0 && !slices.Contains(s.P.Duals, i) && (kind == problem.Equal || !signs.Slack[i]) {
			held = append(held, i)
		}
	}
	n := len(held)
	if n == 0 {
		return nil, true
	}
	force, unit := s.Forces(z)
	null := v.dependence(held, force, unit)
	if null == nil {
		return nil, true
	}
	start := make([]float64, n)
	for c, i := range held {
		start[c] = s.Lambda(z)[i] / unit[i]
	}
	bounded := func(c int) bool { return rows.Kind[held[c]] == problem.AtMost }
	tight := func(l []float64) (at []int) {
		for c, t := range l {
			if bounded(c) && t <= kkt.Tolerance {
				at = append(at, c)
			}
		}
		return at
	}
	// edges are the directions along which all but one degree of freedom is taken by tight multipliers that stay 0: of a degenerate vertex by each choice of them.
	_, k := null.Dims()
	all = true
	edges := func(at []int) (dirs [][]float64) {
		if len(at) < k-1 { // on a face: a direction in it leads to one of lower dimension
			return [][]float64{alongNull(null, at)}
		}
		if choices := combin.GeneralizedBinomial(float64(len(at)), float64(k-1)); !(choices <= kkt.MostVertices+0.5) { // a number that may overflow an int
			all = false
			return nil
		}
		for _, pick := range combin.Combinations(len(at), k-1) {
			hold := make([]int, len(pick))
			for t, c := range pick {
				hold[t] = at[c]
			}
			if d := alongNull(null, hold); d != nil {
				dirs = append(dirs, d)
			}
		}
		return dirs
	}
	move := func(l, d []float64, sign float64) []float64 {
		step, last := math.Inf(1), -1
		for c, t := range l {
			if rate := sign * d[c]; bounded(c) && rate < -kkt.Tolerance {
				if length := math.Max(0, t) / -rate; length < step {
					step, last = length, c
				}
			}
		}
		if last < 0 || !(step > kkt.Tolerance) {
			return nil
		}
		next := make([]float64, n)
		for c := range l {
			next[c] = l[c] + step*sign*d[c]
			if bounded(c) && next[c] <= kkt.Tolerance {
				next[c] = 0
			}
		}
		return next
	}
	same := func(a, b []float64) bool {
		for c := range a {
			if math.Abs(a[c]-b[c]) > 1e3*kkt.Tolerance {
				return false
			}
		}
		return true
	}
	queue := [][]float64{start}
	for q := 0; q < len(queue); q++ {
		if len(queue) > kkt.MostVertices {
			return v.asPoints(z, held, unit, queue[1:]), false
		}
		l := queue[q]
		for _, d := range edges(tight(l)) {
			for _, sign := range []float64{1, -1} {
				next := move(l, d, sign)
				if next != nil && !slices.ContainsFunc(queue, func(known []float64) bool { return same(known, next) }) {
					queue = append(queue, next)
				}
			}
		}
	}
	return v.asPoints(z, held, unit, queue[1:]), all
}

// asPoints are z with other multipliers, given in units of each.
func (v *Solver) asPoints(z []float64, held []int, unit []float64, all [][]float64) (out [][]float64) {
	for _, l := range all {
		point := slices.Clone(z)
		for c, i := range held {
			v.s.Lambda(point)[i] = l[c] * unit[i]
		}
		out = append(out, point)
	}
	return out
}

// dependence is a basis, one a column, of the combinations of the normals of rows that are 0, of each block of the follower's variables apart; nil where there is none. Normals are in
// units in which the forces on entries of y, and what they make multipliers, are 1.
func (v *Solver) dependence(rows []int, force, unit []float64) *mat.Dense {
	s := v.s
	at := make([]int, s.M) // of a row: its place in rows, and one
	for c, i := range rows {
		at[i] = c + 1
	}
	var basis [][]float64
	for _, block := range s.Blocks() {
		held := slices.DeleteFunc(slices.Clone(block.Rows), func(i int) bool { return at[i] == 0 })
		if len(held) == 0 {
			continue
		}
		b := mat.NewDense(len(block.Y), len(held), nil)
		for c, i := range held {
			cols, vals := s.P.Rows.B.Row(i)
			for t, j := range cols {
				k, _ := slices.BinarySearch(block.Y, j)
				b.Set(k, c, vals[t]*unit[i]/force[j])
			}
		}
		null := nullSpace(b)
		if null == nil {
			continue
		}
		_, k := null.Dims()
		for w := range k {
			d := make([]float64, len(rows))
			for c, i := range held {
				d[at[i]-1] = null.At(c, w)
			}
			basis = append(basis, d)
		}
	}
	if basis == nil {
		return nil
	}
	out := mat.NewDense(len(rows), len(basis), nil)
	for w, d := range basis {
		out.SetCol(w, d)
	}
	return out
}

// nullSpace is an orthonormal basis of the null space of b, one a column; nil where there is none.
func nullSpace(b *mat.Dense) *mat.Dense {
	_, n := b.Dims()
	var svd mat.SVD
	if !svd.Factorize(b, mat.SVDFull) {
		return nil
	}
	values := svd.Values(nil)
	rank := 0
	for _, t := range values {
		if t > kkt.Tolerance*math.Max(values[0], kkt.Tolerance) {
			rank++
		}
	}
	if rank == n {
		return nil
	}
	var right mat.Dense
	svd.VTo(&right)
	return mat.DenseCopyOf(right.Slice(0, n, rank, n))
}

// alongNull is a direction in the span of the columns of null whose entries in hold are 0; nil where there is none.
func alongNull(null *mat.Dense, hold []int) []float64 {
	n, k := null.Dims()
	m := mat.NewDense(max(len(hold), 1), k, nil)
	for r, c := range hold {
		m.SetRow(r, mat.Row(nil, c, null))
	}
	inside := nullSpace(m)
	if inside == nil {
		return nil
	}
	d := make([]float64, n)
	for c := range d {
		for w := range k {
			d[c] += inside.At(w, 0) * null.At(c, w)
		}
	}
	return d
}

// elsewhere looks at a stationary point with the other vertices of the follower's multipliers. Where f falls from one of them it is a point of the branch that is
// given with it; nil where it falls from none that was looked at, of which the point then says whether these are all.
func (v *Solver) elsewhere(ctx context.Context, p *kkt.Point) (z []float64, branch []kkt.Fix, err error) {
	others, all := v.vertices(p.Z)
	p.Vertices, p.AllVertices = 1+len(others), all
	for _, other := range others {
		q := &kkt.Point{Z: other, F: v.s.Value(other)}
		q.Branch, q.Biactive = v.s.BranchAt(other)
		look, err := v.look(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		if look.next != nil {
			return other, look.next, nil
		}
	}
	return nil, nil, nil
}
