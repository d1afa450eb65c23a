package parametric

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// The rounding that decides on a row, relative to its terms: of a slack, and of a multiplier.
const (
	slackRounding = 1e-11
	forceRounding = 1e-13
)

// dependent is the part of a row's own length, squared and in the metric of H^-1, below which what the rows before it
// leave of it is rounding.
const dependent = 1e-11

// patience is the number of exchanges in a row that may leave as many rows wrong as before (Judice and
// Pires 1994: 10).
const patience = 10

// pivot finds the rows that hold y, with their multipliers in force, by block principal pivoting: all rows on the
// wrong side change it at once or, where that makes no progress, the last of them alone (Murty 1974), which comes to
// an end for every positive definite matrix. It starts from the rows of the last x.
func (q *Program) pivot() bool {
	fewest, left := q.m+1, patience
	for range 10*q.m + 100 {
		if !q.factor() {
			return false
		}
		wrong, ok := q.judge()
		switch {
		case !ok:
			return false
		case len(wrong) == 0:
			return true
		case len(wrong) < fewest:
			fewest, left = len(wrong), patience
		default:
			left--
		}
		if left < 0 {
			wrong = wrong[len(wrong)-1:]
		}
		for _, i := range wrong {
			q.in[i] = !q.in[i]
		}
	}
	return false
}

// judge finds the multipliers of the rows that are in, and the rows that are on the wrong side, ascending: false where
// x breaks one that y does not enter.
func (q *Program) judge() (wrong []int, ok bool) {
	force := q.force[:len(q.held)]
	for a, i := range q.held {
		force[a] = q.gap[i]
	}
	q.solve(force)
	moved := 0.0 // |B'lambda| in the metric of H^-1, squared: of what the rows move y by
	copy(q.off, q.gap)
	for a, i := range q.held {
		moved += force[a] * q.gap[i]
		linalg.Axpy(q.off, -force[a], q.gram[i*q.m:(i+1)*q.m])
	}
	moved = math.Sqrt(math.Max(0, moved))
	q.Read += float64(len(q.held) * (len(q.held) + q.m))
	a := 0
	for i, in := range q.in {
		own, equal := math.Sqrt(q.gram[i*q.m+i]), q.p.Rows.Kind[i] == problem.Equal
		if in {
			if !equal && force[a]*own < -forceRounding*moved {
				wrong = append(wrong, i)
			}
			a++
			continue
		}
		off := q.off[i]
		if equal {
			off = math.Abs(off)
		}
		if off > slackRounding*(math.Abs(q.rest[i])+math.Abs(q.gap[i])+own*moved) {
			if equal || own == 0 {
				return nil, false
			}
			wrong = append(wrong, i)
		}
	}
	return wrong, true
}

// factor factorizes the part of the matrix that belongs to the rows in; false where these depend on each other.
func (q *Program) factor() bool {
	same := q.held != nil
	k := 0
	for i, in := range q.in {
		if in {
			same = same && k < len(q.held) && q.held[k] == i
			k++
		}
	}
	if same && k == len(q.held) {
		return true
	}
	if k > q.n {
		return false
	}
	q.held = slices.Grow(q.held[:0], k+1)
	for i, in := range q.in {
		if in {
			q.held = append(q.held, i)
		}
	}
	for a, i := range q.held {
		row := q.gram[i*q.m : (i+1)*q.m]
		for b := a; b < k; b++ {
			q.room[a*k+b] = row[q.held[b]]
		}
	}
	q.Read += float64(k * k * k / 6)
	var ok bool
	q.factors, ok = linalg.NewCholesky(k, q.room[:k*k])
	ok = ok && q.factors.Kept(func(a int) float64 { return q.gram[q.held[a]*(q.m+1)] }) > dependent
	if !ok {
		q.Reset()
	}
	return ok
}

// solve overwrites v (one for each row held) with the solution of their system.
func (q *Program) solve(v []float64) {
	if len(v) > 0 {
		q.factors.SolveT(v)
		q.factors.Solve(v)
	}
}
