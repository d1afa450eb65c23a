package expr

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
)

// Eval is the reference evaluator: the value of n at x and y, which hold every
// upper and lower variable at its offset. It is plain rather than fast; nodes
// that depend on data only are computed once per graph. Values that are not
// finite are returned as they are; Trace explains them. It is an error where
// data was not supplied.
func Eval(n *Node, x, y []float64) (*data.Array, error) {
	values := make(map[*Node]*data.Array)
	for _, m := range reach([]*Node{n}, func(m *Node) bool { return m.Deps != 0 }) {
		v, err := evalNode(m, values, x, y)
		if err != nil {
			return nil, err
		}
		values[m] = v
	}
	return values[n], nil
}

// Scalar is Eval of a scalar node.
func Scalar(n *Node, x, y []float64) (float64, error) {
	if n.Shape.Rank != 0 {
		return 0, fmt.Errorf("a scalar was expected, not %s", n.Shape)
	}
	a, err := Eval(n, x, y)
	if err != nil {
		return 0, err
	}
	return a.Dense[0], nil
}

func evalNode(n *Node, values map[*Node]*data.Array, x, y []float64) (*data.Array, error) {
	if n.Deps == 0 {
		return n.owner.Value(n)
	}
	if n.Op == Var {
		v := x
		if n.Lower {
			v = y
		}
		if n.Offset+n.Shape.Len() > len(v) {
			return nil, fmt.Errorf("%s has entries %d to %d, but only %d are given", n.Name, n.Offset+1, n.Offset+n.Shape.Len(), len(v))
		}
		return NewArray(n.Shape, v[n.Offset:n.Offset+n.Shape.Len()]), nil
	}
	return apply(n, each.Of(n.Args, func(a *Node) *data.Array { return values[a] })), nil
}

// Reachable lists roots and everything below them in topological order.
func Reachable(roots ...*Node) []*Node {
	return reach(roots, func(*Node) bool { return true })
}

// Smooth reports that every operation on variables below a node is continuously
// differentiable inside its domain.
func (n *Node) Smooth() bool {
	return !slices.ContainsFunc(Reachable(n), func(m *Node) bool { return m.Deps != 0 && !m.Op.Info().Smooth })
}

// reach lists roots and what is below them in topological order, not looking below nodes
// into which descend does not go.
func reach(roots []*Node, descend func(*Node) bool) []*Node {
	seen := map[*Node]bool{}
	var nodes []*Node
	for _, n := range roots {
		if !seen[n] {
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	for k := 0; k < len(nodes); k++ {
		if !descend(nodes[k]) {
			continue
		}
		for _, a := range nodes[k].Args {
			if !seen[a] {
				seen[a] = true
				nodes = append(nodes, a)
			}
		}
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return a.ID - b.ID })
	return nodes
}

// Value returns the value of a node that depends on data only, computing it
// on first use. Sparse operands stay sparse through products, sums, scaling
// and slices where the result is sparse.
func (b *Builder) Value(n *Node) (*data.Array, error) {
	if n.Deps != 0 {
		return nil, fmt.Errorf("the value depends on variables")
	}
	if n.Opaque {
		return nil, fmt.Errorf("the value depends on data that was not supplied (%s)", Missing(n))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := b.known(n); v != nil {
		return v, nil
	}
	for _, m := range reach([]*Node{n}, func(m *Node) bool { return b.known(m) == nil }) {
		if b.known(m) != nil {
			continue
		}
		b.meter.Look()
		b.values[m] = apply(m, each.Of(m.Args, b.known))
	}
	return b.known(n), nil
}

// known returns a value that needs no work, or nil.
func (b *Builder) known(n *Node) *data.Array {
	if n.Op == Const {
		return n.Value
	}
	return b.values[n]
}

// Missing names data below a node that was not supplied; "" where there is none.
func Missing(n *Node) string {
	for _, m := range Reachable(n) {
		if m.Op == Const && m.Opaque {
			return m.Name
		}
	}
	return ""
}

// apply computes one operation on the values of its arguments.
func apply(n *Node, args []*data.Array) *data.Array {
	info := n.Op.Info()
	switch info.Class {
	case Elementwise1:
		return map1(n, info, args[0])
	case Elementwise2:
		return map2(n, info, args[0], args[1])
	case Reduction:
		if u := args[0].Sparse; u != nil && info.Linear { // zeros add nothing
			return data.Scalar(info.Fold(u.Val))
		}
		return data.Scalar(info.Fold(args[0].Values()))
	}
	return info.Apply(n, args)
}

func map1(n *Node, info *Primitive, u *data.Array) *data.Array {
	if u.Sparse != nil && info.Eval1(0) == 0 {
		return mapSparse(u, info.Eval1)
	}
	return NewArray(n.Shape, each.Of(u.Values(), info.Eval1))
}

func map2(n *Node, info *Primitive, u, v *data.Array) *data.Array {
	if s := sparse2(n, info, u, v); s != nil {
		return s
	}
	a, c := u.Values(), v.Values()
	out := make([]float64, n.Shape.Len())
	switch {
	case u.Rank() == v.Rank() && n.Op == Add: // L' * L + eye(n): worth a loop without a call for each entry
		floats.AddTo(out, a, c)
	case u.Rank() == v.Rank():
		for k := range out {
			out[k] = info.Eval2(a[k], c[k])
		}
	case v.Rank() == 0:
		for k := range out {
			out[k] = info.Eval2(a[k], c[0])
		}
	default:
		for k := range out {
			out[k] = info.Eval2(a[0], c[k])
		}
	}
	return NewArray(n.Shape, out)
}

func total(vals []float64) float64 {
	s := 0.0
	for _, v := range vals {
		s += v
	}
	return s
}

func multiplied(vals []float64) float64 {
	p := 1.0
	for _, v := range vals {
		p *= v
	}
	return p
}

// logSumExp shifts by the largest entry, so that the largest exponential is 1.
func logSumExp(vals []float64) float64 {
	top := vals[0]
	for _, v := range vals[1:] {
		top = math.Max(top, v)
	}
	if math.IsInf(top, 0) || math.IsNaN(top) {
		return top
	}
	s := 0.0
	for _, v := range vals {
		s += math.Exp(v - top)
	}
	return top + math.Log(s)
}

func transpose(_ *Node, args []*data.Array) *data.Array { return args[0].Transposed() }

func scatterAdd(n *Node, args []*data.Array) *data.Array {
	out := make([]float64, n.Shape.Len())
	for k, v := range args[0].Values() {
		if i := n.Index[k]; i >= 0 {
			out[i] += v
		}
	}
	return NewArray(n.Shape, out)
}
