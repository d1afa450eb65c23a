package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/chart"
)

// Page is a result as one page of HTML: nothing is loaded from elsewhere and nothing
// is run, so that it can be mailed, kept and printed.
type Page struct {
	Result *runtime.Result
	// Problem is the bound model, for its text, its proofs and the shapes of its rows;
	// nil where it is not at hand, which the page says.
	Problem *runtime.Problem
	// Verified is what a verification of the result found; nil where none was made.
	Verified *certify.Report
	// Command is the command line that made the result, word by word; nil: one is made
	// from what the result says of itself.
	Command []string
}

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string

	pageTemplate = template.Must(template.New("page").Parse(pageText))
)

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	var b strings.Builder
	if err := pageTemplate.Execute(&b, p.view()); err != nil {
		return err
	}
	_, err := io.WriteString(w, diag.ShownLines(b.String()))
	return err
}

// view is what the template shows: words, tables and charts, ready made.
type view struct {
	Style                template.CSS
	Title, Status, Tone  string
	Warnings             []string
	Answer               []string
	Figures              []pair
	Notes                []string
	Upper, Lower, Report []valueView
	Follower             string // how ties are broken
	SafeNote             string
	Safe                 []valueView // the safe point
	Words                []string    // what the words of the result mean for it
	Rows                 []rowView
	RowsLeft             int // not shown
	Weak, Dependent      []string
	Coupled              []rowView
	Course               []template.HTML
	CourseNote           string
	Search               []template.HTML // of the search for the global optimum
	MeasureNote          string          // what its two curves are
	Starts               template.HTML
	StartRows            []startView
	StartsLeft           int
	Sensitivity          []sensitivityView
	Claims, Assumed      []pair
	Certificate          []pair
	Samples              []sampleView
	Checks               []checkView
	Unchecked            []string
	Model                template.HTML
	ModelName            string
	Diagnostics          []string
	Command, Verify      string
	Provenance           []pair
	Evaluation, HasPoint bool
	Gradient             []valueView
}

type pair struct{ Name, Value string }

type valueView struct {
	Name   string
	Scalar string // of a value without dimensions
	Note   string
	Chart  template.HTML
	Header []string
	Rows   [][]string
	Left   int
}

type rowView struct{ Name, Residual, Multiplier, State string }

type startView struct{ Number, F, Status, Reason string }

type sensitivityView struct {
	Entry, Right, Left string
	Reason             string
}

type sampleView struct{ Number, Weight, Distance, Gradient string }

type checkView struct {
	OK   bool
	Text string
}

// mostRows is how many rows of a table a page lists; files have all of them.
const mostRows = 200

func (p *Page) view() *view {
	r := p.Result
	v := &view{Style: template.CSS(pageStyle + chart.Style), Title: r.Model, Status: r.Status.String(), Tone: tone(r),
		Answer: answer(r), Notes: r.Notes, HasPoint: r.HasPoint(), Evaluation: r.Method == "" && r.Oracle != ""}
	if err := r.Intact(); err != nil {
		v.Warnings = append(v.Warnings, "This page is not to be relied on: "+err.Error()+".")
	}
	if p.Verified != nil && !p.Verified.OK() {
		v.Warnings = append(v.Warnings, fmt.Sprintf("%d of %d claims of the document do not hold when they are derived again: see the certificate.", len(p.Verified.Failures()), len(p.Verified.Checks)))
	}
	v.figures(r)
	if r.HasPoint() && r.Oracle != "" {
		v.Words = r.Words()
	}
	var s *Structure
	if p.Problem != nil {
		s = StructureOf(p.Problem)
		v.proofs(p.Problem, r)
		v.model(p.Problem.IR.Program.File.Source, r)
	} else if len(r.Diagnostics) > 0 && r.Diagnostics[0].Subject.Source != nil {
		v.model(r.Diagnostics[0].Subject.Source, r) // it was never bound
	}
	v.values(r, s)
	if r.HasPoint() {
		v.rows(r)
	}
	v.course(r)
	v.search(r)
	v.starts(r)
	for _, e := range r.Sensitivity[:min(len(r.Sensitivity), mostRows)] {
		row := sensitivityView{Entry: e.Entry, Right: e.Right.Objective.Text(), Reason: e.Right.Reason}
		if e.Left != nil {
			row.Left = e.Left.Objective.Text()
			row.Reason = strings.TrimSpace(row.Reason + " " + e.Left.Reason)
		}
		v.Sensitivity = append(v.Sensitivity, row)
	}
	v.certificate(r, p.Verified)
	v.provenance(r, p.Command)
	return v
}

