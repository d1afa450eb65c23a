package outer

import (
	"context"
	"fmt"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// testUnbounded takes back Solved beside a pole, where measures are relative to gradients that have no
// bound, so that any point that is near enough would do; and it names the pole where it was what a
// run failed at.
func (s *solving) testUnbounded(ctx context.Context, r *Result) {
	if r.Status != status.Solved && r.Status != status.NumericalFailure || r.Best == nil || r.Best.Grad == nil || r.Measure.Value == 0 {
		return
	}
	reach := math.Max(r.Measure.Delta, 1e-6*s.run.Size(r.Best.X))
	if falls := s.run.bottomless(ctx, r.Best, reach); falls != "" {
		r.Status, r.Reason = status.NumericalFailure, falls
	}
}

// bottomless tells that F falls without a limit towards a point within reach at which a pole is, on
// both of whose sides F is defined: gradients from both make a small measure of any point that is
// near enough. Along a way down to it F falls at least half as much over each part of the distance
// as over the one before, all by the same factor: a kink, a root or a narrow valley does not, nor a
// jump. "" where it does not.
func (r *Run) bottomless(ctx context.Context, at *oracle.Point, reach float64) string {
	steep, far := linalg.Norm(at.Grad), r.Room(at.X)
	// c/r^k is its slope times r/k: within reach of a pole of an order of a tenth or more
	// the slope makes F over the reach.
	if !(steep*reach > math.Abs(at.F)/10) {
		return ""
	}
	value := func(x []float64, step float64) ([]float64, float64) {
		z, err := r.from(x, at.Grad, step/steep)
		var pt *oracle.Point
		if err == nil {
			pt, err = r.h.Value(ctx, z)
		}
		if err != nil {
			return nil, math.NaN()
		}
		return z, pt.F
	}
	_, high := value(at.X, 1e-3*far)
	_, middle := value(at.X, reach)
	if fell := middle - at.F; !(fell >= (high-middle)/2 && steep*reach > fell) {
		return ""
	}
	size := math.Max(linalg.Norm(at.X), far)
	least := tolerance.Feasibility * size
	x, low := at.X, at.F
	for step := reach; step > tolerance.Roundoff*size; step /= 2 {
		// Beside one pole two steps of a length are the most that lead down after those of twice the length did not.
		for range 2 {
			if z, f := value(x, -step); f < low {
				x, low = z, f
			} else if z, f := value(x, step); f < low { // the pole was stepped over
				x, low = z, f
			} else {
				break
			}
		}
		if ctx.Err() != nil || linalg.Distance(x, at.X) > 2*reach {
			return ""
		}
	}
	var values, ways [4]float64
	factor := math.Cbrt(math.Max(1e-9, least/(1e-3*far)))
	for k := range values {
		ways[k] = 1e-3 * far * math.Pow(factor, float64(k))
		_, values[k] = value(x, ways[k])
	}
	falls := [3]float64{values[0] - values[1], values[1] - values[2], values[2] - values[3]}
	if !(factor < 0.1 && falls[0] > tolerance.Target*math.Abs(values[0]) && falls[1] >= falls[0]/2 && falls[2] >= falls[1]/2) {
		return ""
	}
	return fmt.Sprintf("F improves without a limit near this point, at a pole: by %.2g from a distance of %.0e to %.0e, by %.2g from there to %.0e, and by %.2g from there to %.0e",
		falls[0], ways[0], ways[1], falls[1], ways[2], falls[2], ways[3])
}

// from is the point of X and D nearest to x + step way.
func (r *Run) from(x, way []float64, step float64) ([]float64, error) {
	out := linalg.Plus(x, step, way)
	return out, r.Project(out, out)
}
