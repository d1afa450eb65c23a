package sequential

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/gram"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Where the follower is strongly convex a branch makes z a function of x, with the tangents Z = dz/dx of
//
//	H dy + G dx - B_S' dlambda_S = 0,   B_S dy = A_S dx,   lambda_N = 0,
//
// and the Hessian of the Lagrangian counts along them alone: R = Z'W Z, of which the columns are differences of the gradient of L along those of Z. The subproblem has 1/2 d_x'R d_x in the place of 1/2 d'W d: on the branch
// both are the same function of x, and R can be made positive semidefinite by its eigenvalues, where W cannot.

// tangents are the columns of dz/dx in (x, y, the multipliers that f reads), one a row of the result, on the branch with s = 0 for the given rows.
func (v *Solver) tangents(pt *point, s *kkt.System, strong []bool) ([][]float64, bool) {
	p := v.p
	out := make([][]float64, p.Dx)
	for c := range out {
		out[c] = make([]float64, p.Dx+p.Dy+len(p.Duals))
		out[c][c] = 1
	}
	dual := map[int]int{} // of a row, the place of its multiplier
	for t, i := range p.Duals {
		dual[i] = p.Dx + p.Dy + t
	}
	place := make([]int, p.Dy) // of an entry of y in its block
	for _, b := range s.Blocks() {
		for t, j := range b.Y {
			place[j] = t
		}
		if !v.blockTangents(out, pt, s, b, place, dual, strong) {
			return nil, false
		}
	}
	for _, row := range out {
		if !linalg.Finite(row) {
			return nil, false
		}
	}
	return out, true
}

// blockTangents sets those of one block of the follower, which no other's rows and Hessian join.
func (v *Solver) blockTangents(out [][]float64, pt *point, s *kkt.System, block kkt.Block, place []int, dual map[int]int, strong []bool) bool {
	p, n := v.p, len(block.Y)
	unit := make([]float64, n)
	for t, j := range block.Y {
		unit[t] = s.ColScale[s.Nx+j]
	}
	var q linalg.QR
	q.Reset(n)
	var held []int
	for _, i := range block.Rows {
		if !strong[i] || q.Size() == n {
			continue
		}
		row, size := make([]float64, n), 0.0
		for j, v := range p.Rows.B.Entries(i) {
			row[place[j]] = v * unit[place[j]]
			size = math.Hypot(size, row[place[j]])
		}
		if q.Extend(row, tolerance.Sign*size) {
			held = append(held, i)
		}
	}
	m := len(held)
	a, b := mat.NewDense(n+m, n+m, nil), mat.NewDense(n+m, p.Dx, nil)
	for i, j := range block.Y {
		for c, v := range pt.lower.h.Entries(j) {
			a.Set(i, place[c], v*unit[i]*unit[place[c]])
		}
		for c, v := range pt.lower.g.Entries(j) {
			b.Set(i, c, -v*unit[i])
		}
	}
	scale := make([]float64, m) // of rows, and the inverse of that of multipliers
	for k, i := range held {
		for j, v := range p.Rows.B.Entries(i) {
			scale[k] = math.Max(scale[k], math.Abs(v)*unit[place[j]])
		}
		for j, v := range p.Rows.B.Entries(i) {
			c := v * unit[place[j]] / scale[k]
			a.Set(n+k, place[j], c)
			a.Set(place[j], n+k, c)
		}
		for j, v := range p.Rows.A.Entries(i) {
			b.Set(n+k, j, v/scale[k])
		}
	}
	var lu mat.LU
	lu.Factorize(a)
	var d mat.Dense
	if n+m > 0 && (lu.SolveTo(&d, false, b) != nil || v.mayTie() && !(lu.Cond() < certain)) {
		return false
	}
	for c, row := range out {
		for i, j := range block.Y {
			row[p.Dx+j] = d.At(i, c) * unit[i]
		}
		for k, i := range held {
			if at, read := dual[i]; read {
				row[at] = -d.At(n+k, c) / scale[k]
			}
		}
	}
	return true
}

