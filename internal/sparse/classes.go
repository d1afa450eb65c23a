package sparse

// Classes are disjoint classes of the numbers 0 to n-1, as of columns that rows join
// (union-find: Tarjan and van Leeuwen 1984, path halving).
type Classes struct{ up []int32 }

// NewClasses has each of n numbers in a class of its own.
func NewClasses(n int) Classes {
	c := Classes{make([]int32, n)}
	for i := range c.up {
		c.up[i] = int32(i)
	}
	return c
}

// Of is the number that stands for the class of i.
func (c Classes) Of(i int) int {
	at := int32(i)
	for c.up[at] != at {
		c.up[at] = c.up[c.up[at]]
		at = c.up[at]
	}
	return int(at)
}

// Join makes one class of those of i and j. What stands for that of i stands for it.
func (c Classes) Join(i, j int) { c.up[c.Of(j)] = int32(c.Of(i)) }

// JoinRow makes one class of the columns that row i of m reads, and of `to` where that is not negative.
func (c Classes) JoinRow(m *CSR, i, to int) {
	for j := range m.Nonzeros(i) {
		if to < 0 {
			to = j
		}
		c.Join(to, j)
	}
}

// Number numbers the classes of 0 to n-1 in the order of their first members: of[i] is that
// of i.
func (c Classes) Number(n int) (of []int, count int) {
	of = make([]int, n)
	number := make([]int, len(c.up)) // of what stands for a class, and one
	for i := range of {
		root := c.Of(i)
		if number[root] == 0 {
			count++
			number[root] = count
		}
		of[i] = number[root] - 1
	}
	return of, count
}

// Members lists the classes of 0 to n-1, each ascending, in the order of their first members.
func (c Classes) Members(n int) [][]int {
	of, count := c.Number(n)
	size, all := make([]int, count), make([]int, n)
	for _, k := range of {
		size[k]++
	}
	members := make([][]int, count)
	for k, m := range size {
		members[k], all = all[:0:m], all[m:]
	}
	for i, k := range of {
		members[k] = append(members[k], i)
	}
	return members
}

// Apart are the sets of numbers below the order of a square matrix h that neither entries of h nor rows of b, which may be nil, join to others, each ascending, in the order of their first members. Entries that are 0 join nothing.
func Apart(h, b *CSR) [][]int {
	classes := NewClasses(h.Rows)
	for i := range h.Rows {
		classes.JoinRow(h, i, i)
	}
	for i := 0; b != nil && i < b.Rows; i++ {
		classes.JoinRow(b, i, -1)
	}
	return classes.Members(h.Rows)
}
