package bind

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// reported binds a model with the given items in its report and evaluates them.
func reported(t *testing.T, items string, x, y []float64) map[string]*data.Array {
	t.Helper()
	prob := mustBind(t, compile(t, "items", `model items
param n: int = 3
set city = {"Rome", "Oslo"}
data A: matrix[2, n] = [[1, 2, 3], [4, 5, 6]]
data v: vector[2] = [7, 8]
upper {
  var x: vector[n] in box([0, -inf, 0], inf)
  minimize sumsq(x)
}
lower {
  var y: vector[2]
  minimize sumsq(y - 1) + sum(x)
}
report {
`+items+"\n}\n"), nil)
	out := map[string]*data.Array{}
	for _, item := range prob.Report {
		a, err := expr.Eval(item.Node, x, y)
		if err != nil {
			t.Fatal(err)
		}
		out[item.Name] = a
	}
	return out
}

// Blocks are put together as linear algebra has it: by definition, entry by
// entry, and inside comprehensions as outside.
func TestConcatenation(t *testing.T) {
	x, y := []float64{1, 2, 3}, []float64{-1, -2}
	got := reported(t, `  below = [v; x; 9]
  beside = [A, v]
  rows = [A; x']
  long = [v', y']
  square = [[A, v]; [x', 0]; ones(4)']
  inside = sum(k in 1..2: [k * y; v[k]])
  table = [i in 1..2, j in 2..n: 10 * i + j * y[i]]
  named = [c in city: ord(c) * v[ord(c)]]
  nested = sum(k in 1..2: [i in 1..n: k * x[i]])
  literal = [[1, 2]; [3, 4]]`, x, y)
	want := map[string]*data.Array{
		"below": data.Vector([]float64{7, 8, 1, 2, 3, 9}), "beside": data.Matrix(2, 4, []float64{1, 2, 3, 7, 4, 5, 6, 8}),
		"rows": data.Matrix(3, 3, []float64{1, 2, 3, 4, 5, 6, 1, 2, 3}), "long": data.Vector([]float64{7, 8, -1, -2}),
		"square": data.Matrix(4, 4, []float64{1, 2, 3, 7, 4, 5, 6, 8, 1, 2, 3, 0, 1, 1, 1, 1}),
		"inside": data.Vector([]float64{-3, -6, 15}), "table": data.Matrix(2, 2, []float64{8, 7, 16, 14}),
		"named": data.Vector([]float64{7, 16}), "nested": data.Vector([]float64{3, 6, 9}), "literal": data.Vector([]float64{1, 2, 3, 4}),
	}
	for name, w := range want {
		if g := got[name]; g == nil || !reflect.DeepEqual(g.Shape, w.Shape) || !reflect.DeepEqual(g.Values(), w.Values()) {
			t.Errorf("%s is %+v, want %+v", name, got[name], w)
		}
	}
}

// Conditions on variables in the report hold as they read, at points where sides
// are equal as well.
func TestReportConditions(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 50 {
		x, y := make([]float64, 3), make([]float64, 2)
		for i := range x {
			x[i] = float64(rng.IntN(3))
		}
		for i := range y {
			y[i] = float64(rng.IntN(3))
		}
		got := reported(t, `  lt = y[1] < y[2]
  le = y[1] <= y[2]
  gt = y[1] > y[2]
  ge = y[1] >= y[2]
  eq = y[1] == y[2]
  ne = y[1] != y[2]
  both = x[1] > 0 and not x[2] < 1
  either = 1 > 2 or x[1] == 1
  some = sum(i in 1..n if x[i] >= 1 and i > 1: 10^i)
  pick = if x[1] > x[2] then x[1] - x[2] else 0`, x, y)
		truth := func(b bool) float64 {
			if b {
				return 1
			}
			return 0
		}
		some := 0.0
		for i, p := range []float64{0, 100, 1000} {
			if i > 0 && x[i] >= 1 {
				some += p
			}
		}
		for name, want := range map[string]float64{"lt": truth(y[0] < y[1]), "le": truth(y[0] <= y[1]), "gt": truth(y[0] > y[1]),
			"ge": truth(y[0] >= y[1]), "eq": truth(y[0] == y[1]), "ne": truth(y[0] != y[1]), "both": truth(x[0] > 0 && x[1] >= 1),
			"either": truth(x[0] == 1), "some": some, "pick": max(x[0]-x[1], 0)} {
			if got[name].Dense[0] != want {
				t.Errorf("%s = %v at x = %v, y = %v, want %v", name, got[name].Dense[0], x, y, want)
			}
		}
	}
}

// `inf` leaves a side of a box open.
func TestOpenBoxes(t *testing.T) {
	prob := mustBind(t, compile(t, "open", `model open
upper {
  var x: vector[2] in box([0, -inf], [inf, 3])
  minimize sumsq(x)
}
lower {
  var y: vector[2] in box(-inf, [1, inf])
  minimize sumsq(y - x)
}
`), nil)
	if got := names(prob.Rows); !strings.Contains(got, "y.upper[1]") || len(prob.Rows) != 1 {
		t.Errorf("rows %s", got)
	}
	if lo, hi := prob.X.Lo, prob.X.Hi; lo[0] != 0 || hi[1] != 3 || lo[1] > -1e308 || hi[0] < 1e308 {
		t.Errorf("bounds %v %v", lo, hi)
	}
}
