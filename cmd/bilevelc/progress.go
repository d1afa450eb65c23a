package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"bilevelc/runtime"
)

// progress shows a run while it goes on: one line on a terminal, and one JSON
// line an iteration in a trace file.
type progress struct {
	app   *app
	shown bool
	last  time.Time
	trace *os.File
	enc   *json.Encoder
}

// redraw is how often the line on the terminal is written again at most.
const redraw = 100 * time.Millisecond

func (a *app) progress(trace string) (*progress, error) {
	p := &progress{app: a, shown: !a.quiet && isTerminal(a.io.err)}
	if trace == "" {
		return p, nil
	}
	f, err := os.Create(trace)
	if err != nil {
		return nil, &exitError{Code: exitUsage, Err: err}
	}
	p.trace, p.enc = f, json.NewEncoder(f)
	return p, nil
}

// traced is one line of a trace file.
type traced struct {
	Start     int            `json:"start"`
	Iteration int            `json:"iteration"`
	Objective runtime.Number `json:"objective"`
	Best      runtime.Number `json:"best"`
	Step      runtime.Number `json:"step"`
	Measure   runtime.Number `json:"measure"`
	Calls     runtime.Calls  `json:"calls"`
}

func (p *progress) observe(now runtime.Progress) {
	if p.enc != nil {
		// A trace that cannot be written is not worth the run.
		_ = p.enc.Encode(traced{now.Start, now.Iteration, runtime.Number(now.Objective), runtime.Number(now.Best),
			runtime.Number(now.Step), runtime.Number(now.Measure), now.Calls})
	}
	if !p.shown || time.Since(p.last) < redraw {
		return
	}
	p.last = time.Now()
	start := ""
	if now.Starts > 1 {
		start = fmt.Sprintf("start %d of %d, ", now.Start, now.Starts)
	}
	fmt.Fprintf(p.app.io.err, "\r\x1b[K%siteration %d: F %.10g, step %.2g, stationarity %.2g",
		start, now.Iteration, now.Best, now.Step, now.Measure)
}

// announce says what a run is about to take, where a theorem tells.
func (p *progress) announce(b runtime.Budget) {
	if !p.app.quiet {
		fmt.Fprintf(p.app.io.err, "budget: %.3g evaluations of F (%s)\n", float64(b.Evaluations), b.Basis)
	}
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	if p.shown && !p.last.IsZero() {
		fmt.Fprint(p.app.io.err, "\r\x1b[K")
	}
}

func (p *progress) close() {
	if p.trace != nil {
		p.trace.Close()
	}
}
