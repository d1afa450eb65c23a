package clock

import (
	"context"
	"time"
)

// Limit is a context that ends, with the given cause, once the process has taken
// the limit of processor time from now on (looked at every 20 ms); without a limit, 0, it does not.
// The function that comes with it releases what it holds.
func Limit(limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(context.Background())
	if limit > 0 {
		began := Process()
		go func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for Process()-began < limit {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
			end(cause)
		}()
	}
	return ctx, func() { end(nil) }
}
