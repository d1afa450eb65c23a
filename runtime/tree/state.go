package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"bilevelc/internal/each"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
)

// State is a search between two rounds, for checkpoints: a search that resumes from it goes on as if it had not stopped. It shares
// memory with the search and must not be changed.
type State struct {
	Gap   float64     `json:"gap"`
	Parts []partState `json:"parts"`
	// Trace is how bound and incumbent went, every Stride nodes.
	Trace  []tracePoint `json:"trace,omitempty"`
	Stride int64        `json:"stride,omitempty"`
}

// partState is the tree of a part.
type partState struct {
	Records []record   `json:"records"`
	Open    []openNow  `json:"open"`
	Costs   costs      `json:"costs"`
	Best    *bestPoint `json:"best,omitempty"`
	Least   infinite   `json:"least"`
	effort
	Rounds  int64     `json:"rounds"`
	Failed  bool      `json:"failed,omitempty"`
	Concave *concave  `json:"concave,omitempty"`
	Hulls   bool      `json:"hulls,omitempty"`
	Strong  bool      `json:"strong,omitempty"`
	Cuts    []tangent `json:"cuts,omitempty"`
	Path    bool      `json:"path,omitempty"`
	Raised  bool      `json:"raised,omitempty"`
}

type tracePoint struct {
	Nodes     int64    `json:"nodes"`
	Bound     infinite `json:"bound"`
	Incumbent infinite `json:"incumbent"`
}

type openNow struct {
	ID     int32            `json:"id"`
	Fix    []kkt.Fix        `json:"fix"`
	Box    []change         `json:"box,omitempty"`
	Bound  infinite         `json:"bound"`
	Basis  *activeset.Basis `json:"basis,omitempty"`
	Depth  int              `json:"depth"`
	Branch int              `json:"branch"`
	Side   int              `json:"side"`
	Length float64          `json:"length"`
	Parent infinite         `json:"parent"`
	Slopes []slopeRange     `json:"slopes,omitempty"`
}

type bestPoint struct {
	Z   []float64 `json:"z"`
	Fix []kkt.Fix `json:"fix"`
	F   float64   `json:"f"`
}

// infinite is a number that may be infinite in JSON.
type infinite float64

// MarshalJSON writes the number, or "inf" or "-inf".
func (v infinite) MarshalJSON() ([]byte, error) {
	switch f := float64(v); {
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	case math.IsNaN(f):
		return nil, errors.New("not a number")
	default:
		return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *infinite) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"inf"`:
		*v = infinite(math.Inf(1))
	case `"-inf"`:
		*v = infinite(math.Inf(-1))
	default:
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return fmt.Errorf("a bound: %w", err)
		}
		*v = infinite(f)
	}
	return nil
}

// knows reports whether the entries and directions of changes are there.
func (s *search) knows(box []change) bool {
	return !slices.ContainsFunc(box, func(b change) bool {
		return int(b.Index) >= s.sys.Nx || b.Index < 0 && (s.concave == nil || int(-1-b.Index) >= len(s.concave.V))
	})
}

func (f *forest) state() *State {
	st := &State{Gap: f.gap, Trace: f.trace, Stride: f.stride}
	st.Parts = append(st.Parts, each.Of(f.parts, func(s *search) partState { return s.state() })...)
	return st
}

func (s *search) state() partState {
	st := partState{Records: s.records, Costs: s.costs.clone(), Least: infinite(s.least), effort: s.effort, Rounds: s.rounds, Failed: s.failed, Concave: s.concave, Hulls: s.hulls, Strong: s.strong, Cuts: s.cuts, Path: s.path != nil, Raised: s.shares != nil}
	for _, n := range s.open {
		st.Open = append(st.Open, openNow{n.id, n.fix, n.box, infinite(n.bound), n.basis, n.depth, n.from.branch, n.from.side, n.from.distance, infinite(n.from.parent), n.slopes})
	}
	if s.best != nil {
		st.Best = &bestPoint{s.best.z, s.best.fix, s.best.f}
	}
	return st
}

var errNotThis = errors.New("the state of the search is not one of this problem")

// fits reports whether the directions are of vectors of length n, of f and so many constraints.
func (c *concave) fits(n, constraints int) bool {
	if c == nil || len(c.Weight) != len(c.V) || len(c.Of) != len(c.V) || !slices.IsSorted(c.Of) {
		return false
	}
	for k, v := range c.V {
		if len(v) != n || !(c.Weight[k] > 0) || c.Of[k] < -1 || c.Of[k] >= constraints {
			return false
		}
	}
	return true
}

// fits says why a state is not one of a search of so many parts to a gap.
func (st *State) fits(gap float64, parts int) error {
	if st.Gap != gap {
		return fmt.Errorf("the search was one to the gap %g, not %g", st.Gap, gap)
	}
	if len(st.Parts) != parts {
		return errNotThis
	}
	return nil
}

// resume takes a state over, or says why it is not one of this part.
func (s *search) resume(st *partState) error {
	pairs, all := len(s.sys.Pairs), s.branches()
	fits := func(fix []kkt.Fix) bool { return len(fix) == pairs }
	for side := range 2 {
		if len(st.Costs.Sum[side]) != all || len(st.Costs.Count[side]) != all {
			return errNotThis
		}
	}
	s.records = append([]record(nil), st.Records...)
	for _, o := range st.Open {
		if !fits(o.Fix) || int(o.ID) >= len(s.records) || o.ID < 0 || o.Branch >= all || !s.knows(o.Box) ||
			o.Slopes != nil && (s.lift == nil || len(o.Slopes) != len(s.lift.slopes)) {
			return errNotThis
		}
		s.open = append(s.open, &node{id: o.ID, fix: o.Fix, box: o.Box, slopes: o.Slopes, bound: float64(o.Bound), basis: o.Basis, depth: o.Depth,
			from: observation{o.Branch, o.Side, o.Length, float64(o.Parent)}})
	}
	for _, t := range st.Cuts {
		if t.Of < 0 || t.Of >= len(s.curved) || len(t.At) != s.sys.N || len(t.Lo) != len(t.Hi) || len(t.Lo) != s.curved[t.Of].end-s.curved[t.Of].first {
			return errNotThis
		}
	}
	s.cuts = slices.Clone(st.Cuts)
	s.costs = st.Costs.clone()
	if b := st.Best; b != nil {
		if len(b.Z) != s.sys.N || !fits(b.Fix) {
			return errNotThis
		}
		s.best = s.measure(&candidate{z: b.Z, fix: b.Fix, f: b.F})
	}
	s.least, s.effort, s.rounds, s.failed = float64(st.Least), st.effort, st.Rounds, st.Failed
	return nil
}
