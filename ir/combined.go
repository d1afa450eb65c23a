package ir

import "bilevelc/internal/sparse"

// Combined says that equality rows which nearly depend on others give way to combinations of them, which no longer do: h is exactly 0 where it was, but for one rounding of each
// coefficient of the rows as combined, and everything that is solved, proved or verified is in well-conditioned rows. Multipliers of the model's own rows are combinations of those of these.
type Combined struct {
	A, B  *sparse.CSR // the model's own rows, as in Problem
	Rhs   []float64
	Steps []Combination // one after another
}

// Combination replaces h_i of row i by scale (h_i - sum_k By_k h_k), k in Of.
type Combination struct {
	Row   int
	Of    []int
	By    []float64
	Scale float64 // a power of two
	Sine  float64 // of the angle between the row and the span of the others
}

// Multipliers are those (len Rows) of the model's own rows, or Farkas weights, of those of the combined ones.
func (c *Combined) Multipliers(lambda []float64) []float64 {
	if c == nil || lambda == nil {
		return lambda
	}
	out := append([]float64(nil), lambda...)
	for k := len(c.Steps) - 1; k >= 0; k-- {
		s := &c.Steps[k]
		out[s.Row] *= s.Scale
		for t, i := range s.Of {
			out[i] -= s.By[t] * out[s.Row]
		}
	}
	return out
}

// Weights are those (len Rows) by which a sum over multipliers of the model's own rows is one over those of the combined rows: the transpose of Multipliers.
func (c *Combined) Weights(w []float64) []float64 {
	if c == nil || w == nil {
		return w
	}
	out := append([]float64(nil), w...)
	for _, s := range c.Steps {
		for t, i := range s.Of {
			out[s.Row] -= s.By[t] * out[i]
		}
		out[s.Row] *= s.Scale
	}
	return out
}

// Own are A, B and Rhs of the rows as the model has them.
func (p *Problem) Own() (a, b *sparse.CSR, rhs []float64) {
	if c := p.Combined; c != nil {
		return c.A, c.B, c.Rhs
	}
	return p.A, p.B, p.Rhs
}
