package reduced

import (
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/gram"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// ErrClass is wrapped by the errors of Solve for systems outside the class of the package.
var ErrClass = errors.New("the lower level is not one with a positive definite quadratic objective")

// row is one direction of the lower level's polyhedron: lo <= v <= hi with v = unit (B_r y - A_r x). Two rows of the problem
// that differ in sign alone are one row here.
type row struct {
	lo, hi    float64
	low, high int // the rows of the problem behind lo, whose coefficients are B_r and A_r, and hi; -1 for none
	equal     bool
	unit      float64 // 1/|B_r| in the metric of H^-1
}

// follower is the lower level with y eliminated. With the rows in units in which each has length 1 in the metric of
// H^-1, signed multipliers lambda (positive at lo, negative at hi) and w = (x, u),
//
//	y = y0 + J w + E'lambda,   v = p0 + R w + Y lambda,   lo <= v <= hi,
//
// J = -H^-1 G, E = B H^-1, R = B J - A and Y = B H^-1 B', all dense and row-major, E and Y block by block. Slacks and multipliers are then both lengths in the metric of H.
type follower struct {
	whole        *follower // it is condensed, y is lambda and J 0; nil: it is not
	work         int64     // multiplications with inverses of Y_SS and sparse factors
	sys          *kkt.System
	by           *augmentation // of sys; nil where there is none
	nw, n        int           // len w: x and the further variables of X; len y
	m            int
	rows         []row
	of           []place // of each row of the problem
	blocks       []block
	owner        []int     // the block of each row
	within       []int     // the place of each entry of y in its block
	j, r         []float64 // n x nw, m x nw
	p0, y0       []float64
	coefficients *sparse.CSR // m x n, of the rows without units
	walls        []wall      // of the leader
	spare        []int       // equality rows of the problem that depend on others, as far as squares of lengths tell
	lo, hi       []float64
	readsX       bool
	coupled      []coupledRow
	sparse       *sparseFollower // instead of the blocks' matrices, where H is known to be sparse and they are large
}

// place is where a row of the problem went.
type place struct {
	row  int  // -1: to a wall, or nowhere
	high bool // it is the upper end
}

// wall is a row of X, vec'w <= rhs or = rhs. A row of the lower level without y is one as well.
type wall struct {
	vec          []float64
	rhs, length  float64
	equal        bool
	upper, lower int   // the row of X, of X.Extended (from len(X.Kind) on) or of the lower level behind it; -1
	combo        []int // lower rows that make up the rest of an equality row that depends on them ...
	weight       []float64
}

// off is how far a w is beyond the wall, negative inside, and terms the size of what that is the sum of.
func (w *wall) off(at []float64) float64   { return linalg.Dot(w.vec, at) - w.rhs }
func (w *wall) terms(at []float64) float64 { return math.Abs(w.rhs) + w.length*linalg.Norm(at) }

// holds reports that a w is at the wall.
func (w *wall) holds(at []float64) bool {
	return w.equal || -w.off(at) <= tolerance.Feasibility*w.terms(at)
}

// coupledRow is a constraint of the leader that reads the follower: x'w + y'y + l'lambda <= rhs or = rhs, lambda in the problem's rows.
type coupledRow struct {
	x, y, l []float64
	rhs     float64
	equal   bool
}

// newFollower eliminates y: three products of matrices and a Cholesky factor, of which each pivot is to be more than a part, least, of its diagonal entry, of sparse factors of the least one.
func newFollower(s *kkt.System, least float64) (_ *follower, err error) {
	defer must.Catch(&err)
	f := &follower{sys: s, nw: s.Nx + s.P.X.Extended.Extra(), n: s.Ny}
	if Sparse(s.P) {
		f.sparse = newSparseFollower(s.H, f.n, least)
		if f.sparse.hessian.Raised > 0 {
			return nil, fmt.Errorf("%w: its Hessian is not positive definite", ErrClass)
		}
	}
	f.lo, f.hi = f.sys.P.X.Boxes(f.nw)
	f.group()
	must.Do(f.divide(least))
	f.upperWalls()
	f.products()
	must.Do(f.normalize())
	f.coupledRows()
	return f, nil
}

// group makes rows of the problem's rows: those with the same coefficients or, up to the sign, opposite ones share one.
func (f *follower) group() {
	p := f.sys.P
	seen := map[uint64][]int{}
	seed := maphash.MakeSeed()
	f.of = make([]place, p.Rows.Len())
	for i, kind := range p.Rows.Kind {
		f.of[i] = place{row: -1}
		_, first := p.Rows.B.First(i)
		if first == 0 {
			f.xOnly(i)
			continue
		}
		key, b := hash(seed, p.Rows, i, math.Copysign(1, first)), p.Rows.Rhs[i]
		at := -1
		for _, r := range seen[key] {
			w := &f.rows[r]
			if kind != problem.Equal && !w.equal && w.high < 0 && opposite(p.Rows.B, i, w.low) && opposite(p.Rows.A, i, w.low) {
				at = r
				break
			}
		}
		if at >= 0 {
			f.of[i] = place{row: at, high: true}
			f.rows[at].hi, f.rows[at].high = b, i
			f.rows[at].equal = f.rows[at].lo == b
			continue
		}
		r := row{lo: -b, hi: math.Inf(1), low: i, high: -1}
		if kind == problem.Equal {
			r.equal, r.hi = true, -b
		}
		f.of[i] = place{row: len(f.rows)}
		seen[key] = append(seen[key], len(f.rows))
		f.rows = append(f.rows, r)
	}
	f.m = len(f.rows)
	f.p0 = make([]float64, f.m)
}

func hash(seed maphash.Seed, rows *problem.Rows, i int, sign float64) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var buf [16]byte
	for _, m := range []*sparse.CSR{rows.B, rows.A} {
		for j, v := range m.Nonzeros(i) {
			b := math.Float64bits(v * sign)
			for k := range 8 {
				buf[k], buf[8+k] = byte(b>>(8*k)), byte(uint64(j)>>(8*k))
			}
			h.Write(buf[:])
		}
	}
	return h.Sum64()
}

