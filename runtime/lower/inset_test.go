package lower

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Points inside the inequalities keep the distance asked for from each of them, whatever
// its units and whether it is a bound or a row; equations hold; and afterwards the set is
// the whole one again.
func TestInsetKeepsItsDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 80))
	for trial := range 200 {
		n := 2 + rng.IntN(4)
		m := 1 + rng.IntN(n)
		center := normal(rng, n)
		var b [][]float64
		var r []float64
		equal := map[int]bool{}
		for i := range m {
			row := normal(rng, n)
			if rng.IntN(3) == 0 {
				row = make([]float64, n)
				row[rng.IntN(n)] = rng.NormFloat64()
			}
			unit := math.Pow(10, float64(rng.IntN(9)-4))
			for j := range row {
				row[j] *= unit
			}
			length := math.Sqrt(dotProduct(row, row))
			room := 1.0 // between the center and the row
			if i == 0 && rng.IntN(2) == 0 {
				room, equal[0] = 0, true
			}
			b, r = append(b, row), append(r, dotProduct(row, center)-room*length)
		}
		p := small(make([]float64, n*n), make([]float64, n), b, r, equal)
		var q polyhedron
		q.set(p, make([]float64, p.Dx), nil)
		var g projection
		g.set(&q)
		// How far y is inside the rows, at the least.
		inside := func(y []float64) float64 {
			least := math.Inf(1)
			for i, row := range b {
				d := (dotProduct(row, y) - r[i]) / math.Sqrt(dotProduct(row, row))
				if equal[i] {
					if math.Abs(d) > 1e-11 {
						t.Fatalf("trial %d: equation %d is missed by %g", trial, i, d)
					}
					continue
				}
				least = math.Min(least, d)
			}
			return least
		}
		y := normal(rng, n)
		for j := range y {
			y[j] = center[j] + 10*y[j]
		}
		for _, margin := range []float64{0.5, 1e-3, 0} {
			z := append([]float64(nil), y...)
			g.inset(margin)
			if _, err := g.nearest(z, nil, nil); err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			g.set(&q)
			// Those that are not tight are further inside; one is tight unless y was inside.
			if d := inside(z); d < margin-1e-11 || d > margin+1e-11 && distance(z, y) > 1e-11 && len(equal) == 0 {
				t.Errorf("trial %d: %g inside, want %g", trial, d, margin)
			}
		}
	}
}
