package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/planted"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	_ "bilevelc/runtime/paper" // registers its methods
	"bilevelc/runtime/status"
)

// The study of planted problems gives every outer method the same number of
// calls to f, grad f, g and grad g on problems whose global optimum is known and
// lies at kinks of F, and measures how far from it the method ends.

// racer is an outer method with its settings for a problem and a budget.
type racer struct {
	name   string
	method string
	oracle string
	values func(c *course) method.Values
}

// course is a problem with what the settings need to be chosen: the theorems'
// methods are given their constants, so that they are at their best.
type course struct {
	instance    *planted.Instance
	budget      int64
	evaluations float64 // that the budget pays for, by the calls of a first few
	lipschitz   float64 // largest gradient seen within reach
	gap, reach  float64 // F(x0) - F*, |x0 - x*|
}

func racers() []racer {
	return []racer{
		{"goldstein", "goldstein", "face", func(*course) method.Values { return nil }},
		{"pgd", "pgd", "face", func(*course) method.Values { return method.Values{"epsilon": 0.0} }},
		{"pigd, Adam", "pigd", "face", func(c *course) method.Values {
			t := max(1, int(c.evaluations))
			// Adam's steps are of the size of the rate in every entry: to get there
			// and settle, its sum over the budget is a few times the distance.
			rate := math.Min(0.1, 20*c.reach/math.Sqrt(float64(c.instance.Problem.Dx))/float64(t))
			return method.Values{"steps": "adam", "iterations": t, "rate": rate}
		}},
		{"pigd, plain", "pigd", "face", func(c *course) method.Values {
			return method.Values{"steps": "plain", "delta": c.reach / 100, "iterations": max(1, int(c.evaluations)),
				"lipschitz": c.lipschitz, "gap": c.gap}
		}},
		{"oigrm", "oigrm", "face", func(c *course) method.Values {
			// The epsilon whose budget is the one at hand: T = 8 L^2 gap/(delta epsilon^3).
			delta := c.reach / 10
			epsilon := math.Cbrt(8 * c.lipschitz * c.lipschitz * c.gap / (delta * math.Max(1, c.evaluations)))
			return method.Values{"delta": delta, "epsilon": epsilon, "lipschitz": c.lipschitz, "gap": c.gap}
		}},
		// izo asks for values alone; the oracle makes the gradients of the final
		// certificate, which do not count here.
		{"izo", "izo", "face", func(c *course) method.Values {
			// T = 2 * 27 d L^2 gap/(nu epsilon^3) values, nu = delta/2.
			delta := c.reach / 10
			d := float64(c.instance.Problem.Dx)
			epsilon := math.Cbrt(108 * d * c.lipschitz * c.lipschitz * c.gap / (delta * math.Max(1, c.evaluations)))
			return method.Values{"delta": delta, "epsilon": epsilon, "alpha": 0.0, "lipschitz": c.lipschitz, "gap": c.gap}
		}},
	}
}

// plantedRow is the state of a run when its calls first reached a part of the
// budget.
type plantedRow struct {
	racer    string
	d        int
	seed     uint64
	calls    int64 // of the checkpoint
	last     bool  // it is the whole budget
	gap      float64
	distance float64
	status   string
	startGap float64
}

// heat is one dimension with its budget of calls and its number of seeds.
type heat struct {
	d      int
	budget int64
	seeds  int
}

// plantedGrid are the dimensions. The last budget is smaller, as the linear algebra
// around the calls takes most of the time there.
func plantedGrid(quick bool) []heat {
	if quick {
		return []heat{{10, 5000, 2}}
	}
	return []heat{{10, 30000, 7}, {30, 30000, 7}, {100, 30000, 5}, {300, 30000, 3}, {1000, 10000, 3}}
}

// checkpoints are the parts of the budget at which a run is looked at.
func checkpoints(budget int64) []int64 {
	return each.Of([]float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1}, func(part float64) int64 { return int64(part * float64(budget)) })
}

