// Command ablation solves a fixed set of models with fixed choices of methods and writes how each run ended, so that what a mechanism of the solvers is
// for can be seen: run it with and without the mechanism and compare.
//
//	go run ./bench/ablation -o before.jsonl DIR...
//	(take the mechanism out)
//	go run ./bench/ablation -o after.jsonl DIR...
//	go run ./bench/ablation -compare before.jsonl after.jsonl
//
// Each DIR holds models (*.blv); one that declares data is run with each NAME*.json beside it. README.md holds the table of what was measured so.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bilevelc/bench/asis"
	"bilevelc/internal/must"
	"bilevelc/runtime"
)

// choice is one way to solve a model.
type choice struct {
	name string
	opts runtime.Options
}

// choices are the ways. The iterations keep methods whose theorems ask for many evaluations within seconds.
var choices = []choice{
	{"default", runtime.Options{}},
	{"core", runtime.Options{Oracle: "face"}}, // the default of problems that are not solved on their KKT system
	{"goldstein", runtime.Options{Method: "goldstein"}},
	{"goldstein/penalty", runtime.Options{Method: "goldstein", Oracle: "penalty", MaxIter: 60}},
	{"goldstein/pdg", runtime.Options{Method: "goldstein", Solver: "pdg", MaxIter: 60}},
	{"pgd", runtime.Options{Method: "pgd", MaxIter: 300}},
	{"pgd/difference", runtime.Options{Method: "pgd", Oracle: "difference", Solver: "agd", MaxIter: 100}},
	{"izo", runtime.Options{Method: "izo", MaxIter: 100}},
	{"oigrm", runtime.Options{Method: "oigrm", MaxIter: 100}},
	{"pigd", runtime.Options{Method: "pigd", MaxIter: 100}},
}

// ended is how one run ended.
type ended struct {
	Model   string         `json:"model"`
	Choice  string         `json:"choice"`
	Method  string         `json:"method"` // that served
	Status  string         `json:"status"`
	F       runtime.Number `json:"f"`
	Calls   int64          `json:"calls"`
	Seconds float64        `json:"seconds"`
	Error   string         `json:"error,omitempty"`
}

