// Package data holds the numeric arrays of a model: what a literal, a file, a
// generator or an embedding program gives for a `param` or `data`. It knows
// nothing of the language; package datafile reads files into it.
package data

import (
	"fmt"
	"strconv"

	"bilevelc/internal/sparse"
	"bilevelc/lang/diag"
)

// Array is a real array of rank 0 (scalar), 1 (vector) or 2 (matrix, row
// major). Exactly one of Dense and Sparse holds the entries; Sparse only at
// rank 2. Arrays are immutable once made.
type Array struct {
	Shape  []int     // len = rank
	Dense  []float64 // len = product of Shape
	Sparse *sparse.CSR
	// Texts are the entries as labels, where a file writes integers otherwise
	// than their numbers, as in 01; else nil.
	Texts []string
}

// Scalar returns an array of rank 0.
func Scalar(v float64) *Array { return &Array{Dense: []float64{v}} }

// Vector returns an array of rank 1 over v, which it does not copy.
func Vector(v []float64) *Array { return &Array{Shape: []int{len(v)}, Dense: v} }

// Matrix returns an m x n array over the row-major v, which it does not copy.
func Matrix(m, n int, v []float64) *Array {
	if len(v) != m*n {
		panic(fmt.Sprintf("data: %d entries for a %d x %d matrix", len(v), m, n))
	}
	return &Array{Shape: []int{m, n}, Dense: v}
}

// SparseMatrix returns an array of rank 2 that stays sparse.
func SparseMatrix(m *sparse.CSR) *Array {
	return &Array{Shape: []int{m.Rows, m.Cols}, Sparse: m}
}

// Rank is the number of dimensions.
func (a *Array) Rank() int { return len(a.Shape) }

// Len is the number of entries, zeros of a sparse matrix included.
func (a *Array) Len() int {
	n := 1
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

// Stored are the entries that are held: of a sparse matrix, those that are not left out.
func (a *Array) Stored() []float64 {
	if a.Sparse != nil {
		return a.Sparse.Val
	}
	return a.Dense
}

// Values returns the entries row-major, making a sparse matrix dense.
func (a *Array) Values() []float64 {
	if a.Sparse != nil {
		return a.Sparse.Dense()
	}
	return a.Dense
}

// Transposed is the transpose of a matrix.
func (a *Array) Transposed() *Array {
	if a.Sparse != nil {
		return SparseMatrix(a.Sparse.T())
	}
	m, n := a.Shape[0], a.Shape[1]
	out := make([]float64, len(a.Dense))
	for i := range m {
		for j, v := range a.Dense[i*n : (i+1)*n] {
			out[j*m+i] = v
		}
	}
	return Matrix(n, m, out)
}

// Rows visits the entries of a row of a matrix, or of its transpose, that are not 0, until visit
// returns false.
func (a *Array) Rows(trans bool) func(i int, visit func(j int, v float64) bool) {
	if m := a.Sparse; m != nil {
		if trans {
			m = m.T()
		}
		return func(i int, visit func(j int, v float64) bool) {
			cols, vals := m.Row(i)
			for k, j := range cols {
				if vals[k] != 0 && !visit(j, vals[k]) {
					return
				}
			}
		}
	}
	count, down, right := a.Shape[1], a.Shape[1], 1
	if trans {
		count, down, right = a.Shape[0], 1, a.Shape[1]
	}
	return func(i int, visit func(j int, v float64) bool) {
		for j := range count {
			if v := a.Dense[i*down+j*right]; v != 0 && !visit(j, v) {
				return
			}
		}
	}
}

// At is entry k, row-major.
func (a *Array) At(k int) float64 {
	if a.Sparse != nil {
		return a.Sparse.At(k/a.Shape[1], k%a.Shape[1])
	}
	return a.Dense[k]
}

// Entry is one named array, or the labels of a set, and where it came from. At
// least one of Array, Labels, Keyed and Table is there; a file with a header may
// be both an Array and a Table, and the model decides which is meant.
type Entry struct {
	Name   string
	Array  *Array
	Labels [][]string // elements of a set, each a label or a tuple of labels
	// LabelAt is where label i of element k of Labels stands; nil where only Origin is known.
	LabelAt func(k, i int) diag.Place
	Keyed   *Keyed
	Table   *Table
	// Faults say why a Table has no Array; they are reported where one is
	// needed.
	Faults diag.List
	// Origin names the file and the place in it, or the call that supplied
	// the array, for messages: "toy.json", "X.csv", "--set n=5".
	Origin string
}

// Set holds the arrays supplied for a model, in the order given.
type Set struct {
	Entries []Entry
}

// Add appends an entry.
func (s *Set) Add(name string, a *Array, origin string) {
	s.Entries = append(s.Entries, Entry{Name: name, Array: a, Origin: origin})
}

// Get returns the last entry of that name, so that a later source overrides
// an earlier one, or nil.
func (s *Set) Get(name string) *Entry {
	if s == nil {
		return nil
	}
	for i := len(s.Entries) - 1; i >= 0; i-- {
		if s.Entries[i].Name == name {
			return &s.Entries[i]
		}
	}
	return nil
}

// EntryName spells entry k, from 0 and row-major, of an array of the given shape:
// travel, cap[3], flow[2, 1].
func EntryName(name string, shape []int, k int) string {
	if len(shape) == 0 {
		return name
	}
	place := ""
	for i := len(shape) - 1; i >= 0; i-- {
		place = ", " + strconv.Itoa(k%shape[i]+1) + place
		k /= shape[i]
	}
	return name + "[" + place[2:] + "]"
}
