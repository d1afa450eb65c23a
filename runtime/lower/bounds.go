package lower

import (
	"math"

	"bilevelc/runtime/qp"
)

// entryBounds are the bounds on each entry of y at one x, with the rows of that entry alone that give them.
type entryBounds struct {
	lo, hi       []float64 // len n
	loRow, hiRow []int     // -1 for none
}

// unbounded takes all bounds away.
func (b *entryBounds) unbounded() {
	for j := range b.lo {
		b.lo[j], b.hi[j], b.loRow[j], b.hiRow[j] = math.Inf(-1), math.Inf(1), -1, -1
	}
}

// read takes the tightest bounds that the rows of a polyhedron give, equations only where they count as bounds.
func (b *entryBounds) read(q *polyhedron, equations bool) {
	b.unbounded()
	for i, j := range q.bound {
		if j < 0 || q.equal(i) && !equations {
			continue
		}
		at := q.rhs[i] / q.coef[i]
		if (q.coef[i] > 0 || q.equal(i)) && at > b.lo[j] {
			b.lo[j], b.loRow[j] = at, i
		}
		if (q.coef[i] < 0 || q.equal(i)) && at < b.hi[j] {
			b.hi[j], b.hiRow[j] = at, i
		}
	}
}

// crossed is a proof that two bounds on one entry contradict each other, or nil: it weighs the rows y_j >= lo and y_j <= hi to 0 >= lo - hi.
func (b *entryBounds) crossed(q *polyhedron) []float64 {
	for j, lo := range b.lo {
		if !(lo > b.hi[j]) || math.IsInf(lo-b.hi[j], 0) {
			continue
		}
		witness := make([]float64, q.m)
		b.weigh(witness, q, j, 1)
		b.weigh(witness, q, j, -1)
		if qp.Refuted(q.rows, q.x, witness) {
			return witness
		}
	}
	return nil
}

// weigh puts into a combination of rows the weight v of y_j >= lo or, where it is negative, of y_j <= hi.
func (b *entryBounds) weigh(combination []float64, q *polyhedron, j int, v float64) {
	row := b.loRow[j]
	if v < 0 {
		row = b.hiRow[j]
	}
	if v != 0 && row >= 0 {
		combination[row] = v / q.coef[row]
	}
}
