package check_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// The head of the models of this file; sizes are written as params and as
// numbers.
const head = `model random
param n: int = 3
param m: int = 2
data s: real = 0.5
data c: vector[n] ~ uniform(1, 2)
data d: vector[2] ~ uniform(1, 2)
data M: matrix[m, n] ~ uniform(1, 2)
data Q: matrix[3, n] ~ uniform(1, 2)
fn both(u, v) = u .* v + 1
fn weigh(u: vector[k], A: matrix[j, k]) = A * u
`

// labelled are arrays over sets, for a writer that has them.
const labelled = `set city = {"Rome", "Oslo", "Bern"}
set good = {"oil", "rye"}
set hour = 5..7
set road within city * city = {("Rome", "Oslo"), ("Oslo", "Bern"), ("Rome", "Bern"), ("Bern", "Rome")}
data W: matrix[city, good] ~ uniform(1, 2)
data H: matrix[hour, city] ~ uniform(1, 2)
data p: vector[city] ~ uniform(1, 2)
data q: vector[road] ~ uniform(1, 2)
data T: [city, good, hour] ~ uniform(1, 2)
`

// writer makes random expressions, most of them almost well typed.
type writer struct {
	*rand.Rand
	sets bool // with arrays over sets
}

func (w writer) pick(s ...string) string { return s[w.IntN(len(s))] }

// overSets is an expression of arrays over sets.
func (w writer) overSets(depth int) string {
	if depth == 0 || w.IntN(3) == 0 {
		return w.pick("W", "H", "p", "q", "T", "p", "W'", `W["Rome", :]`, `W[:, "oil"]`, "H[6, :]", "H[:, \"Bern\"]", `T["Oslo", :, :]`, `T[:, "rye", 7]`,
			`q["Rome", "Oslo"]`, "[c in city, h in hour: ord(c) + h]", "[r in road: q[r]]", `p["Bern"]`, "card(city)")
	}
	e := func() string { return w.overSets(depth - 1) }
	return w.pick("("+e()+w.pick(" + ", " .* ", " * ", " - ")+e()+")", "("+e()+")"+w.pick("", "'"), "("+e()+")["+w.pick(`"Rome"`, `"oil"`, "6", `"Rome", :`, `:, "oil"`, ":, 5", `"Rome", "Oslo"`)+"]",
		"2 * "+e(), w.pick("sum", "exp", "diag", "rowsums", "colsums", "norm2")+"("+e()+")", "sum(c in city: p[c] * "+e()+")", "sum(c in city: ("+e()+")[c])",
		"sum((i, j) in road: p[i] * "+e()+")", "sum(r in road: ("+e()+")[r])", "[h in hour: sum(c in city: H[h, c] * ("+e()+")[c])]", w.pick("both", "dot", "max")+"("+e()+", "+e()+")",
		"[h in hour, c in city: ("+e()+")[h, c]]", "["+e()+w.pick("; ", ", ")+e()+"]", "(if card(good) > 1 then "+e()+" else "+e()+")")
}

func (w writer) expr(depth int) string {
	if w.sets && w.IntN(8) > 0 {
		return w.overSets(depth)
	}
	if depth == 0 || w.IntN(5) == 0 {
		return w.pick("2", "0.5", "s", "c", "d", "M", "Q", "x", "y", "x", "y", "z", "n", "eye(3)", "ones(m)", "[1, 2, 3]",
			"x[2]", "y[1]", "c[2..n]", "M[1, :]", "M[:, 2]", "Q[1..2, 2..3]", "x[m..n]")
	}
	e := func() string { return w.expr(depth - 1) }
	switch w.IntN(12) {
	case 0, 1:
		return "(" + e() + " + " + e() + ")"
	case 2:
		return "(" + e() + " - " + e() + ")"
	case 3, 4:
		return "(" + e() + " * " + e() + ")"
	case 5:
		return "(" + e() + " .* " + e() + ")"
	case 6:
		return "(" + e() + w.pick(" / ", " ./ ") + w.pick("2", "s", "c", "(1 + sumsq(x))") + ")"
	case 7:
		return "(" + e() + w.pick(" .^ ", " ^ ") + w.pick("2", "1", "n") + ")"
	case 8:
		return "(" + e() + ")'"
	case 9:
		return w.pick("sum", "exp", "tanh", "sumsq", "mean", "softmax", "diag", "logsumexp", "length", "norm2") + "(" + e() + ")"
	case 10:
		return w.pick("dot", "both", "outer", "weigh", "quad", "max") + "(" + e() + ", " + e() + ")"
	}
	body := w.pick("c[i]", "x[i] * c[i]", "M[1, i] * y[m]", "x[i] * y[1]", "Q[i, :]", "M[:, i] * x[i]", "i * s", "exp(x[i])", "d[i]")
	if body == "d[i]" { // out of range unless filtered, which binding decides
		return "sum(i in 1..n: d[i])"
	}
	return "sum(i in 1..n" + w.pick("", " if i != 2", " if i < n") + ": " + body + ")"
}

