package linalg

import (
	"math"

	"bilevelc/internal/each"
)

// Derivative sets dst to the derivative at 0 of a vector function of t, by extrapolation of differences to step 0 from a first step that may be as long as the function is curved on (Ridders 1982), and
// returns an estimate of its error in the Euclidean norm, rounding included: of terms of the given size, where those of the function are known to be larger than its values. +Inf where no differences are finite. Differences are central, or forward: then at is not asked for t < 0.
func Derivative(dst []float64, at func(dst []float64, t float64), step, terms float64, central bool) float64 {
	n := len(dst)
	base, plus, minus := make([]float64, n), make([]float64, n), make([]float64, n)
	if !central {
		at(base, 0)
	}
	difference := func(t float64) (d []float64, rounding float64) {
		d = make([]float64, n)
		at(plus, t)
		other, width := base, t
		if central {
			at(minus, -t)
			other, width = minus, 2*t
		}
		for j := range d {
			d[j] = (plus[j] - other[j]) / width
		}
		return d, 16 * 0x1p-53 * math.Max(Norm(plus)+Norm(other), terms) / width
	}
	ratio := 2.0 // the error's next power of the step
	if central {
		ratio = 4
	}
	var last [][]float64
	err := math.Inf(1)
	// 10 bounds the steps of Derivative, each half of the last: with two steps more than the digits of a double the error no longer falls.
	for k := range 10 {
		d, rounding := difference(step)
		step /= 2
		if bad := Dot(d, d); math.IsNaN(bad) || math.IsInf(bad, 0) {
			last, step = nil, step/8 // out of the domain
			continue
		}
		row := [][]float64{d}
		factor := ratio
		for i, before := range last {
			better := each.Below(n, func(j int) float64 { return (factor*row[i][j] - before[j]) / (factor - 1) })
			e := math.Max(Distance(better, row[i]), Distance(better, before))
			if e += rounding; e < err {
				err = e
				copy(dst, better)
			}
			row = append(row, better)
			factor *= ratio
		}
		if err <= 2*rounding || k > 1 && len(last) > 0 && Distance(row[len(row)-1], last[len(last)-1]) > 2*err {
			break
		}
		last = row
	}
	return err
}
