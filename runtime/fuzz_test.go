package runtime_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// fuzzLimit is the time of one fuzzed run.
const fuzzLimit = 300 * time.Millisecond

// patient ends the fuzzer on an input that runs on past its limit, so that it is kept.
// Tests that run on do not end, which needs no clock.
func patient(input string) (stop func()) {
	if f := flag.Lookup("test.fuzz"); f == nil || f.Value.String() == "" {
		return func() {}
	}
	watchdog := time.AfterFunc(60*fuzzLimit, func() { panic("runs on: " + input) })
	return func() { watchdog.Stop() }
}

// FuzzSolve takes any text the whole way: compile, bind, a bounded solve, the
// document, its verification. Whatever the text, nothing panics or runs on, an
// error is a list of located diagnostics or a choice that does not fit, and
// what is called solved passes the verification.
func FuzzSolve(f *testing.F) {
	for _, pattern := range []string{"../testdata/models/*.blv", "../testdata/models/bolib/*.blv", "../examples/*/*.blv"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 {
			t.Skip()
		}
		defer patient(text)()
		solveAnyText(t, text)
	})
}

func solveAnyText(t *testing.T, text string) {
	var list diag.List
	model, err := runtime.Compile("fuzz.blv", text)
	if err != nil {
		if !errors.As(err, &list) {
			t.Errorf("compile: %T %v", err, err)
		}
		return
	}
	problem, err := model.Bind(nil, runtime.BindOptions{})
	if err != nil {
		if !errors.As(err, &list) {
			t.Errorf("bind: %T %v", err, err)
		}
		return
	}
	result, err := problem.Solve(context.Background(), runtime.Options{MaxIter: 5, TimeLimit: fuzzLimit, Seed: 1})
	var usage *runtime.UsageError
	switch {
	case errors.As(err, &usage), errors.As(err, &list):
		return
	case err != nil:
		t.Errorf("solve: %T %v", err, err)
		return
	}
	document, err := json.Marshal(result)
	if err != nil {
		t.Errorf("document: %v", err)
		return
	}
	again, err := runtime.ReadResult(document)
	if err != nil {
		t.Errorf("its own document: %v", err)
		return
	}
	if !again.HasPoint() {
		return
	}
	report, err := problem.Verify(again)
	if err != nil {
		t.Errorf("verify: %v", err)
		return
	}
	if result.Status == runtime.Solved {
		for _, c := range report.Checks {
			if !c.OK {
				t.Errorf("solved, but %s: %s", c.Claim, c.Detail)
			}
		}
	}
}

// fuzzed is a small problem with a kink at its optimum and rows of every kind.
const fuzzed = `model fuzzed
param cap: real = 2
upper {
  var x: vector[2] in box(0, 2)
  var t: real in box(-1, 1)
  minimize sumsq(y - [1.5, 0.5, 0]) + 0.1 * sumsq(x) + t * y[1] + t^2
  subject to
    tie: x[1] + t <= 2
}
lower {
  var y: vector[3] in nonneg
  minimize 0.5 * sumsq(y) - x[1] * y[1] - x[2] * y[2] + 0.1 * exp(y[3] - t)
  subject to
    full: sum(y) <= cap
    low: y[1] + y[3] >= 0.25 + 0.1 * t
}
report {
  total = sum(y)
}
`

var numberLeaf = regexp.MustCompile(`[:\[,]\s*(-?[0-9][-+.0-9eE]*)`)

// withLeaf is the document with its at-th number exchanged, from 1; 0 leaves
// it alone. So a fuzzer reaches one field at a time and keeps the rest honest.
func withLeaf(document []byte, at uint16, value float64) []byte {
	leaves := numberLeaf.FindAllSubmatchIndex(document, -1)
	if at == 0 || len(leaves) == 0 || math.IsNaN(value) || math.IsInf(value, 0) {
		return document
	}
	leaf := leaves[int(at-1)%len(leaves)]
	out := append([]byte(nil), document[:leaf[2]]...)
	out = strconv.AppendFloat(out, value, 'g', -1, 64)
	return append(out, document[leaf[3]:]...)
}

