package linalg

import (
	"math"
	"slices"
)

// minimumDegree orders the nodes of a graph so that a symmetric factorization
// in that order fills in little: approximate minimum degree on a quotient
// graph (Amestoy, Davis, Duff 1996) with element absorption, mass elimination
// and indistinguishable nodes merged. ptr (len n+1) and col are the adjacency
// lists, of both directions; loops do not count. order[k] is the node that is
// eliminated k-th. Nodes next to more than 10 sqrt(n) others come last.
func minimumDegree(n int, ptr []int, col []int) (order []int32) {
	q := newQuotient(n, ptr, col)
	for q.ordered < n-len(q.last) {
		q.eliminate(q.least())
	}
	return q.order()
}

// quotient is the graph of what is left of an elimination. A node is a
// variable (still to be eliminated), an element (eliminated, standing for the
// clique of its variables), or neither: a variable merged into another, or an
// element absorbed by a later one.
type quotient struct {
	n       int
	list    []int32 // adjacency lists, one after the other; elements are appended
	start   []int   // of the node's list
	size    []int32 // entries in the node's list
	elems   []int32 // of a variable: how many of them, at the front, are elements
	weight  []int32 // variables that the node stands for; < 0 while in the pivot's clique, 0 for none
	degree  []int32 // of a variable: bound of its external degree; of an element: weight of its clique
	dead    []bool  // of an element: absorbed
	mark    []int   // see stamp
	stamp   int     // marks below it are old
	head    []int32 // by degree, a doubly linked list
	next    []int32
	prev    []int32
	lowest  int
	ordered int
	pivots  []int32
	merged  []int32 // first of the variables merged into a node or eliminated with it, or -1
	sibling []int32 // the next of them
	last    []int32 // nodes that are ordered last
	hash    []int32 // heads of lists by hash
	scratch []int32
}

func newQuotient(n int, ptr, col []int) *quotient {
	ints := func() []int32 { return make([]int32, n) }
	q := &quotient{n: n, list: make([]int32, 0, 2*len(col)), start: make([]int, n), size: ints(), elems: ints(),
		weight: ints(), degree: ints(), dead: make([]bool, n), mark: make([]int, n), stamp: 1,
		head: slices.Repeat([]int32{-1}, n+1), next: ints(), prev: ints(), merged: ints(), sibling: ints(), hash: ints()}
	crowded := max(16, int(10*math.Sqrt(float64(n))))
	for i := 0; i < n; i++ {
		q.start[i] = len(q.list)
		for _, j := range col[ptr[i]:ptr[i+1]] {
			if j != i {
				q.list = append(q.list, int32(j))
			}
		}
		q.size[i] = int32(len(q.list) - q.start[i])
		q.merged[i], q.hash[i] = -1, -1
		q.weight[i] = 1
		if int(q.size[i]) > crowded {
			q.weight[i] = 0
			q.last = append(q.last, int32(i))
		}
	}
	for i := n - 1; i >= 0; i-- {
		if q.weight[i] > 0 {
			q.enqueue(int32(i), q.size[i])
		}
	}
	q.lowest = 0
	return q
}

func (q *quotient) enqueue(i, degree int32) {
	q.degree[i] = degree
	q.prev[i], q.next[i] = -1, q.head[degree]
	if h := q.head[degree]; h >= 0 {
		q.prev[h] = i
	}
	q.head[degree] = i
	q.lowest = min(q.lowest, int(degree))
}

func (q *quotient) dequeue(i int32) {
	if q.next[i] >= 0 {
		q.prev[q.next[i]] = q.prev[i]
	}
	if q.prev[i] >= 0 {
		q.next[q.prev[i]] = q.next[i]
	} else {
		q.head[q.degree[i]] = q.next[i]
	}
}

// least takes a variable of least degree out of the lists.
func (q *quotient) least() int32 {
	for q.head[q.lowest] < 0 {
		q.lowest++
	}
	p := q.head[q.lowest]
	q.dequeue(p)
	return p
}

// eliminate makes the variable p an element.
func (q *quotient) eliminate(p int32) {
	q.pivots = append(q.pivots, p)
	q.ordered += int(q.weight[p])
	q.weight[p] = -q.weight[p] // not its own neighbour
	begin, clique := q.form(p)
	q.overlap(begin)
	clique = q.update(p, begin, clique)
	q.stamp += int(clique) + q.n + 1 // past every mark that overlap made
	q.merge(begin)
	q.finish(p, begin, clique)
}

// form appends the clique of p: the live variables of its elements, which it
// absorbs, and of its own list.
func (q *quotient) form(p int32) (begin int, clique int32) {
	begin = len(q.list)
	take := func(from int, count int32) {
		for t := from; t < from+int(count); t++ {
			if i := q.list[t]; q.weight[i] > 0 {
				clique += q.weight[i]
				q.weight[i] = -q.weight[i]
				q.dequeue(i)
				q.list = append(q.list, i)
			}
		}
	}
	at, k := q.start[p], q.elems[p]
	for t := at; t < at+int(k); t++ {
		if e := q.list[t]; !q.dead[e] {
			take(q.start[e], q.size[e])
			q.dead[e] = true
		}
	}
	take(at+int(k), q.size[p]-k)
	q.start[p] = begin
	return begin, clique
}

