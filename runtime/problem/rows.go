package problem

import (
	"fmt"
	"math"
	"slices"
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
