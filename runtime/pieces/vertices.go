package pieces

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// A point of the system holds one of the follower's multipliers. Where the rows that hold at y are dependent there are others, the polytope
//
//	{ lambda : B'lambda = grad_y g, lambda_i >= 0, lambda_i = 0 where s_i > 0 },
//
// and a point that is stationary with one of them is stationary for the bilevel problem only if it is so with every vertex (Dempe and Dutta 2012): each is
// part of other branches. Multipliers that f reads are variables of the program, and stay.

// face is the polytope of multipliers at a point, those of rows in units of each. It is the product of those of parts, one for each block of the follower's variables where they are not unique.
type face struct {
	z      []float64
	held   []int // rows that hold at y, but those whose multipliers f reads
	signed []bool
	unit   []float64 // by rows of the lower level
	parts  []part
}

// part is the polytope of the multipliers of one block of the follower's variables.
type part struct {
	of   []int      // places in held
	null *mat.Dense // the directions in which these multipliers may go, one a column, across the lines of those of dependent equality rows
}

// face is nil where the multipliers are unique, but for those lines.
func (v *Solver) face(z []float64) *face {
	s, rows := v.s, v.s.P.Rows
	signs := s.SignsAt(z)
	f := &face{z: z}
	at := make([]int, s.M) // of a row: its place in held, and one
	for i, kind := range rows.Kind {
		if cols, _ := rows.B.Row(i); len(cols) > 0 && !slices.Contains(s.P.Duals, i) && (kind == problem.Equal || !signs.Slack[i]) {
			f.held, f.signed = append(f.held, i), append(f.signed, kind == problem.AtMost)
			at[i] = len(f.held)
		}
	}
	if len(f.held) == 0 {
		return nil
	}
	force, unit := s.Forces(z)
	f.unit = unit
	for _, block := range s.Blocks() {
		var of []int
		for _, i := range block.Rows {
			if at[i] > 0 {
				of = append(of, at[i]-1)
			}
		}
		if len(of) == 0 {
			continue
		}
		// Normals in units in which the forces on entries of y, and what they make multipliers, are 1.
		normals := mat.NewDense(len(of), len(block.Y), nil)
		for c, h := range of {
			i := f.held[h]
			for j, a := range rows.B.Entries(i) {
				k, _ := slices.BinarySearch(block.Y, j)
				normals.Set(c, k, a*unit[i]/force[j])
			}
		}
		if null := f.acrossLines(of, normals); null != nil {
			f.parts = append(f.parts, part{of, null})
		}
	}
	if f.parts == nil {
		return nil
	}
	return f
}

// acrossLines is a basis, one a column, of the combinations of the rows of normals, which are those of the places of, that are 0, as far as they are across the directions that change no signed multiplier; nil where there is none.
func (f *face) acrossLines(of []int, normals *mat.Dense) *mat.Dense {
	q, rank := columnSpace(normals)
	n := len(of)
	if rank == n {
		return nil
	}
	null := mat.DenseCopyOf(q.Slice(0, n, rank, n))
	signed := each.WhereBelow(len(of), func(c int) bool { return f.signed[of[c]] })
	switch len(signed) {
	case n:
		return null
	case 0:
		return nil
	}
	q, rank = columnSpace(columnsOf(null, signed))
	if rank == 0 {
		return nil
	}
	_, k := null.Dims()
	out := new(mat.Dense)
	out.Mul(null, q.Slice(0, k, 0, rank))
	return out
}

// at are the multipliers of the point.
func (f *face) at(s *kkt.System) []float64 {
	return each.Of(f.held, func(i int) float64 { return s.Lambda(f.z)[i] / f.unit[i] })
}

