package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bilevelc/autodiff"
	"bilevelc/bench/clock"
	"bilevelc/codegen"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
	"bilevelc/parser"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// The benchmarks of compiled programs. Each compares two ways to compute the
// same numbers, alternating between them within one run, and reports the
// medians over the rounds and their ratio, so that the load of the machine
// falls on both. Where both use one thread, its processor time is measured
// instead of the time on the wall, so that other programs hardly matter:
//
//	go test ./bench -run '^$' -bench Compiled -benchtime 40x

// contest runs the contestants in turn, b.N rounds of about a slice each, and
// returns the median nanoseconds a call of each, by the given clock.
func contest(b *testing.B, clock func() time.Duration, contestants ...func()) []float64 {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const slice = 3 * time.Millisecond
	calls := make([]int, len(contestants))
	for k, f := range contestants {
		f() // warm caches
		start := clock()
		n := 0
		for clock()-start < slice {
			f()
			n++
		}
		calls[k] = max(1, n)
	}
	times := make([][]float64, len(contestants))
	for b.Loop() {
		for k, f := range contestants {
			start := clock()
			for range calls[k] {
				f()
			}
			times[k] = append(times[k], float64(clock()-start)/float64(calls[k]))
		}
	}
	medians := make([]float64, len(contestants))
	for k, t := range times {
		slices.Sort(t)
		medians[k] = t[len(t)/2]
	}
	return medians
}

var epoch = time.Now()

// wall is the time on the wall.
func wall() time.Duration { return time.Since(epoch) }

// clockFor is the clock of a contest: this thread's processor time where the
// compiled program may use one thread.
func clockFor(threads int) func() time.Duration {
	if threads == 1 {
		return clock.Thread
	}
	return wall
}

// report shows the compiled program's time and how it compares.
func report(b *testing.B, ours, hand float64) {
	b.ReportMetric(ours, "ns/op")
	b.ReportMetric(hand, "hand-ns")
	b.ReportMetric(ours/hand, "ratio")
}

// bound goes from model text to a bound problem.
func bound(tb testing.TB, text string, set *data.Set) *ir.Problem {
	tb.Helper()
	fail := func(list diag.List) {
		if list.HasErrors() {
			var s strings.Builder
			diag.Render(&s, list, diag.Style{})
			tb.Fatal(s.String())
		}
	}
	file, list := parser.ParseFile(diag.NewSource("bench.blv", text))
	fail(list)
	program, list := check.Check(file)
	fail(list)
	p, list := bind.Bind(program, set, bind.Options{Seed: 1})
	fail(list)
	return p
}

