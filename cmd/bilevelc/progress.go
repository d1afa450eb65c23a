package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"bilevelc/internal/must"
	"bilevelc/runtime"
)

// progress shows a run while it goes on: a bar on a terminal, a line now and then
// elsewhere, and one JSON line an iteration in a trace file.
type progress struct {
	app   *app
	meter *meter // from the first iteration on, which tells how many starts there are
	last  time.Time
	trace *os.File
	enc   *json.Encoder
	lost  error // the first line of the trace that could not be written

	search searchTable
}

// searchTable is the progress of a search for the global optimum as MIP solvers print it: a row for each better point, and one now and then.
type searchTable struct {
	began, told time.Time
	best        float64
	rows        int
}

// Searches that are over sooner print no table, and rows come that often on a terminal; elsewhere both are as often as other progress (solveLines).
const (
	searchAfter = 2 * time.Second
	searchRows  = 5 * time.Second
)

// row is the table's next row, with its head before the first; "" where there is none to print.
func (t *searchTable) row(now runtime.Progress, clock time.Time, after, every time.Duration) string {
	if t.began.IsZero() {
		t.began, t.told = clock, clock
	}
	better := t.rows > 0 && now.Best != t.best
	due := clock.Sub(t.began) >= after && (t.rows == 0 || clock.Sub(t.told) >= every)
	if !better && !due {
		return ""
	}
	text, mark := "", " "
	if t.rows == 0 {
		text = fmt.Sprintf("  %9s %9s %17s %17s %9s %8s\n", "nodes", "open", "F", "bound", "gap", "seconds")
	}
	if better {
		mark = "*"
	}
	gap := "-"
	if !math.IsInf(now.Tree.Gap, 0) {
		gap = fmt.Sprintf("%.3g %%", 100*now.Tree.Gap)
	}
	t.told, t.best = clock, now.Best
	t.rows++
	return text + fmt.Sprintf("%s %9d %9d %17.10g %17.10g %9s %8.1f\n", mark, now.Tree.Nodes, now.Tree.Open, now.Best, now.Tree.Bound, gap, clock.Sub(t.began).Seconds())
}

// redraw is how often the line on the terminal is written again at most.
const redraw = 100 * time.Millisecond

func (a *app) progress(trace string) *progress {
	p := &progress{app: a}
	if trace != "" {
		f, err := os.Create(trace)
		must.Do(coded(exitUsage, err))
		p.trace, p.enc = f, json.NewEncoder(f)
	}
	return p
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
	if p.enc != nil && p.lost == nil {
		// The run goes on: its result is worth more than the trace.
		p.lost = p.enc.Encode(traced{now.Start, now.Iteration, runtime.Number(now.Objective), runtime.Number(now.Best),
			runtime.Number(now.Step), runtime.Number(now.Measure), now.Calls})
	}
	if p.app.quiet {
		return
	}
	if now.Tree != nil {
		after, every := solveLines, solveLines
		if isTerminal(p.app.io.err) {
			after, every = searchAfter, searchRows
		}
		if row := p.search.row(now, time.Now(), after, every); row != "" {
			p.clear() // a bar
			fmt.Fprint(p.app.io.err, row)
		}
		if p.search.rows > 0 {
			return
		}
	}
	if time.Since(p.last) < redraw {
		return
	}
	p.last = time.Now()
	if p.meter == nil {
		p.meter = p.app.meter("solve", 0, now.Starts)
		p.meter.every = solveLines
	}
	if t := now.Tree; t != nil {
		p.meter.at(now.Start-1, fmt.Sprintf("; %d nodes, %d open: F %.10g, bound %.10g, gap %.2g %%", t.Nodes, t.Open, now.Best, t.Bound, 100*t.Gap))
		return
	}
	p.meter.at(now.Start-1, fmt.Sprintf("; iteration %d: F %.10g, step %.2g, stationarity %.2g", now.Iteration, now.Best, now.Step, now.Measure))
}

// solveLines is how often a run tells of itself where there is no terminal. Most runs
// are over before.
const solveLines = 30 * time.Second

// announce says what a run is about to take, where a theorem tells.
func (p *progress) announce(b runtime.Budget) {
	p.app.note("budget: %.3g evaluations of F (%s)", float64(b.Evaluations), b.Basis)
}

// clear leaves the terminal as it was.
func (p *progress) clear() {
	if p.meter != nil {
		p.meter.close()
		p.meter = nil
	}
}

// close ends the trace. The error is of a trace that is not whole.
func (p *progress) close() error {
	if p.trace == nil {
		return nil
	}
	err := p.trace.Close()
	p.trace = nil
	if err = cmp.Or(p.lost, err); err != nil {
		err = coded(exitInternal, fmt.Errorf("the trace is not whole: %w", err))
	}
	return err
}
