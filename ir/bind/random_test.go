package bind

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// generator writes random well-typed expressions as text. Sizes are the
// params n = 3 and m = 4; values stay moderate, so that nothing overflows.
type generator struct {
	*rand.Rand
	indices []index // in scope
	serial  int
}

// index is an index variable and the bound of its range, n or m.
type index struct{ name, size string }

func (g *generator) pick(options ...string) string { return options[g.IntN(len(options))] }

// at returns an index expression in 1..size, for size n or m.
func (g *generator) at(size string) string {
	var own []string
	for _, i := range g.indices {
		if i.size == size {
			own = append(own, i.name, i.name)
		}
		if i.size == "n" && size == "m" {
			own = append(own, i.name, i.name+" + 1")
		}
	}
	own = append(own, "1", "2", size)
	if size == "n" {
		own = append(own, "perm["+g.pick("1", "2", "n")+"]")
		for _, i := range g.indices {
			if i.size == "n" {
				own = append(own, "perm["+i.name+"]")
			}
		}
	}
	return g.pick(own...)
}

func (g *generator) scalar(depth int) string {
	if depth <= 0 {
		leaf := []string{"u", "0.7", "-1.5", "rho", "n", "m / 2", "y[" + g.at("n") + "]", "x[" + g.at("m") + "]", "c[" + g.at("n") + "]",
			"A[" + g.at("m") + ", " + g.at("n") + "]", "Z[" + g.at("m") + ", " + g.at("n") + "]", "(B*y)[" + g.at("n") + "]"}
		for _, i := range g.indices {
			leaf = append(leaf, i.name, i.name+"/4")
		}
		return g.pick(leaf...)
	}
	s := func() string { return g.scalar(depth - 1) }
	size := g.pick("n", "m")
	switch g.IntN(21) {
	case 16:
		return g.pick("dot", "pairs") + "(" + g.vector(size, depth-1) + ", " + g.vector(size, depth-1) + ")"
	case 17:
		return "quad(B, " + g.vector("n", depth-1) + ")"
	case 18:
		return "bilin(" + g.matrix(depth-1) + ", " + g.vector("m", depth-1) + ", " + g.vector("n", depth-1) + ")"
	case 19:
		return "sum(" + g.pick("gram(", "(B * diag(c) * ") + g.matrix(depth-1) + "')' .* 0.5)"
	case 20:
		return "trace((" + g.matrix(depth-1) + ")' * (" + g.matrix(depth-1) + "))"
	case 0:
		return "(" + s() + g.pick(" + ", " - ", "*") + s() + ")"
	case 1:
		return "tanh(" + s() + ")"
	case 2:
		return "(" + s() + " / (2 + sin(" + s() + ")))"
	case 3:
		return "(tanh(" + s() + "))^2"
	case 4:
		return g.pick("sumsq", "sum", "mean", "max", "logsumexp", "min", "f") + "(" + g.vector(size, depth-1) + ")"
	case 5:
		return "(" + g.vector(size, depth-1) + ")' * (" + g.vector(size, depth-1) + ")"
	case 6:
		return "(" + g.vector("m", depth-1) + ")' * " + g.pick("A", "Z") + " * (" + g.vector("n", depth-1) + ")"
	case 7:
		return "(if " + g.condition() + " then " + s() + " else " + s() + ")"
	case 8, 9, 10, 11:
		if g.IntN(4) == 0 && len(g.indices) > 0 && g.indices[len(g.indices)-1].size == "n" {
			i := g.indices[len(g.indices)-1].name // a branch that is undefined elsewhere
			return "(if " + i + " > 1 then y[" + i + " - 1] * " + s() + " else " + s() + ")"
		}
		return g.comprehension(depth, func() string { return g.scalar(depth - 1) })
	case 12:
		return "row(" + g.matrix(depth-1) + ", " + g.vector("n", depth-1) + ")"
	case 13:
		return "log1pexp(" + s() + ")"
	case 14:
		return "0.5 * (" + g.vector("n", depth-1) + ")' * B * (" + g.vector("n", depth-1) + ")"
	}
	return "max(" + s() + ", " + s() + ")"
}

