package expr

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// Builder makes the nodes of one graph: it shares equal nodes (hash-consing) and
// applies local identities (package file simplify.go). Shapes that do not fit are a
// fault of the caller, with which it panics. A
// builder is used by one goroutine while it grows; Value may be called
// concurrently.
type Builder struct {
	nodes []*Node
	byKey map[uint64][]*Node

	mu     sync.Mutex
	values map[*Node]*data.Array

	fills map[uint64][]float64 // by the bits of their value, the longest

	meter *await.Meter // of nodes, while the graph is made
	watch func(n *Node)
}

// NewBuilder returns an empty graph.
func NewBuilder() *Builder {
	return &Builder{byKey: map[uint64][]*Node{}, values: map[*Node]*data.Array{}, fills: map[uint64][]float64{}}
}

// SetMeter counts, from now on, the nodes that are made and the values that are
// computed: a meter whose context has ended leaves both with its panic. nil ends that.
func (b *Builder) SetMeter(m *await.Meter) { b.meter = m }

// Watch has a function called with each node that joins the graph from now on; nil ends that.
func (b *Builder) Watch(made func(n *Node)) { b.watch = made }

// Nodes returns every node made so far in topological order: arguments come
// before their users. Nodes that later rewriting left without users are
// included.
func (b *Builder) Nodes() []*Node { return b.nodes }

// Const is a node for an array that is known; name is the data's name, or ""
// for a literal or generated constant.
func (b *Builder) Const(name string, a *data.Array, at diag.Span) *Node {
	return b.intern(&Node{Op: Const, Shape: ShapeOf(a.Shape), Value: a, Name: name, Span: at})
}

// Opaque stands for data that was not supplied: its shape is known, its value
// is not.
func (b *Builder) Opaque(name string, s Shape, at diag.Span) *Node {
	return b.intern(&Node{Op: Const, Shape: s, Name: name, Opaque: true, Span: at})
}

// Number is an unnamed scalar constant.
func (b *Builder) Number(v float64) *Node {
	return b.Const("", data.Scalar(v), diag.Span{})
}

// Fill is an unnamed constant of shape s whose entries are all v. Those of one value share their entries.
func (b *Builder) Fill(v float64, s Shape, at diag.Span) *Node {
	n, key := s.Len(), math.Float64bits(v)
	if len(b.fills[key]) < n {
		b.fills[key] = slices.Repeat([]float64{v}, n)
	}
	return b.Const("", NewArray(s, b.fills[key][:n:n]), at)
}

// Var is a whole declared variable, which starts at entry offset of x, or of
// y where lower is set.
func (b *Builder) Var(name string, lower bool, offset int, s Shape, at diag.Span) *Node {
	deps := DependsX
	if lower {
		deps = DependsY
	}
	return b.intern(&Node{Op: Var, Shape: s, Deps: deps, Name: name, Lower: lower, Offset: offset, Span: at})
}

// Unary applies an elementwise operation of one argument.
func (b *Builder) Unary(op Op, x *Node, at diag.Span) *Node {
	if op.Info().Class != Elementwise1 {
		panic(fmt.Sprintf("expr: %s is not an elementwise operation of one argument", op))
	}
	if n := b.simplifyUnary(op, x); n != nil {
		return n
	}
	return b.make(&Node{Op: op, Args: []*Node{x}, Shape: x.Shape, Span: at})
}

// Binary applies an elementwise operation of two arguments of equal shape, or
// of which one is a scalar.
func (b *Builder) Binary(op Op, x, y *Node, at diag.Span) *Node {
	if op.Info().Class != Elementwise2 {
		panic(fmt.Sprintf("expr: %s is not an elementwise operation of two arguments", op))
	}
	shape := x.Shape
	switch {
	case x.Shape == y.Shape, y.Shape.Rank == 0:
	case x.Shape.Rank == 0:
		shape = y.Shape
	default:
		panic(fmt.Sprintf("expr: %s of %s and %s: the shapes differ", op, x.Shape, y.Shape))
	}
	if n := b.simplifyBinary(op, x, y, shape, at); n != nil {
		return n
	}
	return b.make(&Node{Op: op, Args: []*Node{x, y}, Shape: shape, Span: at})
}

// Reduce folds all entries of x to a scalar. An empty sum is 0 and an empty
// product 1; the other reductions are of something.
func (b *Builder) Reduce(op Op, x *Node, at diag.Span) *Node {
	if op.Info().Class != Reduction {
		panic(fmt.Sprintf("expr: %s is not a reduction", op))
	}
	if x.Shape.Len() == 0 {
		switch op {
		case Sum:
			return b.Number(0)
		case Prod:
			return b.Number(1)
		}
		panic(fmt.Sprintf("expr: %s of nothing: the range is empty", op))
	}
	if n := b.simplifyReduce(op, x, at); n != nil {
		return n
	}
	return b.make(&Node{Op: op, Args: []*Node{x}, Shape: ScalarShape(), Span: at})
}

