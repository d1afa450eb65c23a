package bind

import (
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir/expr"
)

// running is a sum of scalar forms under way, term by term from the left: the same numbers as form.plus gives, in time and
// memory of the terms. A form for each partial sum would take the square of the length of a sum of as many variables.
type running struct {
	place      map[int]int // of a column in the others
	cols       []int
	vals, size []float64
	rest       float64
	restSize   float64
	sized      bool // some coefficient was summed
}

// partialSums are the partial sums among nodes that nothing but the next one of the same sum uses.
func partialSums(nodes []*expr.Node, users map[*expr.Node]int) map[*expr.Node]bool {
	out := map[*expr.Node]bool{}
	for _, n := range nodes {
		if left := leftOf(n); left != nil && leftOf(left) != nil && users[left] == 1 {
			out[left] = true
		}
	}
	return out
}

// leftOf is what a scalar sum or difference of variables adds to, nil for others.
func leftOf(n *expr.Node) *expr.Node {
	if (n.Op == expr.Add || n.Op == expr.Sub) && n.Shape.Len() == 1 && n.Deps != 0 {
		return n.Args[0]
	}
	return nil
}

// sum is f as the first term of a sum.
func sum(f *form) *running {
	r := &running{place: map[int]int{}, rest: f.rest[0], restSize: f.restSize(0), sized: f.size.coef != nil}
	m, _ := f.sized()
	r.cols, r.vals, r.size = slices.Clone(f.coef.Col), slices.Clone(f.coef.Val), slices.Clone(m.Val)
	for k, j := range r.cols {
		r.place[j] = k
	}
	return r
}

// add adds sign f; what is left of terms that cancel is 0, as in form.clean.
func (r *running) add(f *form, sign float64) {
	m, _ := f.sized()
	r.sized = r.sized || f.size.coef != nil
	for k, j := range f.coef.Col {
		at, ok := r.place[j]
		if !ok {
			r.place[j] = len(r.cols)
			r.cols, r.vals, r.size = append(r.cols, j), append(r.vals, sign*f.coef.Val[k]), append(r.size, m.Val[k])
			continue
		}
		r.sized = true
		r.vals[at], r.size[at] = r.vals[at]+sign*f.coef.Val[k], r.size[at]+m.Val[k]
		drop(r.vals[at:at+1], r.size[at:at+1])
	}
	rest, size := []float64{r.rest + sign*f.rest[0]}, []float64{r.restSize + f.restSize(0)}
	drop(rest, size)
	r.rest, r.restSize = rest[0], size[0]
}

// form is the sum as a form of n columns.
func (r *running) form(n int) *form {
	order := make([]int, len(r.cols))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return r.cols[a] - r.cols[b] })
	m := &sparse.CSR{Rows: 1, Cols: n, Ptr: []int{0, len(order)}, Col: make([]int, len(order)), Val: make([]float64, len(order))}
	out := &form{coef: m, rest: []float64{r.rest}, size: sizes{rest: []float64{r.restSize}}}
	size := make([]float64, len(order))
	for k, at := range order {
		m.Col[k], m.Val[k], size[k] = r.cols[at], r.vals[at], r.size[at]
	}
	if r.sized {
		out.size.coef = size
	}
	return out
}

// extend adds the term of n to the sum that it continues; of a partial sum alone there is no form yet.
func (a *affine) extend(n *expr.Node, sums map[*expr.Node]*running, partial bool) (f *form, bad *expr.Node) {
	r := sums[n.Args[0]]
	delete(sums, n.Args[0])
	if r == nil {
		if f, bad = a.argument(n.Args[0]); bad != nil {
			return nil, bad
		}
		r = sum(f)
	}
	if f, bad = a.argument(n.Args[1]); bad != nil {
		return nil, bad
	}
	sign := 1.0
	if n.Op == expr.Sub {
		sign = -1
	}
	if r.add(f, sign); partial {
		sums[n] = r
		return nil, nil
	}
	return r.form(a.dx + a.dy), nil
}

// argument is the form of an argument of a node: that at hand, or that of data.
func (a *affine) argument(m *expr.Node) (f *form, bad *expr.Node) {
	if f := a.forms[m]; f != nil {
		return f, nil
	}
	if f, bad = a.step(m); bad == nil {
		a.forms[m] = f
	}
	return f, bad
}