func (g *generator) condition() string {
	list := []string{"rho > 0", "c[" + g.at("n") + "] < 0", "n == 3"}
	for _, i := range g.indices {
		if i.size == "n" { // the second part is defined only where the first holds
			list = append(list, i.name+" > 1 and c["+i.name+" - 1] > 0", i.name+" == n or not (c["+i.name+" + 1] < 0.2)")
		}
		list = append(list, i.name+" != 2", i.name+" >= 2 and c["+g.at("n")+"] > -0.3", "not ("+i.name+" == 1)", i.name+" > 1 or rho < 0")
	}
	return g.pick(list...)
}

// comprehension binds one or two indices around a body.
func (g *generator) comprehension(depth int, body func() string) string {
	before := len(g.indices)
	var binders []string
	for range 1 + g.IntN(2) {
		g.serial++
		i := index{fmt.Sprintf("i%d", g.serial), g.pick("n", "m")}
		upper := i.size
		lower := g.pick("1", "1", "1", "2")
		if len(g.indices) > 0 && g.IntN(3) == 0 {
			if last := g.indices[len(g.indices)-1]; last.size == i.size {
				upper = last.name
			}
		}
		text := i.name + " in " + lower + ".." + upper
		if i.size == "n" && g.IntN(6) == 0 {
			text = i.name + " in perm"
		}
		binders = append(binders, text)
		g.indices = append(g.indices, i)
	}
	cond, fn := "", "sum"
	switch g.IntN(8) {
	case 0, 1:
		cond = " if " + g.condition()
	case 2:
		fn = "prod"
	}
	text := body()
	g.indices = g.indices[:before]
	return fn + "(" + strings.Join(binders, ", ") + cond + ": " + text + ")"
}

func (g *generator) vector(size string, depth int) string {
	if depth <= 0 {
		if size == "n" {
			return g.pick("y", "c", "A["+g.at("m")+", :]'", "Z["+g.at("m")+", :]'", "B[:, "+g.at("n")+"]", "ones(n)", "x[2..m]", "perm")
		}
		return g.pick("x", "d", "A[:, "+g.at("n")+"]", "Z[:, "+g.at("n")+"]", "[1, u, y[1], x["+g.at("m")+"]]")
	}
	v := func() string { return g.vector(size, depth-1) }
	switch g.IntN(10) {
	case 0:
		return "(" + v() + g.pick(" + ", " - ", " .* ") + v() + ")"
	case 1:
		return "tanh(" + v() + ")"
	case 2:
		return "(" + g.scalar(depth-1) + " * " + v() + ")"
	case 3:
		if size == "n" {
			return "(" + g.pick("A", "Z") + "' * " + g.vector("m", depth-1) + ")"
		}
		return "(" + g.pick("A", "Z") + " * " + g.vector("n", depth-1) + ")"
	case 4:
		return "(" + v() + " ./ (2 + tanh(" + v() + ")))"
	case 5:
		return "(tanh(" + v() + ") .^ 2)"
	case 6:
		if size == "n" {
			return "(" + g.vector("m", depth-1) + "' * " + g.matrix(depth-1) + ")'"
		}
		return "(" + g.matrix(depth-1) + " * " + g.vector("n", depth-1) + ")"
	case 7:
		return "(if " + g.condition() + " then " + v() + " else " + v() + ")"
	case 8:
		before := len(g.indices)
		g.serial++
		i := index{fmt.Sprintf("i%d", g.serial), g.pick("n", "m")}
		g.indices = append(g.indices, i)
		text := "sum(" + i.name + " in 1.." + i.size + ": " + v() + ")"
		g.indices = g.indices[:before]
		return text
	}
	return "(" + v() + " + " + g.scalar(depth-1) + ")"
}

