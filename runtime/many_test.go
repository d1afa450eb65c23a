package runtime_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestManySolvesLeaveNothing: after many solves, evaluations and verifications in one process there are no more
// goroutines than before, and no more memory is held than after the first few.
func TestManySolvesLeaveNothing(t *testing.T) {
	names := []string{"shop", "toll", "quota", "bard1988"}
	var problems []*runtime.Problem
	for _, name := range names {
		model, err := runtime.CompileFile(fmt.Sprintf("../examples/%s/%s.blv", name, name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, p)
	}
	held := func() (bytes uint64, goroutines int) {
		goruntime.GC()
		goruntime.GC() // what finalizers and pools of the first have let go
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc, goruntime.NumGoroutine()
	}
	solve := func(k int) {
		if _, err := problems[k%len(problems)].Solve(context.Background(), runtime.Options{Starts: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for k := range 2 * len(problems) {
		solve(k)
	}
	before, goroutines := held()
	n := members.Of(40, 2000)
	for k := range n {
		solve(k)
	}
	after, running := held()
	if running > goroutines {
		t.Errorf("%d goroutines after %d solves, %d before", running, n, goroutines)
	}
	if after > before+before/10+1<<20 {
		t.Errorf("%d bytes held after %d solves, %d before", after, n, before)
	}
	t.Logf("%d solves: %d bytes and %d goroutines, before %d and %d", n, after, running, before, goroutines)
}
