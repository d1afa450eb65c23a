package bind

import (
	"fmt"
	"math"

	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
)

// naive interprets the syntax tree with loops over scalars: the meaning that
// the batched elaboration must have. It shares no code with it.
type naive struct {
	prog *ir.Program
	vals map[string]nval // params, data, variables
}

// nval is a scalar, vector, row or matrix.
type nval struct {
	rank       int
	row        bool
	rows, cols int
	e          []float64
}

func nscalar(v float64) nval { return nval{rows: 1, cols: 1, e: []float64{v}} }
func nvector(v []float64) nval {
	return nval{rank: 1, rows: len(v), cols: 1, e: v}
}
func nmatrix(m, n int, v []float64) nval { return nval{rank: 2, rows: m, cols: n, e: v} }

func nof(s expr.Shape, v []float64) nval { return nval{rank: s.Rank, rows: s.Rows, cols: s.Cols, e: v} }

type nenv struct {
	local map[string]nval
	lib   bool
}

func (e nenv) with(name string, v nval) nenv {
	local := map[string]nval{name: v}
	for k, w := range e.local {
		if k != name {
			local[k] = w
		}
	}
	return nenv{local, e.lib}
}

func (n *naive) eval(x lang.Expr, env nenv) nval {
	switch x := x.(type) {
	case *lang.Number:
		return nscalar(x.Value)
	case *lang.Paren:
		return n.eval(x.X, env)
	case *lang.Name:
		if v, ok := env.local[x.Name]; ok {
			return v
		}
		if v, ok := n.vals[x.Name]; ok && !env.lib {
			return v
		}
		if let, ok := n.prog.Symbols[x.Name].Decl.(*lang.Let); ok {
			return n.eval(let.Value, nenv{})
		}
	case *lang.ListLit:
		var out []float64
		var last nval
		for _, el := range x.Elems {
			last = n.eval(el, env)
			out = append(out, last.e...)
		}
		if last.rank == 1 {
			return nmatrix(len(x.Elems), last.rows, out)
		}
		return nvector(out)
	case *lang.Unary:
		v := n.eval(x.X, env)
		if x.Op == lang.Not {
			return nscalar(1 - v.e[0])
		}
		return nmap(v, func(f float64) float64 { return -f })
	case *lang.Binary:
		return n.binary(x, env)
	case *lang.Transpose:
		v := n.eval(x.X, env)
		switch v.rank {
		case 1:
			v.row = !v.row
		case 2:
			out := make([]float64, 0, len(v.e))
			for j := range v.cols {
				for i := range v.rows {
					out = append(out, v.e[i*v.cols+j])
				}
			}
			return nmatrix(v.cols, v.rows, out)
		}
		return v
	case *lang.Index:
		return n.index(x, env)
	case *lang.Call:
		return n.call(x, env)
	case *lang.Comprehension:
		return n.comprehension(x, env)
	case *lang.IfExpr:
		if n.eval(x.Cond, env).e[0] != 0 {
			return n.eval(x.Then, env)
		}
		return n.eval(x.Else, env)
	}
	panic(fmt.Sprintf("naive: %T", x))
}

func nmap(v nval, f func(float64) float64) nval {
	out := v
	out.e = make([]float64, len(v.e))
	for k, u := range v.e {
		out.e[k] = f(u)
	}
	return out
}