// matrix is m x n.
func (g *generator) matrix(depth int) string {
	if depth <= 0 {
		return g.pick("A", "Z", "ones(m, n)", "(A - Z)")
	}
	switch g.IntN(7) {
	case 0:
		return "(" + g.matrix(depth-1) + g.pick(" + ", " - ", " .* ") + g.matrix(depth-1) + ")"
	case 1:
		return "outer(" + g.vector("m", depth-1) + ", " + g.vector("n", depth-1) + ")"
	case 2:
		return "(" + g.scalar(depth-1) + " * " + g.matrix(depth-1) + ")"
	case 3:
		return "(" + g.matrix(depth-1) + " * diag(" + g.vector("n", depth-1) + "))"
	case 4:
		return "(" + g.vector("m", depth-1) + " * " + g.vector("n", depth-1) + "')"
	case 5:
		return "(" + g.matrix(depth-1) + ")''"
	}
	return "(" + g.matrix(depth-1) + " * B)"
}

const randomHead = `model random
param n: int = 3
param m: int = 4
param rho: real = 0.4
data A: matrix[m, n] ~ uniform(-1, 1)
data B: matrix[n, n] ~ uniform(-1, 1)
data c: vector[n] ~ uniform(-1, 1)
data d: vector[m] ~ uniform(-1, 1)
data perm: vector[n] = [2, 3, 1]
fn f(v: vector) = sum(i in 1..length(v): v[i]^2 * rho) / length(v)
fn pairs(a: vector[p], b: vector[p]): real = sum(i in 1..p, j in 1..p if i < j: a[i] * b[j] * p) + f(a)
fn bilin(M: matrix[r, s], u: vector[r], v: vector[s]) = sum(i in 1..r: u[i] * sum(j in 1..s: M[i, j] * v[j]))
fn row(M: matrix, v: vector) = sum(i in 1..rows(M): M[i, :] * v)
upper {
  var x: vector[m]
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[n]
  var u: real
  var Z: matrix[m, n]
  minimize sumsq(y) + u^2 + sumsq(Z)
}
report {
`

// TestRandomExpressions compares the graph of random expressions with the
// naive interpreter: at least 2000 of them, about half with comprehensions.
func TestRandomExpressions(t *testing.T) {
	const modelsTried, items = 130, 20
	compared, comprehensions := 0, 0
	for seed := range uint64(modelsTried) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 7))}
		var text strings.Builder
		text.WriteString(randomHead)
		for k := range items {
			line := g.scalar(1 + g.IntN(4))
			comprehensions += strings.Count(line, " in ")
			fmt.Fprintf(&text, "  r%d = %s\n", k, line)
		}
		text.WriteString("}\n")
		p := compile(t, "random.blv", text.String())
		prob, list := Bind(p, nil, Options{Seed: seed})
		if list.HasErrors() {
			t.Fatalf("seed %d: %v", seed, list)
		}
		x, y := make([]float64, prob.Upper.Dim), make([]float64, prob.Lower.Dim)
		for _, z := range [][]float64{x, y} {
			for k := range z {
				z[k] = 2*g.Float64() - 1
			}
		}
		n := interpreter(p, prob, x, y)
		for k, item := range p.Report.Items {
			want := n.eval(item.Value, nenv{})
			got := evalReport(t, prob, k, x, y)
			compared++
			if !agree(got, want.e) {
				t.Errorf("seed %d: %s\n is %v, the naive interpreter has %v", seed, item.Value.Span().Text(), got, want.e)
			}
		}
	}
	if compared < 2000 || comprehensions < compared/2 {
		t.Errorf("%d expressions with %d indices are too few", compared, comprehensions)
	}
}

// evalReport evaluates an item of the report.
func evalReport(t *testing.T, prob *ir.Problem, k int, x, y []float64) []float64 {
	t.Helper()
	v, err := expr.Eval(prob.Report[k].Node, x, y)
	if err != nil {
		t.Fatalf("%s: %v", prob.Report[k].Name, err)
	}
	return v.Values()
}

// agree compares up to the rounding of reordered sums: the expressions are
// smooth and of moderate values, so that 1e-9 leaves room for cancellation.
func agree(got, want []float64) bool {
	if len(got) != len(want) {
		return false
	}
	for k, v := range got {
		w := want[k]
		if math.IsNaN(v) && math.IsNaN(w) || v == w {
			continue
		}
		if !(math.Abs(v-w) <= 1e-9*(1+math.Abs(w))) {
			return false
		}
	}
	return true
}