// newCourse draws a problem of dimension d with d/5 kinks at its optimum, and
// estimates what the settings need.
func newCourse(d int, budget int64, seed uint64) *course {
	in := must.Get(planted.New(planted.Options{Dx: d, Dy: d, Links: d / 10, Floors: d * 6 / 10, Active: d / 5, Kinks: d / 5,
		Weak: d / 20, Bounds: d > 100, Condition: 10, Seed: seed}))
	c := &course{instance: in, budget: budget, reach: distance(in.Problem.Start, in.Optimum.X)}
	first, _ := in.Exact(in.Problem.Start)
	c.gap = first.F - in.Optimum.F
	source := directions(seed)
	for range 20 {
		e, _ := in.Exact(source.inBall(in.Optimum.X, c.reach))
		c.lipschitz = math.Max(c.lipschitz, norm(e.Gradient))
	}
	return c
}

// price is the number of calls of one evaluation, the mean over a short walk
// toward the optimum in steps of 1/20 of the way.
func (c *course) price(r racer) float64 {
	h := newHyper(c.instance.Problem, lower.Default, r.oracle, nil)
	const steps = 10
	x := slices.Clone(c.instance.Problem.Start)
	toward := slices.Clone(c.instance.Optimum.X)
	add(toward, -1, x)
	for range steps {
		add(x, 0.05, toward)
		if r.method == "izo" {
			must.Get(h.Value(context.Background(), x))
		} else {
			must.Get(h.Gradient(context.Background(), x))
		}
	}
	return float64(h.Calls().Total()) / steps
}

// tracker records the best point seen whenever the calls pass a checkpoint. The
// distance is measured with the closed form, apart from the solvers.
type tracker struct {
	*oracle.Hyper
	in   *planted.Instance
	best float64
	x    []float64
	next []int64 // checkpoints to come
	rows *[]plantedRow
	row  plantedRow
}

func (t *tracker) Value(ctx context.Context, x []float64) (*oracle.Point, error) {
	pt, err := t.Hyper.Value(ctx, x)
	t.see(pt)
	return pt, err
}

func (t *tracker) Gradient(ctx context.Context, x []float64) (*oracle.Point, error) {
	pt, err := t.Hyper.Gradient(ctx, x)
	t.see(pt)
	return pt, err
}

// see takes the evaluation into account: a point counts from the checkpoint
// after the calls that it took.
func (t *tracker) see(pt *oracle.Point) {
	calls := t.Calls().Total()
	for len(t.next) > 0 && calls > t.next[0] {
		t.record()
	}
	if pt != nil && pt.F < t.best {
		t.best, t.x = pt.F, pt.X
	}
}

// record ends the checkpoint that is next.
func (t *tracker) record() {
	row := t.row
	row.calls, t.next = t.next[0], t.next[1:]
	row.last = len(t.next) == 0
	x := t.x
	if x == nil {
		x = t.in.Problem.Start
	}
	e, _ := t.in.Exact(x)
	row.gap, row.distance = e.F-t.in.Optimum.F, distance(x, t.in.Optimum.X)
	*t.rows = append(*t.rows, row)
}

// race runs one method on one course.
func race(r racer, c *course, seed uint64) []plantedRow {
	each := c.price(r)
	own := *c
	own.evaluations = float64(c.budget) / each
	m := must.Get(must.Get(outer.Lookup(r.method)).New(r.values(&own)))
	h := newHyper(c.instance.Problem, lower.Default, r.oracle, nil)
	var rows []plantedRow
	t := &tracker{Hyper: h, in: c.instance, best: math.Inf(1), next: checkpoints(c.budget), rows: &rows,
		row: plantedRow{racer: r.name, d: c.instance.Problem.Dx, seed: seed, startGap: c.gap}}
	result := must.Get(outer.Solve(context.Background(), t, r.method, m, outer.Options{Start: c.instance.Problem.Start, Seed: seed,
		Limits: outer.Limits{Calls: c.budget}}))
	must.Be(result.Status != status.Infeasible && result.Status != status.Unbounded, "%s: %s: %s", r.name, result.Status, result.Reason)
	for len(t.next) > 0 { // the method ended within its budget
		t.record()
	}
	for i := range rows {
		rows[i].status = result.Status.String()
	}
	return rows
}