func program(t *testing.T, text string) (*ir.Program, diag.List) {
	t.Helper()
	file, diags := parser.ParseFile(diag.NewSource("random.blv", text))
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, text)
	}
	return check.Check(file)
}

// The checker and the binder agree on random expressions: what one accepts the other
// accepts, with the shape that the graph's builder finds for itself. All sizes are
// numbers by default, so nothing is left open.
func TestShapesAgreeWithBinding(t *testing.T) {
	w := writer{Rand: rand.New(rand.NewPCG(3, 4))}
	accepted := 0
	const cases = 1500
	for range cases {
		e := w.expr(3)
		text := head + "upper {\n var x: vector[n]\n var z: real\n minimize sumsq(x) + z^2\n}\n" +
			"lower {\n var y: vector[m]\n minimize sumsq(y)\n}\nreport {\n r = " + e + "\n}\n"
		p, diags := program(t, text)
		problem, bound := bind.Bind(p, nil, bind.Options{Seed: 1})
		if diags.HasErrors() != bound.HasErrors() {
			t.Fatalf("%s\nchecked: %v\nbound: %v", e, errorsOf(diags), errorsOf(bound))
		}
		if diags.HasErrors() {
			continue
		}
		accepted++
		typ, got := p.Types[p.Report.Items[0].Value], problem.Report[0]
		if want := numeric(t, typ); got.Node.Shape != want || got.Row != (typ.Kind == ir.RowVectorType) {
			t.Fatalf("%s is %s by the checker, %s (row %v) by the binder", e, typ, got.Node.Shape, got.Row)
		}
		// What the checker says of dependence is no less than what holds.
		_, deps, _ := check.Expr(p, p.Report.Items[0].Value)
		if got.Node.Deps&^deps != 0 {
			t.Fatalf("%s depends on %b, the checker says %b", e, got.Node.Deps, deps)
		}
	}
	if accepted < cases/10 || accepted > cases*9/10 {
		t.Errorf("%d of %d accepted: the test does not discriminate", accepted, cases)
	}
}

// Of arrays over sets, the binder takes what the checker accepts, with that shape; it
// leaves to the checker which sets go together.
func TestSetShapesAgreeWithBinding(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(9, 10)), true}
	accepted := 0
	const cases = 2000
	for range cases {
		e := w.expr(3)
		p, diags := program(t, head+labelled+"upper {\n var x: vector[n]\n var z: real\n minimize sumsq(x) + z^2\n}\n"+
			"lower {\n var y: vector[m]\n minimize sumsq(y)\n}\nreport {\n r = "+e+"\n}\n")
		if diags.HasErrors() {
			continue
		}
		accepted++
		typ := p.Types[p.Report.Items[0].Value]
		problem, bound := bind.Bind(p, nil, bind.Options{Seed: 1})
		if bound.HasErrors() {
			for _, d := range bound { // whether data agree is found with numbers
				if d.Code == diag.BindShapes && !strings.Contains(d.Detail, "different sizes") && !strings.Contains(d.Summary, " takes a ") || d.Code != diag.BindShapes && d.Code != diag.BindLabels && d.Code != diag.BindIndex {
					t.Fatalf("%s is %s by the checker, and does not bind: %v", e, typ, d)
				}
			}
			continue
		}
		if want := numeric(t, typ); problem.Report[0].Node.Shape != want {
			t.Fatalf("%s is %s by the checker, %s by the binder", e, typ, problem.Report[0].Node.Shape)
		}
	}
	if accepted < cases/10 || accepted > cases*9/10 {
		t.Errorf("%d of %d accepted: the test does not discriminate", accepted, cases)
	}
}

// only reports whether a list has errors, all of one code.
func only(l diag.List, code diag.Code) bool {
	return l.HasErrors() && !slices.ContainsFunc(l, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error && d.Code != code })
}

func errorsOf(l diag.List) string {
	var parts []string
	for _, d := range l {
		if d.Severity == diag.Error {
			parts = append(parts, d.Error()+" "+d.Detail)
		}
	}
	return strings.Join(parts, "\n")
}

// numeric is the shape that a type has at the defaults.
func numeric(t *testing.T, typ ir.Type) expr.Shape {
	t.Helper()
	var dims []int
	for _, d := range typ.Dims {
		n, ok := check.Number(d)
		if !ok {
			t.Fatalf("the size %s is no number", d)
		}
		dims = append(dims, n)
	}
	return expr.ShapeOf(dims)
}

