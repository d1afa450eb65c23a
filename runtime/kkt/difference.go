package kkt

import (
	"errors"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// A derivative of a map that is known through its values is a central difference. Its step balances what it leaves of the next term, which falls
// with the square of the step, and the rounding of the values, which grows with its inverse (Nocedal and Wright 2006, section 8.1): the cube root of the
// relative accuracy of the values, relative to the length on which the map is curved, which shows in how the two halves of a difference differ.

// The relative steps of differences of values that are exact to rounding, and of values that are such differences themselves, whose accuracy is the
// square of the former.
var (
	FirstStep  = math.Cbrt(0x1p-52)
	SecondStep = math.Pow(0x1p-52, 1.0/4)
)

// Differences are those of a map along the axes from one point.
type Differences struct {
	Map  func(dst, at []float64)
	At   []float64
	Unit []float64 // len At: the length on which an entry may be taken to vary, > 0
	Step float64   // FirstStep or SecondStep

	moved, base, up, down []float64
	bend, rise            []float64
}

// errDifference says that a map is finite at a point and not on both sides of it, however near.
var errDifference = errors.New("no derivative: a gradient is not finite next to the point")

// NewDifferences prepares the differences of a map into m numbers.
func NewDifferences(at, unit []float64, m int, step float64, eval func(dst, at []float64)) *Differences {
	d := &Differences{Map: eval, At: at, Unit: unit, Step: step}
	d.moved = append([]float64(nil), at...)
	d.base, d.up, d.down, d.bend, d.rise = make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
	eval(d.base, d.moved)
	return d
}

// reach is how often a direction goes into the units of its entries; +Inf where it is 0.
func (d *Differences) reach(places []int, values []float64) float64 {
	reach := math.Inf(1)
	for k, j := range places {
		if v := math.Abs(values[k]); v > 0 {
			reach = math.Min(reach, d.Unit[j]/v)
		}
	}
	return reach
}

// Along sets dst to the derivative along a direction with the entries values at the places, which are no longer than their units together make.
func (d *Differences) Along(dst []float64, places []int, values []float64) error {
	reach := d.reach(places, values)
	clear(dst)
	if math.IsInf(reach, 1) {
		return nil
	}
	step, before := d.Step*reach, math.Inf(1)
	var last []float64
	for range tolerance.Shortenings {
		width, apart, whole, ok := d.difference(step, places, values)
		if ok {
			for i := range dst {
				dst[i] = (d.up[i] - d.down[i]) / width
			}
			switch {
			case apart <= math.Sqrt(tolerance.HalfDigits)*whole: // what is left of the next term is about the square
				return nil
			case last != nil && apart > before*whole/4: // a shorter step does not cure it: it is rounding, of which the longer one has less
				copy(dst, last)
				return nil
			}
			before, last = apart/whole, append(last[:0], dst...)
		}
		step /= tolerance.Shorten
	}
	return errDifference
}

// difference moves the point by a step along a direction to both sides: how far that is, and the sizes of the difference of the halves and of the whole.
func (d *Differences) difference(step float64, places []int, values []float64) (width, apart, whole float64, ok bool) {
	width = 2 * step
	for k, j := range places {
		d.moved[j] = d.At[j] + step*values[k]
	}
	d.Map(d.up, d.moved)
	for k, j := range places {
		up := d.moved[j]
		d.moved[j] = d.At[j] - step*values[k]
		if len(places) == 1 { // as it comes out in floating point
			width = (up - d.moved[j]) / values[k]
		}
	}
	d.Map(d.down, d.moved)
	for _, j := range places {
		d.moved[j] = d.At[j]
	}
	if width == 0 {
		return 0, 0, 0, false
	}
	for i := range d.base {
		a, b := d.up[i]-d.base[i], d.base[i]-d.down[i]
		if t := a + b; math.IsNaN(t) || math.IsInf(t, 0) {
			return 0, 0, 0, false
		}
		d.bend[i], d.rise[i] = a-b, d.up[i]-d.down[i]
	}
	return width, linalg.Norm(d.bend), linalg.Norm(d.rise), true
}

// Units are the lengths on which the entries of a vector may be taken to vary: their sizes, no less than a thousandth of the largest, which
// itself is taken to be 1 at least: what is nearly zero does not say on which scale a map varies in it. Where they are too long a difference shortens its step, and
// where they are too short it is rounding.
func Units(v []float64) []float64 {
	top := 1.0
	for _, t := range v {
		top = math.Max(top, math.Abs(t))
	}
	return each.Of(v, func(t float64) float64 { return math.Max(math.Abs(t), 0x1p-10*top) })
}

// extrapolated is the step at which rounding, and what an extrapolated central difference leaves, are in balance: the fifth root of rounding.
var extrapolated = math.Pow(0x1p-52, 1.0/5)

// Extrapolated is Along by two central differences, of which one has half the step of the other, and Richardson's extrapolation: of the steps from the fifth root of rounding
// down that with the least estimate of its error. Returned are those of the entries of dst: what the two differ by over three, and the rounding of the values.
func (d *Differences) Extrapolated(dst []float64, places []int, values []float64) (errors []float64, err error) {
	reach := d.reach(places, values)
	clear(dst)
	errors = make([]float64, len(dst))
	if math.IsInf(reach, 1) {
		return errors, nil
	}
	best := math.Inf(1)
	long, half := make([]float64, len(dst)), make([]float64, len(dst))
	quotient := func(out []float64, step float64) bool {
		width, _, _, ok := d.difference(step, places, values)
		for i := range out {
			out[i] = (d.up[i] - d.down[i]) / width
		}
		return ok
	}
	terms := linalg.NormInf(d.base)
	for step := math.Min(reach*extrapolated, math.MaxFloat64); step > 0 && 0x1p-52*terms/step < best; step /= 4 { // from where rounding alone is more, it grows
		if !quotient(long, step) || !quotient(half, step/2) {
			continue
		}
		apart := each.LargestBelow(len(half), func(i int) float64 { return math.Abs(half[i] - long[i]) })
		rounding := 0x1p-52 * terms / step
		e := apart/3 + rounding
		if e < best {
			best = e
			for i := range dst {
				dst[i] = half[i] + (half[i]-long[i])/3
				errors[i] = math.Abs(half[i]-long[i])/3 + rounding
			}
		} else if !math.IsInf(best, 1) { // what shorter steps have is more rounding
			break
		}
	}
	if math.IsInf(best, 1) {
		return nil, errDifference
	}
	return errors, nil
}
