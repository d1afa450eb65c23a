package qp

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// inconsistency is the violation, relative to the size of the terms of the
// constraints that take part, up to which a system counts as one that can be
// satisfied: data come in decimals and as results of other computations, and a
// contradiction in their last seven digits is not one that a model states.
const inconsistency = 1e-9

// reach is how far out, in units of the constraints' own scale (the largest
// distance of one of their hyperplanes from 0), points are excluded by a proof
// of infeasibility. Weights in double precision combine the normals to about
// 1e-15 and not to 0, so that a proof holds up to some distance only.
const reach = 1e6

// evidence collects a Farkas combination in double precision with a bound of
// its rounding: sum_i weight_i (a_i'z - b_i) with weights >= 0 on inequalities
// is at most 0 at every z that satisfies them. A sum of k terms errs by at most
// k units of rounding of the sum of their absolute values (Higham, Accuracy and
// Stability of Numerical Algorithms, section 3.1).
type evidence struct {
	normal   []float64 // sum_i weight_i a_i
	size     []float64 // sum_i |weight_i a_i|, entry by entry
	side     float64   // sum_i weight_i b_i
	terms    float64   // sum_i |weight_i| times the size of b_i's terms
	distance float64   // the largest distance of a hyperplane from 0
	total    float64   // sum_i |weight_i| |a_i|
	count    int       // of constraints
	longest  int       // of the sums within one
}

func newEvidence(n int) *evidence {
	return &evidence{normal: make([]float64, n), size: make([]float64, n)}
}

// add counts the constraint a'z <= b, with the entries of a given, whose b is a
// sum of terms of the given size (at least |b|).
func (e *evidence) add(weight float64, cols []int, vals []float64, b, terms float64) {
	norm := linalg.Norm(vals)
	for k, j := range cols {
		e.normal[j] += weight * vals[k]
		e.size[j] += math.Abs(weight * vals[k])
	}
	e.side += weight * b
	e.terms += math.Abs(weight) * terms
	e.total += math.Abs(weight) * norm
	if norm > 0 {
		e.distance = math.Max(e.distance, terms/norm)
	}
	e.count++
	e.longest = max(e.longest, len(vals))
}

// bound uses up the entry j of the combined normal by the bounds lo <= z_j <= hi,
// which may be infinite and are sums of terms of at least the given size.
func (e *evidence) bound(j int, lo, hi, terms float64) {
	at, v := lo, -e.normal[j]
	if v > 0 {
		at = hi
	}
	if v == 0 || math.IsInf(at, 0) || math.IsNaN(at) {
		return
	}
	e.side += v * at
	terms = math.Max(terms, math.Abs(at))
	e.terms += math.Abs(v) * terms
	e.total += math.Abs(v)
	e.distance = math.Max(e.distance, terms)
	e.normal[j] = 0
}

// proves reports that no z within reach satisfies the constraints, even if each
// is widened by `inconsistency` times its terms and its norm times their scale.
func (e *evidence) proves() bool {
	rounding := float64(e.count+e.longest+8) * 0x1p-53
	margin := (inconsistency + rounding) * (e.terms + e.total*e.distance)
	for j, v := range e.normal {
		if v != 0 || e.size[j] != 0 {
			margin += (math.Abs(v) + rounding*e.size[j]) * reach * e.distance
		}
	}
	return -e.side > margin && !math.IsInf(margin, 0)
}

// Refuted reports whether the weights u (len m), >= 0 on AtMost rows, prove that
// no y satisfies the rows h(x, y) = A x - B y - b at x: that u'B = 0 and
// u'(A x - b) > 0 beyond rounding and beyond a tolerance relative to the terms.
// It trusts nothing that the finder of u has computed.
func Refuted(rows *problem.Rows, x, u []float64) bool {
	e := newEvidence(rows.B.Cols)
	largest := 0.0
	for _, w := range u {
		largest = math.Max(largest, math.Abs(w))
	}
	var minus []float64
	for i, w := range u {
		if w == 0 {
			continue
		}
		if w < 0 && rows.Kind[i] == problem.AtMost || math.IsNaN(w) {
			return false
		}
		side, terms := rows.Rhs[i], math.Abs(rows.Rhs[i])
		cols, vals := rows.A.Row(i)
		for k, j := range cols {
			side -= vals[k] * x[j]
			terms += math.Abs(vals[k] * x[j])
		}
		e.longest = max(e.longest, len(cols))
		cols, vals = rows.B.Row(i)
		minus = minus[:0]
		for _, v := range vals {
			minus = append(minus, -v)
		}
		e.add(w/largest, cols, minus, side, terms)
	}
	return e.proves()
}

// refuted reports whether weights of rows, >= 0 on inequalities, with the bounds
// that they call for, prove that no z satisfies the constraints of p.
func (p *Problem) refuted(weights []float64) bool {
	e := newEvidence(p.H.Dim())
	largest := 0.0
	for _, w := range weights {
		largest = math.Max(largest, math.Abs(w))
	}
	for i, w := range weights {
		if w == 0 {
			continue
		}
		if w < 0 && !(p.Equal != nil && p.Equal[i]) || math.IsNaN(w) {
			return false
		}
		cols, vals := p.A.Row(i)
		e.add(w/largest, cols, vals, p.B[i], p.terms(i))
	}
	for j := range e.normal {
		lo, hi := math.Inf(-1), math.Inf(1)
		if p.Lo != nil {
			lo = p.Lo[j]
		}
		if p.Hi != nil {
			hi = p.Hi[j]
		}
		e.bound(j, lo, hi, p.boundTerms(j))
	}
	return e.proves()
}
