package truth

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTiesBesideDoubles: at a tie of x that no double holds, the answers are those at the tie, where what is left of x by subtraction is
// of no entry of y too. The follower's g is (y1 - y2)^2/2 - (a x - b) y1 over a box: at x = b/a all y1 = y2 are answers.
func TestTiesBesideDoubles(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	for range 500 {
		a, b := 0.1*float64(1+rng.IntN(300)), 0.1*float64(1+rng.IntN(300))
		s := &System{Dx: 1, Dy: 2, Lo: []float64{-1e3}, Hi: []float64{1e3}, Whole: []bool{false},
			Q: [][]float64{{1, -1}, {-1, 1}}, P: [][]float64{{-a, 0}}, Linear: []float64{b, 0}}
		for j := range 2 {
			row := make([]float64, 2)
			row[j] = 1
			s.Rows = append(s.Rows, Linear{A: []float64{0}, C: row, Rhs: 0}, Linear{A: []float64{0}, C: times(row, -1), Rhs: 3})
		}
		s.F = Quadratic{C: []float64{0, 0, 1, 0, 0, 0, 0}, H: make([][]float64, 7)}
		for i := range s.F.H {
			s.F.H[i] = make([]float64, 7)
		}
		x := b / a
		for ulps := rng.IntN(7) - 3; ulps != 0; { // as far as an answer may be off
			if ulps > 0 {
				x, ulps = math.Nextafter(x, 1e9), ulps-1
			} else {
				x, ulps = math.Nextafter(x, 0), ulps+1
			}
		}
		got := s.Minimize(&s.F, Region{X: []float64{x}})
		for j := range 2 {
			if !got.Feasible || math.Abs(got.Least[j]+3) > 1e-9 || math.Abs(got.Most[j]) > 1e-9 {
				t.Fatalf("y%d from %v to %v at x = %v, a = %v, b = %v", j+1, got.Least, got.Most, x, a, b)
			}
		}
		// A thousandth of x off there is one answer.
		got = s.Minimize(&s.F, Region{X: []float64{x * 0.999}})
		if !got.Feasible || got.Most[1]-got.Least[1] > 1e-9 {
			t.Fatalf("y from %v to %v at x = %v, a = %v, b = %v", got.Least, got.Most, x*0.999, a, b)
		}
	}
}

func times(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = by * v[i]
	}
	return out
}
