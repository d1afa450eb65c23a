package curvature

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSquares: the matrix of a form is the sum of its squares to within the slack that it takes
// for rounding, in both triangles, whether rows are full and added together, more of them than
// at once, or have few entries.
func TestSquares(t *testing.T) {
	r := rand.New(rand.NewPCG(8, *seed))
	for _, n := range []int{leastGathered - 1, leastGathered, 45} {
		rows := 2*mostSquares + 37
		j := full(rows, n, make([]float64, rows*n))
		p := signedTerm{term: &term{}, a: j, sign: 1}
		want := make([]float64, n*n)
		for k := range rows {
			row := j.mid[k*n : (k+1)*n]
			few := r.IntN(4) == 0
			for c := range row {
				if !few || r.IntN(8) == 0 {
					row[c] = r.NormFloat64()
				}
			}
			d := math.Exp(4*r.NormFloat64()) * float64(2*r.IntN(2)-1)
			p.w = append(p.w, point(d))
			for a, u := range row {
				for b, v := range row {
					want[a*n+b] += d * u * v
				}
			}
		}
		s := newStudy(nil, nil, 0, domain{y: make([]Interval, n)}, &budget{left: 1e9})
		f := s.below(nil, false, p)
		if f.failed != nil || len(f.cols) != 1 {
			t.Fatalf("n = %d: %d blocks, failed %v", n, len(f.cols), f.failed)
		}
		for a := range n {
			for b := range n {
				// Both sums round.
				got, room := f.dense[0][f.place[a]*n+f.place[b]], 2*f.slack[a]
				if a == b {
					got += f.diag[a] // rows of one entry
				}
				if math.Abs(got-want[a*n+b]) > room || f.slack[a] > 1e-9*f.mass[a] {
					t.Fatalf("n = %d: entry (%d, %d) is %g, the sum %g, slack %g of %g", n, a, b, got, want[a*n+b], f.slack[a], f.mass[a])
				}
			}
		}
	}
}
