// Command speed measures what the project is asked to be fast at, in one run of about ten minutes, and prints a table in Markdown: processor time
// (user and system, of all threads and of what a command starts), the median with the least and the most of the repetitions, and peak memory.
//
//	go run ./bench/speed [-python PYTHON] [-repeat N] [-only TEXT]
//
// With -python, an interpreter that has the packages of bench/peers/requirements.txt (daqp, qpth and proxsuite are enough), hypergradients and whole solves stand
// beside those of others, in turn, seed by seed (bench/peers/run.py); without it those rows are left out. Commands are stopped after -limit of time on the wall.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"bilevelc/internal/must"
)

func main() {
	must.Exit("speed", 1, command(os.Args[1:], os.Stdout))
}

// bench is what one run is made with.
type bench struct {
	python string
	repeat int
	limit  time.Duration
	binary string // bilevelc, built for this run
	folder string // for what is written meanwhile
}

// row is one line of the table: seconds of each repetition, and of others beside it.
type row struct {
	what    string
	seconds []float64
	wanted  string
	other   string // the best of others, in words
	memory  float64
	note    string
}

// sections in the order of the table; each adds the rows that it could measure.
var sections = []struct {
	name    string
	measure func(*bench, func(...row))
}{
	{"start", starts}, {"editor", editor}, {"sweep", sweeps}, {"random programs", programs}, {"tolls on grids", grids},
	{"planted", planted}, {"chain", chain}, {"field", fields}, {"sizes", sizes},
	{"hypergradients", hypergradients}, {"whole solves", wholes},
}

func command(args []string, out io.Writer) (err error) {
	defer must.Catch(&err)
	flags := flag.NewFlagSet("speed", flag.ContinueOnError)
	b := &bench{}
	flags.StringVar(&b.python, "python", "", "interpreter with the peers' packages; empty: no peers")
	flags.IntVar(&b.repeat, "repeat", 5, "repetitions of what takes less than a second; a third of them, one at least, of what takes longer")
	flags.DurationVar(&b.limit, "limit", 5*time.Minute, "time after which a command is stopped")
	only := flags.String("only", "", "sections whose names contain this")
	must.Do(flags.Parse(args))
	folder := must.Get(os.MkdirTemp("", "speed"))
	defer os.RemoveAll(folder)
	b.folder, b.binary = folder, filepath.Join(folder, "bilevelc")
	said, err := exec.Command("go", "build", "-o", b.binary, "./cmd/bilevelc").CombinedOutput()
	must.Be(err == nil, "%w: %s", err, said)
	fmt.Fprintf(out, "%s, load %s\n\n| what | median | least ... most | wanted | others | MB | |\n|---|---|---|---|---|---|---|\n", time.Now().UTC().Format("2006-01-02 15:04"), load())
	for _, s := range sections {
		if !strings.Contains(s.name, *only) {
			continue
		}
		began := time.Now()
		add := func(rows ...row) {
			for _, r := range rows {
				fmt.Fprintln(out, r.String())
			}
		}
		if err := must.Try(func() { s.measure(b, add) }); err != nil {
			fmt.Fprintf(out, "| %s | | | | | | %v |\n", s.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", s.name, time.Since(began).Seconds())
	}
	fmt.Fprintf(out, "\nload at the end %s\n", load())
	return nil
}

// load is that of the machine, where it tells.
func load() string {
	said, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(said))[:1], " ")
}

func (r row) String() string {
	median, spread, memory := "", "", ""
	if len(r.seconds) > 0 {
		median, spread = duration(middle(r.seconds)), duration(slices.Min(r.seconds))+" ... "+duration(slices.Max(r.seconds))
	}
	if r.memory > 0 {
		memory = fmt.Sprintf("%.0f", r.memory)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", r.what, median, spread, r.wanted, r.other, memory, r.note)
}

// middle is the median.
func middle(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// duration is a number of seconds with two or three digits.
func duration(seconds float64) string {
	switch {
	case seconds < 1e-3:
		return fmt.Sprintf("%.3g us", 1e6*seconds)
	case seconds < 1:
		return fmt.Sprintf("%.3g ms", 1e3*seconds)
	}
	return fmt.Sprintf("%.3g s", seconds)
}

// once runs a command and returns its output, and its processor seconds and peak memory.
func (b *bench) once(name string, args ...string) (said string, seconds, megabytes float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.limit)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it starts is stopped with it
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
	c.WaitDelay = 10 * time.Second
	out, err := c.CombinedOutput()
	if c.ProcessState != nil {
		seconds = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
		if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			megabytes = float64(u.Maxrss) / 1024
		}
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("stopped after %v", b.limit)
	}
	return string(out), seconds, megabytes, err
}

// must runs a command that has to succeed and returns its output.
func (b *bench) must(name string, args ...string) string {
	said, _, _, err := b.once(name, args...)
	must.Be(err == nil, "%w: %s", err, said[max(0, len(said)-200):])
	return said
}

// timed repeats bilevelc with some arguments. An exit code that tells a status (10 to 14) is a result, which the note has.
func (b *bench) timed(what, wanted string, args ...string) row {
	r := row{what: what, wanted: wanted}
	for k := 0; k < b.repeat; k++ {
		said, seconds, megabytes, err := b.once(b.binary, args...)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			if r.note, _, _ = strings.Cut(strings.TrimSpace(said), "\n"); exit.ExitCode() < 10 {
				return r // no result
			}
		} else if err != nil {
			r.note = err.Error()
		}
		r.seconds, r.memory = append(r.seconds, seconds), max(r.memory, megabytes)
		if seconds > 1 && k+1 >= max(1, b.repeat/3) || err != nil && exit == nil {
			break
		}
	}
	return r
}

// file writes a text to the run's folder.
func (b *bench) file(name, text string) string {
	path := filepath.Join(b.folder, name)
	must.Do(os.WriteFile(path, []byte(text), 0o644))
	return path
}
