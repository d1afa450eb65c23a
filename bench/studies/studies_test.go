package main

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bilevelc/runtime/lower"
)

var quick = options{quick: true, progress: io.Discard}

// The command writes a table and a figure in both formats for every study.
func TestCommandWrites(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if err := command([]string{"-quick", "-seeds", "1", "-out", dir, "dual"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dual.csv", "dual_fits.csv", "dual_lambda.png", "dual_lambda.svg", "dual_y.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s was not written: %v", name, err)
		}
	}
	if !strings.Contains(out.String(), "bound exceeded 0 times") {
		t.Errorf("the command says\n%s", out.String())
	}
	if err := command([]string{"nosuch"}, io.Discard); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("a study that does not exist: error %v", err)
	}
}

// The plain penalty grows like 1/alpha; what is claimed to be flat is.
func TestAlpha(t *testing.T) {
	rows := measureAlpha(quick)
	for _, f := range alphaFacts(rows) {
		switch f.oracle {
		case "penalty, plain":
			if f.slope.mean < 0.7 || f.slope.mean > 1.3 {
				t.Errorf("%s: exponent %.2f, theory 1", f.oracle, f.slope.mean)
			}
		default:
			if f.whole > 1.5 {
				t.Errorf("%s: calls for a hypergradient vary %.2f times over alpha, more than 1.5", f.oracle, f.whole)
			}
		}
	}
	for _, r := range rows {
		// Errors are of the order of alpha, with a constant that the problem's
		// gradients (of norm about 10) set.
		if r.error > 10*r.alpha {
			t.Errorf("%s at alpha = %g, seed %d: error %.2g", r.oracle, r.alpha, r.seed, r.error)
		}
	}
}

// In the valley, methods need as many evaluations as the theorems allow, up to a
// constant. The calls of each evaluation grow like 1/alpha for the plain penalty
// and stay within a factor for all others: 2.5, as the lower solver's warm starts
// are worth a factor of two.
func TestRates(t *testing.T) {
	all := rates()
	for i := range all {
		r := &all[i]
		if !r.hard || r.method == "izo" && r.param == "epsilon" {
			continue // izo: the same code as for d, at ten times the cost
		}
		var points, each []point
		for _, v := range r.grid[1:3] {
			row := r.measure(v, 1)
			if !row.result.reached {
				t.Fatalf("%s, %s = %g: the budget of the theorem was spent without a stationary point", r.name, r.param, v)
			}
			if float64(row.result.calls) > row.budget {
				t.Errorf("%s, %s = %g: %d calls, budget %.0f", r.name, r.param, v, row.result.calls, row.budget)
			}
			points = append(points, point{1, v, float64(row.result.points)})
			each = append(each, point{1, v, row.result.each})
		}
		theory, cost := r.theory, fitPower(each)
		if theory == -4 { // epsilon^-3 evaluations of 1/alpha calls
			theory++
			if cost.mean > -0.7 || cost.mean < -1.3 {
				t.Errorf("%s: calls of an evaluation ~ alpha^%.2f, theory -1", r.name, cost.mean)
			}
		} else if ratio := each[1].y / each[0].y; ratio > 2.5 || ratio < 1/2.5 {
			t.Errorf("%s: %.3g and %.3g calls for an evaluation", r.name, each[0].y, each[1].y)
		}
		// Tolerance: blocks cut to whole numbers.
		if e := fitPower(points); math.Abs(e.mean-theory) > 0.25 {
			t.Errorf("%s: evaluations ~ %s^%.2f, theory %g", r.name, r.param, e.mean, theory)
		}
	}
}

// An error e of lambda is amplified by 1/alpha^2 to the letter of the paper's
// algorithm, and not at all in the form used here; no bound is exceeded.
func TestDual(t *testing.T) {
	rows := measureDual(quick)
	wrong := false
	for _, f := range dualFacts(rows) {
		if f.violated > 0 {
			t.Errorf("%s, %s moved: the bound is exceeded %d times", f.estimator, f.what, f.violated)
		}
		if f.estimator == "penalty, to the letter" && f.what == "lambda" {
			if a1 := math.Pow(dualAlpha, -2); f.amplification < a1/10 || f.amplification > 10*a1 {
				t.Errorf("to the letter: amplification %.3g, predicted about %.3g", f.amplification, a1)
			}
		}
		wrong = wrong || !math.IsNaN(f.wrong)
	}
	if !wrong {
		t.Error("no error was large enough to mistake an active row")
	}
	for _, r := range rows {
		if r.estimator == "penalty, ours" && r.what == "lambda" && r.sameRows && r.extra > dualFloor {
			t.Errorf("ours: an error of %g in lambda changed the gradient by %.2g", r.e, r.extra)
		}
	}
}

// goldstein comes near the planted optimum, and nothing ends below it.
func TestPlanted(t *testing.T) {
	rows := measurePlanted(quick)
	for _, r := range rows {
		if r.gap < -1e-9 {
			t.Errorf("%s, seed %d: F is %.2g below its global minimum", r.racer, r.seed, -r.gap)
		}
		if r.racer == "goldstein" && r.last && r.gap > 1e-2 {
			t.Errorf("goldstein, seed %d: F - F* = %.2g after %d calls", r.seed, r.gap, r.calls)
		}
	}
}

