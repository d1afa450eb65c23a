package runtime

import "time"

// stopwatch measures one phase after the other.
type stopwatch struct{ last time.Time }

// lap is the time since the last lap, in seconds.
func (w *stopwatch) lap() float64 {
	now := time.Now()
	took := now.Sub(w.last).Seconds()
	w.last = now
	return took
}
