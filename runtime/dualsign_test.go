package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// The multiplier of a row of a linear follower is the slope of its optimal cost: falling as `<=` and `>=` are loosened, rising as the left side of `==` is raised, whichever way the follower's
// objective and the row are written. The costs are those of the best vertex, at two sides of each row next to where it is.
func TestDualsAreSlopes(t *testing.T) {
	compared, felt := 0, 0
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 33))
		const n = 3
		vector := func(least float64) []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = math.Round(1e3*(least+3*rng.Float64())) / 1e3
			}
			return v
		}
		cost, most, least, all := vector(-2), vector(0.2), vector(0.2), vector(0.2)
		inside := vector(0)
		rhs := []float64{dot(most, inside) + 0.3*rng.Float64(), dot(least, inside) - 0.3*rng.Float64(), dot(all, inside)}
		value := func(rhs []float64) float64 {
			rows, b := [][]float64{most, negative(least), all, negative(all)}, []float64{rhs[0], -rhs[1], rhs[2], -rhs[2]}
			for j := range n {
				for _, sign := range []float64{1, -1} {
					row := make([]float64, n)
					row[j] = sign
					rows, b = append(rows, row), append(b, 4*max(0, sign))
				}
			}
			best := math.Inf(1)
			vertices(rows, b, nil, func(y []float64) { best = math.Min(best, dot(cost, y)) })
			return best
		}
		sense, objective := "minimize", "cost' * y"
		if rng.IntN(2) == 0 {
			sense, objective = "maximize", "-cost' * y"
		}
		forms := [][]string{{"most' * y <= %v", "%v >= most' * y"}, {"least' * y >= %v", "%v <= least' * y"}, {"%v == all' * y", "all' * y == %v"}}
		relation := func(k int) (string, int) {
			form := rng.IntN(2)
			return fmt.Sprintf(forms[k][form], rhs[k]), form
		}
		r0, _ := relation(0)
		r1, _ := relation(1)
		r2, left := relation(2)
		p := bindText(t, fmt.Sprintf(`model slopes
data cost: vector[3] = %s
data most: vector[3] = %s
data least: vector[3] = %s
data all: vector[3] = %s
upper {
  var x: real in box(0, 1)
  minimize x + dual(upto) + dual(from) + dual(even)
}
lower {
  var y: vector[3] in box(0, 4)
  %s %s + 0 * x
  subject to
    upto: %s
    from: %s
    even: %s
}
solve { ties = optimistic }
`, text(cost), text(most), text(least),
			text(all), sense, objective, r0, r1, r2))
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{0}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := value(rhs)
		if math.IsInf(at, 1) || r.Status != runtime.Solved {
			if math.IsInf(at, 1) == (r.Status == runtime.Solved) {
				t.Errorf("seed %d: %s, the least cost is %v", seed, r.Status, at)
			}
			continue
		}
		for k, name := range []string{"upto", "from", "even"} {
			const h = 1e-4
			ahead, behind := slices.Clone(rhs), slices.Clone(rhs)
			ahead[k] += h
			behind[k] -= h
			up, down := (value(ahead)-at)/h, (at-value(behind))/h
			if !(math.Abs(up-down) <= 1e-6*(1+math.Abs(up))) {
				continue // a vertex changes
			}
			want := up // of `>=`, and of the left side of `==`
			if k == 0 || k == 2 && left == 1 {
				want = -up
			}
			got, _ := r.Lower.Multipliers.Get(name)
			if !(math.Abs(got.Data[0]-want) <= 1e-6*(1+math.Abs(want))) {
				t.Errorf("seed %d: dual(%s) is %v, the slope of the cost %v\n%s, %s, %s", seed, name, got.Data[0], want, r0, r1, r2)
			}
			compared++
			if math.Abs(want) > 1e-3 {
				felt++
			}
		}
	}
	if compared < members.Part(200, 100) || felt < members.Part(80, 100) {
		t.Errorf("%d multipliers compared, %d of them not 0", compared, felt)
	}
}

func negative(v []float64) []float64 {
	out := make([]float64, len(v))
	for j, t := range v {
		out[j] = -t
	}
	return out
}
