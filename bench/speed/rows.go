package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bilevelc/bench/csvfile"
	"bilevelc/internal/must"
)

const smallest = `model small
upper {
  var x: real in box(0, 1)
  minimize (y - 0.5)^2 + x^2
}
lower {
  var y: real in box(0, 1)
  minimize (y - x)^2
}
`

func starts(b *bench, add func(...row)) {
	model := b.file("small.blv", smallest)
	add(b.timed("`bilevelc --version`", "20 ms", "--version"), b.timed("the smallest model", "50 ms", model, "--quiet"))
}

func editor(b *bench, add func(...row)) {
	add(b.tests("language server: a model of 2,000 lines read again", "50 ms", "./cmd/internal/assist", "KeyStroke", "3x")...)
}

const six = `model six
param cap: real
param w: real
upper {
  var x: vector[3] in box(0, 4)
  maximize x' * y - 0.1 * sumsq(x)
}
lower {
  var y: vector[3] in box(0, 2)
  minimize 0.5 * sumsq(y - w) + x' * y
  subject to
    total: sum(y) <= cap
}
`

func sweeps(b *bench, add func(...row)) {
	model := b.file("six.blv", six)
	r := b.timed("sweep, 68 jobs of six variables", "5 s", "sweep", model, "--over", "cap=1:4:0.1875", "--over", "w=1:4:1", "--dir", filepath.Join(b.folder, "six.sweep"), "--quiet")
	r.seconds = r.seconds[:min(1, len(r.seconds))] // the others find every result there
	add(r)
}

// programs are the random ones of bench/global, of seed 1.
func programs(b *bench, add func(...row)) {
	for _, class := range []struct {
		what, wanted, names string
		large               bool
	}{
		{"linear followers 20/20, 20 shared rows", "0.5 s", "ll20_*", false},
		{"tolls, 20 to 40 arcs", "1 s", "tl[68]_*", false},
		{"quadratic followers, n = 20", "", "ql20_*", false},
		{"quadratic followers, n = 40", "1 s", "ql40_*", true},
	} {
		dir := filepath.Join(b.folder, "random")
		args := []string{"run", "./bench/global", "-make", "1", dir}
		if class.large {
			dir += "-large"
			args = []string{"run", "./bench/global", "-make", "1", "-large", dir}
		}
		if _, err := os.Stat(dir); err != nil {
			b.must("go", args...)
		}
		models := must.Get(filepath.Glob(filepath.Join(dir, class.names+".blv")))
		all := row{wanted: class.wanted}
		proved := 0
		for _, model := range models {
			r := b.timed("", "", model, "--data", strings.TrimSuffix(model, ".blv")+".json")
			must.Be(len(r.seconds) > 0, "%s: %s", model, r.note)
			all.seconds, all.memory = append(all.seconds, middle(r.seconds)), max(all.memory, r.memory)
			if said, _, _, err := b.once(b.binary, model, "--data", strings.TrimSuffix(model, ".blv")+".json"); err == nil && strings.Contains(said, "proved within") {
				proved++
			}
		}
		all.what = fmt.Sprintf("%s (%d programs)", class.what, len(models))
		all.note = fmt.Sprintf("%d proved", proved)
		add(all)
	}
}

func grids(b *bench, add func(...row)) {
	for _, name := range []string{"tollgrid_6_3_10_1", "tollgrid_10_3_20_1", "tollgrid_10_3_20_2"} {
		add(b.timed(name, "1 s", "bench/field/data/tollgrid.blv", "--data", "bench/field/data/"+name+".json"))
	}
}

func planted(b *bench, add func(...row)) {
	add(b.tests("planted, rotated, a kink in half of the entries, n = ", "0.5, 1.5, 25 s", "./runtime/reduced", "Planted", "1x")...)
}

const coupled = `model chain
param n: int
upper {
  var x: vector[10] in box(0, 1)
  minimize sumsq(y) / n + sumsq(x - 0.5)
}
lower {
  var y: vector[n] in box(0, 1)
  minimize sumsq(y - x[1]) + sum(i in 1 .. n - 1: (y[i] - y[i + 1])^2)
}
`

func chain(b *bench, add func(...row)) {
	model := b.file("chain.blv", coupled)
	add(b.timed("one chain, n = 1e5", "5 s", model, "--set", "n=100000", "--quiet"), b.timed("one chain, n = 1e6", "60 s", model, "--set", "n=1000000", "--quiet"))
}

func fields(b *bench, add func(...row)) {
	families := []string{"svm", "hearn", "interdiction", "prices", "battery"}
	wanted := map[string]string{"battery": "20 s (100 days)"}
	for _, family := range families {
		said, _, _, err := b.once("go", "run", "./bench/field", "-out", b.folder, "-limit", fmt.Sprintf("%.0fs", b.limit.Seconds()/2), family)
		if err != nil {
			add(row{what: "field: " + family, wanted: wanted[family], note: fmt.Sprintf("%v: %s", err, said[max(0, len(said)-200):])})
			continue
		}
		table := csvfile.ByName(filepath.Join(b.folder, "field.csv"))
		r := row{what: "field: " + family, wanted: wanted[family]}
		ended := map[string]int{}
		for _, line := range table {
			if line["family"] == family {
				if s, err := strconv.ParseFloat(line["seconds"], 64); err == nil {
					r.seconds = append(r.seconds, s)
				}
				if mb, err := strconv.ParseFloat(line["MB"], 64); err == nil {
					r.memory = max(r.memory, mb)
				}
				ended[line["ended"]]++
			}
		}
		var words []string
		for word, n := range ended {
			words = append(words, fmt.Sprintf("%d %s", n, word))
		}
		slices.Sort(words)
		r.note = strings.Join(words, ", ")
		add(r)
	}
}

