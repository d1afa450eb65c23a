package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"bilevelc/internal/each"
	"bilevelc/runtime"
)

// Table is a result, or a part of one, as rows of text: the form of a CSV file.
type Table struct {
	Name   string // of the file, without its ending
	Header []string
	Rows   [][]string
}

// CSV is the table in the form of RFC 4180, numbers with all their digits.
func (t *Table) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(t.Header) // a buffer takes everything
	_ = w.WriteAll(t.Rows)
	return b.Bytes()
}

// Tables are all values of a result: one table a variable and reported value, with a
// column for each dimension and the labels of its sets; all rows of the lower level
// with residuals and multipliers; those of the upper level that are not part of its
// set; a summary; and starts and sensitivities where there are any.
func Tables(r *runtime.Result) []Table {
	out := []Table{summaryTable(r)}
	sides := r.Upper.Sides()
	for _, v := range r.Upper.Variables {
		t := valueTable("upper."+v.Name, v)
		gradient, known := r.Upper.Hypergradient.Get(v.Name)
		t.Header = append(t.Header, "bound")
		if known {
			t.Header = append(t.Header, "hypergradient")
		}
		for k := range t.Rows {
			t.Rows[k] = append(t.Rows[k], sides[runtime.EntryName(v, k)])
			if known {
				t.Rows[k] = append(t.Rows[k], full(gradient.Data[k]))
			}
		}
		out = append(out, t)
	}
	for _, v := range r.Lower.Variables {
		out = append(out, valueTable("lower."+v.Name, v))
	}
	for _, v := range r.Report {
		out = append(out, valueTable("report."+v.Name, v))
	}
	if r.HasPoint() {
		out = append(out, rowsTable("rows", r.LowerRows(), true))
	}
	if rows := r.UpperRows(); len(rows) > 0 {
		out = append(out, rowsTable("upper_rows", rows, false))
	}
	if len(r.Starts) > 0 {
		t := Table{Name: "starts", Header: []string{"start", "F", "status", "reason"}}
		for k, s := range r.Starts {
			t.Rows = append(t.Rows, []string{strconv.Itoa(k + 1), full(float64(s.Objective)), s.Status.String(), s.Reason})
		}
		out = append(out, t)
	}
	if len(r.Sensitivity) > 0 {
		out = append(out, sensitivityTable(r))
	}
	nameFiles(out)
	return out
}

// nameFiles makes the tables' names ones that every system has a file for: without
// other signs than letters, digits, dots and underlines, and apart where systems do
// not tell x from X.
func nameFiles(tables []Table) {
	taken := map[string]bool{}
	for k := range tables {
		name := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' {
				return r
			}
			return '_'
		}, tables[k].Name)
		tables[k].Name = name
		for n := 2; taken[strings.ToLower(tables[k].Name)]; n++ {
			tables[k].Name = fmt.Sprintf("%s_%d", name, n)
		}
		taken[strings.ToLower(tables[k].Name)] = true
	}
}

func summaryTable(r *runtime.Result) Table {
	t := Table{Name: "summary", Header: []string{"name", "value"}}
	add := func(name, value string) { t.Rows = append(t.Rows, []string{name, value}) }
	add("model", r.Model)
	add("status", r.Status.String())
	add("reason", r.Reason)
	add("F", full(float64(r.Upper.Objective)))
	add("F sense", r.Upper.Sense)
	add("g", full(float64(r.Lower.Objective)))
	add("g sense", r.Lower.Sense)
	add("stationarity", full(float64(r.Stationarity.Value)))
	add("method", r.Method)
	add("oracle", r.Oracle)
	add("solver", r.Lower.Solver)
	add("seed", strconv.FormatUint(r.Seed, 10))
	add("digest", r.Digest)
	return t
}

