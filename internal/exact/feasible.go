// Package exact decides small linear systems in rational arithmetic. It is the
// truth that tests compare the floating-point solvers with, and shares nothing
// with them.
package exact

import "math/big"

// Row is the constraint sum_j Coef[j] z_j <= Side, or = Side.
type Row struct {
	Coef  []float64
	Side  float64
	Equal bool
}

// Feasible reports whether some z in R^n satisfies all rows, exactly as their
// doubles stand: phase one of the simplex method with Bland's rule (1977), which
// ends, on rational numbers. The time grows fast with the size; it is for systems
// of some tens of rows.
func Feasible(n int, rows []Row) bool {
	m := len(rows)
	// z = u - v with u, v >= 0; a slack for each inequality; the basis starts with
	// one artificial variable a row.
	width := 2*n + m
	t := make([][]*big.Rat, m) // row i: coefficients, then the side
	basis := make([]int, m)    // number of the basic variable; width + i is artificial
	for i, r := range rows {
		t[i] = make([]*big.Rat, width+1)
		sign := 1.0
		if r.Side < 0 {
			sign = -1
		}
		for j := range t[i] {
			t[i][j] = new(big.Rat)
		}
		for j, c := range r.Coef {
			t[i][j].SetFloat64(sign * c)
			t[i][n+j].SetFloat64(-sign * c)
		}
		if !r.Equal {
			t[i][2*n+i].SetFloat64(sign)
		}
		t[i][width].SetFloat64(sign * r.Side)
		basis[i] = width + i
	}
	for {
		enter := entering(t, basis, width)
		if enter < 0 {
			break
		}
		leave := leaving(t, basis, enter, width)
		if leave < 0 {
			break // cannot happen: the sum of artificial variables is bounded below
		}
		pivot(t, leave, enter)
		basis[leave] = enter
	}
	for i, b := range basis {
		if b >= width && t[i][width].Sign() != 0 {
			return false
		}
	}
	return true
}

// entering is the first variable whose increase lowers the sum of the artificial
// variables, or -1.
func entering(t [][]*big.Rat, basis []int, width int) int {
	sum := new(big.Rat)
	for j := 0; j < width; j++ {
		sum.SetInt64(0)
		for i, b := range basis {
			if b >= width {
				sum.Add(sum, t[i][j])
			}
		}
		if sum.Sign() > 0 {
			return j
		}
	}
	return -1
}

// leaving is the row of the ratio test, ties by the least variable.
func leaving(t [][]*big.Rat, basis []int, enter, width int) int {
	row := -1
	var best, ratio big.Rat
	for i := range t {
		if t[i][enter].Sign() <= 0 {
			continue
		}
		ratio.Quo(t[i][width], t[i][enter])
		if c := ratio.Cmp(&best); row < 0 || c < 0 || (c == 0 && basis[i] < basis[row]) {
			row = i
			best.Set(&ratio)
		}
	}
	return row
}

func pivot(t [][]*big.Rat, row, col int) {
	inverse := new(big.Rat).Inv(t[row][col])
	for j := range t[row] {
		t[row][j].Mul(t[row][j], inverse)
	}
	var factor, product big.Rat
	for i := range t {
		if i == row || t[i][col].Sign() == 0 {
			continue
		}
		factor.Set(t[i][col])
		for j, v := range t[row] {
			if v.Sign() != 0 {
				t[i][j].Sub(t[i][j], product.Mul(&factor, v))
			}
		}
	}
}
