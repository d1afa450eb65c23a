package facts

import (
	"slices"

	"bilevelc/ir/expr"
)

// Supports finds the entries of y that the entries of nodes are made of, those of each node once.
type Supports struct {
	terms   func(n *expr.Node) expandable
	columns map[*expr.Node]*Columns
	kept    int     // numbers in columns
	work    float64 // numbers that were put together
}

// expandable calls visit for the terms of entry e of a node until it returns false.
type expandable func(e int, visit func(expr.Summand) bool)

// Columns are the entries of y that the entries of a node may depend on.
type Columns struct{ ptr, col []int32 } // those of entry e at col[ptr[e]:ptr[e+1]]

// Of lists those of entry e, ascending.
func (c *Columns) Of(e int) []int32 { return c.col[c.ptr[e]:c.ptr[e+1]] }

// NewSupports begins with nothing known.
func NewSupports(graph *expr.Builder) *Supports {
	return newSupports(func(n *expr.Node) expandable { t := graph.Terms(n); return t.Each })
}

func newSupports(terms func(n *expr.Node) expandable) *Supports {
	return &Supports{terms: terms, columns: map[*expr.Node]*Columns{}}
}

// Of is that of a node; nil where there are too many to list.
func (s *Supports) Of(n *expr.Node) *Columns {
	c, ok := s.columns[n]
	if !ok {
		c = s.find(n)
		s.columns[n] = c
	}
	return c
}

// args are those of the arguments that y enters, nil for others; ok is false where there are too many to list.
func (s *Supports) args(n *expr.Node) (args [2]*Columns, ok bool) {
	for i, a := range n.Args {
		if a.Deps&expr.DependsY != 0 {
			if args[i] = s.Of(a); args[i] == nil {
				return args, false
			}
		}
	}
	return args, true
}

func (s *Supports) find(n *expr.Node) *Columns {
	count := n.Shape.Len()
	c := &Columns{ptr: make([]int32, 1, count+1)}
	if n.Deps&expr.DependsY == 0 {
		c.ptr = c.ptr[:count+1]
		return c
	}
	if n.Op == expr.Var {
		for e := range count {
			c.col, c.ptr = append(c.col, int32(n.Offset+e)), append(c.ptr, int32(e+1))
		}
		return c
	}
	args, ok := s.args(n)
	if !ok {
		return nil
	}
	each, merges := s.terms(n), 0
	merge := func(t expr.Summand) bool {
		for i, k := range [2]int{t.P, t.Q} {
			if k >= 0 && args[i] != nil {
				more := args[i].Of(k)
				c.col = append(c.col, more...)
				s.work += float64(len(more))
				merges++
			}
		}
		ok = s.kept+len(c.col) <= maxPlaces && s.work <= maxWork
		return ok
	}
	for e := range count {
		from := len(c.col)
		merges = 0
		if each(e, merge); !ok {
			return nil
		}
		if merges > 1 {
			slices.Sort(c.col[from:])
			c.col = c.col[:from+len(slices.Compact(c.col[from:]))]
		}
		c.ptr = append(c.ptr, int32(len(c.col)))
	}
	s.kept += len(c.col)
	return c
}
