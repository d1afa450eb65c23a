package autodiff

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/expr"
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
	types := each.Of(r.in, gorgoniaType)
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
// which occurs in gradients only, and but for exponents of PosPow, which are data.
func (r *rule) DiffWRT(inputs int) []bool {
	return each.Below(inputs, func(i int) bool { return r.op != ProdExcept && !(r.op == Op(expr.PosPow) && i == 1) })
}

// apply makes the node of a rule.
func apply(op Op, out expr.Shape, index []int, args []*gorgonia.Node, in ...expr.Shape) *gorgonia.Node {
	return must.Get(gorgonia.ApplyOp(&rule{op: op, in: in, out: out, index: index}, args...))
}

// SymDiff gives the gradients in the arguments, dz being the gradient in the
// result z.
func (r *rule) SymDiff(args gorgonia.Nodes, z, dz *gorgonia.Node) (grads gorgonia.Nodes, err error) {
	defer must.Catch(&err)
	if elementwise(r.op) {
		return gorgonia.Nodes{must.Get(gorgonia.HadamardProd(dz, slope(expr.Op(r.op), r.out, args[0], z)))}, nil
	}
	adjoint, ok := adjoints[r.op]
	must.Be(ok, "%v has no derivative", r.op)
	return adjoint(r, args, z, dz), nil
}

// adjoints are the gradients in the arguments of an operation, dz being the
// gradient in its result z, where neither the row of the operation nor Gorgonia
// has them.
var adjoints = map[Op]func(r *rule, args gorgonia.Nodes, z, dz *gorgonia.Node) gorgonia.Nodes{
	Broadcast: func(r *rule, _ gorgonia.Nodes, _, dz *gorgonia.Node) gorgonia.Nodes {
		return gorgonia.Nodes{apply(Op(expr.Sum), scalar, nil, gorgonia.Nodes{dz}, r.out)}
	},
	Op(expr.Sum): func(r *rule, _ gorgonia.Nodes, _, dz *gorgonia.Node) gorgonia.Nodes {
		return gorgonia.Nodes{apply(Broadcast, r.in[0], nil, gorgonia.Nodes{dz}, scalar)}
	},
	Op(expr.Gather): func(r *rule, _ gorgonia.Nodes, _, dz *gorgonia.Node) gorgonia.Nodes {
		return gorgonia.Nodes{apply(Op(expr.ScatterAdd), r.in[0], r.index, gorgonia.Nodes{dz}, r.out)}
	},
	Op(expr.ScatterAdd): func(r *rule, _ gorgonia.Nodes, _, dz *gorgonia.Node) gorgonia.Nodes {
		return gorgonia.Nodes{apply(Op(expr.Gather), r.in[0], r.index, gorgonia.Nodes{dz}, r.out)}
	},
	// dz * exp(u - z), the softmax, stable since z >= max u
	Op(expr.LogSumExp): func(r *rule, args gorgonia.Nodes, z, dz *gorgonia.Node) gorgonia.Nodes {
		w := must.Get(gorgonia.Sub(args[0], apply(Broadcast, r.in[0], nil, gorgonia.Nodes{z}, scalar)))
		return gorgonia.Nodes{must.Get(gorgonia.HadamardProd(dz, must.Get(gorgonia.Exp(w))))}
	},
	Op(expr.Prod): func(r *rule, args gorgonia.Nodes, _, dz *gorgonia.Node) gorgonia.Nodes {
		return gorgonia.Nodes{must.Get(gorgonia.HadamardProd(dz, apply(ProdExcept, r.in[0], nil, args, r.in[0])))}
	},
	// du = dz v max(u, 0)^(v-1)
	Op(expr.PosPow): func(r *rule, args gorgonia.Nodes, _, dz *gorgonia.Node) gorgonia.Nodes {
		s := &slopes{dz.Graph(), r.out}
		less := s.Sub(args[1], s.Number(1)).(*gorgonia.Node)
		du := s.Mul(dz, s.Mul(args[1], joined(binaries[expr.PosPow], args[0], less)))
		return gorgonia.Nodes{du.(*gorgonia.Node), nil}
	},
	// z = u v': du = dz v, dv = dz' u
	Op(expr.Outer): func(_ *rule, args gorgonia.Nodes, _, dz *gorgonia.Node) gorgonia.Nodes {
		return gorgonia.Nodes{must.Get(gorgonia.Mul(dz, args[1])), must.Get(gorgonia.Mul(args[0], dz))}
	},
}

var scalar = expr.ScalarShape()

// elementwise reports a function of one argument of package expr.
func elementwise(op Op) bool {
	return op < Broadcast && expr.Op(op).Info().Class == expr.Elementwise1
}

// Do evaluates the rule for Gorgonia's machine.
func (r *rule) Do(inputs ...gorgonia.Value) (value gorgonia.Value, err error) {
	defer must.Catch(&err)
	args := each.Of(inputs, floats)
	out := make([]float64, r.out.Len())
	r.eval(out, args)
	return gorgoniaValue(r.out, out), nil
}

// eval sets out to the rule's value.
func (r *rule) eval(out []float64, args [][]float64) {
	u := args[0]
	switch r.op {
	case Broadcast:
		for i := range out {
			out[i] = u[0]
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
	case Op(expr.Outer):
		for i, ui := range u {
			for j, vj := range args[1] {
				out[i*len(args[1])+j] = ui * vj
			}
		}
	default:
		switch info := expr.Op(r.op).Info(); info.Class {
		case expr.Reduction:
			out[0] = info.Fold(u)
		case expr.Elementwise1:
			for i, v := range u {
				out[i] = info.Eval1(v)
			}
		case expr.Elementwise2:
			for i, v := range u {
				out[i] = info.Eval2(v, args[1][i])
			}
		default:
			must.Be(false, "%v has no evaluation", r.op)
		}
	}
}

// floats are the entries of a value, row-major.
func floats(v gorgonia.Value) []float64 {
	switch v := v.(type) {
	case *gorgonia.F64:
		return []float64{float64(*v)}
	case tensor.Tensor:
		switch d := tensor.Materialize(v).Data().(type) {
		case []float64:
			return d
		case float64:
			return []float64{d}
		}
	}
	must.Do(fmt.Errorf("a value of type %T", v))
	return nil
}

// gorgoniaValue is an array as Gorgonia's machine takes it.
func gorgoniaValue(s expr.Shape, entries []float64) gorgonia.Value {
	if s.Rank == 0 {
		return gorgonia.NewF64(entries[0])
	}
	return tensor.New(tensor.WithShape(gorgoniaShape(s)...), tensor.WithBacking(entries))
}
