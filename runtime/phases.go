package runtime

import "time"

// Phases say where the time of a result went, in seconds of wall time. Reading is
// known to the command line alone; it is 0 for a program that embeds the runtime.
type Phases struct {
	Read    float64 `json:"read"`    // of the model and its data
	Compile float64 `json:"compile"` // of the model, and of f and g
	Bind    float64 `json:"bind"`    // of the data to the model
	Prove   float64 `json:"prove"`   // of convexity, constants and ranks
	Solve   float64 `json:"solve"`   // from the start to the end of the method
	Certify float64 `json:"certify"` // of the result, and its description
	// Trace are the seconds from the start of the method to each point of Result.Trace.
	Trace []float64 `json:"trace,omitempty"`
	// Bound are the seconds from the start of the search for the global optimum to each point of Result.Global.Trace.
	Bound []float64 `json:"bound,omitempty"`
	Seal  string    `json:"seal"` // of the times of a document; see Result.Seal
}

// Total is the sum of the phases.
func (p Phases) Total() float64 {
	return p.Read + p.Compile + p.Bind + p.Prove + p.Solve + p.Certify
}

// stopwatch measures one phase after the other.
type stopwatch struct{ last time.Time }

// lap is the time since the last lap, in seconds.
func (w *stopwatch) lap() float64 {
	now := time.Now()
	took := now.Sub(w.last).Seconds()
	w.last = now
	return took
}
