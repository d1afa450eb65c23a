package kkt

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

// AtX is the system with z's x, every entry of which is a number there: nothing joins followers that share entries of x alone, so that its Parts are those of the follower.
// Of the multipliers of its points those of x are not those of s (TakeX).
func (s *System) AtX(z []float64) *System {
	out, p, from, relaxation := *s, *s.P, s.Relaxation, *s.Relaxation
	set := *s.P.X
	set.Lo, set.Hi = s.X(z), s.X(z)
	p.X, p.Rows, p.Integer = &set, s.rowsAt(z), nil
	out.P, out.Relaxation, out.fixed = &p, &relaxation, s.X(z)
	relaxation.A, relaxation.Bounds = sparse.Empty(s.N), activeset.Bounds{}
	s.Bounds(&relaxation.Bounds, nil)
	b, held := &relaxation.Bounds, make([]bool, s.N)
	for j := range s.Nx {
		held[j] = true
		b.Lo[j] = z[j] / s.ColScale[j]
		b.Hi[j] = b.Lo[j]
	}
	for r, o := range s.Origin {
		if o.Kind == UpperRow {
			b.RowLo[r], b.RowHi[r] = math.Inf(-1), math.Inf(1)
			relaxation.A.EndRow()
			continue
		}
		b.RowLo[r], b.RowHi[r] = s.rowAt(relaxation.A, r, z, s.Nx, s.N, 0, from.RowLo[r], from.RowHi[r])
	}
	out.G, out.Q = sparse.FromEntries(s.Ny, s.Nx, nil), make([]float64, s.Ny)
	for j := range out.Q {
		out.Q[j] = s.Q[j] + s.G.RowDot(j, s.X(z))
	}
	out.Objective = out.objectiveAt(s.Objective, z, held, 1)
	return &out
}

// TakeX gives what multipliers leave of f's gradient in x to its bounds, where each entry is held at z's.
func (s *System) TakeX(m *Multipliers, z []float64) {
	left, _ := s.left(m, z, nil, nil)
	floats.Add(m.Bound, left[:s.Nx])
}
