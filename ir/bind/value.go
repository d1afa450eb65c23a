package bind

import (
	"fmt"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// value is what an expression elaborates to. Inside a comprehension a value
// may differ from index tuple to index tuple: it then belongs to a space, and
// its node holds all of its instances ("batched"):
//
//	item scalar       node vector[n]
//	item vector[k]    node matrix[n, k], an instance a row
//	item matrix[r, c] node matrix[n*r, c], instances below each other
//
// with n the number of tuples. A value whose space is nil is the same for all
// tuples, and its node has the item's shape.
type value struct {
	typ   ir.Type // of the item, its sizes dims; AnyType where an error was reported
	space *space

	node    *expr.Node // of reals and arrays
	ints    []int      // of an int, which is known: an index, a size, or arithmetic on them; one, or one a tuple
	bools   []bool     // of a condition: one, or one a tuple
	unknown *expr.Node // of one on data that was not supplied: a factor that is 0 or 1

	beyond bool // a number that arithmetic of integers gives beyond exactInt, or from such numbers: it may be rounded

	set *boundSet // of an int: whose elements these are, by position from 1; nil for numbers

	// product holds the operands of the elementwise product that this value
	// is, so that a sum over it can become a product of the linear algebra.
	product *[2]value
}

func (v value) bad() bool { return v.typ.Kind == ir.AnyType }

func (v value) isInt() bool { return v.typ.Kind == ir.IntType }

func (v value) isCondition() bool { return v.typ.Kind == ir.BoolType }

// isScalar reports a number without dimensions.
func (v value) isScalar() bool { return len(v.typ.Dims) == 0 }

func (v value) isRow() bool { return v.typ.Kind == ir.RowVectorType }

// item is the shape of the node that holds one instance.
func (v value) item() expr.Shape { return expr.ShapeOf(sizesOf(v.dims())) }

func scalarInt(i int) value { return element(i, nil) }

func element(i int, set *boundSet) value {
	return value{typ: elab.Int, ints: []int{i}, set: set}
}

func unbatched(n *expr.Node) value { return array(n, plain(n.Shape.Dims())) }

// array is an array of the given dimensions.
func array(n *expr.Node, dims []dim) value { return value{typ: arrayOver(dims), node: n} }

// describe is the type of a value in messages: "vector[5]", "row vector[5]".
func (v value) describe() string {
	switch {
	case v.isCondition():
		return "a condition"
	case v.isRow():
		return "row " + v.item().String()
	}
	return v.item().String()
}

// named is a number as the bound problem keeps it.
func (v value) named(name string, at diag.Span) ir.NamedNode {
	return ir.NamedNode{Name: name, Node: v.node, Row: v.isRow(), Span: at, Axes: exported(v.dims())}
}

// unknown is a condition that is not known yet.
func unknown(n *expr.Node, s *space) value { return value{typ: elab.Bool, space: s, unknown: n} }

// factor is a condition as a number: 0 or 1, one or one a tuple.
func (v value) factor(e *elaborator) value {
	if v.unknown != nil {
		return value{typ: elab.Real, space: v.space, node: v.unknown}
	}
	return e.num(intsAt(each.Of(v.bools, func(t bool) int {
		if t {
			return 1
		}
		return 0
	}), v.space))
}

// boolsAt is a condition that is known, at the tuples of a deeper space.
func (v value) boolsAt(s *space) []bool { return pick(v.bools, s.to(v.space)) }

// space is an iteration space: the index tuples of a comprehension or family,
// enumerated, or the part of another space in which a condition holds.
type space struct {
	parent *space // nil at the outermost
	n      int
	up     []int // tuple of the parent each tuple belongs to, ascending; zeros without parent
	depth  int
	mask   *expr.Node // 0 or 1 a tuple, where a condition is on data that was not supplied
	// indices are those that its binders declare, and spans what these run over.
	indices []spaceIndex
	spans   []span
}

// spaceIndex is an index with its value at each tuple.
type spaceIndex struct {
	name string
	at   []int
	set  *boundSet // that it is an element of; nil for numbers
}

// span is what the indices of a binder run over, as a dimension, whose n is -1 where that
// differs from tuple to tuple of the indices around it.
type span struct {
	dim
	counts bool  // the values are first, first + 1, ..., or the elements of a set
	first  int   // value of the first place; 0 of a vector, and where it differs likewise
	values []int // for each tuple of the space; of elements of a set their positions from first
}

// size is the number of tuples: 1 outside all comprehensions, where s is nil.
func (s *space) size() int {
	if s == nil {
		return 1
	}
	return s.n
}

// shape is that of the node that holds an item at all tuples.
func (s *space) shape(item expr.Shape) expr.Shape {
	switch {
	case s == nil:
		return item
	case item.Rank == 0:
		return expr.VectorShape(s.n)
	case item.Rank == 1:
		return expr.MatrixShape(s.n, item.Rows)
	}
	return expr.MatrixShape(s.n*item.Rows, item.Cols)
}

// labels lists those of all indices at a tuple; a number is one.
func (s *space) labels(tuple int) (out []string) {
	for _, i := range s.indices {
		if i.set != nil {
			out = append(out, i.set.element(i.at[tuple]-1)...)
		} else {
			out = append(out, strconv.Itoa(i.at[tuple]))
		}
	}
	return out
}

// covers reports whether every tuple of the parent has one in s.
func (s *space) covers() bool {
	if s.parent == nil {
		return s.n > 0
	}
	next := 0 // up is ascending
	for _, t := range s.up {
		if t > next {
			return false
		}
		if t == next {
			next++
		}
	}
	return next == s.parent.n
}

func (s *space) level() int {
	if s == nil {
		return 0
	}
	return s.depth
}

// join returns the deeper of two spaces; values that meet always lie on one
// chain.
func join(s, t *space) *space {
	if t.level() > s.level() {
		return t
	}
	return s
}

// to returns, for each tuple of s, the tuple of its ancestor t it belongs to; both
// are nil outside all comprehensions, where there is one instance. The list is not to be changed.
func (s *space) to(t *space) []int {
	if s != t && s.parent == t {
		return s.up
	}
	out := expr.Sequence(0, s.size())
	for ; s != t; s = s.parent {
		for k, i := range out {
			out[k] = s.up[i]
		}
	}
	return out
}

// where spells a tuple: "i = 3, j = 4".
func (s *space) where(tuple int) string {
	var parts []string
	for t := s; t != nil; t = t.parent {
		var own []string
		for _, i := range t.indices {
			text := strconv.Itoa(i.at[tuple])
			if i.set != nil {
				text = tupleText(i.set.element(i.at[tuple] - 1))
			}
			own = append(own, i.name+" = "+text)
		}
		parts = append(own, parts...)
		tuple = t.up[tuple]
	}
	return strings.Join(parts, ", ")
}

// happens says at which tuple an error is, where there are tuples.
func (s *space) happens(tuple int) string {
	if s == nil {
		return ""
	}
	return "This happens where " + s.where(tuple) + "."
}

// times spells dimensions: "3 x 4".
func times(dims []int) string {
	return diag.Join(dims, " x ", strconv.Itoa)
}

// sizeText spells the size of an array: "a scalar", "5 entries", "3 x 4".
func sizeText(dims []int) string {
	switch len(dims) {
	case 0:
		return "a scalar"
	case 1:
		return fmt.Sprintf("a vector of %d", dims[0])
	case 2:
		return fmt.Sprintf("a %s matrix", times(dims))
	}
	return fmt.Sprintf("a %s array", times(dims))
}