func nzip(u, v nval, f func(a, b float64) float64) nval {
	out := u
	if u.rank == 0 {
		out = v
	}
	out.e = make([]float64, len(out.e))
	for k := range out.e {
		a, b := u.e[0], v.e[0]
		if u.rank > 0 {
			a = u.e[k]
		}
		if v.rank > 0 {
			b = v.e[k]
		}
		out.e[k] = f(a, b)
	}
	return out
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (n *naive) binary(x *lang.Binary, env nenv) nval {
	u := n.eval(x.X, env)
	switch {
	case x.Op == lang.And && u.e[0] == 0, x.Op == lang.Or && u.e[0] != 0:
		return u
	case x.Op == lang.And, x.Op == lang.Or:
		return n.eval(x.Y, env)
	}
	v := n.eval(x.Y, env)
	ops := map[lang.BinaryOp]func(a, b float64) float64{
		lang.Add: func(a, b float64) float64 { return a + b }, lang.Sub: func(a, b float64) float64 { return a - b },
		lang.ElemMul: func(a, b float64) float64 { return a * b }, lang.ElemDiv: func(a, b float64) float64 { return a / b },
		lang.Div: func(a, b float64) float64 { return a / b }, lang.Pow: math.Pow, lang.ElemPow: math.Pow,
		lang.Lt: func(a, b float64) float64 { return truth(a < b) }, lang.Le: func(a, b float64) float64 { return truth(a <= b) },
		lang.Gt: func(a, b float64) float64 { return truth(a > b) }, lang.Ge: func(a, b float64) float64 { return truth(a >= b) },
		lang.Eq: func(a, b float64) float64 { return truth(a == b) }, lang.Ne: func(a, b float64) float64 { return truth(a != b) },
	}
	if f := ops[x.Op]; f != nil {
		return nzip(u, v, f)
	}
	return nmul(u, v)
}

func nmul(u, v nval) nval {
	if u.rank == 0 || v.rank == 0 {
		return nzip(u, v, func(a, b float64) float64 { return a * b })
	}
	ur, uc, vr, vc := u.rows, u.cols, v.rows, v.cols
	if u.row {
		ur, uc = 1, u.rows
	}
	if v.row {
		vr, vc = 1, v.rows
	}
	if uc != vr {
		panic("naive: inner lengths")
	}
	out := make([]float64, ur*vc)
	for i := range ur {
		for j := range vc {
			for k := range uc {
				out[i*vc+j] += u.e[i*uc+k] * v.e[k*vc+j]
			}
		}
	}
	switch {
	case u.row && v.rank == 1:
		return nscalar(out[0])
	case v.rank == 1 && !v.row:
		return nvector(out)
	case u.row:
		w := nvector(out)
		w.row = true
		return w
	}
	return nmatrix(ur, vc, out)
}

func (n *naive) index(x *lang.Index, env nenv) nval {
	v := n.eval(x.X, env)
	pos := make([][]int, len(x.Subs))
	for k, s := range x.Subs {
		dim := v.rows
		if k == 1 {
			dim = v.cols
		}
		lo, hi := 1, dim
		if !s.All {
			lo = int(n.eval(s.Lo, env).e[0])
			hi = lo
			if s.Hi != nil {
				hi = int(n.eval(s.Hi, env).e[0])
			}
		}
		for i := lo; i <= hi; i++ {
			pos[k] = append(pos[k], i-1)
		}
	}
	single := func(k int) bool { return !x.Subs[k].All && x.Subs[k].Hi == nil }
	if len(pos) == 1 {
		if single(0) {
			return nscalar(v.e[pos[0][0]])
		}
		var out []float64
		for _, i := range pos[0] {
			out = append(out, v.e[i])
		}
		w := nvector(out)
		w.row = v.row
		return w
	}
	var out []float64
	for _, i := range pos[0] {
		for _, j := range pos[1] {
			out = append(out, v.e[i*v.cols+j])
		}
	}
	switch {
	case single(0) && single(1):
		return nscalar(out[0])
	case single(0):
		w := nvector(out)
		w.row = true
		return w
	case single(1):
		return nvector(out)
	}
	return nmatrix(len(pos[0]), len(pos[1]), out)
}

func (n *naive) call(x *lang.Call, env nenv) nval {
	args := make([]nval, len(x.Args))
	for k, a := range x.Args {
		args[k] = n.eval(a, env)
	}
	name := x.Fn.Name
	fn, lib := (*lang.Fn)(nil), env.lib
	if s := n.prog.Symbols[name]; s != nil && !env.lib && s.Kind == ir.FnSymbol {
		fn = s.Decl.(*lang.Fn)
	} else if f := n.prog.Library[name]; f != nil {
		fn, lib = f, true
	}
	if fn != nil {
		inner := nenv{local: map[string]nval{}, lib: lib}
		for k, p := range fn.Params {
			inner.local[p.Name.Name] = args[k]
			if p.Type == nil {
				continue
			}
			for d, dim := range p.Type.Dims { // a name of a size
				if name, ok := dim.(*lang.Name); ok {
					inner.local[name.Name] = nscalar(float64([]int{args[k].rows, args[k].cols}[d]))
				}
			}
		}
		return n.eval(fn.Body, inner)
	}
	fold := func(start float64, f func(a, b float64) float64) nval {
		for _, v := range args[0].e {
			start = f(start, v)
		}
		return nscalar(start)
	}
	size := func(k int) int { return int(args[k].e[0]) }
	constant := func(v float64) nval {
		if len(args) == 1 {
			out := nvector(make([]float64, size(0)))
			return nmap(out, func(float64) float64 { return v })
		}
		return nmap(nmatrix(size(0), size(1), make([]float64, size(0)*size(1))), func(float64) float64 { return v })
	}
	switch name {
	case "exp":
		return nmap(args[0], math.Exp)
	case "sqrt":
		return nmap(args[0], math.Sqrt)
	case "log":
		return nmap(args[0], math.Log)
	case "tanh":
		return nmap(args[0], math.Tanh)
	case "sin":
		return nmap(args[0], math.Sin)
	case "cos":
		return nmap(args[0], math.Cos)
	case "abs":
		return nmap(args[0], math.Abs)
	case "log1pexp":
		return nmap(args[0], func(u float64) float64 { return math.Max(u, 0) + math.Log1p(math.Exp(-math.Abs(u))) })
	case "sigmoid":
		return nmap(args[0], func(u float64) float64 { return 0.5 * (1 + math.Tanh(u/2)) })
	case "sum":
		return fold(0, func(a, b float64) float64 { return a + b })
	case "prod":
		return fold(1, func(a, b float64) float64 { return a * b })
	case "logsumexp":
		s := fold(0, func(a, b float64) float64 { return a + math.Exp(b) })
		return nscalar(math.Log(s.e[0]))
	case "max":
		if len(args) == 2 {
			return nzip(args[0], args[1], math.Max)
		}
		return fold(math.Inf(-1), math.Max)
	case "min":
		if len(args) == 2 {
			return nzip(args[0], args[1], math.Min)
		}
		return fold(math.Inf(1), math.Min)
	case "length", "rows":
		return nscalar(float64(args[0].rows))
	case "cols":
		return nscalar(float64(args[0].cols))
	case "ones":
		return constant(1)
	case "zeros":
		return constant(0)
	case "eye":
		out := make([]float64, size(0)*size(0))
		for i := range size(0) {
			out[i*size(0)+i] = 1
		}
		return nmatrix(size(0), size(0), out)
	case "diag":
		v := args[0]
		if v.rank == 2 {
			out := make([]float64, v.rows)
			for i := range out {
				out[i] = v.e[i*v.cols+i]
			}
			return nvector(out)
		}
		out := make([]float64, v.rows*v.rows)
		for i, f := range v.e {
			out[i*v.rows+i] = f
		}
		return nmatrix(v.rows, v.rows, out)
	case "outer":
		u, v := args[0], args[1]
		u.row, v.row = false, true
		return nmul(u, v)
	}
	panic("naive: " + name)
}

func (n *naive) comprehension(x *lang.Comprehension, env nenv) nval {
	var acc nval
	first := true
	n.each(x.Binders, x.Cond, env, func(env nenv) {
		v := n.eval(x.Body, env)
		if first {
			acc, first = v, false
			return
		}
		acc = nzip(acc, v, map[string]func(a, b float64) float64{
			"sum": func(a, b float64) float64 { return a + b }, "prod": func(a, b float64) float64 { return a * b },
			"max": math.Max, "min": math.Min,
		}[x.Fn.Name])
	})
	if first {
		return nscalar(map[string]float64{"sum": 0, "prod": 1}[x.Fn.Name])
	}
	return acc
}

// each calls f for every index tuple.
func (n *naive) each(binders []lang.Binder, cond lang.Expr, env nenv, f func(nenv)) {
	if len(binders) == 0 {
		if cond == nil || n.eval(cond, env).e[0] != 0 {
			f(env)
		}
		return
	}
	b := binders[0]
	if b.Hi == nil {
		for _, v := range n.eval(b.Lo, env).e {
			n.each(binders[1:], cond, env.with(b.Name.Name, nscalar(v)), f)
		}
		return
	}
	for i := n.eval(b.Lo, env).e[0]; i <= n.eval(b.Hi, env).e[0]; i++ {
		n.each(binders[1:], cond, env.with(b.Name.Name, nscalar(i)), f)
	}
}
