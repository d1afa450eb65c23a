package bind

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// An inequality of the upper level on x alone with convex kinks,
//
//	abs(x[1]) <= 2,  norm1(x) <= budget,  max(i in 1..n: x[i]) + 2 * abs(x[1] - x[2]) <= c,
//
// is part of X: with an entry of u in the place of each abs, max and min, above all of its
// sides, it is a row on (x, u) (package extended). Where the rows on x alone that come of
// choosing one side of each are no more than those rows and entries they stand in their place.
// Others, equalities among them, are constraints that are not part of X.

// folding is an affine interpreter that gives each entry of a kink an entry of u.
type folding struct {
	affine
	sides [][]sideOf // of the entries of u
}

// sideOf is one side of an entry of u: entry k of an affine form on (x, u).
type sideOf struct {
	form *form
	k    int
}

// kink is the affine form of an operation with a kink on (x, u).
func (f *folding) kink(n *expr.Node, args []*form) *form {
	size := n.Shape.Len()
	out := &form{rest: make([]float64, size)}
	sign := 1.0
	if n.Op == expr.Min || n.Op == expr.MinAll {
		sign = -1
	}
	for i, u := range args {
		if n.Op != expr.MaxAll && n.Op != expr.MinAll {
			u = u.broadcast(size)
		}
		if sign < 0 {
			u = u.negated()
		}
		args[i] = u
	}
	if n.Op == expr.Abs {
		args = append(args, args[0].negated())
	}
	out.coef = &sparse.CSR{Rows: size, Cols: f.dx + f.dy, Ptr: expr.Sequence(0, size+1), Col: expr.Sequence(f.dx+len(f.sides), size), Val: slices.Repeat([]float64{sign}, size)}
	for k := range size {
		var sides []sideOf
		for _, u := range args {
			if n.Op == expr.MaxAll || n.Op == expr.MinAll {
				for j := range u.rest {
					sides = append(sides, sideOf{u, j})
				}
			} else {
				sides = append(sides, sideOf{u, k})
			}
		}
		f.sides = append(f.sides, sides)
	}
	return out
}

// fold takes a relation of the upper level into X, if it is one on x alone whose kinks are
// convex; keep is told of its rows on x. It reports false where it is none.
func (r *rows) fold(rel relation, keep func(rel *relation, k int, cols []int, vals []float64, rest, terms float64)) bool {
	extra := 0
	for _, h := range rel.values {
		if h.Deps&^expr.DependsX != 0 {
			return false
		}
		for _, n := range expr.Reachable(h) {
			if n.Deps != 0 && hasKink(n.Op) {
				extra += n.Shape.Len()
			}
		}
	}
	if extra == 0 || rel.equal {
		return false
	}
	f := &folding{affine: r.b.affine(extra)}
	f.affine.fold = f.kink
	whole, bad := f.all(rel.values)
	if bad != nil {
		return false
	}
	var kept []int
	uses := map[int][]int{}
	for k, rest := range whole.rest {
		if math.IsInf(rest, -1) {
			continue // an infinite bound
		}
		used, ok := f.convex(whole, k)
		if !ok {
			return false
		}
		kept, uses[k] = append(kept, k), used
	}
	rows, before := 0, r.extendedBy()
	for _, k := range kept {
		used := uses[k]
		size := 1 // rows and entries of u
		for _, u := range used {
			size += len(f.sides[u]) + 1
		}
		if f.choices(used, whole, k) <= float64(size) {
			rows += r.choose(f, &rel, whole, k, keep)
		} else {
			rows += r.extend(f, &rel, used, whole, k)
		}
	}
	r.prob.X.Folded = append(r.prob.X.Folded, ir.Folded{Family: rel.family, Rows: rows, Extra: r.extendedBy() - before})
	return true
}

func (r *rows) extendedBy() int { return r.prob.X.Extended.Extra() }

// convex lists the entries of u on which entry k of a form depends, and reports whether
// all numbers are finite and none of those entries is anywhere taken with a negative sign.
func (f *folding) convex(of *form, k int) (used []int, ok bool) {
	seen := map[int]bool{}
	open := []sideOf{{of, k}}
	for len(open) > 0 {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		if !s.form.finite(s.k) || math.IsInf(s.form.rest[s.k], 0) {
			return nil, false
		}
		for j, v := range s.form.coef.Entries(s.k) {
			u := j - f.dx
			if u < 0 || v == 0 || seen[u] {
				if u >= 0 && v < 0 {
					return nil, false
				}
				continue
			}
			if v < 0 {
				return nil, false
			}
			seen[u] = true
			used, open = append(used, u), append(open, f.sides[u]...)
		}
	}
	slices.Sort(used)
	return used, true
}

