package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// updated has data of all kinds: in curved and in affine terms, in rows, in bounds, in a
// condition, as a power, and scalars among them.
const updated = `
model updated
param n: int
param rho: real
param power: real
data Q: matrix[n, n]
data P: matrix[n, n]
data c: vector[n]
data w: vector[n]
data cap: vector[n]
data top: real
upper {
  var x: vector[n] in box(0, top)
  minimize sumsq(y - w) + rho * sum((x + 1).^power)
}
lower {
  var y: vector[n]
  minimize 0.5 * sumsq(Q * y) + 0.5 * rho * sumsq(y) + (P * x + c)' * y + sum(log1pexp(w .* y))
  subject to
    limit: y <= cap + 0.1 * x
    floor: forall i in 1..n if w[i] > 0: y[i] >= -2
}
`

func drawnData(rng *rand.Rand, n int) runtime.Data {
	d := draws{Rand: rng}
	cap := d.vector(n)
	for i := range cap {
		cap[i] = 1 + cap[i]*cap[i]
	}
	return runtime.Data{"n": n, "rho": 0.5 + rng.Float64(), "power": float64(2 + rng.IntN(3)), "Q": d.matrix(n, n), "P": d.matrix(n, n),
		"c": d.vector(n), "w": d.vector(n), "cap": cap, "top": 1 + rng.Float64()}
}

// An updated problem is what Bind gives: the same facts, and the same results to the
// last bit where few variables are coupled, whichever data change, and after each other;
// the first problem stays what it was.
func TestUpdateIsBind(t *testing.T) {
	t.Parallel()
	model, err := runtime.Compile("updated.blv", updated)
	if err != nil {
		t.Fatal(err)
	}
	result := func(p *runtime.Problem) string {
		r, err := p.Solve(context.Background(), runtime.Options{Seed: 3, Starts: 2, MaxIter: 4})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		var d struct{ Seal string }
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			t.Fatal(err)
		}
		return d.Seal
	}
	names := []string{"rho", "power", "Q", "P", "c", "w", "cap", "top"}
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 4
	all := drawnData(rng, n)
	first, err := model.Bind(all, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	before := result(first)
	p := first
	for round := range 2 * len(names) {
		changed := runtime.Data{}
		fresh := drawnData(rng, n)
		changed[names[round%len(names)]] = fresh[names[round%len(names)]]
		if round >= len(names) {
			other := names[rng.IntN(len(names))]
			changed[other] = fresh[other]
		}
		maps.Copy(all, changed)
		var err error
		if p, err = p.Update(changed); err != nil {
			t.Fatalf("%v: %v", changed, err)
		}
		bound, err := model.Bind(all, runtime.BindOptions{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p.Numeric.Facts, bound.Numeric.Facts) {
			t.Errorf("%v: facts %+v, of Bind %+v", changed, p.Numeric.Facts, bound.Numeric.Facts)
		}
		a, _ := json.Marshal(p.Proof)
		b, _ := json.Marshal(bound.Proof)
		if string(a) != string(b) {
			t.Errorf("%v: other proofs than Bind's:\n%s\n%s", changed, a, b)
		}
		if p.Digest() != bound.Digest() || result(p) != result(bound) {
			t.Errorf("%v: another result than Bind's", changed)
		}
	}
	if result(first) != before {
		t.Error("the first problem has changed")
	}
}

// An update makes no gradient graph anew, no program where its numbers stay, and no
// proof that does not read what changed.
func TestUpdateTakesOver(t *testing.T) {
	model, err := runtime.Compile("updated.blv", updated)
	if err != nil {
		t.Fatal(err)
	}
	all := drawnData(rand.New(rand.NewPCG(2, 2)), 4)
	p, err := model.Bind(all, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := p.Update(runtime.Data{"cap": []float64{5, 5, 5, 5}})
	if err != nil {
		t.Fatal(err)
	}
	f, g := p.Programs()
	if f2, g2 := q.Programs(); f2 != f || g2 != g {
		t.Error("rows alone have changed, and f and g were compiled again")
	}
	if q, err = p.Update(runtime.Data{"c": []float64{1, 2, 3, 4}}); err != nil {
		t.Fatal(err)
	}
	if f2, g2 := q.Programs(); f2 != f || g2 == g {
		t.Error("g alone has changed")
	}
}

func TestUpdateErrors(t *testing.T) {
	model, err := runtime.Compile("updated.blv", updated)
	if err != nil {
		t.Fatal(err)
	}
	all := drawnData(rand.New(rand.NewPCG(2, 2)), 3)
	p, err := model.Bind(all, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var usage *runtime.UsageError
	if _, err := p.Update(drawnData(rand.New(rand.NewPCG(2, 2)), 5)); !errors.As(err, &usage) {
		t.Errorf("other shapes: %v", err)
	}
	var list diag.List
	for _, d := range []runtime.Data{{"c": []float64{1, 2}}, {"C": 1}, {"cap": []any{1, "a", 3}}} {
		if _, err := p.Update(d); !errors.As(err, &list) {
			t.Errorf("%v: %v", d, err)
		}
	}
}

// The context of a binding ends that binding, and no later one: a problem that was bound
// within a time limit is updated when the limit is over.
func TestUpdateAfterTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	model, err := runtime.CompileContext(ctx, "updated.blv", updated)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	problem, err := model.Bind(drawnData(rng, 3), runtime.BindOptions{Context: ctx})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := problem.Update(runtime.Data{"rho": 0.25}); err != nil {
		t.Error(err)
	}
	if _, err := runtime.CompileContext(ctx, "updated.blv", updated); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := model.Bind(drawnData(rng, 3), runtime.BindOptions{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
