package bind

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/lang/diag"
)

// The bounds of integer variables are the first and the last whole number that their box and the constraints on one
// entry allow, in exact arithmetic on the decimal numbers that the model says.
func TestIntegerBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	empty := 0
	for trial := range 400 {
		const n = 4
		tenths := func() int { return rng.IntN(121) - 60 }
		lo, hi := [n]int{}, [n]int{} // in tenths
		var los, his []string
		for j := range n {
			lo[j] = tenths()
			hi[j] = lo[j] + rng.IntN(40)
			// 0.1 * k is often not the double next to k / 10.
			los = append(los, fmt.Sprintf("0.1 * %d", lo[j]))
			his = append(his, fmt.Sprintf("0.1 * %d", hi[j]))
		}
		most, scale := tenths(), 1+rng.IntN(7) // scale x[1] <= scale cap / 10
		text := fmt.Sprintf(`model bounds
upper {
  var x: vector[4] integer in box([%s], [%s])
  var z: vector[3] in box(0.5, 1.5)
  var on: vector[2] binary
  var s: vector[2] integer in simplex(2.5)
  minimize sum(x) + sum(y) + sum(z) + sum(on) + sum(s)
  subject to
    %d * x[1] <= 0.1 * %d
}
lower {
  var y: vector[4]
  minimize sumsq(y - x)
}
`, strings.Join(los, ", "), strings.Join(his, ", "), scale, scale*most)
		hi[0] = min(hi[0], most)
		first, last, possible := [n]int{}, [n]int{}, true
		for j := range n {
			first[j], last[j] = ceilTenth(lo[j]), floorTenth(hi[j])
			possible = possible && first[j] <= last[j]
		}
		prob, list := Bind(compile(t, "bounds.blv", text), nil, Options{})
		if !possible {
			empty++
			if d := list.Err(); d == nil || !strings.Contains(d.Error(), string(diag.BindEmptySet)) {
				t.Fatalf("trial %d: no whole number, but %v\n%s", trial, list, text)
			}
			continue
		}
		if list.HasErrors() {
			t.Fatalf("trial %d: %v\n%s", trial, list, text)
		}
		for j := range n {
			if prob.X.Lo[j] != float64(first[j]) || prob.X.Hi[j] != float64(last[j]) {
				t.Fatalf("trial %d: x[%d] in [%v, %v], want [%d, %d]\n%s", trial, j+1, prob.X.Lo[j], prob.X.Hi[j], first[j], last[j], text)
			}
		}
		want := []struct {
			lo, hi  float64
			integer bool
		}{{0.5, 1.5, false}, {0, 1, true}, {0, 2, true}}
		for k, v := range prob.Upper.Vars[1:] {
			for i := range v.Shape.Len() {
				if j := v.Offset + i; prob.X.Lo[j] != want[k].lo || prob.X.Hi[j] != want[k].hi || v.Integer != want[k].integer {
					t.Fatalf("%s in [%v, %v], integer %v", v.Name, prob.X.Lo[j], prob.X.Hi[j], v.Integer)
				}
			}
		}
	}
	if empty < 10 || empty > 390 {
		t.Errorf("%d of 400 sets are empty", empty)
	}
}

func ceilTenth(k int) int { return -floorTenth(-k) }

func floorTenth(k int) int {
	return int(new(big.Int).Div(big.NewInt(int64(k)), big.NewInt(10)).Int64()) // Euclidean
}

// An integer variable without an end is an error at its set, one whose end is supplied with data is none before.
func TestIntegerEnds(t *testing.T) {
	for _, c := range []struct{ declared, constraint, want string }{
		{"integer in nonneg", "", "`k` has no upper bound"},
		{"integer", "", "`k` has no lower and no upper bound"},
		{"integer in box(-inf, 3)", "", "`k` has no lower bound"},
		{"integer in box(0, inf)", "subject to k <= 7", ""},
		{"integer", "subject to -2 <= k <= 7", ""},
		{"integer in box(0, 1e17)", "", "beyond 2^53"},
		{"integer in box(0.2, 0.8)", "", "no whole number"},
		{"binary", "subject to k >= 0.5", ""},
	} {
		text := "model ends\nupper {\n  var k: " + c.declared + "\n  minimize k + y\n  " + c.constraint + "\n}\nlower {\n  var y: real\n  minimize (y - k)^2\n}\n"
		prob, list := Bind(compile(t, "ends.blv", text), nil, Options{})
		switch {
		case c.want == "" && (list.HasErrors() || math.IsInf(prob.X.Lo[0], 0) || math.IsInf(prob.X.Hi[0], 0)):
			t.Errorf("%s: %v", c.declared, list)
		case c.want != "" && (!list.HasErrors() || !strings.Contains(list[0].Summary, c.want) || list[0].Subject.Source == nil):
			t.Errorf("%s: %v, want %q", c.declared, list, c.want)
		}
	}
	text := "model ends\nparam n: int\ndata cap: vector[n]\nupper {\n  var k: vector[n] integer in box(0, cap)\n  minimize sum(k) + y\n}\nlower {\n  var y: real\n  minimize (y - sum(k))^2\n}\n"
	program := compile(t, "ends.blv", text)
	if _, list := Bind(program, nil, Options{Abstract: true}); list.HasErrors() {
		t.Errorf("without data: %v", list)
	}
	if prob := mustBind(t, program, supply("cap", vec(2.5, 3))); prob.X.Hi[0] != 2 || prob.X.Hi[1] != 3 {
		t.Errorf("bounds %v", prob.X.Hi)
	}
}
