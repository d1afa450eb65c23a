package autodiff

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"bilevelc/internal/must"
	"bilevelc/ir/expr"
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
}

// variableSlot is one variable's node and place.
type variableSlot struct {
	node *gorgonia.Node
	leaf *Node
}

// NewReference prepares the machine for root, which must depend on a variable
// and not be one itself.
func NewReference(b *expr.Builder, root *expr.Node) (ref *Reference, err error) {
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
	t := translate([]term{{node: root}}, "r")
	grads := must.Get(gorgonia.Grad(t.root, t.vars...))
	ref = &Reference{grads: make([]gorgonia.Value, len(grads))}
	gorgonia.Read(t.root, &ref.value)
	for i, v := range t.vars {
		gorgonia.Read(grads[i], &ref.grads[i])
		ref.vars = append(ref.vars, variableSlot{v, t.leaf[v]})
	}
	for n, leaf := range t.leaf {
		if leaf.Op != Data {
			continue
		}
		own := append([]float64(nil), must.Get(b.Value(leaf.Data)).Values()...) // the machine may write into its inputs
		must.Do(gorgonia.Let(n, gorgoniaValue(leaf.Shape, own)))
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
	clear(dstX)
	clear(dstY)
	for _, v := range r.vars {
		from := x
		if v.leaf.Lower {
			from = y
		}
		entries := append([]float64(nil), from[v.leaf.Offset:v.leaf.Offset+v.leaf.Shape.Len()]...)
		must.Do(gorgonia.Let(v.node, gorgoniaValue(v.leaf.Shape, entries)))
	}
	r.machine.Reset()
	must.Do(r.machine.RunAll())
	for i, v := range r.vars {
		to := dstX
		if v.leaf.Lower {
			to = dstY
		}
		copy(to[v.leaf.Offset:v.leaf.Offset+v.leaf.Shape.Len()], floats(r.grads[i]))
	}
	return floats(r.value)[0], nil
}

// Close releases the machine.
func (r *Reference) Close() error { return r.machine.Close() }
