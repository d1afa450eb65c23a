package truth

import "math"

// Along is v without its part along the normals of the affine set of x on which the
// equality rows of the lower level have a solution: F is defined on it alone, and its
// gradient only along it.
func (e *Evaluator) Along(v []float64) []float64 {
	out := append([]float64(nil), v...)
	for _, n := range e.normals() {
		axpy(out, -dot(n, out), n)
	}
	return out
}

// normals span the combinations of equality rows that do not read y: every other row
// minus its combination of an independent set, by the normal equations.
func (e *Evaluator) normals() [][]float64 {
	var out [][]float64
	for i := range e.rows {
		r := &e.rows[i]
		if !r.equal || contains(e.equal, i) {
			continue
		}
		k := len(e.equal)
		gram, side := make([][]float64, k), make([][]float64, k)
		for s, row := range e.equal {
			gram[s] = make([]float64, k)
			for t, other := range e.equal {
				gram[s][t] = dot(e.rows[row].c, e.rows[other].c)
			}
			side[s] = []float64{dot(e.rows[row].c, r.c)}
		}
		if k > 0 && !solve(gram, side) {
			continue
		}
		normal := append([]float64(nil), r.a...)
		size := 1.0
		for s, row := range e.equal {
			axpy(normal, -side[s][0], e.rows[row].a)
			size = math.Max(size, abs(side[s][0]))
		}
		for range 2 {
			for _, n := range out {
				axpy(normal, -dot(n, normal), n)
			}
		}
		if length := math.Sqrt(dot(normal, normal)); length > 1e-9*size {
			for j := range normal {
				normal[j] /= length
			}
			out = append(out, normal)
		}
	}
	return out
}