// reducedHessian is R at a point over (x, y, the multipliers that f reads), and what stands for W in subproblems, made when it is asked for; nil where it is not known;
// single reports that y is a function of x on the branch.
func (v *Solver) reducedHessian(pt *point, w *weights) (hess *sparse.CSR, convex func() *sparse.CSR, single bool) {
	p := v.p
	s, err := kkt.Read(v.model(pt, nil, nil, nil)) // rows and signs: the gradients of f are told apart from it
	if err != nil {
		return nil, nil, false
	}
	at := v.start(s, pt)
	z, ok := v.tangents(pt, s, s.Strong(at))
	if !ok {
		return nil, nil, false
	}
	for _, j := range p.Held(pt.x) { // no step moves it
		clear(z[j])
	}
	d, failed := v.gradients(pt, w)
	normals := v.normals(pt, w, s, at, z)
	b := v.manifold(normals)
	z = b.rotated(z)
	places, columns := each.Number(len(d.At)), make([]float64, p.Dx*len(d.At))
	for c, along := range z {
		if d.Along(columns[c*len(d.At):(c+1)*len(d.At)], places, along) != nil || *failed != nil {
			return nil, nil, true
		}
	}
	r := products(z, columns)
	linalg.Symmetrize(p.Dx, r)
	if !linalg.Finite(r) {
		return nil, nil, true
	}
	return v.inX(b.back(r)), sync.OnceValue(func() *sparse.CSR { return v.inX(b.back(b.convexified(r))) }), true
}

// products are those of the rows of z with columns, which stand one behind another.
func products(z [][]float64, columns []float64) []float64 {
	n := len(z)
	out, size := make([]float64, n*n), len(columns)/max(n, 1)
	gram.Rows(gram.Block{Data: out, Rows: n, Cols: n, Stride: n}, gram.Block{Data: slices.Concat(z...), Rows: n, Cols: size, Stride: size}, gram.Block{Data: columns, Rows: n, Cols: size, Stride: size})
	return out
}

// normals are those, in x, of what holds at a point and the multipliers say is to hold on: bounds and rows of X, constraints, and the slacks of biactive rows.
func (v *Solver) normals(pt *point, w *weights, s *kkt.System, at []float64, z [][]float64) (out [][]float64) {
	p := v.p
	through := func(row []float64) { // of a function of (x, y, the multipliers that f reads)
		normal := make([]float64, p.Dx)
		for j, t := range row {
			if t == 0 {
				continue
			}
			for c, along := range z {
				normal[c] += t * along[j]
			}
		}
		out = append(out, normal)
	}
	counts := func(m, unit float64) bool { return math.Abs(m)*unit > tolerance.Sign*w.size }
	for j, m := range w.bound {
		if counts(m, v.unit[j]) {
			normal := make([]float64, p.Dx)
			normal[j] = 1
			out = append(out, normal)
		}
	}
	further := make([]float64, p.Dx+p.X.Extended.Extra())
	for i, m := range w.extended {
		p.X.Extended.E.AddRow(further, i, m)
	}
	if len(w.extended) > 0 {
		out = append(out, further[:p.Dx])
	}
	for i, m := range w.upper {
		if m != 0 {
			normal := make([]float64, p.Dx)
			p.X.E.AddRow(normal, i, 1)
			out = append(out, normal)
		}
	}
	for i, m := range w.rows {
		if m != 0 {
			through(pt.jac[i])
		}
	}
	_, biactive := s.BranchAt(at)
	for _, k := range biactive {
		i := s.Pairs[k].Row
		row := make([]float64, p.Dx+p.Dy+len(p.Duals))
		p.Rows.A.AddRow(row[:p.Dx], i, -1)
		p.Rows.B.AddRow(row[p.Dx:p.Dx+p.Dy], i, 1)
		through(row)
	}
	return out
}

// inX is a matrix over x as one over (x, y, the multipliers that f reads).
func (v *Solver) inX(r []float64) *sparse.CSR {
	n := v.p.Dx + v.p.Dy + len(v.p.Duals)
	entries := []sparse.Entry{}
	for i := range v.p.Dx {
		for j := range v.p.Dx {
			if t := r[i*v.p.Dx+j]; t != 0 {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: t})
			}
		}
	}
	return sparse.FromEntries(n, n, entries)
}

// certain is the condition up to which a matrix of differences is not singular: they are exact to FirstStep squared.
const certain = 0x1p33

// basis is an orthonormal one of the leader's variables in units of x: first of the normals of what holds, then of the directions that keep it. Curvature along the one may be many orders larger than along the
// other: where F has kinks it is that of a branch which steps do not follow.
type basis struct {
	axes    *mat.Dense // its vectors, one a row, times the units
	duals   *mat.Dense // over the units
	normals int
}