// choices counts the ways to choose one side of each entry of u that a row reads.
func (f *folding) choices(used []int, of *form, k int) float64 {
	ways := map[int]float64{}
	product := func(s sideOf) float64 {
		n := 1.0
		for j := range s.form.coef.Nonzeros(s.k) {
			if j >= f.dx {
				n *= ways[j-f.dx]
			}
		}
		return n
	}
	for _, u := range used { // sides read earlier entries
		for _, s := range f.sides[u] {
			ways[u] += product(s)
		}
	}
	return product(sideOf{of, k})
}

// choose makes a row on x of each choice of sides.
func (r *rows) choose(f *folding, rel *relation, of *form, k int, keep func(rel *relation, k int, cols []int, vals []float64, rest, terms float64)) (made int) {
	for open := []sideOf{{of, k}}; len(open) > 0; {
		now := open[len(open)-1]
		open = open[:len(open)-1]
		cols, vals := nonzero(now.form.coef.Row(now.k))
		last := len(cols) - 1
		if last >= 0 && cols[last] >= f.dx {
			for _, s := range slices.Backward(f.sides[cols[last]-f.dx]) { // in the place of the entry of u
				next := &running{place: map[int]int{}}
				next.add(now.form, now.k, 1)
				next.coef[next.place[cols[last]]] = coefficient{col: cols[last]}
				next.add(s.form, s.k, vals[last])
				open = append(open, sideOf{next.form(f.dx + f.dy), 0})
			}
			continue
		}
		rest, terms := now.form.rest[now.k], now.form.restSize(now.k)
		if last >= 0 {
			keep(rel, k, cols, vals, rest, terms)
			made++
			continue
		}
		if rest > constantTolerance*terms {
			d := r.b.errorf(diag.BindNeverHolds, rel.at, "`%s` does not hold, whatever the variables are", rel.name(k))
			d.Detail = "Its left side is never less than its right side."
			return made
		}
	}
	return made
}

// extend makes entry k of a form a row on (x, u), and rows of the sides of the entries that it uses.
func (r *rows) extend(f *folding, rel *relation, used []int, of *form, k int) (made int) {
	x := &r.prob.X
	if x.Extended == nil {
		x.Extended = &extended.Rows{E: sparse.Empty(f.dx)}
	}
	e := x.Extended
	place, unit := make(map[int]int, len(used)), make(map[int]float64, len(used))
	put := func(s sideOf, scale float64) float64 {
		for j, v := range s.form.coef.Entries(s.k) {
			switch {
			case v == 0:
			case j < f.dx:
				e.E.Append(j, v/scale)
			default:
				e.E.Append(f.dx+place[j-f.dx], v*unit[j-f.dx]/scale)
			}
		}
		return 0 - s.form.rest[s.k]/scale
	}
	end := func(side float64, of int, name string) {
		e.E.EndRow()
		e.Rhs, e.Of, e.Name = append(e.Rhs, side), append(e.Of, of), append(e.Name, name)
		made++
	}
	for _, u := range used {
		// In the unit of its steepest side an entry changes as x does.
		most := 0.0
		for _, s := range f.sides[u] {
			size := 0.0
			for j, v := range s.form.coef.Entries(s.k) {
				if j < f.dx {
					size = math.Hypot(size, v)
				} else {
					size += v * unit[j-f.dx]
				}
			}
			most = max(most, size)
		}
		if most == 0 {
			most = 1
		}
		place[u], unit[u] = e.Dim, most
		e.Dim++
		for _, s := range f.sides[u] {
			side := put(s, most)
			e.E.Append(f.dx+place[u], -1)
			end(side, place[u], "")
		}
	}
	end(put(sideOf{of, k}, 1), -1, rel.name(k))
	e.E.Cols = f.dx + e.Dim
	x.ExtendedRows = append(x.ExtendedRows, ir.Row{Family: rel.family, Index: k, Name: rel.name(k)})
	r.folded = append(r.folded, rel.at)
	return made
}

// within takes the bounds of entries of x that rows on (x, u) imply.
func (r *rows) within() {
	x := &r.prob.X
	if x.Extended == nil {
		return
	}
	of := 0
	from := map[int]diag.Span{}
	for i, k := range x.Extended.Of {
		if k < 0 {
			from[i] = r.folded[of]
			of++
		}
	}
	x.Extended.Bounds(slices.Clone(x.Lo), slices.Clone(x.Hi), func(j int, at float64, upper bool, i int) {
		coef := -1.0
		if upper {
			coef = 1
		}
		r.bound(j, coef, -coef*at, false, origin{from[i], math.Abs(at)})
	}, constantTolerance, func(i int, excess float64) {
		r.b.errorf(diag.BindNeverHolds, from[i], "no x within its bounds satisfies `%s`", x.Extended.Name[i]).Detail =
			fmt.Sprintf("Its sides differ by at least %.4g.", excess)
	})
}
