package activeset

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Condensation is a program without as many equations as free variables, which these give as affine functions of the others (null-space method: Nocedal and Wright, sec. 16.2, with
// the basis of columns of (16.17)). With E the equations and the variables that are gone, K what is kept, and r the sides of the equations,
//
//	z_E = T r - W z_K,   T = inverse of A_EE,  W = T A_EK.
//
// It is not changed once it is made: solvers of several threads share it.
type Condensation struct {
	program    *Program
	cols, rows partition
	inverse    *mat.Dense  // T
	w          *mat.Dense  // W, len(gone) x len(kept)
	a          *sparse.CSR // the kept rows on the kept variables, condensed
	back       *sparse.CSR // and on those that are gone
	q          *sparse.CSR // the objective's, condensed
	first      Solver      // of the condensed program as it stands, without a tableau
	at         []float64   // T r, and the constant of the condensed objective
	constant   float64
	Made       int64 // what making it took, in the measure of Solution.Work
}

// partition says which indices are kept and which are gone, ascending.
type partition struct{ kept, gone []int }

func divide(n int, gone []int) (p partition) {
	p.gone = slices.Sorted(slices.Values(gone))
	for i := range n {
		if _, is := slices.BinarySearch(p.gone, i); !is {
			p.kept = append(p.kept, i)
		}
	}
	return p
}

// eliminable are the free variables and the equations of a program.
func (p *Program) eliminable() (cols, rows []int) {
	cols = append(cols, each.WhereBelow(p.N, func(j int) bool { return math.IsInf(p.Lo[j], -1) && math.IsInf(p.Hi[j], 1) })...)
	rows = append(rows, each.WhereBelow(p.rows(), func(i int) bool { return p.RowLo[i] == p.RowHi[i] })...)
	return cols, rows
}

// Condensed is how many rows and columns a tableau of the program has once it is condensed, as far as counts tell; N+M where that does not pay. It pays where half of them go: what is left may be a
// full matrix, where pivots pass over zeros of the other.
func (p *Program) Condensed() int {
	cols, rows := p.eliminable()
	n := p.N + p.rows()
	if gone := 2 * min(len(cols), len(rows)); 2*gone >= n {
		return n - gone
	}
	return n
}

// sparse reports that a basis with sparse factors stands for the tableau: the program is linear, and of the order from which on such factors take less time.
func (p *Program) sparse() bool { return p.linear() && p.N+p.A.Rows >= tolerance.LeastSparse }

func (p *Program) linear() bool {
	return p.A != nil && (p.Q == nil || !slices.ContainsFunc(p.Q.Val, func(v float64) bool { return v != 0 }))
}

// numbers is how many of them a solver keeps: half of a symmetric matrix; of a linear program, with a basis in its place, its entries and a vector, where these are fewer.
func (p *Program) numbers() float64 {
	n := float64(p.Condensed())
	if p.linear() {
		return min(n*n/2, float64(p.N+p.A.Rows+p.A.NNZ()))
	}
	return n * n / 2
}

// Work is about what a solve from nothing takes: as many times the numbers that are kept as there are rows and columns; a pivot of each on a tableau, a third as many of a basis, each of which reads what is kept a few times.
func (p *Program) Work() float64 {
	if p.sparse() {
		return float64(p.N+p.A.Rows) * p.numbers()
	}
	return float64(p.Condensed()) * p.numbers()
}

// Rework is about what a solve takes after another whose working set differs by a few: as much as one from nothing on a tableau, since it is to be made anew every so often, and on a basis its factors, a few pivots and what compares them with the data.
func (p *Program) Rework() float64 {
	if p.sparse() {
		return checkEvery * p.numbers()
	}
	return p.Work()
}

// Condense is nil where it does not pay (Condensed), as beside a sparse basis, and where rows depend on the equations that are gone, or these on each other, or nearly so: rounding of the condensed data is less than what sides and signs are kept to.
func Condense(p *Program) *Condensation {
	if p.check() != nil || p.sparse() || p.Condensed() == p.N+p.rows() {
		return nil
	}
	cols, rows := p.independent(p.eliminable())
	if 4*len(cols) < p.N+p.rows() {
		return nil
	}
	c := &Condensation{program: p, cols: divide(p.N, cols), rows: divide(p.rows(), rows)}
	e, k := len(rows), len(c.cols.kept)
	if e == 0 || k == 0 {
		return nil
	}
	var lu mat.LU
	lu.Factorize(block(p.A, c.rows.gone, c.cols.gone))
	c.inverse, c.w = mat.NewDense(e, e, nil), mat.NewDense(e, k, nil)
	if !(lu.Cond() < tolerance.Sign/tolerance.FewRoundings) || lu.SolveTo(c.inverse, false, identity(e)) != nil || lu.SolveTo(c.w, false, block(p.A, c.rows.gone, c.cols.kept)) != nil {
		return nil
	}
	c.back = p.A.Part(c.rows.kept, places(p.N, c.cols.gone), e)
	if c.a = c.kept(p.A); c.a == nil {
		return nil
	}
	c.q = c.condense(p.Q)
	c.Made = int64(e) * int64(e) * int64(2*e+k)
	of := &Condensed{of: c, objective: sparse.Quadratic{Hess: p.Q, Lin: p.C}, sides: linalg.Gather(p.RowLo, c.rows.gone)}
	cost, constant := of.reduced()
	c.at, c.constant = of.at, constant
	c.first.prepare(&Program{N: k, Q: c.q, C: cost, A: c.a, Bounds: of.bounds(&p.Bounds)})
	return c
}

// independent chooses equations that are independent of each other on the columns, all or else by a QR factorization that exchanges them (Golub and Van Loan, sec. 5.5.6), and as many of the columns, by
// Gaussian elimination that exchanges these, which leaves no large entries of W on the others.
func (p *Program) independent(cols, rows []int) (someCols, someRows []int) {
	if len(cols) == 0 || len(rows) == 0 {
		return nil, nil
	}
	m := mat.DenseCopyOf(block(p.A, rows, cols).T()) // an equation a column
	for i := range rows {
		if size := mat.Norm(m.ColView(i), 2); size > 0 && !math.IsInf(size, 0) {
			for j := range cols {
				m.Set(j, i, m.At(j, i)/size)
			}
		}
	}
	if chosen := exchanged(m, cols); chosen != nil {
		return chosen, rows
	}
	qr, order, tau := mat.DenseCopyOf(m), slices.Repeat([]int{-1}, len(rows)), make([]float64, min(len(rows), len(cols)))
	work := make([]float64, 1)
	lapack64.Geqp3(qr.RawMatrix(), order, tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Geqp3(qr.RawMatrix(), order, tau, work, len(work))
	rank := 0
	for rank < len(tau) && math.Abs(qr.At(rank, rank)) > tolerance.Dependence {
		rank++
	}
	if rank == 0 {
		return nil, nil
	}
	some := mat.NewDense(len(cols), rank, nil)
	for k, i := range order[:rank] {
		some.SetCol(k, mat.Col(nil, i, m))
	}
	return exchanged(some, cols), linalg.Gather(rows, order[:rank])
}

// exchanged are the rows, by their names, that Gaussian elimination of all columns of m brings to its top; nil where columns depend on others, or nearly so.
func exchanged(m *mat.Dense, names []int) []int {
	n, rank := m.Dims()
	if rank > n {
		return nil
	}
	lu, swaps := mat.DenseCopyOf(m), make([]int, rank)
	if !lapack64.Getrf(lu.RawMatrix(), swaps) {
		return nil
	}
	chosen := slices.Clone(names)
	for k, j := range swaps {
		if chosen[k], chosen[j] = chosen[j], chosen[k]; math.Abs(lu.At(k, k)) <= tolerance.Dependence {
			return nil
		}
	}
	return chosen[:rank]
}

func identity(n int) *mat.Dense {
	out := mat.NewDense(n, n, nil)
	for i := range n {
		out.Set(i, i, 1)
	}
	return out
}

// places are those of the members of a list among them, -1 of others.
func places(n int, list []int) []int {
	out := slices.Repeat([]int{-1}, n)
	for k, j := range list {
		out[j] = k
	}
	return out
}

// block is a part of a matrix, dense; of no rows a row of zeros.
func block(m *sparse.CSR, rows, cols []int) *mat.Dense {
	out, place := mat.NewDense(max(1, len(rows)), len(cols), nil), places(m.Cols, cols)
	for k, i := range rows {
		for j, v := range m.Entries(i) {
			if place[j] >= 0 {
				out.Set(k, place[j], v)
			}
		}
	}
	return out
}

func fromDense(m *mat.Dense) *sparse.CSR {
	rows, cols := m.Dims()
	return sparse.FromDense(rows, cols, m.RawMatrix().Data)
}

// minus subtracts m W from dst.
func (c *Condensation) minus(dst *mat.Dense, m *sparse.CSR) {
	for i := range m.Rows {
		for j, v := range m.Entries(i) {
			floats.AddScaled(dst.RawRowView(i), -v, c.w.RawRowView(j))
		}
	}
}

// kept are the kept rows of A, condensed: A_KK - A_KE W. What rounding leaves of an entry that is 0 is none. It is nil where nothing is left of a row: it depends on equations, and rounding of its sides would decide.
func (c *Condensation) kept(a *sparse.CSR) *sparse.CSR {
	out := sparse.Empty(len(c.cols.kept))
	place := places(a.Cols, c.cols.kept)
	row, terms := make([]float64, len(c.cols.kept)), make([]float64, len(c.cols.kept))
	for k, i := range c.rows.kept {
		clear(row)
		clear(terms)
		for j, v := range a.Entries(i) {
			if place[j] >= 0 {
				row[place[j]], terms[place[j]] = v, math.Abs(v)
			}
		}
		for e, v := range c.back.Entries(k) {
			for j, w := range c.w.RawRowView(e) {
				row[j] -= v * w
				terms[j] += math.Abs(v * w)
			}
		}
		least := tolerance.Eliminated * linalg.NormInf(terms)
		for j, v := range row {
			if math.Abs(v) > least {
				out.Append(j, v)
			}
		}
		if out.EndRow(); out.Ptr[k] == out.Ptr[k+1] && least > 0 {
			return nil
		}
	}
	return out
}

// condense is Q_KK - Q_KE W - W'Q_EK + W'Q_EE W.
func (c *Condensation) condense(q *sparse.CSR) *sparse.CSR {
	if q == nil {
		return nil
	}
	k, e := len(c.cols.kept), len(c.cols.gone)
	onGone := places(c.program.N, c.cols.gone)
	low := block(q, c.cols.gone, c.cols.kept) // Q_EK - Q_EE W
	c.minus(low, q.Part(c.cols.gone, onGone, e))
	out := block(q, c.cols.kept, c.cols.kept)
	c.minus(out, q.Part(c.cols.kept, onGone, e))
	blas64.Gemm(blas.Trans, blas.NoTrans, -1, c.w.RawMatrix(), low.RawMatrix(), 1, out.RawMatrix())
	for i := range k {
		for j := range i {
			v := (out.At(i, j) + out.At(j, i)) / 2
			out.Set(i, j, v)
			out.Set(j, i, v)
		}
	}
	return fromDense(out)
}

// Solver makes a solver of the program.
func (c *Condensation) Solver() *Condensed {
	s := &Condensed{of: c, inner: new(Solver), objective: sparse.Quadratic{Hess: c.program.Q, Lin: c.program.C}, sides: linalg.Gather(c.program.RowLo, c.rows.gone), at: c.at, constant: c.constant}
	*s.inner = c.first
	s.inner.tab, s.inner.st = new(tableau), new(state)
	s.inner.fresh()
	return s
}

// Condensed is a Solver of a program by its condensation. Programs whose bounds hold what is gone elsewhere, or whose solutions do not keep the equations to rounding, are solved as they stand.
type Condensed struct {
	of        *Condensation
	inner     *Solver
	plain     *Solver // made when it is needed
	objective sparse.Quadratic
	sides     []float64 // of the equations, as the inner objective has them
	at        []float64 // T sides
	constant  float64   // of the inner objective
}

// solve is T v, or with trans the transpose of T times v.
func (c *Condensation) solve(v []float64, trans bool) []float64 {
	out, t := make([]float64, len(v)), c.inverse.RawMatrix()
	linalg.Gemv(out, 1, t.Data, t.Rows, t.Cols, trans, v)
	return out
}

// reduced is the linear part of the inner objective with the present sides, whose T it keeps, and the constant.
func (s *Condensed) reduced() (kept []float64, constant float64) {
	c := s.of
	s.at = c.solve(s.sides, false)
	kept, gone := linalg.Gather(s.objective.Lin, c.cols.kept), linalg.Gather(s.objective.Lin, c.cols.gone)
	constant = floats.Dot(gone, s.at)
	if s.objective.Hess != nil && floats.Norm(s.at, math.Inf(1)) > 0 {
		z := make([]float64, c.program.N)
		linalg.Scatter(z, c.cols.gone, s.at)
		slope := make([]float64, c.program.N)
		s.objective.Hess.MulVec(slope, z)
		constant += 0.5 * floats.Dot(z, slope)
		floats.Add(kept, linalg.Gather(slope, c.cols.kept))
		floats.Add(gone, linalg.Gather(slope, c.cols.gone))
	}
	c.less(kept, gone)
	return kept, constant
}

// less subtracts W'v from dst.
func (c *Condensation) less(dst, v []float64) {
	w := c.w.RawMatrix()
	linalg.Gemv(dst, -1, w.Data, w.Rows, w.Cols, true, v)
}

// bounds are those of the condensed program.
func (s *Condensed) bounds(b *Bounds) Bounds {
	c := s.of
	out := Bounds{linalg.Gather(b.RowLo, c.rows.kept), linalg.Gather(b.RowHi, c.rows.kept), linalg.Gather(b.Lo, c.cols.kept), linalg.Gather(b.Hi, c.cols.kept)}
	for i := range out.RowLo {
		shift := c.back.RowDot(i, s.at)
		out.RowLo[i], out.RowHi[i] = out.RowLo[i]-shift, out.RowHi[i]-shift
	}
	return out
}

// SetObjective is that of Solver.
func (s *Condensed) SetObjective(q *sparse.CSR, c []float64) {
	if err := checkObjective(s.of.program.N, q, c); err != nil {
		panic(err)
	}
	inner := s.of.q
	switch {
	case q == s.of.program.Q:
	case q == s.objective.Hess:
		inner = s.inner.program.Q
	default:
		inner = s.of.condense(q)
	}
	s.objective = sparse.Quadratic{Hess: q, Lin: c}
	kept, constant := s.reduced()
	s.constant = constant
	s.inner.SetObjective(inner, kept)
	if s.plain != nil {
		s.plain.SetObjective(q, c)
	}
}

// Forget is that of Solver.
func (s *Condensed) Forget() {
	s.inner.Forget()
	if s.plain != nil {
		s.plain.Forget()
	}
}

// fits reports that bounds leave what is gone as it was, and makes the inner objective that of their sides.
func (s *Condensed) fits(b *Bounds) bool {
	c := s.of
	for _, j := range c.cols.gone {
		if !math.IsInf(b.Lo[j], -1) || !math.IsInf(b.Hi[j], 1) {
			return false
		}
	}
	for _, i := range c.rows.gone {
		if b.RowLo[i] != b.RowHi[i] || math.IsInf(b.RowLo[i], 0) {
			return false
		}
	}
	if sides := linalg.Gather(b.RowLo, c.rows.gone); !slices.Equal(sides, s.sides) {
		s.sides = sides
		s.SetObjective(s.objective.Hess, s.objective.Lin)
	}
	return true
}
