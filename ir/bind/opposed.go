package bind

import (
	"cmp"
	"math"
	"slices"

	"bilevelc/internal/each"
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
// row beside its negative; and of each pair that crosses by no more than constantTolerance
// of its sides, as bounds of x do (coincide). To the methods two such inequalities would be weakly
// active everywhere, on branches that F does not have. The first row of a pair
// stays, as an equality that knows of the other (ir.Row.Opposite). Rows that
// dual() reads stay as they are.
func (r *rows) unite() {
	p := r.prob
	if len(p.Unbound) > 0 {
		return // coefficients are not known yet
	}
	kept := slices.Repeat([]bool{true}, len(p.Rows))
	taken := map[int]bool{}
	for _, i := range p.Duals {
		taken[i] = true
	}
	free := func(i int) bool {
		r.b.meter.Step()
		return !p.Rows[i].Equal && !taken[i]
	}
	united := false
	members := make([]member, 0, len(p.Rows))
	for group := range sparse.Parallel(free, p.B, p.A) {
		members = members[:0]
		for _, i := range group {
			members = append(members, r.member(i))
		}
		united = r.pairUp(members, kept) || united
	}
	if united {
		r.keep(kept)
	}
}

// member is a row among those of its pattern: its right-hand side over its first
// coefficient, which two opposite rows share, and the sign of that coefficient, in
// which they differ.
type member struct {
	row      int
	side     float64
	negative bool
}

func (r *rows) member(i int) member {
	_, b := r.prob.B.Row(i)
	return member{row: i, side: r.prob.Rhs[i] / b[0], negative: b[0] < 0}
}

// pairUp makes an equality of each row, in their order, and the first before it that
// leaves no room beside it and has no other yet; the later one is not kept. Of those that
// are left the two that bind most either way may cross. It
// compares only rows whose sides are next to each other, so that a million rows on
// one entry take the time of sorting them. It reorders members.
func (r *rows) pairUp(members []member, kept []bool) (united bool) {
	if len(members) < 2 {
		return false
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Or(cmp.Compare(a.side, b.side), cmp.Compare(a.row, b.row)) })
	tight := [2]member{{row: -1}, {row: -1}} // the row that binds most, of either sign
	for len(members) > 0 {
		// Sides of rows that leave no room differ by its tolerance and by three
		// roundings, of 2^-53 each: by less than twice the tolerance.
		end := 1
		for end < len(members) && members[end].side-members[end-1].side <=
			2*oppositeTolerance*(math.Abs(members[end-1].side)+math.Abs(members[end].side)) {
			end++
		}
		near := members[:end]
		members = members[end:]
		slices.SortFunc(near, func(a, b member) int { return cmp.Compare(a.row, b.row) })
		var waiting [2][]int // rows without an opposite, by sign
		for _, m := range near {
			own, other := &waiting[0], &waiting[1]
			if m.negative {
				own, other = other, own
			}
			n := slices.IndexFunc(*other, func(i int) bool {
				r.b.meter.Step()
				_, ok := r.meet(i, m.row, 0)
				return ok
			})
			if n < 0 {
				*own = append(*own, m.row)
				continue
			}
			found := (*other)[n]
			if n == 0 {
				*other = (*other)[1:]
			} else {
				*other = slices.Delete(*other, n, n+1)
			}
			r.join(found, m.row, 0, kept)
			united = true
		}
		for sign, rows := range waiting {
			for _, i := range rows {
				m := r.member(i)
				if t := &tight[sign]; t.row < 0 || (m.side > t.side) == m.negative && m.side != t.side {
					*t = m
				}
			}
		}
	}
	if i, k := min(tight[0].row, tight[1].row), max(tight[0].row, tight[1].row); i >= 0 {
		if by, ok := r.meet(i, k, constantTolerance); ok && by > 0 {
			r.join(i, k, by, kept)
			united = true
		}
	}
	return united
}

// join makes one equality of row i and row k, opposite to it, which cross by by.
func (r *rows) join(i, k int, by float64, kept []bool) {
	first, row := &r.prob.Rows[i], r.prob.Rows[k]
	first.Equal = true
	first.Opposite = &ir.Opposite{Family: row.Family, Index: row.Index, Name: row.Name, Ratio: r.ratio(i, k), By: by}
	kept[k] = false
}

// ratio is what row i is to be multiplied by, and turned around, to be row k.
func (r *rows) ratio(i, k int) float64 {
	_, a := r.prob.B.Row(i)
	_, b := r.prob.B.Row(k)
	return -b[0] / a[0]
}

// meet reports that row k is row i turned around, h_k = -ratio h_i + by: by is 0, or positive and at most
// that part of the sides.
func (r *rows) meet(i, k int, part float64) (by float64, ok bool) {
	p, ratio := r.prob, r.ratio(i, k)
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		return 0, false
	}
	same := func(u, v float64) bool { // u = -ratio v
		return math.Abs(u+ratio*v) <= oppositeTolerance*(math.Abs(u)+ratio*math.Abs(v))
	}
	for _, m := range []*sparse.CSR{p.B, p.A} {
		_, a := m.Row(i)
		_, b := m.Row(k)
		for n := range a {
			if !same(b[n], a[n]) {
				return 0, false
			}
		}
	}
	if same(p.Rhs[k], p.Rhs[i]) {
		return 0, true
	}
	by = -p.Rhs[k] - ratio*p.Rhs[i]
	return by, by > 0 && by <= part*(math.Abs(p.Rhs[k])+ratio*math.Abs(p.Rhs[i]))
}

// keep leaves out the rows that are not kept.
func (r *rows) keep(kept []bool) {
	p := r.prob
	place := make([]int, len(kept))
	var rows []int
	for i, stays := range kept {
		if place[i] = len(rows); stays {
			rows = append(rows, i)
		}
	}
	for _, m := range []**sparse.CSR{&p.A, &p.B} {
		*m = (*m).Part(rows, each.Number((*m).Cols), (*m).Cols)
	}
	p.Rows, p.Rhs = pick(p.Rows, rows), pick(p.Rhs, rows)
	for k, i := range p.Duals {
		p.Duals[k] = place[i]
	}
}
