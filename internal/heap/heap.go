// Package heap says when a program of this project collects its garbage.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// floor is the size in bytes that a heap grows to before it is collected.
const floor = 64 << 20

// most is the percentage with which a heap of nothing is collected at floor: without one (100) that is at 4 MB.
const most = 100 * floor / (4 << 20)

// Floor lets collections begin at floor, and not at 4 MB, where they take a fifth of the processor time of small
// problems; from there on, at twice of what the last one has left, as ever. Limits on memory hold as they do
// without. Programs call it, whose heap is their own, not libraries; GOGC, where it is set, holds instead.
func Floor() {
	if os.Getenv("GOGC") == "" {
		afterNext()
	}
}

// afterNext sets what the collection after the next one begins at, once the next has ended: after each
// an object that nothing points to is found to be garbage. The percentage is one of what a collection has left and has had to look at.
func afterNext() {
	runtime.SetFinalizer(&struct{ next *int }{}, func(any) {
		left := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
		metrics.Read(left)
		live := float64(left[0].Value.Uint64())
		debug.SetGCPercent(int(min(most, max(100, 100*(floor-live)/(1+live+float64(left[1].Value.Uint64()+left[2].Value.Uint64()))))))
		afterNext()
	})
}
