package bind

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// Signs, scales and orders of the factors of a sum's terms: every term of this form, over
// segments and over all tuples, against the interpreter.
func TestSignsOfSummedTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 50))
	factors := []string{"c[i]", "y[i]", "x[i]", "y[n + 1 - i]", "(-y[i])", "(-c[i])", "(-(c[i] * y[i]))", "u", "2", "(-3)", "(-u)", "(-(-y[i]))", "d[j]", "(-d[j])", "z[j]"}
	var items strings.Builder
	const count = 300
	for k := range count {
		var term []string
		binders := "i in 1..n"
		for range 1 + rng.IntN(4) {
			f := factors[rng.IntN(len(factors))]
			if strings.Contains(f, "j") {
				binders = "i in 1..n, j in 1..m"
			}
			term = append(term, f)
		}
		text := strings.Join(term, " * ")
		if rng.IntN(3) == 0 {
			text = "-(" + text + ")"
		}
		switch rng.IntN(3) {
		case 0: // sums over segments: one for each i
			if binders != "i in 1..n" {
				fmt.Fprintf(&items, "  r%d = sum(i in 1..n: (c[i] + sum(j in 1..m: %s))^2)\n", k, text)
				continue
			}
			fallthrough
		case 1:
			fmt.Fprintf(&items, "  r%d = sum(%s: %s)\n", k, binders, text)
		default:
			fmt.Fprintf(&items, "  r%d = 3 - sum(%s if c[i] > 0: %s)\n", k, binders, text)
		}
	}
	compareReport(t, `data c: vector[n] = [2, -1, 3, 0.5]
data d: vector[m] = [-2, 1.5, 4]
`, items.String(), count)
}

// Products of a matrix or vector that is the same for all tuples with one of each tuple, in
// either order, and of two of each tuple.
func TestProductsInComprehensions(t *testing.T) {
	var items strings.Builder
	k := 0
	matrices := []string{"A", "(i * A)", "(A + i)", "(Z + i * A)", "(y[i] * A)"}     // m x n
	columns := []string{"y", "c", "(i * y)", "(c + i)", "(x[i] * c - y)", "(y + c)"} // n
	heads := []string{"d'", "z'", "(i * z)'", "(d + i)'", "(y[i] * d - z)'"}         // m
	squares := []string{"B", "(i * B)", "(B + y[i])", "(x[i] * B + i)"}              // n x n
	sum := func(body string) { fmt.Fprintf(&items, "  r%d = sum(i in 1..n: %s)\n", k, body); k++ }
	for _, a := range matrices {
		for _, v := range columns {
			sum("sumsq(" + a + " * " + v + " + i)")
		}
		for _, u := range heads {
			sum("sumsq(" + u + " * " + a + " + i)")
		}
		for _, b := range squares {
			sum("sumsq(" + a + " * " + b + " + i)")
		}
	}
	for _, u := range columns {
		for _, v := range columns {
			sum("i * (" + u + "' * " + v + ")")
		}
	}
	compareReport(t, `data A: matrix[m, n] = [[1, 2, -3, 4], [0, 5, 6, -1], [2, 0, 1, 1]]
data B: matrix[n, n] = [[1, 2, 0, 1], [0, 5, 1, -1], [2, 0, 1, 1], [3, -1, 0, 2]]
data c: vector[n] = [2, -1, 3, 0.5]
data d: vector[m] = [-2, 1.5, 4]
`, items.String(), k)
}

// compareReport compares the items r0, r1, ... of a report with the interpreter, at a
// random point of x and y (n = 4), z (m = 3), Z (m x n) and u.
func compareReport(t *testing.T, declared, items string, count int) {
	t.Helper()
	p := compile(t, "terms.blv", `model terms
param n: int = 4
param m: int = 3
`+declared+`upper {
  var x: vector[n]
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[n]
  var z: vector[m]
  var Z: matrix[m, n]
  var u: real
  minimize sumsq(y) + sumsq(z) + sumsq(Z) + u^2
}
report {
`+items+"}\n")
	prob := mustBind(t, p, nil)
	x, y := normal(1, prob.Upper.Dim), normal(2, prob.Lower.Dim)
	n := interpreter(p, prob, x, y)
	if len(p.Report.Items) != count {
		t.Fatalf("%d items of %d", len(p.Report.Items), count)
	}
	for k, item := range p.Report.Items {
		if got, want := evalReport(t, prob, k, x, y), n.eval(item.Value, nenv{}); !agree(got, want.e) {
			t.Errorf("%s\n is %v, the naive interpreter has %v", item.Value.Span().Text(), got, want.e)
		}
	}
}

// A coefficient of a row that is no number is an error that names the row.
func TestCoefficientsThatAreNoNumbers(t *testing.T) {
	for _, c := range []struct{ row, name string }{
		{"big: (1e200 * a) * y[1] <= 1", "big"},
		{"big: y[1] - (1e200 * a - 1e200 * a) * x[2] == 1", "big"},
		{"rows: forall i in 1..2: (if i > 1 then 1e200 * a else 1) * y[i] >= x[1]", "rows[2]"},
		{"rows: y[1] + y[2] <= 1e200 * a - 1e200 * a", "rows"},
	} {
		p := compile(t, "coefficients.blv", `model coefficients
param a: real
upper {
  var x: vector[2]
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[2]
  minimize sumsq(y)
  subject to
    `+c.row+`
}
`)
		_, list := Bind(p, supply("a", data.Scalar(1e200)), Options{})
		if !slices.ContainsFunc(list, func(d *diag.Diagnostic) bool {
			return d.Code == diag.BindNotFinite && strings.Contains(d.Summary, "`"+c.name+"`")
		}) {
			t.Errorf("%s: %v", c.row, list)
		}
	}
}

// A condition of which the second part has an error where the first lets it be looked at is
// that error, and nothing else; where it is not looked at there is none.
func TestSecondConditionsThatFail(t *testing.T) {
	for _, c := range []struct {
		condition string
		fails     bool
	}{
		{"c[i] > 0 and c[i + 1] > 0", true}, // c[3] at i = 2
		{"c[i] < 0 and c[i + 1] > 0", false},
		{"c[i] < 0 or c[i + 1] > 0", true},
		{"c[i] > 1 or c[i + 1] > 0", false},
		{"i < 2 and c[i + 1] > 0", false},
		{"i > 1 and c[i - 1] > 0", false},
		{"i >= 2 and (c[i] > 0 and c[2 * i] > 0)", true},
	} {
		p := compile(t, "conditions.blv", `model conditions
data c: vector[2]
upper {
  var x: vector[2]
  minimize sumsq(x)
}
lower {
  var y: vector[2]
  minimize sumsq(y) + sum(i in 1..2 if `+c.condition+`: y[i])
}
`)
		_, list := Bind(p, supply("c", vec(1, 2)), Options{})
		errors := 0
		for _, d := range list {
			if d.Severity == diag.Error {
				errors++
			}
		}
		want := 0
		if c.fails {
			want = 1
		}
		if errors != want {
			t.Errorf("%s: %d errors, want %d: %v", c.condition, errors, want, list)
		}
	}
}
