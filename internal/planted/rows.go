package planted

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// rows are the rows of both families over (x, u): links first, then floors,
// then implied floors.
//
//	h(x, u) = left x + shift - right u
type rows struct {
	links       int
	activity    []Activity  // len m
	left, right *sparse.CSR // m x Dx, m x Dy
	shift       []float64   // len m
}

func (r *rows) len() int { return len(r.activity) }

// activities lists what each row is at the optimum, without the implied ones:
// links, then the floors in random order.
func (s source) activities(o Options) []Activity {
	out := make([]Activity, o.Links+o.Floors)
	for i := range o.Links {
		out[i] = link
	}
	floors := out[o.Links:]
	k := 0
	for _, c := range []struct {
		count int
		is    Activity
	}{{o.Active, active}, {o.Kinks, kink}, {o.Weak, weak}} {
		for range c.count {
			floors[k] = c.is
			k++
		}
	}
	s.Shuffle(len(floors), func(i, j int) { floors[i], floors[j] = floors[j], floors[i] })
	return out
}

// imply appends count floors, each a positive combination of two rows, less
// a margin: h_new = a h_i + b h_k - margin < 0 wherever h_i, h_k <= 0.
func (r *rows) imply(s source, count int) {
	if count == 0 {
		return
	}
	m := r.len()
	left, right := entriesOf(r.left), entriesOf(r.right)
	for n := m; n < m+count; n++ {
		shift := -s.within(0.1, 1)
		for _, i := range []int{s.IntN(m), s.IntN(m)} {
			a := s.within(0.5, 1.5)
			left = appendRow(left, r.left, i, n, a)
			right = appendRow(right, r.right, i, n, a)
			shift += a * r.shift[i]
		}
		r.activity = append(r.activity, inactive)
		r.shift = append(r.shift, shift)
	}
	r.left = sparse.FromEntries(m+count, r.left.Cols, left)
	r.right = sparse.FromEntries(m+count, r.right.Cols, right)
}

func entriesOf(m *sparse.CSR) []sparse.Entry {
	var list []sparse.Entry
	for i := range m.Rows {
		list = appendRow(list, m, i, i, 1)
	}
	return list
}

// appendRow appends a times row i of m, as row to.
func appendRow(list []sparse.Entry, m *sparse.CSR, i, to int, a float64) []sparse.Entry {
	for j, v := range m.Entries(i) {
		list = append(list, sparse.Entry{Row: to, Col: j, Val: a * v})
	}
	return list
}

// problemRows are the rows over (x, y): A = left, B = right R, b = -shift.
// Their names are those that the model's families give them.
func (r *rows) problemRows(axis []float64) *problem.Rows {
	m := r.len()
	p := &problem.Rows{Kind: make([]problem.Kind, m), A: r.left, B: reflectRows(r.right, axis),
		Rhs: make([]float64, m), Name: make([]string, m)}
	for i := range m {
		p.Rhs[i] = -r.shift[i]
		if i < r.links {
			p.Kind[i] = problem.Equal
			p.Name[i] = fmt.Sprintf("link[%d]", i+1)
		} else {
			p.Kind[i] = problem.AtMost
			p.Name[i] = fmt.Sprintf("floor[%d]", i+1-r.links)
		}
	}
	return p
}

// reflectRows returns m R; it stays sparse where R is the identity.
func reflectRows(m *sparse.CSR, axis []float64) *sparse.CSR {
	if floats.Dot(axis, axis) == 0 {
		return m
	}
	dense := m.Dense()
	for i := range m.Rows {
		row := dense[i*m.Cols : (i+1)*m.Cols]
		mirror(row, axis, row)
	}
	return sparse.FromDense(m.Rows, m.Cols, dense)
}

// upperSet draws X and the sign of the bound that each entry of x stands at:
// +1 at the lower one, -1 at the upper one, 0 inside. The box reaches a few
// units around x*; X is everything where nothing is to be active.
func (s source) upperSet(x []float64, active int) (set *problem.Set, side []float64) {
	n := len(x)
	set = &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n), E: sparse.FromEntries(0, n, nil)}
	side = make([]float64, n)
	for k, j := range s.Perm(n) {
		below, above := s.within(2, 4), s.within(2, 4)
		if k < active {
			side[j] = s.sign()
			if side[j] > 0 {
				below = 0
			} else {
				above = 0
			}
		}
		set.Lo[j], set.Hi[j] = x[j]-below, x[j]+above
		if active == 0 {
			set.Lo[j], set.Hi[j] = math.Inf(-1), math.Inf(1)
		}
	}
	return set, side
}
