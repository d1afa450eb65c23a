package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bilevelc/runtime"
	"bilevelc/runtime/status"
)

// TestMemoryLimit: what is held ends a context, what garbage collection frees does not, and a run on an ended one has reached a limit.
func TestMemoryLimit(t *testing.T) {
	const limit = 256 << 20
	ctx, end := runtime.WithMemoryLimit(t.Context(), limit)
	defer end()
	const block = 16 << 20
	for range 4 * limit / block { // garbage
		waste := make([]float64, block/8)
		waste[len(waste)-1] = 1
	}
	if ctx.Err() != nil {
		t.Fatalf("garbage counts: %v", context.Cause(ctx))
	}
	var held [][]float64
	for ctx.Err() == nil && len(held) < 2*limit/block {
		held = append(held, make([]float64, block/8))
		time.Sleep(2 * time.Millisecond)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatalf("%d MB are held and the limit of %d is not noticed", len(held)*block>>20, limit>>20)
	}
	if !errors.Is(context.Cause(ctx), runtime.ErrMemoryLimit) {
		t.Fatalf("cause %v", context.Cause(ctx))
	}
	r, err := bindText(t, "model m\nupper {\n  var x: real in box(0, 1)\n  minimize (y - 1)^2\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n").Solve(ctx, runtime.Options{})
	if err != nil || r.Status != status.LimitReached || !strings.Contains(r.Reason, "memory limit") {
		t.Errorf("%v %q %v", r.Status, r.Reason, err)
	}
}
