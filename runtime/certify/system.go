package certify

import (
	"encoding/binary"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/problem"
)

// faceSystem is the linear system of a face, over independent rows,
//
//	[ H  B' ] (u)   (a)
//	[ B  0  ] (v) = (b).
type faceSystem interface {
	// rows are the face's rows that are independent, ascending.
	rows() []int
	// solve returns u (len Dy) and v (in the order of rows).
	solve(a, b []float64) (u, v []float64, err error)
	// give is how far row k gives way per unit of its multiplier, in the units
	// of h: about (B H^-1 B')_kk.
	give(k int) float64
	// spread bounds how far an error of one in u, in the 2-norm, can move what
	// the rows give way by, relative to the rows' own length.
	spread() float64
	// least is an estimate of the smallest eigenvalue of H along the face.
	least() float64
}

// system is the system of a face of h.
func (h *hessian) system(face []int) (faceSystem, error) {
	if !h.direct() {
		return newProductSystem(h, face)
	}
	return newJointSystem(h, face)
}

// jointSystem is the system by components, each factorized apart: a face that differs in
// one shares the others.
type jointSystem struct {
	h     *hessian
	index []int
	parts []componentSystem
	at    [][]int // positions of each part's rows in index
}

// componentSystem is the system of one component.
type componentSystem interface {
	local
	spread() float64
	least() float64
	// known keeps the adjoints of rows, which are asked for again and again.
	known() map[int]adjoint
}

// adjoint is a solution of the system of one component.
type adjoint struct{ u, v []float64 }

func newJointSystem(h *hessian, face []int) (*jointSystem, error) {
	s := &jointSystem{h: h, parts: make([]componentSystem, len(h.comps)), at: make([][]int, len(h.comps))}
	byPart := make([][]int, len(h.comps))
	for _, i := range face {
		if cols, _ := h.p.Rows.B.Row(i); len(cols) > 0 {
			k := h.owner[cols[0]]
			byPart[k] = append(byPart[k], i)
		}
	}
	place := make([]int, h.p.Rows.Len())
	for k, rows := range byPart {
		part, err := h.componentSystem(k, rows)
		if err != nil {
			return nil, err
		}
		s.parts[k] = part
		for _, i := range part.rows() {
			place[i] = 1
		}
	}
	for _, i := range face {
		if place[i] > 0 {
			place[i] = len(s.index)
			s.index = append(s.index, i)
		}
	}
	for k, part := range s.parts {
		for _, i := range part.rows() {
			s.at[k] = append(s.at[k], place[i])
		}
	}
	return s, nil
}

// componentSystem is that of the k-th component with the given rows held.
func (h *hessian) componentSystem(k int, rows []int) (componentSystem, error) {
	key := string(binary.AppendUvarint(nil, uint64(k)))
	for _, i := range rows {
		key = string(binary.AppendUvarint([]byte(key), uint64(i)))
	}
	if p, ok := h.parts[key]; ok {
		return p, nil
	}
	p, err := h.newPart(k, rows)
	if err == nil {
		h.keep(key, p, len(h.comps[k].entries))
	}
	return p, err
}

// densePart is the system of a block, factorized as H = L L' and S = B H^-1 B' or, where
// the curvatures of H are so far apart that S has lost its digits, in the space that the
// rows leave.
type densePart struct {
	b        *block
	index    []int
	equal    []bool // which rows are in H + rho E'E
	bt       *mat.Dense
	hinvB    *mat.Dense
	schur    mat.Cholesky
	null     *nullSpace // instead of schur, where that has lost its digits
	adjoints map[int]adjoint
}

func (p *densePart) rows() []int            { return p.index }
func (p *densePart) least() float64         { return p.b.least }
func (p *densePart) known() map[int]adjoint { return p.adjoints }
func (p *densePart) give(k int) float64     { return mat.Dot(p.bt.ColView(k), p.hinvB.ColView(k)) }

func (p *densePart) spread() float64 {
	switch {
	case p.null != nil:
		return math.Inf(1)
	case len(p.index) > 0:
		return p.schur.Cond()
	}
	return 1
}

func newDensePart(h *hessian, b *block, rows []int) (*densePart, error) {
	rows = b.independent(h.p, rows)
	part := &densePart{b: b, index: rows, adjoints: map[int]adjoint{}}
	n, k := len(b.entries), len(rows)
	if k > n {
		return nil, errFace
	}
	for _, i := range rows {
		part.equal = append(part.equal, b.rho > 0 && h.p.Rows.Kind[i] == problem.Equal && slices.Contains(b.equal, i))
	}
	if k == 0 {
		return part, nil
	}
	part.bt, part.hinvB = mat.NewDense(n, k, nil), mat.NewDense(n, k, nil)
	normals := make([][]float64, k)
	for r, i := range rows {
		normals[r] = b.row(h.p, i)
		part.bt.SetCol(r, normals[r])
		part.hinvB.SetCol(r, b.solve(i, normals[r]))
	}
	// Two solves with a condition c leave (c 2^-52)^2.
	const condition = 0x1p26
	if part.schur.Factorize(b.gram(rows, normals)) && part.schur.Cond() <= condition {
		return part, nil
	}
	var err error
	part.null, err = newNullSpace(b.h, part.bt)
	return part, err
}

// factored is the solution of U'U x = b, U the Cholesky factor, row by row. (mat's own solve takes b
// for a matrix, by rows of one entry; blas64's takes a number at a time.)
func factored(c *mat.Cholesky, b []float64) []float64 {
	x := slices.Clone(b)
	u := c.RawU().(mat.RawTriangular).RawTriangular()
	row := func(i int) []float64 { return u.Data[i*u.Stride+i+1 : i*u.Stride+u.N] }
	for i := range x {
		x[i] /= u.Data[i*u.Stride+i]
		floats.AddScaled(x[i+1:], -x[i], row(i))
	}
	for i := len(x) - 1; i >= 0; i-- {
		x[i] = (x[i] - floats.Dot(row(i), x[i+1:])) / u.Data[i*u.Stride+i]
	}
	return x
}

