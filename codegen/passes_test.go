package codegen

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"bilevelc/autodiff"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// contracts check what a pass promises beyond verify.
var contracts = map[string]func(f *form) error{
	"transposes": func(f *form) error {
		return f.each(func(v *val) error {
			for k, a := range v.args {
				if (v.op == opMatVec && k == 0 || v.op == opMatMul) && f.vals[a].op == opTranspose {
					return fmt.Errorf("%s reads a transpose", v.op)
				}
			}
			return nil
		})
	},
	"symmetry": func(f *form) error {
		return f.each(func(v *val) error {
			if v.op != opMatVec || f.vals[v.args[0]].op != opConst {
				return nil
			}
			a := f.constant(v.args[0])
			if a.Shape[0] == a.Shape[1] && symmetric(a) != v.symmetric {
				return fmt.Errorf("symmetric data marked %v", v.symmetric)
			}
			return nil
		})
	},
	"sharing": func(f *form) error {
		for i := range f.vals {
			for j := range i {
				if f.vals[i].op != opConst && equalVals(&f.vals[i], &f.vals[j]) {
					return fmt.Errorf("values %d and %d are equal", j, i)
				}
			}
		}
		return nil
	},
	"dead code": func(f *form) error {
		if n := len(f.keep(f.outs, nil).vals); n != len(f.vals) {
			return fmt.Errorf("%d of %d values are needed", n, len(f.vals))
		}
		return nil
	},
	"algebra": func(f *form) error {
		return f.each(func(v *val) error {
			for _, a := range v.args {
				u := &f.vals[a]
				if v.op.elementwise() && v.op != opCopy && v.shape.Rank != 0 && u.op == opCopy {
					return fmt.Errorf("%s reads a broadcast", v.op)
				}
				if _, is := u.number(); is && (v.op == opMul || v.op == opLin) {
					return fmt.Errorf("%s reads a number", v.op)
				}
			}
			return nil
		})
	},
	"data folding": func(f *form) error {
		return f.each(func(v *val) error {
			if v.stage == dataStage && v.op != opConst {
				return fmt.Errorf("%s is left in the data stage", v.op)
			}
			return nil
		})
	},
}

func (f *form) each(check func(v *val) error) error {
	for i := range f.vals {
		if err := check(&f.vals[i]); err != nil {
			return fmt.Errorf("%%%d: %w", i, err)
		}
	}
	return nil
}

// TestPasses runs every pass on random expressions, verifies the form and the
// pass's contract after each, and compares the programs with single passes off,
// with all off, and with only one on.
func TestPasses(t *testing.T) {
	sets := []passSet{0, allPasses}
	for s := passSet(1); s < allPasses; s <<= 1 {
		sets = append(sets, s, allPasses&^s)
	}
	seeds := 60
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		g := newGenerator(uint64(1000 + seed))
		root := g.scalar(3 + g.r.IntN(25))
		graph, err := autodiff.Differentiate(g.b, root, g.dx, g.dy)
		if err != nil {
			t.Fatal(err)
		}
		verifyPasses(t, graph)
		x, y := g.point()
		var want outputs
		for k, off := range sets {
			p, err := Compile(graph, Options{off: off})
			if err != nil {
				t.Fatal(err)
			}
			got := evaluate(t, p.NewEvaluator(), g.dx, g.dy, x, y)
			if k == 0 {
				want = got
				continue
			}
			near(t, "value", got.value, want.value, rounding)
			for i := range want.gx {
				near(t, "dx", got.gx[i], want.gx[i], rounding)
			}
			for i := range want.gy {
				near(t, "dy", got.gy[i], want.gy[i], rounding)
			}
			if t.Failed() {
				t.Fatalf("seed %d, passes off %b", 1000+seed, off)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", 1000+seed)
		}
	}
}

func verifyPasses(t *testing.T, g *autodiff.Graph) {
	t.Helper()
	f := importGraph(g)
	if err := f.verify(); err != nil {
		t.Fatalf("import: %v", err)
	}
	for _, p := range passes {
		f = p.run(f)
		if err := f.verify(); err != nil {
			t.Fatalf("after %s: %v", p.name, err)
		}
		if check := contracts[p.name]; check != nil {
			if err := check(f); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
		}
	}
	hold, entries := f.split()
	for _, f := range append(entries[:], hold) {
		if err := f.verify(); err != nil {
			t.Fatalf("split: %v", err)
		}
		for _, together := range []bool{false, true} {
			late := fuse(accumulate(f), together)
			if err := late.verify(); err != nil {
				t.Fatalf("fused: %v", err)
			}
			if err := late.each(func(v *val) error {
				if v.op.elementwise() || v.op == opSum || v.op == opDot {
					return fmt.Errorf("%s is not in a loop", v.op)
				}
				return nil
			}); err != nil {
				t.Fatalf("fused: %v", err)
			}
		}
	}
}