// A constraint that the checker takes for affine has rows; one that it
// refuses is, but for rare cancellations, curved along some line through the
// variables.
func TestAffineAgreesWithBinding(t *testing.T) {
	w := writer{Rand: rand.New(rand.NewPCG(5, 6))}
	affine, refused, straight := 0, 0, 0
	for affine+refused < 700 {
		e := w.expr(3)
		model := func(relation, item string) string {
			return fmt.Sprintf("%supper {\n var x: vector[n]\n var z: real\n minimize sumsq(x) + z^2\n}\n"+
				"lower {\n var y: vector[m]\n minimize sumsq(y)\n%s}\n%s", head, relation, item)
		}
		p, diags := program(t, model(" subject to\n  rel: "+e+" <= s\n", ""))
		if !diags.HasErrors() {
			affine++
			_, bound := bind.Bind(p, nil, bind.Options{Seed: 1})
			for _, d := range bound {
				if d.Severity == diag.Error && d.Code != diag.BindNeverHolds {
					t.Fatalf("%s\nchecks, but does not bind: %v", e, d)
				}
			}
			continue
		}
		if !only(diags, "E0501") {
			continue
		}
		refused++
		p, diags = program(t, model("", "report {\n r = "+e+"\n}\n"))
		if diags.HasErrors() {
			t.Fatalf("%s: %v", e, diags)
		}
		problem, bound := bind.Bind(p, nil, bind.Options{Seed: 1})
		if bound.HasErrors() {
			t.Fatalf("%s: %v", e, bound)
		}
		if straightAlong(t, w.Rand, problem.Report[0].Node) {
			straight++
		}
	}
	t.Logf("%d affine, %d refused, of which %d straight along a random line", affine, refused, straight)
	if affine < 100 || refused < 100 {
		t.Errorf("%d affine, %d refused: the test does not discriminate", affine, refused)
	}
	// Structure cannot see that x - x is 0; random expressions do that rarely.
	if straight > refused/20 {
		t.Errorf("%d of %d refused constraints are straight along a random line", straight, refused)
	}
}

// An objective that the checker accepts binds to a graph in which every
// operation on variables is smooth, kinks being restated, or is refused there for a
// kink of something that is not linear; one that is refused has an operation that is
// not smooth, unless binding found it to be of no effect.
func TestSmoothAgreesWithBinding(t *testing.T) {
	w := writer{Rand: rand.New(rand.NewPCG(7, 8))}
	smooth, refused, harmless := 0, 0, 0
	for smooth+refused < 600 {
		inner := w.pick("x", "y[1]", "c", "z", "(x - c)", "s", "i")
		e := w.pick("abs", "sign", "floor", "sign", "floor", "tanh", "both2", "top", "norm1", "sumsq") + "(" + inner + ")"
		if w.IntN(2) == 0 {
			e = w.expr(2) + w.pick(" + ", " * ", " .* ") + e
		}
		e = "sum(i in 1..2: sum(" + e + "))"
		text := func(objective, item string) string {
			return head + "fn both2(u) = min(u, 1) + sum(abs(c))\nfn top(u) = max(u, 0.5)\nupper {\n var x: vector[n]\n var z: real\n minimize " + objective + "\n}\n" +
				"lower {\n var y: vector[m]\n minimize sumsq(y)\n}\n" + item
		}
		p, diags := program(t, text(e, ""))
		if diags.HasErrors() && !only(diags, "E0601") {
			continue
		}
		reported := diags.HasErrors()
		var problem *ir.Problem
		var bound diag.List
		if !reported {
			problem, bound = bind.Bind(p, nil, bind.Options{Seed: 1})
			reported = bound.HasErrors() && only(bound, "E0601")
		}
		if reported {
			p, _ = program(t, text("z^2", "report {\n r = "+e+"\n}\n"))
			problem, bound = bind.Bind(p, nil, bind.Options{Seed: 1})
		}
		if bound.HasErrors() {
			t.Fatalf("%s: %v", e, bound)
		}
		root := problem.Upper.Objective
		if reported {
			root = problem.Report[0].Node
		}
		rough := !root.Smooth()
		switch {
		case !reported && rough:
			t.Fatalf("%s is accepted, but is not smooth:\n%s", e, expr.Format(root))
		case !reported:
			smooth++
		default:
			refused++
			if !rough {
				harmless++
			}
		}
	}
	t.Logf("%d smooth, %d refused, of which %d without effect", smooth, refused, harmless)
	if smooth < 100 || refused < 100 || harmless > refused/20 {
		t.Errorf("%d smooth, %d refused, %d of them without effect: the test does not discriminate", smooth, refused, harmless)
	}
}

