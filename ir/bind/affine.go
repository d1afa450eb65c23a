package bind

import (
	"math"
	"slices"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/expr"
)

// form is an array of affine functions of z = (x, y): the terms of entry k are
// terms[ptr[k]:ptr[k+1]] in the order of their columns, of which the last, cols, is that of
// the constant term. Entries of a matrix are row-major. Numbers that are the rounding of what
// they were summed from are zero.
type form struct {
	cols  int
	ptr   []int
	terms []coefficient
}

func (a *affine) form(entries, terms int) *form {
	return &form{cols: a.dx + a.dy, ptr: make([]int, 1, entries+1), terms: make([]coefficient, 0, terms)}
}

func (f *form) endRow() { f.ptr = append(f.ptr, len(f.terms)) }

// len is the number of entries.
func (f *form) len() int { return len(f.ptr) - 1 }

// row is an entry, row[:len(row)-1] is what varies of it.
func (f *form) row(k int) []coefficient { return f.terms[f.ptr[k]:f.ptr[k+1]] }

// varying are the coefficients of an entry.
func (f *form) varying(k int) []coefficient { return f.terms[f.ptr[k] : f.ptr[k+1]-1] }

// rest is the constant term of an entry.
func (f *form) rest(k int) coefficient { return f.terms[f.ptr[k+1]-1] }

// nonzero are the coefficients of an entry without those that are 0.
func (f *form) nonzero(k int) []coefficient {
	zero := func(c coefficient) bool { return c.val == 0 }
	terms := f.varying(k)
	if slices.ContainsFunc(terms, zero) {
		terms = slices.DeleteFunc(slices.Clone(terms), zero)
	}
	return terms
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
		out := a.form(value.Len(), value.Len())
		for _, v := range value.Values() {
			out.terms = append(out.terms, number(out.cols, v))
			out.endRow()
		}
		return out, nil
	}
	if n.Op == expr.Var {
		if n.Lower && n.Offset >= a.dy {
			return nil, n // a multiplier
		}
		at := n.Offset
		if n.Lower {
			at += a.dx
		}
		return a.entries(at, n.Shape.Len(), 1), nil
	}
	if n.Op == expr.MatVec && n.Args[0].Deps == 0 { // the matrix may be sparse: it is not made a form
		m := a.matrix(n.Args[0], n.TransA)
		if m == nil {
			return nil, n.Args[0]
		}
		return a.combine(m, a.forms[n.Args[1]]), nil
	}
	args := make([]*form, len(n.Args))
	for i, m := range n.Args {
		if args[i], bad = a.argument(m); bad != nil {
			return nil, bad
		}
	}
	if a.fold != nil && n.Deps != 0 && n.Op.Info().Kinked {
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
			return u.scaled(v.constants()), nil
		case u.constant():
			return v.scaled(u.constants()), nil
		}
	case expr.Div:
		if v := args[1].broadcast(size); v.constant() {
			inverse := each.Of(v.constants(), func(e float64) float64 { return 1 / e })
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

// entries are v times so many entries of z, from one on.
func (a *affine) entries(at, size int, v float64) *form {
	out := a.form(size, 2*size)
	for k := range size {
		out.terms = append(out.terms, number(at+k, v), number(out.cols, 0))
		out.endRow()
	}
	return out
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
	m := sparse.Empty(args[vary].len())
	add := func(t expr.Summand) bool {
		col, v := t.P, t.A
		if info.Bilinear {
			at := t.Q
			if vary == 1 {
				at, col = t.P, t.Q
			}
			v *= args[1-vary].rest(at).val
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
	return a.combine(m, args[vary])
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
	return !slices.ContainsFunc(f.terms, func(c coefficient) bool { return c.col < f.cols && c.val != 0 })
}

// constants are the constant terms.
func (f *form) constants() []float64 {
	return each.Below(f.len(), func(k int) float64 { return f.rest(k).val })
}

// broadcast repeats a scalar form.
func (f *form) broadcast(size int) *form {
	if f.len() == size {
		return f
	}
	terms := slices.Repeat(f.terms, size)
	return &form{cols: f.cols, ptr: each.Below(size+1, func(k int) int { return k * len(f.terms) }), terms: terms}
}

// plus is f + sign g.
func (f *form) plus(g *form, sign float64) *form {
	out := &form{cols: f.cols, ptr: make([]int, 1, len(f.ptr)), terms: make([]coefficient, 0, len(f.terms)+len(g.terms)-f.len())}
	for k := range f.len() {
		u := f.row(k)
		for _, c := range g.row(k) { // the last of both is in one column
			for u[0].col < c.col {
				out.terms, u = append(out.terms, u[0]), u[1:]
			}
			c.val *= sign
			if u[0].col == c.col {
				c, u = u[0].plus(c), u[1:]
			}
			out.terms = append(out.terms, c)
		}
		out.endRow()
	}
	return out
}

// scaled multiplies entry k by by[k].
func (f *form) scaled(by []float64) *form {
	out := &form{cols: f.cols, ptr: slices.Clip(f.ptr), terms: slices.Clone(f.terms)}
	for i, v := range by {
		row := out.row(i)
		for k := range row {
			row[k].val *= v
			row[k].size *= math.Abs(v)
		}
	}
	return out
}

// negated is -f.
func (f *form) negated() *form { return f.scaled(slices.Repeat([]float64{-1}, f.len())) }

// combine is M f, for a matrix M of as many columns as f has entries.
func (a *affine) combine(m *sparse.CSR, f *form) *form {
	width := (len(f.terms) - f.len()) / max(f.len(), 1) // coefficients of an entry of f
	out := a.form(m.Rows, m.Rows+min(m.NNZ()*width, m.Rows*f.cols))
	sum, seen := make([]coefficient, f.cols), make([]int, f.cols)
	for i := range m.Rows {
		start, rest := len(out.terms), number(f.cols, 0)
		cols, vals := m.Row(i)
		for l, of := range cols {
			v, row := vals[l], f.row(of)
			last := len(row) - 1
			for _, c := range row[:last] {
				if seen[c.col] != i+1 {
					seen[c.col], sum[c.col] = i+1, coefficient{col: c.col}
					out.terms = append(out.terms, c)
				}
				sum[c.col].val += v * c.val
				sum[c.col].size += math.Abs(v) * c.size
			}
			rest.val += v * row[last].val
			rest.size += math.Abs(v) * row[last].size
		}
		row := out.terms[start:]
		byColumn(row)
		for k, c := range row {
			row[k] = sum[c.col].clean()
		}
		out.terms = append(out.terms, rest.clean())
		out.endRow()
	}
	return out
}

// reads reports whether a row has a coefficient in column n or beyond it.
func (f *form) reads(n int) bool {
	return slices.ContainsFunc(f.terms, func(c coefficient) bool { return c.val != 0 && n <= c.col && c.col < f.cols })
}

// finite reports whether all numbers of entry k are finite.
func (f *form) finite(k int) bool {
	return !slices.ContainsFunc(f.row(k), func(c coefficient) bool { return math.IsNaN(c.val) || math.IsInf(c.val, 0) })
}
