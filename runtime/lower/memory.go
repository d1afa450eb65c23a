package lower

import (
	"fmt"
	"sync"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Memory is what gradient differences have shown of a Hessian H of g in y that
// is proved to be the same at every x (Curvature.Fixed). A Solution carries it
// to the next solve, as recycled Krylov methods do (Parks, de Sturler, Mackey,
// Johnson, Maiti 2006), which asks only for the products that are still
// missing. It is immutable, and the results of a solve depend on it: what is
// to be repeated bit for bit keeps it. Written encodes without loss.
type Memory struct {
	N int // len Dy
	// Orthonormal directions and their products with H, k x N each, row-major;
	// empty where the whole of H is known.
	V, HV []float64
	// Packed is the upper triangle of H row by row, N (N+1) / 2, of a memory that is or was written down (Written); or empty.
	Packed []float64
	// Entries are those of H at the places of problem.Facts.HessianPattern, or
	// none: what a sparse solve measured, of use to sparse solves alone.
	Entries []float64
	// Near says that H is not the same at every x: it was measured, whole, at a point near
	// by, and Steps have been taken with it since.
	Near  bool
	Steps int

	square  []float64 // H, n x n, which denseHessian takes over at the first call of unpacked; nil where Packed is not empty, or only a part of H is known
	once    sync.Once
	hessian *denseHessian
}

// Fits reports what keeps a memory, which may be nil, from being one of p.
func (m *Memory) Fits(p *problem.Problem) error {
	if m != nil && !m.of(p.Dy) {
		return fmt.Errorf("curvature that is not of %d entries of y", p.Dy)
	}
	return nil
}

// of reports that the memory, or an empty one, is of n entries of y.
func (m *Memory) of(n int) bool {
	empty := len(m.V) == 0 && len(m.HV) == 0 && len(m.Packed) == 0
	return empty || m.N == n && len(m.V) == len(m.HV) && len(m.V)%n == 0 && len(m.V) <= n*n &&
		(len(m.Packed) == 0 || len(m.Packed) == n*(n+1)/2)
}

// stepped is a memory with one more step.
func (m *Memory) stepped() *Memory {
	next := &Memory{N: m.N, Packed: m.Packed, square: m.square, Near: m.Near, Steps: m.Steps + 1}
	next.once.Do(func() { next.hessian = m.unpacked(0) })
	return next
}

// Complete reports whether all of H is known.
func (m *Memory) Complete() bool { return m != nil && (len(m.Packed) > 0 || len(m.square) > 0) }

// Upper is the upper triangle of an H that is known whole, as in Packed, shared.
func (m *Memory) Upper() []float64 {
	if len(m.Packed) > 0 {
		return m.Packed
	}
	h, packed := m.unpacked(0), make([]float64, 0, m.N*(m.N+1)/2)
	for i := range m.N {
		for j := i; j < m.N; j++ {
			packed = append(packed, h.at(j, i))
		}
	}
	return packed
}

// Written is the memory, which may be nil, with all that encoding keeps.
func (m *Memory) Written() *Memory {
	switch {
	case m == nil:
		return nil
	case len(m.square) > 0:
		return &Memory{N: m.N, Packed: m.Upper(), Near: m.Near, Steps: m.Steps}
	}
	return m
}

// remember makes a memory of the symmetric part of the matrix h, n x n. It keeps h.
func remember(n int, h []float64) *Memory {
	linalg.Symmetrize(n, h)
	return &Memory{N: n, square: h[:n*n]}
}

// unpacked is H with its factors, made at the first call, for an objective of a modulus mu (0: not known), which does not show in them;
// nil where only a part of H is known.
func (m *Memory) unpacked(mu float64) *denseHessian {
	if !m.Complete() {
		return nil
	}
	m.once.Do(func() {
		h := m.square
		if h == nil {
			h = linalg.Unpack(m.N, m.Packed)
		}
		m.hessian = newDenseHessian(m.N, h, mu)
	})
	return m.hessian
}
