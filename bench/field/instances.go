package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bilevelc/bench/asis"
	"bilevelc/bench/csvfile"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/runtime"
)

// withNumbers binds a model of the folder with numbers made here.
func withNumbers(folder, model string, numbers runtime.Data) func() *runtime.Problem {
	return func() *runtime.Problem {
		return must.Get(must.Get(runtime.CompileFile(filepath.Join(folder, model))).Bind(numbers, runtime.BindOptions{}))
	}
}

// fromFile binds a model of the folder with a file of numbers, and vectors that
// the file lacks.
func fromFile(folder, model, numbers string, more map[string][]float64) func() *runtime.Problem {
	return func() *runtime.Problem {
		m, set := must.Get(runtime.CompileFile(filepath.Join(folder, model))), asis.Numbers(filepath.Join(folder, numbers))
		for name, v := range more {
			set.Add(name, data.Vector(v), "bench/field")
		}
		return must.Get(m.BindSet(set, runtime.BindOptions{}))
	}
}

// tolls are the network of Hearn and Ramana: all links tolled, whose answer is
// the system's optimum, and four links, whose answer is open.
func tolls(folder string) []instance {
	second := make([]float64, 18)
	for _, link := range []int{1, 3, 6, 12} {
		second[link-1] = 1
	}
	return []instance{
		{"hearn", "first best", fromFile(folder, "hearn.blv", "hearn.json", nil), 2253.917938, "system optimum", ""},
		{"hearn", "second best, links 1 3 6 12", fromFile(folder, "hearn.blv", "hearn.json", map[string][]float64{"tollable": second}), math.NaN(), "", ""},
	}
}

// tollGrids are those of tollgrid.csv, with optima by mixed-integer programming.
func tollGrids(folder string) []instance {
	var list []instance
	for _, line := range must.Get(csvfile.Read(filepath.Join(folder, "tollgrid.csv")))[1:] {
		best := must.Get(strconv.ParseFloat(line[1], 64))
		list = append(list, instance{"tollgrid", line[0], fromFile(folder, "tollgrid.blv", line[0]+".json", nil), best, "HiGHS", ""})
	}
	return list
}

// batteries are ten windows of ten of the hundred days, three of thirty, the first sixty, and all.
func batteries(folder string) []instance {
	set := asis.Numbers(filepath.Join(folder, "battery_100.json"))
	var list []instance
	// order is that of the days, 0: as they are; another one is the same problem but for rounding.
	add := func(from, to int, order uint64) {
		numbers := runtime.Data{}
		for _, name := range []string{"phi", "price"} {
			a := matrix(set, name)[from:to]
			if order > 0 {
				rand.New(rand.NewPCG(order, 0)).Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
			}
			numbers[name] = a
		}
		name := fmt.Sprintf("%d days", to-from)
		if from > 0 {
			name += fmt.Sprintf(" from day %d", from+1)
		}
		if order > 0 {
			name += fmt.Sprintf(", order %d", order)
		}
		list = append(list, instance{"battery", name, withNumbers(folder, "battery.blv", numbers), math.NaN(), "", ""})
	}
	windows := [][2]int{{0, 10}, {0, 30}, {15, 45}, {50, 80}, {0, 60}, {0, 100}}
	for from := 10; from < 100; from += 10 {
		windows = append(windows, [2]int{from, from + 10})
	}
	for _, w := range windows {
		add(w[0], w[1], 0)
	}
	add(0, 100, 1)
	add(0, 100, 2)
	return list
}

// interdictions are the two stored digraphs and random ones of the same kind.
func interdictions(folder string) []instance {
	list := []instance{
		{"interdiction", "0", fromFile(folder, "interdiction.blv", "interdiction_0.json", nil), math.NaN(), "", ""},
		{"interdiction", "1", fromFile(folder, "interdiction.blv", "interdiction_1.json", nil), math.NaN(), "", ""},
	}
	for _, size := range [][2]int{{20, 200}, {50, 1000}} {
		numbers := digraph(1, size[0], size[1])
		list = append(list, instance{"interdiction", fmt.Sprintf("random, %d nodes", size[0]),
			withNumbers(folder, "interdiction.blv", numbers), math.NaN(), "", ""})
	}
	return list
}

// digraph is a random network: a chain keeps the nodes connected, the other
// arcs are drawn; what is shipped is half of what a feasible flow can carry.
func digraph(seed uint64, nodes, arcs int) runtime.Data {
	random := rand.New(rand.NewPCG(seed, 1))
	inc := each.Below(nodes, func(int) []float64 { return make([]float64, arcs) })
	capacity, cost := make([]float64, arcs), make([]float64, arcs)
	through := math.Inf(1)
	for a := range arcs {
		from, to := a, a+1
		capacity[a], cost[a] = 50+950*random.Float64(), 5+25*random.Float64()
		if a < nodes-1 {
			through = min(through, capacity[a])
		} else {
			from, to = random.IntN(nodes), random.IntN(nodes-1)
			if to >= from {
				to++
			}
		}
		inc[from][a], inc[to][a] = -1, 1
	}
	supply := make([]float64, nodes)
	supply[0], supply[nodes-1] = -through/2, through/2
	return runtime.Data{"inc": inc, "cap": capacity, "cost": cost, "supply": supply, "budget": 150}
}

// prices are the stored instance and others by its recipe: entries |N(0, 1)|,
// those of B a fifth of that.
func prices(folder string) []instance {
	list := []instance{{"prices", "0", fromFile(folder, "prices.blv", "prices_0.json", nil), math.NaN(), "", ""}}
	for seed := uint64(1); seed <= 9; seed++ {
		random := rand.New(rand.NewPCG(seed, 2))
		draw := func(scale float64) [][]float64 {
			return each.Below(20, func(int) []float64 {
				return each.Below(60, func(int) float64 { return scale * math.Abs(random.NormFloat64()) })
			})
		}
		numbers := runtime.Data{"A": draw(1), "B": draw(0.2), "b": draw(1)[0][:20]}
		list = append(list, instance{"prices", fmt.Sprintf("seed %d", seed), withNumbers(folder, "prices.blv", numbers), math.NaN(), "", ""})
	}
	return list
}

// supportVectors are the published splits of two sets of data.
func supportVectors(folder string) []instance {
	var list []instance
	for line := range strings.Lines(string(must.Get(os.ReadFile(filepath.Join(folder, "splits.txt"))))) {
		words := strings.Fields(line)
		must.Be(len(words) >= 2, "splits.txt: a line without a split")
		samples, labels := samples(filepath.Join(folder, words[0]+".txt"))
		split := integers(words[2:], len(samples))
		if words[0] == "diabetes" {
			for i, s := range samples {
				samples[i] = quadraticFeatures(s)
			}
		}
		part := func(from, to int) ([][]float64, []float64) {
			var X [][]float64
			var t []float64
			for _, i := range split[from:to] {
				X, t = append(X, samples[i]), append(t, labels[i])
			}
			return X, t
		}
		X, t := part(0, 500)
		Xv, tv := part(500, 650)
		Xs, ts := part(650, len(split))
		list = append(list, instance{"svm", words[0] + " " + words[1],
			withNumbers(folder, "svm.blv", runtime.Data{"X": X, "t": t, "Xv": Xv, "tv": tv, "Xs": Xs, "ts": ts}),
			convexBound(Xv, tv), "least loss over all w and b", "test_accuracy"})
	}
	slices.SortStableFunc(list, func(a, b instance) int { return strings.Compare(a.name[:4], b.name[:4]) })
	return list
}
