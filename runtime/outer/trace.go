package outer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// TracePoint is how far a run had come after some iteration. Values that are not
// known are NaN.
type TracePoint struct {
	Iteration int
	F         float64 // at the iterate
	Best      float64 // least F seen
	Step      float64 // length of the last step
	Measure   float64 // the method's stationarity measure, or an estimate of it
	Calls     int64   // to f, grad f, g and grad g together
	Seconds   float64 // since the run began, that before a checkpoint included; the one number that is not reproducible
}

// Trace is the course of a run, in at most tolerance.MostPoints points and the last: every
// iteration of a short run, and of longer ones every second, fourth, ... so that they
// are evenly spaced. It is part of the state of a run.
type Trace struct {
	Every  int // of iterations; 0 before the first
	Points []TracePoint
	Last   *TracePoint // where it is not among the points
}

// add takes down an iteration. What was handed out before does not change.
func (t *Trace) add(p TracePoint) {
	t.Every = max(t.Every, 1)
	t.Last = nil
	if p.Iteration%t.Every != 0 {
		t.Last = &p
		return
	}
	if len(t.Points) == tolerance.MostPoints {
		t.Every *= 2
		t.Points = slices.DeleteFunc(slices.Clone(t.Points), func(p TracePoint) bool { return p.Iteration%t.Every != 0 })
		if p.Iteration%t.Every != 0 {
			t.Last = &p
			return
		}
	}
	t.Points = append(t.Points, p)
}

// All are the points with the last.
func (t Trace) All() []TracePoint {
	out := slices.Clone(t.Points)
	if t.Last != nil {
		out = append(out, *t.Last)
	}
	return out
}

// traceForm is a trace in JSON, whose numbers know no NaN: a list of numbers and
// nulls for each point.
type traceForm struct {
	Every  int           `json:"every"`
	Points [][7]*float64 `json:"points"`
	Last   *[7]*float64  `json:"last,omitempty"`
}

func (p TracePoint) form() (out [7]*float64) {
	for k, v := range []float64{float64(p.Iteration), p.F, p.Best, p.Step, p.Measure, float64(p.Calls), p.Seconds} {
		if linalg.Finite([]float64{v}) {
			out[k] = &v
		}
	}
	return out
}

func pointOf(form [7]*float64) TracePoint {
	var v [7]float64
	for k := range v {
		if v[k] = math.NaN(); form[k] != nil {
			v[k] = *form[k]
		}
	}
	return TracePoint{Iteration: int(v[0]), F: v[1], Best: v[2], Step: v[3], Measure: v[4], Calls: int64(v[5]), Seconds: v[6]}
}

// MarshalJSON implements json.Marshaler.
func (t Trace) MarshalJSON() ([]byte, error) {
	f := traceForm{Every: t.Every, Points: [][7]*float64{}}
	f.Points = append(f.Points, each.Of(t.Points, func(p TracePoint) [7]*float64 { return p.form() })...)
	if t.Last != nil {
		last := t.Last.form()
		f.Last = &last
	}
	return json.Marshal(f)
}

// UnmarshalJSON implements json.Unmarshaler. It refuses what no run writes.
func (t *Trace) UnmarshalJSON(text []byte) error {
	var f traceForm
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	out := Trace{Every: f.Every}
	out.Points = append(out.Points, each.Of(f.Points, pointOf)...)
	if f.Last != nil {
		last := pointOf(*f.Last)
		out.Last = &last
	}
	if len(out.Points) > tolerance.MostPoints || out.Every < 0 {
		return fmt.Errorf("a trace of %d points, every %d iterations", len(out.Points), out.Every)
	}
	iteration, calls := -1, int64(-1)
	for _, p := range out.All() {
		if p.Iteration <= iteration || p.Calls < calls || !(p.Seconds >= 0) {
			return errors.New("a trace that does not go forward")
		}
		iteration, calls = p.Iteration, p.Calls
	}
	*t = out
	return nil
}

// traced adds where the run stands to its trace.
func (r *Run) traced(m Method, seconds float64) {
	p := r.progress(m)
	r.trace.add(TracePoint{Iteration: p.Iteration, F: p.F, Best: p.Best, Step: p.Step, Measure: p.Measure,
		Calls: p.Calls.Total(), Seconds: seconds})
}
