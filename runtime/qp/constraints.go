package qp

import (
	"math"

	"bilevelc/runtime/linalg"
)

// orient loads the unit normal of constraint k into ws.normal, in the metric
// of H and pointing out of the feasible side.
func (ws *Workspace) orient(k int, sign float64) active {
	for j := range ws.normal {
		ws.normal[j] = 0
	}
	rhs := ws.addNormal(ws.normal, k, sign)
	ws.p.H.solveT(ws.normal)
	a := active{number: k, equal: ws.isEqual(k), sign: sign, norm: linalg.Norm(ws.normal)}
	if a.norm > 0 {
		for j := range ws.normal {
			ws.normal[j] /= a.norm
		}
		a.rhs, a.terms = rhs/a.norm, ws.sideTerms(k)/a.norm
	}
	return a
}

// addNormal adds sign times the normal of constraint k, as a'z <= b, to dst
// and returns sign times b.
func (ws *Workspace) addNormal(dst []float64, k int, sign float64) float64 {
	switch p := ws.p; {
	case k < ws.m:
		p.A.AddRow(dst, k, sign)
		return sign * p.B[k]
	case k < ws.m+ws.n:
		dst[k-ws.m] -= sign
		return -sign * p.Lo[k-ws.m]
	default:
		dst[k-ws.m-ws.n] += sign
		return sign * p.Hi[k-ws.m-ws.n]
	}
}

// exists reports whether constraint number k is finite.
func (ws *Workspace) exists(k int) bool {
	switch p := ws.p; {
	case k < ws.m:
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
	switch p := ws.p; {
	case k < ws.m:
		cols, vals := p.A.Row(k)
		for t, j := range cols {
			size += math.Abs(vals[t]) * ws.termSizes[j]
		}
	case k < ws.m+ws.n:
		size += ws.termSizes[k-ws.m]
	default:
		size += ws.termSizes[k-ws.m-ws.n]
	}
	return size
}

// sideTerms is the size of the terms of the side of constraint k.
func (ws *Workspace) sideTerms(k int) float64 {
	switch p := ws.p; {
	case k < ws.m:
		return p.terms(k)
	case k < ws.m+ws.n:
		return math.Max(math.Abs(p.Lo[k-ws.m]), p.boundTerms(k-ws.m))
	default:
		j := k - ws.m - ws.n
		return math.Max(math.Abs(p.Hi[j]), p.boundTerms(j))
	}
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

// mostViolated returns the constraint outside the working set that is furthest
// violated in Euclidean distance, equalities first; k = -1 where none is.
func (ws *Workspace) mostViolated() (k int, violation, sign float64) {
	p := ws.p
	k = -1
	worst, worstEqual := 0.0, false
	consider := func(number int, h, norm float64, equal bool) {
		s := 1.0
		if equal && h < 0 {
			h, s = -h, -1
		}
		if math.IsNaN(h) {
			k, violation, sign, worst = number, h, s, math.Inf(1)
			return
		}
		if h <= 0 || (worstEqual && !equal) || h <= ws.slackTol*ws.termSize(number) {
			return
		}
		d := h
		if norm > 0 {
			d = h / norm
		}
		if d > worst || (equal && !worstEqual) {
			k, violation, sign, worst, worstEqual = number, h, s, d, equal
		}
	}
	for i := 0; i < ws.m; i++ {
		if !ws.member[i] && !ws.ignored[i] {
			consider(i, p.A.RowDot(i, ws.z)-p.B[i], ws.rowNorm[i], ws.isEqual(i))
		}
	}
	for j := 0; j < ws.n; j++ {
		if lo := ws.m + j; p.Lo != nil && !ws.member[lo] && !ws.ignored[lo] {
			consider(lo, p.Lo[j]-ws.z[j], 1, ws.isEqual(lo))
		}
		if hi := ws.m + ws.n + j; p.Hi != nil && !ws.member[hi] && !ws.ignored[hi] && ws.exists(hi) {
			consider(hi, ws.z[j]-p.Hi[j], 1, false)
		}
	}
	return k, violation, sign
}
