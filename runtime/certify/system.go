package certify

import (
	"encoding/binary"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/runtime/tolerance"
)

// faceSystem is the linear system of a face, over independent rows,
//
//	[ H  B' ] (u)   (a)
//	[ B  0  ] (v) = (b),
//
// by components, each solved apart: a face that differs in one shares the others.
type faceSystem struct {
	h     *hessian
	index []int // the face's rows that are independent, ascending
	parts []componentSystem
	at    [][]int // positions of each part's rows in index
}

// componentSystem is the system of some rows of one component, over its entries.
type componentSystem interface {
	rows() []int // those of them that are independent, ascending
	// solve returns u (len of its entries) and v; where only their size counts they need not be refined.
	solve(a, b []float64, refined bool) (u, v []float64, err error)
	// give is how far the k-th of the rows gives way per unit of its multiplier, in the units
	// of h: about (B H^-1 B')_kk.
	give(k int) float64
	// amplification bounds how far an error of one in u, in the 2-norm, can move what
	// the rows give way by, relative to the rows' own length.
	amplification() float64
	// least is an estimate of the smallest eigenvalue of H along the rows.
	least() float64
	// known keeps the adjoints of rows, which are asked for again and again.
	known() map[int]adjoint
}

// adjoint is a solution of the system of one component.
type adjoint struct {
	u, v    []float64
	refined bool
}

