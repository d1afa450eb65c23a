package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// exponent is the power p of a law y = c x^p, fitted in the logarithm to each
// seed apart, with the spread over the seeds.
type exponent struct {
	mean     float64
	half     float64 // half of the 95 % confidence interval of the mean (Student's t); NaN for one seed
	min, max float64
	seeds    int
}

func (e exponent) String() string {
	if e.seeds < 2 {
		return fmt.Sprintf("%.2f (one seed)", e.mean)
	}
	return fmt.Sprintf("%.2f +- %.2f (%.2f to %.2f over %d seeds)", e.mean, e.half, e.min, e.max, e.seeds)
}

// point is one measurement of one seed.
type point struct {
	seed uint64
	x, y float64
}

// fitPower fits the exponent to measurements, of each seed at two x at least.
func fitPower(points []point) exponent {
	bySeed := map[uint64][]point{}
	var seeds []uint64
	for _, p := range points {
		if _, seen := bySeed[p.seed]; !seen {
			seeds = append(seeds, p.seed)
		}
		bySeed[p.seed] = append(bySeed[p.seed], p)
	}
	var slopes []float64
	for _, s := range seeds {
		var x, y []float64
		for _, p := range bySeed[s] {
			x, y = append(x, math.Log(p.x)), append(y, math.Log(p.y))
		}
		_, slope := stat.LinearRegression(x, y, nil, false)
		slopes = append(slopes, slope)
	}
	return spreadOf(slopes)
}

// spreadOf is the mean of the slopes with its confidence interval.
func spreadOf(slopes []float64) exponent {
	e := exponent{mean: stat.Mean(slopes, nil), half: math.NaN(), min: slices.Min(slopes), max: slices.Max(slopes), seeds: len(slopes)}
	if n := float64(len(slopes)); n > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
		e.half = t * stat.StdDev(slopes, nil) / math.Sqrt(n)
	}
	return e
}

// quartiles of the values: the order statistics at the places p (n - 1) of the sorted
// values, counted from 0, between which they are interpolated (definition 7 of
// Hyndman and Fan 1996), so that the one in the middle is the median. gonum's
// interpolation is of the empirical distribution, whose middle is below the median.
func quartiles(values []float64) (low, median, high float64) {
	s := slices.Sorted(slices.Values(values))
	at := func(p float64) float64 {
		place := p * float64(len(s)-1)
		k := min(int(place), len(s)-2)
		if k < 0 {
			return s[0]
		}
		return s[k] + (place-float64(k))*(s[k+1]-s[k])
	}
	return at(0.25), at(0.5), at(0.75)
}

// medians groups points by x, in ascending order, with quartiles of y.
func medians(points []point) []band {
	byX := map[float64][]float64{}
	var xs []float64
	for _, p := range points {
		if _, seen := byX[p.x]; !seen {
			xs = append(xs, p.x)
		}
		byX[p.x] = append(byX[p.x], p.y)
	}
	slices.Sort(xs)
	var out []band
	for _, x := range xs {
		b := band{x: x}
		b.low, b.mid, b.high = quartiles(byX[x])
		out = append(out, b)
	}
	return out
}
