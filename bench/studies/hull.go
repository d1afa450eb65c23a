package main

import (
	"math"
	"math/rand/v2"

	"bilevelc/internal/each"
)

// minNorm is the norm of the shortest convex combination of the vectors, to a
// relative accuracy of about 1e-3: Frank and Wolfe's method with pairwise steps
// (Lacoste-Julien and Jaggi 2015), which shares nothing with the solvers' own
// certificates. What it returns is the norm of a combination, so an upper bound.
func minNorm(vectors [][]float64) float64 {
	weights := make([]float64, len(vectors))
	weights[0] = 1
	z := append([]float64(nil), vectors[0]...)
	d := make([]float64, len(z))
	for range 2000 {
		toward, away := -1, -1
		least, most := math.Inf(1), math.Inf(-1)
		for i, v := range vectors {
			s := dot(z, v)
			if s < least {
				least, toward = s, i
			}
			if weights[i] > 0 && s > most {
				most, away = s, i
			}
		}
		if size := dot(z, z); size-least <= 1e-3*size || size < 1e-20 {
			break
		}
		copy(d, vectors[toward])
		add(d, -1, vectors[away])
		step := math.Min(weights[away], -dot(z, d)/math.Max(dot(d, d), 1e-300))
		if step <= 0 {
			break
		}
		weights[toward] += step
		weights[away] -= step
		add(z, step, d)
	}
	return norm(z)
}

// sampler draws points of balls.
type sampler struct{ *rand.Rand }

func directions(seed uint64) sampler {
	const stream = 0x68756c6c // "hull": apart from other users of the seed
	return sampler{rand.New(rand.NewPCG(seed, stream))}
}

// inBall draws a point uniformly from the ball around center.
func (s sampler) inBall(center []float64, radius float64) []float64 {
	p := each.Below(len(center), func(int) float64 { return s.NormFloat64() })
	scale(p, radius*math.Pow(s.Float64(), 1/float64(len(p)))/norm(p))
	add(p, 1, center)
	return p
}
