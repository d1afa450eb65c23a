package sweep

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
	"bilevelc/runtime/chart"
)

// page is what the report of a sweep shows.
type page struct {
	Title  string // "toll.blv over demand and seed"
	Name   string // of the folder
	Ended  string // "3 jobs: 2 with a result (1 solved, 1 infeasible), 1 that could not be run"
	Style  template.CSS
	Axes   []axisPage
	Header []string
	Rows   [][]string
	More   int
}

// axisPage is a chart of the objective over one axis.
type axisPage struct {
	Name  string
	Note  string
	Chart template.HTML
}

// mostRows bounds the rows of a report's table; the whole is for `table`.
const mostRows = 500

// Report writes a page, complete in itself: how the jobs ended, a chart of the
// objective over each axis, and a table.
func (f *Folder) Report(w io.Writer, name string) (err error) {
	defer must.Catch(&err)
	table := must.Get(f.Table(true))
	p := page{Title: f.title(), Name: name, Ended: must.Get(f.Counts()).text(), Style: template.CSS(chart.Style)}
	for k := range f.Plan.Axes {
		if a := f.axisPage(table, k); a != nil {
			p.Axes = append(p.Axes, *a)
		}
	}
	hidden := []int{0, table.Column("reason")}
	for j, c := range table.Columns {
		if !slices.Contains(hidden, j) {
			p.Header = append(p.Header, c.Name)
		}
	}
	for i := range table.Rows {
		if i == mostRows {
			p.More = table.Rows - mostRows
			break
		}
		var row []string
		for j, c := range table.Columns {
			switch cell := c.Cells[i]; {
			case slices.Contains(hidden, j):
			case cell.IsNumber && cell.Text == "":
				row = append(row, chart.Number(cell.Number, 7))
			default:
				row = append(row, cell.Text)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	var b strings.Builder
	must.Do(pageTemplate.Execute(&b, p))
	_, err = io.WriteString(w, diag.ShownLines(b.String()))
	return err
}

// title says what was solved over what: the models by their names, without folders.
func (f *Folder) title() string {
	var models []string
	for _, j := range f.Plan.Jobs {
		if name := path.Base(filepath.ToSlash(j.Model.Name)); !slices.Contains(models, name) {
			models = append(models, name)
		}
	}
	const most = 3
	if len(models) > most {
		models = append(models[:most], fmt.Sprintf("%d more", len(models)-most))
	}
	title := listed(models)
	if len(f.Plan.Axes) > 0 {
		title += " over " + listed(f.Plan.Axes)
	}
	return title
}

// listed is "a, b and c".
func listed(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// text says how the jobs ended.
func (c Counts) text() string {
	var by []string
	for _, word := range slices.Sorted(maps.Keys(c.ByStatus)) {
		by = append(by, fmt.Sprintf("%d %s", c.ByStatus[word], word))
	}
	out := fmt.Sprintf("%d jobs: %d with a result", c.Jobs, c.Done)
	if len(by) > 0 {
		out += " (" + strings.Join(by, ", ") + ")"
	}
	if c.Failed > 0 {
		out += fmt.Sprintf(", %d that could not be run", c.Failed)
	}
	if missing := c.Jobs - c.Done - c.Failed; missing > 0 {
		out += fmt.Sprintf(", %d still to be run", missing)
	}
	return out
}

// axisPage draws the objective over axis k. Of all jobs at one of its values it shows
// the least, the median and the greatest where there are several; a second axis of few
// values has a curve for each of them.
func (f *Folder) axisPage(t *data.Table, k int) *axisPage {
	at := t.Column("objective")
	if at < 0 {
		return nil
	}
	numeric := true
	var values []string
	place := map[string]float64{}
	for _, j := range f.Plan.Jobs {
		v := j.At[k]
		if _, seen := place[v]; !seen {
			cell := cellOf(v)
			numeric = numeric && cell.IsNumber
			values = append(values, v)
			place[v] = cell.Number
		}
	}
	if len(values) < 2 {
		return nil
	}
	lines := &chart.Lines{Title: "objective over " + f.Plan.Axes[k], XTitle: f.Plan.Axes[k], Mark: math.NaN(), Dots: true}
	if !numeric {
		lines.Labels = values
		for i, v := range values {
			place[v] = float64(i + 1)
		}
	}
	// The other axis with the fewest values, from two to as many as colors tell apart.
	other, fewest := -1, 9
	for o := range f.Plan.Axes {
		seen := map[string]bool{}
		for _, j := range f.Plan.Jobs {
			seen[j.At[o]] = true
		}
		if o != k && len(seen) > 1 && len(seen) < fewest {
			other, fewest = o, len(seen)
		}
	}
	groups := map[string]map[float64][]float64{}
	var names []string
	for i, j := range f.Plan.Jobs {
		cell := t.Columns[at].Cells[i]
		if !cell.IsNumber {
			continue
		}
		name := ""
		if other >= 0 {
			name = f.Plan.Axes[other] + " = " + j.At[other]
		}
		if groups[name] == nil {
			groups[name] = map[float64][]float64{}
			names = append(names, name)
		}
		x := place[j.At[k]]
		groups[name][x] = append(groups[name][x], cell.Number)
	}
	if len(names) == 0 {
		return nil
	}
	several := false
	for _, name := range names {
		xs := slices.Sorted(maps.Keys(groups[name]))
		for _, ys := range groups[name] {
			several = several || len(ys) > 1
			slices.Sort(ys)
		}
		add := func(label string, of func([]float64) float64) {
			s := chart.Series{Name: label}
			for _, x := range xs {
				s.X, s.Y = append(s.X, x), append(s.Y, of(groups[name][x]))
			}
			lines.Series = append(lines.Series, s)
		}
		median := func(v []float64) float64 { return v[len(v)/2] }
		if other >= 0 {
			add(name, median)
			continue
		}
		if several {
			add("least", func(v []float64) float64 { return v[0] })
			add("median", median)
			add("greatest", func(v []float64) float64 { return v[len(v)-1] })
		} else {
			add("objective", median)
		}
	}
	a := &axisPage{Name: f.Plan.Axes[k], Chart: lines.SVG()}
	if several && other >= 0 {
		a.Note = "Each point is the median of the jobs there."
	} else if several {
		a.Note = fmt.Sprintf("The jobs at each value of %s: least, median and greatest.", a.Name)
	}
	return a
}

var pageTemplate = template.Must(template.New("sweep").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>{{.Title}}</title>
<style>{{.Style}}
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,"Segoe UI",Helvetica,Arial,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #8884}th{text-align:right}.wide{overflow-x:auto}p.note{opacity:.75}
@media print{body{margin:0;max-width:none}}</style></head><body>
<h1>{{.Title}}</h1>
<p>The sweep in {{.Name}}, {{.Ended}}.</p>
{{range .Axes}}<h2>The objective over {{.Name}}</h2>{{if .Note}}<p class="note">{{.Note}}</p>{{end}}{{.Chart}}
{{end}}<h2>The jobs</h2><div class="wide"><table><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>{{if .More}}<p class="note">and {{.More}} more: 'bilevelc sweep table' has them all.</p>{{end}}
</body></html>
`))
