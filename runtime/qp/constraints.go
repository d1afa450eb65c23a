package qp

import (
	"cmp"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
)

// isPiece reports whether constraint k is a piece.
func (ws *Workspace) isPiece(k int) bool { return k >= ws.m+2*ws.n }

// isBound reports whether constraint k is a bound.
func (ws *Workspace) isBound(k int) bool { return k >= ws.m && !ws.isPiece(k) }

// entry is the variable that constraint k bounds, and the sign of its gradient; -1 where it is no bound.
func (ws *Workspace) entry(k int) (j int, sign float64) {
	switch {
	case k < ws.m || ws.isPiece(k):
		return -1, 0
	case k < ws.m+ws.n:
		return k - ws.m, -1
	}
	return k - ws.m - ws.n, 1
}

// bound is the side of bound k.
func (ws *Workspace) bound(k int) float64 {
	if k < ws.m+ws.n {
		return ws.p.Lo[k-ws.m]
	}
	return ws.p.Hi[k-ws.m-ws.n]
}

// boundOf is the constraint that holds fixed entry j.
func (ws *Workspace) boundOf(j int) int {
	if ws.fixed[j] < 0 {
		return ws.m + j
	}
	return ws.m + ws.n + j
}

// addGradient adds t times the gradient of constraint k to dst, and the sizes of what it adds to sizes, which may be nil.
func (ws *Workspace) addGradient(dst, sizes []float64, k int, t float64) {
	add := func(j int, v float64) {
		dst[j] += t * v
		if sizes != nil {
			sizes[j] += math.Abs(t * v)
		}
	}
	switch j, sign := ws.entry(k); {
	case j >= 0:
		add(j, sign)
	case k < ws.m:
		for j, v := range ws.p.A.Entries(k) {
			add(j, v)
		}
	default:
		for j, v := range ws.p.Pieces[k-ws.m-2*ws.n].Gradient {
			add(j, v)
		}
	}
}

// value is the value of a constraint at z: of an affine function, a row's a'z - b, or how
// far a bound is crossed.
func (ws *Workspace) value(k int, z []float64) float64 {
	j, sign := ws.entry(k)
	switch {
	case k < ws.m:
		return ws.p.A.RowDot(k, z) - ws.p.B[k]
	case j >= 0:
		return sign * (z[j] - ws.bound(k))
	}
	a := &ws.p.Pieces[k-ws.m-2*ws.n]
	return a.Offset + linalg.Dot(a.Gradient, z[:len(a.Gradient)])
}

// exists reports whether constraint number k is finite.
func (ws *Workspace) exists(k int) bool {
	switch p := ws.p; {
	case k < ws.m || ws.isPiece(k):
		return true
	case k < ws.m+ws.n:
		return p.Lo != nil && !math.IsInf(p.Lo[k-ws.m], -1)
	default:
		j := k - ws.m - ws.n
		return p.Hi != nil && !math.IsInf(p.Hi[j], 1) && (p.Lo == nil || p.Lo[j] < p.Hi[j])
	}
}

// isEqual reports whether constraint k is an equality: a fixed variable is
// one, carried by its lower bound.
func (ws *Workspace) isEqual(k int) bool {
	switch p := ws.p; {
	case k < ws.m:
		return p.Equal != nil && p.Equal[k]
	case k < ws.m+ws.n:
		return p.Lo != nil && p.Hi != nil && p.Lo[k-ws.m] >= p.Hi[k-ws.m]
	}
	return false
}

// termSize is the size of the terms of constraint k at z, |a|'t + |b|, where t_j
// is the size of the terms of z_j: a z_j of 0 may be what rounding has left of
// large ones.
func (ws *Workspace) termSize(k int) float64 {
	size := ws.sideTerms(k)
	switch j, _ := ws.entry(k); {
	case j >= 0:
		size += ws.termSizes[j]
	case k < ws.m:
		for j, v := range ws.p.A.Entries(k) {
			size += math.Abs(v) * ws.termSizes[j]
		}
	default:
		size += math.Abs(ws.level)
		for j, v := range ws.p.Pieces[k-ws.m-2*ws.n].Gradient {
			size += math.Abs(v) * ws.termSizes[j]
		}
	}
	return size
}

// sideTerms is the size of the terms of the side of constraint k.
func (ws *Workspace) sideTerms(k int) float64 {
	j, _ := ws.entry(k)
	switch {
	case k < ws.m:
		return ws.p.terms(k)
	case j >= 0:
		return math.Max(math.Abs(ws.bound(k)), ws.p.boundTerms(j))
	}
	return math.Abs(ws.p.Pieces[k-ws.m-2*ws.n].Offset)
}

// terms is the size of the terms of b_i.
func (p *Problem) terms(i int) float64 {
	if p.Terms == nil {
		return math.Abs(p.B[i])
	}
	return math.Max(math.Abs(p.B[i]), p.Terms[i])
}

// boundTerms is the size of the terms of the bounds of z_j, as far as it is known
// to exceed theirs.
func (p *Problem) boundTerms(j int) float64 {
	if p.BoundTerms == nil {
		return 0
	}
	return p.BoundTerms[j]
}

// breach is a constraint that z violates, by more than rounding.
type breach struct {
	number int
	by     float64 // its value, of either sign for an equality
	away   float64 // the distance of z from it; infinite for an equality
}

// violated lists the breaches at z, the furthest first and equalities before others; the
// list is the workspace's.
func (ws *Workspace) violated() []breach {
	ws.broken = ws.broken[:0]
	for k := range ws.member {
		j, _ := ws.entry(k)
		if ws.member[k] || ws.ignored[k] || j >= 0 && (ws.fixed[j] != 0 || !ws.exists(k)) {
			continue
		}
		h, equal := ws.value(k, ws.z), ws.isEqual(k)
		if ws.isPiece(k) {
			h -= ws.level
		}
		away := h
		if equal {
			away = math.Abs(h)
		}
		if away <= 0 || away <= ws.slackTol*ws.termSize(k) {
			continue
		}
		if ws.length[k] > 0 {
			away /= ws.length[k]
		}
		if equal {
			away = math.Inf(1)
		}
		ws.broken = append(ws.broken, breach{k, h, away})
	}
	slices.SortStableFunc(ws.broken, func(a, b breach) int { return cmp.Compare(b.away, a.away) })
	return ws.broken
}