// tone is the class of the status: good, fair or poor.
func tone(r *runtime.Result) string {
	switch r.Status {
	case runtime.Solved:
		return "good"
	case runtime.LimitReached, runtime.BudgetSpent, runtime.Interrupted:
		return "fair"
	}
	return "poor"
}

func (v *view) figures(r *runtime.Result) {
	add := func(name, value string) { v.Figures = append(v.Figures, pair{name, value}) }
	if r.HasPoint() {
		add("F, to "+r.Upper.Sense, r.Upper.Objective.Text())
		add("g, to "+r.Lower.Sense, r.Lower.Objective.Text())
	}
	if g := r.Global; g != nil {
		add("bound on F", g.Bound.Text())
		add("gap", g.Gap.Brief())
		add("nodes", strconv.FormatInt(g.Nodes, 10))
	}
	if s := float64(r.Stationarity.Value); !math.IsNaN(s) {
		add("stationarity", r.Stationarity.Value.Brief())
	}
	if r.Method != "" {
		add("iterations", strconv.Itoa(r.Iterations))
	}
	if len(r.Starts) > 1 {
		add("starts", strconv.Itoa(len(r.Starts)))
	}
	if r.Oracle != "" {
		add("calls to f and g", strconv.FormatInt(r.Calls.Total(), 10))
	}
	add("seconds", chart.Number(r.Time, 3))
}

func (v *view) values(r *runtime.Result, s *Structure) {
	sides := r.Upper.Sides()
	for _, name := range r.Upper.Free {
		sides[name] = "free"
	}
	views := func(of runtime.Values, sides map[string]string) []valueView {
		return each.Of(of, func(u runtime.Value) valueView { return valueOf(u, s, sides) })
	}
	v.Upper = views(r.Upper.Variables, sides)
	if !r.HasPoint() {
		return
	}
	if r.Method == "" {
		v.Gradient = views(r.Upper.Hypergradient, sides)
	}
	follower := map[string]string{}
	for _, f := range r.Lower.Followers {
		for _, u := range f.Variables {
			follower[u.Name] = "of " + f.Name + ", which wants to " + f.Sense
		}
	}
	v.Lower, v.Report = views(r.Lower.Variables, nil), views(r.Report, nil)
	for k := range v.Lower {
		v.Lower[k].Note = follower[v.Lower[k].Name]
	}
	if lines := r.TieLines(); len(lines) > 0 {
		v.Follower = "The follower: " + strings.Join(lines, "; ") + "."
	}
	if t := r.Lower.Ties; t != nil && t.Safe != nil {
		v.SafeNote = fmt.Sprintf("Next to the solution, moved by %s at most, the follower has one answer, and F is %s whatever it prefers.", t.Safe.Distance.Brief(), t.Safe.Objective.Text())
		v.Safe = views(t.Safe.Variables, nil)
	}
}

