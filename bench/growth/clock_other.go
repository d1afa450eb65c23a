//go:build !linux

package main

import "time"

var start = time.Now()

// processorTime is the time since the start, where there is no other clock.
func processorTime() time.Duration { return time.Since(start) }