// The valley's closed forms against the lower level as solved, and against
// differences of F.
func TestValley(t *testing.T) {
	for _, links := range []bool{false, true} {
		w := newValley(3, links, 0.8, 0.4, 1)
		p := w.problem()
		value := func(x []float64) float64 {
			at := solveAt(p, x)
			return p.F.Value(x, at.Lower.Y)
		}
		source := directions(1)
		for range 5 {
			x := source.inBall(make([]float64, 3), 2)
			g := w.gradient(x)
			const h = 1e-5
			for j := range x {
				keep := x[j]
				x[j] = keep + h
				up := value(x)
				x[j] = keep - h
				down := value(x)
				x[j] = keep
				// Truncation is h^2/c^2 = 2.5e-7 at the bottom.
				if d := (up - down) / (2 * h); math.Abs(d-g[j]) > 1e-5 {
					t.Errorf("links %v: entry %d of the gradient is %g, by differences %g", links, j, g[j], d)
				}
			}
		}
	}
	if lower.Default != "alm" {
		t.Errorf("the studies are described for the lower solver alm, the default is %s", lower.Default)
	}
}

// The exact distance to the Goldstein subdifferential against the hull of
// gradients sampled in the ball, which can only be larger.
func TestValleyGoldstein(t *testing.T) {
	w := newValley(2, false, 0.8, 0.4, 3)
	source := directions(2)
	near := 0
	for range 60 {
		x := source.inBall(make([]float64, 2), 0.5)
		const delta = 0.2
		var gradients [][]float64
		for range 3000 {
			gradients = append(gradients, w.gradient(source.inBall(x, delta)))
		}
		exact, sampled := w.goldstein(x, delta), minNorm(gradients)
		if exact > sampled*(1+2e-3)+1e-9 {
			t.Errorf("x = %v: exact %g, sampled %g", x, exact, sampled)
		}
		if sampled-exact < 0.02 {
			near++
		}
	}
	// Samples miss thin slices of the ball now and then.
	if near < 50 {
		t.Errorf("the exact distance is reached at %d of 60 points only", near)
	}
}

// The fit recovers a known law.
func TestFitPower(t *testing.T) {
	var points []point
	for seed, p := range []float64{-2.9, -3.1} {
		for _, x := range []float64{0.1, 0.2, 0.5} {
			points = append(points, point{uint64(seed), x, 7 * math.Pow(x, p)})
		}
	}
	e := fitPower(points)
	// Student's t at 0.975 with one degree of freedom is 12.706; the standard
	// error of the mean of -2.9 and -3.1 is 0.1.
	if math.Abs(e.mean+3) > 1e-9 || math.Abs(e.half-1.2706) > 1e-3 || e.seeds != 2 {
		t.Errorf("fit %+v", e)
	}
}

// The middle quartile is the median, of any number of values in any order, and the
// others are the medians of what lies at or below and above it where the number of
// values is one more than a multiple of four.
func TestQuartiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for n := 1; n < 40; n++ {
		v := make([]float64, n)
		for i := range v {
			v[i] = math.Exp(5 * rng.NormFloat64())
		}
		low, mid, high := quartiles(v)
		s := slices.Sorted(slices.Values(v))
		want := s[n/2]
		if n%2 == 0 {
			want = (s[n/2-1] + s[n/2]) / 2
		}
		if math.Abs(mid-want) > 1e-12*want {
			t.Errorf("the median of %d values is %g, not %g", n, mid, want)
		}
		if n%4 == 1 && (low != s[n/4] || high != s[n-1-n/4]) || low > mid || mid > high {
			t.Errorf("quartiles of %d values: %g, %g, %g", n, low, mid, high)
		}
	}
}

// What is made of stored measurements is what was made of them when they were new.
func TestStoredMeasurements(t *testing.T) {
	dir := t.TempDir()
	if err := command([]string{"-quick", "-seeds", "2", "-out", dir, "dual"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	raw := read("dual.csv")
	if err := command([]string{"-stored", "-out", dir, "dual"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if read("dual.csv") != raw {
		t.Error("the measurements changed")
	}
	if err := command([]string{"-stored", "-out", t.TempDir(), "dual"}, io.Discard); err == nil {
		t.Error("measurements that are not there are summarized")
	}
}

// The summary of planted problems in bench/results, and the page, hold the medians of
// the measurements beside it.
func TestPlantedTableIsOfMedians(t *testing.T) {
	rows := storedPlanted(options{stored: "../results"})
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	gaps := map[string]map[int][]float64{}
	for _, r := range rows {
		if r.last {
			if gaps[r.racer] == nil {
				gaps[r.racer] = map[int][]float64{}
			}
			gaps[r.racer][r.d] = append(gaps[r.racer][r.d], max(r.gap, smallest))
		}
	}
	summary, err := os.ReadFile("../results/planted_summary.csv")
	if err != nil {
		t.Fatal(err)
	}
	for racer, byD := range gaps {
		name, rest, _ := strings.Cut(racer, ",")
		_, line, found := strings.Cut(string(page), "| `"+name+"`"+strings.TrimRight(","+rest, ",")+" |")
		if !found {
			t.Errorf("the page has no line of %s", racer)
			continue
		}
		cells := strings.Split(strings.SplitN(line, "\n", 2)[0], "|")
		for k, d := range []int{10, 30, 100, 300, 1000} {
			s := slices.Sorted(slices.Values(byD[d]))
			median := (s[(len(s)-1)/2] + s[len(s)/2]) / 2
			shown, err := strconv.ParseFloat(strings.TrimSpace(cells[k]), 64)
			// One digit is shown, and all of whole numbers.
			if err != nil || math.Abs(shown-median) > 0.5*math.Pow(10, math.Floor(math.Log10(median)))*1.001 {
				t.Errorf("%s, d = %d: the page says %v, the median is %.3g", racer, d, cells[k], median)
			}
			if !strings.Contains(string(summary), strconv.FormatFloat(median, 'g', 6, 64)) {
				t.Errorf("%s, d = %d: the median %.6g is not in the summary", racer, d, median)
			}
		}
	}
}
