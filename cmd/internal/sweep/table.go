package sweep

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/runtime"
)

// Counts say how far a sweep is.
type Counts struct {
	Jobs, Done, Failed int
	ByStatus           map[string]int // of those that are done
	Proofs, Unproved   int            // of those that are done and were to have a proof: with one, without one
}

// results gives each job with its result, nil where it has none. A document that cannot be read ends it (package must).
func (f *Folder) results(yield func(Job, *runtime.Result) bool) {
	for _, j := range f.Plan.Jobs {
		if !yield(j, must.Get(f.Result(j.Key))) {
			return
		}
	}
}

// Counts reads the folder.
func (f *Folder) Counts() (c Counts, err error) {
	defer must.Catch(&err)
	c = Counts{Jobs: len(f.Plan.Jobs), ByStatus: map[string]int{}}
	for j, r := range f.results {
		switch {
		case r != nil:
			c.Done++
			c.ByStatus[r.Status.String()]++
			switch {
			case !j.Proof:
			case r.Global != nil && r.Global.Proof != "":
				c.Proofs++
			default:
				c.Unproved++
			}
		case f.Failure(j.Key) != "":
			c.Failed++
		}
	}
	return c, nil
}

// proofs reports that jobs are to have proofs.
func (f *Folder) proofs() bool {
	return slices.ContainsFunc(f.Plan.Jobs, func(j Job) bool { return j.Proof })
}

// Table has a row for each job: its key, its place on the axes, how it ended, F,
// stationarity and the gap where one is known, the cost, the seed, the file of its proof, and the values of the model: every
// entry of the variables of both levels and of the report, or, with brief, those of one
// entry. What is called like a column before it is "value of" that. A job without a result
// has its place and the fault.
func (f *Folder) Table(brief bool) (t *data.Table, err error) {
	defer must.Catch(&err)
	t = &data.Table{Name: "sweep", Rows: len(f.Plan.Jobs)}
	column := func(name string) int {
		if at := t.Column(name); at >= 0 {
			return at
		}
		t.Columns = append(t.Columns, data.Column{Name: name, Cells: make([]data.Cell, t.Rows)})
		return len(t.Columns) - 1
	}
	own := []string{"status", "objective", "lower_objective", "stationarity", "gap", "iterations",
		"calls_f", "calls_grad_f", "calls_g", "calls_grad_g", "time", "seed", "proof", "reason"}
	for _, name := range slices.Concat([]string{"key"}, f.Plan.Axes, own) {
		if name != "proof" || f.proofs() {
			column(name)
		}
	}
	own = append(own, "key")
	i := -1
	for j, r := range f.results {
		i++
		text := func(name, v string) {
			t.Columns[column(name)].Cells[i] = cellOf(v)
		}
		number := func(name string, v float64) {
			if !math.IsNaN(v) {
				t.Columns[column(name)].Cells[i] = data.Cell{Number: v, IsNumber: true}
			}
		}
		t.Columns[0].Cells[i] = data.Cell{Text: j.Key}
		for k, name := range f.Plan.Axes {
			text(name, j.At[k])
		}
		if r == nil {
			if why := f.Failure(j.Key); why != "" {
				text("status", "failed")
				text("reason", why)
			}
			continue
		}
		text("status", r.Status.String())
		number("objective", float64(r.Upper.Objective))
		number("lower_objective", float64(r.Lower.Objective))
		number("stationarity", float64(r.Stationarity.Value))
		if r.Global != nil {
			number("gap", float64(r.Global.Gap))
		}
		number("iterations", float64(r.Iterations))
		for _, c := range []struct {
			name string
			n    int64
		}{{"f", r.Calls.F}, {"grad_f", r.Calls.GradF}, {"g", r.Calls.G}, {"grad_g", r.Calls.GradG}} {
			number("calls_"+c.name, float64(c.n))
		}
		number("time", r.Time)
		if !slices.Contains(f.Plan.Axes, "seed") {
			number("seed", float64(r.Seed))
		}
		text("reason", r.Reason)
		if r.Global != nil && r.Global.Proof != "" {
			text("proof", filepath.Join(resultsName, j.proofName()))
		}
		for _, vs := range []runtime.Values{r.Upper.Variables, r.Lower.Variables, r.Report} {
			for _, v := range vs {
				if len(v.Data) != 1 && brief {
					continue
				}
				for k, e := range v.Data {
					name := runtime.EntryName(v, k)
					if slices.Contains(f.Plan.Axes, name) || slices.Contains(own, name) {
						name = "value of " + name
					}
					number(name, e)
				}
			}
		}
	}
	return t, nil
}

// cellOf is a number where the text is one.
func cellOf(text string) data.Cell {
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return data.Cell{Text: text, Number: v, IsNumber: true}
	}
	return data.Cell{Text: text}
}

// Ends are how the jobs that have a result ended, in the plan's order.
func (f *Folder) Ends() (ends []runtime.StartResult, err error) {
	defer must.Catch(&err)
	for _, r := range f.results {
		if r != nil {
			ends = append(ends, runtime.StartResult{Objective: r.Upper.Objective, Status: r.Status, Reason: r.Reason})
		}
	}
	return ends, nil
}

// Best is the result with the best objective among those that are solved, or, where
// none is, among all that have a point; nil where there is none.
func (f *Folder) Best() (best *runtime.Result, err error) {
	defer must.Catch(&err)
	for j, r := range f.results {
		if r == nil || !r.HasPoint() || math.IsNaN(float64(r.Upper.Objective)) {
			continue
		}
		must.Be(best == nil || r.Upper.Sense == best.Upper.Sense, "job %s has another sense of its objective than those before it", j.Key)
		sign := 1.0
		if r.Upper.Sense == "maximize" {
			sign = -1
		}
		if solved := r.Status == runtime.Solved; best == nil || solved && best.Status != runtime.Solved ||
			solved == (best.Status == runtime.Solved) && sign*float64(r.Upper.Objective) < sign*float64(best.Upper.Objective) {
			best = r
		}
	}
	return best, nil
}

// Pointless is the result that says most where none has a point: that there is none, or that F has no bound,
// before that a limit was reached; nil where there are no results.
func (f *Folder) Pointless() (most *runtime.Result, err error) {
	defer must.Catch(&err)
	rank := func(r *runtime.Result) int {
		return slices.Index([]runtime.Status{runtime.Infeasible, runtime.Unbounded, r.Status}, r.Status)
	}
	for _, r := range f.results {
		if r != nil && (most == nil || rank(r) < rank(most)) {
			most = r
		}
	}
	return most, nil
}
