package pieces

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/await"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// curved is a positive semidefinite matrix that stands for the Hessian H of f at z on the branch with bounds b, in the relaxation's units: H itself, else |PHP + QHQ|, where P projects on the directions
// that keep the equations of the branch and Q = 1 - P: along the former steps are Newton's where H curves up, and as long as they would be with its curvature turned around where it curves down (Nocedal and
// Wright 2006, section 3.4). Steps that keep the equations do not see QHQ; those of equations that are dependent to rounding, which a step keeps to its tolerance only, do.
// nil stands for none, too where ctx ends first.
func (v *Solver) curved(ctx context.Context, z []float64, b *activeset.Bounds) *sparse.CSR {
	h := v.scaledHessian(z)
	if empty(h) || kkt.Semidefinite(h) {
		return h
	}
	if !v.s.Objective.Known {
		if h := raised(h); kkt.Semidefinite(h) {
			return h
		}
	}
	q := v.equations(b)
	v.count(h, q)
	v.work += int64(2 * v.s.N * v.s.N * len(reads(h)))                                  // the squares
	out, _ := await.Do(ctx, func() (*sparse.CSR, error) { return absolute(h, q), nil }) // takes seconds of systems of a thousand unknowns
	return out
}

// count adds what the eigenvectors of h along the normals of q and beside them take: vectors of length n are made orthogonal twice to those before, and of the rows of h that are not empty there are two programs of eigenvectors,
// 9 k^3 multiplications in all (Golub and Van Loan, sec. 8.3).
func (v *Solver) count(h *sparse.CSR, q *linalg.QR) {
	n, e, k := v.s.N, q.Size(), len(reads(h))
	v.work += int64(2*n*e*(e+2*k) + 9*k*k*k)
}

// raised is h, of differences, with as much curvature more as they may hide (lowest): tolerance.HalfDigits of the largest entry that a row is joined with.
func raised(h *sparse.CSR) *sparse.CSR {
	classes, top, more := sparse.NewClasses(h.Rows), make([]float64, h.Rows), make([]float64, h.Rows)
	for i := range h.Rows {
		for j := range h.Entries(i) {
			classes.Join(i, j)
		}
	}
	for i := range h.Rows {
		_, vals := h.Row(i)
		top[classes.Of(i)] = math.Max(top[classes.Of(i)], linalg.NormInf(vals))
	}
	for i := range more {
		more[i] = tolerance.HalfDigits * top[classes.Of(i)]
	}
	return sparse.Add(1, h, 1, sparse.Diagonal(more))
}

// absolute is |PhP| + |QhQ|, with P the projection on the directions that keep the normals of q, and Q = 1 - P, each O |within| O' (restricted). nil where eigenvalues are not found.
func absolute(h *sparse.CSR, q *linalg.QR) *sparse.CSR {
	n := h.Rows
	sum := mat.NewSymDense(n, nil)
	for _, keeps := range []bool{true, false} {
		o, within := restricted(h, q, keeps)
		if within == nil {
			continue
		}
		values, vectors := linalg.Eigen(within)
		if values == nil {
			return nil
		}
		top := math.Max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
		for i, l := range values {
			if values[i] = 0; math.Abs(l) > tolerance.SumRounding*float64(n)*top {
				values[i] = math.Sqrt(math.Abs(l))
			}
		}
		basis := mat.NewDense(n, o.Size(), nil)
		for i := range o.Size() {
			basis.SetCol(i, o.Column(i))
		}
		var roots mat.Dense
		for i := range values {
			for j, v := range values {
				vectors.Set(i, j, vectors.At(i, j)*v)
			}
		}
		roots.Mul(basis, vectors)
		var part mat.SymDense
		part.SymOuterK(1, &roots)
		sum.AddSym(sum, &part)
	}
	return sparse.FromDense(n, n, mat.DenseCopyOf(sum).RawMatrix().Data)
}

// restricted is h along the directions that keep the normals of q, or along those normals: with the columns O R of the projection on them at the rows of h that are not empty, of which there are few where f reads no multipliers,
// P h P = O within O'. nil where that is 0.
func restricted(h *sparse.CSR, q *linalg.QR, keeps bool) (o *linalg.QR, within *mat.SymDense) {
	reads := reads(h)
	n, k := h.Rows, len(reads)
	form := mat.NewDense(max(k, 1), max(k, 1), nil)
	for i, r := range reads {
		for j, c := range reads {
			form.Set(i, j, h.At(r, c))
		}
	}
	o = new(linalg.QR)
	o.Reset(n)
	r, coef := mat.NewDense(max(k, 1), max(k, 1), nil), make([]float64, k)
	for c, j := range reads {
		e, rest := make([]float64, n), make([]float64, n)
		e[j] = 1
		if copy(rest, e); keeps {
			project(q, e)
		} else {
			project(q, rest)
			linalg.Axpy(e, -1, rest)
		}
		left := o.Split(e, coef, rest)
		for i := range o.Size() {
			r.Set(i, c, coef[i])
		}
		if left > tolerance.SumRounding*float64(n) {
			r.Set(o.Size(), c, left)
			o.Push(coef, rest, left)
		}
	}
	if o.Size() == 0 {
		return o, nil
	}
	small := r.Slice(0, o.Size(), 0, k)
	var image mat.Dense
	image.Product(small, form, small.T())
	within = mat.NewSymDense(o.Size(), nil)
	for i := range o.Size() {
		for j := i; j < o.Size(); j++ {
			within.SetSym(i, j, (image.At(i, j)+image.At(j, i))/2)
		}
	}
	return o, within
}

// reads are the rows of h that are not empty.
func reads(h *sparse.CSR) (rows []int) {
	for i := range h.Rows {
		if cols, _ := h.Row(i); len(cols) > 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// equations are the normals of the rows and variables that a branch holds at one value.
func (v *Solver) equations(b *activeset.Bounds) *linalg.QR {
	return v.normals(func(i int) bool { return b.RowLo[i] == b.RowHi[i] }, func(j int) bool { return b.Lo[j] == b.Hi[j] })
}

// normals are those of some rows of the relaxation and of some variables, as far as they are independent.
func (v *Solver) normals(rows, variables func(k int) bool) *linalg.QR {
	var q linalg.QR
	q.Reset(v.s.N)
	normal := make([]float64, v.s.N)
	for i := range v.s.Relaxation.A.Rows {
		if rows(i) {
			clear(normal)
			v.s.Relaxation.A.AddRow(normal, i, 1)
			q.Extend(normal, tolerance.Sign*linalg.Norm(normal))
		}
	}
	for j := range normal {
		if variables(j) {
			clear(normal)
			normal[j] = 1
			q.Extend(normal, tolerance.Sign)
		}
	}
	return &q
}

// scaledHessian is the Hessian of f at z in the relaxation's units.
func (v *Solver) scaledHessian(z []float64) *sparse.CSR {
	h := v.s.Hessian(z)
	if empty(h) {
		return nil
	}
	return h.InUnits(v.s.ColScale)
}
