package curvature

import (
	"slices"

	matrices "bilevelc/internal/gram"
)

// squares are multiples of squares of nearly full rows, d a a', that wait to be added to the
// matrix of a block all at once, as a product of matrices: each is sqrt|d| a in the block's
// places, by the sign of d.
type squares struct {
	n          int       // columns of the block
	plus, less []float64 // rows of len n
}

// fullRow is one over the part of a block's columns from which on a row of them is full: a
// product of matrices takes about a sixteenth of the time for a multiplication that adding row
// by row takes, and makes n^2 of them for a row where that makes count^2.
const fullRow = 4

// rowCost is what it costs to add the square of a row of count nonzero entries to a block of
// so many columns, in operations one by one, and whether it waits to be added with others.
func rowCost(count, columns int) (cost float64, gathered bool) {
	if columns >= leastGathered && fullRow*count >= columns {
		n := float64(columns) / fullRow
		return 2 * n * n, true
	}
	n := float64(count)
	return 2 * n * n, false
}

// leastGathered is the number of columns of a block from which that pays for the room.
const leastGathered = 32

// mostSquares rows are added at once: as many as a product sums before it writes.
const mostSquares = 256

// gather are the squares of a block.
func (f *form) gather(block int) *squares {
	q := f.squares[block]
	if q == nil {
		q = &squares{n: len(f.cols[block])}
		f.squares[block] = q
	}
	return q
}

// row is room for another row, zeros, of the sign of d.
func (q *squares) row(dense []float64, d float64) []float64 {
	rows := &q.plus
	if d < 0 {
		rows = &q.less
	}
	if len(*rows) == mostSquares*q.n {
		q.flush(dense)
	}
	at := len(*rows)
	*rows = slices.Grow(*rows, q.n)[:at+q.n]
	out := (*rows)[at:]
	clear(out)
	return out
}

// flush adds what waits to the upper triangle. The entries of sqrt|d| a and their products
// have six roundings, for which gamma has room.
func (q *squares) flush(dense []float64) {
	block := func(rows []float64) matrices.Block {
		return matrices.Block{Data: rows, Rows: len(rows) / q.n, Cols: q.n, Stride: q.n}
	}
	matrices.AddGram(block(dense), block(q.plus))
	matrices.SubtractGram(block(dense), block(q.less))
	q.plus, q.less = q.plus[:0], q.less[:0]
}
