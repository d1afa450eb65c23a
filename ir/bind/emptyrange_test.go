package bind

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/ir/check"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// Where an outer range is empty, ranges in it whose ends move with its index have no length, and nothing is wrong with what they would be combined with: sums over it are 0 and families have no rows.
// Elsewhere values are those of the terms written out.
func TestMovingEndsInEmptyRanges(t *testing.T) {
	bodies := []struct {
		text string
		of   func(x, c []float64, i int) float64
	}{
		{"x[i..i+1]' * c", func(x, c []float64, i int) float64 { return x[i-1]*c[0] + x[i]*c[1] }},
		{"sum(c .* x[i..i+1])", func(x, c []float64, i int) float64 { return x[i-1]*c[0] + x[i]*c[1] }},
		{"sum([j in i..i+1: x[j]] .* c)", func(x, c []float64, i int) float64 { return x[i-1]*c[0] + x[i]*c[1] }},
		{"(x[i..i+1] - c)[2]^2", func(x, c []float64, i int) float64 { return (x[i] - c[1]) * (x[i] - c[1]) }},
		{"sum(j in i..i+1: sum(x[j..j+1] .* c))", func(x, c []float64, i int) float64 {
			return x[i-1]*c[0] + x[i]*c[1] + x[i]*c[0] + x[i+1]*c[1]
		}},
		{"sum([j in i..3: x[j]])", func(x, _ []float64, i int) float64 { return total(x[i-1 : 3]) }},
		{"[j in i..3: x[j]]' * [j in i..3: c[2]]", func(x, c []float64, i int) float64 { return total(x[i-1:3]) * c[1] }},
		{"sum([j in 1..2, k in i..3: c[j] * x[k]])", func(x, c []float64, i int) float64 { return total(x[i-1:3]) * (c[0] + c[1]) }},
		{"sum([j in i..3: sum(x[j..3])])", func(x, _ []float64, i int) (out float64) {
			for j := i; j <= 3; j++ {
				out += total(x[j-1 : 3])
			}
			return out
		}},
		{"prod(j in i..i+1: x[j] + c[1])", func(x, c []float64, i int) float64 { return (x[i-1] + c[0]) * (x[i] + c[0]) }},
	}
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 0xe3))
		body, n, twice := bodies[rng.IntN(len(bodies))], rng.IntN(3), rng.IntN(2) == 0
		c := []float64{rng.NormFloat64(), rng.NormFloat64()}
		sum := fmt.Sprintf([]string{"sum(i in 1..n: %s)", "sum([i in 1..n: %s])"}[rng.IntN(2)], body.text)
		if twice {
			sum = fmt.Sprintf("sum(k in 1..2: k*%s)", sum)
		}
		text := fmt.Sprintf("model m\nparam n: int = %d\ndata c: vector[2] = [%v, %v]\nupper {\n  var x: vector[4] in box(0, 1)\n  minimize x[1] + %s\n}\nlower {\n  var y: vector[4]\n  minimize sumsq(y - x)\n  subject to\n    a: forall i in 1..n: y[i..i+1]' * c <= 1\n    b: sum(y) <= 9\n}\n",
			n, c[0], c[1], sum)
		file, list := parser.ParseFile(diag.NewSource("m.blv", text))
		if list.HasErrors() {
			t.Fatalf("%v\n%s", list, text)
		}
		program, list := check.Check(file)
		if list.HasErrors() {
			t.Fatalf("%v\n%s", list, text)
		}
		p, list := Bind(program, nil, Options{})
		if list.HasErrors() {
			t.Errorf("%d: %v\n%s", seed, list, text)
			continue
		}
		x := each.Below(4, func(int) float64 { return rng.Float64() })
		want := 0.0
		for i := 1; i <= n; i++ {
			want += body.of(x, c, i)
		}
		if twice {
			want *= 3
		}
		want += x[0]
		got, err := expr.Scalar(p.Upper.Objective, x, make([]float64, 4))
		if err != nil || math.Abs(got-want) > 1e-12*(1+math.Abs(want)) || len(p.Rows) != n+1 {
			t.Errorf("%d: %v (%v), want %v; %d rows\n%s", seed, got, err, want, len(p.Rows), text)
		}
	}
}

func total(x []float64) (out float64) {
	for _, v := range x {
		out += v
	}
	return out
}
