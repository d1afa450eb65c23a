package bind

import (
	"math"

	"bilevelc/ir/expr"
)

// running is a sum of entries of forms under way, term by term from the left: the same numbers as form.plus gives, in time and
// memory of the terms. A form for each partial sum would take the square of the length of a sum of as many variables.
type running struct {
	place map[int]int // of a column among the coefficients
	coef  []coefficient
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

// add adds entry k of f, times by.
func (r *running) add(f *form, k int, by float64) {
	for _, c := range f.row(k) {
		at, ok := r.place[c.col]
		if !ok {
			at = len(r.coef)
			r.place[c.col], r.coef = at, append(r.coef, coefficient{col: c.col})
		}
		r.coef[at] = r.coef[at].plus(coefficient{c.col, by * c.val, math.Abs(by) * c.size})
	}
}

// form is the sum as a form of n columns.
func (r *running) form(n int) *form {
	byColumn(r.coef)
	return &form{cols: n, ptr: []int{0, len(r.coef)}, terms: r.coef}
}

// extend adds the term of n to the sum that it continues; of a partial sum alone there is no form yet.
func (a *affine) extend(n *expr.Node, sums map[*expr.Node]*running, partial bool) (f *form, bad *expr.Node) {
	r := sums[n.Args[0]]
	delete(sums, n.Args[0])
	if r == nil {
		if f, bad = a.argument(n.Args[0]); bad != nil {
			return nil, bad
		}
		r = &running{place: map[int]int{}}
		r.add(f, 0, 1)
	}
	if f, bad = a.argument(n.Args[1]); bad != nil {
		return nil, bad
	}
	sign := 1.0
	if n.Op == expr.Sub {
		sign = -1
	}
	if r.add(f, 0, sign); partial {
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
