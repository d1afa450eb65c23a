package linalg

import "bilevelc/internal/sparse"

// Saddle is the pattern of matrices
//
//	[ H  B' ]
//	[ B  D  ],   D diagonal,
//
// with the places of their entries: those of H on and below its diagonal, then those of B, row by row, then D.
type Saddle struct {
	*Symbolic
	Lower    []int   // places in H of the entries on and below its diagonal
	Diagonal []int   // of each column of H: its place in Lower
	First    []int   // of each row of H and B: the place of its first entry; at the end that of D
	Row, Col []int32 // of each place
}

// NewSaddle analyzes the pattern of a symmetric H, whose diagonal is in it, and of B.
func NewSaddle(h, b *sparse.CSR) *Saddle {
	n, most := h.Rows, (h.NNZ()+h.Rows)/2+b.NNZ()+b.Rows
	s := &Saddle{Diagonal: make([]int, n), First: make([]int, 0, n+b.Rows+1), Row: make([]int32, 0, most), Col: make([]int32, 0, most)}
	add := func(i, j int) { s.Row, s.Col = append(s.Row, int32(i)), append(s.Col, int32(j)) }
	for i := range n {
		s.First = append(s.First, len(s.Row))
		for t := h.Ptr[i]; t < h.Ptr[i+1] && h.Col[t] <= i; t++ {
			if h.Col[t] == i {
				s.Diagonal[i] = len(s.Lower)
			}
			s.Lower = append(s.Lower, t)
			add(i, h.Col[t])
		}
	}
	for i := range b.Rows {
		s.First = append(s.First, len(s.Row))
		for _, j := range b.Col[b.Ptr[i]:b.Ptr[i+1]] {
			add(n+i, j)
		}
	}
	s.First = append(s.First, len(s.Row))
	for i := range b.Rows {
		add(n+i, n+i)
	}
	s.Symbolic = analyze(n+b.Rows, s.Row, s.Col)
	return s
}
