package runtime

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
)

// A store that is empty for two hours by rounding of what it held before does not violate its row, in any units of the answer; one that misses a part of what moves does.
func TestRoundingOfAnAnswerIsNoViolation(t *testing.T) {
	for k := range members.Seeds(t, 30) {
		rng := rand.New(rand.NewPCG(k, 52))
		unit := math.Pow(10, float64(rng.IntN(13)-6))
		text := fmt.Sprintf(`model store
upper {
  var x: real in box(0, 1)
  minimize x + sum(level)
}
lower {
  var level: vector[4] in box(0, %[1]v)
  var in_: vector[4] in box(0, %[2]v)
  minimize sumsq(level - x) + sumsq(in_)
  subject to
    first: level[1] == %[2]v
    store: level[2..4] == level[1..3] + 0.9 * in_[1..3]
}
`, unit, unit/2)
		model, err := Compile("store", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		say := func(level []float64) string {
			y := append(append([]float64(nil), level...), 0, 0, 0, 0)
			pt := &oracle.Point{X: []float64{0.5}, Lower: &lower.Solution{Y: y}}
			h := make([]float64, p.Numeric.Rows.Len())
			p.Numeric.Rows.Residual(h, pt.X, y)
			var rows []string // those of the store alone: the others are violated where it is empty
			for _, part := range strings.Split(p.withinTolerance(pt, h), ", ") {
				if strings.Contains(part, "store[3]") {
					rows = append(rows, part)
				}
			}
			return strings.Join(rows, ", ")
		}
		tiny := unit * 1e-18 * rng.Float64()
		if note := say([]float64{unit / 2, unit / 2, unit / 2, unit / 2}); note != "" {
			t.Errorf("member %d: it says %s where all rows hold\n%s", k, note, text)
		}
		if note := say([]float64{unit / 2, 0, 0, tiny}); note != "" {
			t.Errorf("member %d: it says %s of rounding\n%s", k, note, text)
		}
		for _, off := range []float64{0.75, 1e-9, 1e-11} {
			if note := say([]float64{unit / 2, 0, off * unit, 2 * off * unit}); note == "" {
				t.Errorf("member %d: it says nothing of a row that is violated by %v of the store\n%s", k, off, text)
			}
		}
	}
}
