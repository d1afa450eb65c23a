//go:build ignore

// Generates ridge.json: 60 training and 40 validation rows of 20 correlated
// features, of which six matter, with seeded noise.
//
//	go run examples/ridge/generate.go > examples/ridge/ridge.json
package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
)

const (
	train, valid, features = 60, 40, 20
	relevant               = 6
	correlation            = 0.4 // share of each feature that is common to all
	noise                  = 0.6 // standard deviation of the target's noise
)

func main() {
	rng := rand.New(rand.NewPCG(20260101, 7))
	weights := make([]float64, features)
	for j := range relevant {
		weights[j] = 0.5 + rng.Float64()
	}
	sample := func(n int) (x [][]float64, t []float64) {
		for range n {
			common, row, target := rng.NormFloat64(), make([]float64, features), noise*rng.NormFloat64()
			for j := range row {
				row[j] = round(math.Sqrt(correlation)*common + math.Sqrt(1-correlation)*rng.NormFloat64())
				target += weights[j] * row[j]
			}
			x, t = append(x, row), append(t, round(target))
		}
		return x, t
	}
	x, t := sample(train)
	xv, tv := sample(valid)
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"X": x, "t": t, "Xv": xv, "tv": tv}); err != nil {
		panic(err)
	}
}

// round keeps four decimals, so that the file is short and exact.
func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }
