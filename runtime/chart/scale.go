package chart

import (
	"math"
)

// scale takes values to pixels.
type scale struct {
	lo, hi   float64 // of values, of their logarithms where log
	from, to float64 // pixels
	log      bool
}

// newScale covers values from lo to hi, with room at the ends where there is no log
// scale and pad is set. What is constant gets room on both sides.
func newScale(lo, hi, from, to float64, log, pad bool) scale {
	s := scale{lo: lo, hi: hi, from: from, to: to, log: log}
	if log {
		s.lo, s.hi = math.Log10(lo), math.Log10(hi)
	}
	// Halves and quarters, not sums: ends may be near the largest double.
	room := s.hi/2 - s.lo/2
	if !(room > 1e-12*math.Max(math.Abs(s.lo), math.Abs(s.hi))) {
		room = math.Abs(s.lo) / 4
		if room == 0 || log {
			room = 0.5
		}
		s.lo, s.hi = clamp(s.lo-room), clamp(s.hi+room)
	} else if pad && !log {
		s.lo, s.hi = clamp(s.lo-room/10), clamp(s.hi+room/10)
	}
	return s
}

func clamp(v float64) float64 { return math.Max(-math.MaxFloat64, math.Min(math.MaxFloat64, v)) }

// at is the pixel of a value; NaN where the scale has none for it.
func (s scale) at(v float64) float64 {
	if s.log {
		if v <= 0 {
			return math.NaN()
		}
		v = math.Log10(v)
	}
	share := (v/2 - s.lo/2) / (s.hi/2 - s.lo/2)
	return s.from + share*(s.to-s.from)
}

// ticks are round values, about n of them.
func (s scale) ticks(n int) []float64 {
	if s.log {
		var out []float64
		first, last := math.Ceil(s.lo-1e-9), math.Floor(s.hi+1e-9)
		every := math.Max(1, math.Ceil((last-first+1)/float64(n)))
		for e := first; e <= last; e += every {
			out = append(out, math.Pow(10, e))
		}
		if len(out) >= 2 {
			return out
		}
		linear := scale{lo: math.Pow(10, s.lo), hi: math.Pow(10, s.hi)}
		return linear.ticks(n)
	}
	rough := (s.hi/2 - s.lo/2) / float64(n) * 2
	if !(rough > 0) || math.IsInf(rough, 0) {
		return nil
	}
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough*(1-1e-9) {
			step = m * power
			break
		}
	}
	if step == 0 {
		return nil
	}
	var out []float64
	for k := math.Ceil(s.lo/step - 1e-9); len(out) <= 2*n+2; k++ {
		v := k * step
		if v > s.hi+1e-9*step {
			break
		}
		out = append(out, v)
	}
	return out
}