func (s *jointSystem) rows() []int { return s.index }

func (s *jointSystem) give(k int) float64 {
	t, r := s.owner(k)
	return s.parts[t].give(r)
}

// owner is the part of the k-th row, and the row's place in it.
func (s *jointSystem) owner(k int) (t, r int) {
	cols, _ := s.h.p.Rows.B.Row(s.index[k])
	t = s.h.owner[cols[0]]
	r, _ = slices.BinarySearch(s.at[t], k)
	return t, r
}

func (s *jointSystem) spread() float64 {
	top := 1.0
	for _, p := range s.parts {
		top = math.Max(top, p.spread())
	}
	return top
}

func (s *jointSystem) least() float64 {
	least := math.Inf(1)
	for _, p := range s.parts {
		least = math.Min(least, p.least())
	}
	return least
}

// solve is by components; one whose right side is zero stays at zero.
func (s *jointSystem) solve(a, b []float64) (u, v []float64, err error) {
	u, v = make([]float64, len(a)), make([]float64, len(b))
	nonzero := func(v []float64, at []int) bool {
		return slices.ContainsFunc(at, func(k int) bool { return v[k] != 0 })
	}
	for t, part := range s.parts {
		entries := s.h.comps[t].entries
		if !nonzero(a, entries) && !nonzero(b, s.at[t]) {
			continue
		}
		pa, pb := make([]float64, len(entries)), make([]float64, len(s.at[t]))
		for r, j := range entries {
			pa[r] = a[j]
		}
		for r, k := range s.at[t] {
			pb[r] = b[k]
		}
		pu, pv, err := part.solve(pa, pb)
		if err != nil {
			return nil, nil, err
		}
		s.spreadOut(t, pu, pv, u, v)
	}
	return u, v, nil
}

// spreadOut writes what is of component t to its places.
func (s *jointSystem) spreadOut(t int, pu, pv, u, v []float64) {
	for r, j := range s.h.comps[t].entries {
		u[j] = pu[r]
	}
	for r, k := range s.at[t] {
		v[k] = pv[r]
	}
}

// adjoint is the solution for what decides row i, the k-th of the face where it is inside (deriver.decides),
// and its component, which alone takes part and keeps it. It is not to be changed.
func (s *jointSystem) adjoint(i, k int, inside bool) (t int, a adjoint, err error) {
	cols, vals := s.h.p.Rows.B.Row(i)
	t = s.h.owner[cols[0]]
	part := s.parts[t]
	if a, ok := part.known()[i]; ok {
		return t, a, nil
	}
	pa, pb := make([]float64, len(s.h.comps[t].entries)), make([]float64, len(s.at[t]))
	if inside {
		_, r := s.owner(k)
		pb[r] = -part.give(r)
	} else {
		for c, j := range cols {
			pa[s.h.place[j]] += vals[c]
		}
	}
	if a.u, a.v, err = part.solve(pa, pb); err != nil {
		return t, adjoint{}, err
	}
	part.known()[i] = a
	return t, a, nil
}

// solve has one step of refinement, which makes up for the squared condition of S.
func (p *densePart) solve(a, b []float64) (u, v []float64, err error) {
	// The right side of the system with rho E'E.
	for r, equal := range p.equal {
		if equal && b[r] != 0 {
			a = slices.Clone(a)
			for j := range a {
				a[j] += p.b.rho * p.bt.At(j, r) * b[r]
			}
		}
	}
	u, v = p.once(a, b)
	ra, rb := p.residual(a, b, u, v)
	du, dv := p.once(ra, rb)
	for j, t := range du {
		u[j] += t
	}
	for k, t := range dv {
		v[k] += t
	}
	if !isFinite(u) || !isFinite(v) {
		return nil, nil, errFace
	}
	return u, v, nil
}

func (p *densePart) once(a, b []float64) (u, v []float64) {
	n := len(a)
	if p.null != nil {
		return p.null.solve(p.b.h, a, b)
	}
	w := mat.NewVecDense(n, factored(&p.b.factor, a))
	if len(b) == 0 {
		return w.RawVector().Data, nil
	}
	var rhs, back mat.VecDense
	rhs.MulVec(p.bt.T(), w)
	rhs.SubVec(&rhs, mat.NewVecDense(len(b), b))
	multipliers := factored(&p.schur, rhs.RawVector().Data)
	back.MulVec(p.hinvB, mat.NewVecDense(len(multipliers), multipliers))
	w.SubVec(w, &back)
	return w.RawVector().Data, multipliers
}

func (p *densePart) residual(a, b, u, v []float64) (ra, rb []float64) {
	var hu mat.VecDense
	uv := mat.NewVecDense(len(u), u)
	hu.MulVec(p.b.h, uv)
	ra = make([]float64, len(a))
	for j := range ra {
		ra[j] = a[j] - hu.AtVec(j)
	}
	if len(b) == 0 {
		return ra, nil
	}
	var btv, bu mat.VecDense
	btv.MulVec(p.bt, mat.NewVecDense(len(v), v))
	bu.MulVec(p.bt.T(), uv)
	rb = make([]float64, len(b))
	for j := range ra {
		ra[j] -= btv.AtVec(j)
	}
	for i := range rb {
		rb[i] = b[i] - bu.AtVec(i)
	}
	return ra, rb
}
