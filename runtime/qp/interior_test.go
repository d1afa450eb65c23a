package qp

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// The size of an entry of x is half its interval, that of the one bound it has, or 1, and
// no more than the radius of a ball that it is in; the interior keeps off by a share of it.
func TestInteriorKeepsAway(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	inf := math.Inf(1)
	for range 200 {
		n := 1 + rng.IntN(6)
		set := freeSet(n)
		want := make([]float64, n)
		for j := range want {
			lo := rng.NormFloat64()
			hi := lo + rng.ExpFloat64()*float64(rng.IntN(4))
			switch rng.IntN(4) {
			case 0:
				lo, hi, want[j] = -inf, inf, 1
			case 1:
				hi, want[j] = inf, math.Abs(lo)
			case 2:
				lo, want[j] = -inf, math.Abs(hi)
				if hi == 0 {
					want[j] = 1
				}
			default:
				want[j] = (hi - lo) / 2
			}
			set.Lo[j], set.Hi[j] = lo, hi
		}
		if rng.IntN(2) == 0 {
			r := rng.ExpFloat64()
			set.Balls = []problem.Ball{{Start: 0, End: 1, Radius: r}}
			want[0] = math.Min(want[0], r)
		}
		row := normals(rng, n)
		set.Kind, set.E, set.Rhs = []problem.Kind{problem.AtMost}, sparse.FromDense(1, n, row), []float64{1}
		p := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1)
		got, size := p.Widths(), 0.0
		for j := range want {
			if math.Abs(got[j]-want[j]) > 1e-15*want[j] {
				t.Fatalf("[%v, %v], balls %v: widths %v, want %v", set.Lo, set.Hi, set.Balls, got, want)
			}
			size += row[j] * row[j] * want[j] * want[j]
		}
		const share = 1e-3
		in := p.Interior(share).set
		for j := range want {
			if in.Lo[j] != set.Lo[j]+share*got[j] || in.Hi[j] != set.Hi[j]-share*got[j] {
				t.Fatalf("[%v, %v]: the interior is [%v, %v]", set.Lo, set.Hi, in.Lo, in.Hi)
			}
		}
		if off := 1 - in.Rhs[0]; math.Abs(off-share*math.Sqrt(size)) > 1e-12*(1+share*math.Sqrt(size)) {
			t.Fatalf("the row is moved by %v, want %v", off, share*math.Sqrt(size))
		}
	}
}
