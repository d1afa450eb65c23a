package bind

import (
	"math"
	"slices"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/expr"
)

// form is an array of affine functions of z = (x, y): entry k is coef[k, :] z +
// rest[k]. Entries of a matrix are row-major. Numbers that are the rounding of
// what they were summed from are zero.
type form struct {
	coef *sparse.CSR // entries x (dx + dy)
	rest []float64
	size sizes
}

// affine interprets nodes as affine forms.
type affine struct {
	g      *expr.Builder
	dx, dy int
	forms  map[*expr.Node]*form // of the nodes that users wait for
	meter  *await.Meter
	fold   func(n *expr.Node, args []*form) *form // of an operation with a kink; nil: it is not affine
}

// affine interprets the graph with dy lower variables.
func (b *binder) affine(dy int) affine {
	return affine{g: b.graph, dx: b.dx, dy: dy, forms: map[*expr.Node]*form{}, meter: b.meter}
}

// of returns the form of a node that depends on data and variables, or the
// first node below it, arguments before users, that has none: one that is not affine, or,
// where that is Opaque, data that were not supplied.
func (a *affine) of(root *expr.Node) (f *form, bad *expr.Node) {
	nodes := expr.Reachable(root)
	waiting := map[*expr.Node]int{root: 1} // users that still need a node's form
	for _, n := range nodes {
		for _, m := range n.Args {
			waiting[m]++
		}
	}
	forms, partial, sums := a.forms, partialSums(nodes, waiting), map[*expr.Node]*running{}
	defer func() { clear(forms) }()
	for _, n := range nodes {
		if n.Deps == 0 && n != root {
			continue
		}
		if left := leftOf(n); left != nil && (partial[n] || partial[left]) {
			f, bad = a.extend(n, sums, partial[n])
		} else {
			f, bad = a.step(n)
		}
		if bad != nil {
			return nil, bad
		}
		if f != nil {
			forms[n] = f
		}
		for _, m := range n.Args { // the partial sums of a long sum would take its length squared
			if waiting[m]--; waiting[m] == 0 {
				delete(forms, m)
			}
		}
	}
	return forms[root], nil
}

// all is the form of the entries of nodes, those of one below those of another.
func (a *affine) all(nodes []*expr.Node) (whole *form, bad *expr.Node) {
	for k, n := range nodes {
		f, bad := a.of(n)
		if bad != nil {
			return nil, bad
		}
		if k == 0 {
			whole = f
		} else {
			whole = whole.below(f)
		}
	}
	return whole, nil
}

// step makes the form of one node from those of its arguments, or finds what has none.
func (a *affine) step(n *expr.Node) (f *form, bad *expr.Node) {
	a.meter.Look()
	if n.Deps == 0 && !sums(n.Op) {
		value := a.g.Known(n)
		if value == nil {
			return nil, n
		}
		return &form{coef: a.zero(value.Len()), rest: value.Values()}, nil
	}
	if n.Op == expr.Var {
		if n.Lower && n.Offset >= a.dy {
			return nil, n // a multiplier
		}
		return a.variable(n), nil
	}
	if n.Op == expr.MatVec && n.Args[0].Deps == 0 { // the matrix may be sparse: it is not made a form
		m := a.matrix(n.Args[0], n.TransA)
		if m == nil {
			return nil, n.Args[0]
		}
		return a.forms[n.Args[1]].combine(m), nil
	}
	args := make([]*form, len(n.Args))
	for i, m := range n.Args {
		if args[i], bad = a.argument(m); bad != nil {
			return nil, bad
		}
	}
	if a.fold != nil && n.Deps != 0 && hasKink(n.Op) {
		return a.fold(n, args), nil
	}
	size := n.Shape.Len()
	switch n.Op {
	case expr.Neg:
		return args[0].negated(), nil
	case expr.Add, expr.Sub:
		sign := 1.0
		if n.Op == expr.Sub {
			sign = -1
		}
		u, v := args[0].broadcast(size), args[1].broadcast(size)
		return u.plus(v, sign), nil
	case expr.Mul:
		u, v := args[0].broadcast(size), args[1].broadcast(size)
		switch {
		case v.constant():
			return u.scaled(v.rest), nil
		case u.constant():
			return v.scaled(u.rest), nil
		}
	case expr.Div:
		if v := args[1].broadcast(size); v.constant() {
			inverse := each.Of(v.rest, func(e float64) float64 { return 1 / e })
			return args[0].broadcast(size).scaled(inverse), nil
		}
	default:
		if f := a.linear(n, args); f != nil {
			return f, nil
		}
	}
	return nil, n
}

// sums reports the operations that add numbers up. Those of data too are done
// here, so that what rounding leaves of terms that cancel is known for it: the
// coefficients of a variable that is written more than once, the sides of a
// constraint on data.
func sums(op expr.Op) bool {
	switch op {
	case expr.Add, expr.Sub, expr.Neg, expr.Sum, expr.Dot, expr.ScatterAdd:
		return true
	}
	return false
}

func (a *affine) zero(rows int) *sparse.CSR {
	return &sparse.CSR{Rows: rows, Cols: a.dx + a.dy, Ptr: make([]int, rows+1)}
}

