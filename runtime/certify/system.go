package certify

import (
	"errors"
	"math"

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

// system is the linear system of a face of h.
func (h *hessian) system(face []int) (faceSystem, error) {
	if h.blocks == nil {
		return newProductSystem(h, face)
	}
	return newDenseSystem(h, face)
}

// denseSystem is the system by blocks, each factorized as H = L L' and
// S = B H^-1 B' or, where the curvatures of H are so far apart that S has lost its
// digits, in the space that the rows leave.
type denseSystem struct {
	h     *hessian
	index []int
	parts []densePart
	way   []float64
	cond  float64
}

type densePart struct {
	b     *block
	at    []int // positions in index
	bt    *mat.Dense
	hinvB *mat.Dense
	schur mat.Cholesky
	null  *nullSpace // instead of schur, where that has lost its digits
}

func newDenseSystem(h *hessian, face []int) (*denseSystem, error) {
	s := &denseSystem{h: h, cond: 1}
	byBlock := make([][]int, len(h.blocks))
	owner := make(map[int]int, h.p.Dy)
	for k, b := range h.blocks {
		for _, j := range b.entries {
			owner[j] = k
		}
	}
	for _, i := range face {
		if cols, _ := h.p.Rows.B.Row(i); len(cols) > 0 {
			k := owner[cols[0]]
			byBlock[k] = append(byBlock[k], i)
		}
	}
	keep := map[int]bool{}
	for k, rows := range byBlock {
		if byBlock[k] = h.blocks[k].independent(h.p, rows); len(byBlock[k]) > len(h.blocks[k].entries) {
			return nil, errFace
		}
		for _, i := range byBlock[k] {
			keep[i] = true
		}
	}
	place := map[int]int{}
	for _, i := range face {
		if keep[i] {
			place[i] = len(s.index)
			s.index = append(s.index, i)
		}
	}
	s.way = make([]float64, len(s.index))
	for k, rows := range byBlock {
		part, err := newDensePart(h, h.blocks[k], rows)
		if err != nil {
			return nil, err
		}
		for r, i := range rows {
			part.at = append(part.at, place[i])
			s.way[place[i]] = mat.Dot(part.bt.ColView(r), part.hinvB.ColView(r))
		}
		switch {
		case part.null != nil:
			s.cond = math.Inf(1)
		case len(rows) > 0:
			s.cond = math.Max(s.cond, part.schur.Cond())
		}
		s.parts = append(s.parts, *part)
	}
	return s, nil
}

func newDensePart(h *hessian, b *block, rows []int) (*densePart, error) {
	part := &densePart{b: b}
	n, k := len(b.entries), len(rows)
	if k == 0 {
		return part, nil
	}
	part.bt, part.hinvB = mat.NewDense(n, k, nil), mat.NewDense(n, k, nil)
	for r, i := range rows {
		row := b.row(h.p, i)
		part.bt.SetCol(r, row)
		solved, ok := b.solved[i]
		if !ok {
			var w mat.VecDense
			if err := b.factor.SolveVecTo(&w, mat.NewVecDense(n, row)); err != nil && !isCondition(err) {
				return nil, errCurvature
			}
			solved = w.RawVector().Data
			b.solved[i] = solved
		}
		part.hinvB.SetCol(r, solved)
	}
	var product mat.Dense
	product.Mul(part.bt.T(), part.hinvB)
	sym := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			sym.SetSym(i, j, (product.At(i, j)+product.At(j, i))/2)
		}
	}
	// Two solves with a condition c leave (c 2^-52)^2.
	const condition = 0x1p26
	if part.schur.Factorize(sym) && part.schur.Cond() <= condition {
		return part, nil
	}
	var err error
	part.null, err = newNullSpace(b.h, part.bt)
	return part, err
}

// isCondition reports a warning about conditioning: the solution is there, and
// refinement improves it.
func isCondition(err error) bool {
	var c mat.Condition
	return errors.As(err, &c)
}

func (s *denseSystem) rows() []int        { return s.index }
func (s *denseSystem) give(k int) float64 { return s.way[k] }
func (s *denseSystem) spread() float64    { return s.cond }

func (s *denseSystem) least() float64 {
	least := math.Inf(1)
	for _, p := range s.parts {
		least = math.Min(least, p.b.least)
	}
	return least
}

// solve is by blocks, with one step of refinement, which makes up for the
// squared condition of S.
func (s *denseSystem) solve(a, b []float64) (u, v []float64, err error) {
	u, v = make([]float64, len(a)), make([]float64, len(b))
	for i := range s.parts {
		part := &s.parts[i]
		pa, pb := make([]float64, len(part.b.entries)), make([]float64, len(part.at))
		for r, j := range part.b.entries {
			pa[r] = a[j]
		}
		for r, k := range part.at {
			pb[r] = b[k]
		}
		// The right side of the system with rho E'E.
		if part.b.rho > 0 {
			for r, k := range part.at {
				if s.h.p.Rows.Kind[s.index[k]] == problem.Equal && contains(part.b.equal, s.index[k]) {
					for j := range pa {
						pa[j] += part.b.rho * part.bt.At(j, r) * pb[r]
					}
				}
			}
		}
		pu, pv := part.once(pa, pb)
		ra, rb := part.residual(pa, pb, pu, pv)
		du, dv := part.once(ra, rb)
		for r, j := range part.b.entries {
			u[j] = pu[r] + du[r]
		}
		for r, k := range part.at {
			v[k] = pv[r] + dv[r]
		}
	}
	if !isFinite(u) || !isFinite(v) {
		return nil, nil, errFace
	}
	return u, v, nil
}

func contains(list []int, i int) bool {
	for _, v := range list {
		if v == i {
			return true
		}
	}
	return false
}

func (p *densePart) once(a, b []float64) (u, v []float64) {
	n := len(a)
	if p.null != nil {
		return p.null.solve(p.b.h, a, b)
	}
	var w mat.VecDense
	// Errors of these solves are warnings about conditioning (see isCondition).
	_ = p.b.factor.SolveVecTo(&w, mat.NewVecDense(n, a))
	if len(b) == 0 {
		return w.RawVector().Data, nil
	}
	var rhs, multipliers, back mat.VecDense
	rhs.MulVec(p.bt.T(), &w)
	rhs.SubVec(&rhs, mat.NewVecDense(len(b), b))
	_ = p.schur.SolveVecTo(&multipliers, &rhs)
	back.MulVec(p.hinvB, &multipliers)
	w.SubVec(&w, &back)
	return w.RawVector().Data, multipliers.RawVector().Data
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
