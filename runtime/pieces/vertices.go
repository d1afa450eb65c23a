package pieces

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// A point of the system holds one of the follower's multipliers. Where the rows that hold at y are dependent there are others, the polytope
//
//	{ lambda : B'lambda = grad_y g, lambda_i >= 0, lambda_i = 0 where s_i > 0 },
//
// and a point that is stationary with one of them is stationary for the bilevel problem only if it is so with every vertex (Dempe and Dutta 2012): each is
// part of other branches. Multipliers that f reads are variables of the program, and stay.

// face is the polytope of multipliers at a point, those of rows in units of each.
type face struct {
	z      []float64
	held   []int // rows that hold at y, but those whose multipliers f reads
	signed []bool
	unit   []float64  // by rows of the lower level
	null   *mat.Dense // the directions in which these multipliers may go, one a column, across the lines of those of dependent equality rows
}

// face is nil where the multipliers are unique, but for those lines.
func (v *Solver) face(z []float64) *face {
	s, rows := v.s, v.s.P.Rows
	signs := s.SignsAt(z)
	f := &face{z: z}
	for i, kind := range rows.Kind {
		if cols, _ := rows.B.Row(i); len(cols) > 0 && !slices.Contains(s.P.Duals, i) && (kind == problem.Equal || !signs.Slack[i]) {
			f.held, f.signed = append(f.held, i), append(f.signed, kind == problem.AtMost)
		}
	}
	if len(f.held) == 0 {
		return nil
	}
	force, unit := s.Forces(z)
	f.unit = unit
	if f.null = acrossLines(v.dependence(f.held, force, unit), f.signed); f.null == nil {
		return nil
	}
	return f
}

// acrossLines is a basis of what is left of the span of the columns of null across the directions that change no signed multiplier; nil where nothing is, or null is nil.
func acrossLines(null *mat.Dense, signed []bool) *mat.Dense {
	if null == nil || !slices.Contains(signed, false) {
		return null
	}
	n, k := null.Dims()
	m := mat.NewDense(n, k, nil)
	for c, is := range signed {
		if is {
			m.SetRow(c, mat.Row(nil, c, null))
		}
	}
	lines := nullSpace(m)
	if lines == nil {
		return null
	}
	across := nullSpace(mat.DenseCopyOf(lines.T()))
	if across == nil {
		return nil
	}
	out := new(mat.Dense)
	out.Mul(null, across)
	return out
}

// at are the multipliers of the point.
func (f *face) at(s *kkt.System) []float64 {
	l := make([]float64, len(f.held))
	for c, i := range f.held {
		l[c] = s.Lambda(f.z)[i] / f.unit[i]
	}
	return l
}

// point is the point with other multipliers.
func (f *face) point(s *kkt.System, l []float64) []float64 {
	z := slices.Clone(f.z)
	for c, i := range f.held {
		s.Lambda(z)[i] = l[c] * f.unit[i]
	}
	return z
}

// tight are the multipliers that are 0.
func (f *face) tight(l []float64) (at []int) {
	for c, t := range l {
		if f.signed[c] && t <= tolerance.Sign {
			at = append(at, c)
		}
	}
	return at
}

// move goes along a direction until a multiplier is 0; nil where none ends it.
func (f *face) move(l, d []float64, sign float64) []float64 {
	step, last := math.Inf(1), -1
	for c, t := range l {
		if rate := sign * d[c]; f.signed[c] && rate < -tolerance.Sign {
			if length := math.Max(0, t) / -rate; length < step {
				step, last = length, c
			}
		}
	}
	if last < 0 || !(step > tolerance.Sign) {
		return nil
	}
	next := make([]float64, len(l))
	for c := range l {
		next[c] = l[c] + step*sign*d[c]
		if f.signed[c] && next[c] <= tolerance.Sign {
			next[c] = 0
		}
	}
	return next
}

// edges are the directions along which all but one degree of freedom is taken by tight multipliers that stay 0: of a degenerate vertex by each choice of them. They are not all where
// choices are too many.
func (f *face) edges(at []int) (dirs [][]float64, all bool) {
	_, k := f.null.Dims()
	if len(at) < k-1 { // on a face: a direction in it leads to one of lower dimension
		return [][]float64{alongNull(f.null, at)}, true
	}
	if choices := combin.GeneralizedBinomial(float64(len(at)), float64(k-1)); !(choices <= tolerance.Branches+0.5) { // a number that may overflow an int
		return nil, false
	}
	for _, pick := range combin.Combinations(len(at), k-1) {
		hold := make([]int, len(pick))
		for t, c := range pick {
			hold[t] = at[c]
		}
		if d := alongNull(f.null, hold); d != nil {
			dirs = append(dirs, d)
		}
	}
	return dirs, true
}

// vertex is z with multipliers that are a vertex, of which those that are 0 at z stay 0: where others are there is a pair at least that is biactive, and branches that meet at y show. nil where those of z are one, or
// are unique.
func (v *Solver) vertex(z []float64) []float64 {
	f := v.face(z)
	if f == nil {
		return nil
	}
	l, moved := f.at(v.s), false
	for {
		d := alongNull(f.null, f.tight(l))
		if d == nil {
			break
		}
		next := f.move(l, d, 1)
		if next == nil {
			next = f.move(l, d, -1)
		}
		if next == nil { // both ends are as near as rounding
			break
		}
		l, moved = next, true
	}
	if !moved {
		return nil
	}
	return f.point(v.s, l)
}

// lookAtVertex is look; of a point that is stationary with multipliers that are no vertex it moves p to one, and looks again.
func (v *Solver) lookAtVertex(ctx context.Context, p *kkt.Point) (*looked, error) {
	out, err := v.look(ctx, p)
	if err != nil || out.next != nil {
		return out, err
	}
	z := v.vertex(p.Z)
	if z == nil {
		return out, nil
	}
	p.Z, p.Multipliers, p.Leaves = z, nil, nil
	_, p.Biactive = v.s.BranchAt(z)
	return v.look(ctx, p)
}

// vertices are the vertices of the follower's multipliers at z but for z's own, where that is one; all says whether these are all of them. None where the multipliers are unique.
func (v *Solver) vertices(z []float64) (out [][]float64, all bool) {
	f := v.face(z)
	if f == nil {
		return nil, true
	}
	same := func(a, b []float64) bool {
		for c := range a {
			if math.Abs(a[c]-b[c]) > 1e3*tolerance.Sign {
				return false
			}
		}
		return true
	}
	queue := [][]float64{f.at(v.s)}
	all = true
	for q := 0; q < len(queue); q++ {
		if all = all && len(queue) <= tolerance.Branches; len(queue) > tolerance.Branches {
			break
		}
		l := queue[q]
		dirs, every := f.edges(f.tight(l))
		all = all && every
		for _, d := range dirs {
			for _, sign := range []float64{1, -1} {
				next := f.move(l, d, sign)
				if next != nil && !slices.ContainsFunc(queue, func(known []float64) bool { return same(known, next) }) {
					queue = append(queue, next)
				}
			}
		}
	}
	for _, l := range queue[1:] {
		out = append(out, f.point(v.s, l))
	}
	return out, all
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
		if t > tolerance.Sign*math.Max(values[0], tolerance.Sign) {
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

// Beyond goes on from a point that is stationary with its own multipliers, where f falls with another vertex of those of the follower: else the point itself, which then says at how many it was looked.
func (v *Solver) Beyond(ctx context.Context, p *kkt.Point) (*kkt.Point, error) {
	z, branch, err := v.elsewhere(ctx, p)
	if z == nil || err != nil {
		return p, err
	}
	return v.Improve(ctx, z, branch)
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
