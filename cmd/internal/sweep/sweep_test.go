package sweep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"bilevelc/cmd/internal/sweep"
	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/runtime"
)

const model = `
model shelf
param cap: real
param slope: real = 1
upper {
  var price: real in box(0, 10)
  maximize price * amount
}
lower {
  var amount: real in nonneg
  minimize 0.5 * slope * amount^2 - (8 - price) * amount
  subject to
    shelf: amount <= cap
}
`

func fixed() (sweep.Fixed, map[string][]byte) {
	hash := sweep.HashOf([]byte(model))
	return sweep.Fixed{Model: sweep.Input{Name: "shelf.blv", Hash: hash}, Seed: 1}, map[string][]byte{hash: []byte(model)}
}

func axes(t *testing.T, texts ...string) []sweep.Axis {
	t.Helper()
	var out []sweep.Axis
	for _, text := range texts {
		a, err := sweep.ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

func TestParseAxis(t *testing.T) {
	for text, want := range map[string]string{
		"cap=1:10:3":              "1 4 7 10",
		"cap=1:1.5:0.1":           "1 1.1 1.2 1.3 1.4 1.5",
		"cap=2:1:-0.5":            "2 1.5 1",
		"cap=0:1e-3:5e-4":         "0 0.0005 0.001",
		"seed=1..4":               "1 2 3 4",
		"cap=-2..0":               "-2 -1 0",
		"method=pgd, goldstein":   "pgd goldstein",
		"w=[1, 2],[3,4]":          "[1, 2] [3,4]",
		"data=a=x.csv,b.json":     "a=x.csv b.json",
		"cap=0:0.3:0.1":           "0 0.1 0.2 0.3",
		"cap=5":                   "5",
		"cap=1000000:1000001:0.5": "1e+06 1.0000005e+06 1.000001e+06",
	} {
		a, err := sweep.ParseAxis(text)
		if err != nil || strings.Join(a.Values, " ") != want {
			t.Errorf("%s: %v, %v", text, a.Values, err)
		}
	}
	for _, text := range []string{"", "cap", "cap=", "=3", "cap=1:2:0", "cap=2:1:1", "cap=1:2:NaN", "seed=3..1", "seed=1,1", "seed=-1", "seed=a", "start=0",
		"cap=1:1e9:1e-3", "seed=0..99999999999999999", "cap=1:Inf:1", "cap=1,,2"} {
		if a, err := sweep.ParseAxis(text); err == nil {
			t.Errorf("%q gives %v", text, a.Values)
		}
	}
	for _, text := range []string{"cap", "cap=uniform(1)", "cap=uniform(2,1)", "cap=loguniform(0,1)", "cap=normal(0,-1)", "cap=cauchy(0,1)", "method=uniform(0,1)", "seed=uniform(0,1)", "cap=uniform(0,NaN)", "n=integer(0.5,2)"} {
		if d, err := sweep.ParseDraw(text); err == nil {
			t.Errorf("%q gives %v", text, d)
		}
	}
}

// A grid has every combination once; draws are in their range and repeat with the seed;
// what is the same job is one; keys do not depend on the names of files.
func TestPlans(t *testing.T) {
	f, _ := fixed()
	p, err := sweep.NewPlan(f, sweep.Space{Axes: axes(t, "cap=1:3:1", "seed=1..4", "method=pgd,goldstein")})
	if err != nil || len(p.Jobs) != 24 {
		t.Fatalf("%d jobs, %v", len(p.Jobs), err)
	}
	seen := map[string]bool{}
	for _, j := range p.Jobs {
		seen[fmt.Sprint(j.Set, j.Seed, j.Method)] = true
		seen[j.Key] = true
	}
	if len(seen) != 48 {
		t.Errorf("%d different things of 24 jobs", len(seen))
	}
	draw, err := sweep.ParseDraw("cap=loguniform(0.1, 10)")
	if err != nil {
		t.Fatal(err)
	}
	space := sweep.Space{Draw: []sweep.Draw{draw}, Draws: 50, Seed: 3}
	a, err := sweep.NewPlan(f, space)
	b, err2 := sweep.NewPlan(f, space)
	if err != nil || err2 != nil || len(a.Jobs) != 50 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("draws: %v, %v", err, err2)
	}
	for _, j := range a.Jobs {
		var v float64
		if _, err := fmt.Sscan(j.At[0], &v); err != nil || v < 0.1 || v > 10 {
			t.Errorf("drew %s", j.At[0])
		}
	}
	list, err := sweep.NewPlan(f, sweep.Space{List: []map[string]string{{"cap": "1"}, {"cap": "2", "seed": "5"}, {"cap": "1"}}})
	if err != nil || len(list.Jobs) != 2 || list.Jobs[1].Seed != 5 || list.Jobs[0].Seed != 1 {
		t.Errorf("list: %+v, %v", list, err)
	}
	renamed := f
	renamed.Model.Name = "elsewhere/shelf.blv"
	q, err := sweep.NewPlan(renamed, sweep.Space{Axes: axes(t, "cap=1:3:1", "seed=1..4", "method=pgd,goldstein")})
	if err != nil || q.Jobs[5].Key != p.Jobs[5].Key {
		t.Error("a key depends on the name of a file")
	}
	for name, space := range map[string]sweep.Space{"twice": {Axes: axes(t, "cap=1", "cap=2")}, "no draws": {Draw: []sweep.Draw{draw}},
		"list and grid": {Axes: axes(t, "cap=1"), List: []map[string]string{{"cap": "1"}}}, "file": {Axes: axes(t, "data=x.csv")}} {
		if _, err := sweep.NewPlan(f, space); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Shards are a partition of the jobs, whatever is done of them.
func TestShards(t *testing.T) {
	f := create(t, filepath.Join(t.TempDir(), "s"), sweep.Space{Axes: axes(t, "cap=1:37:1")})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		if err := f.Fail(f.Plan.Jobs[rng.IntN(len(f.Plan.Jobs))].Key, errors.New("a fault")); err != nil {
			t.Fatal(err)
		}
		of := 1 + rng.IntN(40)
		for failed, want := range map[bool][]sweep.Job{false: f.Missing(sweep.Shard{}, false), true: f.Plan.Jobs} {
			var got []string
			for i := 1; i <= of; i++ {
				s, err := sweep.ParseShard(fmt.Sprintf("%d/%d", i, of), nil)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, keys(f.Missing(s, failed))...)
			}
			slices.Sort(got)
			if all := slices.Sorted(slices.Values(keys(want))); !slices.Equal(got, all) {
				t.Errorf("%d shards: %d jobs of %d", of, len(got), len(all))
			}
		}
	}
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	for _, c := range []struct {
		env   map[string]string
		text  string
		index int
	}{
		{map[string]string{"SLURM_ARRAY_TASK_ID": "3"}, "auto/4", 3},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0"}, "auto/4", 1},
		{map[string]string{"JOB_COMPLETION_INDEX": "3"}, "auto/4", 4},
		{map[string]string{"JOB_COMPLETION_INDEX": "4"}, "auto/4", 0},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "x"}, "auto/4", 0},
		{nil, "auto/4", 0}, {nil, "0/4", 0}, {nil, "5/4", 0}, {nil, "2", 0}, {nil, "1/0", 0},
	} {
		env = c.env
		if s, err := sweep.ParseShard(c.text, get); (err == nil) != (c.index > 0) || s.Index != c.index {
			t.Errorf("%s with %v: %v, %v", c.text, c.env, s, err)
		}
	}
}

