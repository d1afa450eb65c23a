//go:build !linux

package clock

import "time"

var start = time.Now()

// Process and Thread fall back on the time on the wall.
func Process() time.Duration { return time.Since(start) }
func Thread() time.Duration  { return time.Since(start) }
