package bind

import (
	"encoding/binary"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
)

// oppositeTolerance is how far the sides of two opposite rows may be apart,
// relative to their size, and still leave no room: sides that are meant to be
// the same number, each rounded once when it is read and a few times when it is
// computed.
const oppositeTolerance = 0x1p-49

// unite makes one equality of each pair of lower-level inequalities that leave
// no room between them: a box from a number to itself, y >= 0 beside y <= 0, a
// row beside its negative. To the methods two such inequalities would be weakly
// active everywhere, on pieces that F does not have. The first row of a pair
// stays, as an equality that knows of the other (ir.Row.Opposite). Rows that
// dual() reads stay as they are.
func (r *rows) unite() {
	p := r.prob
	if len(p.Unbound) > 0 {
		return // coefficients are not known yet
	}
	kept := make([]bool, len(p.Rows))
	for i := range kept {
		kept[i] = true
	}
	taken := map[int]bool{}
	for _, i := range p.Duals {
		taken[i] = true
	}
	seen := map[string][]int{}
	united := false
	for k, row := range p.Rows {
		if cols, _ := p.B.Row(k); row.Equal || taken[k] || len(cols) == 0 {
			continue
		}
		key := r.pattern(k)
		found := -1
		for _, i := range seen[key] {
			if kept[i] && !p.Rows[i].Equal && r.noRoom(i, k) {
				found = i
				break
			}
		}
		if found < 0 {
			seen[key] = append(seen[key], k)
			continue
		}
		p.Rows[found].Equal = true
		p.Rows[found].Opposite = &ir.Opposite{Family: row.Family, Index: row.Index, Ratio: r.ratio(found, k)}
		kept[k], united = false, true
	}
	if united {
		r.keep(kept)
	}
}

// pattern is the same for rows that are multiples of each other: the columns,
// and the coefficients over the first, to about seven digits.
func (r *rows) pattern(i int) string {
	var key []byte
	first := 0.0
	for _, m := range []*sparse.CSR{r.prob.B, r.prob.A} {
		cols, vals := m.Row(i)
		key = binary.AppendUvarint(key, uint64(len(cols)))
		for k, j := range cols {
			if first == 0 {
				first = vals[k]
			}
			key = binary.AppendUvarint(key, uint64(j))
			key = binary.LittleEndian.AppendUint32(key, math.Float32bits(float32(vals[k]/first)))
		}
	}
	return string(key)
}

// ratio is what row i is to be multiplied by, and turned around, to be row k.
func (r *rows) ratio(i, k int) float64 {
	_, a := r.prob.B.Row(i)
	_, b := r.prob.B.Row(k)
	return -b[0] / a[0]
}

// noRoom reports that row k is row i turned around: h_k = -ratio h_i.
func (r *rows) noRoom(i, k int) bool {
	p, ratio := r.prob, r.ratio(i, k)
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		return false
	}
	same := func(u, v float64) bool { // u = -ratio v
		return math.Abs(u+ratio*v) <= oppositeTolerance*(math.Abs(u)+ratio*math.Abs(v))
	}
	for _, m := range []*sparse.CSR{p.B, p.A} {
		_, a := m.Row(i)
		_, b := m.Row(k)
		for n := range a {
			if !same(b[n], a[n]) {
				return false
			}
		}
	}
	return same(p.Rhs[k], p.Rhs[i])
}

// keep leaves out the rows that are not kept.
func (r *rows) keep(kept []bool) {
	p := r.prob
	place := make([]int, len(kept))
	a, b := emptyCSR(p.A.Cols), emptyCSR(p.B.Cols)
	var rows []ir.Row
	var rhs []float64
	for i, stays := range kept {
		place[i] = len(rows)
		if !stays {
			continue
		}
		for _, m := range []struct{ from, to *sparse.CSR }{{p.A, a}, {p.B, b}} {
			cols, vals := m.from.Row(i)
			m.to.Col, m.to.Val = append(m.to.Col, cols...), append(m.to.Val, vals...)
			endRow(m.to)
		}
		rows, rhs = append(rows, p.Rows[i]), append(rhs, p.Rhs[i])
	}
	p.A, p.B, p.Rows, p.Rhs = a, b, rows, rhs
	for k, i := range p.Duals {
		p.Duals[k] = place[i]
	}
}