// sizes are the hypergradients of bench/growth, sparse up to 10^6 and dense up to 4000.
func sizes(b *bench, add func(...row)) {
	for _, axis := range []struct{ name, most, wanted string }{{"d_y, sparse", "1000000", "3 x PIQP"}, {"d_y, dense", "4000", "3 x Cholesky"}} {
		b.must("go", "run", "./bench/growth", "-full", "-most", axis.most, "-out", b.folder, axis.name)
		table := csvfile.ByName(filepath.Join(b.folder, "growth.csv"))
		for _, line := range table {
			size, _ := strconv.Atoi(line["size"])
			seconds, err := strconv.ParseFloat(line["seconds"], 64)
			if line["axis"] == axis.name && line["phase"] != "bind" && size >= 1000 && err == nil {
				add(row{what: fmt.Sprintf("%s = %d, %s", axis.name, size, line["phase"]), seconds: []float64{seconds}, wanted: axis.wanted})
			}
		}
	}
}

func hypergradients(b *bench, add func(...row)) {
	must.Be(b.python != "", "left out: no -python")
	for _, part := range []struct {
		seeds             string
		contestants, size []string
	}{{"5", []string{"DaqpKKT"}, []string{"50", "100", "200"}}, {"3", []string{"DaqpKKT", "Qpth"}, []string{"800"}}, {"1", nil, []string{"1600"}}} {
		args := append([]string{"bench/peers/run.py", "hypergradients", "--python", b.python, "--out", b.folder, "--seeds", part.seeds, "--sizes"}, part.size...)
		args = append(append(args, "--contestants", "Bilevelc", "HandWritten"), part.contestants...)
		b.must(b.python, args...)
	}
	table := csvfile.ByName(filepath.Join(b.folder, "hypergradients.csv"))
	for _, size := range []string{"50", "100", "200", "800", "1600"} {
		for _, phase := range [][3]string{{"cold s, median", "min", "max"}, {"warm s, median", "warm min", "warm max"}} {
			r, best, others := row{wanted: "1 x"}, math.Inf(1), []string(nil)
			r.what = fmt.Sprintf("hypergradient, d_y = %s, %s", size, strings.Fields(phase[0])[0])
			for _, line := range table {
				if line["d_y"] != size {
					continue
				}
				var v [3]float64
				for k, column := range phase {
					v[k], _ = strconv.ParseFloat(line[column], 64)
				}
				if line["contestant"] == "Bilevelc" {
					r.seconds = []float64{v[1], v[0], v[2]}
					r.memory, _ = strconv.ParseFloat(line["MB"], 64)
				} else if v[0] > 0 {
					best = min(best, v[0])
					others = append(others, line["contestant"]+" "+duration(v[0]))
				}
			}
			r.other = strings.Join(others, ", ")
			if len(r.seconds) > 0 && !math.IsInf(best, 1) {
				r.note = fmt.Sprintf("%.2f x the best", r.seconds[1]/best)
			}
			add(r)
		}
	}
}

func wholes(b *bench, add func(...row)) {
	must.Be(b.python != "", "left out: no -python")
	b.must(b.python, "bench/peers/run.py", "whole", "--python", b.python, "--out", b.folder, "--seeds", "3", "--whole-sizes", "800",
		"--contestants", "Bilevelc", "Lbfgs", "--limit", "30")
	table := csvfile.ByName(filepath.Join(b.folder, "whole.csv"))
	r, others, gap := row{what: "whole solve of the paper's experiment, d_y = 800", wanted: "3 x L-BFGS, best F"}, []float64(nil), 0.0
	for _, line := range table {
		seconds, err := strconv.ParseFloat(line["seconds"], 64)
		if err != nil {
			continue
		}
		if line["contestant"] == "Bilevelc" {
			r.seconds = append(r.seconds, seconds)
			of, _ := strconv.ParseFloat(line["relative gap to the best of the row's seed"], 64)
			gap = max(gap, of)
		} else {
			others = append(others, seconds)
		}
	}
	r.other, r.note = "L-BFGS "+duration(middle(others)), fmt.Sprintf("gap to the better of the two at most %.2g", gap)
	add(r)
}

var measured = regexp.MustCompile(`(?m)^Benchmark\S*?(?:/([^\s-]+))?(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)

// tests repeats Go benchmarks of a package, on one thread, where time on the wall of an idle machine is processor time.
func (b *bench) tests(what, wanted, pkg, name, times string) (rows []row) {
	said := b.must("go", "test", pkg, "-run", "^$", "-bench", name+"$", "-benchtime", times, "-count", strconv.Itoa(max(1, b.repeat/2)), "-cpu", "1")
	for _, m := range measured.FindAllStringSubmatch(said, -1) {
		seconds := must.Get(strconv.ParseFloat(m[2], 64))
		at := slices.IndexFunc(rows, func(r row) bool { return r.what == what+m[1] })
		if at < 0 {
			at = len(rows)
			rows = append(rows, row{what: what + m[1], wanted: wanted})
		}
		rows[at].seconds = append(rows[at].seconds, seconds/1e9)
	}
	must.Be(len(rows) > 0, "no benchmark %s in %s", name, pkg)
	return rows
}