func (v *Solver) manifold(normals [][]float64) *basis {
	n := v.p.Dx
	var q linalg.QR
	q.Reset(n)
	push := func(row []float64, least float64) {
		if q.Size() < n {
			q.Extend(row, least)
		}
	}
	for _, normal := range normals {
		row, size := make([]float64, n), 0.0
		for j, t := range normal {
			row[j] = t * v.unit[j]
			size = math.Hypot(size, row[j])
		}
		push(row, tolerance.Sign*size)
	}
	b := &basis{axes: mat.NewDense(max(n, 1), max(n, 1), nil), duals: mat.NewDense(max(n, 1), max(n, 1), nil), normals: q.Size()}
	for j := range n {
		axis := make([]float64, n)
		axis[j] = 1
		push(axis, 0.5/math.Sqrt(float64(n))) // at the end less is left of all axes together than of one direction that is not there
	}
	for i := range q.Size() {
		for j, t := range q.Column(i) {
			b.axes.Set(i, j, t*v.unit[j])
			b.duals.Set(i, j, t/v.unit[j])
		}
	}
	return b
}

// rotated are the derivatives along the basis of what z are the derivatives of along the axes of x.
func (b *basis) rotated(z [][]float64) [][]float64 {
	out := make([][]float64, len(z))
	for i := range z {
		out[i] = make([]float64, len(z[i]))
		for j, t := range z {
			if by := b.axes.At(i, j); by != 0 {
				linalg.Axpy(out[i], by, t)
			}
		}
	}
	return out
}

// back is a form over the coordinates of the basis as one over x.
func (b *basis) back(r []float64) []float64 {
	n, _ := b.axes.Dims()
	out := make([]float64, len(r))
	if len(r) == 0 {
		return out
	}
	var left mat.Dense
	left.Mul(b.duals.T(), mat.NewDense(n, n, r))
	mat.NewDense(n, n, out).Mul(&left, b.duals)
	return out
}

// convexified is a positive semidefinite matrix that stands for R, both in the coordinates of the basis: along the normals, and along the directions that keep what holds, each R with its negative
// eigenvalues turned around, so that steps along negative curvature are as long as along positive (Nocedal and Wright 2006, section 3.4), and what joins both where the whole is positive semidefinite with it.
// Where R is positive semidefinite along the latter, steps that keep what holds are Newton's.
func (b *basis) convexified(r []float64) []float64 {
	n := int(math.Sqrt(float64(len(r))))
	whole := mat.NewSymDense(max(n, 1), nil)
	for i := range n {
		for j := i; j < n; j++ {
			whole.SetSym(i, j, r[i*n+j])
		}
	}
	for _, part := range [][2]int{{0, b.normals}, {b.normals, n}} {
		from, to := part[0], part[1]
		if from == to {
			continue
		}
		if definite(whole, from, to, tolerance.HalfDigits) { // as it is
			continue
		}
		block := mat.NewSymDense(to-from, nil)
		block.CopySym(whole.SliceSym(from, to))
		values, vectors := linalg.Eigen(block)
		if values == nil {
			return make([]float64, n*n)
		}
		most := math.Max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
		for k, t := range values {
			if more := math.Max(math.Abs(t), tolerance.HalfDigits*most) - t; more > 0 {
				block.SymRankOne(block, more, vectors.ColView(k))
			}
		}
		for i := from; i < to; i++ {
			for j := i; j < to; j++ {
				whole.SetSym(i, j, block.At(i-from, j-from))
			}
		}
	}
	joined := b.normals == 0 || b.normals == n || definite(whole, 0, n, 0)
	if !joined {
		values, found := linalg.Eigenvalues(whole)
		joined = found && values[0] >= 0
	}
	out := make([]float64, n*n)
	for i := range n {
		for j := range n {
			if joined || (i < b.normals) == (j < b.normals) {
				out[i*n+j] = whole.At(i, j)
			}
		}
	}
	return out
}

// definite reports that the eigenvalues of a part of a symmetric matrix, from one row to another, are positive, and no less than a share of the largest that they may be (a factor of Cholesky's takes a hundredth of what they do).
func definite(whole *mat.SymDense, from, to int, share float64) bool {
	n, most := to-from, 0.0
	h := make([]float64, n*n)
	for i := range n {
		sum := 0.0
		for j := range n {
			h[i*n+j] = whole.At(from+i, from+j)
			sum += math.Abs(h[i*n+j])
		}
		most = math.Max(most, sum)
	}
	for i := range n {
		h[i*n+i] -= share * most
	}
	_, is := linalg.NewCholesky(n, h)
	return is
}

// mayTie reports that x alone need not determine y.
func (v *Solver) mayTie() bool { return !(v.p.Facts.StrongConvexity > 0) }