// FuzzVerify verifies documents that began as honest ones. Nothing panics, and
// what is accepted is true: F and y at its x are those of a fresh evaluation.
func FuzzVerify(f *testing.F) {
	problem := bindText(f, fuzzed)
	for _, opts := range []runtime.Options{{Seed: 1}, {Seed: 1, MaxIter: 2}, {Seed: 3, Starts: 3}, {Seed: 1, Method: "pgd", MaxIter: 20}, {Seed: 1, Oracle: "penalty", MaxIter: 4}} {
		result, err := problem.Solve(context.Background(), opts)
		if err != nil {
			f.Fatal(err)
		}
		document, err := json.Marshal(result)
		if err != nil {
			f.Fatal(err)
		}
		for at := range uint16(12) {
			f.Add(document, 7*at, 0.25*float64(at))
		}
	}
	f.Fuzz(func(t *testing.T, document []byte, at uint16, value float64) {
		document = withLeaf(document, at, value)
		result, err := runtime.ReadResult(document)
		if err != nil {
			return
		}
		report, err := problem.Verify(result)
		if err != nil {
			return
		}
		for _, c := range report.Checks {
			if !c.OK {
				return
			}
		}
		point := append(runtime.Values{}, result.Upper.Variables...)
		truth, err := problem.Eval(context.Background(), point, runtime.Options{})
		if err != nil {
			t.Fatalf("accepted, but its x cannot be evaluated: %v", err)
		}
		far := func(a, b float64) bool { return !(math.Abs(a-b) <= 1e-6*(1+math.Abs(b))) }
		if far(float64(result.Upper.Objective), float64(truth.Upper.Objective)) {
			t.Errorf("accepted with F = %v, truly %v", result.Upper.Objective, truth.Upper.Objective)
		}
		for i, v := range truth.Lower.Variables {
			for k := range v.Data {
				if far(result.Lower.Variables[i].Data[k], v.Data[k]) {
					t.Errorf("accepted with %s[%d] = %v, truly %v", v.Name, k+1, result.Lower.Variables[i].Data[k], v.Data[k])
				}
			}
		}
	})
}

// FuzzResume goes on from states that began as honest ones and carry a right
// digest. Nothing panics or runs on, and what is called solved is verified.
func FuzzResume(f *testing.F) {
	problem := bindText(f, fuzzed)
	for _, opts := range []runtime.Options{{Seed: 1}, {Seed: 1, Starts: 2}, {Seed: 1, Method: "pgd"}, {Seed: 1, Method: "pigd"}, {Seed: 1, Method: "oigrm"}, {Seed: 1, Method: "izo"}} {
		opts.MaxIter = 2
		result, err := problem.Solve(context.Background(), opts)
		if err != nil {
			f.Fatal(err)
		}
		if result.Checkpoint == nil {
			continue
		}
		document, err := json.Marshal(result.Checkpoint)
		if err != nil {
			f.Fatal(err)
		}
		var envelope struct{ State json.RawMessage }
		if err := json.Unmarshal(document, &envelope); err != nil || len(envelope.State) == 0 {
			f.Fatalf("a checkpoint without a state: %v", err)
		}
		for at := range uint16(12) {
			f.Add([]byte(envelope.State), 5*at, 0.25*float64(at))
		}
	}
	f.Fuzz(func(t *testing.T, state []byte, at uint16, value float64) {
		var compact bytes.Buffer
		if json.Compact(&compact, withLeaf(state, at, value)) != nil {
			return
		}
		sum := sha256.Sum256(compact.Bytes())
		document := fmt.Sprintf(`{"schema": 5, "sha256": %q, "state": %s}`, hex.EncodeToString(sum[:]), compact.String())
		checkpoint, err := runtime.ReadCheckpoint([]byte(document))
		if err != nil {
			return
		}
		defer patient(document)()
		result, err := problem.Solve(context.Background(), runtime.Options{Resume: checkpoint, MaxIter: 6, TimeLimit: fuzzLimit})
		if err != nil || !result.HasPoint() || result.Status != runtime.Solved {
			return
		}
		report, err := problem.Verify(result)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Checks {
			if !c.OK {
				t.Errorf("resumed and solved, but %s: %s", c.Claim, c.Detail)
			}
		}
	})
}
