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

// TestRaysOfMultipliers: multipliers that are not unique reach the end of space, which makes no room for x beyond X. The follower's answer is
// y = 0 whatever x is, with multipliers m1 - m2 = x - c of y >= 0 and y <= 0.
func TestRaysOfMultipliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 1))
	for range 100 {
		lo := float64(2 + rng.IntN(20))
		s := &System{Dx: 2, Dy: 1, Lo: []float64{lo, 0}, Hi: []float64{lo + 5, 0}, Whole: make([]bool, 2),
			Q: [][]float64{{0}}, P: [][]float64{{1}, {0}}, Linear: []float64{-lo + 1e-5*math.Pow(10, float64(rng.IntN(5)))}}
		for _, c := range []float64{-1, 1, 0} {
			s.Rows = append(s.Rows, Linear{A: make([]float64, 2), C: []float64{c}})
		}
		n := s.Dim()
		s.F = Quadratic{C: make([]float64, n), H: make([][]float64, n)}
		for i := range s.F.H {
			s.F.H[i] = make([]float64, n)
		}
		s.F.C[0], s.F.H[1][n-1], s.F.H[n-1][1] = 1, 1, 1 // x1 + x2 m3
		for _, in := range []Region{{}, {Around: map[int]Near{0: {lo, 4e-8}, 1: {0, 4e-8}, 2: {0, 4e-8}, n - 1: {0, 4e-8}}}} {
			if got := s.Minimize(&s.F, in); !got.Feasible || math.Abs(got.Value-lo) > 1e-12 {
				t.Errorf("F = %v at %v, x1 is %v at least", got.Value, got.W, lo)
			}
		}
	}
}

// TestRowsFarOut: beside an x of 1e9 rows hold to the rounding of a double, and not to a share of what tells answers of another face from those of
// their own. The follower's g is |y|^2/2 where y1 + y2 >= s and y2 >= s/2 + d, as x has them.
func TestRowsFarOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 1))
	for range 100 {
		far, sum, d := 8e8+float64(rng.IntN(1e8)), float64(1+rng.IntN(9)), 0x1p-8
		x := -far - 0x1p-4*float64(rng.IntN(16))
		s := &System{Dx: 1, Dy: 2, Lo: []float64{-1e9}, Hi: []float64{0}, Whole: make([]bool, 1),
			Q: [][]float64{{1, 0}, {0, 1}}, P: [][]float64{{0, 0}}, Linear: []float64{0, 0},
			Rows: []Linear{{A: []float64{-1}, C: []float64{-1, -1}, Rhs: -x - sum}, {A: []float64{-1.5}, C: []float64{0, -3}, Rhs: -1.5*x - 1.5*sum - 3*d}}}
		s.F = Quadratic{C: []float64{0, 1, 0, 0, 0}, H: make([][]float64, 5)}
		for i := range s.F.H {
			s.F.H[i] = make([]float64, 5)
		}
		got := s.Minimize(&s.F, Region{X: []float64{x}})
		for j, want := range []float64{sum/2 - d, sum/2 + d} {
			if !got.Feasible || math.Abs(got.Least[j]-want) > 1e-5 || math.Abs(got.Most[j]-want) > 1e-5 {
				t.Fatalf("y%d from %v to %v at x = %v, not %v", j+1, got.Least, got.Most, x, want)
			}
		}
		if own := s.Responds([]float64{x}); !own.Feasible || math.Abs(own.W[2]-sum/2-d) > 1e-5 {
			t.Fatalf("y = %v at x = %v", own.W, x)
		}
	}
}
