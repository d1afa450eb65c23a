package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// meter shows how far work of a known number of parts is, on the error stream: a bar
// with the time left on a terminal, a line now and then elsewhere, and nothing with
// --quiet. It may be used by several goroutines.
type meter struct {
	name  string
	out   io.Writer
	every time.Duration // between lines

	mu     sync.Mutex
	total  int
	before int // done when it began: they say nothing of the speed
	done   int
	failed int
	note   string
	began  time.Time
	told   time.Time
	bars   *mpb.Progress
	bar    *mpb.Bar
}

// lines come this often where there is no terminal: a log is read later.
const linesEvery = 10 * time.Second

// meter begins to show work of so many parts, of which some are done already.
func (a *app) meter(name string, done, total int) *meter {
	m := &meter{name: name, out: a.io.err, every: linesEvery, total: total, before: done, done: done, began: time.Now(), told: time.Now()}
	switch {
	case a.quiet:
		m.out = io.Discard
	case isTerminal(a.io.err):
		m.bars = mpb.New(mpb.WithOutput(a.io.err), mpb.WithWidth(30), mpb.WithRefreshRate(redraw))
		note := decor.Any(func(decor.Statistics) string {
			m.mu.Lock()
			defer m.mu.Unlock()
			return " " + m.left() + m.note
		})
		if total <= 1 { // the progress within one part is not known
			m.bar = m.bars.New(0, mpb.SpinnerStyle().PositionLeft(), mpb.BarRemoveOnComplete(), mpb.BarWidth(2),
				mpb.PrependDecorators(decor.Name(name+" "), decor.Elapsed(decor.ET_STYLE_GO)), mpb.AppendDecorators(note))
			break
		}
		m.bar = m.bars.AddBar(int64(total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(name+" "), decor.CountersNoUnit("%d/%d")), mpb.AppendDecorators(note))
		m.bar.SetCurrent(int64(done))
	}
	return m
}

// step is one part more; note is shown beside.
func (m *meter) step(failed bool, note string) {
	m.mu.Lock()
	m.done++
	if failed {
		m.failed++
	}
	m.note = note
	m.tell()
	m.mu.Unlock()
	if m.bar != nil {
		m.bar.Increment()
	}
}

// at says that so many parts are done, where that is more than before, and what is
// shown beside.
func (m *meter) at(done int, note string) {
	m.mu.Lock()
	m.done, m.note = max(m.done, done), note
	done = m.done
	m.tell()
	m.mu.Unlock()
	if m.bar != nil && m.total > 1 {
		m.bar.SetCurrent(int64(done))
	}
}

// tell writes a line where there is no bar, now and then.
func (m *meter) tell() {
	if m.bar == nil && time.Since(m.told) >= m.every {
		m.told = time.Now()
		fmt.Fprintln(m.out, m.line())
	}
}

// line is the state in words.
func (m *meter) line() string {
	text := m.name + ":"
	if m.total <= 1 {
		return text + strings.TrimPrefix(m.note, ";")
	}
	text += fmt.Sprintf(" %d of %d", m.done, m.total)
	if m.failed > 0 {
		text += fmt.Sprintf(", %d failed", m.failed)
	}
	if left := m.left(); left != "" {
		text += ", " + left
	}
	return text + m.note
}

// left is the time left, from the parts so far; "" before the first.
func (m *meter) left() string {
	parts := m.done - m.before
	if parts <= 0 || m.done >= m.total {
		return ""
	}
	rest := time.Duration(float64(time.Since(m.began)) / float64(parts) * float64(m.total-m.done))
	switch {
	case rest > time.Hour:
		rest = rest.Round(time.Minute)
	default:
		rest = rest.Round(time.Second)
	}
	return rest.String() + " left"
}

// close ends the bar, and leaves the terminal as it was.
func (m *meter) close() {
	if m.bar == nil {
		return
	}
	m.bar.Abort(true)
	m.bars.Wait()
}
