package codegen

import (
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// transposes folds transposes into the products that read them. Contract: no
// product reads a transpose; a transpose of a transpose, of a matrix product
// or of an outer product is none.
func transposes(f *form) *form {
	return rewrite(f, false, func(r *rewriter, v val) int {
		turned := func(k int) bool { return len(v.args) > k && r.val(v.args[k]).op == opTranspose }
		v.args = append([]int(nil), v.args...)
		switch v.op {
		case opMatVec, opMatMul:
			if turned(0) {
				v.args[0], v.transA = r.val(v.args[0]).args[0], !v.transA
			}
			if v.op == opMatMul && turned(1) {
				v.args[1], v.transB = r.val(v.args[1]).args[0], !v.transB
			}
		case opTranspose:
			u := r.val(v.args[0])
			switch u.op {
			case opTranspose:
				return u.args[0]
			case opMatMul: // (A B)' = B' A'
				return r.emit(val{op: opMatMul, args: []int{u.args[1], u.args[0]}, transA: !u.transB,
					transB: !u.transA, shape: v.shape})
			case opOuter:
				return r.emit(val{op: opOuter, args: []int{u.args[1], u.args[0]}, shape: v.shape})
			}
		}
		return r.emit(v)
	})
}

// symmetry recognizes symmetric data, by comparing its entries exactly.
// Contract: a matrix-vector product whose matrix is a constant that equals
// its transpose is marked symmetric and is not transposed.
func symmetry(f *form) *form {
	known := map[*data.Array]bool{}
	return rewrite(f, false, func(r *rewriter, v val) int {
		if v.op != opMatVec {
			return r.emit(v)
		}
		m := r.val(v.args[0])
		if m.op != opConst || m.shape.Rows != m.shape.Cols {
			return r.emit(v)
		}
		a := r.form.constant(v.args[0])
		is, seen := known[a]
		if !seen {
			is = symmetric(a)
			known[a] = is
		}
		if is {
			v.symmetric, v.transA = true, false
		}
		return r.emit(v)
	})
}

// symmetric reports whether a square matrix equals its transpose exactly. It
// compares in tiles: walking columns of a large matrix misses the cache at
// every entry.
func symmetric(a *data.Array) bool {
	if a.Sparse != nil {
		return symmetricSparse(a.Sparse)
	}
	const tile = 32 // two tiles of 32 x 32 entries take 16 KiB
	n, m := a.Shape[0], a.Dense
	for i0 := 0; i0 < n; i0 += tile {
		for j0 := i0; j0 < n; j0 += tile {
			for i := i0; i < min(i0+tile, n); i++ {
				for j := max(j0, i+1); j < min(j0+tile, n); j++ {
					if m[i*n+j] != m[j*n+i] {
						return false
					}
				}
			}
		}
	}
	return true
}

func symmetricSparse(m *sparse.CSR) bool {
	t := m.T()
	return slices.Equal(m.Ptr, t.Ptr) && slices.Equal(m.Col, t.Col) && slices.Equal(m.Val, t.Val)
}

// reassociate chooses the order of products by stage and cost. Contract: a dot
// product of a matrix-vector product and a vector has its matrix-vector
// product in the earlier possible stage, or where it is needed anyway; a
// product of a matrix product, or outer product, and a vector never forms the
// matrix, where that is later or more work.
func reassociate(f *form) *form {
	// Matrix-vector products that exist for other reasons than a dot product.
	present := map[matVec]bool{}
	note := func(i int) {
		if u := &f.vals[i]; u.op == opMatVec {
			present[matVec{u.args[0], u.args[1], u.transA}] = true
		}
	}
	for i := range f.vals {
		if f.vals[i].op != opDot {
			for _, a := range f.vals[i].args {
				note(a)
			}
		}
	}
	for _, o := range f.outs {
		note(o.v)
	}
	i := -1
	return rewrite(f, true, func(r *rewriter, v val) int {
		i++
		old := f.vals[i]
		switch v.op {
		case opDot:
			return r.dotOrder(f, old, v, present)
		case opMatVec:
			return r.chain(v)
		}
		return r.emit(v)
	})
}

// matVec is a matrix-vector product of two values.
type matVec struct {
	matrix, vector int
	trans          bool
}

// dotOrder chooses between (M u) . w and u . (M' w).
func (r *rewriter) dotOrder(f *form, old, v val, present map[matVec]bool) int {
	for k := range 2 {
		p := f.vals[old.args[k]]
		w := old.args[1-k]
		if p.op != opMatVec || len(p.args) != 2 {
			continue
		}
		if q := f.vals[w]; p.symmetric && w == p.args[1] || q.op == opMatVec && q.args[0] == p.args[0] {
			continue // a quadratic form: both orders cost the same
		}
		m := max(f.vals[p.args[0]].stage, f.vals[w].stage)
		transposed := !p.transA && !p.symmetric
		isThere, otherThere := present[matVec{p.args[0], p.args[1], p.transA}], present[matVec{p.args[0], w, transposed}]
		if m > p.stage || m == p.stage && (isThere || !otherThere) {
			continue
		}
		other := r.emit(val{op: opMatVec, args: []int{r.at[p.args[0]], r.at[w]}, transA: transposed,
			symmetric: p.symmetric, alpha: 1, shape: f.vals[p.args[1]].shape})
		a, b := other, r.at[p.args[1]]
		if a > b {
			a, b = b, a
		}
		return r.emit(val{op: opDot, args: []int{a, b}, shape: v.shape})
	}
	return r.emit(v)
}

// chain multiplies from the right where that is less work or an earlier
// stage: (A B) v = A (B v), (u w') v = u (w . v).
func (r *rewriter) chain(v val) int {
	m := *r.val(v.args[0])
	x := v.args[1]
	later := m.stage >= r.val(x).stage // the matrix would be made as often as the product
	switch {
	case m.op == opOuter && later:
		u, w := m.args[0], m.args[1]
		if v.transA {
			u, w = w, u
		}
		d := r.emit(val{op: opDot, args: []int{w, x}, shape: expr.ScalarShape()})
		return r.emit(val{op: opMul, args: []int{d, u}, shape: v.shape})
	case m.op == opMatMul && (later || r.cheaper(&m)):
		a, b, ta, tb := m.args[0], m.args[1], m.transA, m.transB
		if v.transA { // (A B)' = B' A'
			a, b, ta, tb = b, a, !tb, !ta
		}
		inner := r.emit(val{op: opMatVec, args: []int{b, x}, transA: tb, alpha: 1, shape: rows(r.val(b), tb)})
		return r.emit(val{op: opMatVec, args: []int{a, inner}, transA: ta, alpha: 1, shape: v.shape})
	}
	return r.emit(v)
}

// cheaper reports whether two products with vectors touch fewer entries than
// one with the product matrix.
func (r *rewriter) cheaper(m *val) bool {
	return r.val(m.args[0]).shape.Len()+r.val(m.args[1]).shape.Len() < m.shape.Len()
}

// rows is the shape of the product of m (transposed with trans) and a vector.
func rows(m *val, trans bool) expr.Shape {
	if trans {
		return expr.VectorShape(m.shape.Cols)
	}
	return expr.VectorShape(m.shape.Rows)
}

// accumulate lets matrix-vector products take along the sums they enter.
// Contract: a matrix-vector product that enters only one sum, of its own
// length, with whatever coefficient, is computed onto the rest of the sum.
func accumulate(f *form) *form {
	uses := f.uses()
	i := -1
	return rewrite(f, false, func(r *rewriter, v val) int {
		i++
		old := f.vals[i]
		if v.op != opLin {
			return r.emit(v)
		}
		rest := val{op: opLin, shape: v.shape, bias: v.bias}
		var products []int // positions in v.args
		for k, a := range old.args {
			if u := &f.vals[a]; u.op == opMatVec && len(u.args) == 2 && !u.byRows && uses[a] == 1 && u.shape == v.shape && u.stage == old.stage {
				products = append(products, k)
				continue
			}
			rest.args, rest.coef = append(rest.args, v.args[k]), append(rest.coef, v.coef[k])
		}
		if len(products) == 0 {
			return r.emit(v)
		}
		base := -1
		switch {
		case len(rest.args) == 0 && rest.bias == 0:
		case len(rest.args) == 1 && rest.coef[0] == 1 && rest.bias == 0 && r.val(rest.args[0]).shape == v.shape:
			base = rest.args[0]
		default:
			base = r.emit(rest)
		}
		for _, k := range products {
			p := *r.val(v.args[k])
			p.alpha *= v.coef[k]
			p.args = append([]int(nil), p.args...)
			if base >= 0 {
				p.args = append(p.args, base)
			}
			base = r.emit(p)
		}
		return base
	})
}
