package autodiff

import (
	"fmt"

	"bilevelc/ir/expr"

	"gorgonia.org/gorgonia"
)

// Reference evaluates an expression and its gradients on Gorgonia's own
// machine. It is the independent opinion that tests and benchmarks compare
// compiled programs with, and nothing else: it is slow, and it computes every
// gradient on every call.
type Reference struct {
	machine gorgonia.VM
	vars    []variableSlot
	value   gorgonia.Value
	grads   []gorgonia.Value // parallel to vars
	dx, dy  int
}

// variableSlot is one variable's node and place.
type variableSlot struct {
	node *gorgonia.Node
	leaf *Node
}

// NewReference prepares the machine for root, which must depend on a variable
// and not be one itself.
func NewReference(b *expr.Builder, root *expr.Node, dx, dy int) (ref *Reference, err error) {
	engine.Lock()
	defer engine.Unlock()
	defer func() {
		if r := recover(); r != nil {
			ref, err = nil, fmt.Errorf("autodiff: reference: %v", r)
		}
	}()
	if root.Deps == 0 || root.Op == expr.Var {
		return nil, fmt.Errorf("autodiff: reference: nothing to differentiate")
	}
	t, err := translate([]term{{node: root}}, "r")
	if err != nil {
		return nil, err
	}
	grads, err := gorgonia.Grad(t.root, t.vars...)
	if err != nil {
		return nil, err
	}
	ref = &Reference{dx: dx, dy: dy, grads: make([]gorgonia.Value, len(grads))}
	gorgonia.Read(t.root, &ref.value)
	for i, v := range t.vars {
		gorgonia.Read(grads[i], &ref.grads[i])
		ref.vars = append(ref.vars, variableSlot{v, t.leaf[v]})
	}
	for n, leaf := range t.leaf {
		if leaf.Op != Data {
			continue
		}
		a, err := b.Value(leaf.Data)
		if err != nil {
			return nil, err
		}
		own := append([]float64(nil), a.Values()...) // the machine may write into its inputs
		if err := gorgonia.Let(n, gorgoniaValue(leaf.Shape, own)); err != nil {
			return nil, err
		}
	}
	ref.machine = gorgonia.NewTapeMachine(t.graph)
	return ref, nil
}

// ValueGrad returns the value and sets dstX (len dx) and dstY (len dy) to the
// gradients at (x, y).
func (r *Reference) ValueGrad(dstX, dstY, x, y []float64) (value float64, err error) {
	engine.Lock()
	defer engine.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("autodiff: reference: %v", p)
		}
	}()
	for i := range dstX {
		dstX[i] = 0
	}
	for i := range dstY {
		dstY[i] = 0
	}
	for _, v := range r.vars {
		from := x
		if v.leaf.Lower {
			from = y
		}
		entries := append([]float64(nil), from[v.leaf.Offset:v.leaf.Offset+v.leaf.Shape.Len()]...)
		if err := gorgonia.Let(v.node, gorgoniaValue(v.leaf.Shape, entries)); err != nil {
			return 0, err
		}
	}
	r.machine.Reset()
	if err := r.machine.RunAll(); err != nil {
		return 0, err
	}
	got, err := floats(r.value)
	if err != nil {
		return 0, err
	}
	for i, v := range r.vars {
		entries, err := floats(r.grads[i])
		if err != nil {
			return 0, err
		}
		to := dstX
		if v.leaf.Lower {
			to = dstY
		}
		copy(to[v.leaf.Offset:v.leaf.Offset+v.leaf.Shape.Len()], entries)
	}
	return got[0], nil
}

// Close releases the machine.
func (r *Reference) Close() error { return r.machine.Close() }
