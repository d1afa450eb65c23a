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
	out := f.entries(f.dx+len(f.sides), size, sign)
	for k := range size {
		var sides []sideOf
		for _, u := range args {
			if n.Op == expr.MaxAll || n.Op == expr.MinAll {
				for j := range u.len() {
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
func (r *rows) fold(rel relation, keep func(rel *relation, k int, terms []coefficient, rest coefficient)) bool {
	extra := 0
	for _, h := range rel.values {
		if h.Deps&^expr.DependsX != 0 {
			return false
		}
		for _, n := range expr.Reachable(h) {
			if n.Deps != 0 && n.Op.Info().Kinked {
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
	for k := range whole.len() {
		if math.IsInf(whole.rest(k).val, -1) {
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
		if !s.form.finite(s.k) {
			return nil, false
		}
		for _, c := range s.form.varying(s.k) {
			u := c.col - f.dx
			if u >= 0 && c.val < 0 {
				return nil, false
			}
			if u < 0 || c.val == 0 || seen[u] {
				continue
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
		for _, c := range s.form.nonzero(s.k) {
			if c.col >= f.dx {
				n *= ways[c.col-f.dx]
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
func (r *rows) choose(f *folding, rel *relation, of *form, k int, keep func(rel *relation, k int, terms []coefficient, rest coefficient)) (made int) {
	for open := []sideOf{{of, k}}; len(open) > 0; {
		now := open[len(open)-1]
		open = open[:len(open)-1]
		terms, rest := now.form.nonzero(now.k), now.form.rest(now.k)
		last := len(terms) - 1
		if last >= 0 && terms[last].col >= f.dx {
			u := terms[last]
			for _, s := range slices.Backward(f.sides[u.col-f.dx]) { // in the place of the entry of u
				next := &running{place: map[int]int{}}
				next.add(now.form, now.k, 1)
				next.coef[next.place[u.col]] = coefficient{col: u.col}
				next.add(s.form, s.k, u.val)
				open = append(open, sideOf{next.form(f.dx + f.dy), 0})
			}
			continue
		}
		if last >= 0 {
			keep(rel, k, terms, rest)
			made++
			continue
		}
		if rest.val > constantTolerance*rest.size {
			d := r.b.errorf(diag.BindNeverHolds, rel.at, "`%s` does not hold, whatever the variables are", rel.family.EntryName(k))
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
		for _, c := range s.form.nonzero(s.k) {
			if c.col < f.dx {
				e.E.Append(c.col, c.val/scale)
			} else {
				e.E.Append(f.dx+place[c.col-f.dx], c.val*unit[c.col-f.dx]/scale)
			}
		}
		return 0 - s.form.rest(s.k).val/scale
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
			for _, c := range s.form.varying(s.k) {
				if c.col < f.dx {
					size = math.Hypot(size, c.val)
				} else {
					size += c.val * unit[c.col-f.dx]
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
	end(put(sideOf{of, k}, 1), -1, rel.family.EntryName(k))
	e.E.Cols = f.dx + e.Dim
	x.ExtendedRows = append(x.ExtendedRows, ir.Row{Family: rel.family, Index: k, Name: rel.family.EntryName(k)})
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
