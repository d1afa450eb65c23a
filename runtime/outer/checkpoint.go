package outer

import (
	"encoding/json"
	"fmt"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// Checkpoint is the state of a run between two iterations. It encodes to JSON
// without loss; a run resumed from it, on the same problem with the same
// settings, equals the uninterrupted one bit for bit, its calls included.
type Checkpoint struct {
	Method      string          `json:"method"`
	State       json.RawMessage `json:"state"`
	Start       []float64       `json:"start"`
	Iteration   int             `json:"iteration"`
	Evaluations int             `json:"evaluations"`
	Slope       float64         `json:"slope"`           // the unit of gradients
	Width       float64         `json:"width,omitempty"` // the unit of x; absent: that of the start
	Calls       problem.Calls   `json:"calls"`
	Best        *Sample         `json:"best"`
	Trace       Trace           `json:"trace"` // so far; all but its seconds is the same each time
	Random      []byte          `json:"random"`
	Point       []byte          `json:"point,omitempty"` // Best in full, where it was at hand
	Hyper       []byte          `json:"hyper,omitempty"` // the Hyperobjective's own state
}

// Dimensions are what the state of a method is checked against.
type Dimensions struct {
	X, Rows int // entries of x, and rows that a face may name (problem.Problem.FaceLen)
	Y       int // entries of y, where the lower level has a central path; 0 where it has none
}

// snapshot is a checkpoint not yet encoded.
type snapshot struct {
	method, hyper any
	run           Run // a copy
	calls         problem.Calls
	random        []byte
	h             oracle.Hyperobjective
}

func (r *Run) snapshot(m Method) *snapshot {
	s := &snapshot{method: m.Snapshot(), hyper: r.h.Snapshot(), run: *r, calls: r.Calls(), h: r.h}
	s.run.bestPoint = own(r.bestPoint)
	s.random, _ = r.source.MarshalBinary() // never fails
	return s
}

func (s *snapshot) encode(name string) (*Checkpoint, error) {
	state, err := json.Marshal(s.method)
	if err != nil {
		return nil, fmt.Errorf("outer: state of %s: %w", name, err)
	}
	c := &Checkpoint{Method: name, State: state, Start: s.run.Start, Iteration: s.run.Iteration,
		Evaluations: s.run.Evaluations, Slope: s.run.slope, Width: s.run.width, Calls: s.calls, Best: s.run.best, Trace: s.run.trace, Random: s.random}
	if p := s.run.bestPoint; p != nil {
		if c.Point, err = oracle.EncodePoint(p); err != nil {
			return nil, err
		}
	}
	c.Hyper, err = s.h.EncodeSnapshot(s.hyper)
	return c, err
}

// restore brings a run and its method to the checkpoint. Nothing in it is taken on
// trust: what could not be the state of such a run is an error.
func (c *Checkpoint) restore(name string, r *Run, m Method) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("checkpoint: %w", err)
		}
	}()
	n := r.Dim()
	if c.Method != name {
		return fmt.Errorf("it is of method %s, not %s", c.Method, name)
	}
	if len(c.Start) != n {
		return fmt.Errorf("it is of a problem with %d entries of x, not %d", len(c.Start), n)
	}
	if !linalg.Finite(c.Start) || !linalg.Finite([]float64{c.Slope, c.Width}) || c.Slope < 0 || c.Width < 0 {
		return fmt.Errorf("its start is not finite")
	}
	if c.Iteration < 0 || c.Evaluations < 0 || min(c.Calls.F, c.Calls.GradF, c.Calls.G, c.Calls.GradG) < 0 {
		return fmt.Errorf("it counts fewer than no iterations, evaluations or calls")
	}
	if err := r.source.UnmarshalBinary(c.Random); err != nil {
		return fmt.Errorf("its random numbers: %w", err)
	}
	if c.Hyper == nil {
		return fmt.Errorf("it has no state of the hyperobjective")
	}
	if err := r.h.Restore(c.Hyper); err != nil {
		return err
	}
	d := Dimensions{X: n, Rows: r.h.Problem().FaceLen()}
	if r.h.Central(r.h.Recalls()) != nil {
		d.Y = r.h.Problem().Dy
	}
	if c.Best != nil {
		if err := c.Best.Valid(d); err != nil {
			return fmt.Errorf("its best point: %w", err)
		}
	}
	if c.Point != nil {
		pt, err := oracle.DecodePoint(c.Point)
		if err != nil {
			return fmt.Errorf("its best point: %w", err)
		}
		if c.Best == nil || pt.F != c.Best.F {
			return fmt.Errorf("it has two best points")
		}
		if err := r.h.Fits(pt); err != nil {
			return fmt.Errorf("its best point: %w", err)
		}
		r.bestPoint = pt
	}
	if err := m.Restore(c.State); err != nil {
		return fmt.Errorf("the state of %s: %w", name, err)
	}
	if err := m.Valid(d); err != nil {
		return fmt.Errorf("the state of %s: %w", name, err)
	}
	r.Start, r.Iteration, r.Evaluations, r.best, r.before = c.Start, c.Iteration, c.Evaluations, c.Best, c.Calls
	r.slope, r.width, r.trace = c.Slope, c.Width, c.Trace
	if r.width == 0 {
		r.width = r.widthAt(c.Start)
	}
	return nil
}

// Valid reports what keeps a sample from being one of a problem.
func (s *Sample) Valid(d Dimensions) (err error) {
	defer must.Catch(&err)
	must.Do(Vectors(d.X, s.X))
	for _, v := range [][]float64{s.G, s.At} {
		if v != nil {
			must.Do(Vectors(d.X, v))
		}
	}
	if !linalg.Finite([]float64{s.F, s.GError}) {
		return fmt.Errorf("a value is not finite")
	}
	return oracle.Indices(d.Rows, slices.Concat(s.Active, s.Weak))
}

// Vectors reports the first of some vectors that is not of length n.
func Vectors(n int, all ...[]float64) error {
	for _, v := range all {
		if len(v) != n {
			return fmt.Errorf("a vector has %d entries, not %d", len(v), n)
		}
		if !linalg.Finite(v) {
			return fmt.Errorf("a vector is not finite")
		}
	}
	return nil
}
