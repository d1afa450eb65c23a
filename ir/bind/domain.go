package bind

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
)

// The lower objective says where it is defined: log(u), sqrt(u) and u^p, p not whole, ask for u >= 0 as a constraint would, and the follower has no answer beyond. Where u is linear in the
// variables, or such a factor beside others of one sign, reads y, and may be below 0, that is laid as rows of the lower level behind the model's own: so y has a place to begin, x has one to end, and proofs have a range. A logarithm keeps off its row, so that
// the row's multiplier is 0.

// domain lays these rows, once all parts of the problem are bound.
func (r *rows) domain() {
	p, b := r.prob, r.b
	if b.list.HasErrors() || p.Lower.Objective == nil || p.Upper.Objective == nil {
		return
	}
	a, known := b.affine(b.dy), (*halfspaces)(nil)
	named := map[string]int{}
	for _, n := range expr.Reachable(p.Lower.Objective) {
		u := b.inside(n)
		if u == nil || u.Deps&expr.DependsY == 0 {
			continue
		}
		if known == nil {
			known = r.halfspaces()
		}
		f := known.signOf(&a, u)
		if f == nil {
			continue
		}
		text := "domain of " + elab.QuoteSpan(n.Span)
		if named[text]++; named[text] > 1 {
			text += fmt.Sprintf(" (%d)", named[text])
		}
		family := &ir.Family{Name: text, Shape: u.Shape, Span: n.Span, Sign: -1}
		all := true
		for k := range f.len() {
			terms, rest := f.nonzero(k), f.rest(k)
			switch {
			case !f.finite(k) || !known.reads(terms) || known.empty(terms, rest.val): // a range without a point of the domain is for the proofs to tell
				all = false
				continue
			case !known.take(terms, rest.val):
				continue
			}
			b.rowsFit(n.Span, "`"+elab.QuoteSpan(n.Span)+"`", 1)
			b.indexedRows++
			split(p.A, p.B, terms, -1)
			r.endRow(ir.Row{Family: family, Index: k, Name: family.EntryName(k)}, rest.val)
		}
		if all {
			if p.Inside == nil {
				p.Inside = map[*expr.Node]bool{}
			}
			p.Inside[u] = true
		}
	}
}

// signOf is a linear form with the sign that u has wherever it has a value: u itself, or a factor of it, or a divisor, beside one of which the halfspaces tell the sign. nil where there is none, or data was not supplied.
func (h *halfspaces) signOf(a *affine, u *expr.Node) *form {
	if f, bad := a.of(u); bad == nil {
		return f
	}
	if u.Op != expr.Mul && u.Op != expr.Div {
		return nil
	}
	for k, m := range u.Args {
		f, other := h.signOf(a, m), h.signOf(a, u.Args[1-k])
		if f == nil || other == nil {
			continue
		}
		f, other = f.broadcast(u.Shape.Len()), other.broadcast(u.Shape.Len())
		signs := each.Below(other.len(), func(i int) float64 {
			terms, rest := other.nonzero(i), other.rest(i).val
			switch {
			case h.least(terms, rest) >= 0:
				return 1
			case h.least(each.Of(terms, func(c coefficient) coefficient { return coefficient{col: c.col, val: -c.val} }), -rest) >= 0:
				return -1
			}
			return 0
		})
		if !slices.Contains(signs, 0) {
			return f.scaled(signs)
		}
	}
	return nil
}

// inside is the argument of an operation that is defined where this is above 0, or not below; nil of others.
func (b *binder) inside(n *expr.Node) *expr.Node {
	switch n.Op {
	case expr.Log, expr.Sqrt:
		return n.Args[0]
	case expr.Pow:
		if n.Args[1].Deps != 0 {
			return n.Args[0]
		}
		power := b.graph.Known(n.Args[1])
		if power == nil {
			return nil
		}
		for _, v := range power.Values() { // entries with a whole power are defined on both sides
			if v == math.Trunc(v) {
				return nil
			}
		}
		return n.Args[0]
	}
	return nil
}

// halfspaces are the inequalities that are there already: ends of single variables, and by their direction those of several.
type halfspaces struct {
	dx     int
	lo, hi []float64 // of (x, y)
	rest   map[string]float64
}

func (r *rows) halfspaces() *halfspaces {
	p, n := r.prob, r.b.dx+r.b.dy
	h := &halfspaces{dx: r.b.dx, lo: make([]float64, n), hi: make([]float64, n), rest: map[string]float64{}}
	for j := range n {
		h.lo[j], h.hi[j] = math.Inf(-1), math.Inf(1)
	}
	copy(h.lo, p.X.Lo)
	copy(h.hi, p.X.Hi)
	for i, row := range p.Rows { // A x - B y - b <= 0
		for _, sign := range []float64{-1, 1} {
			if sign > 0 && !row.Equal {
				continue
			}
			var terms []coefficient
			for j, v := range p.A.Entries(i) {
				terms = append(terms, coefficient{col: j, val: sign * v})
			}
			for j, v := range p.B.Entries(i) {
				terms = append(terms, coefficient{col: h.dx + j, val: -sign * v})
			}
			h.add(terms, -sign*p.Rhs[i])
		}
	}
	return h
}

// add takes the inequality terms + rest >= 0.
func (h *halfspaces) add(terms []coefficient, rest float64) {
	switch {
	case len(terms) == 0:
	case len(terms) == 1 && terms[0].val > 0:
		h.lo[terms[0].col] = math.Max(h.lo[terms[0].col], -rest/terms[0].val)
	case len(terms) == 1:
		h.hi[terms[0].col] = math.Min(h.hi[terms[0].col], -rest/terms[0].val)
	default:
		name, unit := direction(terms)
		if known, ok := h.rest[name]; !ok || rest/unit < known {
			h.rest[name] = rest / unit
		}
	}
}

// reads reports that an inequality is one of y.
func (h *halfspaces) reads(terms []coefficient) bool {
	return slices.ContainsFunc(terms, func(c coefficient) bool { return c.col >= h.dx })
}

// empty reports that no point satisfies an inequality.
func (h *halfspaces) empty(terms []coefficient, rest float64) bool {
	for _, c := range terms {
		rest += math.Max(c.val*h.lo[c.col], c.val*h.hi[c.col])
	}
	return rest < 0
}

// least is a number that terms + rest is not below.
func (h *halfspaces) least(terms []coefficient, rest float64) float64 {
	for _, c := range terms {
		rest += math.Min(c.val*h.lo[c.col], c.val*h.hi[c.col])
	}
	return rest
}

// take adds an inequality that does not follow from those that are there, and reports that it did.
func (h *halfspaces) take(terms []coefficient, rest float64) bool {
	if h.least(terms, rest) >= 0 {
		return false
	}
	if len(terms) > 1 {
		name, unit := direction(terms)
		if known, ok := h.rest[name]; ok && known <= rest/unit {
			return false
		}
	}
	h.add(terms, rest)
	return true
}

// direction names coefficients up to a factor, which is beside it.
func direction(terms []coefficient) (name string, unit float64) {
	unit = math.Abs(terms[0].val)
	for _, c := range terms {
		name += fmt.Sprintf("%d:%g ", c.col, c.val/unit)
	}
	return name, unit
}
