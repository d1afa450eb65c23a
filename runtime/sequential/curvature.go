package sequential

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// lower is the follower's objective at a point to second order: grad_y g, H = d2g/dy2 and G = d2g/dydx.
type lower struct {
	grad []float64   // len Dy
	h    *sparse.CSR // Dy x Dy, symmetric
	g    *sparse.CSR // Dy x Dx; nil where only H was asked for
}

// followerAt differences grad_y g at (x, y), in y and, where mixed is set, in x; fine differences are extrapolated: their errors are those of rounding.
func (v *Solver) followerAt(x, y []float64, mixed, fine bool) (_ *lower, err error) {
	defer must.Catch(&err)
	p := v.p
	out := &lower{grad: make([]float64, p.Dy)}
	p.G.GradY(out.grad, x, y)
	if !linalg.Finite(out.grad) {
		return nil, ErrNotFinite
	}
	out.h = must.Get(v.jacobian(y, func(dst, at []float64) { p.G.GradY(dst, x, at) }, v.groups, fine, v.affineColumns(x, y, p.Dx)))
	out.h = symmetric(out.h)
	if v.mayTie() {
		out.h = told(out.h, out.grad, kkt.Units(y))
	}
	if mixed {
		out.g, err = v.jacobian(x, func(dst, at []float64) { p.G.GradY(dst, at, y) }, nil, fine, v.affineColumns(x, y, 0))
	}
	return out, err
}

// affineColumns gives the derivatives of grad_y g in entries of (x, y), counted from one on, along which g is affine, so that they are the same everywhere, to rounding; nil for others. (x, y) is a point at which g is finite.
func (v *Solver) affineColumns(x, y []float64, first int) func(j int) []float64 {
	p, from := v.p, slices.Concat(x, y)
	for k := range from {
		if p.Facts.AffineAlong(k) {
			from[k] = 0
		}
	}
	if v.columns == nil {
		v.columns = make([][]float64, p.Dx+p.Dy)
	}
	var g problem.Function
	var at []float64
	return func(j int) []float64 {
		if j += first; !p.Facts.AffineAlong(j) {
			return nil
		}
		if v.columns[j] == nil {
			if at == nil {
				g, at = problem.Probe(p.G), make([]float64, p.Dy)
				g.GradY(at, from[:p.Dx], from[p.Dx:])
			}
			column := make([]float64, p.Dy)
			if problem.Along(column, []float64{1}, at, func(dst, t []float64) {
				z := slices.Clone(from)
				z[j] = t[0]
				g.GradY(dst, z[:p.Dx], z[p.Dx:])
			}) != nil {
				return nil
			}
			v.columns[j] = column
		}
		return v.columns[j]
	}
}

// told is H without the entries that differences do not tell from 0: by the lengths on which entries of y vary, against the largest of them and the terms of grad_y g. Directions in which g does not
// curve are to have none.
func told(h *sparse.CSR, grad, unit []float64) *sparse.CSR {
	top := stiffness(h, grad, unit)
	entries := make([]sparse.Entry, 0, h.NNZ())
	for i := range h.Rows {
		for j, v := range h.Entries(i) {
			if math.Abs(v)*unit[i]*unit[j]*certain > top {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
			}
		}
	}
	return sparse.FromEntries(h.Rows, h.Cols, entries)
}

// stiffness is the largest entry of H and of grad_y g, by the lengths on which entries of y vary.
func stiffness(h *sparse.CSR, grad, unit []float64) (top float64) {
	for i, g := range grad {
		top = math.Max(top, math.Abs(g)*unit[i])
		for j, v := range h.Entries(i) {
			top = math.Max(top, math.Abs(v)*unit[i]*unit[j])
		}
	}
	return top
}

// errDecomposition says that the eigenvalues of a matrix were not found.
var errDecomposition = errors.New("the eigenvalues of the follower's Hessian were not found")