// valueOf is a value with its chart and its table.
func valueOf(u runtime.Value, s *Structure, sides map[string]string) valueView {
	u = u.Rounded()
	out := valueView{Name: u.Name}
	note := func(k int) string { return sides[runtime.EntryName(u, k)] }
	if len(u.Data) == 1 && len(u.Dimensions()) == 0 {
		out.Scalar = chart.Number(u.Data[0], 10)
		if n := note(0); n != "" {
			out.Note = cmp.Or(map[string]string{"fixed": "fixed by its bounds", "free": "free: nothing depends on it"}[n], "at its bound: "+n)
		}
		return out
	}
	if len(u.Data) == 0 {
		out.Scalar = "no entries"
		return out
	}
	c := ChartOf(u, s)
	if b, ok := c.(*chart.Bars); ok && sides != nil {
		b.Notes = each.Below(len(u.Data), note)
	}
	out.Chart = c.SVG()
	out.Header = append(axisNames(u), "value")
	if sides != nil {
		out.Header = append(out.Header, "at bound")
	}
	out.Left = max(0, len(u.Data)-mostRows)
	for k, f := range u.Data[:len(u.Data)-out.Left] {
		row := append(u.Key(k), chart.Number(f, 10))
		if sides != nil {
			row = append(row, note(k))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// rows are the rows that hold: biactive ones first, and then those with the largest
// multipliers.
func (v *view) rows(r *runtime.Result) {
	holding := slices.DeleteFunc(r.LowerRows(), func(row runtime.ConstraintRow) bool { return row.State == "" })
	weight := func(row runtime.ConstraintRow) float64 {
		switch {
		case row.State == "weak":
			return math.Inf(1)
		case math.IsNaN(row.Multiplier):
			return 0
		}
		return math.Abs(row.Multiplier)
	}
	slices.SortStableFunc(holding, func(a, b runtime.ConstraintRow) int { return cmp.Compare(weight(b), weight(a)) })
	v.Rows, v.RowsLeft = rowViews(holding)
	v.Coupled, _ = rowViews(r.UpperRows())
	v.Weak, v.Dependent = r.Lower.Weak, r.Lower.Dependent
}

// rowViews are the first of many rows, and how many are left.
func rowViews(rows []runtime.ConstraintRow) (out []rowView, left int) {
	left = max(0, len(rows)-mostRows)
	for _, r := range rows[:len(rows)-left] {
		row := rowView{Name: r.Name, Residual: chart.Number(r.Residual, 3), State: r.State}
		if r.State == "weak" {
			row.State = "biactive"
		}
		if !math.IsNaN(r.Multiplier) {
			row.Multiplier = chart.Number(r.Multiplier, 10)
		}
		out = append(out, row)
	}
	return out, left
}

// over are curves of a run as a chart.
func over(title, y, x string, log bool, series ...chart.Series) template.HTML {
	return (&chart.Lines{Title: title, YTitle: y, XTitle: x, Mark: math.NaN(), LogY: log, Series: series}).SVG()
}

// gaps are those of the best F to a bound, relative to it.
func gaps(best, bound []float64) []float64 {
	return each.Below(len(best), func(k int) float64 { return math.Abs(best[k]-bound[k]) / math.Abs(best[k]) })
}

// course draws F and stationarity against calls and time.
func (v *view) course(r *runtime.Result) {
	if len(r.Trace) < 2 {
		if r.Method != "" && r.Iterations > 1 {
			v.CourseNote = "The document holds no course of the run: it was interrupted early, or written by an earlier version."
		}
		return
	}
	n := len(r.Trace)
	calls := make([]float64, n)
	f, best, measure := make([]float64, n), make([]float64, n), make([]float64, n)
	for k, t := range r.Trace {
		calls[k], f[k], best[k], measure[k] = float64(t.Calls), float64(t.Objective), float64(t.Best), float64(t.Measure)
	}
	positive := func(list []float64) bool {
		return slices.ContainsFunc(list, func(x float64) bool { return x > 0 && !math.IsInf(x, 1) })
	}
	draw := func(x []float64, xTitle string) {
		series := []chart.Series{{Name: "F at the iterate", X: x, Y: f}, {Name: "best F seen", X: x, Y: best, Dash: true}}
		bound := math.NaN()
		if r.Global != nil && !math.IsInf(float64(r.Global.Bound), 0) {
			bound = float64(r.Global.Bound)
			series = append(series, chart.Series{Name: "bound on F", X: []float64{x[0], x[n-1]}, Y: []float64{bound, bound}})
		}
		v.Course = append(v.Course, over("F", r.Upper.Sense, xTitle, false, series...))
		if gap := gaps(best, slices.Repeat([]float64{bound}, n)); positive(gap) {
			v.Course = append(v.Course, over("gap of the best F to the bound", "relative, logarithmic", xTitle, true, chart.Series{Name: "gap", X: x, Y: gap}))
		}
		if positive(measure) {
			series := []chart.Series{{Name: "as the method has it", X: x, Y: measure}}
			if found := float64(r.Stationarity.Value); found > 0 && !math.IsInf(found, 1) {
				series = append(series, chart.Series{Name: "at the answer", X: x[n-1:], Y: []float64{found}})
				v.MeasureNote = "While it runs, a method has its measure of stationarity from a model of F; the point at the end was found at the answer, for the certificate."
			}
			v.Course = append(v.Course, over("stationarity", "logarithmic", xTitle, true, series...))
		}
	}
	draw(calls, "calls to f, g and their gradients")
	if len(r.Phases.Trace) == n {
		draw(r.Phases.Trace, "seconds")
	}
	if len(r.Upper.Penalty) > 0 {
		v.CourseNote = "F holds the penalty of the upper constraints, with the weights of the last round."
	}
}

// search draws how bound and best F of the search for the global optimum came together,
// where that took more than one step.
func (v *view) search(r *runtime.Result) {
	if r.Global == nil {
		return
	}
	var nodes, bound, best, seconds []float64
	for k, t := range r.Global.Trace {
		if math.IsInf(float64(t.Bound), 0) || math.IsInf(float64(t.Best), 0) {
			continue
		}
		nodes, bound, best = append(nodes, float64(t.Nodes)), append(bound, float64(t.Bound)), append(best, float64(t.Best))
		if len(r.Phases.Bound) == len(r.Global.Trace) {
			seconds = append(seconds, r.Phases.Bound[k])
		}
	}
	n := len(nodes)
	if n < 2 {
		return
	}
	draw := func(x []float64, xTitle string) {
		v.Search = append(v.Search,
			over("bound and best F", r.Upper.Sense, xTitle, false, chart.Series{Name: "best F", X: x, Y: best}, chart.Series{Name: "bound on F", X: x, Y: bound, Dash: true}),
			over("gap", "relative, logarithmic", xTitle, true, chart.Series{Name: "gap", X: x, Y: gaps(best, bound)}))
	}
	draw(nodes, "nodes")
	if len(seconds) == n {
		draw(seconds, "seconds")
	}
}

func (v *view) starts(r *runtime.Result) {
	if len(r.Starts) < 2 {
		return
	}
	var x, y []float64
	for k, s := range r.Starts {
		if k < mostRows {
			v.StartRows = append(v.StartRows, startView{strconv.Itoa(k + 1), s.Objective.Text(), s.Status.String(), s.Reason})
		}
		x, y = append(x, float64(k+1)), append(y, float64(s.Objective))
	}
	v.StartsLeft = len(r.Starts) - len(v.StartRows)
	v.Starts = (&chart.Lines{Title: "F reached from each start", YTitle: r.Upper.Sense, XTitle: "start", Points: true, Mark: math.NaN(),
		Series: []chart.Series{{Name: "start", X: x, Y: y}}}).SVG()
}

func (v *view) model(src *diag.Source, r *runtime.Result) {
	v.Model, v.ModelName = highlight(src, r.Diagnostics), src.Name
	v.Diagnostics = each.Of(r.Diagnostics, (*diag.Diagnostic).Error)
}
