package sparse

import "sort"

// At returns the entry at row i and column j.
func (m *CSR) At(i, j int) float64 {
	cols, vals := m.Row(i)
	if k := sort.SearchInts(cols, j); k < len(cols) && cols[k] == j {
		return vals[k]
	}
	return 0
}

// Add returns alpha a + beta b for matrices of one shape.
func Add(alpha float64, a *CSR, beta float64, b *CSR) *CSR {
	room := a.NNZ() + b.NNZ()
	m := &CSR{Rows: a.Rows, Cols: a.Cols, Ptr: make([]int, a.Rows+1), Col: make([]int, 0, room), Val: make([]float64, 0, room)}
	for i := 0; i < a.Rows; i++ {
		ac, av := a.Row(i)
		bc, bv := b.Row(i)
		for len(ac) > 0 || len(bc) > 0 {
			var j int
			var v float64
			switch {
			case len(bc) == 0 || len(ac) > 0 && ac[0] < bc[0]:
				j, v = ac[0], alpha*av[0]
				ac, av = ac[1:], av[1:]
			case len(ac) == 0 || bc[0] < ac[0]:
				j, v = bc[0], beta*bv[0]
				bc, bv = bc[1:], bv[1:]
			default:
				j, v = ac[0], alpha*av[0]+beta*bv[0]
				ac, av, bc, bv = ac[1:], av[1:], bc[1:], bv[1:]
			}
			m.Col = append(m.Col, j)
			m.Val = append(m.Val, v)
		}
		m.Ptr[i+1] = len(m.Col)
	}
	return m
}

// Mul returns the product a b, row by row over a dense accumulator of one row
// (Gustavson, 1978). The time is that of the multiplications.
func Mul(a, b *CSR) *CSR {
	room := 0 // at most the multiplications, and at most a full matrix
	for _, l := range a.Col {
		room += b.Ptr[l+1] - b.Ptr[l]
	}
	if b.Cols > 0 && room/b.Cols > a.Rows {
		room = a.Rows * b.Cols
	}
	m := &CSR{Rows: a.Rows, Cols: b.Cols, Ptr: make([]int, a.Rows+1), Col: make([]int, 0, room), Val: make([]float64, 0, room)}
	sum := make([]float64, b.Cols)
	seen := make([]int, b.Cols) // seen[j] == i+1: column j is in row i
	for i := 0; i < a.Rows; i++ {
		start := len(m.Col)
		ac, av := a.Row(i)
		for k, l := range ac {
			bc, bv := b.Row(l)
			for t, j := range bc {
				if seen[j] != i+1 {
					seen[j], sum[j] = i+1, 0
					m.Col = append(m.Col, j)
				}
				sum[j] += av[k] * bv[t]
			}
		}
		if !sort.IntsAreSorted(m.Col[start:]) {
			sort.Ints(m.Col[start:])
		}
		for _, j := range m.Col[start:] {
			m.Val = append(m.Val, sum[j])
		}
		m.Ptr[i+1] = len(m.Col)
	}
	return m
}

// Part is the rows of m that are listed, their columns at their places among n, ascending; those whose place is negative are left out.
func (m *CSR) Part(rows, place []int, n int) *CSR {
	out := Empty(n)
	for _, i := range rows {
		for j, v := range m.Nonzeros(i) {
			if place[j] >= 0 {
				out.Append(place[j], v)
			}
		}
		out.EndRow()
	}
	return out
}

// InUnits is the matrix of a quadratic as one of its entries over their units: entry (i, j) times unit_i unit_j.
func (m *CSR) InUnits(unit []float64) *CSR {
	out := m.Clone()
	for i := range m.Rows {
		cols, vals := out.Row(i)
		for t, j := range cols {
			vals[t] *= unit[i] * unit[j]
		}
	}
	return out
}

// Clone returns a copy of m that shares nothing with it.
func (m *CSR) Clone() *CSR {
	return &CSR{Rows: m.Rows, Cols: m.Cols, Ptr: append([]int(nil), m.Ptr...), Col: append([]int(nil), m.Col...), Val: append([]float64(nil), m.Val...)}
}