// TestPlan checks, on random expressions, that no place is written while a
// value that is still to be read lives there.
func TestPlan(t *testing.T) {
	for seed := range 100 {
		g := newGenerator(uint64(2000 + seed))
		p := compile(t, g.b, g.scalar(30), g.dx, g.dy, Options{})
		for e := range entryCount {
			checkPlaces(t, p, p.code[e], p.value[e])
		}
		checkPlaces(t, p, p.hold, ref{})
	}
}

// checkPlaces replays code on a map of the arena that remembers which
// instruction wrote each entry, and compares what every instruction reads with
// what it was meant to read: the latest writer of that place must be the one
// that wrote it whole, and places of results must not be written in between.
func checkPlaces(t *testing.T, p *Program, code []instr, value ref) {
	t.Helper()
	owner := map[int]int{} // arena entry -> instruction
	whole := func(r ref, what string) {
		if r.base != inArena || r.n == 0 {
			return
		}
		first := owner[r.off]
		for k := r.off; k < r.off+r.n; k++ {
			if owner[k] != first {
				t.Fatalf("%s %s: entries of instructions %d and %d", what, r, first, owner[k])
			}
		}
	}
	for i := range code {
		in := &code[i]
		for _, r := range in.in {
			whole(r, "argument")
			for _, o := range in.out {
				if r.base == o.base && r.base == inArena && r.off < o.off+o.n && o.off < r.off+r.n {
					t.Fatalf("instruction %d writes %s over its argument %s", i, o, r)
				}
			}
		}
		for _, o := range in.out {
			for k := o.off; o.base == inArena && k < o.off+o.n; k++ {
				owner[k] = i + 1
			}
		}
	}
	whole(value, "value")
}

// TestNoAllocations: an evaluation allocates nothing, in any entry point, also
// when x changes.
func TestNoAllocations(t *testing.T) {
	for seed := range 40 {
		g := newGenerator(uint64(3000 + seed))
		e := compile(t, g.b, g.scalar(20), g.dx, g.dy, Options{}).NewEvaluator()
		x, y := g.point()
		gx, gy := make([]float64, g.dx), make([]float64, g.dy)
		n := testing.AllocsPerRun(5, func() {
			x[0] += 0.25
			e.Value(x, y)
			e.GradX(gx, x, y)
			e.GradY(gy, x, y)
			e.ValueGradY(gy, x, y)
			e.ValueGrad(gx, gy, x, y)
		})
		if n != 0 {
			t.Fatalf("seed %d: %v allocations", seed, n)
		}
	}
}

// TestClones: evaluators of one program work concurrently and give the bits of
// one alone.
func TestClones(t *testing.T) {
	g, root := large(2)
	e := compile(t, g.b, root, g.dx, g.dy, Options{}).NewEvaluator()
	const points, clones = 3, 4
	var xs, ys [points][]float64
	var want [points]outputs
	run := func(e *Evaluator, k int) outputs {
		o := outputs{gx: make([]float64, g.dx), gy: make([]float64, g.dy)}
		o.value = e.ValueGrad(o.gx, o.gy, xs[k], ys[k])
		return o
	}
	for k := range points {
		xs[k], ys[k] = g.point()
		want[k] = run(e, k)
	}
	var wait sync.WaitGroup
	for c := range clones {
		e := e.Clone()
		wait.Go(func() {
			for i := range 3 * points {
				k := (i*5 + c) % points
				got := run(e, k)
				if !same(got.gx, want[k].gx) || !same(got.gy, want[k].gy) || got.value != want[k].value {
					t.Errorf("clone %d differs at point %d", c, k)
				}
			}
		})
	}
	wait.Wait()
}

