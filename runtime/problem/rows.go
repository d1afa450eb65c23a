package problem

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/tolerance"
)

// HasInequalities reports whether some row of the lower level is AtMost.
func (p *Problem) HasInequalities() bool {
	return slices.Contains(p.Rows.Kind, AtMost)
}

// FirstInequality is the name of the first AtMost row, or "".
func (r *Rows) FirstInequality() string {
	for i, k := range r.Kind {
		if k == AtMost {
			return r.RowName(i)
		}
	}
	return ""
}

// RowName is the name of row i for messages.
func (r *Rows) RowName(i int) string {
	if i < len(r.Name) && r.Name[i] != "" {
		return r.Name[i]
	}
	return fmt.Sprintf("row %d", i)
}

// Within takes what rounding leaves of y (len Dy) beyond bounds that do not read x off it.
func (r *Rows) Within(y []float64) {
	for i := range r.Kind {
		j, coef := r.Bound(i)
		if cols, _ := r.A.Row(i); j < 0 || len(cols) > 0 {
			continue
		}
		if end := -r.Rhs[i] / coef; coef > 0 {
			y[j] = math.Max(y[j], end)
		} else {
			y[j] = math.Min(y[j], end)
		}
	}
}

// Shortest are the multipliers (len m) that make the forces of lambda by the rows that have one there, rows scaled to length 1, and are shortest: those of rows that do not depend on each
// other are lambda's own, and what others may have besides, which nothing tells, is left out. It is the projection of lambda onto the range of B, by conjugate gradients.
func (r *Rows) Shortest(lambda []float64) []float64 {
	length, rest, least := make([]float64, len(lambda)), make([]float64, len(lambda)), 0.0 // rest is lambda without what is found
	for i, t := range lambda {
		_, vals := r.B.Row(i)
		square := 0.0
		for _, v := range vals {
			square += v * v
		}
		if t != 0 {
			length[i] = math.Sqrt(square)
			rest[i] = t * length[i]
			least += tolerance.Feasibility * rest[i] * tolerance.Feasibility * rest[i]
		}
	}
	force, way := make([]float64, r.B.Cols), make([]float64, r.B.Cols)
	forces := func() (square float64) {
		clear(force)
		for i, l := range length {
			if l > 0 {
				r.B.AddRow(force, i, rest[i]/l)
			}
		}
		for _, v := range force {
			square += v * v
		}
		return square
	}
	found, moved := make([]float64, len(lambda)), make([]float64, len(lambda))
	now, last := forces(), math.Inf(1)
	for range 2 * len(way) { // twice what it takes without rounding
		if !(now > least) {
			break
		}
		square := 0.0
		for j, v := range force {
			way[j] = v + now/last*way[j]
		}
		for i, l := range length {
			if l > 0 {
				moved[i] = r.B.RowDot(i, way) / l
				square += moved[i] * moved[i]
			}
		}
		for i, v := range moved {
			found[i] += now / square * v
			rest[i] -= now / square * v
		}
		last, now = now, forces()
	}
	for i, l := range length {
		if l > 0 {
			found[i] /= l
		}
	}
	return found
}
