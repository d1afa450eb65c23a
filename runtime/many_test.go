package runtime_test

import (
	"context"
	"encoding/json"
	"os"
	stdruntime "runtime"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Solves one after the other in a process, from the model's text to the verification of each result, leave neither memory nor goroutines behind: on the system, by a method with
// several starts on two threads, and cut short.
func TestSolvesLeaveNothingBehind(t *testing.T) {
	toll, err := os.ReadFile("../examples/toll/toll.blv")
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(context.Background())
	cancel()
	document := 0
	solve := func(k int) {
		model, err := runtime.Compile("toll", string(toll))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, opts := context.Background(), runtime.Options{Seed: uint64(k)}
		switch k % 3 {
		case 1:
			opts = runtime.Options{Method: "goldstein", Starts: 2, Threads: 2, MaxIter: 3, Seed: uint64(k)}
		case 2:
			ctx = short
		}
		r, err := p.Solve(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		if k%3 == 2 { // it holds no point
			return
		}
		if v, err := p.Verify(r); err != nil || k%3 == 0 && !v.OK() {
			t.Fatalf("solve %d: %v, %v", k, v, err)
		}
		if k%3 == 0 {
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			document = len(text)
		}
	}
	held := func() uint64 {
		stdruntime.GC()
		stdruntime.GC() // what pools keep goes at the second
		var m stdruntime.MemStats
		stdruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const before = 30 // after which all that is made once is there
	for k := range before {
		solve(k)
	}
	goroutines, memory := stdruntime.NumGoroutine(), held()
	n := members.Of(90, 2000)
	for k := range n {
		solve(k)
	}
	now := stdruntime.NumGoroutine()
	for wait := 0; now > goroutines && wait < 1000; wait++ { // those that are about to end
		time.Sleep(time.Millisecond)
		now = stdruntime.NumGoroutine()
	}
	if now > goroutines {
		t.Errorf("%d goroutines, %d before %d solves", now, goroutines, n)
	}
	// A solve that is remembered is remembered with its result at least, which a third of them have in full.
	grown := int64(held()) - int64(memory)
	t.Logf("%d bytes before %d solves, %+d after; a document has %d", memory, n, grown, document)
	if grown > int64(n*document/6) {
		t.Errorf("%d bytes, and %d more after %d solves", memory, grown, n)
	}
}
