package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"bilevelc/bench/csvfile"
	"bilevelc/internal/must"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// exponents are the powers of the size with which a phase of a series grows.
type exponents struct {
	axis, phase                   string
	points                        int
	seconds, megabytes, gradients float64
}

func (e exponents) String() string {
	return fmt.Sprintf("%-14s %s: time ~ size^%.2f, memory ~ size^%.2f, gradients of g ~ size^%.2f", e.axis, e.phase, e.seconds, e.megabytes, e.gradients)
}

// fit fits power laws by least squares between the logarithms.
func fit(all []measurement) (fits []exponents) {
	for k, phase := range phases {
		for _, s := range series(all) {
			if s[0].costs[k] == (cost{}) {
				continue
			}
			e := exponents{axis: s[0].axis, phase: phase, points: len(s)}
			power := func(value func(c cost) float64) float64 {
				var x, y []float64
				for _, m := range s {
					if v := value(m.costs[k]); v > 0 {
						x, y = append(x, math.Log(float64(m.size))), append(y, math.Log(v))
					}
				}
				return slope(x, y)
			}
			e.seconds = power(func(c cost) float64 { return c.seconds })
			e.megabytes = power(func(c cost) float64 { return c.megabytes })
			e.gradients = power(func(c cost) float64 { return float64(c.gradients) })
			fits = append(fits, e)
		}
	}
	return fits
}

// series groups measurements by axis.
func series(all []measurement) (out [][]measurement) {
	for _, m := range all {
		if n := len(out); n > 0 && out[n-1][0].axis == m.axis {
			out[n-1] = append(out[n-1], m)
		} else {
			out = append(out, []measurement{m})
		}
	}
	return out
}

// slope of the line of least squares; NaN through fewer than two points.
func slope(x, y []float64) float64 {
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

func writeTables(dir string, all []measurement, fits []exponents) {
	const digits = 5
	rows := [][]string{{"axis", "size", "solver", "phase", "seconds", "allocated_mb", "g", "grad_g"}}
	for _, m := range all {
		for k, c := range m.costs {
			if c == (cost{}) {
				continue
			}
			rows = append(rows, csvfile.Row(digits, m.axis, m.size, m.solver, phases[k], c.seconds, c.megabytes, c.values, c.gradients))
		}
	}
	csvfile.Write(tableIn(dir), rows)
	rows = [][]string{{"axis", "phase", "points", "time_exponent", "memory_exponent", "grad_g_exponent"}}
	for _, e := range fits {
		rows = append(rows, csvfile.Row(digits, e.axis, e.phase, e.points, e.seconds, e.megabytes, e.gradients))
	}
	csvfile.Write(filepath.Join(dir, "growth_fits.csv"), rows)
}

func tableIn(dir string) string { return filepath.Join(dir, "growth.csv") }

// readTable reads growth.csv, as writeTables wrote it.
func readTable(dir string) (all []measurement) {
	path := tableIn(dir)
	rows := must.Get(csvfile.Read(path))
	for i, row := range rows[min(1, len(rows)):] {
		var m measurement
		var c cost
		_, err := fmt.Sscan(strings.Join(append(row[1:3:3], row[4:]...), " "), &m.size, &m.solver, &c.seconds, &c.megabytes, &c.values, &c.gradients)
		must.Be(err == nil, "%s, line %d: %w", path, i+2, err)
		if m.axis = row[0]; row[3] == phases[0] {
			m.costs = make([]cost, len(phases))
			all = append(all, m)
		}
		must.Be(len(all) > 0 && all[len(all)-1].axis == m.axis && all[len(all)-1].size == m.size, "%s, line %d: no %s of this size before", path, i+2, phases[0])
		phase := slices.Index(phases, row[3])
		must.Be(phase >= 0, "%s, line %d: no phase is called %s", path, i+2, row[3])
		all[len(all)-1].costs[phase] = c
	}
	return all
}

// draw plots the time of the cold and the warm hypergradient of every series, and of the
// solves of those that are solved.
func draw(path string, all []measurement) {
	p := plot.New()
	p.Title.Text = "processor time of one hypergradient, or of a solve"
	p.X.Label.Text, p.Y.Label.Text = "size", "seconds"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	for i, s := range series(all) {
		for k := 1; k < len(phases); k++ {
			var points plotter.XYs
			for _, m := range s {
				if t := m.costs[k].seconds; t > 0 {
					points = append(points, plotter.XY{X: float64(m.size), Y: t})
				}
			}
			if len(points) == 0 {
				continue
			}
			line, dots, err := plotter.NewLinePoints(points)
			must.Do(err)
			line.Color, dots.Color = plotutil.Color(i), plotutil.Color(i)
			line.Dashes, dots.Shape = plotutil.Dashes(k-1), plotutil.Shape(k-1)
			p.Add(line, dots)
			p.Legend.Add(s[0].axis+", "+phases[k], line, dots)
		}
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if a.Min == a.Max { // of one point, which gonum widens by 1 to both sides, past 0
			a.Min, a.Max = a.Min/2, a.Max*2
		}
	}
	must.Do(p.Save(16*vg.Centimeter, 12*vg.Centimeter, path))
}
