package await

import "sync/atomic"

// Each does a piece of work for each of 0 to count-1, at most `threads` at a time. The
// work on one must not touch what that on another does.
func Each(count, threads int, do func(k int)) {
	threads = min(threads, count)
	if threads <= 1 {
		for k := range count {
			do(k)
		}
		return
	}
	var wait Group
	var next atomic.Int64
	for range threads {
		wait.Go(func() {
			for k := int(next.Add(1)) - 1; k < count; k = int(next.Add(1)) - 1 {
				do(k)
			}
		})
	}
	wait.Wait()
}
