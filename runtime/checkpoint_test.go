package runtime_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/outer"
)

// checkpoints of runs of every method, with one start and with several.
func checkpoints(t *testing.T) map[string]*runtime.Checkpoint {
	out := map[string]*runtime.Checkpoint{}
	for name, opts := range map[string]runtime.Options{
		"goldstein":            {Seed: 2, MaxIter: 3},
		"goldstein, 3 starts":  {Seed: 2, MaxIter: 2, Starts: 3},
		"pgd":                  {Seed: 2, MaxIter: 3, Method: "pgd"},
		"pigd":                 {Seed: 2, MaxIter: 3, Method: "pigd"},
		"oigrm, 2 starts":      {Seed: 2, MaxIter: 3, Method: "oigrm", Starts: 2},
		"izo":                  {Seed: 2, MaxIter: 3, Method: "izo"},
		"goldstein, quadratic": {Seed: 2, MaxIter: 3, Solver: "quadratic"},
	} {
		r := solveText(t, kinked, runtime.OffSystem(opts))
		if r.Checkpoint == nil {
			t.Fatalf("%s: no checkpoint: %s (%s)", name, r.Status, r.Reason)
		}
		out[name] = r.Checkpoint
	}
	return out
}

// leaf is a place in a JSON document, with what sets it.
type leaf struct {
	path string
	was  any
	set  func(any)
	drop func()
}

func leavesOf(doc any, path string, add func(leaf)) {
	switch v := doc.(type) {
	case map[string]any:
		for name, child := range v {
			add(leaf{path + "." + name, child, func(x any) { v[name] = x }, func() { delete(v, name) }})
			leavesOf(child, path+"."+name, add)
		}
	case []any:
		for i, child := range v {
			add(leaf{fmt.Sprintf("%s[%d]", path, i), child, func(x any) { v[i] = x }, nil})
			leavesOf(child, fmt.Sprintf("%s[%d]", path, i), add)
		}
	}
}

// others are values that take the place of one.
func others(was any, rng *rand.Rand) []any {
	out := []any{nil}
	switch v := was.(type) {
	case float64:
		out = append(out, v+1, -v-1, 1e9, "x", []any{})
	case string:
		out = append(out, v+"x", "", 1.5)
		if raw, err := base64.StdEncoding.DecodeString(v); err == nil && len(raw) > 8 {
			for range 12 { // gob
				bent := append([]byte(nil), raw...)
				bent[rng.IntN(len(bent))] ^= byte(1 + rng.IntN(255))
				out = append(out, base64.StdEncoding.EncodeToString(bent))
			}
			out = append(out, base64.StdEncoding.EncodeToString(raw[:len(raw)/2]))
		}
	case []any:
		if len(v) > 0 {
			out = append(out, v[:len(v)-1], append(append([]any(nil), v...), v[0]), []any{})
		}
	case map[string]any:
		out = append(out, map[string]any{})
	case bool:
		out = append(out, !v)
	}
	return out
}

// kinkedProblem is the problem of all checkpoints here, bound once.
var kinkedProblem = func() func(t *testing.T) *runtime.Problem {
	var once sync.Once
	var p *runtime.Problem
	return func(t *testing.T) *runtime.Problem {
		once.Do(func() { p = bindText(t, kinked) })
		return p
	}
}()

// resumed goes on from the text of a checkpoint; the error is what refused it. A
// panic, also one that the runtime reports as an error, fails the test.
func resumed(t *testing.T, what, text string, limit int) (*runtime.Result, error) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s: panic: %v", what, v)
		}
	}()
	c, err := runtime.ReadCheckpoint([]byte(text))
	if err != nil {
		return nil, err
	}
	r, err := kinkedProblem(t).Solve(context.Background(), runtime.Options{Resume: c, MaxIter: limit})
	var fault *outer.PanicError
	if errors.As(err, &fault) {
		t.Errorf("%s: panic: %v\n%s", what, fault, fault.Stack)
	}
	return r, err
}

// A checkpoint that was changed in any place is refused, or gives what it gave: in
// every leaf, and in random bytes. A plain run changes leaves less often.
func TestChangedCheckpointsAreRefused(t *testing.T) {
	t.Parallel()
	rng := members.Rand(t, 3)
	share, enough := 0.003, 200
	if members.Full() {
		share, enough = 0.15, 1000
	}
	refused, same := 0, 0
	for name, c := range checkpoints(t) {
		whole, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		want, err := resumed(t, name, string(whole), 6)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what, text string) {
			r, err := resumed(t, what, text, 6)
			switch {
			case err != nil:
				refused++
			case float64(r.Upper.Objective) != float64(want.Upper.Objective) || r.Calls != want.Calls:
				t.Errorf("%s: accepted, with another result: F %v, not %v", what, r.Upper.Objective, want.Upper.Objective)
			default:
				same++
			}
		}
		everyLeaf(t, whole, rng, share, func(path string, doc any) {
			text, _ := json.Marshal(doc)
			if string(text) != string(whole) {
				try(name+path, string(text))
			}
		})
		for range members.Of(25, 60) {
			bent := append([]byte(nil), whole...)
			at := rng.IntN(len(bent))
			bent[at] ^= byte(1 + rng.IntN(255))
			try(fmt.Sprintf("%s, byte %d", name, at), string(bent))
		}
		for range 10 {
			try(name+", cut", string(whole[:rng.IntN(len(whole))]))
		}
	}
	t.Logf("%d changed checkpoints refused, %d gave the same result", refused, same)
	if refused < enough {
		t.Errorf("only %d changes were refused", refused)
	}
}