// compiled compiles the lower level's objective g.
func compiled(tb testing.TB, p *ir.Problem, threads int) *codegen.Program {
	tb.Helper()
	g, err := autodiff.Differentiate(p.Graph, p.Lower.Objective, p.Upper.Dim, p.Lower.Dim)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := codegen.Compile(g, codegen.Options{Threads: threads})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func normals(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

func agree(tb testing.TB, got, want []float64) {
	tb.Helper()
	for i := range want {
		// Both sum up to 1e4 products of entries of order 1 in different orders.
		if math.Abs(got[i]-want[i]) > 1e-9*(1+math.Abs(want[i])) {
			tb.Fatalf("entry %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// BenchmarkCompiledQuadratic: the gradient in y with x fixed of
// g = 0.5 y'Qy + x'Py, against hand-written gonum BLAS that knows that Q is
// symmetric and keeps P'x: the faster of Dsymv and Dgemv.
func BenchmarkCompiledQuadratic(b *testing.B) {
	for _, n := range []int{50, 200, 1000, 4000} {
		for _, threads := range []int{1, 0} {
			name := fmt.Sprintf("dy=%d", n)
			if threads == 1 {
				name += "/onethread"
			}
			b.Run(name, func(b *testing.B) {
				p, q := quadratic(b, n)
				e := compiled(b, p, threads).NewEvaluator()
				x, y := normals(3, n/2), normals(4, n)
				got, want := make([]float64, n), make([]float64, n)
				base := make([]float64, n)
				e.GradY(base, x, make([]float64, n)) // P'x
				var lib gonum.Implementation
				symv := func() {
					copy(want, base)
					lib.Dsymv(blas.Upper, n, 1, q, n, y, 1, 1, want, 1)
				}
				gemv := func() {
					copy(want, base)
					lib.Dgemv(blas.NoTrans, n, n, 1, q, n, y, 1, 1, want, 1)
				}
				ours := func() { e.GradY(got, x, y) }
				ours()
				gemv()
				agree(b, got, want)
				t := contest(b, clockFor(threads), ours, symv, gemv)
				report(b, t[0], min(t[1], t[2]))
			})
		}
	}
}

// BenchmarkCompiledGorgonia: the same gradient, against Gorgonia's machine.
func BenchmarkCompiledGorgonia(b *testing.B) {
	for _, n := range []int{50, 200, 1000, 4000} {
		for _, threads := range []int{1, 0} {
			name, timer := fmt.Sprintf("dy=%d", n), wall
			if threads == 1 {
				// The machine works in goroutines of its own.
				name, timer = name+"/onethread", clock.Process
			}
			b.Run(name, func(b *testing.B) {
				p, _ := quadratic(b, n)
				e := compiled(b, p, threads).NewEvaluator()
				machine, err := autodiff.NewReference(p.Graph, p.Lower.Objective)
				if err != nil {
					b.Fatal(err)
				}
				defer machine.Close()
				x, y := normals(3, n/2), normals(4, n)
				got, wantX, want := make([]float64, n), make([]float64, n/2), make([]float64, n)
				ours := func() { e.GradY(got, x, y) }
				theirs := func() {
					if _, err := machine.ValueGrad(wantX, want, x, y); err != nil {
						b.Fatal(err)
					}
				}
				ours()
				theirs()
				agree(b, got, want)
				t := contest(b, timer, ours, theirs)
				b.ReportMetric(t[0], "ns/op")
				b.ReportMetric(t[1], "machine-ns")
				b.ReportMetric(t[1]/t[0], "times-faster")
			})
		}
	}
}

// quadratic is the model of the paper's experiment with a given symmetric Q
// (n x n) and P (n/2 x n), and Q's entries.
func quadratic(tb testing.TB, n int) (*ir.Problem, []float64) {
	q := normals(1, n*n)
	for i := range n {
		for j := range i {
			q[i*n+j] = q[j*n+i]
		}
		q[i*n+i] += 4 * math.Sqrt(float64(n))
	}
	set := &data.Set{}
	set.Add("n", data.Scalar(float64(n)), "bench")
	set.Add("Q", data.Matrix(n, n, q), "bench")
	set.Add("P", data.Matrix(n/2, n, normals(2, n*n/2)), "bench")
	return bound(tb, `model quadratic
param n: int
data Q: matrix[n, n]
data P: matrix[n / 2, n]
upper {
  var x: vector[n / 2]
  minimize sumsq(x)
}
lower {
  var y: vector[n]
  minimize 0.5 * y' * Q * y + x' * P * y
}
`, set), q
}

const rows, features = 10000, 100

// regression binds a model with data X (rows x features) and t (rows).
func regression(tb testing.TB, objective string) (p *ir.Problem, X, t []float64) {
	X, t = normals(5, rows*features), normals(6, rows)
	for i, v := range t {
		t[i] = math.Copysign(1, v)
	}
	set := &data.Set{}
	set.Add("n", data.Scalar(rows), "bench")
	set.Add("p", data.Scalar(features), "bench")
	set.Add("X", data.Matrix(rows, features, X), "bench")
	set.Add("t", data.Vector(t), "bench")
	return bound(tb, `model regression
param n: int
param p: int
data X: matrix[n, p]
data t: vector[n]
upper {
  var x: real
  minimize x^2
}
lower {
  var w: vector[p]
  minimize `+objective+`
}
`, set), X, t
}

// BenchmarkCompiledLogistic: value and gradient of logistic regression, 10,000
// x 100, against hand-written Go that passes over the rows once with gonum's
// dot product and axpy.
func BenchmarkCompiledLogistic(b *testing.B) {
	p, X, s := regression(b, "sum(log1pexp(-(t .* (X * w)))) + 0.05 * sumsq(w)")
	var lib gonum.Implementation
	againstHand(b, p, func(grad, w []float64) float64 {
		value := 0.0
		for j, v := range w {
			value += 0.05 * v * v
			grad[j] = 0.1 * v
		}
		for i, si := range s {
			row := X[i*features : (i+1)*features]
			m := -si * lib.Ddot(features, row, 1, w, 1)
			e := math.Exp(-math.Abs(m))
			value += max(m, 0) + math.Log1p(e)
			sigma := 1 / (1 + e)
			if m < 0 {
				sigma = e / (1 + e)
			}
			lib.Daxpy(features, -si*sigma, row, 1, grad, 1)
		}
		return value
	})
}

// BenchmarkCompiledLeastSquares: value and gradient of a least-squares loss,
// 10,000 x 100, against hand-written Go that passes over the rows once.
func BenchmarkCompiledLeastSquares(b *testing.B) {
	p, X, t := regression(b, "0.5 * sumsq(X * w - t) / n + 0.05 * sumsq(w)")
	var lib gonum.Implementation
	againstHand(b, p, func(grad, w []float64) float64 {
		value := 0.0
		clear(grad)
		for i, ti := range t {
			row := X[i*features : (i+1)*features]
			r := lib.Ddot(features, row, 1, w, 1) - ti
			value += r * r
			lib.Daxpy(features, r/rows, row, 1, grad, 1)
		}
		value *= 0.5 / rows
		for j, v := range w {
			value += 0.05 * v * v
			grad[j] += 0.1 * v
		}
		return value
	})
}

func againstHand(b *testing.B, p *ir.Problem, hand func(grad, w []float64) float64) {
	for _, threads := range []int{1, 0} {
		name := "threads"
		if threads == 1 {
			name = "onethread"
		}
		b.Run(name, func(b *testing.B) {
			e := compiled(b, p, threads).NewEvaluator()
			dx, dy := p.Upper.Dim, p.Lower.Dim
			x, y := make([]float64, dx), normals(7, dy)
			for i := range y {
				y[i] *= 0.1
			}
			got, want := make([]float64, dy), make([]float64, dy)
			agree(b, []float64{e.ValueGradY(got, x, y)}, []float64{hand(want, y)})
			agree(b, got, want)
			t := contest(b, clockFor(threads), func() { e.ValueGradY(got, x, y) }, func() { hand(want, y) })
			report(b, t[0], t[1])
		})
	}
}

// BenchmarkCompiledChain: the value of a chain of 8 elementwise functions on
// 1e6 entries, against one hand-written fused loop.
func BenchmarkCompiledChain(b *testing.B) {
	const n = 1000000
	set := &data.Set{}
	set.Add("n", data.Scalar(n), "bench")
	p := bound(b, `model chain
param n: int
upper {
  var x: real
  minimize x^2
}
lower {
  var y: vector[n]
  minimize sum(log(1.5 + tanh(sin(exp(-sqrt(1 + y .^ 2))))))
}
`, set)
	for _, threads := range []int{1, 0} {
		name := "threads"
		if threads == 1 {
			name = "onethread"
		}
		b.Run(name, func(b *testing.B) {
			e := compiled(b, p, threads).NewEvaluator()
			x, y := []float64{0}, normals(8, n)
			hand := func() float64 {
				s := 0.0
				for _, v := range y {
					s += math.Log(1.5 + math.Tanh(math.Sin(math.Exp(-math.Sqrt(1+v*v)))))
				}
				return s
			}
			agree(b, []float64{e.Value(x, y)}, []float64{hand()})
			t := contest(b, clockFor(threads), func() { e.Value(x, y) }, func() { hand() })
			report(b, t[0], t[1])
		})
	}
}

// BenchmarkCompiledReady: from model text to a ready evaluator of g, without
// reading data: the paper's toy model at dy = 1000, and models with a sum of
// 10,000 terms.
func BenchmarkCompiledReady(b *testing.B) {
	toy, err := os.ReadFile("../testdata/models/toy.blv")
	if err != nil {
		b.Fatal(err)
	}
	toySet := &data.Set{}
	const dx, dy, dh = 100, 1000, 200
	toySet.Add("dx", data.Scalar(dx), "bench")
	toySet.Add("dy", data.Scalar(dy), "bench")
	toySet.Add("c", data.Vector(normals(1, dy)), "bench")
	toySet.Add("P", data.Matrix(dx, dy, normals(2, dx*dy)), "bench")
	toySet.Add("L", data.Matrix(dy, dy, normals(3, dy*dy)), "bench")
	toySet.Add("A", data.Matrix(dh, dy, normals(4, dh*dy)), "bench")
	toySet.Add("b", data.Vector(normals(5, dh)), "bench")
	cases := []struct {
		name, text string
		set        *data.Set
	}{
		{"toy1000", string(toy), toySet},
		{"sum10000", `model long
param n: int = 10000
upper {
  var x: vector[n]
  minimize sumsq(x)
}
lower {
  var y: vector[n]
  minimize sum(i in 1..n: exp(0.001 * i * y[i]) + (y[i] - x[i])^2)
}
`, &data.Set{}},
		{"written2000", writtenSum(2000), &data.Set{}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			start, n := clock.Process(), 0
			for b.Loop() {
				p := bound(b, c.text, c.set)
				compiled(b, p, 0).NewEvaluator()
				n++
			}
			b.ReportMetric(float64(clock.Process()-start)/float64(n), "cpu-ns")
		})
	}
}

// writtenSum is a model whose objective is a sum of n terms written out.
func writtenSum(n int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "model written\nupper {\n  var x: real\n  minimize x^2\n}\nlower {\n  var y: vector[%d]\n  minimize y[1]^2", n)
	for i := 2; i <= n; i++ {
		fmt.Fprintf(&s, " +\n    exp(0.5 * y[%d]) * %d + y[%d]^2", i, i, i-1)
	}
	s.WriteString("\n}\n")
	return s.String()
}

// BenchmarkCompiledMemory: an evaluator's arena against what it must hold:
// data and live results.
func BenchmarkCompiledMemory(b *testing.B) {
	for _, n := range []int{200, 1000, 4000} {
		b.Run(fmt.Sprintf("quadratic/dy=%d", n), func(b *testing.B) {
			p, _ := quadratic(b, n)
			var c *codegen.Program
			for b.Loop() {
				c = compiled(b, p, 0)
			}
			reportMemory(b, c)
		})
	}
	b.Run("logistic", func(b *testing.B) {
		p, _, _ := regression(b, "sum(log1pexp(-(t .* (X * w)))) + 0.05 * sumsq(w)")
		var c *codegen.Program
		for b.Loop() {
			c = compiled(b, p, 0)
		}
		reportMemory(b, c)
	})
}

func reportMemory(b *testing.B, c *codegen.Program) {
	arena, live := c.ArenaBytes()
	held := c.DataBytes()
	b.ReportMetric(float64(held), "data-B")
	b.ReportMetric(float64(arena), "arena-B")
	b.ReportMetric(float64(held+arena)/float64(held+live), "ratio")
}
