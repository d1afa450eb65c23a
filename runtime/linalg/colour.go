package linalg

import (
	"slices"

	"bilevelc/internal/sparse"
)

// Colouring groups the columns of a symmetric matrix of known pattern so that
// its products with one vector for each group, the sum of the group's unit
// vectors, give every entry as it stands (Curtis, Powell, Reid 1974; for
// symmetric matrices Powell, Toint 1979; Coleman, More 1984). A tridiagonal
// matrix has 3 groups, an arrow 2.
type Colouring struct {
	Colours int
	Of      []int32 // the group of each column
	// The entries of the pattern that the product with group c holds, the rows
	// of the product in which they stand, and the columns of the group that make
	// them: places from[c] to from[c+1].
	from  []int
	entry []int32
	row   []int32
	col   []int32
}

// Colour colours a symmetric pattern that holds both triangles and the
// diagonal. The colouring is such that in every path v, w, x with v and x of
// one colour, w has a smaller one, and greedy, nodes of large degree first
// (Gebremedhin, Manne, Pothen 2005, algorithm 4.1): for an edge whose ends have
// the colours c < d the product with group c holds the entry in the row of the
// other end, alone.
func Colour(pattern *sparse.CSR) *Colouring {
	n := pattern.Rows
	c := &Colouring{Of: slices.Repeat([]int32{-1}, n), entry: make([]int32, pattern.NNZ()),
		row: make([]int32, pattern.NNZ()), col: make([]int32, pattern.NNZ())}
	order := byDegree(pattern)
	var forbidden []int          // by colour: the last node for which it was, plus 1
	around := make([][]int32, n) // of a node: colours of its neighbours, once each
	for at, v := range order {
		cols, _ := pattern.Row(v)
		for _, w := range cols {
			if w == v {
				continue
			}
			own := c.Of[w]
			if own >= 0 {
				forbidden[own] = at + 1
			}
			for _, x := range around[w] {
				if own < 0 || x < own {
					forbidden[x] = at + 1
				}
			}
		}
		mine := 0
		for mine < len(forbidden) && forbidden[mine] == at+1 {
			mine++
		}
		if mine == len(forbidden) {
			forbidden = append(forbidden, 0)
		}
		c.Of[v] = int32(mine)
		for _, w := range cols {
			if w != v {
				around[w] = insert(around[w], int32(mine))
			}
		}
	}
	c.Colours = len(forbidden)
	c.locate(pattern)
	return c
}

// byDegree lists the nodes, those with most neighbours first.
func byDegree(pattern *sparse.CSR) []int {
	n := pattern.Rows
	count := make([]int, n+2) // by degree, from the largest
	for i := 0; i < n; i++ {
		count[n-(pattern.Ptr[i+1]-pattern.Ptr[i])+1]++
	}
	for d := 0; d <= n; d++ {
		count[d+1] += count[d]
	}
	order := make([]int, n)
	for i := 0; i < n; i++ {
		d := n - (pattern.Ptr[i+1] - pattern.Ptr[i])
		order[count[d]] = i
		count[d]++
	}
	return order
}

// locate finds where each entry of the pattern is to be read.
func (c *Colouring) locate(pattern *sparse.CSR) {
	c.from = make([]int, c.Colours+1)
	for i := 0; i < pattern.Rows; i++ {
		for _, j := range pattern.Col[pattern.Ptr[i]:pattern.Ptr[i+1]] {
			c.from[min(c.Of[i], c.Of[j])+1]++
		}
	}
	for k := 0; k < c.Colours; k++ {
		c.from[k+1] += c.from[k]
	}
	next := append([]int(nil), c.from[:c.Colours]...)
	for i := 0; i < pattern.Rows; i++ {
		for t := pattern.Ptr[i]; t < pattern.Ptr[i+1]; t++ {
			j := pattern.Col[t]
			row, col := i, j
			if c.Of[i] < c.Of[j] {
				row, col = j, i
			}
			k := &next[c.Of[col]]
			c.entry[*k], c.row[*k], c.col[*k] = int32(t), int32(row), int32(col)
			*k++
		}
	}
}

func insert(set []int32, v int32) []int32 {
	if slices.Contains(set, v) {
		return set
	}
	return append(set, v)
}

// Read takes from the product with group number `group`, whose column j was
// multiplied by step[j], the entries of the pattern that stand in it into
// values, which has the order of the pattern.
func (c *Colouring) Read(values []float64, group int, product, step []float64) {
	for t := c.from[group]; t < c.from[group+1]; t++ {
		values[c.entry[t]] = product[c.row[t]] / step[c.col[t]]
	}
}

// Differences fills in values, in the order of the pattern, with differences over the steps of a gradient at a point, from base, the gradient there, or central ones where base is nil. It reports false where one is not finite.
func (c *Colouring) Differences(values, at, step, base []float64, gradient func(dst, at []float64)) bool {
	probe, ahead, behind, width := make([]float64, len(at)), make([]float64, len(at)), base, 1.0
	move := func(dst []float64, group int, by float64) {
		copy(probe, at)
		for j, of := range c.Of {
			if int(of) == group {
				probe[j] += by * step[j]
			}
		}
		gradient(dst, probe)
	}
	if base == nil {
		behind, width = make([]float64, len(at)), 2
	}
	for group := range c.Colours {
		if move(ahead, group, 1); base == nil {
			move(behind, group, -1)
		}
		for j, v := range behind {
			ahead[j] = (ahead[j] - v) / width
		}
		if !Finite(ahead) {
			return false
		}
		c.Read(values, group, ahead, step)
	}
	return true
}
