// Package report shows results to people: as one page of HTML, as charts in a
// terminal or a notebook, and as tables in files.
package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bilevelc/internal/each"
	"bilevelc/runtime"
	"bilevelc/runtime/chart"

	"gonum.org/v1/gonum/floats"
)

// Plot writes a value of a result as a chart of text, for a terminal of so many
// columns: bars, a line over an ordered set, shades of a matrix, or the arcs of a
// network. It is what a prompt's `:plot NAME` shows:
//
//	v, ok := result.Lower.Variables.Get("flow")
//	err := report.Plot(os.Stdout, v, 80)
//
// ChartOf is the chart itself, for SVG.
func Plot(w io.Writer, v runtime.Value, columns int) error {
	return ChartOf(v, nil).Text(w, columns)
}

// PlotLine writes F along a line of upper points as a chart of text: what `:plot F
// along x[3] from 0 to 5` shows. Points without an answer are gaps, and are counted
// below the chart.
//
//	line, err := problem.Along(ctx, result.Upper.Variables,
//		runtime.Along{Entry: "x[3]", From: 0, To: 5, Step: 0.05}, runtime.Options{})
//	err = report.PlotLine(os.Stdout, line, 80)
//
// ChartOfLine is the chart itself, for SVG.
func PlotLine(w io.Writer, line *runtime.Line, columns int) error {
	if err := ChartOfLine(line).Text(w, columns); err != nil {
		return err
	}
	without, why := 0, ""
	for _, p := range line.Points {
		if p.Status != runtime.Solved {
			if without++; without == 1 {
				why = fmt.Sprintf("%s at %v: %s", p.Status, p.At, p.Reason)
			}
		}
	}
	if without == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d of %d points have no answer; the first is %s\n", without, len(line.Points), why)
	return err
}

// ChartOfLine is F along a line of upper points, with the point that the line goes
// through marked.
func ChartOfLine(line *runtime.Line) *chart.Lines {
	s := chart.Series{Name: "F"}
	for _, p := range line.Points {
		s.X, s.Y = append(s.X, float64(p.At)), append(s.Y, float64(p.Objective))
	}
	if n := len(s.X); n > 1 && s.X[0] > s.X[n-1] {
		slices.Reverse(s.X)
		slices.Reverse(s.Y)
	}
	l := &chart.Lines{Title: "F along " + line.Along.Entry, YTitle: line.Sense, XTitle: line.Along.Entry, Series: []chart.Series{s}, Mark: math.NaN()}
	if v, ok := entryOf(line.Upper, line.Along.Entry); ok {
		l.Mark, l.MarkName = v, line.Along.Entry+" = "+chart.Number(v, 4)
	}
	return l
}

func entryOf(vs runtime.Values, name string) (float64, bool) {
	for _, v := range vs {
		for k, f := range v.Data {
			if runtime.EntryName(v, k) == name {
				return f, true
			}
		}
	}
	return 0, false
}

// Structure is what a model's rows say about the shapes of its values, beyond the
// values themselves; nil says nothing.
type Structure struct {
	// Ordered holds the arrays whose entries follow each other, by name: neighbours
	// appear together in rows.
	Ordered map[string]bool
	// Networks holds the arrays that are flows on the arcs of a graph: rows say what
	// enters and leaves a node.
	Networks map[string]*Graph
}

// Graph has the ends of arcs by their place in an array; -1 is outside of it.
type Graph struct {
	Nodes    []string
	From, To []int
}

// ChartOf is the chart that suits a value: bars for a list; a line where its index is
// ordered (numbers, dates, or neighbours that s knows of) or it is long; a network
// where its index is of pairs of the same things; shades for other pairs and for
// matrices. s may be nil.
func ChartOf(v runtime.Value, s *Structure) chart.Chart {
	v = v.Rounded()
	axes := v.Dimensions()
	if s != nil {
		if g := s.Networks[v.Name]; g != nil && len(axes) > 0 && ofFirst(axes) == nil {
			if n := g.network(v); n != nil {
				return n
			}
		}
	}
	switch {
	case len(axes) == 0:
		return &chart.Bars{Title: v.Name, Labels: []string{v.Name}, Values: v.Data}
	case len(axes) == 1:
		return ofList(v, axes[0], s)
	}
	cols := axes[len(axes)-1]
	rows := axes[:len(axes)-1]
	row := func(i int) []float64 { return v.Data[i*cols.Size : (i+1)*cols.Size] }
	names := each.Below(len(v.Data)/max(1, cols.Size), func(i int) string { return placeText(rows, i) })
	if len(names) <= len(chart.Colors) && cols.Size > len(chart.Colors) && (cols.Labels != nil && ordered(cols) || s != nil && s.Ordered[v.Name]) {
		return &chart.Lines{Title: v.Name, Mark: math.NaN(), Labels: labels(cols), Series: each.Below(len(names), func(i int) chart.Series {
			return chart.Series{Name: names[i], X: counted(cols.Size), Y: row(i)}
		})}
	}
	return &chart.Heat{Title: v.Name, Rows: names, Cols: labels(cols), Values: each.Below(len(names), row)}
}

func ofList(v runtime.Value, axis runtime.Axis, s *Structure) chart.Chart {
	if c := ofPairs(v, axis); c != nil {
		return c
	}
	follows := axis.Labels != nil && ordered(axis) || s != nil && s.Ordered[v.Name]
	if axis.Size > 2 && (follows || axis.Labels == nil && axis.Size > mostRows) {
		return &chart.Lines{Title: v.Name, Mark: math.NaN(), Labels: labels(axis), Dots: axis.Size <= chart.Apart,
			Series: []chart.Series{{Name: v.Name, X: counted(axis.Size), Y: v.Data}}}
	}
	return &chart.Bars{Title: v.Name, Labels: labels(axis), Values: v.Data}
}

