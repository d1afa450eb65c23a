package exact

import "testing"

type row struct {
	coef  []float64
	side  float64
	equal bool
}

// Whether some z satisfies all rows, exactly as their doubles stand.
func TestFeasible(t *testing.T) {
	for name, c := range map[string]struct {
		n    int
		rows []row
		want bool
	}{
		"nothing":                   {1, nil, true},
		"an interval":               {1, []row{{coef: []float64{1}, side: 1}, {coef: []float64{-1}, side: -1}}, true},
		"an empty interval":         {1, []row{{coef: []float64{1}, side: 1}, {coef: []float64{-1}, side: -1.0000000000000002}}, false},
		"0 <= -1":                   {1, []row{{coef: []float64{0}, side: -1}}, false},
		"0.1 + 0.2 is not 0.3":      {2, []row{{[]float64{1, 1}, 0.3, true}, {[]float64{1, 0}, 0.1, true}, {[]float64{0, 1}, 0.2, true}}, false},
		"a far point":               {2, []row{{coef: []float64{-1, 1}, side: 0}, {coef: []float64{1, -1.0000000001}, side: -1}}, true},
		"dependent, consistent":     {2, []row{{[]float64{1, 1}, 1, true}, {[]float64{3, 3}, 3, true}}, true},
		"dependent, inconsistent":   {2, []row{{[]float64{1, 1}, 1, true}, {[]float64{3, 3}, 2, true}}, false},
		"a triangle without points": {2, []row{{coef: []float64{1, 1}, side: -1}, {coef: []float64{-1, 0}}, {coef: []float64{0, -1}}}, false},
	} {
		p := &LP{N: c.n}
		for _, r := range c.rows {
			p.Add(Doubles(r.coef), Doubles([]float64{r.side})[0], r.equal)
		}
		if outcome, _, _ := p.Minimize(nil); (outcome == Optimal) != c.want {
			t.Errorf("%s: %v", name, outcome)
		}
	}
}