func main() {
	out := flag.String("o", "", "write the runs to this file")
	only := flag.String("choices", "", "run these choices only, several apart by commas")
	names := flag.String("models", "", "run models whose names contain one of these only, several apart by commas")
	limit := flag.Duration("limit", 20*time.Second, "time limit of a run")
	compare := flag.Bool("compare", false, "compare two files of runs")
	flag.Parse()
	must.Exit("ablation", 1, must.Try(func() {
		switch {
		case *compare && flag.NArg() == 2:
			difference(os.Stdout, flag.Arg(0), flag.Arg(1))
		case !*compare && flag.NArg() > 0 && *out != "":
			measure(*out, flag.Args(), words(*only), words(*names), *limit)
		default:
			flag.Usage()
			os.Exit(2)
		}
	}))
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// instance is a model with its data; none where data is empty.
type instance struct{ name, model, data string }

// instances are the models below the directories.
func instances(dirs []string) []instance {
	var out []instance
	for _, dir := range dirs {
		for _, model := range must.Get(filepath.Glob(filepath.Join(dir, "*.blv"))) {
			stem := strings.TrimSuffix(model, ".blv")
			name := filepath.Join(filepath.Base(dir), filepath.Base(stem))
			out = append(out, instance{name, model, ""})
			for _, file := range must.Get(filepath.Glob(stem + "*.json")) {
				if base := filepath.Base(file); strings.Count(base, ".") == 1 { // neither a reference nor a checkpoint
					out = append(out, instance{filepath.Join(filepath.Base(dir), strings.TrimSuffix(base, ".json")), model, file})
				}
			}
		}
	}
	return out
}

func (in instance) bind() *runtime.Problem {
	m := must.Get(runtime.CompileFile(in.model))
	if in.data == "" {
		return must.Get(m.Bind(nil, runtime.BindOptions{}))
	}
	return must.Get(m.BindSet(asis.Numbers(in.data), runtime.BindOptions{}))
}

func measure(path string, dirs, only, names []string, limit time.Duration) {
	file := must.Get(os.Create(path))
	enc := json.NewEncoder(file)
	bound := "" // the last model that was bound without data
	for _, in := range instances(dirs) {
		if len(names) > 0 && !slices.ContainsFunc(names, func(s string) bool { return strings.Contains(in.name, s) }) {
			continue
		}
		if in.model == bound {
			continue // it needs no data
		}
		var p *runtime.Problem
		if must.Try(func() { p = in.bind() }) != nil {
			continue // it lacks its data, or is a model with an error
		}
		if in.data == "" {
			bound = in.model
		}
		for _, c := range choices {
			if len(only) > 0 && !slices.Contains(only, c.name) {
				continue
			}
			must.Do(enc.Encode(run(p, in.name, c, limit)))
		}
	}
	must.Do(file.Close())
}

func run(p *runtime.Problem, name string, c choice, limit time.Duration) ended {
	opts := c.opts
	opts.TimeLimit = limit
	began := time.Now()
	r, err := p.Solve(context.Background(), opts)
	e := ended{Model: name, Choice: c.name, F: runtime.Number(math.NaN()), Seconds: time.Since(began).Seconds()}
	if err != nil {
		e.Status, e.Error = "refused", firstLine(err)
		return e
	}
	e.Method, e.Status, e.F, e.Calls = r.Method, r.Status.String(), r.Upper.Objective, r.Calls.Total()
	if !r.HasPoint() {
		e.F = runtime.Number(math.NaN())
	}
	return e
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// same is the relative difference of F up to which two runs have come to the same: what default targets leave of it.
const same = 1e-6

// difference prints the runs that ended otherwise, and the work of all.
func difference(w io.Writer, before, after string) {
	old, _ := read(before)
	now, keys := read(after)
	type sum struct {
		runs, status, value int
		calls               [2]int64
		seconds             [2]float64
	}
	sums := map[string]*sum{}
	for _, key := range keys {
		b := now[key]
		a, ok := old[key]
		if !ok {
			continue
		}
		s := sums[b.Choice]
		if s == nil {
			s = &sum{}
			sums[b.Choice] = s
		}
		s.runs++
		s.calls[0] += a.Calls
		s.calls[1] += b.Calls
		s.seconds[0] += a.Seconds
		s.seconds[1] += b.Seconds
		fa, fb := float64(a.F), float64(b.F)
		moved := math.IsNaN(fa) != math.IsNaN(fb) || math.Abs(fa-fb) > same*math.Max(1, math.Max(math.Abs(fa), math.Abs(fb)))
		if a.Status != b.Status {
			s.status++
		} else if moved {
			s.value++
		}
		if a.Status != b.Status || moved {
			fmt.Fprintf(w, "%-40s %-18s %s, F %.10g -> %s, F %.10g; calls %d -> %d, %.2f -> %.2f s\n", b.Model, b.Choice, a.Status, fa, b.Status, fb, a.Calls, b.Calls, a.Seconds, b.Seconds)
		}
	}
	for _, c := range choices {
		if s := sums[c.name]; s != nil {
			fmt.Fprintf(w, "%-18s %4d runs, %d other statuses, %d other F; calls %d -> %d, %.1f -> %.1f s\n", c.name, s.runs, s.status, s.value, s.calls[0], s.calls[1], s.seconds[0], s.seconds[1])
		}
	}
}

// read reads runs by model and choice, and their order.
func read(path string) (out map[string]ended, keys []string) {
	out = map[string]ended{}
	for line := range bytes.Lines(must.Get(os.ReadFile(path))) {
		var e ended
		must.Do(json.Unmarshal(line, &e))
		key := e.Model + "\t" + e.Choice
		if _, twice := out[key]; !twice {
			keys = append(keys, key)
		}
		out[key] = e
	}
	return out, keys
}
