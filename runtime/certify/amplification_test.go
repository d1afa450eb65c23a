package certify

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// TestAmplificationOfSparseParts: the estimate is the largest sum in a row of the matrix that its comment writes down, computed here in dense matrices, or
// not much less: Higham's estimator is at most that, and a third of it in practice.
func TestAmplificationOfSparseParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 3))
	close, above := 0, 0
	for trial := range 200 {
		n := 4 + rng.IntN(12)
		k, bounds := 1+rng.IntN(n/2), rng.IntN(n/3)
		h := mat.NewSymDense(n, nil)
		for j := range n {
			h.SetSym(j, j, 3+rng.Float64())
			if j > 0 {
				h.SetSym(j-1, j, 2*rng.Float64()-1)
			}
		}
		b := mat.NewDense(bounds+k, n, nil)
		for i := range bounds {
			b.Set(i, i, 1+rng.Float64())
		}
		for i := range k {
			scale := math.Pow(10, float64(rng.IntN(5)-2))
			for j := range n {
				b.Set(bounds+i, j, scale*rng.NormFloat64())
			}
			if i > 0 && rng.IntN(3) == 0 { // nearly another row
				for j := range n {
					b.Set(bounds+i, j, b.At(bounds+i-1, j)+0.03*b.At(bounds+i, j)/scale)
				}
			}
		}
		var curve, entries []sparse.Entry
		for i := range n {
			for j := range n {
				if v := h.At(i, j); v != 0 {
					curve = append(curve, sparse.Entry{Row: i, Col: j, Val: v})
				}
			}
		}
		var rows, all []int
		for i := range bounds + k {
			rows = append(rows, i)
			for j := range n {
				if v := b.At(i, j); v != 0 {
					entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
				}
			}
		}
		place := make([]int, n)
		for j := range n {
			all, place[j] = append(all, j), j
		}
		p := &problem.Problem{Dy: n, Rows: &problem.Rows{Kind: make([]problem.Kind, bounds+k), B: sparse.FromEntries(bounds+k, n, entries), A: sparse.FromEntries(bounds+k, 0, nil), Rhs: make([]float64, bounds+k)}}
		part, err := newBoundPart(&hessian{p: p, sparse: sparse.FromEntries(n, n, curve), place: place, comps: []component{{entries: all}}}, 0, rows)
		if err != nil {
			t.Fatal(err)
		}
		// What no bound holds.
		free := b.Slice(bounds, bounds+k, bounds, n)
		var inverse, s, half mat.Dense
		if err := inverse.Inverse(h.SliceSym(bounds, n)); err != nil {
			t.Fatal(err)
		}
		half.Mul(free, &inverse)
		s.Mul(&half, free.T())
		if err := s.Inverse(&s); err != nil {
			continue
		}
		most := 0.0
		for i := range k {
			give, length, sum := 0.0, 0.0, 0.0
			for j := range n {
				give += b.At(bounds+i, j) * b.At(bounds+i, j) / h.At(j, j)
				length += b.At(bounds+i, j) * b.At(bounds+i, j)
			}
			for j := range k {
				sum += math.Abs(s.At(i, j)) * mat.Norm(b.Slice(bounds+j, bounds+j+1, 0, n), 2)
			}
			most = math.Max(most, give/math.Sqrt(length)*sum)
		}
		got, want := part.amplification(), math.Max(1, most)
		if got > want*(1+1e-6) || got < want/3 {
			t.Errorf("trial %d: %v, truly %v", trial, got, want)
		}
		if got > 0.99*want {
			close++
		}
		if want > 10 {
			above++
		}
		if again := part.amplification(); again != got {
			t.Errorf("trial %d: %v, then %v", trial, got, again)
		}
	}
	if close < 150 || above < 30 {
		t.Errorf("%d of 200 near what they estimate, %d large", close, above)
	}
}
