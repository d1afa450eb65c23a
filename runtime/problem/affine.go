package problem

import (
	"errors"
	"fmt"
	"math"

	"bilevelc/runtime/tolerance"
)

// farthest is the binary exponent of the first step of Along; the next ones, where the map is not finite, are 2^25 times shorter. A step of 2^1000 times a coefficient hides the value at 0, and
// leaves no rounding of a difference, but for one that is 2^1053 times as large; a coefficient that makes it infinite hides all of them at the longest step at which it does not.
const farthest = 1000

// Along sets dst to the product of v, of entries 0 and 1, with the matrix of an affine map, whose value at 0 is at.
func Along(dst, v, at []float64, eval func(dst, v []float64)) error {
	for i := range dst {
		dst[i] = math.NaN()
	}
	stepped, value, back := make([]float64, len(v)), make([]float64, len(dst)), []float64(nil)
	for e := farthest; e >= 0; e -= farthest / tolerance.Halvings {
		step := math.Ldexp(1, e)
		for j, t := range v {
			stepped[j] = step * t
		}
		eval(value, stepped)
		back = back[:0]
		whole := true
		for i, t := range value {
			if math.IsNaN(dst[i]) {
				dst[i] = (t - at[i]) / step
				if math.IsInf(dst[i], 0) {
					dst[i] = math.NaN()
				}
				if d := math.Abs(t - at[i]); d > 0 && d < 1/tolerance.LeastSquared { // may be all of a constant that is lost beside terms which cancel, as it is over a step back
					if len(back) == 0 {
						for j := range stepped {
							stepped[j] = -stepped[j]
						}
						back = append(back, value...)
						eval(back, stepped)
					}
					if c := (t/2 - back[i]/2) / step; !math.IsNaN(c) && !math.IsInf(c, 0) {
						dst[i] = c
					}
				}
			}
			whole = whole && !math.IsNaN(dst[i])
		}
		if whole {
			return nil
		}
	}
	return errors.New("not finite")
}

// Affine reads the affine map that eval is off its values at 0 and along each of the first axes of n (Along): its value at 0 (len m) and those
// columns; nil of the first ones that reads, where not nil, says it does not read.
func Affine(axes, n, m int, reads []bool, eval func(dst, v []float64)) (at []float64, columns [][]float64, err error) {
	v := make([]float64, n)
	at = make([]float64, m)
	eval(at, v)
	for _, t := range at {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return at, nil, errors.New("not finite at 0")
		}
	}
	columns = make([][]float64, axes)
	for j := range columns {
		if j < len(reads) && !reads[j] {
			continue
		}
		columns[j] = make([]float64, m)
		v[j] = 1
		err := Along(columns[j], v, at, eval)
		v[j] = 0
		if err != nil {
			return at, nil, fmt.Errorf("%w along entry %d", err, j)
		}
	}
	return at, columns, nil
}

// Probe is an evaluator for points so far out that values need not be finite there, which is no fault of the model. Calls count as those of fn.
func Probe(fn Function) Function {
	switch f := fn.(type) {
	case *Counted:
		d := &Counted{fn: Probe(f.fn)}
		f.clones = append(f.clones, d)
		return d
	case interface{ Probe() Function }:
		return f.Probe()
	}
	return fn
}
