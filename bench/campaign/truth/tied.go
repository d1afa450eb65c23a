package truth

import (
	"math"
	"slices"
)

// Along is v without its part along the normals of the affine set of x on which the
// equality rows of the lower level have a solution: F is defined on it alone, and its
// gradient only along it.
func (e *Evaluator) Along(v []float64) []float64 { return along(e.ties(nil), v) }

// AlongX is Along without the part along entries that X holds at one value, too: beside that
// value rows that are implied at it may be slack or active, and the gradients differ by it.
func (e *Evaluator) AlongX(v []float64) []float64 { return along(e.ties(e.heldTies()), v) }

func along(ties []tie, v []float64) []float64 {
	out := append([]float64(nil), v...)
	for _, t := range ties {
		axpy(out, -dot(t.normal, out), t.normal)
	}
	return out
}

// tie is an equation that x obeys wherever the lower level has a point: normal'x = value.
type tie struct {
	normal []float64
	value  float64
}

// ties span the combinations of equality rows that do not read y, with orthogonal normals: every other row
// minus its combination of an independent set, by the normal equations. They follow those given.
func (e *Evaluator) ties(out []tie) []tie {
	for i := range e.rows {
		r := &e.rows[i]
		if !r.Equal || slices.Contains(e.equal, i) {
			continue
		}
		k := len(e.equal)
		gram, side := make([][]float64, k), make([][]float64, k)
		for s, row := range e.equal {
			gram[s] = make([]float64, k)
			for t, other := range e.equal {
				gram[s][t] = dot(e.rows[row].C, e.rows[other].C)
			}
			side[s] = []float64{dot(e.rows[row].C, r.C)}
		}
		if k > 0 && !solve(gram, side) {
			continue
		}
		normal, value := append([]float64(nil), r.A...), r.Rhs
		size := 1.0
		for s, row := range e.equal {
			axpy(normal, -side[s][0], e.rows[row].A)
			value -= side[s][0] * e.rows[row].Rhs
			size = math.Max(size, math.Abs(side[s][0]))
		}
		for range 2 {
			for _, t := range out {
				along := dot(t.normal, normal)
				axpy(normal, -along, t.normal)
				value -= along * t.value
			}
		}
		if length := math.Sqrt(dot(normal, normal)); length > 1e-9*size {
			for j := range normal {
				normal[j] /= length
			}
			out = append(out, tie{normal, value / length})
		}
	}
	return out
}

// heldTies are the ties by which X, and rows of the lower level on x alone, hold entries of x at one value.
func (e *Evaluator) heldTies() []tie {
	var out []tie
	for j, v := range e.heldByX() {
		if v != nil {
			normal := make([]float64, e.s.Dx)
			normal[j] = 1
			out = append(out, tie{normal, float(v)})
		}
	}
	return out
}
