package sparse

// Empty is a matrix without rows, which Append and EndRow add.
func Empty(cols int) *CSR { return &CSR{Cols: cols, Ptr: []int{0}} }

// WithRoom is Empty with room for some rows and entries.
func WithRoom(cols, rows, entries int) *CSR {
	return &CSR{Cols: cols, Ptr: make([]int, 1, rows+1), Col: make([]int, 0, entries), Val: make([]float64, 0, entries)}
}

// Append adds an entry to the row that EndRow closes. Columns ascend.
func (m *CSR) Append(j int, v float64) { m.Col, m.Val = append(m.Col, j), append(m.Val, v) }

// AppendAll is Append for several entries.
func (m *CSR) AppendAll(cols []int, vals []float64) {
	m.Col, m.Val = append(m.Col, cols...), append(m.Val, vals...)
}

// AppendScaled is AppendAll with columns moved by shift, and entries times by, over over.
func (m *CSR) AppendScaled(cols []int, shift int, vals []float64, by, over float64) {
	col, val := m.Col, m.Val // of their own: writes of slices cost while garbage is collected
	for k, j := range cols {
		col, val = append(col, j+shift), append(val, vals[k]*by/over)
	}
	m.Col, m.Val = col, val
}

// EndRow makes a row of the entries that were appended since the last one.
func (m *CSR) EndRow() {
	m.Rows++
	m.Ptr = append(m.Ptr, len(m.Col))
}

// Diagonal is the square matrix with d on its diagonal, which it keeps.
func Diagonal(d []float64) *CSR {
	m := &CSR{Rows: len(d), Cols: len(d), Ptr: make([]int, len(d)+1), Col: make([]int, len(d)), Val: d}
	for j := range d {
		m.Ptr[j+1], m.Col[j] = j+1, j
	}
	return m
}

// Negated is -m. The two share their pattern.
func (m *CSR) Negated() *CSR {
	n := &CSR{Rows: m.Rows, Cols: m.Cols, Ptr: m.Ptr, Col: m.Col, Val: make([]float64, len(m.Val))}
	for t, v := range m.Val {
		n.Val[t] = -v
	}
	return n
}
