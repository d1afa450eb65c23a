package autodiff

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math"

	"bilevelc/ir/expr"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// rule is an operation of this package inside a Gorgonia graph: its shape,
// its symbolic derivative (SymDiff) and, for the reference machine only, its
// evaluation (Do).
type rule struct {
	op    Op
	in    []expr.Shape // of the arguments
	out   expr.Shape
	index []int // Gather, ScatterAdd
}

var _ gorgonia.SDOp = (*rule)(nil)

// gorgoniaType is the type of a value of shape s in Gorgonia's type system.
func gorgoniaType(s expr.Shape) hm.Type {
	if s.Rank == 0 {
		return tensor.Float64
	}
	return gorgonia.TensorType{Dims: s.Rank, Of: tensor.Float64}
}

// gorgoniaShape is s as Gorgonia writes it.
func gorgoniaShape(s expr.Shape) tensor.Shape {
	switch s.Rank {
	case 0:
		return tensor.ScalarShape()
	case 1:
		return tensor.Shape{s.Rows}
	}
	return tensor.Shape{s.Rows, s.Cols}
}

// Arity is the number of arguments.
func (r *rule) Arity() int { return len(r.in) }

// Type is the function type, monomorphic: the shapes are known.
func (r *rule) Type() hm.Type {
	types := make([]hm.Type, 0, len(r.in)+1)
	for _, s := range r.in {
		types = append(types, gorgoniaType(s))
	}
	return hm.NewFnType(append(types, gorgoniaType(r.out))...)
}

// InferShape gives the shape that the expression graph already fixed.
func (r *rule) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return gorgoniaShape(r.out), nil
}

// ReturnsPtr, CallsExtern and OverwritesInput tell the machine that results
// are fresh and inputs survive.
func (r *rule) ReturnsPtr() bool { return false }

// CallsExtern is false: everything is Go.
func (r *rule) CallsExtern() bool { return false }

// OverwritesInput is -1: no argument is overwritten.
func (r *rule) OverwritesInput() int { return -1 }

// WriteHash identifies the operation: its kind, shapes and index list.
func (r *rule) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "bilevelc %d %v %v ", r.op, r.in, r.out)
	buf := make([]byte, 0, 8*len(r.index))
	for _, i := range r.index {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(i))
	}
	h.Write(buf)
}

// Hashcode is the hash of WriteHash.
func (r *rule) Hashcode() uint32 {
	h := fnv.New32a()
	r.WriteHash(h)
	return h.Sum32()
}

func (r *rule) String() string { return r.op.String() }

// DiffWRT: every rule differentiates in all its arguments but ProdExcept,
// which occurs in gradients only.
func (r *rule) DiffWRT(inputs int) []bool {
	wrt := make([]bool, inputs)
	for i := range wrt {
		wrt[i] = r.op != ProdExcept
	}
	return wrt
}

// apply makes the node of a rule.
func apply(op Op, out expr.Shape, index []int, args []*gorgonia.Node, in ...expr.Shape) (*gorgonia.Node, error) {
	return gorgonia.ApplyOp(&rule{op: op, in: in, out: out, index: index}, args...)
}

// SymDiff gives the gradients in the arguments, dz being the gradient in the
// result z.
func (r *rule) SymDiff(args gorgonia.Nodes, z, dz *gorgonia.Node) (gorgonia.Nodes, error) {
	scalar := expr.ScalarShape()
	if elementwise(r.op) {
		d, err := slope(expr.Op(r.op), r.out, args[0], z)
		if err != nil {
			return nil, err
		}
		n, err := gorgonia.HadamardProd(dz, d)
		return gorgonia.Nodes{n}, err
	}
	one := func(n *gorgonia.Node, err error) (gorgonia.Nodes, error) { return gorgonia.Nodes{n}, err }
	switch r.op {
	case Broadcast:
		return one(apply(Op(expr.Sum), scalar, nil, []*gorgonia.Node{dz}, r.out))
	case Op(expr.Sum):
		return one(apply(Broadcast, r.in[0], nil, []*gorgonia.Node{dz}, scalar))
	case Op(expr.Gather):
		return one(apply(Op(expr.ScatterAdd), r.in[0], r.index, []*gorgonia.Node{dz}, r.out))
	case Op(expr.ScatterAdd):
		return one(apply(Op(expr.Gather), r.in[0], r.index, []*gorgonia.Node{dz}, r.out))
	case Op(expr.LogSumExp): // dz * exp(u - z), the softmax, stable since z >= max u
		w, err := apply(Broadcast, r.in[0], nil, []*gorgonia.Node{z}, scalar)
		if err != nil {
			return nil, err
		}
		if w, err = gorgonia.Sub(args[0], w); err != nil {
			return nil, err
		}
		if w, err = gorgonia.Exp(w); err != nil {
			return nil, err
		}
		return one(gorgonia.HadamardProd(dz, w))
	case Op(expr.Prod):
		w, err := apply(ProdExcept, r.in[0], nil, args, r.in[0])
		if err != nil {
			return nil, err
		}
		return one(gorgonia.HadamardProd(dz, w))
	case Op(expr.Outer): // z = u v': du = dz v, dv = dz' u
		du, err := gorgonia.Mul(dz, args[1])
		if err != nil {
			return nil, err
		}
		dv, err := gorgonia.Mul(args[0], dz)
		return gorgonia.Nodes{du, dv}, err
	}
	return nil, fmt.Errorf("%v has no derivative", r.op)
}

