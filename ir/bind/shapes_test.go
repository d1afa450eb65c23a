package bind

import (
	"fmt"
	"strings"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// Sizes that agree for one value of a param only are compared when it is known, by the
// rules and in the words of the check without data.
func TestShapesInNumbers(t *testing.T) {
	const model = `model shapes
param m: int = 2
data A: matrix[2 * m, 3] ~ normal(0, 1)
data M: matrix[2 * m, m + 2] ~ normal(0, 1)
data c: vector[m + 2] ~ normal(0, 1)
data F: [m + 2, 3, 2] ~ normal(0, 1)
data G: [2 * m, 3, 2] ~ normal(0, 1)
let long = length(c)
fn weigh(u, v) = u' * v
fn total(u: vector[long]) = sum(u) + long
fn shift(u, v): vector[2 * m] = u + v[1]
upper {
  var x: vector[2 * m] in box(0, 1)
  minimize sum(x)
}
lower {
  var y: vector[2 * m]
  minimize sumsq(y - x) + EXPR
}
`
	for _, c := range []struct{ expr, summary, detail string }{
		{"sum(c + y)", "the sides of `+` have different shapes", "c is 5, y is 6; 5 and 6 are different sizes"},
		{"sum(F .* G)", "the sides of `.*` have different shapes", "F is 5 x 3 x 2, G is 6 x 3 x 2; 5 and 6 are different sizes"},
		{"2 * c' * 3 * y", "`2 * c' * 3` cannot be multiplied by `y`", "2 * c' * 3 is 1 x 5, y is 6; 5 and 6 are different sizes"},
		{"sum((y' * y) * (c' * A))", "`c'` cannot be multiplied by `A`", "c' is 1 x 5, A is 6 x 3; 5 and 6 are different sizes"},
		{"sum([A, c])", "these blocks do not fit side by side", "A is 6 x 3, c is 5; 6 and 5 are different sizes"},
		{"sum([A'; c'])", "these blocks do not fit below each other", "A' is 3 x 6, c' is 1 x 5; 6 and 5 are different sizes"},
		{"weigh(c, y)", "`u'` cannot be multiplied by `v`", "u' is 1 x 5, v is 6; 5 and 6 are different sizes"},
		{"sum(k in 1..2: sum(if k > 1 then c else y))", "the branches of `if` have different shapes", "c is 5, y is 6"},
		{"sum(max(c, y))", "the arguments of `max` have different shapes", "c is 5, y is 6; 5 and 6 are different sizes"},
		{"sum(diag(M))", "`diag` of a matrix takes a square one", "M is 6 x 5"},
		{"0\n  subject to c <= y", "the sides of `<=` have different shapes", "c is 5, y is 6; 5 and 6 are different sizes"},
		{"dot(c, y)", "`dot` takes a vector[n] as `v`", "but `y` is a vector[6]"},
		{"total(y)", "`total` takes a vector[long] as `u`", "but `y` is a vector[6]"},
		{"sum(shift(c, y))", "`shift` is declared to give a vector[2 * m]", "but its body is a vector[5]"},
		{"sum(k in 1..2: k * (c' * y))", "`c'` cannot be multiplied by `y`", "c' is 1 x 5, y is 6; 5 and 6 are different sizes"},
	} {
		p := compile(t, "shapes", strings.Replace(model, "EXPR", c.expr, 1))
		mustBind(t, p, nil)
		_, list := Bind(p, supply("m", data.Scalar(3)), Options{})
		if len(list) != 1 || list[0].Code != diag.BindShapes || !strings.HasPrefix(list[0].Summary, c.summary) || !strings.HasSuffix(list[0].Detail, c.detail) {
			t.Errorf("%s: %v, want %q with %q", c.expr, list, c.summary, c.detail)
		}
	}
	for _, c := range [][2]string{{"x: vector[2 * m] in box(0, 1)", "x: vector[2 * m] in box(0, c .* c)"}, {"y: vector[2 * m]", "y: vector[2 * m] in box(c, 99)"}} {
		p := compile(t, "bounds", strings.NewReplacer("EXPR", "0", c[0], c[1]).Replace(model))
		mustBind(t, p, nil)
		_, list := Bind(p, supply("m", data.Scalar(3)), Options{})
		if want := "`" + c[1][:1] + "` is vector[6], but this bound is vector[5]"; len(list) != 1 || list[0].Code != diag.BindShapes || list[0].Summary != want {
			t.Errorf("%s: %v, want %q", c[1], list, want)
		}
	}
}

// A product is over the sets of its factors, so that its entries are read and named by
// label.
func TestProductsOverSets(t *testing.T) {
	prob := mustBind(t, compile(t, "labels", `model labels
set city = {"Rome", "Oslo"}
set good = {"oil", "rye", "tea"}
data W: matrix[city, good] = [[1, 2, 3], [4, 5, 6]]
upper {
  var x: vector[good] in box(0, 1)
  minimize sum(x)
}
lower {
  var y: vector[city]
  minimize sumsq(y - W * x) + (W * x)["Rome"] * y["Oslo"]
  subject to
    cap: W * x - y <= 1
}
report {
  load = W * x
  one = (y' * W)["tea"]
  turned = W'
}
`), nil)
	for k, want := range []string{`cap["Rome"]`, `cap["Oslo"]`} {
		if prob.Rows[k].Name != want {
			t.Errorf("row %d is named %s, not %s", k, prob.Rows[k].Name, want)
		}
	}
	for k, want := range [][]int{{2}, nil, {3, 2}} {
		axes := prob.Report[k].Axes
		if len(axes) != len(want) {
			t.Fatalf("%s has the axes %v", prob.Report[k].Name, axes)
		}
		for i, n := range want {
			if len(axes[i].Labels) != n {
				t.Errorf("%s has the axes %v", prob.Report[k].Name, axes)
			}
		}
	}
}

// A chain of functions as long as the checker takes it is bound.
func TestLongChainOfFunctions(t *testing.T) {
	const length = 1000
	var chain strings.Builder
	for k := range length {
		fmt.Fprintf(&chain, "fn f%d(u) = f%d(u) + 1\n", k+1, k)
	}
	p := mustBind(t, compile(t, "chain", fmt.Sprintf(`model chain
fn f0(u) = u
%supper {
  var x: real in box(0, 1)
  minimize f%d(x)
}
lower {
  var y: real
  minimize (y - x)^2
}
`, chain.String(), length)), nil)
	if v, err := expr.Scalar(p.Upper.Objective, []float64{0.5}, []float64{0}); err != nil || v != length+0.5 {
		t.Errorf("%v, %v", v, err)
	}
}