// Dot is the inner product of two vectors of equal length.
func (b *Builder) Dot(x, y *Node, at diag.Span) *Node {
	if x.Shape.Rank != 1 || y.Shape.Rank != 1 || x.Shape != y.Shape {
		panic(fmt.Sprintf("expr: inner product of %s and %s: two vectors of equal length are needed", x.Shape, y.Shape))
	}
	if x.Shape.Len() == 0 {
		return b.Number(0)
	}
	if y.ID < x.ID { // symmetric: one form for both orders
		x, y = y, x
	}
	if x == y && x.Op == Abs && x.Deps != 0 { // |u|' |u| = u' u
		x, y = x.Args[0], x.Args[0]
	}
	return b.make(&Node{Op: Dot, Args: []*Node{x, y}, Shape: ScalarShape(), Span: at})
}

// MatVec is m v, or m' v with trans.
func (b *Builder) MatVec(m *Node, trans bool, v *Node, at diag.Span) *Node {
	if m.Op == Transpose {
		m, trans = m.Args[0], !trans
	}
	rows, cols := transposed(m.Shape, trans)
	if m.Shape.Rank != 2 || v.Shape.Rank != 1 || cols != v.Shape.Rows {
		panic(fmt.Sprintf("expr: product of %s%s and %s: the inner lengths differ", m.Shape, mark(trans), v.Shape))
	}
	if rows == 0 || cols == 0 {
		return b.Fill(0, VectorShape(rows), at)
	}
	return b.make(&Node{Op: MatVec, Args: []*Node{m, v}, TransA: trans, Shape: VectorShape(rows), Span: at})
}

// MatMul is the matrix product of a (transposed with ta) and c (transposed
// with tb).
func (b *Builder) MatMul(a *Node, ta bool, c *Node, tb bool, at diag.Span) *Node {
	if a.Op == Transpose {
		a, ta = a.Args[0], !ta
	}
	if c.Op == Transpose {
		c, tb = c.Args[0], !tb
	}
	rows, inner := transposed(a.Shape, ta)
	inner2, cols := transposed(c.Shape, tb)
	if a.Shape.Rank != 2 || c.Shape.Rank != 2 || inner != inner2 {
		panic(fmt.Sprintf("expr: product of %s%s and %s%s: the inner lengths differ", a.Shape, mark(ta), c.Shape, mark(tb)))
	}
	shape := MatrixShape(rows, cols)
	if shape.Len() == 0 || inner == 0 {
		return b.Fill(0, shape, at)
	}
	return b.make(&Node{Op: MatMul, Args: []*Node{a, c}, TransA: ta, TransB: tb, Shape: shape, Span: at})
}

// Outer is u v'.
func (b *Builder) Outer(u, v *Node, at diag.Span) *Node {
	if u.Shape.Rank != 1 || v.Shape.Rank != 1 {
		panic(fmt.Sprintf("expr: outer product of %s and %s: two vectors are needed", u.Shape, v.Shape))
	}
	return b.make(&Node{Op: Outer, Args: []*Node{u, v}, Shape: MatrixShape(u.Shape.Rows, v.Shape.Rows), Span: at})
}

// Transpose is the transpose of a matrix.
func (b *Builder) Transpose(x *Node, at diag.Span) *Node {
	if x.Shape.Rank != 2 {
		panic(fmt.Sprintf("expr: transpose of %s: a matrix is needed", x.Shape))
	}
	if x.Op == Transpose {
		return x.Args[0]
	}
	return b.make(&Node{Op: Transpose, Args: []*Node{x}, Shape: MatrixShape(x.Shape.Cols, x.Shape.Rows), Span: at})
}

// Gather reads out[k] = x.flat[index[k]], and 0 where index[k] < 0. The
// builder keeps index.
func (b *Builder) Gather(x *Node, index []int, out Shape, at diag.Span) *Node {
	if len(index) != out.Len() {
		panic(fmt.Sprintf("expr: gather of %d entries into %s", len(index), out))
	}
	for _, i := range index {
		if i >= x.Shape.Len() {
			panic(fmt.Sprintf("expr: gather of entry %d of %s", i+1, x.Shape))
		}
	}
	if n := b.simplifyGather(x, index, out, at); n != nil {
		return n
	}
	return b.make(&Node{Op: Gather, Args: []*Node{x}, Index: index, Shape: out, Span: at})
}

