package exact

import "testing"

func TestFeasible(t *testing.T) {
	for name, c := range map[string]struct {
		n    int
		rows []Row
		want bool
	}{
		"nothing":                   {1, nil, true},
		"an interval":               {1, []Row{{Coef: []float64{1}, Side: 1}, {Coef: []float64{-1}, Side: -1}}, true},
		"an empty interval":         {1, []Row{{Coef: []float64{1}, Side: 1}, {Coef: []float64{-1}, Side: -1.0000000000000002}}, false},
		"0 <= -1":                   {1, []Row{{Coef: []float64{0}, Side: -1}}, false},
		"0.1 + 0.2 is not 0.3":      {2, []Row{{[]float64{1, 1}, 0.3, true}, {[]float64{1, 0}, 0.1, true}, {[]float64{0, 1}, 0.2, true}}, false},
		"a far point":               {2, []Row{{Coef: []float64{-1, 1}, Side: 0}, {Coef: []float64{1, -1.0000000001}, Side: -1}}, true},
		"dependent, consistent":     {2, []Row{{[]float64{1, 1}, 1, true}, {[]float64{3, 3}, 3, true}}, true},
		"dependent, inconsistent":   {2, []Row{{[]float64{1, 1}, 1, true}, {[]float64{3, 3}, 2, true}}, false},
		"a triangle without points": {2, []Row{{Coef: []float64{1, 1}, Side: -1}, {Coef: []float64{-1, 0}}, {Coef: []float64{0, -1}}}, false},
	} {
		if got := Feasible(c.n, c.rows); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