func create(t *testing.T, dir string, space sweep.Space) *sweep.Folder {
	t.Helper()
	f, inputs := fixed()
	p, err := sweep.NewPlan(f, space)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := sweep.Create(dir, p, inputs, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder
}

func seals(t *testing.T, f *sweep.Folder) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, j := range f.Plan.Jobs {
		text, err := os.ReadFile(filepath.Join(f.Path, "results", j.Key+".json"))
		if err != nil {
			continue
		}
		var d struct{ Seal string }
		if err := json.Unmarshal(text, &d); err != nil || d.Seal == "" {
			t.Fatalf("%s: %v", j.Key, err)
		}
		out[j.Key] = d.Seal
	}
	return out
}

// A sweep that is ended in the middle goes on with what is missing; the results are
// those of the model in closed form, and the same in whatever order they come.
func TestRunAndResume(t *testing.T) {
	space := sweep.Space{Axes: axes(t, "cap=0.5:6:0.5", "slope=1,2")}
	whole := create(t, t.TempDir(), space)
	if err := whole.Run(context.Background(), whole.Missing(sweep.Shard{}, false), 2, nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := create(t, dir, space)
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(context.Background())
	done := 0
	if err := f.Run(ctx, f.Missing(sweep.Shard{}, false), 3, func(sweep.Outcome) {
		if done++; done == 7 {
			stop(enough)
		}
	}); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	missing := f.Missing(sweep.Shard{}, false)
	if n := len(seals(t, f)); n < 7 || n+len(missing) != 24 || n == 24 {
		t.Fatalf("%d done, %d missing", n, len(missing))
	}
	f = create(t, dir, space) // the same plan again
	slices.Reverse(missing)
	ran := 0
	if err := f.Run(context.Background(), missing, 1, func(sweep.Outcome) { ran++ }); err != nil || ran != len(missing) {
		t.Fatalf("%d of %d, %v", ran, len(missing), err)
	}
	a, b := seals(t, whole), seals(t, f)
	for key, seal := range a {
		if b[key] != seal {
			t.Errorf("job %s: another result", key)
		}
	}
	if len(f.Missing(sweep.Shard{}, true)) != 0 || len(a) != 24 {
		t.Errorf("%d seals, %d missing", len(a), len(f.Missing(sweep.Shard{}, true)))
	}
	for _, j := range f.Plan.Jobs {
		r, err := f.Result(j.Key)
		if err != nil || r.Status != runtime.Solved {
			t.Fatalf("%v: %v", j.At, err)
		}
		// amount = min(cap, (8 - p)/slope): the best price is 4, or that at which the
		// shelf is just full.
		var cap, slope float64
		fmt.Sscan(j.At[0], &cap)
		fmt.Sscan(j.At[1], &slope)
		price := max(4, 8-slope*cap)
		if want := price * (8 - price) / slope; abs(float64(r.Upper.Objective)-want) > 1e-6*want {
			t.Errorf("%v: F = %v, not %v", j.At, r.Upper.Objective, want)
		}
	}
	// Further jobs extend a sweep, other axes do not.
	more := create(t, dir, sweep.Space{Axes: axes(t, "cap=0.5:7:0.5", "slope=1,2")})
	if n := len(more.Missing(sweep.Shard{}, false)); n != 4 {
		t.Errorf("%d jobs are missing of the longer sweep", n)
	}
	fixed, inputs := fixed()
	other, err := sweep.NewPlan(fixed, sweep.Space{Axes: axes(t, "cap=1,2")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sweep.Create(dir, other, inputs, "test"); !errors.Is(err, sweep.ErrOtherPlan) || !strings.Contains(err.Error(), "this one is over cap") {
		t.Errorf("another plan: %v", err)
	}
	for says, change := range map[string]func(*sweep.Fixed){
		"the model has been changed since": func(f *sweep.Fixed) { f.Model.Hash += "0" },
		"the options are not those":        func(f *sweep.Fixed) { f.Starts = 7 },
		"what --set gives":                 func(f *sweep.Fixed) { f.Set = []string{"c=3"} },
	} {
		now := fixed
		change(&now)
		if other, err = sweep.NewPlan(now, sweep.Space{Axes: axes(t, "cap=0.5:7:0.5", "slope=1,2")}); err != nil {
			t.Fatal(err)
		}
		if _, err := sweep.Create(dir, other, inputs, "test"); !errors.Is(err, sweep.ErrOtherPlan) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want: %s", err, says)
		}
	}
}

// A result that was damaged says what to do about it, and is no result: the next run does its job again.
func TestDamagedResult(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	f := create(t, dir, sweep.Space{Axes: axes(t, "cap=1,2")})
	key := f.Plan.Jobs[0].Key
	if err := os.WriteFile(filepath.Join(dir, "results", key+".json"), []byte(`{"status"`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Result(key); err == nil || !strings.Contains(err.Error(), "does its job again") {
		t.Errorf("%v", err)
	}
	missing := f.Missing(sweep.Shard{}, false)
	if err := f.Run(context.Background(), missing, 1, nil); err != nil || len(missing) != 2 {
		t.Fatalf("%d jobs: %v", len(missing), err)
	}
	if r, err := f.Result(key); err != nil || r.Status != runtime.Solved || len(f.Missing(sweep.Shard{}, false)) != 0 {
		t.Errorf("%v, %v", r, err)
	}
}

func keys(jobs []sweep.Job) []string {
	return each.Of(jobs, func(j sweep.Job) string { return j.Key })
}

func abs(v float64) float64 { return max(v, -v) }

// Jobs that cannot be run say why, the others go on, and a later try is asked for.
// Processes that make one folder at a time all have it, with one plan.
func TestMadeAtATime(t *testing.T) {
	part, inputs := fixed()
	plan, err := sweep.NewPlan(part, sweep.Space{Axes: axes(t, "cap=1:2:0.5")})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		dir := t.TempDir()
		var wait sync.WaitGroup
		ids := make([]string, 6)
		for k := range ids {
			wait.Go(func() {
				f, err := sweep.Create(dir, plan, inputs, fmt.Sprint("process-", k))
				if err != nil {
					t.Error(err)
					return
				}
				ids[k] = f.Plan.ID
				if err := f.Fail(plan.Jobs[0].Key, errors.New("none")); err != nil {
					t.Error(err)
				}
			})
		}
		if wait.Wait(); len(slices.Compact(ids)) != 1 {
			t.Fatalf("the plans are %v", ids)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "unfinished")); len(left) != 0 {
			t.Errorf("%d files are left", len(left))
		}
	}
}

func TestFaults(t *testing.T) {
	f := create(t, t.TempDir(), sweep.Space{List: []map[string]string{{"cap": "1"}, {"cap": "text"}, {"slope": "2"}, {"cap": "2", "method": "none"}}})
	failed := 0
	if err := f.Run(context.Background(), f.Missing(sweep.Shard{}, false), 2, func(o sweep.Outcome) {
		if o.Err != nil {
			failed++
		}
	}); err != nil {
		t.Fatal(err)
	}
	c, err := f.Counts()
	if err != nil || failed != 3 || c.Failed != 3 || c.Done != 1 || len(f.Missing(sweep.Shard{}, false)) != 0 || len(f.Missing(sweep.Shard{}, true)) != 3 {
		t.Errorf("%+v, %d failed, %v", c, failed, err)
	}
	table, err := f.Table(false)
	if err != nil || table.Rows != 4 {
		t.Fatal(err)
	}
	for i, j := range f.Plan.Jobs {
		reason := table.Columns[table.Column("reason")].Cells[i].Text
		if (f.Failure(j.Key) == "") != (i == 0) || (i > 0 && reason != f.Failure(j.Key)) {
			t.Errorf("%v: %q", j.At, reason)
		}
	}
}

// A table has the numbers of the documents, every entry of both levels, and the gap where a
// document has one.
func TestTable(t *testing.T) {
	const goods = `model goods
set good = {"tea", "rum", "gin"}
param cap: real = 4
data taste: [good] = [5, 4, 3]
upper {
  var price: [good] in box(0, 6)
  maximize sum(price .* amount)
}
lower {
  var amount: [good] in nonneg
  var empty: vector[2] in box(0, 1)
  minimize 0.5 * sumsq(amount) - sum((taste - price) .* amount) + 0.5 * sumsq(empty)
  subject to
    shelf: sum(amount) <= cap
}
`
	hash := sweep.HashOf([]byte(goods))
	plan, err := sweep.NewPlan(sweep.Fixed{Model: sweep.Input{Name: "goods.blv", Hash: hash}, Seed: 5, Starts: 1}, sweep.Space{Axes: axes(t, "cap=1,2,3")})
	if err != nil {
		t.Fatal(err)
	}
	f, err := sweep.Create(filepath.Join(t.TempDir(), "goods.sweep"), plan, map[string][]byte{hash: []byte(goods)}, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Run(context.Background(), f.Missing(sweep.Shard{}, false), 2, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Path, "results", f.Plan.Jobs[1].Key+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`"gap": *[0-9.e+-]+`).ReplaceAll(text, []byte(`"gap": 0.25`))
	if err := os.WriteFile(path, told, 0o666); err != nil {
		t.Fatal(err)
	}
	table, err := f.Table(false)
	if err != nil {
		t.Fatal(err)
	}
	cell := func(name string, i int) data.Cell {
		at := table.Column(name)
		if at < 0 {
			t.Fatalf("no column %s", name)
		}
		return table.Columns[at].Cells[i]
	}
	entries := 0
	cell(`price["rum"]`, 0)
	cell("empty[2]", 0)
	for i, j := range f.Plan.Jobs {
		r, err := f.Result(j.Key)
		if err != nil {
			t.Fatal(err)
		}
		if got := cell("seed", i).Number; got != float64(r.Seed) {
			t.Errorf("seed %v, not %v", got, r.Seed)
		}
		for _, vs := range []runtime.Values{r.Upper.Variables, r.Lower.Variables, r.Report} {
			for _, v := range vs {
				for k, want := range v.Data {
					name := runtime.EntryName(v, k)
					entries++
					if got := cell(name, i).Number; got != want {
						t.Errorf("job %d: %s is %v, not %v", i, name, got, want)
					}
				}
			}
		}
		// The first and the last are proved within 1e-6, the one between is told to have a gap.
		if gap := cell("gap", i); !gap.IsNumber || math.Abs(gap.Number-map[bool]float64{true: 0.25}[i == 1]) > 1e-6 {
			t.Errorf("job %d: gap %+v", i, gap)
		}
	}
	if entries < 3*6 {
		t.Fatalf("only %d entries", entries)
	}
	brief, err := f.Table(true)
	if err != nil || len(brief.Columns) >= len(table.Columns) || brief.Column("gap") < 0 {
		t.Errorf("%d columns in brief, %d in all (%v)", len(brief.Columns), len(table.Columns), err)
	}
}

// What was changed by hand, or is damaged, is noticed.
func TestDamage(t *testing.T) {
	f := create(t, t.TempDir(), sweep.Space{Axes: axes(t, "cap=1,2")})
	plan := filepath.Join(f.Path, "plan.json")
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range []string{strings.Replace(string(text), `"cap=1"`, `"cap=3"`, 1), string(text[:len(text)/2]), "{}", strings.Replace(string(text), `"schema": 1`, `"schema": 9`, 1)} {
		if changed == string(text) {
			t.Fatal("nothing was changed")
		}
		if err := os.WriteFile(plan, []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := sweep.Open(f.Path, "test"); err == nil {
			t.Error("a changed plan is accepted")
		}
	}
	if err := os.WriteFile(plan, text, 0o666); err != nil {
		t.Fatal(err)
	}
	input := filepath.Join(f.Path, "inputs", sweep.HashOf([]byte(model)))
	if err := os.WriteFile(input, []byte(model+"// more"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := f.Run(context.Background(), f.Missing(sweep.Shard{}, false), 1, nil); err == nil {
		t.Error("a changed input is accepted")
	}
	if _, err := f.Put(f.Plan.Jobs[0].Key, []byte("{}")); err == nil {
		t.Error("what is no result is kept")
	}
}

// Start k of a sweep is start k of a run with many of them, and the best of the sweep is
// that run's.
func TestStartsOfASweep(t *testing.T) {
	f := create(t, t.TempDir(), sweep.Space{List: func() (l []map[string]string) {
		for k := 1; k <= 6; k++ {
			l = append(l, map[string]string{"cap": "2", "start": fmt.Sprint(k)})
		}
		return l
	}()})
	if err := f.Run(context.Background(), f.Missing(sweep.Shard{}, false), 2, nil); err != nil {
		t.Fatal(err)
	}
	m, err := runtime.Compile("shelf.blv", model)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Bind(runtime.Data{"cap": 2}, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Solve(context.Background(), runtime.Options{Seed: 1, Starts: 6})
	if err != nil {
		t.Fatal(err)
	}
	for k, j := range f.Plan.Jobs {
		r, err := f.Result(j.Key)
		if err != nil {
			t.Fatal(err)
		}
		if r.Upper.Objective != all.Starts[k].Objective {
			t.Errorf("start %d: %v, and among others %v", k+1, r.Upper.Objective, all.Starts[k].Objective)
		}
	}
	best, err := f.Best()
	if err != nil || best.Upper.Objective != all.Upper.Objective {
		t.Errorf("best %v, not %v (%v)", best.Upper.Objective, all.Upper.Objective, err)
	}
	ends, err := f.Ends()
	if err != nil || !slices.Equal(ends, all.Starts) {
		t.Errorf("the starts ended as %+v, and in one run as %+v (%v)", ends, all.Starts, err)
	}
	together := all.Notes[len(all.Notes)-1]
	if notes := best.OfStarts(ends).Notes; !strings.HasPrefix(together, "6 starts ended at ") || notes[len(notes)-1] != together {
		t.Errorf("the starts show %q, and in one run %q", notes, together)
	}
}

func TestPlanFile(t *testing.T) {
	_, f, s, err := sweep.ParseFile("plan.toml", `
model = "toll.blv"
data = ["roads.csv"]
set = {n = 5, w = [1, 2.5]}
time_limit = "30s"
options = {epsilon = 1e-6, steps = "plain", memory = 5}
[over]
cap = "1:3:1"
method = ["pgd", "goldstein"]
slope = 2
[draw]
k = "uniform(0, 1)"
[draws]
count = 3
seed = 9
`)
	if err != nil || fmt.Sprint(f.Set) != "[n=5 w=[1, 2.5]]" || f.Seed != 1 || f.Limit.Seconds() != 30 || f.Options["memory"] != 5.0 ||
		fmt.Sprint(s.Axes) != "[{cap [1 2 3]} {method [pgd goldstein]} {slope [2]}]" || s.Draws != 3 || s.Seed != 9 || len(s.Draw) != 1 {
		t.Errorf("%+v, %+v, %v", f, s, err)
	}
	_, f, _, err = sweep.ParseFile("plan.toml", "model = \"a\"\nproof = true\nglobal = true\ngap = 1e-3\nnodes = 7")
	if err != nil || !f.Proof || f.Search != sweep.Global || f.Gap != 1e-3 || f.Nodes != 7 {
		t.Errorf("%+v, %v", f, err)
	}
	for _, text := range []string{"", "model = 3", "model = \"a\"\nglobal = true\nlocal = true", "model = \"a\"\nmodle = 1", "model = \"a\"\n[over]\ncap = \"1:0:1\"", "model = \"a\"\ntime_limit = \"5\"",
		"model = \"a\"\nstarts = -1", "model = \"a\"\n[draw]\nk = 3", "model = \"a\"\n[over]\nseed = [1, 1]", "model = \"a"} {
		if _, _, _, err := sweep.ParseFile("plan.toml", text); err == nil || !strings.Contains(err.Error(), "plan.toml") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestEmit(t *testing.T) {
	for kind, parts := range map[string][]string{
		"slurm": {"#!/bin/bash", "--array=1-8", "bilevelc sweep 'it'\\''s here' --shard auto/8"},
		"k8s":   {"completions: 8", "completionMode: Indexed", `"--shard", "auto/8"`, `image: "reg/bilevelc:1"`},
	} {
		text, err := sweep.Emit(kind, sweep.Cluster{Folder: "it's here", Name: "My_Sweep", Shards: 8, Image: "reg/bilevelc:1", Claim: "disk"})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %s:\n%s", kind, part, text)
			}
		}
	}
	if _, err := sweep.Emit("lsf", sweep.Cluster{}); err == nil {
		t.Error("lsf")
	}
}