// TestThreads: the number of threads does not change a bit, the instructions
// really are cut, and nothing is allocated.
func TestThreads(t *testing.T) {
	g, root := large(1)
	one := compile(t, g.b, root, g.dx, g.dy, Options{Threads: 1}).NewEvaluator()
	four := compile(t, g.b, root, g.dx, g.dy, Options{Threads: 4}).NewEvaluator()
	kinds := map[string]bool{}
	for _, in := range four.program.instructions() {
		if in.parts > 1 {
			kinds[fmt.Sprint(in.op, in.symmetric, in.transA, in.sparse != nil)] = true
		}
	}
	if len(kinds) != 5 {
		t.Errorf("instructions in pieces: %v", kinds)
	}
	x, y := g.point()
	a, b := evaluate(t, one, g.dx, g.dy, x, y), evaluate(t, four, g.dx, g.dy, x, y)
	if a.value != b.value || !same(a.gx, b.gx) || !same(a.gy, b.gy) {
		t.Error("results depend on the number of threads")
	}
	difference(t, "dy", root, x, y, y, 7, a.gy)
	difference(t, "dx", root, x, y, x, 0, a.gx)
	if n := testing.AllocsPerRun(2, func() { four.ValueGrad(a.gx, a.gy, x, y) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(u, v float64) bool { return math.Float64bits(u) == math.Float64bits(v) })
}

// TestExtremeNumbers: numbers whose product or sum leaves the range of doubles
// are not made one: the program has the value of the reference evaluator at 0,
// at points that balance the numbers, and beyond the range, with every pass
// alone, without each and with all.
func TestExtremeNumbers(t *testing.T) {
	at := diag.Span{}
	type build func(b *expr.Builder, y *expr.Node) *expr.Node
	times := func(c float64, f build) build {
		return func(b *expr.Builder, y *expr.Node) *expr.Node {
			return b.Binary(expr.Mul, b.Number(c), f(b, y), at)
		}
	}
	plus := func(f build, c float64) build {
		return func(b *expr.Builder, y *expr.Node) *expr.Node {
			return b.Binary(expr.Add, f(b, y), b.Number(c), at)
		}
	}
	both := func(op expr.Op, f, g build) build {
		return func(b *expr.Builder, y *expr.Node) *expr.Node {
			return b.Binary(op, f(b, y), g(b, y), at)
		}
	}
	y := func(_ *expr.Builder, y *expr.Node) *expr.Node { return y }
	all := func(f build) build {
		return func(b *expr.Builder, y *expr.Node) *expr.Node { return b.Reduce(expr.Sum, f(b, y), at) }
	}
	squared := func(f build) build {
		return func(b *expr.Builder, y *expr.Node) *expr.Node {
			u := f(b, y)
			return b.Binary(expr.Mul, u, u, at)
		}
	}
	for name, f := range map[string]build{
		"10 (1e308 y)":                all(times(10, times(1e308, y))),
		"1e-200 (1e-200 y)":           all(times(1e-200, times(1e-200, y))),
		"10 (y + 1e308)":              all(times(10, plus(y, 1e308))),
		"(y + 1e308) + 1e308":         all(plus(plus(y, 1e308), 1e308)),
		"1e308 y + 1e308 y":           all(both(expr.Add, times(1e308, y), times(1e308, y))),
		"10 (1e308 y + 5) - 3 y":      all(both(expr.Sub, times(10, plus(times(1e308, y), 5)), times(3, y))),
		"(1e200 y)^2":                 all(squared(times(1e200, y))),
		"(1e-200 y)^2":                all(squared(times(1e-200, y))),
		"(1e200 y) (1e200 y + 1e200)": all(both(expr.Mul, times(1e200, y), plus(times(1e200, y), 1e200))),
	} {
		for _, shape := range []expr.Shape{expr.ScalarShape(), expr.VectorShape(3)} {
			b := expr.NewBuilder()
			root := f(b, b.Var("y", true, 0, shape, at))
			graph, err := autodiff.Differentiate(b, root, 0, shape.Len())
			if err != nil {
				t.Fatal(err)
			}
			verifyPasses(t, graph)
			sets := []passSet{0, allPasses}
			for s := passSet(1); s < allPasses; s <<= 1 {
				sets = append(sets, s, allPasses&^s)
			}
			for _, off := range sets {
				p, err := Compile(graph, Options{off: off})
				if err != nil {
					t.Fatal(err)
				}
				e := p.NewEvaluator()
				for _, value := range []float64{0, 1, -1e308, 1e200, 1e-200, -1} {
					point := slices.Repeat([]float64{value}, shape.Len())
					want, err := expr.Scalar(root, nil, point)
					if err != nil {
						t.Fatal(err)
					}
					got := e.Value(nil, point)
					if bothNaN := got != got && want != want; !bothNaN && got != want && !(math.Abs(got-want) <= 1e-14*math.Abs(want)) {
						t.Errorf("%s, %s, y = %v, passes off %b: %v, want %v", name, shape, value, off, got, want)
					}
				}
			}
		}
	}
}
