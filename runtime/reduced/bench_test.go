package reduced_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/reduced"
)

// Planted problems with a kink in half of the entries, general two-sided rows, rotated by two orthogonal matrices.
func BenchmarkPlanted(b *testing.B) {
	for _, n := range []int{100, 300, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newPlanted(rand.New(rand.NewPCG(1, uint64(n))), n)
			s, err := kkt.New(p.problem())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				r, err := reduced.Solve(b.Context(), s, make([]float64, n), reduced.Options{})
				if err != nil || r.Status != reduced.Stationary {
					b.Fatal(err, r)
				}
				b.ReportMetric(float64(len(r.Point.Biactive)), "kinks")
				b.ReportMetric(float64(r.Work.Factors), "factors")
				b.ReportMetric(float64(r.Work.Rounds), "rounds")
			}
		})
	}
}
