//go:build !linux

package bench

import "time"

// threadTime and processTime fall back on the time on the wall.
func threadTime() time.Duration  { return wall() }
func processTime() time.Duration { return wall() }