// point is the point with other multipliers: those that are rounding of the forces there are 0, and the others as the forces make them. Where f's own point has multipliers that cancel, these may be smaller by any factor,
// and what the way to them has rounded off as large as they are.
func (f *face) point(s *kkt.System, l []float64) []float64 {
	z := slices.Clone(f.z)
	lambda := s.Lambda(z)
	for c, i := range f.held {
		lambda[i] = l[c] * f.unit[i]
	}
	force, unit := s.Forces(z)
	// Where all that is left on an entry of y is rounding of the way, the forces there are none.
	rounding := tolerance.SumRounding * linalg.NormInf(l)
	var free []int // places in held
	for c, i := range f.held {
		if f.signed[c] && (lambda[i] <= tolerance.Sign*unit[i] || l[c] <= rounding) {
			lambda[i] = 0
		} else {
			free = append(free, c)
		}
	}
	left, b := s.Unbalanced(z), s.P.Rows.B
	for j := range left {
		left[j] /= force[j]
	}
	before, change := linalg.NormInf(left), make([]float64, len(free))
	if before <= tolerance.Rounded {
		return z
	}
	sparse.LeastSquares(change, left, 2*len(free), func(dst, d []float64) {
		clear(dst)
		for k, c := range free {
			b.AddRow(dst, f.held[c], d[k]*unit[f.held[c]])
		}
		for j := range dst {
			dst[j] /= force[j]
		}
	}, func(dst, r []float64) {
		for k, c := range free {
			i := f.held[c]
			dst[k] = 0
			for j, a := range b.Entries(i) {
				dst[k] += a * unit[i] / force[j] * r[j]
			}
		}
	}, func(before, now float64) bool { return now <= 0x1p-104*before }) // a double's last place, squared
	if linalg.NormInf(left) < before {
		for k, c := range free {
			lambda[f.held[c]] += change[k] * unit[f.held[c]]
		}
	}
	return z
}

// tight are the places in a part of multipliers that are 0.
func (f *face) tight(p part, l []float64) (at []int) {
	return each.WhereBelow(len(p.of), func(c int) bool { return f.signed[p.of[c]] && l[p.of[c]] <= tolerance.Sign })
}

// move goes along a direction of a part until a multiplier is 0; nil where none ends it.
func (f *face) move(p part, l, d []float64, sign float64) []float64 {
	step, last := math.Inf(1), -1
	for c, h := range p.of {
		if rate := sign * d[c]; f.signed[h] && rate < -tolerance.Sign {
			if length := math.Max(0, l[h]) / -rate; length < step {
				step, last = length, c
			}
		}
	}
	if last < 0 || !(step > tolerance.Sign) {
		return nil
	}
	next := slices.Clone(l)
	for c, h := range p.of {
		t := step * sign * d[c]
		next[h] += t
		if c == last || f.signed[h] && next[h] <= 0 || math.Abs(next[h]) <= tolerance.Rounded*(math.Abs(l[h])+math.Abs(t)) { // else rounding is a force
			next[h] = 0
		}
	}
	return next
}

// edges are the directions along which all but one degree of freedom of a part is taken by tight multipliers that stay 0: of a degenerate vertex by each choice of them. They are not all where
// choices are too many.
func (p part) edges(at []int) (dirs [][]float64, all bool) {
	_, k := p.null.Dims()
	if len(at) < k-1 { // on a face: a direction in it leads to one of lower dimension
		d, _ := p.along(at)
		return [][]float64{d}, true
	}
	if choices := combin.GeneralizedBinomial(float64(len(at)), float64(k-1)); !(choices <= tolerance.Branches+0.5) { // a number that may overflow an int
		return nil, false
	}
	for _, pick := range combin.Combinations(len(at), k-1) {
		hold := linalg.Gather(at, pick)
		if d, free := p.along(hold); free == 1 {
			dirs = append(dirs, d)
		}
	}
	return dirs, true
}

// vertex is z with multipliers that are a vertex, of which those that are 0 at z stay 0: where others are there is a pair at least that is biactive, and branches that meet at y show. nil where those of z are one, or
// are unique.
func (v *Solver) vertex(z []float64) (out []float64) {
	for range v.s.M + 1 { // where multipliers cancel, the vertex is one of units that are larger than its own: each round leaves one more at 0
		next := v.towardsVertex(z)
		if next == nil {
			break
		}
		z, out = next, next
	}
	return out
}

// towardsVertex is vertex, in the units of the forces at z.
func (v *Solver) towardsVertex(z []float64) []float64 {
	f := v.face(z)
	if f == nil {
		return nil
	}
	l, moved := f.at(v.s), false
	for _, p := range f.parts {
		for {
			d, free := p.along(f.tight(p, l))
			if free == 0 {
				break
			}
			next := f.move(p, l, d, 1)
			if next == nil {
				next = f.move(p, l, d, -1)
			}
			if next == nil { // both ends are as near as rounding
				break
			}
			l, moved = next, true
		}
	}
	if !moved {
		return nil
	}
	return f.point(v.s, l)
}

