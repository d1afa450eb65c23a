package report_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/chart"
	"bilevelc/runtime/report"
)

// over makes a value over some dimensions.
func over(name string, data []float64, axes ...runtime.Axis) runtime.Value {
	v := runtime.Value{Name: name, Data: data, Axes: axes}
	for _, a := range axes {
		v.Shape = append(v.Shape, a.Size)
	}
	return v
}

func set(labels ...string) runtime.Axis {
	a := runtime.Axis{Size: len(labels)}
	for _, l := range labels {
		a.Labels = append(a.Labels, strings.Split(l, ">"))
	}
	return a
}

func ramp(n int) []float64 {
	out := make([]float64, n)
	for k := range out {
		out[k] = float64(k)
	}
	return out
}

// TestChartsSuitShapes holds each shape of a value to its kind of chart, of the value
// itself and of the same value after it has been through a document.
func TestChartsSuitShapes(t *testing.T) {
	hours := set("h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9", "h10", "h11", "h12", "h13")
	towns := set("Rome", "Oslo", "Bern")
	for _, c := range []struct {
		v    runtime.Value
		want chart.Chart
	}{
		{runtime.Value{Name: "x", Data: []float64{3}}, &chart.Bars{}},
		{runtime.Value{Name: "x", Shape: []int{3}, Data: ramp(3)}, &chart.Bars{}},
		{runtime.Value{Name: "x", Shape: []int{500}, Data: ramp(500)}, &chart.Lines{}},
		{runtime.Value{Name: "x", Shape: []int{4, 3}, Data: ramp(12)}, &chart.Heat{}},
		{over("x", ramp(3), towns), &chart.Bars{}},
		{over("x", ramp(13), hours), &chart.Lines{}},
		{over("x", ramp(3), set("2026-01-31", "2026-02-28", "2026-03-31")), &chart.Lines{}},
		{over("x", ramp(3), set("1", "3", "2")), &chart.Bars{}}, // not rising
		{over("x", ramp(39), towns, hours), &chart.Lines{}},
		{over("x", ramp(9), towns, towns), &chart.Heat{}},
		{over("x", ramp(39), hours, towns), &chart.Heat{}},
		{over("x", ramp(4), set("Rome>Oslo", "Oslo>Bern", "Bern>Rome", "Rome>Bern")), &chart.Network{}},
		{over("x", ramp(4), set("plant>Rome", "plant>Oslo", "mill>Rome", "mill>Bern")), &chart.Heat{}},
	} {
		text, err := json.Marshal(runtime.Values{c.v})
		if err != nil {
			t.Fatal(err)
		}
		var read runtime.Values
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		for _, v := range []runtime.Value{c.v, read[0]} {
			if got, want := fmt.Sprintf("%T", report.ChartOf(v, nil)), fmt.Sprintf("%T", c.want); got != want {
				t.Errorf("%s is drawn as %s, not as %s", text, got, want)
			}
			if err := report.Plot(io.Discard, v, 80); err != nil {
				t.Error(err)
			}
		}
	}
}

func bound(t *testing.T, path string) *runtime.Problem {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return boundText(t, string(text))
}

func boundText(t *testing.T, text string) *runtime.Problem {
	t.Helper()
	m, err := runtime.Compile("model.blv", text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlotLine draws F of a model with no answer on one side of a point.
func TestPlotLine(t *testing.T) {
	p := boundText(t, `model m
upper { var x: real in box(-4, 4)
  minimize (y - 1)^2 }
lower { var y: real in nonneg
  minimize (y - x)^2
  subject to
    cap: y <= x + 1 }
`)
	line, err := p.Along(context.Background(), nil, runtime.Along{Entry: "x", From: 2, To: -2, Step: -0.5}, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pt := range line.Points {
		x := float64(pt.At)
		if (x >= -1) != (pt.Status == runtime.Solved) {
			t.Errorf("at %v: %s", x, pt.Status)
		}
		// F(x) = (max(x, 0) - 1)^2 by hand.
		if want := math.Pow(math.Max(x, 0)-1, 2); x >= -1 && math.Abs(float64(pt.Objective)-want) > 1e-12 {
			t.Errorf("F(%v) = %v, not %v", x, pt.Objective, want)
		}
	}
	var b strings.Builder
	if err := report.PlotLine(&b, line, 80); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"F along x", "2 of 9 points have no answer", "infeasible at -1.5"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
