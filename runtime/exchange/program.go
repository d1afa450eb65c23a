// Package exchange reads and writes the files in which other solvers take mathematical programs: MPS with SOS and QUADOBJ
// sections, the LP format of CPLEX, and the pair of MPS and auxiliary file in which MibS and BOBILib hold linear
// bilevel programs.
package exchange

import (
	"math"

	"bilevelc/internal/sparse"
)

// Program is a quadratic program with linear rows, whole numbers, and special ordered sets of type 1, of each of which at most one
// member is not zero (Beale and Tomlin 1970):
//
//	minimize or maximize 1/2 x'Q x + Cost'x + Const,   Lo <= x <= Hi,   RowLo <= A x <= RowHi.
type Program struct {
	Name     string
	Notes    []string // comments at the head of a file, one a line
	Maximize bool
	Columns  []Column
	Rows     []Row
	A        *sparse.CSR // len Rows x len Columns
	Cost     []float64   // len Columns
	Const    float64
	Q        *sparse.CSR // symmetric; nil where there is none
	Sets     []Set
}

// Column is a variable. Names are those of the model; writers spell them as a format allows.
type Column struct {
	Name    string
	Lo, Hi  float64
	Integer bool
}

// Row is RowLo <= a'x <= RowHi.
type Row struct {
	Name   string
	Lo, Hi float64
}

// Set is a special ordered set of type 1 over columns that are not negative.
type Set struct {
	Name    string
	Columns []int
}

// binary reports whether a column takes 0 and 1 only.
func (c *Column) binary() bool { return c.Integer && c.Lo == 0 && c.Hi == 1 }

// sign is -1 for bounds and objectives that are turned.
func sign(negative bool) float64 {
	if negative {
		return -1
	}
	return 1
}

// add appends a column and returns its place.
func (p *Program) add(c Column) int {
	p.Columns = append(p.Columns, c)
	p.Cost = append(p.Cost, 0)
	return len(p.Columns) - 1
}

func infinite(v float64) bool { return math.IsInf(v, 0) }
