package outer

import (
	"math"
	"math/big"
	"math/rand/v2"
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
		{"seven of one value", repeat(7, 2), 4e5, false},
		{"eight of one value", repeat(8, 2), 4e5, true},
		{"eight, equal but for what targets leave", repeat(8, 2, 2+1e-7), 4e5, true},
		{"eight of two values", repeat(8, 2, 3), 4e5, false},
		{"eight of two values in small units", repeat(8, 2e-9, 3e-9), 4e5, false},
		{"seventeen of two values", repeat(17, 2, 3), 4e5, true},
		{"eight, some without a solution", repeat(8, 2, -1), 4e5, false},
		{"seventeen of two values, the lower one once", append(repeat(16, 3), 2), 4e5, false},
		{"twenty of two values, the lower one twice", append(repeat(18, 3), 2, 2), 4e5, true},
		{"twenty of one value, next to no work", repeat(20, 2), 0, false},
		{"thirty of two values, the lower one once", append(repeat(29, 3), 2), 0, true},
		{"seventeen of three values", repeat(17, 2, 3, 4), 4e5, false},
		{"thirty of three values", repeat(30, 2, 3, 4), 0, true},
		{"two whose calls read five million numbers each", repeat(2, 2, 3), 5e6, true},
		{"two such that came to nothing", repeat(2, -1), 5e6, false},
		{"four such", repeat(4, -1), 5e6, true},
	} {
		m := &MultiStart{Automatic: true, Options: Options{Cost: c.cost}}
		if got := m.enough(ends(c.values...)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// With all sizes of K regions equally likely, n starts end in w of them with probability C(K, w) C(n - 1, w - 1)/C(n + K - 1, n), and before the first every K is as likely: the sums over K are
// the estimate and its variance.
func TestExpected(t *testing.T) {
	choose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	for n := 2; n <= 30; n++ {
		for w := 1; w <= n; w++ {
			got := Expected(n, w)
			if n-w < 8 { // the sums converge slowly, or not at all
				if n-w <= 3 && !math.IsNaN(got) {
					t.Errorf("n %d, w %d: %v, without a variance", n, w, got)
				}
				continue
			}
			total, first, second := 0.0, 0.0, 0.0
			for k := w; k < 20000; k++ {
				p := math.Exp(choose(k, w) + choose(n-1, w-1) - choose(n+k-1, n))
				total, first, second = total+p, first+p*float64(k), second+p*float64(k)*float64(k)
			}
			mean := first / total
			if !(math.Abs(got-mean) <= 1e-6*mean) || second/total-mean*mean > mean*mean {
				t.Errorf("n %d, w %d: %v, by the sums %v with variance %v", n, w, got, mean, second/total-mean*mean)
			}
		}
	}
}

// AtMost is kept in 95 % of all cases, by drawing them: a number of minima, all as likely, the sizes of their regions, all as likely, and so many starts.
func TestAtMost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 95))
	const n, most = 14, 40
	all, within, below := map[int]int{}, map[int]int{}, map[int]int{}
	for range 300000 {
		k := 1 + rng.IntN(most)
		ends := make([]float64, k) // of regions, side by side
		sum := 0.0
		for i := range ends {
			sum += rng.ExpFloat64()
			ends[i] = sum
		}
		found := map[int]bool{}
		for range n {
			at := sum * rng.Float64()
			i := 0
			for ends[i] < at {
				i++
			}
			found[i] = true
		}
		w := len(found)
		if w > 5 {
			continue
		}
		all[w]++
		if limit := AtMost(n, w); k <= limit {
			within[w]++
			if k < limit {
				below[w]++
			}
		}
	}
	for w := 1; w <= 5; w++ {
		share := func(of int) float64 { return float64(of) / float64(all[w]) }
		if off := 4 * math.Sqrt(0.05/float64(all[w])); share(within[w]) < 0.95-off || share(below[w]) > 0.95+off {
			t.Errorf("%d found: no more than %d in %.3f of %d cases, fewer in %.3f", w, AtMost(n, w), share(within[w]), all[w], share(below[w]))
		}
	}
}
