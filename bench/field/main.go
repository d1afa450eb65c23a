// Command field solves the field's own benchmarks by default settings, each in a
// process of its own (what one leaves behind would be charged to the next), and
// writes one row for each to field.csv, where rows of families that are not run
// stay: F, what is known of the optimum, how the run ended, whether its document
// passes verification, processor time, memory and calls. Where F is better than the best one published, field_points.csv has the
// point to the last digit.
//
//	go run ./bench/field [-out DIR] [-limit 120s] [FAMILY...]
//
// The families are svm, hearn, battery, interdiction, prices, equality, tollgrid and bolib;
// without one, all are run, which takes up to an hour. Sources and licences of
// the data are in bench/field/data/SOURCES.md; what the numbers show is said in
// bench/README.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"bilevelc/bench/clock"
	"bilevelc/bench/csvfile"
	"bilevelc/internal/must"
	"bilevelc/runtime"
)

// instance is one problem of a family.
type instance struct {
	family, name string
	bind         func() *runtime.Problem
	known        float64 // F of the best point known, or a bound on F; NaN: nothing
	source       string  // of known
	report       string  // name of a report entry shown beside F; "": none
}

// families in the order of the table. Each reads its data from a folder.
var families = []struct {
	name string
	list func(data string) []instance
}{
	{"svm", supportVectors}, {"hearn", tolls}, {"battery", batteries},
	{"interdiction", interdictions}, {"prices", prices}, {"equality", equalities}, {"tollgrid", tollGrids}, {"bolib", bolib},
}

func main() {
	must.Exit("field", 1, command(os.Args[1:], os.Stdout, apart))
}

func command(args []string, out io.Writer, measure measurer) (err error) {
	defer must.Catch(&err)
	flags := flag.NewFlagSet("field", flag.ContinueOnError)
	dir := flags.String("out", "bench/results", "folder of the table")
	data := flags.String("data", "bench/field/data", "folder of the models and data")
	one := flags.String("one", "", "measure the instance of this name of FAMILY alone and print its row as JSON")
	limit := flags.Duration("limit", 120*time.Second, "processor time after which a solve ends")
	must.Do(flags.Parse(args))
	var chosen []instance
	run := map[string]bool{}
	for _, f := range families {
		if flags.NArg() > 0 && !slices.Contains(flags.Args(), f.name) {
			continue
		}
		err := must.Try(func() { chosen = append(chosen, f.list(*data)...) })
		must.Be(err == nil, "%s: %w", f.name, err)
		run[f.name] = true
	}
	must.Be(len(chosen) > 0, "no family named %v", flags.Args())
	if *one != "" {
		at := slices.IndexFunc(chosen, func(in instance) bool { return in.name == *one })
		must.Be(at >= 0, "no instance named %q", *one)
		row, better := here(chosen[at], *data, *limit)
		return json.NewEncoder(out).Encode([][]string{row, better})
	}
	must.Do(os.MkdirAll(*dir, 0o777)) // before hours of work, not after them
	rows := [][]string{{"family", "instance", "d_x", "d_y", "rows", "F", "known", "relative difference", "source of known", "ended", "verified", "seconds", "MB", "report", "calls"}}
	points := [][]string{{"family", "instance", "F", "published", "x and y"}}
	for _, in := range chosen {
		var row, better []string
		if err := must.Try(func() { row, better = measure(in, *data, *limit) }); err != nil {
			row = []string{in.family, in.name, "", "", "", "", "", "", in.source, "error: " + err.Error(), "", "", "", "", ""}
		}
		rows = append(rows, row)
		fmt.Fprintln(out, row)
		if better != nil {
			points = append(points, better)
		}
	}
	merge(filepath.Join(*dir, "field_points.csv"), points, run)
	merge(filepath.Join(*dir, "field.csv"), rows, run)
	return nil
}

// merge writes a table of the families that were run, with the rows that the file has of the
// others, in the order of the families.
func merge(path string, rows [][]string, run map[string]bool) {
	old, err := csvfile.Read(path)
	if !os.IsNotExist(err) {
		must.Do(err)
	}
	out := rows[:1:1]
	for _, f := range families {
		from := old
		if run[f.name] {
			from = rows
		}
		for _, row := range from[min(1, len(from)):] {
			if row[0] == f.name {
				out = append(out, row)
			}
		}
	}
	csvfile.Write(path, out)
}

// digits is to how many parts of itself, or of 1, a published F is taken to be known:
// many are given to three digits.
const digits = 2e-3

// measurer makes the row of an instance, of a folder of data, and, or nil, that of a better point.
type measurer func(in instance, data string, limit time.Duration) (row, better []string)

// here measures in this process.
func here(in instance, _ string, limit time.Duration) (row, better []string) {
	return measure(in, limit)
}

// apart measures in a process of its own.
func apart(in instance, data string, limit time.Duration) (row, better []string) {
	var said strings.Builder
	child := exec.Command(must.Get(os.Executable()), "-data", data, "-limit", limit.String(), "-one", in.name, in.family)
	child.Stderr = &said
	text, err := child.Output()
	must.Be(err == nil, "%w: %s", err, strings.TrimSpace(said.String()))
	var rows [][]string
	must.Do(json.Unmarshal(text, &rows))
	return rows[0], rows[1]
}

// measure solves one instance by default settings. better is the row of a point with
// a lower F than published, else nil.
func measure(in instance, limit time.Duration) (row, better []string) {
	goruntime.GC()
	began := clock.Process()
	p := in.bind()
	ctx, end := clock.Limit(limit, runtime.ErrTimeLimit)
	defer end()
	r := must.Get(p.Solve(ctx, runtime.Options{}))
	seconds := (clock.Process() - began).Seconds()
	verified := ""
	if r.HasPoint() {
		verified = "no"
		if v, err := p.Verify(r); err != nil {
			verified = "error"
		} else if v.OK() {
			verified = "yes"
		}
	}
	var memory goruntime.MemStats
	goruntime.ReadMemStats(&memory)
	F := float64(r.Upper.Objective)
	known, difference := "", ""
	if !math.IsNaN(in.known) {
		known, difference = number(in.known), number((F-in.known)/math.Max(1, math.Abs(in.known)))
	}
	report := ""
	if v, ok := r.Report.Get(in.report); ok {
		if s, err := v.Scalar(); err == nil {
			report = in.report + " " + number(s)
		}
	}
	if in.source == "BOLIB" && r.Status == runtime.Solved && verified == "yes" && F < in.known-digits*math.Max(1, math.Abs(in.known)) {
		text := must.Get(json.Marshal(append(slices.Clone(r.Upper.Variables), r.Lower.Variables...)))
		better = []string{in.family, in.name, strconv.FormatFloat(F, 'g', -1, 64), known, string(text)}
	}
	n := p.Numeric
	row = csvfile.Row(10, in.family, in.name, n.Dx, n.Dy, n.Rows.Len(), F, known, difference,
		in.source, r.Status, verified, seconds, float64(memory.Sys)/(1<<20), report, r.Calls.Total())
	return row, better
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