// rank takes what differences leave of H and G along the directions in which the follower's answers may go on out of pt.lower: those that keep the rows that hold with a positive multiplier (strong), and in
// which H is not told from 0. They are kept to rounding then: H d = 0 says which they are, where rounding of H would leave none, and d'G = 0 that answers go on at each x.
func (v *Solver) rank(pt *point, strong []bool) error {
	n, m, h := v.p.Dy, v.p.Dx, pt.lower.h
	length := math.Max(1, linalg.NormInf(pt.y)) // one unit for all: with several, rounding of the one would be more than the other
	unit := slices.Repeat([]float64{length}, n)
	told := 100 / certain * stiffness(h, pt.lower.grad, unit) // a margin of a hundred on what differences leave
	least := told / (length * length)
	var q linalg.QR // of the rows
	q.Reset(n)
	rows := v.p.Rows
	for i, kind := range rows.Kind {
		if kind != problem.Equal && !strong[i] || q.Size() == n {
			continue
		}
		row := make([]float64, n)
		rows.B.AddRow(row, i, 1)
		q.Extend(row, tolerance.Sign*linalg.Norm(row))
	}
	across := func(d []float64) { // takes the part of d in the span of the rows out
		c := make([]float64, q.Size())
		q.Coordinates(c, d)
		q.AddScaled(d, -1, c)
	}
	// P H P + top (I - P), P the projection onto what the rows leave; top is no larger than that takes, since eigenvectors have its rounding.
	a, top := mat.NewSymDense(max(n, 1), nil), 2*math.Max(least, linalg.NormInf(h.Val))
	image := make([]float64, n)
	for j := range n {
		axis := make([]float64, n)
		axis[j] = 1
		across(axis)
		h.MulVec(image, axis)
		across(image)
		for i := range j + 1 {
			t := image[i] - top*axis[i]
			if i == j {
				t += top
			}
			a.SetSym(i, j, t)
		}
	}
	values, vectors := linalg.Eigen(a)
	if values == nil {
		return errDecomposition
	}
	out, mixed := h.Dense(), pt.lower.g.Dense()
	slopes, xunit := make([]float64, m), kkt.Units(pt.x)
	for k, t := range values {
		if t > least || n == 0 {
			continue
		}
		d := each.Below(n, func(i int) float64 { return vectors.At(i, k) })
		across(d)
		size := linalg.Norm(d)
		for i := range d {
			d[i] /= size
		}
		// (I - d d') H (I - d d')
		for i := range n {
			image[i] = linalg.Dot(out[i*n:(i+1)*n], d)
		}
		along := linalg.Dot(image, d)
		clear(slopes)
		for i := range n {
			for j := range n {
				out[i*n+j] += along*d[i]*d[j] - image[i]*d[j] - d[i]*image[j]
			}
			linalg.Axpy(slopes, d[i], mixed[i*m:(i+1)*m])
		}
		for j, t := range slopes {
			if math.Abs(t)*length*xunit[j] > told {
				slopes[j] = 0
			}
		}
		for i := range n {
			linalg.Axpy(mixed[i*m:(i+1)*m], -d[i], slopes)
		}
	}
	// Each H d, and each d'G, has the rounding of n products, and that of d, which solves its equations to rounding of the matrix whose eigenvector it is, top; the directions are orthonormal: what that leaves of an entry that was 0
	// is at most this (Cauchy and Schwarz). It would join entries of y, or x to them, that nothing joins, and give them a curvature that says nothing of how long they are.
	settle := func(out []float64, was *sparse.CSR, size float64) {
		rounding := 2 * math.Sqrt(float64(n)) * float64(n) * 0x1p-52 * size
		for k, t := range out {
			if math.Abs(t) <= rounding && was.At(k/was.Cols, k%was.Cols) == 0 {
				out[k] = 0
			}
		}
	}
	settle(out, h, top)
	settle(mixed, pt.lower.g, linalg.NormInf(pt.lower.g.Val))
	pt.lower.h, pt.lower.g = symmetric(sparse.FromDense(n, n, out)), sparse.FromDense(n, m, mixed)
	return nil
}

// jacobian differences a map into Dy numbers at a point, but for columns that are known. The entries of a group move at once: entries of independent followers, whose rows do not mix.
func (v *Solver) jacobian(at []float64, eval func(dst, at []float64), groups [][]int, fine bool, known func(j int) []float64) (_ *sparse.CSR, err error) {
	defer must.Catch(&err)
	d := kkt.NewDifferences(at, kkt.Units(at), v.p.Dy, kkt.FirstStep, eval)
	along := d.Along
	if fine {
		along = func(dst []float64, places []int, values []float64) error {
			_, err := d.Extrapolated(dst, places, values)
			return err
		}
	}
	difference, entries := make([]float64, v.p.Dy), []sparse.Entry{}
	for j := range at {
		if groups != nil {
			break
		}
		column := known(j)
		if column == nil {
			column = difference
			must.Do(along(column, []int{j}, []float64{1}))
		}
		for i, t := range column {
			if t != 0 {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: t})
			}
		}
	}
	for _, group := range groups {
		steps := linalg.Gather(d.Unit, group)
		must.Do(along(difference, group, steps))
		for k, j := range group {
			for _, i := range v.followers[v.owner[j]] {
				if t := difference[i]; t != 0 {
					entries = append(entries, sparse.Entry{Row: i, Col: j, Val: t / steps[k]})
				}
			}
		}
	}
	return sparse.FromEntries(v.p.Dy, len(at), entries), nil
}