// measurePlanted runs every method on every course. Courses share nothing, so
// that the results are the same however many run at a time.
func measurePlanted(o options) []plantedRow {
	type task struct {
		heat
		seed uint64
		rows []plantedRow
	}
	var tasks []*task
	for _, h := range plantedGrid(o.quick) {
		if o.seeds > 0 {
			h.seeds = o.seeds
		}
		for seed := uint64(1); seed <= uint64(h.seeds); seed++ {
			tasks = append(tasks, &task{heat: h, seed: seed})
		}
	}
	parallel(o.threads, len(tasks), func(i int) {
		t := tasks[i]
		err := must.Try(func() { t.rows = measureCourse(o.progress, t.d, t.budget, t.seed) })
		must.Be(err == nil, "d = %d, seed %d: %w", t.d, t.seed, err)
	})
	var rows []plantedRow
	for _, t := range tasks {
		rows = append(rows, t.rows...)
	}
	return rows
}

// measureCourse runs every method on one course.
func measureCourse(progress io.Writer, d int, budget int64, seed uint64) []plantedRow {
	c := newCourse(d, budget, seed)
	var rows []plantedRow
	for _, r := range racers() {
		run := race(r, c, seed)
		rows = append(rows, run...)
		fmt.Fprintf(progress, "planted: d = %d, seed %d, %s: F - F* = %.2g\n", d, seed, r.name, run[len(run)-1].gap)
	}
	return rows
}

// smallest is what a gap of zero, or below it by rounding, is drawn as.
const smallest = 1e-16

func runPlanted(o options) *results {
	rows := either(o, measurePlanted, storedPlanted)
	r := &results{}
	raw := newTable("planted", "method", "d", "seed", "calls", "gap", "distance", "status", "gap_at_start")
	for _, w := range rows {
		raw.add(w.racer, w.d, w.seed, w.calls, w.gap, w.distance, w.status, w.startGap)
	}
	summary := newTable("planted_summary", "method", "d", "calls", "gap_q1", "gap_median", "gap_q3", "distance_q1", "distance_median", "distance_q3")
	gapByD := figure{name: "planted_gap", title: "Distance to the known optimum at equal budgets of calls",
		xLabel: "d, dimension of x", yLabel: "F(x) - F*"}
	distanceByD := figure{name: "planted_distance", title: gapByD.title, xLabel: gapByD.xLabel, yLabel: "|x - x*|"}
	for _, c := range racers() {
		var gaps, ways []point
		for _, w := range rows {
			if w.racer == c.name && w.last {
				gaps = append(gaps, point{w.seed, float64(w.d), math.Max(w.gap, smallest)})
				ways = append(ways, point{w.seed, float64(w.d), math.Max(w.distance, smallest)})
			}
		}
		g, x := medians(gaps), medians(ways)
		budgets := map[float64]int64{}
		for _, w := range rows {
			budgets[float64(w.d)] = max(budgets[float64(w.d)], w.calls)
		}
		gapByD.series = append(gapByD.series, series{name: c.name, bands: g})
		distanceByD.series = append(distanceByD.series, series{name: c.name, bands: x})
		for i := range g {
			summary.add(c.name, g[i].x, budgets[g[i].x], g[i].low, g[i].mid, g[i].high, x[i].low, x[i].mid, x[i].high)
			r.say("planted: %-12s d = %4.0f: F - F* = %.2g (%.2g to %.2g), |x - x*| = %.2g", c.name, g[i].x, g[i].mid, g[i].low, g[i].high, x[i].mid)
		}
	}
	r.tables = append(r.tables, raw, summary)
	r.figures = append(r.figures, gapByD, distanceByD)
	var dimensions []int
	for _, w := range rows {
		if !slices.Contains(dimensions, w.d) {
			dimensions = append(dimensions, w.d)
		}
	}
	for _, d := range dimensions {
		fig := figure{name: fmt.Sprintf("planted_calls_%d", d), title: fmt.Sprintf("Distance to the known optimum, d = %d", d),
			xLabel: "calls to f, grad f, g, grad g", yLabel: "F(x) - F*, best seen"}
		for _, c := range racers() {
			var gaps []point
			for _, w := range rows {
				if w.racer == c.name && w.d == d {
					gaps = append(gaps, point{w.seed, float64(w.calls), math.Max(w.gap, smallest)})
				}
			}
			fig.series = append(fig.series, series{name: c.name, bands: medians(gaps)})
		}
		r.figures = append(r.figures, fig)
	}
	return r
}