// ofPairs is the chart of a list over pairs of labels: a network where the same things
// are on both sides, else a matrix of what there is; nil for other lists.
func ofPairs(v runtime.Value, axis runtime.Axis) chart.Chart {
	from, to := map[string]int{}, map[string]int{}
	nodes := map[string]int{}
	var fromNames, toNames, nodeNames []string
	enter := func(in map[string]int, names *[]string, name string) {
		if _, known := in[name]; !known {
			in[name] = len(*names)
			*names = append(*names, name)
		}
	}
	for _, l := range axis.Labels {
		if len(l) != 2 {
			return nil
		}
		enter(from, &fromNames, l[0])
		enter(to, &toNames, l[1])
		enter(nodes, &nodeNames, l[0])
		enter(nodes, &nodeNames, l[1])
	}
	if len(axis.Labels) < 3 {
		return nil
	}
	if len(nodeNames) < len(fromNames)+len(toNames) && chart.Fits(len(nodeNames), len(axis.Labels)) {
		n := &chart.Network{Title: v.Name, Nodes: nodeNames}
		for k, l := range axis.Labels {
			n.Arcs = append(n.Arcs, chart.Arc{From: nodes[l[0]], To: nodes[l[1]], Name: runtime.EntryName(v, k), Value: v.Data[k]})
		}
		return n
	}
	if len(fromNames) < 2 || len(toNames) < 2 || 3*len(axis.Labels) < len(fromNames)*len(toNames) {
		return nil
	}
	h := &chart.Heat{Title: v.Name, Rows: fromNames, Cols: toNames, Values: make([][]float64, len(fromNames))}
	for i := range h.Values {
		h.Values[i] = each.Below(len(toNames), func(int) float64 { return math.NaN() })
	}
	for k, l := range axis.Labels {
		h.Values[from[l[0]]][to[l[1]]] = v.Data[k]
	}
	return h
}

// network is a value on the arcs of a graph; nil where it does not fit or is too
// large to be drawn.
//
// Of flows of several kinds on one graph it shows the sum.
func (g *Graph) network(v runtime.Value) chart.Chart {
	arcs := len(g.From)
	if arcs == 0 || len(v.Data)%arcs != 0 || !chart.Fits(len(g.Nodes), arcs) {
		return nil
	}
	inner := len(v.Data) / arcs
	n := &chart.Network{Title: v.Name, Nodes: g.Nodes}
	if inner > 1 {
		n.Title += fmt.Sprintf(", the sum of %d on each arc", inner)
	}
	first := v.Dimensions()[0]
	for k := range arcs {
		if g.From[k] < 0 || g.To[k] < 0 {
			continue
		}
		sum := floats.Sum(v.Data[k*inner : (k+1)*inner])
		n.Arcs = append(n.Arcs, chart.Arc{From: g.From[k], To: g.To[k], Name: v.Name + "[" + labelText(first, k) + "]", Value: sum})
	}
	return n
}

// ofFirst are the labels of a first dimension of pairs, which say themselves what they
// join; nil for others.
func ofFirst(axes []runtime.Axis) [][]string {
	if l := axes[0].Labels; len(l) > 0 && len(l[0]) == 2 {
		return l
	}
	return nil
}

func counted(n int) []float64 {
	return each.Below(n, func(k int) float64 { return float64(k + 1) })
}

// labels are the elements of one dimension as charts name them, without quotes.
func labels(a runtime.Axis) []string {
	return each.Below(a.Size, func(k int) string { return labelText(a, k) })
}

func labelText(a runtime.Axis, k int) string {
	if a.Labels == nil {
		return strconv.Itoa(k + 1)
	}
	return strings.Join(a.Labels[k], ", ")
}

// placeText names entry k of some dimensions.
func placeText(axes []runtime.Axis, k int) string {
	parts := make([]string, len(axes))
	for d := len(axes) - 1; d >= 0; d-- {
		parts[d] = labelText(axes[d], k%max(1, axes[d].Size))
		k /= max(1, axes[d].Size)
	}
	return strings.Join(parts, ", ")
}

// ordered reports that the elements of a dimension follow each other: labels that are
// rising numbers, with the same word before them or none, rising dates, or the names of
// months or of days of the week.
func ordered(a runtime.Axis) bool {
	if a.Labels == nil {
		return true
	}
	if len(a.Labels) < 3 {
		return false
	}
	prefix, last := "", math.Inf(-1)
	for k, l := range a.Labels {
		if len(l) != 1 {
			return false
		}
		word, number, ok := numbered(l[0])
		if !ok || k > 0 && (word != prefix || number <= last) {
			return false
		}
		prefix, last = word, number
	}
	return true
}

// calendar has the names of months and of the days of the week, in three letters at least.
var calendar = map[string][]string{
	"month":   {"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"},
	"weekday": {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"},
}

// numbered reads a date or time, a number behind a word, or a name of the calendar.
func numbered(label string) (word string, number float64, ok bool) {
	if name := strings.ToLower(label); len(name) >= 3 {
		for kind, names := range calendar {
			if k := slices.IndexFunc(names, func(full string) bool { return strings.HasPrefix(full, name) }); k >= 0 {
				return kind, float64(k), true
			}
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "2006-01", "15:04"} {
		if t, err := time.Parse(layout, label); err == nil {
			return layout, float64(t.Unix()), true
		}
	}
	at := strings.IndexAny(label, "0123456789")
	if at < 0 {
		return "", 0, false
	}
	if at > 0 && strings.ContainsRune("-+.", rune(label[at-1])) {
		at--
	}
	number, err := strconv.ParseFloat(label[at:], 64)
	return label[:at], number, err == nil
}
