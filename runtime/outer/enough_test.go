package outer

import (
	"math/big"
	"testing"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// The numbers of starts are the least at which the estimate of Boender and Rinnooy Kan
// is within a half of what was found, in exact arithmetic.
func TestStartsAsked(t *testing.T) {
	for w := int64(1); w <= 12; w++ {
		n := w + 3
		for ; ; n++ {
			estimate := big.NewRat(w*(n-1), n-w-2)
			if estimate.Cmp(big.NewRat(2*w+1, 2)) < 0 {
				break
			}
		}
		if got := asked(int(w)); int64(got) != n {
			t.Errorf("%d minima ask for %d starts, not %d", w, got, n)
		}
	}
	if asked(3) != MostStarts {
		t.Errorf("three minima ask for %d starts, the most are %d", asked(3), MostStarts)
	}
}

func TestEnough(t *testing.T) {
	ends := func(values ...float64) []StartResult {
		var out []StartResult
		for _, f := range values {
			r := &Result{Status: status.Solved, Best: &oracle.Point{F: f}, Calls: problem.Calls{G: 100}}
			if f < 0 {
				r.Status = status.NumericalFailure
			}
			out = append(out, StartResult{Result: r})
		}
		return out
	}
	repeat := func(n int, values ...float64) (out []float64) {
		for len(out) < n {
			out = append(out, values...)
		}
		return out[:n]
	}
	for _, c := range []struct {
		name   string
		values []float64
		cost   float64
		want   bool
	}{
		{"seven of one value", repeat(7, 2), 0, false},
		{"eight of one value", repeat(8, 2), 0, true},
		{"eight, equal but for what targets leave", repeat(8, 2, 2+1e-7), 0, true},
		{"eight of two values", repeat(8, 2, 3), 0, false},
		{"eight of two values in small units", repeat(8, 2e-9, 3e-9), 0, false},
		{"seventeen of two values", repeat(17, 2, 3), 0, true},
		{"eight, some without a solution", repeat(8, 2, -1), 0, false},
		{"seventeen of two values, the lower one once", append(repeat(16, 3), 2), 0, false},
		{"twenty of two values, the lower one twice", append(repeat(18, 3), 2, 2), 0, true},
		{"thirty of two values, the lower one once", append(repeat(29, 3), 2), 0, true},
		{"seventeen of three values", repeat(17, 2, 3, 4), 0, false},
		{"thirty of three values", repeat(30, 2, 3, 4), 0, true},
		{"two whose calls read a million numbers each", repeat(2, 2, 3), 1e6, true},
		{"two such that came to nothing", repeat(2, -1), 1e6, false},
		{"four such", repeat(4, -1), 1e6, true},
	} {
		m := &MultiStart{Automatic: true, Options: Options{Cost: Cost{G: c.cost}}}
		if got := m.enough(ends(c.values...)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