// everyLeaf changes the leaves of a document in turn, each to a share of the values
// that may take its place.
func everyLeaf(t *testing.T, whole []byte, rng *rand.Rand, share float64, try func(path string, doc any)) {
	var doc any
	if err := json.Unmarshal(whole, &doc); err != nil {
		t.Fatal(err)
	}
	var all []leaf
	leavesOf(doc, "", func(l leaf) { all = append(all, l) })
	for _, l := range all {
		for _, other := range others(l.was, rng) {
			if reflect.DeepEqual(other, l.was) || rng.Float64() > share {
				continue
			}
			l.set(other)
			try(fmt.Sprintf("%s = %.40v", l.path, other), doc)
			l.set(l.was)
		}
		if l.drop != nil && rng.Float64() <= share {
			l.drop()
			try(l.path+" left out", doc)
			l.set(l.was)
		}
	}
}

// Even a checkpoint that was changed by someone who knows the digest never makes the
// program fail: it is refused, or it is the state of another run. A plain run changes
// leaves less often.
func TestForgedCheckpointsDoNotPanic(t *testing.T) {
	t.Parallel()
	rng := members.Rand(t, 4)
	share, enough := 0.0007, 10
	if members.Full() {
		share, enough = 0.04, 50
	}
	refused, ran := 0, 0
	for name, c := range checkpoints(t) {
		whole, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var document map[string]json.RawMessage
		if err := json.Unmarshal(whole, &document); err != nil {
			t.Fatal(err)
		}
		everyLeaf(t, document["state"], rng, share, func(path string, doc any) {
			state, _ := json.Marshal(doc)
			sum := sha256.Sum256(state)
			text, _ := json.Marshal(map[string]any{"schema": document["schema"], "sha256": hex.EncodeToString(sum[:]), "state": json.RawMessage(state)})
			if _, err := resumed(t, name+path, string(text), 6); err != nil {
				refused++
			} else {
				ran++
			}
		})
	}
	t.Logf("%d forged checkpoints refused, %d ran", refused, ran)
	if refused < enough || ran < enough {
		t.Errorf("%d refused, %d ran: the forgeries do not test both", refused, ran)
	}
}

// The state that a run hands out on its way, as its end state does, leads to the
// result of the whole run, with several starts too, and to its calls.
func TestKeptStatesLeadToTheSameResult(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]runtime.Options{
		"goldstein": {Seed: 3}, "6 starts": {Seed: 3, Starts: 6}, "pigd": {Seed: 3, Method: "pigd", Settings: map[string]any{"iterations": 40.0}},
		"izo, 2 starts": {Seed: 3, Method: "izo", Starts: 2, MaxIter: 30},
	} {
		var states []string
		seen, every := 0, 1 // every second state is dropped where there are many: their texts grow with the run
		opts.KeepEvery = 1  // nanosecond: after every iteration
		opts.Keep = func(c *runtime.Checkpoint) {
			if seen++; (seen-1)%every != 0 {
				return
			}
			text, err := json.Marshal(c)
			if err != nil {
				t.Error(err)
			}
			if states = append(states, string(text)); len(states) == 16 {
				for k := range 8 {
					states[k] = states[2*k]
				}
				states, every = states[:8], 2*every
			}
		}
		r := solveText(t, kinked, runtime.OffSystem(opts))
		want := document(t, r)
		if len(states) < 3 {
			t.Fatalf("%s: %d states were kept", name, len(states))
		}
		last, err := r.Rewind()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(last)
		if err != nil {
			t.Fatal(err)
		}
		some := []string{string(text)}
		for k := 0; k < len(states); k += 1 + len(states)/6 {
			some = append(some, states[k])
		}
		for k, state := range some {
			again, err := resumed(t, name, state, opts.MaxIter)
			if err != nil {
				t.Fatalf("%s, state %d: %v", name, k, err)
			}
			if got := document(t, again); string(got) != string(want) {
				d := 0
				for d < min(len(got), len(want)) && got[d] == want[d] {
					d++
				}
				t.Errorf("%s, state %d: another result from byte %d on\n%s\n%s", name, k, d, got[max(0, d-200):min(len(got), d+200)], want[max(0, d-200):min(len(want), d+200)])
			}
		}
	}
}
