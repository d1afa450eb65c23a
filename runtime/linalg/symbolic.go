package linalg

import (
	"slices"
	"sync"
)

// Symbolic is what the pattern of a symmetric n x n matrix says of its
// factorization P K P' = L D L'. It does not change and may be shared.
type Symbolic struct {
	n      int
	order  []int32 // order[k] is the row of K that comes k-th
	ptr    []int   // columns of the upper triangle of P K P', len n+1
	row    []int32
	place  []int   // of each entry given to analyze, in row
	parent []int32 // elimination tree; -1 at roots
	lptr   []int   // columns of L, without the unit diagonal, len n+1

	searched sync.Once
	cliques  *cliques // nil: none; see newStretching
}

// analyze prepares the factorization of matrices whose nonzero entries are
// among the given ones: entry t is at (row[t], col[t]) and stands for its
// mirror image as well, so that each pair is to be given once. The order is by
// minimum degree, followed by a postorder of the elimination tree.
func analyze(n int, row, col []int32) *Symbolic {
	ptr, adjacent := neighbours(n, row, col)
	s := &Symbolic{n: n, order: minimumDegree(n, ptr, adjacent)}
	s.arrange(row, col)
	parent, _ := s.tree()
	post := postorder(parent)
	order := make([]int32, n)
	for k, t := range post {
		order[k] = s.order[t]
	}
	s.order = order
	s.arrange(row, col)
	var count []int
	s.parent, count = s.tree()
	s.lptr = make([]int, n+1)
	for k, c := range count {
		s.lptr[k+1] = s.lptr[k] + c
	}
	return s
}

// Dim is n.
func (s *Symbolic) Dim() int { return s.n }

// Entries is the number of entries of L below its diagonal.
func (s *Symbolic) Entries() int { return s.lptr[s.n] }

// neighbours are adjacency lists, of both directions.
func neighbours(n int, row, col []int32) (ptr []int, adjacent []int) {
	ptr = make([]int, n+1)
	for t, i := range row {
		if j := col[t]; i != j {
			ptr[i+1]++
			ptr[j+1]++
		}
	}
	for i := 0; i < n; i++ {
		ptr[i+1] += ptr[i]
	}
	adjacent = make([]int, ptr[n])
	next := append([]int(nil), ptr[:n]...)
	for t, i := range row {
		if j := col[t]; i != j {
			adjacent[next[i]] = int(j)
			adjacent[next[j]] = int(i)
			next[i]++
			next[j]++
		}
	}
	return ptr, adjacent
}

// arrange sorts the entries into the columns of the permuted upper triangle.
func (s *Symbolic) arrange(row, col []int32) {
	at := make([]int32, s.n)
	for k, i := range s.order {
		at[i] = int32(k)
	}
	s.ptr = make([]int, s.n+1)
	for t, i := range row {
		s.ptr[max(at[i], at[col[t]])+1]++
	}
	for k := 0; k < s.n; k++ {
		s.ptr[k+1] += s.ptr[k]
	}
	s.row, s.place = make([]int32, len(row)), make([]int, len(row))
	next := append([]int(nil), s.ptr[:s.n]...)
	for t, i := range row {
		a, b := at[i], at[col[t]]
		k := max(a, b)
		s.row[next[k]], s.place[t] = min(a, b), next[k]
		next[k]++
	}
}

// tree is the elimination tree and the entries in each column of L (Liu 1990;
// Davis 2005).
func (s *Symbolic) tree() (parent []int32, count []int) {
	parent, count = make([]int32, s.n), make([]int, s.n)
	flag := make([]int32, s.n)
	for k := int32(0); int(k) < s.n; k++ {
		parent[k], flag[k] = -1, k
		for _, i := range s.row[s.ptr[k]:s.ptr[k+1]] {
			for ; flag[i] != k; i = parent[i] {
				if parent[i] < 0 {
					parent[i] = k
				}
				count[i]++
				flag[i] = k
			}
		}
	}
	return parent, count
}

// postorder lists the nodes of a forest, children before parents.
func postorder(parent []int32) []int32 {
	n := len(parent)
	child, sibling := slices.Repeat([]int32{-1}, n), make([]int32, n)
	for i := n - 1; i >= 0; i-- {
		if p := parent[i]; p >= 0 {
			sibling[i] = child[p]
			child[p] = int32(i)
		}
	}
	out := make([]int32, 0, n)
	var stack []int32
	for root := range parent {
		if parent[root] >= 0 {
			continue
		}
		stack = append(stack, int32(root))
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			if c := child[i]; c >= 0 {
				child[i] = sibling[c] // visited once
				stack = append(stack, c)
				continue
			}
			out = append(out, i)
			stack = stack[:len(stack)-1]
		}
	}
	return out
}