// system is the system of a face of h.
func (h *hessian) system(face []int) (*faceSystem, error) {
	s := &faceSystem{h: h, parts: make([]componentSystem, len(h.comps)), at: make([][]int, len(h.comps))}
	byPart := make([][]int, len(h.comps))
	for _, i := range face {
		if cols, _ := h.p.Rows.B.Row(i); len(cols) > 0 {
			k := h.owner[cols[0]]
			byPart[k] = append(byPart[k], i)
		}
	}
	for k, rows := range byPart {
		part, err := h.componentSystem(k, rows)
		if err != nil {
			return nil, err
		}
		s.parts[k], s.index = part, append(s.index, part.rows()...)
	}
	slices.Sort(s.index)
	place := places(s.index)
	for k, part := range s.parts {
		s.at[k] = each.Of(part.rows(), func(i int) int { return place[i] })
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
	var p componentSystem
	var err error
	if h.blocks != nil {
		p, err = newDensePart(h.blocks[k], rows)
	} else {
		p, err = newBoundPart(h, k, rows)
	}
	if err != nil {
		return nil, err
	}
	// Parts are remembered in a quarter of a gigabyte at most, with the adjoints of as many rows.
	held := len(p.rows())
	size := (3*len(h.comps[k].entries) + 2*held) * held
	if h.stored += size; h.stored > tolerance.MostNumbers || h.parts == nil {
		h.parts, h.stored = map[string]componentSystem{}, size
	}
	h.parts[key] = p
	return p, nil
}

// densePart is the system of a block, factorized as H = L L' and S = B H^-1 B' or, where
// the curvatures of H are so far apart that S has lost its digits, in the space that the
// rows leave.
type densePart struct {
	b        *block
	index    []int
	lifts    []lift // of the rows
	schur    mat.Cholesky
	null     *nullSpace // instead of schur, where that has lost its digits
	adjoints map[int]adjoint
}

func (p *densePart) rows() []int            { return p.index }
func (p *densePart) least() float64         { return p.b.least }
func (p *densePart) known() map[int]adjoint { return p.adjoints }
func (p *densePart) give(k int) float64     { return p.b.pair(p.index[k], p.index[k]) }

func (p *densePart) amplification() float64 {
	switch {
	case p.null != nil:
		return math.Inf(1)
	case len(p.index) > 0:
		return p.schur.Cond()
	}
	return 1
}

func newDensePart(b *block, rows []int) (*densePart, error) {
	rows = b.independent(rows)
	part := &densePart{b: b, index: rows, lifts: each.Of(rows, b.lift), adjoints: map[int]adjoint{}}
	if len(rows) > len(b.entries) {
		return nil, errFace
	}
	if len(rows) == 0 {
		return part, nil
	}
	gram := mat.NewSymDense(len(rows), nil) // B (H + rho E'E)^-1 B'
	for k, i := range rows {
		for l, j := range rows[:k+1] {
			gram.SetSym(k, l, b.pair(i, j))
		}
	}
	// Two solves with a condition c leave (c 2^-52)^2.
	if part.schur.Factorize(gram) && part.schur.Cond() <= 1/tolerance.HalfDigits {
		return part, nil
	}
	var err error
	part.null, err = newNullSpace(b.h, b.transposed(rows))
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

func (s *faceSystem) give(k int) float64 {
	t, r := s.owner(k)
	return s.parts[t].give(r)
}

// owner is the part of the k-th row, and the row's place in it.
func (s *faceSystem) owner(k int) (t, r int) {
	cols, _ := s.h.p.Rows.B.Row(s.index[k])
	t = s.h.owner[cols[0]]
	r, _ = slices.BinarySearch(s.at[t], k)
	return t, r
}

func (s *faceSystem) amplification() float64 {
	return slices.Max(append(each.Of(s.parts, componentSystem.amplification), 1))
}

func (s *faceSystem) least() float64 {
	return slices.Min(append(each.Of(s.parts, componentSystem.least), math.Inf(1)))
}

// solve is by components; one whose right side is zero stays at zero.
func (s *faceSystem) solve(a, b []float64) (u, v []float64, err error) {
	u, v = make([]float64, len(a)), make([]float64, len(b))
	nonzero := func(v []float64, at []int) bool {
		return slices.ContainsFunc(at, func(k int) bool { return v[k] != 0 })
	}
	for t, part := range s.parts {
		entries := s.h.comps[t].entries
		if !nonzero(a, entries) && !nonzero(b, s.at[t]) {
			continue
		}
		pu, pv, err := part.solve(picked(a, entries), picked(b, s.at[t]), true)
		if err != nil {
			return nil, nil, err
		}
		s.scatter(t, pu, pv, u, v)
	}
	return u, v, nil
}

// scatter writes what is of component t to its places.
func (s *faceSystem) scatter(t int, pu, pv, u, v []float64) {
	for r, j := range s.h.comps[t].entries {
		u[j] = pu[r]
	}
	for r, k := range s.at[t] {
		v[k] = pv[r]
	}
}

// adjoint is the solution of the component of row i for what decides the row (deriver.slope), the k-th of the face where it is
// inside, and the component's number. The component keeps it; it is not to be changed.
func (s *faceSystem) adjoint(i, k int, inside, refined bool) (t int, of adjoint, err error) {
	cols, vals := s.h.p.Rows.B.Row(i)
	t = s.h.owner[cols[0]]
	part := s.parts[t]
	of.refined = refined || !s.h.direct() // products have no other solutions
	if known, ok := part.known()[i]; ok && (known.refined || !of.refined) {
		return t, known, nil
	}
	a, b := make([]float64, len(s.h.comps[t].entries)), make([]float64, len(part.rows()))
	if inside {
		_, r := s.owner(k)
		b[r] = -part.give(r)
	} else {
		for e, j := range cols {
			a[s.h.place[j]] = vals[e]
		}
	}
	if of.u, of.v, err = part.solve(a, b, of.refined); err == nil && len(part.known()) < tolerance.MostNumbers/(len(a)+len(b)) {
		part.known()[i] = of
	}
	return t, of, err
}

// solve has one step of refinement, which makes up for the squared condition of S.
func (p *densePart) solve(a, b []float64, refined bool) (u, v []float64, err error) {
	a = p.pushed(a, b)
	u, v = p.once(a, b)
	if refined {
		du, dv := p.once(p.residual(a, b, u, v))
		floats.Add(u, du)
		floats.Add(v, dv)
	}
	if !isFinite(u) || !isFinite(v) {
		return nil, nil, errFace
	}
	return u, v, nil
}

// pushed is the right side a of the system with rho E'E.
func (p *densePart) pushed(a, b []float64) []float64 {
	moved := slices.Clone(a)
	for r, i := range p.index {
		if slices.Contains(p.b.equal, i) {
			floats.AddScaled(moved, p.b.rho*b[r], p.lifts[r].normal)
		}
	}
	return moved
}

func (p *densePart) once(a, b []float64) (u, v []float64) {
	if p.null != nil {
		return p.null.solve(p.b.h, a, b)
	}
	u, v = slices.Clone(a), scaled(b, -1)
	if maxAbs(a) != 0 {
		u = factored(&p.b.factor, a)
		floats.Add(v, each.Of(p.lifts, func(l lift) float64 { return floats.Dot(l.normal, u) }))
	}
	if len(v) > 0 {
		v = factored(&p.schur, v)
	}
	for r, l := range p.lifts {
		floats.AddScaled(u, -v[r], l.solved)
	}
	return u, v
}

func (p *densePart) residual(a, b, u, v []float64) (ra, rb []float64) {
	var hu mat.VecDense
	hu.MulVec(p.b.h, mat.NewVecDense(len(u), u))
	ra, rb = slices.Clone(a), slices.Clone(b)
	floats.Sub(ra, hu.RawVector().Data)
	for r, l := range p.lifts {
		floats.AddScaled(ra, -v[r], l.normal)
		rb[r] -= floats.Dot(l.normal, u)
	}
	return ra, rb
}
