package runtime

import (
	"context"
	goruntime "runtime"
	"runtime/metrics"
	"time"

	"bilevelc/runtime/status"
)

// ErrMemoryLimit is the cause of a context that ends at a limit on memory: a run that it
// ends has reached a limit.
var ErrMemoryLimit error = status.Memory

// memoryPause is the time between two looks at the memory in use. What is allocated counts
// before it is written to, and a core writes some 10 MB in a millisecond: a limit is passed by some 100 MB at most.
const memoryPause = 10 * time.Millisecond

// WithMemoryLimit is ctx until this process holds more memory than limit bytes, what garbage
// collection frees not counted; it then ends with ErrMemoryLimit as its cause. The function
// ends the watch.
func WithMemoryLimit(ctx context.Context, limit int64) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(memoryPause)
		defer tick.Stop()
		for {
			if now, before := held(); now > limit {
				goruntime.GC()
				if now, after := held(); now-(after-before) > limit { // what came meanwhile may be garbage
					end(ErrMemoryLimit)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx, func() { end(context.Canceled) }
}

// held is the memory that this process has from the system and could not give back at once, and all that it has allocated so far, in bytes.
func held() (now, allocated int64) {
	samples := [4]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples[:])
	now = int64(samples[0].Value.Uint64() - samples[1].Value.Uint64() - samples[2].Value.Uint64())
	return now, int64(samples[3].Value.Uint64())
}