// groupsOf are sets of entries of y of which no two belong to one follower; nil where there is one follower.
func groupsOf(blocks [][]int) (groups [][]int) {
	if len(blocks) < 2 {
		return nil
	}
	for _, block := range blocks {
		for k, j := range block {
			if k == len(groups) {
				groups = append(groups, nil)
			}
			groups[k] = append(groups[k], j)
		}
	}
	return groups
}

// weights are the multipliers that the Lagrangian of the leader's problem has at a point.
type weights struct {
	adjoint []float64 // len Dy: of the follower's stationarity
	rows    []float64 // of the constraints
	// Of what keeps x, where it is known: bounds (len Dx), rows of X and of its extended formulation; and the size of the largest, in units of x.
	bound, upper, extended []float64
	size                   float64
}

// gradients are the differences of the gradient of the Lagrangian
//
//	f - adjoint'grad_y g + rows'c
//
// in (x, y, the multipliers that f reads). grad_(x,y) (adjoint'grad_y g) is itself the derivative of grad g along the adjoint; failed says that one of those was not found.
func (v *Solver) gradients(pt *point, w *weights) (d *kkt.Differences, failed *error) {
	p := v.p
	n := p.Dx + p.Dy + len(p.Duals)
	at := each.Below(n, func(j int) float64 { return v.entry(pt, j) })
	units := append(append(kkt.Units(at[:p.Dx]), kkt.Units(at[p.Dx:p.Dx+p.Dy])...), kkt.Units(at[p.Dx+p.Dy:])...)
	var places []int
	var values []float64
	if !p.Facts.JointlyQuadratic {
		places, values = nonzeros(w.adjoint)
	}
	mixed, answer := make([]float64, p.Dx+p.Dy), make([]float64, p.AnswerLen())
	gx, ga := make([]float64, p.Dx), make([]float64, len(answer))
	failed = new(error)
	step := kkt.FirstStep
	if len(places) > 0 {
		step = kkt.SecondStep
	}
	return kkt.NewDifferences(at, units, n, step, func(dst, z []float64) {
		x, y := z[:p.Dx], z[p.Dx:p.Dx+p.Dy]
		copy(answer, z[p.Dx:])
		copy(answer[p.Dy+len(p.Duals):], w.rows[:v.coupled])
		p.F.ValueGrad(gx, ga, x, answer)
		copy(dst, gx)
		copy(dst[p.Dx:], ga[:p.Dy+len(p.Duals)])
		v.ballGradient(dst, x, w.rows[v.coupled:])
		if len(places) > 0 {
			along := kkt.NewDifferences(y, units[p.Dx:p.Dx+p.Dy], len(mixed), kkt.SecondStep, func(dst, y []float64) {
				p.G.ValueGrad(dst[:p.Dx], dst[p.Dx:], x, y)
			})
			if err := along.Along(mixed, places, values); err != nil {
				*failed = err
			}
			for j, t := range mixed {
				dst[j] -= t
			}
		}
	}), failed
}

// nonzeros are the entries of a vector that are not 0.
func nonzeros(v []float64) (places []int, values []float64) {
	places = each.WhereBelow(len(v), func(j int) bool { return v[j] != 0 })
	return places, linalg.Gather(v, places)
}

// lagrangian is the whole Hessian of the Lagrangian, entry by entry, but for those of entries that are held.
func (v *Solver) lagrangian(pt *point, w *weights) (*sparse.CSR, error) {
	d, failed := v.gradients(pt, w)
	n, entries := len(d.At), []sparse.Entry{}
	column, held := make([]float64, n), v.p.Held(pt.x)
	for j := range n {
		if slices.Contains(held, j) {
			continue
		}
		err := d.Along(column, []int{j}, []float64{1})
		if err == nil {
			err = *failed
		}
		if err != nil {
			return nil, err
		}
		for i, t := range column {
			if t != 0 {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: t})
			}
		}
	}
	return symmetric(sparse.FromEntries(n, n, entries)), nil
}

// Products are G'a and H a at a point, and bounds of the errors of their entries: of the multipliers' residual, which H and G themselves would hide their own errors from.
func (v *Solver) Products(x, y, a []float64) (gx, hy, errors []float64, err error) {
	p := v.p
	both := make([]float64, p.Dx+p.Dy)
	places, values := nonzeros(a)
	d := kkt.NewDifferences(y, kkt.Units(y), len(both), kkt.FirstStep, func(dst, y []float64) { p.G.ValueGrad(dst[:p.Dx], dst[p.Dx:], x, y) })
	errors, err = d.Extrapolated(both, places, values)
	return both[:p.Dx], both[p.Dx:], errors, err
}

func symmetric(m *sparse.CSR) *sparse.CSR { return sparse.Add(0.5, m, 0.5, m.T()) }
