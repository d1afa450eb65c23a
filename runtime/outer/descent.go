package outer

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/parametric"
)

// descent minimizes F as a parametric program gives it, over the box of X, by L-BFGS on the entries that the gradient
// does not hold at a bound (Bertsekas 1982), with a line search for weak Wolfe conditions, which at kinks are all
// that can be had (Lewis and Overton 2013).
type descent struct {
	run     *Run
	program *parametric.Program
	calls   float64 // evaluations since read was last asked

	lbfgs linalg.LBFGS
	begun float64 // what the program had read then
}

// read is how many numbers have been read since it was last asked.
func (d *descent) read() float64 {
	n := d.program.Read - d.begun + d.calls*d.run.cost
	d.begun, d.calls = d.program.Read, 0
	return n
}

// at evaluates F.
func (d *descent) at(ctx context.Context, g, x []float64) (f float64, ok bool, err error) {
	if err := d.run.check(ctx); err != nil {
		return 0, false, err
	}
	d.run.Evaluations++
	d.calls++
	f, ok = d.program.Evaluate(g, x)
	return f, ok, nil
}

// minimize returns where descent from x, which it keeps, has come to; fallen is what F has fallen by before, in whose
// units steps are small. A nil point: F has no value at x.
func (d *descent) minimize(ctx context.Context, x []float64, fallen float64) (end []float64, f float64, err error) {
	n := len(x)
	v := func() []float64 { return make([]float64, n) }
	g, step, ahead, gradient := v(), v(), v(), v()
	kept, slopes := v(), v() // the best point of a line search
	free := make([]bool, n)
	f, ok, err := d.at(ctx, g, x)
	if err != nil || !ok {
		return nil, 0, err
	}
	d.lbfgs.Reset(n, hopMemory, 1)
	first, small := f, 0
	for evaluations, fresh := 1, true; evaluations < hopSteps; {
		d.run.holds(free, x, g)
		d.lbfgs.Direction(step, g, free)
		if fresh {
			length := linalg.Norm(step)
			if length == 0 {
				break
			}
			for j := range step { // line searches find its length
				step[j] *= hopFirst * (d.run.width + linalg.Norm(x)) / length
			}
		}
		slope := linalg.Dot(g, step)
		if !(slope < 0) {
			if fresh {
				break
			}
			d.lbfgs.Reset(n, hopMemory, 1)
			fresh = true
			continue
		}
		low, high, t := 0.0, math.Inf(1), 1.0
		least := f
		for range 30 {
			clipped := d.run.clip(ahead, x, t, step)
			now, ok, err := d.at(ctx, gradient, ahead)
			if err != nil {
				return nil, 0, err
			}
			evaluations++
			change := 0.0
			for j := range ahead {
				change += g[j] * (ahead[j] - x[j])
			}
			if !ok || !(now <= f+1e-4*change) {
				high = t
			} else {
				if now < least {
					least = now
					copy(kept, ahead)
					copy(slopes, gradient)
				}
				if clipped || linalg.Dot(gradient, step) >= 0.9*slope {
					break
				}
				low = t
			}
			if t = 2 * t; !math.IsInf(high, 1) {
				t = (low + high) / 2
			}
		}
		if !(least < f) {
			if fresh {
				break
			}
			d.lbfgs.Reset(n, hopMemory, 1)
			fresh = true
			continue
		}
		d.lbfgs.Update(x, g, kept, slopes)
		gain := f - least
		f, fresh = least, false
		x, kept = kept, x
		g, slopes = slopes, g
		if gain > hopTolerance*math.Max(fallen, first-f) {
			small = 0
		} else if small++; small > 2 {
			break
		}
	}
	return x, f, nil
}

// holds tells the entries free that the gradient does not hold at a bound of X.
func (r *Run) holds(free []bool, x, g []float64) {
	lo, hi := r.box()
	for j, v := range x {
		free[j] = !(v <= lo[j] && g[j] >= 0 || v >= hi[j] && g[j] <= 0)
	}
}

// clip sets dst to x + t d, moved into the bounds of X; true where that moves it.
func (r *Run) clip(dst, x []float64, t float64, d []float64) bool {
	lo, hi := r.box()
	clipped := false
	for j := range dst {
		v := x[j] + t*d[j]
		dst[j] = math.Max(lo[j], math.Min(hi[j], v))
		clipped = clipped || dst[j] != v
	}
	return clipped
}

// box is the bounds of X.
func (r *Run) box() (lo, hi []float64) {
	set := r.h.(pathful).Problem().X
	return set.Lo, set.Hi
}
