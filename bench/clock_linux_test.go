package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of the calling thread, processTime that of
// all threads.
func threadTime() time.Duration  { return processorTime(unix.CLOCK_THREAD_CPUTIME_ID) }
func processTime() time.Duration { return processorTime(unix.CLOCK_PROCESS_CPUTIME_ID) }

func processorTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // Linux has both clocks
	}
	return time.Duration(t.Nano())
}
