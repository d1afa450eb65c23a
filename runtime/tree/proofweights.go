package tree

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// leafWeights are the weights of a leaf, in the model's units.
type leafWeights struct {
	Z            *entries `json:"z,omitempty"`
	Stationarity *entries `json:"stationarity,omitempty"`
	Lower        *entries `json:"lower,omitempty"`
	Upper        *entries `json:"upper,omitempty"`
	Extended     *entries `json:"extended,omitempty"`
	Coupled      *entries `json:"coupled,omitempty"`
	Levels       *entries `json:"levels,omitempty"`
	Duality      *entries `json:"duality,omitempty"`
	Slopes       *entries `json:"slopes,omitempty"`
	Along        *entries `json:"along,omitempty"`
	Curved       *entries `json:"curved,omitempty"`
}

// curvedIndex is the place of constraint k in a proof: coupled constraints, then balls of X.
func (pw *proofWriter) curvedIndex(k int) int {
	c := &pw.s.sys.Curved[k]
	if c.Coupled >= 0 {
		return c.Coupled
	}
	n := c.Ball
	if coupled := pw.s.sys.P.Coupled; coupled != nil {
		n += len(coupled.Kind)
	}
	return n
}

// entries of a vector that are not zero.
type entries struct {
	At  []int     `json:"at"`
	Val []float64 `json:"val"`
}

func (e *entries) add(at int, v float64) *entries {
	if v == 0 {
		return e
	}
	if e == nil {
		e = &entries{}
	}
	e.At, e.Val = append(e.At, at), append(e.Val, v)
	return e
}

// weights turns the multipliers of a relaxation, or weights that refute it, into those of the model's rows. The bounds of an entry of y are
// rows there. Signs that rounding has left wrong become zero, and so does what is rounding next to the largest: zeros are exact.
func (pw *proofWriter) weights(n *node, z, row, bound, curved []float64) *leafWeights {
	s := pw.s.sys
	w := &leafWeights{}
	noise := noiseOf(row, bound)
	reads := make([]bool, s.N)
	readBy := func(of *sparse.CSR) {
		for j := range reads {
			reads[j] = reads[j] || of != nil && of.Reads(j)
		}
	}
	readBy(pw.s.productHess)
	for k, t := range curved {
		if t > 0 {
			if s.Curved[k].Negated {
				t = -t
			}
			w.Curved = w.Curved.add(pw.curvedIndex(k), t)
			readBy(s.Curved[k].Hess)
		}
	}
	if z != nil {
		for j, v := range z[:s.N] {
			if reads[j] {
				w.Z = w.Z.add(pw.s.part.Cols[j], v*s.ColScale[j])
			}
		}
	}
	held := make([]bool, s.M)
	for k, f := range n.fix {
		held[s.Pairs[k].Row] = f == kkt.SlackZero
	}
	lower := make([]float64, s.M)
	for r, o := range s.Origin {
		v := row[r] * s.RowScale[r]
		if math.Abs(row[r]) <= noise {
			continue
		}
		switch o.Kind {
		case kkt.Stationarity:
			w.Stationarity = w.Stationarity.add(pw.answer(o.Index), v)
		case kkt.LowerRow:
			if v >= 0 || held[o.Index] || s.P.Rows.Kind[o.Index] == problem.Equal {
				lower[o.Index] = v
			}
		case kkt.UpperRow:
			if v <= 0 || s.P.X.Kind[o.Index] == problem.Equal {
				w.Upper = w.Upper.add(o.Index, v)
			}
		case kkt.ExtendedRow:
			w.Extended = w.Extended.add(o.Index, min(v, 0))
		case kkt.CoupledRow:
			if v <= 0 || s.P.Coupled.Kind[o.Index] == problem.Equal {
				w.Coupled = w.Coupled.add(o.Index, v)
			}
		}
	}
	rest := row[len(s.Origin):]
	if c := pw.s.concave; c != nil {
		for k, v := range rest[:len(c.V)] {
			if math.Abs(v) > noise {
				w.Along = w.Along.add(k, v)
			}
		}
		rest = rest[len(c.V):]
	}
	if l := pw.s.lift; l != nil {
		l.weights(w, pw, rest, noise)
	}
	for j, of := range pw.bounds {
		v := bound[j] / s.ColScale[j]
		if math.Abs(bound[j]) <= noise || of == [2]int{-1, -1} {
			continue
		}
		side := 0
		if v < 0 {
			side = 1
		}
		if other := of[1-side]; other >= 0 && held[other] && !(of[side] >= 0 && held[of[side]]) {
			side = 1 - side // the entry is held at its other bound
		}
		if i := of[side]; i >= 0 {
			_, coef := s.P.Rows.Bound(i)
			lower[i] = v / coef
		}
	}
	for i, v := range lower {
		w.Lower = w.Lower.add(pw.row(i), v)
	}
	return w
}

// noiseOf is what is rounding next to the largest: one of each.
func noiseOf(row, bound []float64) float64 {
	return max(linalg.NormInf(row), linalg.NormInf(bound)) * 0x1p-52 * float64(len(row)+len(bound))
}

// boundRows are, for each variable, the rows of the lower level behind its lower and upper bound; -1 for none.
func boundRows(s *kkt.System) [][2]int {
	of := slices.Repeat([][2]int{{-1, -1}}, s.N)
	for _, p := range s.Pairs {
		if v := p.Slack.Var; v >= 0 {
			side := 0
			if p.Slack.Upper {
				side = 1
			}
			of[v][side] = p.Row
		}
	}
	return of
}
