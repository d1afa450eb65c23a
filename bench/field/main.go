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
	"bilevelc/runtime"
)

// instance is one problem of a family.
type instance struct {
	family, name string
	bind         func() (*runtime.Problem, error)
	known        float64 // F of the best point known, or a bound on F; NaN: nothing
	source       string  // of known
	report       string  // name of a report entry shown beside F; "": none
}

// families in the order of the table. Each reads its data from a folder.
var families = []struct {
	name string
	list func(data string) ([]instance, error)
}{
	{"svm", supportVectors}, {"hearn", tolls}, {"battery", batteries},
	{"interdiction", interdictions}, {"prices", prices}, {"equality", equalities}, {"tollgrid", tollGrids}, {"bolib", bolib},
}

func main() {
	if err := command(os.Args[1:], os.Stdout, apart); err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

func command(args []string, out io.Writer, measure measurer) error {
	flags := flag.NewFlagSet("field", flag.ContinueOnError)
	dir := flags.String("out", "bench/results", "folder of the table")
	data := flags.String("data", "bench/field/data", "folder of the models and data")
	one := flags.String("one", "", "measure the instance of this name of FAMILY alone and print its row as JSON")
	limit := flags.Duration("limit", 120*time.Second, "processor time after which a solve ends")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var chosen []instance
	run := map[string]bool{}
	for _, f := range families {
		if flags.NArg() > 0 && !slices.Contains(flags.Args(), f.name) {
			continue
		}
		list, err := f.list(*data)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		chosen = append(chosen, list...)
		run[f.name] = true
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no family named %v", flags.Args())
	}
	if *one != "" {
		at := slices.IndexFunc(chosen, func(in instance) bool { return in.name == *one })
		if at < 0 {
			return fmt.Errorf("no instance named %q", *one)
		}
		row, better, err := here(chosen[at], *data, *limit)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode([][]string{row, better})
	}
	if err := os.MkdirAll(*dir, 0o777); err != nil { // before hours of work, not after them
		return err
	}
	rows := [][]string{{"family", "instance", "d_x", "d_y", "rows", "F", "known", "relative difference", "source of known", "ended", "verified", "seconds", "MB", "report", "calls"}}
	points := [][]string{{"family", "instance", "F", "published", "x and y"}}
	for _, in := range chosen {
		row, better, err := measure(in, *data, *limit)
		if err != nil {
			row = []string{in.family, in.name, "", "", "", "", "", "", in.source, "error: " + err.Error(), "", "", "", "", ""}
		}
		rows = append(rows, row)
		fmt.Fprintln(out, row)
		if better != nil {
			points = append(points, better)
		}
	}
	if err := merge(filepath.Join(*dir, "field_points.csv"), points, run); err != nil {
		return err
	}
	return merge(filepath.Join(*dir, "field.csv"), rows, run)
}

// merge writes a table of the families that were run, with the rows that the file has of the
// others, in the order of the families.
func merge(path string, rows [][]string, run map[string]bool) error {
	old, err := csvfile.Read(path)
	if err != nil && !os.IsNotExist(err) {
		return err
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
	return csvfile.Write(path, out)
}

// digits is to how many parts of itself, or of 1, a published F is taken to be known:
// many are given to three digits.
const digits = 2e-3

// measurer makes the row of an instance, of a folder of data, and, or nil, that of a better point.
type measurer func(in instance, data string, limit time.Duration) (row, better []string, err error)

// here measures in this process.
func here(in instance, _ string, limit time.Duration) (row, better []string, err error) {
	return measure(in, limit)
}

// apart measures in a process of its own.
func apart(in instance, data string, limit time.Duration) (row, better []string, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	var said strings.Builder
	child := exec.Command(program, "-data", data, "-limit", limit.String(), "-one", in.name, in.family)
	child.Stderr = &said
	text, err := child.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	var rows [][]string
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, nil, err
	}
	return rows[0], rows[1], nil
}

// measure solves one instance by default settings. better is the row of a point with
// a lower F than published, else nil.
func measure(in instance, limit time.Duration) (row, better []string, err error) {
	goruntime.GC()
	began := clock.Process()
	p, err := in.bind()
	if err != nil {
		return nil, nil, err
	}
	ctx, end := clock.Limit(limit, runtime.ErrTimeLimit)
	defer end()
	r, err := p.Solve(ctx, runtime.Options{})
	if err != nil {
		return nil, nil, err
	}
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
		text, err := json.Marshal(append(slices.Clone(r.Upper.Variables), r.Lower.Variables...))
		if err != nil {
			return nil, nil, err
		}
		better = []string{in.family, in.name, strconv.FormatFloat(F, 'g', -1, 64), known, string(text)}
	}
	n := p.Numeric
	row = csvfile.Row(10, in.family, in.name, n.Dx, n.Dy, n.Rows.Len(), F, known, difference,
		in.source, r.Status, verified, seconds, float64(memory.Sys)/(1<<20), report, r.Calls.Total())
	return row, better, nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
