package lower

import (
	"math"
	"math/rand/v2"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Holds reports whether a memory of another problem, with other numbers, is one of p:
// whether two gradients of g, of which p.Facts say that it is quadratic in y with a
// Hessian that is the same everywhere, differ along a random direction by what the
// memory says, to within the rounding of the gradients. A symmetric matrix other than
// H misses H d for almost every d, by more than that where y would feel it: the step is
// as long as y is. The memory fits p (Fits). Memories of sparse solves are not looked at.
func (m *Memory) Holds(p *problem.Problem, x, y []float64) bool {
	if m == nil || !p.Facts.QuadraticInY || !p.Facts.FixedHessian {
		return false
	}
	parts, blocks := []*Memory{m}, [][]int{each.Number(p.Dy)}
	if len(m.Parts) > 0 {
		parts, blocks = m.Parts, p.Blocks
	}
	d, hd := make([]float64, p.Dy), make([]float64, p.Dy)
	rng := rand.New(rand.NewPCG(uint64(p.Dy), 0x686f6c6473)) // "holds"
	for k, part := range parts {
		if !part.probe(rng, d, hd, blocks[k]) {
			return false
		}
	}
	length := linalg.Norm(y)
	if length == 0 {
		length = 1
	}
	t := length / linalg.Norm(d)
	near, far, moved := make([]float64, p.Dy), make([]float64, p.Dy), append([]float64(nil), y...)
	linalg.Axpy(moved, t, d)
	p.G.GradY(near, x, y)
	p.G.GradY(far, x, moved)
	size := linalg.Norm(near) + linalg.Norm(far) + t*linalg.Norm(hd)
	linalg.Axpy(far, -1, near)
	linalg.Axpy(far, -t, hd)
	// Each of two gradients and a product is a sum of Dy terms an entry.
	return linalg.Norm(far) <= 3*float64(p.Dy)*tolerance.Roundoff*size
}

// probe sets, at the entries of a block, d to a random direction of those
// that the memory knows and hd to the product with it; false where it knows none.
func (m *Memory) probe(rng *rand.Rand, d, hd []float64, block []int) bool {
	if m == nil || m.N == 0 || m.Near {
		return false
	}
	n := m.N
	switch {
	case m.Complete():
		for _, j := range block {
			d[j] = rng.NormFloat64()
		}
		k, upper := 0, m.Upper()
		for a, i := range block {
			for _, j := range block[a:] {
				hd[i] += upper[k] * d[j]
				if j > i {
					hd[j] += upper[k] * d[i]
				}
				k++
			}
		}
	case len(m.V) > 0:
		for r := 0; r < len(m.V); r += n {
			weight := rng.NormFloat64()
			for a, j := range block {
				d[j] += weight * m.V[r+a]
				hd[j] += weight * m.HV[r+a]
			}
		}
	default:
		return false
	}
	return !math.IsNaN(linalg.Norm(hd))
}
