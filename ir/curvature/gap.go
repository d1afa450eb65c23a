package curvature

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"bilevelc/ir/expr"
)

// This file refutes convexity without derivatives, where g has a pole or is
// not defined between two feasible points: a convex function is finite between
// points where it is finite, and lies below its chords there.

// gapCuts is into how many parts a segment is cut when points between its ends
// are examined, and gapZooms how often the part around the worst one is cut
// again: 8^6 places are told apart.
const (
	gapCuts  = 16
	gapZooms = 6
)

// rises looks for a second feasible point at x such that between it and y the
// lower objective is not defined, or lies above the chord.
func (pr *prover) rises(x, y []float64, random *rand.Rand, work *budget) *Witness {
	for t := range definedTries {
		if pr.budget().ended() {
			return nil
		}
		other, ok := pr.definedSample(1+t, x, random, work)
		if !ok {
			return nil
		}
		if w := pr.between(x, y, other); w != nil {
			return w
		}
	}
	return nil
}

// between examines the segment from p to q, both feasible at x.
func (pr *prover) between(x, p, q []float64) *Witness {
	direction := make([]float64, len(p))
	floats.SubTo(direction, q, p)
	size := math.Sqrt(floats.Dot(direction, direction))
	// Both are feasible to feasibleTolerance: a direction between points as near as that, along
	// rows at angles of up to its root, is rounding and may be none along which y can go.
	if !(size > math.Sqrt(feasibleTolerance)*(1+math.Sqrt(floats.Dot(p, p)))) {
		return nil
	}
	normalize(direction)
	g := pr.Lower.Objective
	// on is the point at the distance t from p and the value of g there.
	on := func(t float64) spot {
		y := make([]float64, len(p))
		floats.AddScaledTo(y, p, t, direction)
		v, err := expr.Scalar(g, x, y)
		if err != nil {
			v = math.Inf(-1) // shows nothing
		}
		return spot{t, y, v}
	}
	words := func(a, m, b spot, curvature float64, undefined bool) *Witness {
		return &Witness{Y: m.y, Ends: [][]float64{a.y, b.y}, Direction: direction, Curvature: curvature, Undefined: undefined,
			Text: pr.directionText(extreme{vector: direction, cols: expr.Sequence(0, len(p))})}
	}
	// enclosed holds the value of g at the point of the line itself, which m.y is by rounding.
	enclosed := func(m spot) Interval {
		d := at(x, m.y)
		for j := range d.y {
			d.y[j] = point(p[j]).add(point(m.t).mul(point(direction[j])))
		}
		return pr.study(g, expr.DependsY, d, pr.budget()).rangeOf(g)[0]
	}
	a, b := on(0), on(size)
	for range gapZooms {
		if !finiteNumber(a.v) || !finiteNumber(b.v) {
			return nil
		}
		best := spot{t: -1, v: math.Inf(-1)} // where g stands out most
		for i := 1; i < gapCuts; i++ {
			m := on(a.t + (b.t-a.t)*float64(i)/gapCuts)
			if math.IsNaN(m.v) || math.IsInf(m.v, 1) {
				if !enclosed(a).finite() || !enclosed(b).finite() { // on the edge of where g is defined rounding decides whether it is at a point
					return nil
				}
				return words(a, m, b, 0, true)
			}
			if m.v > best.v {
				best = m
			}
			if (b.v-m.v)/(b.t-m.t) >= (m.v-a.v)/(m.t-a.t) {
				continue
			}
			// It seems to lie above the chord: the second divided difference, enclosed.
			left, right := point(m.t).sub(point(a.t)), point(b.t).sub(point(m.t))
			v := enclosed(m)
			rise := enclosed(b).sub(v).div(right).sub(v.sub(enclosed(a)).div(left)).mul(point(2)).div(left.add(right))
			if rise.Hi < 0 {
				return words(a, m, b, rise.Hi, false)
			}
		}
		if best.t < 0 {
			return nil
		}
		part := (b.t - a.t) / gapCuts
		a, b = on(best.t-part), on(best.t+part)
	}
	return nil
}

// spot is a point of a segment.
type spot struct {
	t float64 // its distance from the start
	y []float64
	v float64 // of g
}

func finiteNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
