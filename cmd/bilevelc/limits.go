package main

import (
	"context"
	"errors"
	"math"
	"runtime/debug"

	"github.com/dustin/go-humanize"

	"bilevelc/runtime"
)

// size is a flag of a number of bytes: 500MB, 4GiB.
type size int64

func (s *size) Type() string { return "size" }

func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return humanize.IBytes(uint64(*s))
}

func (s *size) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return errors.New("a size is a positive number of bytes, such as 500MB or 4GiB")
	}
	*s = size(n)
	return nil
}

// limited is ctx until the time or the memory of the flags is used up. The garbage collector
// works to hold the memory, as it does for GOMEMLIMIT.
func (f *solveFlags) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	var ends []context.CancelFunc
	if f.timeLimit > 0 {
		timed, end := context.WithTimeoutCause(ctx, f.timeLimit, runtime.ErrTimeLimit)
		ctx, ends = timed, append(ends, end)
	}
	before := debug.SetMemoryLimit(-1)
	limit := before
	if f.memory > 0 {
		limit = int64(f.memory)
	}
	if limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit)
		watched, end := runtime.WithMemoryLimit(ctx, limit)
		ctx, ends = watched, append(ends, end, func() { debug.SetMemoryLimit(before) })
	}
	return ctx, func() {
		for _, end := range ends {
			end()
		}
	}
}
