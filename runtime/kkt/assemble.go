package kkt

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/problem"
)

// assemble makes the relaxation and the pairs: rows of the lower level that bound one entry of y alone become bounds of
// that variable, as far as it has none on that side yet. It reports whether all numbers are finite in the units of the relaxation.
func (s *System) assemble() bool {
	inf := math.Inf(1)
	p := s.P
	lambda := s.Nx + s.Ny
	m := sparse.Empty(s.N)
	var b activeset.Bounds
	b.Lo, b.Hi = p.X.Boxes(s.N)
	for i, kind := range p.Rows.Kind {
		if kind == problem.AtMost {
			b.Lo[lambda+i] = 0
		}
	}
	end := func(kind OriginKind, index int, lo, hi float64) {
		m.EndRow()
		b.RowLo, b.RowHi = append(b.RowLo, lo), append(b.RowHi, hi)
		s.Origin = append(s.Origin, Origin{kind, index})
	}
	bt := p.Rows.B.T()
	for j := range s.Ny {
		appendRow(m, s.G, j, 0, 1)
		appendRow(m, s.H, j, s.Nx, 1)
		appendRow(m, bt, j, lambda, -1)
		end(Stationarity, j, -s.Q[j], -s.Q[j])
	}
	for i, kind := range p.Rows.Kind {
		_, a := p.Rows.A.Row(i)
		j, coef := p.Rows.Bound(i)
		if kind == problem.AtMost && j >= 0 && !nonzero(a) {
			v, bound := s.Nx+j, -p.Rows.Rhs[i]/coef // coef y_j >= -b_i
			if coef > 0 && math.IsInf(b.Lo[v], -1) {
				b.Lo[v] = bound
				s.Pairs = append(s.Pairs, Pair{i, Side{Row: -1, Var: v}, Side{Row: -1, Var: lambda + i}})
				continue
			}
			if coef < 0 && math.IsInf(b.Hi[v], 1) {
				b.Hi[v] = bound
				s.Pairs = append(s.Pairs, Pair{i, Side{Row: -1, Var: v, Upper: true}, Side{Row: -1, Var: lambda + i}})
				continue
			}
		}
		if kind == problem.AtMost {
			s.Pairs = append(s.Pairs, Pair{i, Side{Row: len(b.RowLo), Var: -1}, Side{Row: -1, Var: lambda + i}})
		}
		appendRow(m, p.Rows.A, i, 0, -1)
		appendRow(m, p.Rows.B, i, s.Nx, 1)
		hi := inf
		if kind == problem.Equal {
			hi = -p.Rows.Rhs[i]
		}
		end(LowerRow, i, -p.Rows.Rhs[i], hi)
	}
	for i, kind := range p.X.Kind {
		appendRow(m, p.X.E, i, 0, 1)
		lo := -inf
		if kind == problem.Equal {
			lo = p.X.Rhs[i]
		}
		end(UpperRow, i, lo, p.X.Rhs[i])
	}
	for i := range p.X.Extended.Len() {
		for j, v := range p.X.Extended.E.Entries(i) {
			if j >= s.Nx {
				j += s.Ny + s.M
			}
			m.Append(j, v)
		}
		end(ExtendedRow, i, -inf, p.X.Extended.Rhs[i])
	}
	s.coupledRows(m, end)
	s.Relaxation = &activeset.Program{N: s.N, C: make([]float64, s.N), A: m, Bounds: b}
	s.fixed = p.Fixed()
	return s.equilibrate()
}

// appendRow appends factor times row i of from to the row that is being written, columns from at on.
func appendRow(m, from *sparse.CSR, i, at int, factor float64) {
	for j, v := range from.Nonzeros(i) {
		m.Append(at+j, factor*v)
	}
}

// coupledRows appends the leader's affine constraints c <= 0 or = 0, read off the derivatives of F in their weights.
func (s *System) coupledRows(m *sparse.CSR, end func(OriginKind, int, float64, float64)) {
	if s.P.Coupled == nil {
		return
	}
	n := s.Nx + s.Ny + len(s.P.Duals)
	z, full, probe := make([]float64, s.N), make([]float64, s.N), s.probing()
	at, columns, err := problem.Affine(n, n, len(s.P.Coupled.Kind), nil, func(dst, v []float64) {
		for k, t := range v {
			z[s.place(k)] = t
		}
		_, c := probe.gradient(full, z)
		copy(dst, c)
	})
	if err != nil {
		at = make([]float64, len(s.P.Coupled.Kind)) // an affine function is finite: f alone is not, and the run says so
	}
	for i, kind := range s.P.Coupled.Kind {
		if s.curvedRow(i) {
			continue
		}
		row := make([]float64, s.N)
		for k, column := range columns {
			row[s.place(k)] = column[i]
		}
		for j, v := range row {
			if v != 0 {
				m.Append(j, v)
			}
		}
		lo := math.Inf(-1)
		if kind == problem.Equal {
			lo = -at[i]
		}
		end(CoupledRow, i, lo, -at[i])
	}
}

// ScaledObjective is a quadratic of z in the relaxation's units: Hessian and linear part.
func (s *System) ScaledObjective(q *sparse.Quadratic) (hess *sparse.CSR, lin []float64) {
	lin = make([]float64, s.N)
	for j, c := range q.Lin {
		lin[j] = c * s.ColScale[j]
	}
	if q.Hess == nil {
		return nil, lin
	}
	return q.Hess.InUnits(s.ColScale), lin
}