// opposite reports whether two rows of m differ in their signs alone.
func opposite(m *sparse.CSR, i, k int) bool {
	next, stop := iter.Pull2(m.Nonzeros(k))
	defer stop()
	for j, v := range m.Nonzeros(i) {
		if c, w, ok := next(); !ok || c != j || w != -v {
			return false
		}
	}
	_, _, more := next()
	return !more
}

// xOnly makes a wall of a row of the lower level that y does not enter: no y is feasible beyond it.
func (f *follower) xOnly(i int) {
	p := f.sys.P.Rows
	w := wall{vec: make([]float64, f.nw), rhs: p.Rhs[i], equal: p.Kind[i] == problem.Equal, upper: -1, lower: i}
	p.A.AddRow(w.vec, i, 1)
	f.wall(w)
}

func (f *follower) wall(w wall) {
	if w.length = linalg.Norm(w.vec); w.length > 0 {
		f.walls = append(f.walls, w)
	}
}

func (f *follower) upperWalls() {
	x := f.sys.P.X
	for i, kind := range x.Kind {
		w := wall{vec: make([]float64, f.nw), rhs: x.Rhs[i], equal: kind == problem.Equal, upper: i, lower: -1}
		x.E.AddRow(w.vec[:f.sys.Nx], i, 1)
		f.wall(w)
	}
	for i := range x.Extended.Len() {
		w := wall{vec: make([]float64, f.nw), rhs: x.Extended.Rhs[i], upper: len(x.Kind) + i, lower: -1}
		x.Extended.E.AddRow(w.vec, i, 1)
		f.wall(w)
	}
}

// products sets J, E, R, Y, p0 and y0, of rows without units yet.
func (f *follower) products() {
	s := f.sys
	b := sparse.Empty(f.n) // the rows' coefficients
	for r := range f.rows {
		cols, vals := s.P.Rows.B.Row(f.rows[r].low)
		b.AppendAll(cols, vals)
		b.EndRow()
	}
	f.coefficients = b
	f.slopes(s.G)
	f.y0 = make([]float64, f.n)
	for i, q := range s.Q {
		f.y0[i] = -q
	}
	f.solveH(f.y0)
	for r := range f.rows {
		f.p0[r] = b.RowDot(r, f.y0)
	}
	if f.sparse != nil {
		f.sparse.b = b.Clone()
		return
	}
	f.matrices(b)
}

