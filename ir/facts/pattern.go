package facts

import (
	"context"
	"math/bits"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir/expr"
)

// HessianPattern is where the Hessian in y of a scalar node can be nonzero at
// some x and y: n x n with n entries of y, symmetric, with both triangles and
// the whole diagonal; all values are 1. It is nil where more than half of its
// entries could be, where the pattern is too large to find, and where ctx, which
// may be nil, ends.
//
// The method is that of sparse differentiation by the chain rule: the Hessian
// of the root is the sum over its operations of J' W J, with J the Jacobian of
// the operation's arguments and W its own second derivative (Griewank and
// Walther, Evaluating Derivatives, 2nd ed., sec. 7.2). Time and memory are
// linear in the entries of the graph, of its data, and of the pattern.
func HessianPattern(ctx context.Context, graph *expr.Builder, root *expr.Node, n int) *sparse.CSR {
	h := &hessian{ctx: ctx, n: n, places: newPlaces(n), cliques: map[[3]int32][][]int32{}}
	if root.Deps&expr.DependsY != 0 {
		if h.flow = follow(graph, root, expr.DependsY, n); h.flow == nil {
			return nil
		}
		h.backward(nil)
		known := map[*expr.Node]*node{}
		for _, m := range h.nodes {
			known[m.Node] = m
		}
		h.reads = newSupports(func(n *expr.Node) expandable { // of the entries that the root is made of
			m := known[n]
			return func(e int, visit func(expr.Summand) bool) {
				if h.used[m.base+e] {
					h.each(m, e, visit)
				}
			}
		})
		for _, m := range h.nodes {
			if h.ended() || !h.secondOrder(m) {
				return nil
			}
		}
	}
	return h.rows()
}

type hessian struct {
	*flow
	ctx     context.Context
	n       int
	reads   *Supports
	work    float64 // pairs of columns
	places  *places
	cliques map[[3]int32][][]int32 // long ones that were added, by three of their columns
}

func (h *hessian) ended() bool { return h.ctx != nil && h.ctx.Err() != nil }

// secondOrder adds the places at which the second derivative of one operation can be
// nonzero; false where there are too many.
func (h *hessian) secondOrder(n *node) bool {
	if !h.enters(n) || n.Op == expr.Var || n.Op.Info().Linear {
		return true
	}
	product := n.Op.Info().Bilinear || n.Op == expr.Div
	if product && !(h.enters(n.args[0]) && h.enters(n.args[1])) && !(n.Op == expr.Div && h.enters(n.args[1])) {
		return true // linear in what varies
	}
	args, ok := h.reads.args(n.Node)
	if !ok {
		return false
	}
	var exponent []float64 // known ones
	if n.Op == expr.Pow {
		if v := h.graph.Known(n.Args[1]); v != nil {
			exponent = v.Values()
		}
	}
	var all []int32 // scratch: columns of one entry
	add := func(t expr.Summand) bool {
		var left, right []int32
		if t.P >= 0 && args[0] != nil {
			left = args[0].Of(t.P)
		}
		if t.Q >= 0 && args[1] != nil {
			right = args[1].Of(t.Q)
		}
		if product {
			ok = h.pairs(left, right)
			if n.Op == expr.Div {
				ok = ok && h.pairs(right, right)
			}
			return ok
		}
		all = append(append(all, left...), right...)
		return true
	}
	for e, used := range h.used[n.base : n.base+n.Shape.Len()] {
		if !used {
			continue
		}
		if exponent != nil {
			if p := exponent[expr.Place(n.Args[1], e)]; p == 0 || p == 1 {
				continue
			}
		}
		all = all[:0]
		h.each(n, e, add)
		if !product {
			slices.Sort(all)
			all = slices.Compact(all)
			ok = h.pairs(all, all)
		}
		if !ok {
			return false
		}
	}
	return true
}

// longClique is from how many columns on those that all meet each other are
// remembered: the rows of a matrix product bring the same ones again and again.
const longClique = 16

// pairs adds the places (i, j) and (j, i) with i in u and j in v; false where
// there are too many.
func (h *hessian) pairs(u, v []int32) bool {
	if len(u) == 0 || len(v) == 0 {
		return true
	}
	same := len(u) == len(v) && &u[0] == &v[0]
	if same && len(u) >= longClique {
		ends := [3]int32{u[0], u[len(u)/2], u[len(u)-1]}
		for _, w := range h.cliques[ends] {
			if slices.Equal(u, w) {
				return true
			}
		}
		h.cliques[ends] = append(h.cliques[ends], slices.Clone(u))
	}
	before := h.work
	if h.work += float64(len(u)) * float64(len(v)); h.work > maxWork || int(h.work)>>20 > int(before)>>20 && h.ended() {
		return false
	}
	for _, i := range u {
		for _, j := range v {
			if same && j > i {
				break
			}
			if !h.places.add(max(i, j), min(i, j)) {
				return false
			}
		}
	}
	return true
}

// places is a set of places (i, j), j <= i, of a lower triangle: bits where the
// matrix is small, and otherwise a list that is sorted out now and then.
type places struct {
	n     int
	bits  []uint64
	list  []uint64 // row and column in one number
	limit int      // length at which the list is sorted out
}

// bitOrder is up to which order the places are bits: 2 MB.
const bitOrder = 4096

func newPlaces(n int) *places {
	if n > bitOrder {
		return &places{n: n, limit: 1 << 16}
	}
	return &places{n: n, bits: make([]uint64, (n*n+63)/64)}
}

// add reports false where there are too many.
func (s *places) add(i, j int32) bool {
	if s.bits != nil {
		k := int(i)*s.n + int(j)
		s.bits[k>>6] |= 1 << (k & 63)
		return true
	}
	s.list = append(s.list, uint64(i)<<32|uint64(j))
	if len(s.list) < s.limit {
		return true
	}
	s.sort()
	s.limit = max(s.limit, 2*len(s.list))
	return len(s.list) <= maxPlaces
}

func (s *places) sort() {
	slices.Sort(s.list)
	s.list = slices.Compact(s.list)
}

// count sorts the set out and returns its size.
func (s *places) count() int {
	if s.bits == nil {
		s.sort()
		return len(s.list)
	}
	total := 0
	for _, w := range s.bits {
		total += bits.OnesCount64(w)
	}
	return total
}

// each visits the places by rows, columns ascending.
func (s *places) each(visit func(i, j int)) {
	for _, p := range s.list {
		visit(int(p>>32), int(p&(1<<32-1)))
	}
	for w, word := range s.bits {
		for ; word != 0; word &= word - 1 {
			k := w<<6 + bits.TrailingZeros64(word)
			visit(k/s.n, k%s.n)
		}
	}
}

// rows makes the pattern of the places, or nil where more than half of the
// matrix can be nonzero.
func (h *hessian) rows() *sparse.CSR {
	for j := range int32(h.n) {
		h.places.add(j, j)
	}
	if nonzeros := 2*float64(h.places.count()) - float64(h.n); nonzeros > float64(h.n)*float64(h.n)/2 {
		return nil
	}
	lower := sparse.WithRoom(h.n, h.n, h.places.count())
	h.places.each(func(i, j int) {
		if lower.Append(j, 1); i == j { // the last of its row
			lower.EndRow()
		}
	})
	m := sparse.Add(1, lower, 1, lower.T())
	for k := range m.Val {
		m.Val[k] = 1
	}
	return m
}
