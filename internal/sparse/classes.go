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
