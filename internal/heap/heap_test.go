package heap

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

var kept []byte // escapes

// A heap of a few MB is collected once in about floor bytes; a larger one begins its next collection at twice what is left.
func TestFloor(t *testing.T) {
	t.Setenv("GOGC", "")
	kept = nil
	Floor()
	settle := func() { // finalizers run one after another, after the collection that found them: once one of the third has run, those of the first two have
		for range 3 {
			ran := make(chan struct{})
			runtime.SetFinalizer(&struct{ next *int }{}, func(any) { close(ran) })
			runtime.GC()
			<-ran
		}
	}
	settle()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for k := range 4 * floor >> 16 {
		kept = make([]byte, 1<<16)
		if runtime.Gosched(); k%(floor>>18) == 0 { // on a loaded machine one that is under way is given time to end
			time.Sleep(time.Millisecond)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.NumGC - before.NumGC; n < 2 || n > 8 {
		t.Errorf("%d collections of %d MB", n, 4*floor>>20)
	}
	kept = make([]byte, 3*floor)
	settle()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(goal)
	if g := goal[0].Value.Uint64(); g < 5*floor || g > 7*floor {
		t.Errorf("a heap of %d MB is collected at %d", 3*floor>>20, g>>20)
	}
	runtime.KeepAlive(kept)
}