// elementwise reports a function of one argument of package expr.
func elementwise(op Op) bool {
	return op < Broadcast && expr.Op(op).Info().Class == expr.Elementwise1
}

// Do evaluates the rule for Gorgonia's machine.
func (r *rule) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	args := make([][]float64, len(inputs))
	for i, v := range inputs {
		a, err := floats(v)
		if err != nil {
			return nil, err
		}
		args[i] = a
	}
	out := make([]float64, r.out.Len())
	if err := r.eval(out, args); err != nil {
		return nil, err
	}
	return gorgoniaValue(r.out, out), nil
}

// eval sets out to the rule's value.
func (r *rule) eval(out []float64, args [][]float64) error {
	u := args[0]
	switch r.op {
	case Broadcast:
		for i := range out {
			out[i] = u[0]
		}
	case Op(expr.Sum):
		for _, v := range u {
			out[0] += v
		}
	case Op(expr.Prod):
		out[0] = 1
		for _, v := range u {
			out[0] *= v
		}
	case ProdExcept:
		for i := range out {
			out[i] = 1
			for j, v := range u {
				if j != i {
					out[i] *= v
				}
			}
		}
	case Op(expr.Gather):
		for k, i := range r.index {
			if i >= 0 {
				out[k] = u[i]
			}
		}
	case Op(expr.ScatterAdd):
		for k, i := range r.index {
			if i >= 0 {
				out[i] += u[k]
			}
		}
	case Op(expr.Log1pExp):
		for i, v := range u {
			out[i] = math.Max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
		}
	case Op(expr.Sigmoid):
		for i, v := range u {
			e := math.Exp(-math.Abs(v))
			if v >= 0 {
				out[i] = 1 / (1 + e)
			} else {
				out[i] = e / (1 + e)
			}
		}
	case Op(expr.LogSumExp):
		top := math.Inf(-1)
		for _, v := range u {
			top = math.Max(top, v)
		}
		sum := 0.0
		for _, v := range u {
			sum += math.Exp(v - top)
		}
		out[0] = top + math.Log(sum)
	case Op(expr.Outer):
		for i, ui := range u {
			for j, vj := range args[1] {
				out[i*len(args[1])+j] = ui * vj
			}
		}
	default:
		if !elementwise(r.op) {
			return fmt.Errorf("%v has no evaluation", r.op)
		}
		for i, v := range u {
			out[i] = expr.Op(r.op).Info().Eval1(v)
		}
	}
	return nil
}

// floats are the entries of a value, row-major.
func floats(v gorgonia.Value) ([]float64, error) {
	switch v := v.(type) {
	case *gorgonia.F64:
		return []float64{float64(*v)}, nil
	case tensor.Tensor:
		switch d := tensor.Materialize(v).Data().(type) {
		case []float64:
			return d, nil
		case float64:
			return []float64{d}, nil
		}
	}
	return nil, fmt.Errorf("a value of type %T", v)
}

// gorgoniaValue is an array as Gorgonia's machine takes it.
func gorgoniaValue(s expr.Shape, entries []float64) gorgonia.Value {
	if s.Rank == 0 {
		return gorgonia.NewF64(entries[0])
	}
	return tensor.New(tensor.WithShape(gorgoniaShape(s)...), tensor.WithBacking(entries))
}
