package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"bilevelc/ir/data"
	"bilevelc/runtime"
)

// Counts say how far a sweep is.
type Counts struct {
	Jobs, Done, Failed int
	ByStatus           map[string]int // of those that are done
}

// Counts reads the folder.
func (f *Folder) Counts() (Counts, error) {
	c := Counts{Jobs: len(f.Plan.Jobs), ByStatus: map[string]int{}}
	for _, j := range f.Plan.Jobs {
		r, err := f.Result(j.Key)
		switch {
		case err != nil:
			return c, err
		case r != nil:
			c.Done++
			c.ByStatus[r.Status.String()]++
		case f.Failure(j.Key) != "":
			c.Failed++
		}
	}
	return c, nil
}

// Table has a row for each job: its key, its place on the axes, how it ended, F and
// stationarity, the cost, and values of the model: the upper variables and reported
// values that have one entry, or, with wide, every entry. A job without a result has its
// place and the fault.
func (f *Folder) Table(wide bool) (*data.Table, error) {
	t := &data.Table{Name: "sweep", Rows: len(f.Plan.Jobs)}
	column := func(name string) int {
		if at := t.Column(name); at >= 0 {
			return at
		}
		t.Columns = append(t.Columns, data.Column{Name: name, Cells: make([]data.Cell, t.Rows)})
		return len(t.Columns) - 1
	}
	for _, name := range append([]string{"key"}, f.Plan.Axes...) {
		column(name)
	}
	for i, j := range f.Plan.Jobs {
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
		r, err := f.Result(j.Key)
		if err != nil {
			return nil, err
		}
		if r == nil {
			if why := f.Failure(j.Key); why != "" {
				text("status", "failed")
				text("reason", why)
			}
			continue
		}
		text("status", r.Status.String())
		text("reason", r.Reason)
		number("objective", float64(r.Upper.Objective))
		number("lower_objective", float64(r.Lower.Objective))
		number("stationarity", float64(r.Stationarity.Value))
		number("iterations", float64(r.Iterations))
		for _, c := range []struct {
			name string
			n    int64
		}{{"f", r.Calls.F}, {"grad_f", r.Calls.GradF}, {"g", r.Calls.G}, {"grad_g", r.Calls.GradG}} {
			number("calls_"+c.name, float64(c.n))
		}
		number("time", r.Time)
		for _, vs := range []runtime.Values{r.Upper.Variables, r.Report} {
			for _, v := range vs {
				if len(v.Data) != 1 && !wide {
					continue
				}
				for k, e := range v.Data {
					name := v.Name
					if len(v.Shape) > 0 {
						name = runtime.EntryName(v, k)
					}
					if slices.Contains(f.Plan.Axes, name) {
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
func (f *Folder) Ends() ([]runtime.StartResult, error) {
	var ends []runtime.StartResult
	for _, j := range f.Plan.Jobs {
		r, err := f.Result(j.Key)
		if err != nil {
			return nil, err
		}
		if r != nil {
			ends = append(ends, runtime.StartResult{Objective: r.Upper.Objective, Status: r.Status, Reason: r.Reason})
		}
	}
	return ends, nil
}

// Best is the result with the best objective among those that are solved, or, where
// none is, among all that have a point; nil where there is none.
func (f *Folder) Best() (*runtime.Result, error) {
	var best *runtime.Result
	for _, j := range f.Plan.Jobs {
		r, err := f.Result(j.Key)
		if err != nil {
			return nil, err
		}
		if r == nil || !r.HasPoint() || math.IsNaN(float64(r.Upper.Objective)) {
			continue
		}
		if best != nil && r.Upper.Sense != best.Upper.Sense {
			return nil, fmt.Errorf("job %s has another sense of its objective than those before it", j.Key)
		}
		sign := 1.0
		if r.Upper.Sense == "maximize" {
			sign = -1
		}
		better := best == nil || (r.Status == runtime.Solved) && best.Status != runtime.Solved ||
			(r.Status == runtime.Solved) == (best.Status == runtime.Solved) && sign*float64(r.Upper.Objective) < sign*float64(best.Upper.Objective)
		if better {
			best = r
		}
	}
	return best, nil
}
