package certify

import (
	"math"
	"testing"
)

// What rounding leaves open of convexity is as the terms that squares cancel: of the Hessian -4 (ab + bc + ca) - 4b^2, with the eigenvalues -12, 0 and 4, a square along (1, 2, 1) leaves b nearly nothing, and the other columns lack no
// more for it.
func TestSquaresThatCancelAColumnLeaveOthersTheirs(t *testing.T) {
	for _, units := range [][3]float64{{1, 1, 1}, {1, 0x1p-30, 0x1p30}} {
		plain := newTreeObjective(3)
		for i, row := range [3][3]float64{{0, -4, -4}, {-4, -8, -4}, {-4, -4, 0}} {
			for j, v := range row {
				if v != 0 {
					plain.addQ(i, j, num(v*units[i]*units[j]))
				}
			}
		}
		plain.noteRows()
		with := newTreeObjective(3).plus(1, plain)
		of := &sparseVector{}
		for j, v := range [3]float64{1, 2, 1} {
			of.At, of.Val = append(of.At, j), append(of.Val, v/math.Sqrt(6)*units[j])
		}
		with.addSquare(&treeSquare{Weight: 6 * (1 + 1e-9), Of: of})
		with.noteRows()
		with.convexity(plain.q, []float64{0, 0, 0}, []float64{1, 1, 1})
		for j, lack := range with.deficit {
			if !(lack <= 1e-12*units[j]*units[j]) {
				t.Errorf("in units %v, column %d lacks %g", units, j, lack)
			}
		}
	}
}