// axisNames are the columns of a value's keys, a tuple's labels apart: the model's
// words for them, so that a table can be read as data again, where it has some and they differ.
func axisNames(v runtime.Value) []string {
	taken := map[string]bool{"value": true, "bound": true, "hypergradient": true}
	var own []string
	for _, a := range v.Dimensions() {
		for _, name := range a.Names {
			if !taken[name] {
				taken[name] = true
				own = append(own, name)
			}
		}
	}
	var out []string
	for d, a := range v.Dimensions() {
		parts := 1
		if len(a.Labels) > 0 {
			parts = len(a.Labels[0])
		}
		for p := range parts {
			name := fmt.Sprintf("index%d", d+1)
			if parts > 1 {
				name = fmt.Sprintf("index%d.%d", d+1, p+1)
			}
			out = append(out, name)
		}
	}
	if len(own) == len(out) {
		return own
	}
	return out
}

func valueTable(name string, v runtime.Value) Table {
	return Table{name, append(axisNames(v), "value"), each.Below(len(v.Data), func(k int) []string { return append(v.Key(k), full(v.Data[k])) })}
}

// rowsTable is a table of constraints, with a column more for the states of rows that
// have them.
func rowsTable(name string, rows []runtime.ConstraintRow, states bool) Table {
	t := Table{Name: name, Header: []string{"constraint", "row", "residual", "multiplier"}}
	if states {
		t.Header = append(t.Header, "state")
	}
	known := func(f float64) string {
		if math.IsNaN(f) {
			return ""
		}
		return full(f)
	}
	for _, r := range rows {
		row := []string{r.Constraint, r.Name, known(r.Residual), known(r.Multiplier)}
		if states {
			row = append(row, r.State)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sensitivityTable has a row for each derivative; both sides are the same where the
// answer is differentiable.
func sensitivityTable(r *runtime.Result) Table {
	t := Table{Name: "sensitivity", Header: []string{"of", "to", "right", "left"}}
	for _, e := range r.Sensitivity {
		left := cmp.Or(e.Left, e.Right)
		row := func(of string, right, left float64) {
			t.Rows = append(t.Rows, []string{of, e.Entry, full(right), full(left)})
		}
		row("F", float64(e.Right.Objective), float64(left.Objective))
		for _, group := range []struct {
			prefix      string
			right, left runtime.Values
		}{{"", e.Right.Variables, left.Variables}, {"multiplier ", e.Right.Multipliers, left.Multipliers}} {
			known := group.right
			if len(known) == 0 {
				known = group.left
			}
			for _, v := range known {
				for k := range v.Data {
					row(group.prefix+runtime.EntryName(v, k), group.right.Entry(v.Name, k), group.left.Entry(v.Name, k))
				}
			}
		}
	}
	return t
}

// LineTable is a line of upper points: a row for each, with F, g and every entry of
// the follower's answer and of its multipliers.
func LineTable(line *runtime.Line) Table {
	t := Table{Name: "along", Header: []string{line.Along.Entry, "status", "F", "g"}}
	if k := slices.IndexFunc(line.Points, func(p runtime.LinePoint) bool { return p.Variables != nil }); k >= 0 {
		for _, group := range []struct {
			prefix string
			values runtime.Values
		}{{"", line.Points[k].Variables}, {"multiplier ", line.Points[k].Multipliers}} {
			for _, v := range group.values {
				t.Header = append(t.Header, each.Below(len(v.Data), func(k int) string { return group.prefix + runtime.EntryName(v, k) })...)
			}
		}
	}
	for _, p := range line.Points {
		row := []string{full(float64(p.At)), p.Status.String(), full(float64(p.Objective)), full(float64(p.Lower))}
		row = append(row, each.Of(slices.Concat(p.Variables.Entries(), p.Multipliers.Entries()), full)...)
		for len(row) < len(t.Header) {
			row = append(row, "NaN")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// full is a number with all its digits.
func full(f float64) string { return strconv.FormatFloat(f+0, 'g', -1, 64) }