// ScatterAdd adds out[index[k]] += x.flat[k], dropping entries where index[k]
// < 0. The builder keeps index.
func (b *Builder) ScatterAdd(x *Node, index []int, out Shape, at diag.Span) *Node {
	if len(index) != x.Shape.Len() {
		panic(fmt.Sprintf("expr: scatter of %s by %d places", x.Shape, len(index)))
	}
	for _, i := range index {
		if i >= out.Len() {
			panic(fmt.Sprintf("expr: scatter into entry %d of %s", i+1, out))
		}
	}
	if x.Shape.Len() == 0 {
		return b.Fill(0, out, at)
	}
	if out == x.Shape && isIdentity(index) {
		return x
	}
	return b.make(&Node{Op: ScatterAdd, Args: []*Node{x}, Index: index, Shape: out, Span: at})
}

// make completes a node from its arguments, folds it where it is a small
// constant, and shares it.
func (b *Builder) make(n *Node) *Node {
	for _, a := range n.Args {
		n.Deps |= a.Deps
		n.Opaque = n.Opaque || a.Opaque
	}
	if folded := b.fold(n); folded != nil {
		return folded
	}
	if n.Shape.Len() == 0 {
		// Nothing depends on anything through an empty array.
		return b.Const("", NewArray(n.Shape, nil), n.Span)
	}
	return b.intern(n)
}

// intern returns the node of the graph that equals n, adding n if there is
// none. The span of the first one stays.
func (b *Builder) intern(n *Node) *Node {
	b.meter.Step()
	key := hash(n)
	for _, m := range b.byKey[key] {
		if equal(m, n) {
			return m
		}
	}
	n.ID, n.owner = len(b.nodes), b
	b.nodes = append(b.nodes, n)
	b.byKey[key] = append(b.byKey[key], n)
	if b.watch != nil {
		b.watch(n)
	}
	return n
}

// sharedEntries bounds the constants that are compared by value; longer ones
// are equal only where they are the same array. It bounds the time of a
// comparison, not what can be built.
const sharedEntries = 1024

func hash(n *Node) uint64 {
	h := fnv.New64a()
	var buf [8]byte
	put := func(v uint64) {
		binary.LittleEndian.PutUint64(buf[:], v)
		h.Write(buf[:])
	}
	put(uint64(n.Op) | flag(n.TransA, 8) | flag(n.TransB, 9) | flag(n.Lower, 10) | flag(n.Opaque, 11))
	put(uint64(n.Shape.Rank)<<60 ^ uint64(n.Shape.Rows)<<30 ^ uint64(n.Shape.Cols))
	put(uint64(n.Offset))
	h.Write([]byte(n.Name))
	for _, a := range n.Args {
		put(uint64(a.ID))
	}
	for _, i := range n.Index {
		put(uint64(i))
	}
	if n.Value != nil && len(n.Value.Dense) <= sharedEntries {
		for _, v := range n.Value.Dense {
			put(math.Float64bits(v))
		}
	}
	return h.Sum64()
}

func flag(set bool, bit uint) uint64 {
	if set {
		return 1 << bit
	}
	return 0
}

func equal(m, n *Node) bool {
	return m.sameOperation(n) && m.Name == n.Name && m.Opaque == n.Opaque && slices.Equal(m.Args, n.Args) && sameArray(m.Value, n.Value)
}

// sameArray compares arrays of one shape.
func sameArray(a, c *data.Array) bool {
	if a == nil || c == nil || a.Sparse == nil && len(a.Dense) <= sharedEntries {
		return sameNumbers(a, c)
	}
	return a == c || a.Sparse == nil && c.Sparse == nil && &a.Dense[0] == &c.Dense[0]
}

func transposed(s Shape, trans bool) (rows, cols int) {
	if trans {
		return s.Cols, s.Rows
	}
	return s.Rows, s.Cols
}

func mark(trans bool) string {
	if trans {
		return "'"
	}
	return ""
}

// Sequence lists lo, lo+1, ...: n of them.
func Sequence(lo, n int) []int {
	return each.Below(n, func(k int) int { return lo + k })
}

func isIdentity(index []int) bool {
	for k, i := range index {
		if i != k {
			return false
		}
	}
	return true
}

// ShapeOf is the shape of the node that holds an array of the given sizes: its own up to two
// dimensions, a vector of all entries, row-major, beyond.
func ShapeOf(dims []int) Shape {
	switch len(dims) {
	case 0:
		return ScalarShape()
	case 1:
		return VectorShape(dims[0])
	case 2:
		return MatrixShape(dims[0], dims[1])
	}
	n := 1
	for _, d := range dims {
		n *= d
	}
	return VectorShape(n)
}

// NewArray is a dense array of the given shape, whose entries it keeps.
func NewArray(s Shape, vals []float64) *data.Array {
	switch s.Rank {
	case 0:
		return &data.Array{Dense: vals}
	case 1:
		return data.Vector(vals)
	}
	return data.Matrix(s.Rows, s.Cols, vals)
}
