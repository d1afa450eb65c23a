package bind

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir/expr"
)

// running is a sum of entries of forms under way, term by term from the left: the same numbers as form.plus gives, in time and
// memory of the terms. A form for each partial sum would take the square of the length of a sum of as many variables.
type running struct {
	place map[int]int // of a column among the coefficients
	coef  []coefficient
	rest  coefficient
}

// coefficient is a number that is summed up, with the size of its terms.
type coefficient struct {
	col       int
	val, size float64
}

// add adds a term; what is left of terms that cancel is 0, as in form.clean.
func (c *coefficient) add(v, size float64) {
	vals := []float64{c.val + v}
	c.size += size
	drop(vals, []float64{c.size})
	c.val = vals[0]
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
	size := math.Abs(by)
	for n := f.coef.Ptr[k]; n < f.coef.Ptr[k+1]; n++ {
		at, ok := r.place[f.coef.Col[n]]
		if !ok {
			at = len(r.coef)
			r.place[f.coef.Col[n]], r.coef = at, append(r.coef, coefficient{col: f.coef.Col[n]})
		}
		r.coef[at].add(by*f.coef.Val[n], size*f.coefSize(n))
	}
	r.rest.add(by*f.rest[k], size*f.restSize(k))
}

// form is the sum as a form of n columns.
func (r *running) form(n int) *form {
	slices.SortFunc(r.coef, func(a, b coefficient) int { return a.col - b.col })
	out := &form{coef: sparse.Empty(n), rest: []float64{r.rest.val}, size: sizes{rest: []float64{r.rest.size}}}
	for _, c := range r.coef {
		out.coef.Append(c.col, c.val)
		out.size.coef = append(out.size.coef, c.size)
	}
	out.coef.EndRow()
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
