package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
)

// searched is a linear bilevel program that takes a search of some nodes, with the blocks at its end.
func searched(t *testing.T, rng *rand.Rand, n int, blocks ...string) *Problem {
	t.Helper()
	rows := func(m, n int) string {
		var words []string
		for range m {
			var row []string
			for range n {
				row = append(row, fmt.Sprintf("%.2f", rng.NormFloat64()))
			}
			words = append(words, "["+strings.Join(row, ", ")+"]")
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	text := fmt.Sprintf("model searched\ndata d: matrix[1, %[1]d] = %[2]s\ndata q: matrix[1, %[1]d] = %[3]s\ndata P: matrix[3, %[1]d] = %[4]s\ndata B: matrix[%[1]d, %[1]d] = %[5]s\n"+
		"upper {\n  var x: vector[3] in box(-1, 1)\n  minimize sum(d * y) + 0.1 * sum(x)\n}\nlower {\n  var y: vector[%[1]d] in box(0, 2)\n  minimize sum(q * y) + dot(x, P * y) + 0.5 * sumsq(y)\n  subject to\n    rows: B * y <= 1\n}\n",
		n, rows(1, n), rows(1, n), rows(3, n), rows(n, n)) + strings.Join(blocks, "\n")
	model, err := Compile("searched.blv", text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The gap and the nodes of a `solve` block are those of the options, which go first.
func TestSearchOfTheBlock(t *testing.T) {
	t.Parallel()
	rng := members.Rand(t, 19)
	run := func(p *Problem, opts Options) *Global {
		t.Helper()
		r, err := p.Solve(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		return r.Global
	}
	met := 0
	for range 5 {
		state := rng.Uint64()
		model := func(blocks ...string) *Problem { return searched(t, rand.New(rand.NewPCG(state, 0)), 10, blocks...) }
		nodes, gap := 1+rng.Int64N(4), 0.2*rng.Float64()
		block := model(fmt.Sprintf("solve {\n  nodes = %d\n  gap = %v\n}\n", nodes, gap))
		for _, c := range []struct{ block, options Options }{
			{Options{}, Options{Nodes: nodes, Gap: gap}},
			{Options{Nodes: 5}, Options{Nodes: 5, Gap: gap}},
			{Options{Gap: 0.3}, Options{Nodes: nodes, Gap: 0.3}},
			{Options{Search: SearchFully}, Options{Search: SearchFully, Gap: gap}},
			{Options{Search: SearchNone}, Options{Search: SearchNone}},
		} {
			got, want := run(block, c.block), run(model(), c.options)
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Errorf("nodes = %d, gap = %v with %+v: %+v, not %+v", nodes, gap, c.block, got, want)
			}
			if want != nil && !want.Proved {
				met++
			}
		}
	}
	if met == 0 {
		t.Error("no search met its limit")
	}
	if g := run(mustBind(t, "model m\nupper { var x: real in box(0, 2); minimize (y - 1)^2 }\nlower { var y: real; minimize exp(y) - x * y + y^2 }\nsolve { gap = 0.01 }"), Options{}); g.Proved || g.Within != 0.01 {
		t.Errorf("without a bound: %+v", g)
	}
}

// The document of a search says how bound and objective went, verify checks it, and observers are told the same; times are not in the seal.
func TestCourseOfASearch(t *testing.T) {
	rng := members.Rand(t, 9)
	traced := 0
	for range 12 {
		p := searched(t, rng, 10)
		var told []TreeProgress
		r, err := p.Solve(context.Background(), Options{Observer: func(now Progress) {
			if now.Tree != nil {
				told = append(told, *now.Tree)
			}
		}})
		if err != nil || r.Global == nil {
			t.Fatalf("%v, %+v", err, r)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if !passes(p, text) {
			t.Fatalf("refused:\n%s", text)
		}
		g := r.Global
		if len(g.Trace) == 0 {
			continue
		}
		traced++
		if last := g.Trace[len(g.Trace)-1]; last.Nodes != g.Nodes || last.Bound != g.Bound || len(r.Phases.Bound) != len(g.Trace) {
			t.Errorf("%+v at the end of %+v, times %v", last, g, r.Phases.Bound)
		}
		at := map[int64]float64{}
		for _, now := range told {
			at[now.Nodes] = now.Bound
		}
		for _, point := range g.Trace {
			if bound, ok := at[point.Nodes]; !ok || float64(point.Bound) > bound {
				t.Errorf("the trace has %+v, and the observer was told %v", point, bound)
			}
		}
		again, err := p.Solve(context.Background(), Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		other, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := sealIn(t, text), sealIn(t, other); a != b {
			t.Error("two runs, two seals")
		}
		// A trace that goes back is noticed, sealed anew.
		forged, err := ReadResult(text)
		if err != nil {
			t.Fatal(err)
		}
		forged.Global.Trace[0].Bound = Number(float64(g.Bound) + 1)
		if text, err = json.Marshal(forged); err != nil {
			t.Fatal(err)
		}
		if passes(p, text) {
			t.Error("a bound that falls was accepted")
		}
	}
	if traced == 0 {
		t.Error("no search had a course")
	}
}

func sealIn(t *testing.T, text []byte) string {
	t.Helper()
	var d struct {
		Seal string `json:"seal"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d.Seal
}

// WriteProof and VerifyProof are the command's --proof for programs, and a search that was cut short has a proof of its bound, too.
func TestProofsOfResults(t *testing.T) {
	t.Parallel()
	rng := members.Rand(t, 10)
	proved, short := 0, 0
	for k := 0; k < 12 || short == 0 && k < 200; k++ {
		p := searched(t, rng, 9)
		opts := Options{}
		if k%2 == 1 {
			opts.Nodes = 1
		}
		r, err := p.Solve(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		var proof bytes.Buffer
		if err := r.WriteProof(context.Background(), &proof); err != nil {
			if math.IsInf(float64(r.Global.Bound), 0) {
				continue
			}
			t.Fatal(err)
		}
		report, err := p.VerifyProof(r, "p", bytes.NewReader(proof.Bytes()))
		if err != nil || !report.OK() {
			t.Fatalf("%v, %v", err, report.Failures())
		}
		if report, err := p.VerifyProof(r, "p", bytes.NewReader(append(proof.Bytes(), '\n'))); err != nil || report.OK() {
			t.Errorf("%v; a proof that was changed was accepted", err)
		}
		if r.Global.Proved {
			proved++
		} else {
			short++
		}
		read, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ReadResult(read); err != nil || again.WriteProof(context.Background(), &proof) == nil {
			t.Errorf("%v; a document has no tree", err)
		}
	}
	if proved == 0 || short == 0 {
		t.Errorf("%d proved, %d cut short", proved, short)
	}
}

// What is said to be proved is so relative to F, in whatever units variables are, with the bound of the search and with the one that its proof shows. The terms of f are between -1 and 1 times
// numbers of size 1 in all units.
func TestProvedInAllUnits(t *testing.T) {
	rng := members.Rand(t, 11)
	proved := 0
	for range 12 {
		const n = 4 // x[1], y[1], y[2], y[3]
		unit, entry := make([]float64, n), make([]string, n)
		for j := range unit {
			unit[j] = math.Pow(10, float64(rng.IntN(11)-5))
			entry[j] = fmt.Sprintf("(y[%d] / %g)", j, unit[j])
		}
		entry[0] = fmt.Sprintf("(x / %g)", unit[0])
		var f, g strings.Builder
		for i := range n {
			fmt.Fprintf(&f, " + %.2f * %s", rng.NormFloat64(), entry[i])
			for j := range i + 1 {
				fmt.Fprintf(&f, " + %.2f * %s * %s", rng.NormFloat64(), entry[i], entry[j])
			}
			if i > 0 {
				fmt.Fprintf(&g, " + (%.2f * %s + %.2f) * %s", rng.NormFloat64(), entry[0], rng.NormFloat64(), entry[i])
			}
		}
		text := fmt.Sprintf("model units\nupper {\n  var x: real in box(0, %g)\n  minimize 0%s\n}\nlower {\n  var y: vector[3] in box(0, [%g, %g, %g])\n  minimize 0%s\n  subject to\n    %s + %s + %s <= 1.5 + 0.5 * %s\n}\nsolve { ties = optimistic }\n",
			unit[0], f.String(), unit[1], unit[2], unit[3], g.String(), entry[1], entry[2], entry[3], entry[0])
		model, err := Compile("units.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		honest := func(of string) {
			F, bound := float64(r.Upper.Objective), float64(r.Global.Bound)
			if r.Global.Proved && !(F-bound <= 1e-5*max(1, math.Abs(F))) {
				t.Errorf("%s: F %v is said to be proved, with the bound %v, gap %v within %v, by the %s", text, F, bound, r.Global.Gap, r.Global.Within, of)
			}
		}
		if r.Global == nil {
			t.Fatalf("%s: no bound: %s", text, r.Reason)
		}
		honest("search")
		if r.Global.Proved {
			proved++
		}
		var proof bytes.Buffer
		if err := r.WriteProof(context.Background(), &proof); err != nil {
			continue
		}
		honest("proof")
		if report, err := p.VerifyProof(r, "p", bytes.NewReader(proof.Bytes())); err != nil || !report.OK() {
			t.Errorf("%s: %v, %v", text, err, report.Failures())
		}
	}
	if proved == 0 {
		t.Error("nothing was proved")
	}
}

// A search that met a limit goes on to another that is asked for, and ends as the one that had that from the start; one to another gap is refused.
func TestSearchesGoOnToOtherLimits(t *testing.T) {
	t.Parallel()
	rng := members.Rand(t, 43)
	limited, proved := 0, 0
	for k := 0; k < 4 && (limited < 2 || members.Full()); k++ {
		p := searched(t, rng, 14)
		solve := func(opts Options) *Result {
			r, err := p.Solve(context.Background(), opts)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		short := solve(Options{Nodes: 1})
		from := short.Checkpoint
		if short.Global == nil || short.Global.Proved || from == nil {
			continue
		}
		limited++
		if same := solve(Options{Resume: from}); same.Global.Nodes != short.Global.Nodes {
			t.Errorf("%d nodes, and after resume %d", short.Global.Nodes, same.Global.Nodes)
		}
		for _, more := range []Options{{Nodes: 150}, {Search: SearchFully}} {
			want := solve(more)
			more.Resume = from
			got := solve(more)
			if got.Global.Nodes <= short.Global.Nodes || got.Global.Nodes != want.Global.Nodes || got.Global.Bound != want.Global.Bound || got.Upper.Objective != want.Upper.Objective {
				t.Errorf("%d nodes, bound %v after resume, %d and %v without", got.Global.Nodes, got.Global.Bound, want.Global.Nodes, want.Global.Bound)
			}
			if got.Global.Proved {
				proved++
			}
		}
		var usage *UsageError
		if _, err := p.Solve(context.Background(), Options{Resume: from, Gap: 0.1}); !errors.As(err, &usage) {
			t.Errorf("another gap: %v", err)
		}
	}
	if t.Logf("%d met a limit, %d proved afterwards", limited, proved); limited < 1 || proved < limited {
		t.Error("too few")
	}
}
