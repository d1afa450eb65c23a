package qp

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// evidence collects a Farkas combination in double precision with a bound of
// its rounding: sum_i weight_i (a_i'z - b_i) with weights >= 0 on inequalities
// is at most 0 at every z that satisfies them. A sum of k terms errs by at most
// k units of rounding of the sum of their absolute values (Higham, Accuracy and
// Stability of Numerical Algorithms, section 3.1).
type evidence struct {
	normal  []float64 // sum_i weight_i a_i
	size    []float64 // sum_i |weight_i a_i|, entry by entry
	side    float64   // sum_i weight_i b_i
	terms   float64   // sum_i |weight_i| times the size of b_i's terms
	planes  []plane
	longest int // of the sums within one
}

// plane is a constraint's: its weight, its normal's entries, and the size of its side's terms.
type plane struct {
	weight float64
	cols   []int
	vals   []float64
	terms  float64
}

func newEvidence(n int) *evidence {
	return &evidence{normal: make([]float64, n), size: make([]float64, n)}
}

// add counts the constraint a'z <= b, with the entries of a given, whose b is a
// sum of terms of the given size (at least |b|).
func (e *evidence) add(weight float64, cols []int, vals []float64, b, terms float64) {
	for k, j := range cols {
		e.normal[j] += weight * vals[k]
		e.size[j] += math.Abs(weight * vals[k])
	}
	e.side += weight * b
	e.terms += math.Abs(weight) * terms
	e.planes = append(e.planes, plane{math.Abs(weight), slices.Clone(cols), slices.Clone(vals), terms})
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
	e.planes = append(e.planes, plane{math.Abs(v), []int{j}, []float64{1}, terms})
	e.normal[j] = 0
}

// lengths are how far out each entry of z is where constraints cut its axis nearest to 0, or those that do not go through 0 by way of others; the longest for entries of
// constraints that all go through 0. They are in the units of z, whatever these are.
func (e *evidence) lengths() []float64 {
	out := slices.Repeat([]float64{math.Inf(1)}, len(e.normal))
	for changed, far := true, false; changed || !far; {
		far = far || !changed
		changed = false
		next := slices.Clone(out)
		for _, p := range e.planes {
			terms := p.terms
			if far { // as far as the other entries take it
				for k, j := range p.cols {
					if !math.IsInf(out[j], 1) {
						terms = math.Max(terms, math.Abs(p.vals[k])*out[j])
					}
				}
			}
			for k, j := range p.cols {
				if at := terms / math.Abs(p.vals[k]); terms > 0 && at < next[j] && (!far || math.IsInf(out[j], 1)) {
					next[j], changed = at, true
				}
			}
		}
		out = next
	}
	most := 0.0
	for _, t := range out {
		if !math.IsInf(t, 1) {
			most = math.Max(most, t)
		}
	}
	for j, t := range out {
		if math.IsInf(t, 1) {
			out[j] = most
		}
	}
	return out
}

// proves reports that no z within reach, which is as far as six digits tell the constraints' own scale (the largest distance of one of their
// hyperplanes from 0, see lengths), as weights in double precision combine the normals to 1e-15 and not to 0, satisfies the constraints, even if each
// is widened by `inconsistency` times its terms and its norm times their scale.
func (e *evidence) proves() bool {
	length, distance := e.lengths(), 0.0
	norm := func(p *plane) (size float64) {
		for k, j := range p.cols {
			size = math.Hypot(size, p.vals[k]*length[j])
		}
		return size
	}
	total := 0.0
	for i := range e.planes {
		p := &e.planes[i]
		if size := norm(p); size > 0 {
			distance = math.Max(distance, p.terms/size)
			total += p.weight * size
		}
	}
	rounding := float64(len(e.planes)+e.longest+8) * 0x1p-53
	margin := (tolerance.Sign + rounding) * (e.terms + total*distance)
	for j, v := range e.normal {
		if v != 0 || e.size[j] != 0 {
			margin += (math.Abs(v) + rounding*e.size[j]) / tolerance.Target * distance * length[j]
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
	largest := linalg.NormInf(u)
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
	largest := linalg.NormInf(weights)
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