// slopes sets J and R, of rows without units, for a G.
func (f *follower) slopes(g *sparse.CSR) {
	n, m, nw := f.n, f.m, f.nw
	f.j = linalg.Cleared(f.j, n*nw)
	for i := range n {
		for c, v := range g.Entries(i) {
			f.j[i*nw+c] = -v
		}
	}
	if f.sparse == nil {
		for k := range f.blocks {
			b := &f.blocks[k]
			part := b.gatherRows(f.j, nw)
			b.h.SolveInverse(part, nw)
			b.scatterRows(f.j, part, nw)
		}
	} else {
		column := make([]float64, n)
		for c := range nw {
			for i := range n {
				column[i] = f.j[i*nw+c]
			}
			f.solveH(column)
			for i, v := range column {
				f.j[i*nw+c] = v
			}
		}
	}
	f.r = linalg.Cleared(f.r, m*nw)
	multiply(f.r, f.coefficients, f.j, nw)
	for r := range f.rows {
		f.sys.P.Rows.A.AddRow(f.r[r*nw:(r+1)*nw], f.rows[r].low, -1)
	}
}

// sparseShare is the part of a matrix below which its products take less time entry by entry than in dense blocks, which are about eight
// times as fast an entry.
const sparseShare = 8

// multiply sets out (b.Rows x k) to b c, c of k columns.
func multiply(out []float64, b *sparse.CSR, c []float64, k int) {
	clear(out)
	if k == 0 || b.Rows == 0 {
		return
	}
	if b.NNZ()*sparseShare < b.Rows*b.Cols {
		for i := range b.Rows {
			for j, v := range b.Entries(i) {
				linalg.Axpy(out[i*k:(i+1)*k], v, c[j*k:(j+1)*k])
			}
		}
		return
	}
	gram.Subtract(matrix(out, b.Rows, k), matrix(b.Negated().Dense(), b.Rows, b.Cols), false, matrix(c, b.Cols, k))
}

func matrix(a []float64, rows, cols int) gram.Block {
	return gram.Block{Data: a, Rows: rows, Cols: cols, Stride: cols}
}

// addJ adds J w to y, and addJT J'y to dst (len nw).
func (f *follower) addJ(y, w []float64) {
	if f.j != nil {
		linalg.Gemv(y, 1, f.j, f.n, f.nw, false, w)
		f.work += int64(f.n * f.nw)
	}
}

func (f *follower) addJT(dst, y []float64) {
	if f.j != nil {
		linalg.Gemv(dst, 1, f.j, f.n, f.nw, true, y)
		f.work += int64(f.n * f.nw)
	}
}

// solveH overwrites v with H^-1 v.
func (f *follower) solveH(v []float64) {
	if f.sparse != nil {
		f.sparse.solveH(v)
		f.work += solves * int64(f.sparse.hessian.Entries()+f.n)
		return
	}
	for k := range f.blocks {
		b := &f.blocks[k]
		part := b.gather(v)
		b.h.SolveT(part)
		b.h.Solve(part)
		b.scatter(v, part)
	}
}

// normalize puts rows into their units, and moves what depends on equality rows before it out of the rows.
func (f *follower) normalize() error {
	for r := range f.rows {
		w := &f.rows[r]
		if w.lo > w.hi {
			return fmt.Errorf("%w: two of its rows contradict each other", ErrInfeasible)
		}
		w.unit = 1 / f.length(r)
		if !(w.unit > 0) || math.IsInf(w.unit, 0) {
			return fmt.Errorf("%w: a row has no length in its metric", ErrClass)
		}
		w.lo *= w.unit
		w.hi *= w.unit
		f.p0[r] *= w.unit
		floats.Scale(w.unit, f.r[r*f.nw:(r+1)*f.nw])
		if f.sparse == nil {
			floats.Scale(w.unit, f.blockOf(r).rowE(r))
		} else {
			_, vals := f.sparse.b.Row(r)
			floats.Scale(w.unit, vals)
		}
		f.readsX = f.readsX || linalg.NormInf(f.r[r*f.nw:(r+1)*f.nw]) > 0
	}
	if f.sparse != nil {
		f.sparse.take(f.sparse.b)
		return f.equalities()
	}
	for r := range f.rows {
		b := f.blockOf(r)
		y := b.rowY(r)
		for c := range y {
			y[c] *= f.rows[r].unit * f.rows[b.first+c].unit
		}
		y[r-b.first] = 1
	}
	return f.equalities()
}

