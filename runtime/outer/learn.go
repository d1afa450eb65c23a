package outer

import (
	"encoding/json"
	"maps"
	"slices"
	"sort"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
)

// learn tells a method and its hyperobjective what a run nearby has found.
func learn(from *Checkpoint, m Method, h oracle.Hyperobjective, start []float64) {
	if b, ok := m.(*bundle); ok {
		b.study(from)
	}
	h.Recall(from.Hyper, start)
}

// study takes what a run on a problem nearby says of F, before Begin. One of another method, or of
// other Dimensions, is used as far as it goes.
func (m *bundle) study(run *Checkpoint) {
	var old bundleState
	if run.Method == "bundle" && json.Unmarshal(run.State, &old) == nil && old.H.known() {
		m.learned = old.H
	}
	// A run that ended next to where it began has not seen the curvature itself.
	if run.Best != nil && m.learned.Updates < len(run.Best.X) {
		if h := (history{all: run.Seen}).curvature(run.Best.X); h.Updates > m.learned.Updates {
			m.learned = h
		}
	}
}

// known reports a curvature of numbers that has learned something.
func (q quasiNewton) known() bool {
	return (q.H != nil || len(q.Pairs) > 0) && q.valid() == nil
}

// recall starts with the curvature that was learned elsewhere, where it is of F's Dimensions.
func (m *bundle) recall() {
	s := &m.State
	if h := m.learned; h.known() && h.N == len(s.Center.X) {
		s.H, s.WarmCurvature = h, true
	}
}

// Seen is a gradient that a run has met.
type Seen struct {
	X      []float64 `json:"x"`
	G      []float64 `json:"g"`
	GError float64   `json:"error"`
	Piece  string    `json:"piece"`
}

// history is gradients that a run has met, whatever its method, spread over the run:
// more of its end than of its beginning. Those that are there do not change; with adds behind them, in what room there is.
type history struct{ all []Seen }

// with is the history with one more gradient. Where it is full, every second one of its
// older half goes.
func (h history) with(s *Sample) history {
	// 64 gradients, of 20,000 numbers in all.
	most := min(64, 20000/(2*max(1, len(s.X))))
	if s.G == nil || most < 4 {
		return h
	}
	if len(h.all) >= most {
		kept := make([]Seen, 0, most)
		for i, old := range h.all {
			if i >= len(h.all)/2 || i%2 == 0 {
				kept = append(kept, old)
			}
		}
		h.all = kept
	}
	return history{append(h.all, Seen{X: s.X, G: s.G, GError: s.GError, Piece: s.Piece})}
}

// curvature is the BFGS matrix of the pieces near x: pairs of neighbors on one piece,
// the nearest last, which the matrix then knows best.
func (h history) curvature(x []float64) quasiNewton {
	q := newQuasiNewton(len(x), 1)
	byPiece := map[string][]Seen{}
	for _, s := range h.all {
		if len(s.X) == len(x) && len(s.G) == len(x) && linalg.Finite(s.X) && linalg.Finite(s.G) {
			byPiece[s.Piece] = append(byPiece[s.Piece], s)
		}
	}
	type neighbors struct {
		away float64
		a, b Seen
	}
	var pairs []neighbors
	for _, piece := range slices.Sorted(maps.Keys(byPiece)) {
		samples := byPiece[piece]
		sort.SliceStable(samples, func(i, j int) bool { return linalg.Distance(samples[i].X, x) > linalg.Distance(samples[j].X, x) })
		for i := 1; i < len(samples); i++ {
			pairs = append(pairs, neighbors{linalg.Distance(samples[i-1].X, x), samples[i-1], samples[i]})
		}
	}
	sort.SliceStable(pairs, func(i, j int) bool { return pairs[i].away > pairs[j].away })
	for _, p := range pairs {
		q = q.update(linalg.Minus(p.b.X, p.a.X), linalg.Minus(p.b.G, p.a.G), p.a.GError+p.b.GError)
	}
	return q
}
