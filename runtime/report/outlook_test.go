package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// What a document says of all x and of ties is on the page: the bound beside F, with the
// gap, over calls; the safe point with its values; biactive rows before the others. Values
// that are rounding beside the largest are 0, months and days of the week are lines.
func TestPageOfBoundsAndTies(t *testing.T) {
	r := &runtime.Result{}
	if err := json.Unmarshal([]byte(`{"global": {"proved": false, "bound": 10, "gap": 0.25, "nodes": 7}, "lower": {"ties": {"rule": "optimistic", "unique": false,
		"safe": {"variables": {"price": [1, 2]}, "objective": 7.9, "distance": 0.125}}}}`), r); err != nil {
		t.Fatal(err)
	}
	r.Method, r.Oracle, r.Status = "goldstein", "face", runtime.Solved
	r.Upper.Sense, r.Lower.Status = "maximize", "solved"
	for k := range 4 {
		r.Trace = append(r.Trace, runtime.TracePoint{Iteration: k, Calls: int64(10 * k), Objective: runtime.Number(5 + k), Best: runtime.Number(5 + k), Measure: 1})
	}
	row := func(name string, v float64) runtime.Value { return runtime.Value{Name: name, Data: []float64{v}} }
	r.Residuals.Constraints = runtime.Values{row("cap", 0), row("shelf", 0)}
	r.Lower.Multipliers = runtime.Values{row("cap", 4), row("shelf", 0)}
	r.Lower.Active, r.Lower.Weak = []string{"cap"}, []string{"shelf"}
	v := &view{}
	v.figures(r)
	v.values(r, nil)
	v.rows(r)
	v.course(r)
	figures := map[string]string{}
	for _, p := range v.Figures {
		figures[p.Name] = p.Value
	}
	if figures["bound on F"] != "10" || figures["gap"] != "0.25" || figures["nodes"] != "7" {
		t.Errorf("%v", figures)
	}
	if len(v.Safe) != 1 || v.Safe[0].Name != "price" || !strings.Contains(v.SafeNote, "moved by 0.125 at most") || !strings.Contains(v.SafeNote, "F is 7.9") {
		t.Errorf("%+v %s", v.Safe, v.SafeNote)
	}
	if len(v.Rows) != 2 || v.Rows[0].Name != "shelf" || v.Rows[0].State != "biactive" || v.Rows[1].State != "active" {
		t.Errorf("%+v", v.Rows)
	}
	if len(v.Course) != 3 || !strings.Contains(string(v.Course[0]), "bound on F") || !strings.Contains(string(v.Course[1]), "gap of the best F") {
		t.Errorf("%d charts: %v", len(v.Course), v.Course)
	}
	// Without a bound there is neither.
	v, r.Global = &view{}, nil
	v.course(r)
	if len(v.Course) != 2 || strings.Contains(string(v.Course[0]), "bound on F") {
		t.Errorf("%d charts without a bound", len(v.Course))
	}
	days := runtime.Value{Name: "d", Shape: []int{3}, Data: []float64{1, 1.4e-17, -3e-18}, Axes: []runtime.Axis{{Size: 3, Labels: [][]string{{"Mon"}, {"Tuesday"}, {"wed"}}}}}
	if svg := string(ChartOf(days, nil).SVG()); !strings.Contains(svg, "polyline") && !strings.Contains(svg, "<path") || strings.Contains(svg, "e-1") {
		t.Errorf("%s", svg)
	}
	for labels, want := range map[string]bool{"Jan Feb Mar": true, "Mar Feb Jan": false, "Mon Jan Feb": false, "Sun Mon Tue": false, "Oslo Rome Riga": false} {
		var a runtime.Axis
		for _, l := range strings.Fields(labels) {
			a.Labels = append(a.Labels, []string{l})
		}
		if a.Size = 3; ordered(a) != want {
			t.Errorf("%s: ordered is %v", labels, !want)
		}
	}
}

// The search for the global optimum is drawn over nodes, and over seconds where there are as many.
func TestSearchIsDrawn(t *testing.T) {
	r := &runtime.Result{}
	r.Global = &runtime.Global{Nodes: 9, Trace: []runtime.BoundPoint{{Nodes: 0, Bound: runtime.Number(math.Inf(-1)), Best: 5}, {Nodes: 4, Bound: 3, Best: 4}, {Nodes: 9, Bound: 4, Best: 4}}}
	v := &view{}
	if v.search(r); len(v.Search) != 2 || !strings.Contains(string(v.Search[0]), "bound on F") || !strings.Contains(string(v.Search[0]), "nodes") {
		t.Errorf("%v", v.Search)
	}
	r.Phases.Bound = []float64{0, 0.25, 1}
	v = &view{}
	if v.search(r); len(v.Search) != 4 || !strings.Contains(string(v.Search[3]), "seconds") {
		t.Errorf("%d charts", len(v.Search))
	}
	v, r.Global.Trace = &view{}, r.Global.Trace[:1]
	if v.search(r); len(v.Search) != 0 {
		t.Error("one point is drawn")
	}
}
