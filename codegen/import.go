package codegen

import (
	"bilevelc/autodiff"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// importGraph turns a gradient graph into a form, one value a node. Sums,
// differences and negations become opLin. Scalar data is fetched (passes look
// at numbers); arrays are fetched when a pass or the program needs them.
func importGraph(g *autodiff.Graph) *form {
	f := &form{dx: g.Dx, dy: g.Dy, builder: g.Builder(), vals: make([]val, len(g.Nodes))}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		v := val{args: append([]int(nil), n.Args...), shape: n.Shape, index: n.Index, lower: n.Lower,
			offset: n.Offset, transA: n.TransA, transB: n.TransB}
		switch {
		case n.Op == autodiff.Number:
			v.op, v.array = opConst, data.Scalar(n.Number)
		case n.Op == autodiff.Data:
			v.op, v.node = opConst, n.Data
			if n.Shape.Rank == 0 {
				v.array = must.Get(f.builder.Value(n.Data))
			}
		default:
			made, ok := imports[n.Op]
			must.Be(ok, "codegen: internal error: import: no operation for %s", n.Op)
			v.op, v.coef = made.op, append([]float64(nil), made.coef...)
			if v.op == opMatVec {
				v.alpha = 1
			}
		}
		f.vals[i] = v
	}
	f.outs = append(f.outs, output{to: toValue, v: g.Value})
	for _, p := range g.DX {
		f.outs = append(f.outs, output{toX, p.Offset, p.Node})
	}
	for _, p := range g.DY {
		f.outs = append(f.outs, output{toY, p.Offset, p.Node})
	}
	f.setStages()
	return f
}

// imports maps operations of the gradient graph to the form's.
var imports = map[autodiff.Op]struct {
	op   op
	coef []float64
}{
	autodiff.Broadcast:           {op: opCopy},
	autodiff.ProdExcept:          {op: opProdExcept},
	autodiff.Op(expr.Var):        {op: opVar},
	autodiff.Op(expr.Neg):        {op: opLin, coef: []float64{-1}},
	autodiff.Op(expr.Add):        {op: opLin, coef: []float64{1, 1}},
	autodiff.Op(expr.Sub):        {op: opLin, coef: []float64{1, -1}},
	autodiff.Op(expr.Mul):        {op: opMul},
	autodiff.Op(expr.Div):        {op: opDiv},
	autodiff.Op(expr.Pow):        {op: opPow},
	autodiff.Op(expr.PosPow):     {op: opPosPow},
	autodiff.Op(expr.Sum):        {op: opSum},
	autodiff.Op(expr.Prod):       {op: opProd},
	autodiff.Op(expr.LogSumExp):  {op: opLogSumExp},
	autodiff.Op(expr.Dot):        {op: opDot},
	autodiff.Op(expr.MatVec):     {op: opMatVec},
	autodiff.Op(expr.MatMul):     {op: opMatMul},
	autodiff.Op(expr.Outer):      {op: opOuter},
	autodiff.Op(expr.Transpose):  {op: opTranspose},
	autodiff.Op(expr.Gather):     {op: opGather},
	autodiff.Op(expr.ScatterAdd): {op: opScatterAdd},
}

// Functions of one argument are all imported by the table.
func init() {
	for o := range expr.Primitives {
		if p := &expr.Primitives[o]; p.Smooth && p.Class == expr.Elementwise1 && p.Op != expr.Neg {
			i := imports[autodiff.Op(p.Op)]
			i.op = opFunction + op(p.Op)
			imports[autodiff.Op(p.Op)] = i
		}
	}
	require()
}

// require panics where a smooth operation, or one that gradients add, has no import.
func require() {
	known := map[expr.Op]bool{}
	for o := range imports {
		if o < autodiff.Broadcast {
			known[expr.Op(o)] = true
		}
	}
	expr.Require("codegen: import", known, func(p *expr.Primitive) bool { return p.Smooth && p.Op != expr.Const })
	for _, o := range []autodiff.Op{autodiff.Broadcast, autodiff.ProdExcept} {
		if _, ok := imports[o]; !ok {
			panic("codegen: no import for " + o.String())
		}
	}
}

// stageOf is the stage of what is made of values.
func (f *form) stageOf(args []int) stage {
	s := dataStage
	for _, a := range args {
		s = max(s, f.vals[a].stage)
	}
	return s
}

// setStages computes the stage of every value from its arguments.
func (f *form) setStages() {
	for i := range f.vals {
		v := &f.vals[i]
		v.stage = f.stageOf(v.args)
		if v.op == opVar {
			v.stage = xStage
			if v.lower {
				v.stage = yStage
			}
		}
	}
}