// equalities takes equality rows that depend on those before them out: what they ask of x is left as a wall. Their multipliers are not unique.
func (f *follower) equalities() error {
	z := newInverse(f)
	for r := range f.rows {
		w := &f.rows[r]
		if !w.equal {
			continue
		}
		u, pivot := z.column(r)
		if pivot > tolerance.SolveAccuracy {
			z.add(r, u, pivot)
			continue
		}
		if len(f.sys.P.Duals) > 0 {
			return fmt.Errorf("%w: its equality rows depend on each other, and the leader reads multipliers", ErrClass)
		}
		// v_r - u'v_S = (p_r - u'p_S) + (R_r - u'R_S) w, whatever lambda.
		rest := wall{vec: make([]float64, f.nw), rhs: w.lo - f.p0[r], equal: true, upper: -1, lower: w.low}
		linalg.Axpy(rest.vec, 1, f.r[r*f.nw:(r+1)*f.nw])
		size := f.reach(r)
		for a, s := range z.beside(r) {
			rest.rhs -= u[a] * (f.rows[s].lo - f.p0[s])
			linalg.Axpy(rest.vec, -u[a], f.r[s*f.nw:(s+1)*f.nw])
			size += math.Abs(u[a]) * f.reach(s)
			rest.combo, rest.weight = append(rest.combo, f.rows[s].low), append(rest.weight, u[a]*f.rows[s].unit)
		}
		// The wall is -(A_r - ...) w in the row's units: its multiplier is minus that of the row.
		floats.Scale(-1/w.unit, rest.vec)
		floats.Scale(1/w.unit, rest.weight)
		rest.rhs /= -w.unit
		if linalg.Norm(rest.vec) > rounding*size/w.unit {
			f.wall(rest)
		}
		f.spare = append(f.spare, w.low)
		w.equal, w.lo, w.hi = false, math.Inf(-1), math.Inf(1)
	}
	return nil
}

// reach is the length of the terms that row r of R, in its unit, is the sum of: where the follower moves along a row they cancel.
func (f *follower) reach(r int) float64 {
	terms := make([]float64, f.nw)
	for j, v := range f.coefficients.Entries(r) {
		for c := range terms {
			terms[c] += math.Abs(v * f.j[j*f.nw+c])
		}
	}
	for c, v := range f.sys.P.Rows.A.Entries(f.rows[r].low) {
		terms[c] += math.Abs(v)
	}
	return f.rows[r].unit * linalg.Norm(terms)
}

// rounding is the part of its terms below which a difference of vectors is 0: what is left after the cancellation of a square (see singular).
var rounding = math.Sqrt(tolerance.Rounded)

// coupledRows reads the constraints of the leader that read the follower off the relaxation.
func (f *follower) coupledRows() {
	s := f.sys
	for r, o := range s.Origin {
		if o.Kind != kkt.CoupledRow {
			continue
		}
		c := coupledRow{x: make([]float64, f.nw), y: make([]float64, f.n), l: make([]float64, s.M)}
		for j, a := range s.Relaxation.A.Entries(r) {
			v := a / s.RowScale[r] / s.ColScale[j]
			switch {
			case j < s.Nx:
				c.x[j] = v
			case j < s.Nx+s.Ny:
				c.y[j-s.Nx] = v
			case j < s.Nx+s.Ny+s.M:
				c.l[j-s.Nx-s.Ny] = v
			}
		}
		c.rhs = s.Relaxation.RowHi[r] / s.RowScale[r]
		c.equal = s.Relaxation.RowLo[r] == s.Relaxation.RowHi[r]
		f.coupled = append(f.coupled, c)
	}
}