// variable is the identity on the variable's entries.
func (a *affine) variable(n *expr.Node) *form {
	size, at := n.Shape.Len(), n.Offset
	if n.Lower {
		at += a.dx
	}
	m := &sparse.CSR{Rows: size, Cols: a.dx + a.dy, Ptr: expr.Sequence(0, size+1), Col: expr.Sequence(at, size), Val: slices.Repeat([]float64{1}, size)}
	return &form{coef: m, rest: make([]float64, size)}
}

// linear is a sum of entries, or of products of them of which one factor is constant, by its
// terms: a matrix times the form of the argument that varies. nil where it is not such a sum.
func (a *affine) linear(n *expr.Node, args []*form) *form {
	info, vary := n.Op.Info(), 0
	switch {
	case info.Linear && len(args) == 1:
	case info.Bilinear && args[0].constant():
		vary = 1
	case info.Bilinear && args[1].constant():
	default:
		return nil
	}
	m := &sparse.CSR{Cols: len(args[vary].rest), Ptr: []int{0}}
	add := func(t expr.Summand) bool {
		col, v := t.P, t.A
		if info.Bilinear {
			at := t.Q
			if vary == 1 {
				at, col = t.P, t.Q
			}
			v *= args[1-vary].rest[at]
		}
		if v != 0 {
			m.Col, m.Val = append(m.Col, col), append(m.Val, v)
		}
		return true
	}
	terms := n.Terms()
	for e := range n.Shape.Len() {
		terms.Each(e, add)
		m.EndRow()
	}
	return args[vary].combine(m)
}

// matrix is the value of a constant matrix, sparse where the data is; nil where they were not supplied.
func (a *affine) matrix(n *expr.Node, trans bool) *sparse.CSR {
	v := a.g.Known(n)
	if v == nil {
		return nil
	}
	m := v.Sparse
	if m == nil {
		m = sparse.FromDense(n.Shape.Rows, n.Shape.Cols, v.Dense)
	}
	if trans {
		m = m.T()
	}
	return m
}

// constant reports that no entry varies with z.
func (f *form) constant() bool {
	return !slices.ContainsFunc(f.coef.Val, func(v float64) bool { return v != 0 })
}

// broadcast repeats a scalar form.
func (f *form) broadcast(size int) *form {
	if len(f.rest) == size {
		return f
	}
	m := &sparse.CSR{Rows: size, Cols: 1, Ptr: expr.Sequence(0, size+1), Col: make([]int, size), Val: slices.Repeat([]float64{1}, size)}
	return f.combine(m)
}

// plus is f + sign g.
func (f *form) plus(g *form, sign float64) *form {
	out := &form{coef: sparse.Add(1, f.coef, sign, g.coef), rest: make([]float64, len(f.rest))}
	u, p := f.sized()
	v, q := g.sized()
	if f.size.coef != nil || g.size.coef != nil || out.coef.NNZ() < u.NNZ()+v.NNZ() {
		out.size.coef = sparse.Add(1, u, 1, v).Val
	}
	out.size.rest = make([]float64, len(f.rest))
	for k := range out.rest {
		out.rest[k] = f.rest[k] + sign*g.rest[k]
		out.size.rest[k] = p[k] + q[k]
	}
	return out.clean()
}

// scaled multiplies entry k by by[k].
func (f *form) scaled(by []float64) *form {
	m := *f.coef
	m.Val = slices.Clone(f.coef.Val)
	out := &form{coef: &m, rest: slices.Clone(f.rest), size: sizes{slices.Clone(f.size.coef), slices.Clone(f.size.rest)}}
	for i, v := range by {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			m.Val[k] *= v
			if out.size.coef != nil {
				out.size.coef[k] *= math.Abs(v)
			}
		}
		if out.rest[i] *= v; out.size.rest != nil {
			out.size.rest[i] *= math.Abs(v)
		}
	}
	return out
}

// negated is -f.
func (f *form) negated() *form { return f.scaled(slices.Repeat([]float64{-1}, len(f.rest))) }

// combine is M f, for a matrix M of as many columns as f has entries.
func (f *form) combine(m *sparse.CSR) *form {
	out := &form{coef: sparse.Mul(m, f.coef), rest: make([]float64, m.Rows)}
	m.MulVec(out.rest, f.rest)
	abs := *m
	abs.Val = magnitudes(m.Val)
	u, p := f.sized()
	if f.size.coef != nil || out.coef.NNZ() < multiplications(m, f.coef) {
		out.size.coef = sparse.Mul(&abs, u).Val
	}
	out.size.rest = make([]float64, m.Rows)
	abs.MulVec(out.size.rest, p)
	return out.clean()
}

// reads reports whether a row has a coefficient in column n or beyond it.
func (f *form) reads(n int) bool {
	for i := range f.coef.Rows {
		cols, vals := nonzero(f.coef.Row(i))
		if len(vals) > 0 && cols[len(cols)-1] >= n {
			return true
		}
	}
	return false
}

// finite reports whether all numbers of row k are finite.
func (f *form) finite(k int) bool {
	_, vals := f.coef.Row(k)
	for _, v := range vals {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return !math.IsNaN(f.rest[k]) && !math.IsInf(f.rest[k], 0)
}