// overlap leaves in mark[e] - stamp the weight of each element's clique
// outside that of the pivot.
func (q *quotient) overlap(begin int) {
	for _, i := range q.list[begin:] {
		w := int(-q.weight[i])
		at := q.start[i]
		for _, e := range q.list[at : at+int(q.elems[i])] {
			switch {
			case q.dead[e]:
			case q.mark[e] >= q.stamp:
				q.mark[e] -= w
			default:
				q.mark[e] = q.stamp + int(q.degree[e]) - w
			}
		}
	}
}

// update renews the lists and the degrees of the clique's variables, and
// eliminates those that have no neighbour outside it. It returns the weight
// that is left of the clique.
func (q *quotient) update(p int32, begin int, clique int32) int32 {
	for _, i := range q.list[begin:] {
		at, k, size := q.start[i], int(q.elems[i]), int(q.size[i])
		keep := append(q.scratch[:0], p)
		outside, hash := 0, uint(p)
		for _, e := range q.list[at : at+k] {
			if q.dead[e] {
				continue
			}
			if out := q.mark[e] - q.stamp; out > 0 {
				outside += out
				keep = append(keep, e)
				hash += uint(e)
			} else {
				q.dead[e] = true // its clique lies within that of p
			}
		}
		elems := len(keep)
		for _, j := range q.list[at+k : at+size] {
			if w := q.weight[j]; w > 0 {
				outside += int(w)
				keep = append(keep, j)
				hash += uint(j)
			}
		}
		q.scratch = keep
		if outside == 0 {
			w := -q.weight[i]
			clique -= w
			q.ordered += int(w)
			q.attach(i, p)
			continue
		}
		// What is kept fits: p came in for p itself or for an element it absorbed.
		copy(q.list[at:], keep)
		q.elems[i], q.size[i] = int32(elems), int32(len(keep))
		q.degree[i] = int32(min(int(q.degree[i]), outside))
		bucket := int32(hash % uint(q.n))
		q.prev[i], q.next[i] = bucket, q.hash[bucket]
		q.hash[bucket] = i
	}
	return clique
}

// attach makes the variable i part of the node at: it is ordered next to it.
func (q *quotient) attach(i, at int32) {
	q.weight[i] = 0
	q.sibling[i] = q.merged[at]
	q.merged[at] = i
}

// merge joins variables of the clique with equal lists.
func (q *quotient) merge(begin int) {
	for _, seed := range q.list[begin:] {
		if q.weight[seed] == 0 {
			continue
		}
		bucket := q.prev[seed]
		i := q.hash[bucket]
		q.hash[bucket] = -1
		for ; i >= 0 && q.next[i] >= 0; i = q.next[i] {
			own := q.list[q.start[i]+1 : q.start[i]+int(q.size[i])]
			for _, j := range own {
				q.mark[j] = q.stamp
			}
			before := i
			for j := q.next[i]; j >= 0; j = q.next[j] {
				if q.same(i, j) {
					q.weight[i] += q.weight[j]
					q.attach(j, i)
					q.next[before] = q.next[j]
				} else {
					before = j
				}
			}
			q.stamp++
		}
	}
}

// same reports whether j has the list of i, whose entries but the first, which
// all have in common, are marked.
func (q *quotient) same(i, j int32) bool {
	if q.size[i] != q.size[j] || q.elems[i] != q.elems[j] {
		return false
	}
	for _, t := range q.list[q.start[j]+1 : q.start[j]+int(q.size[j])] {
		if q.mark[t] != q.stamp {
			return false
		}
	}
	return true
}

// finish puts the clique's variables back into the lists.
func (q *quotient) finish(p int32, begin int, clique int32) {
	kept := begin
	for _, i := range q.list[begin:] {
		w := -q.weight[i]
		if w <= 0 {
			continue
		}
		q.weight[i] = w
		degree := min(int(q.degree[i])+int(clique-w), q.n-len(q.last)-q.ordered-int(w))
		q.enqueue(i, int32(max(0, degree)))
		q.list[kept] = i
		kept++
	}
	q.list = q.list[:kept]
	q.size[p], q.degree[p] = int32(kept-begin), clique
	q.weight[p] = 0
	q.dead[p] = kept == begin
}

// order lists each pivot after the variables that went with it.
func (q *quotient) order() []int32 {
	out := make([]int32, 0, q.n)
	var stack []int32
	for _, p := range q.pivots {
		first := len(out)
		stack = append(stack[:0], p)
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			out = append(out, i)
			for j := q.merged[i]; j >= 0; j = q.sibling[j] {
				stack = append(stack, j)
			}
		}
		out[first], out[len(out)-1] = out[len(out)-1], out[first]
	}
	return append(out, q.last...)
}
