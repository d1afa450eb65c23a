// Command growth measures what a problem costs against its sizes: processor
// time, memory allocated and calls of binding, of one hypergradient from
// nothing, and of one after x has moved by 1 %.
//
//	go run ./bench/growth [-full] [-most SIZE] [-stored] [-out DIR] [-threads N] [AXIS...]
//
// After each measurement it writes growth.csv, growth_fits.csv (the exponents of power laws fitted
// through each series) and growth.png to DIR, and prints both tables; rows of sizes and axes that
// a run leaves out stay. Without -full it takes a minute; with it, up to 10^6 lower variables,
// half an hour and 16 GB. What the numbers show is said in bench/README.md.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"bilevelc/bench/clock"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	bilevelc "bilevelc/runtime"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
)

// cost is what one phase took.
type cost struct {
	seconds   float64 // of processor time, all threads
	megabytes float64 // allocated
	values    int64   // of g
	gradients int64   // of g
}

// phases of one measurement, in order; a series has the last one, or the two before it.
var phases = []string{"bind", "cold", "warm", "solve"}

const solved = 3 // the place of "solve"

// measurement is one point of a series.
type measurement struct {
	axis   string
	size   int
	solver string
	costs  []cost // by phase; 0 for those that it does not have
}

func main() {
	must.Exit("growth", 1, command(os.Args[1:], os.Stdout))
}

func command(args []string, out io.Writer) (err error) {
	defer must.Catch(&err)
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	dir := flags.String("out", "bench/results", "directory of the tables and the figure")
	full := flags.Bool("full", false, "the large sizes, too")
	stored := flags.Bool("stored", false, "fit and draw the measurements in the folder -out again, without measuring")
	most := flags.Int("most", 0, "the largest size that is measured; 0: any")
	threads := flags.Int("threads", 1, "independent followers solved at a time")
	must.Do(flags.Parse(args))
	var all []measurement
	if _, err := os.Stat(tableIn(*dir)); !os.IsNotExist(err) || *stored {
		all = readTable(*dir)
	}
	ran := 0
	for _, a := range axes() {
		if *stored || !wanted(a.name, flags.Args()) {
			continue
		}
		sizes := a.sizes
		if *full {
			sizes = append(sizes, a.large...)
		}
		for _, size := range sizes {
			if ran++; *most > 0 && size > *most {
				continue
			}
			var m measurement
			err := must.Try(func() { m = measure(a, size, *threads) })
			must.Be(err == nil, "%s: %w", a.label(size), err)
			fmt.Fprintln(out, m)
			all = with(all, m)
			write(*dir, all, fit(all)) // a run may be stopped
		}
	}
	must.Be(ran > 0 || *stored, "no axis is called %s", strings.Join(flags.Args(), " or "))
	fits := fit(all)
	for _, f := range fits {
		fmt.Fprintln(out, f)
	}
	write(*dir, all, fits)
	return nil
}

// with is the table with one measurement more, which replaces the one of the same axis and size; in the order of the axes.
func with(all []measurement, m measurement) []measurement {
	all = slices.DeleteFunc(all, func(o measurement) bool { return o.axis == m.axis && o.size == m.size })
	all = append(all, m)
	place := map[string]int{}
	for i, a := range axes() {
		place[a.name] = i
	}
	slices.SortStableFunc(all, func(a, b measurement) int {
		return cmp.Or(cmp.Compare(place[a.axis], place[b.axis]), cmp.Compare(a.size, b.size))
	})
	return all
}

func write(dir string, all []measurement, fits []exponents) {
	must.Do(os.MkdirAll(dir, 0o755))
	writeTables(dir, all, fits)
	draw(filepath.Join(dir, "growth.png"), all)
}

// wanted reports whether an axis was asked for: by a part of its name, or by
// asking for none.
func wanted(name string, asked []string) bool {
	for _, part := range asked {
		if strings.Contains(name, part) {
			return true
		}
	}
	return len(asked) == 0
}

func (m measurement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %8d  %-6s", m.axis, m.size, m.solver)
	for k, c := range m.costs {
		if c == (cost{}) {
			continue
		}
		fmt.Fprintf(&b, "  %s %.4g s, %.4g MB, %d grad g;", phases[k], c.seconds, c.megabytes, c.gradients)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// measure builds one problem and takes its hypergradient twice.
func measure(a axis, size, threads int) measurement {
	m := measurement{axis: a.name, size: size, costs: make([]cost, len(phases))}
	model := must.Get(bilevelc.Compile(a.name+".blv", a.text))
	var p *bilevelc.Problem
	m.costs[0] = meter(func() { p = must.Get(model.Bind(bilevelc.Data(a.set(size)), bilevelc.BindOptions{Seed: 1})) })
	m.solver = lower.Choose(p.Numeric)
	if a.options != nil {
		var r *bilevelc.Result
		options := a.options(size)
		options.Threads = threads
		m.costs[solved] = meter(func() { r = must.Get(p.Solve(context.Background(), options)) })
		must.Be(r.Status == bilevelc.Solved, "%v: %s", r.Status, r.Reason)
		m.costs[solved].values, m.costs[solved].gradients = r.Calls.G, r.Calls.GradG
		return m
	}
	face := must.Get(must.Get(oracle.Lookup(oracle.Default)).New(nil))
	h := oracle.New(p.Numeric, must.Get(lower.New(m.solver, nil, p.Numeric, threads)), face)
	x := each.Below(p.Numeric.Dx, func(j int) float64 { return 0.2 * math.Sin(float64(j+1)) })
	for k := 1; k < solved; k++ {
		before := h.Calls()
		c := meter(func() { must.Get(h.Gradient(context.Background(), x)) })
		calls := h.Calls().Sub(before)
		c.values, c.gradients = calls.G, calls.GradG
		m.costs[k] = c
		for j := range x {
			x[j] *= 1.01
		}
	}
	return m
}

// meter measures a piece of work.
func meter(work func()) (c cost) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := clock.Process()
	work()
	c.seconds = (clock.Process() - began).Seconds()
	runtime.ReadMemStats(&after)
	c.megabytes = float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
	return c
}
