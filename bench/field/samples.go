package main

import (
	"math"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
)

// samples reads the sparse text form of LIBSVM: label index:value ...
func samples(path string) (X [][]float64, labels []float64) {
	n := 0
	for line := range strings.Lines(string(must.Get(os.ReadFile(path)))) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		label, err := strconv.ParseFloat(words[0], 64)
		must.Be(err == nil, "%s:%d: %w", path, n, err)
		var x []float64
		for _, word := range words[1:] {
			at, value, found := strings.Cut(word, ":")
			j, err := strconv.Atoi(at)
			must.Be(found && err == nil && j > len(x), "%s:%d: %q is no index:value in ascending order", path, n, word)
			v, err := strconv.ParseFloat(value, 64)
			must.Be(err == nil, "%s:%d: %w", path, n, err)
			for len(x) < j-1 {
				x = append(x, 0)
			}
			x = append(x, v)
		}
		X, labels = append(X, x), append(labels, label)
	}
	width := 0
	for _, x := range X {
		width = max(width, len(x))
	}
	for i, x := range X {
		X[i] = append(x, make([]float64, width-len(x))...)
	}
	return X, labels
}

func integers(words []string, below int) []int {
	return each.Of(words, func(word string) int {
		i, err := strconv.Atoi(word)
		must.Be(err == nil && i >= 0 && i < below, "%q is not the number of a sample", word)
		return i
	})
}

// quadraticFeatures are 1, x_i, x_i^2 and x_i x_j.
func quadraticFeatures(x []float64) []float64 {
	f := append([]float64{1}, x...)
	for _, v := range x {
		f = append(f, v*v)
	}
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			f = append(f, x[i]*x[j])
		}
	}
	return f
}

// convexBound is the least mean of exp(1 - t (x'w + b)) over all w and b: no
// follower can do better.
func convexBound(X [][]float64, t []float64) float64 {
	n := len(X[0])
	margin := func(v []float64, i int) float64 { return t[i] * (floats.Dot(X[i], v[:n]) + v[n]) }
	p := optimize.Problem{
		Func: func(v []float64) (loss float64) {
			for i := range X {
				loss += math.Exp(1-margin(v, i)) / float64(len(X))
			}
			return loss
		},
		Grad: func(g, v []float64) {
			clear(g)
			for i := range X {
				s := -t[i] * math.Exp(1-margin(v, i)) / float64(len(X))
				floats.AddScaled(g[:n], s, X[i])
				g[n] += s
			}
		},
	}
	r, err := optimize.Minimize(p, make([]float64, n+1), &optimize.Settings{MajorIterations: 5000}, &optimize.BFGS{})
	if r == nil {
		panic(err) // a convex function that is finite everywhere has a minimum to walk towards
	}
	return r.F
}

// matrix is a named matrix of a set, by rows.
func matrix(set *data.Set, name string) [][]float64 {
	e := set.Get(name)
	must.Be(e != nil && e.Array.Rank() == 2, "no matrix named %s", name)
	a, all := e.Array, e.Array.Values()
	return each.Below(a.Shape[0], func(i int) []float64 { return all[i*a.Shape[1] : (i+1)*a.Shape[1]] })
}