// lookAtVertex is look; of a point that is stationary with multipliers that are no vertex it moves p to one, and looks again.
func (v *Solver) lookAtVertex(ctx context.Context, p *kkt.Point) (*looked, error) {
	out, err := v.look(ctx, p, nil)
	if err != nil || out.next != nil {
		return out, err
	}
	z := v.vertex(p.Z)
	if z == nil {
		return out, nil
	}
	p.Z, p.Multipliers, p.Leaves = z, nil, nil
	_, p.Biactive = v.s.BranchAt(z)
	return v.look(ctx, p, nil)
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
		for _, p := range f.parts {
			dirs, every := p.edges(f.tight(p, l))
			all = all && every
			for _, d := range dirs {
				for _, sign := range []float64{1, -1} {
					next := f.move(p, l, d, sign)
					if next != nil && !slices.ContainsFunc(queue, func(known []float64) bool { return same(known, next) }) {
						queue = append(queue, next)
					}
				}
			}
		}
	}
	out = append(out, each.Of(queue[1:], func(l []float64) []float64 { return f.point(v.s, l) })...)
	return out, all
}

// columnSpace is an orthogonal matrix whose first columns, rank of them, span the columns of a, by a QR factorization with column pivoting. It overwrites a.
func columnSpace(a *mat.Dense) (q *mat.Dense, rank int) {
	m, n := a.Dims()
	free, tau := slices.Repeat([]int{-1}, n), make([]float64, min(m, n))
	raw, work := a.RawMatrix(), make([]float64, 1)
	lapack64.Geqp3(raw, free, tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Geqp3(raw, free, tau, work, len(work))
	for top := math.Abs(a.At(0, 0)); rank < len(tau) && math.Abs(a.At(rank, rank)) > tolerance.Sign*math.Max(top, tolerance.Sign); {
		rank++
	}
	q = mat.NewDense(m, m, nil)
	q.Slice(0, m, 0, len(tau)).(*mat.Dense).Copy(a)
	raw, work = q.RawMatrix(), make([]float64, 1)
	lapack64.Orgqr(raw, tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Orgqr(raw, tau, work, len(work))
	return q, rank
}

// columnsOf are rows of a matrix as columns.
func columnsOf(a *mat.Dense, rows []int) *mat.Dense {
	_, k := a.Dims()
	out := mat.NewDense(k, len(rows), nil)
	for c, r := range rows {
		out.SetCol(c, a.RawRowView(r))
	}
	return out
}

// along is a direction of a part, by its places, whose entries in hold are 0, and in how many dimensions there are such; nil where in none.
func (p part) along(hold []int) (direction []float64, free int) {
	n, k := p.null.Dims()
	d, inside := mat.NewVecDense(n, nil), mat.NewVecDense(k, nil)
	if free = k; len(hold) == 0 {
		inside.SetVec(0, 1)
	} else {
		q, rank := columnSpace(columnsOf(p.null, hold))
		if free = k - rank; free == 0 {
			return nil, 0
		}
		inside.CopyVec(q.ColView(rank))
	}
	d.MulVec(p.null, inside)
	return d.RawVector().Data, free
}

// elsewhere looks at a stationary point with the other vertices of the follower's multipliers. Where f falls from one of them it is a point of the branch that is
// given with it; nil where it falls from none that was looked at, of which the point then says whether these are all.
func (v *Solver) elsewhere(ctx context.Context, p *kkt.Point) (z []float64, branch []kkt.Fix, err error) {
	defer must.Catch(&err)
	others, all := v.vertices(p.Z)
	p.Vertices, p.AllVertices = 1+len(others), all
	var at *activeset.Basis // the vertices are of one point
	for _, other := range others {
		q := &kkt.Point{Z: other, F: v.s.Value(other)}
		q.Branch, q.Biactive = v.s.BranchAt(other)
		look, err := v.look(ctx, q, at)
		if errors.Is(err, ErrStalled) {
			p.AllVertices = false
			continue
		}
		must.Do(err)
		if at = look.root.Basis; look.next != nil {
			return other, look.next, nil
		}
	}
	return nil, nil, nil
}
