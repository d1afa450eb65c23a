package document

import (
	"math"
	"testing"
)

// Rows are joined by name, whatever is missing of them.
func TestConstraintRows(t *testing.T) {
	one := func(name string, data ...float64) Value {
		return Value{Name: name, Data: data, Shape: []int{len(data)}}
	}
	r := &Result{}
	r.Residuals.Constraints = Values{one("cap", -1, 0), one("low", -2)}
	r.Lower.Multipliers = Values{one("cap", 0, 3), one("low", 0)}
	r.Lower.Active = []string{"cap[2]"}
	r.Upper.Residuals = Values{one("budget", -4)}
	rows := append(r.LowerRows(), r.UpperRows()...)
	want := []ConstraintRow{{"cap", "cap[1]", -1, 0, ""}, {"cap", "cap[2]", 0, 3, "active"}, {"low", "low[1]", -2, 0, ""}, {"budget", "budget[1]", -4, math.NaN(), ""}}
	if len(rows) != len(want) {
		t.Fatalf("%d rows", len(rows))
	}
	for k, w := range want {
		got := rows[k]
		if math.IsNaN(w.Multiplier) && math.IsNaN(got.Multiplier) {
			w.Multiplier, got.Multiplier = 0, 0
		}
		if got != w {
			t.Errorf("row %d is %+v, not %+v", k, got, w)
		}
	}
}