// straightAlong reports whether a node's entries are affine along a random
// line, by second differences.
func straightAlong(t *testing.T, rng *rand.Rand, n *expr.Node) bool {
	x, y, dx, dy := make([]float64, 4), make([]float64, 2), make([]float64, 4), make([]float64, 2)
	for _, v := range [][]float64{x, y, dx, dy} {
		for i := range v {
			v[i] = 0.3 + 0.4*rng.Float64()
		}
	}
	at := func(h float64) []float64 {
		u, v := append([]float64(nil), x...), append([]float64(nil), y...)
		for i := range u {
			u[i] += h * dx[i]
		}
		for i := range v {
			v[i] += h * dy[i]
		}
		a, err := expr.Eval(n, u, v)
		if err != nil {
			t.Fatal(err)
		}
		return a.Values()
	}
	a, b, c := at(-1), at(0), at(1)
	for i := range a {
		// The second difference of an affine function is rounding alone.
		if math.Abs(a[i]-2*b[i]+c[i]) > 1e-9*(math.Abs(a[i])+math.Abs(b[i])+math.Abs(c[i])) {
			return false
		}
	}
	return true
}

// bracketed is a model with brackets around each subscript and each side of a comparison
// of its report.
func bracketed(t *testing.T, text string) string {
	t.Helper()
	file, diags := parser.ParseFile(diag.NewSource("random.blv", text))
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, text)
	}
	open, shut := map[int]int{}, map[int]int{}
	around := func(x lang.Expr) {
		if x != nil {
			open[x.Span().Start]++
			shut[x.Span().End]++
		}
	}
	lang.Inspect(file.Decls[len(file.Decls)-1], func(x lang.Expr, _ *lang.Scope) bool {
		switch x := x.(type) {
		case *lang.Index:
			for _, s := range x.Subs {
				if !s.All {
					around(s.Lo)
				}
			}
		case *lang.Binary:
			if x.Op.Precedence() == lang.CompareLevel {
				around(x.X)
				around(x.Y)
			}
		}
		return true
	})
	var out strings.Builder
	for i := range len(text) + 1 {
		out.WriteString(strings.Repeat(")", shut[i]) + strings.Repeat("(", open[i]))
		if i < len(text) {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

// Brackets around subscripts and the sides of comparisons change nothing: neither what
// is accepted, nor what it is worth.
func TestBracketsChangeNothing(t *testing.T) {
	const tables = labelled + `set row = 1..3
set some within hour = {5, 7}
data when: text[row] = ["5", "7", "5"]
data place: text[row] = ["Rome", "Oslo", "Rome"]
data two: vector[2] = [1, 3]
`
	expressions := []string{`sum(r in row: H[when[r], "Rome"])`, `sum(r in row if place[r] == "Rome": p[place[r]])`, `sum(r in row if when[r] != 5: 1)`,
		`sum(k in some: H[k, "Bern"])`, `sum(k in some, r in row if when[r] == k: H[k, place[r]])`, `sum(c in city if c != "Bern": p[next(c)])`,
		`sum(c in city, b in city if b == c: p[b])`, `x[two]`, `sum(i in 1..n if c[i] > 1.5: x[i])`, `sum((i, j) in road if i == "Rome": q[i, j])`, `x[n - 1]`,
		`sum(r in road: q[r])`, `sum(r in row if place[r] == place[1]: 1)`, `p[1]`, `x["Rome"]`, `sum(c in city if c > "Bern": 1)`, `H[9, "Rome"]`, `sum(c in city if c == "Paris": 1)`}
	w := writer{rand.New(rand.NewPCG(11, 12)), true}
	for range 300 {
		expressions = append(expressions, w.expr(3))
	}
	accepted := 0
	for _, e := range expressions {
		text := head + tables + "upper {\n var x: vector[n]\n var z: real\n minimize sumsq(x) + z^2\n}\n" +
			"lower {\n var y: vector[m]\n minimize sumsq(y)\n}\nreport {\n r = " + e + "\n}\n"
		var values [2][]float64
		var codes [2][]diag.Code
		for k, text := range []string{text, bracketed(t, text)} {
			p, found := program(t, text)
			if !found.HasErrors() {
				var problem *ir.Problem
				if problem, found = bind.Bind(p, nil, bind.Options{Seed: 1}); !found.HasErrors() {
					v, err := expr.Eval(problem.Report[0].Node, []float64{1, 2, 4, 8}, []float64{3, 5})
					if err != nil {
						t.Fatal(err)
					}
					values[k] = v.Values()
				}
			}
			for _, d := range found {
				if d.Severity == diag.Error {
					codes[k] = append(codes[k], d.Code)
				}
			}
		}
		if !slices.Equal(codes[0], codes[1]) || !expr.SameBits(values[0], values[1]) {
			t.Errorf("%s\nis worth %v, with brackets %v; errors %v and %v", e, values[0], values[1], codes[0], codes[1])
		}
		if codes[0] == nil {
			accepted++
		}
	}
	if accepted < 20 || accepted > len(expressions)-20 {
		t.Errorf("%d of %d accepted: the test does not discriminate", accepted, len(expressions))
	}
}
