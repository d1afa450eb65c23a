package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// searched is a linear bilevel program that takes a search of some nodes.
func searched(t *testing.T, rng *rand.Rand, n int) *Problem {
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
		n, rows(1, n), rows(1, n), rows(3, n), rows(n, n))
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

// The document of a search says how bound and objective went, verify checks it, and observers are told the same; times are not in the seal.
func TestCourseOfASearch(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 9))
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
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 10))
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
