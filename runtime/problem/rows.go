package problem

import (
	"fmt"
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
