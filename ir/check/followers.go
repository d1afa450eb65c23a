package check

import (
	"fmt"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Several followers, each a block of its own, are one lower level whose
// objective is the sum of theirs: none reads another's variables, so that the sum
// is least where each of its terms is. A block with indices stands for one
// follower for each: its variables get the indices as their first dimensions,
// its constraints become families over them, and its objective a sum. That is
// written out here, as syntax; places stay those of the block.

// A follower is one lower block as it stands in the model.
type follower struct {
	block *lang.Level
	name  string
	items []lang.LevelItem
	own   map[string]bool // its variables
	dims  []lang.Expr     // of its indices; none where it has none
	lets  map[string]*lang.Let
}

// followers prepares the lower blocks of the model.
func (c *checker) followers() {
	var blocks []*lang.Level
	for _, d := range c.file.Decls {
		if l, ok := d.(*lang.Level); ok && l.Lower {
			blocks = append(blocks, l)
		}
	}
	named := names{}
	for _, b := range blocks {
		f := &follower{block: b, items: b.Items, own: map[string]bool{}, lets: map[string]*lang.Let{}}
		c.lowerBlocks[b] = f
		for _, item := range b.Items {
			if v, ok := item.(*lang.Var); ok {
				f.own[v.Name.Name] = true
			}
		}
		if b.Name == nil {
			if len(blocks) > 1 {
				f.name = "?"
			}
			continue
		}
		f.name = b.Name.Name
		c.once(named, f.name, *b.Name, diag.DeclaredTwice, "two followers are named `%s`")
		if b.Binders != nil {
			c.expand(f)
		}
	}
}

// itemsOf are the items of a level, written out where it stands for many
// followers.
func (c *checker) itemsOf(l *lang.Level) []lang.LevelItem {
	if f := c.lowerBlocks[l]; f != nil {
		return f.items
	}
	return l.Items
}

// expand writes a block with indices out.
func (c *checker) expand(f *follower) {
	b := f.block
	for i := range b.Binders {
		d := c.followerDim(&b.Binders[i])
		if d == nil {
			f.items = nil
			return
		}
		f.dims = append(f.dims, d)
	}
	rank, most := map[string]int{}, map[string]int{} // of the own variables, and how many indices they take at most
	for _, item := range b.Items {
		switch item := item.(type) {
		case *lang.Var:
			rank[item.Name.Name] = len(item.Type.Dims)
			for _, d := range item.Type.Dims {
				most[item.Name.Name] += c.labels(d)
			}
		case *lang.Let:
			f.lets[item.Name.Name] = item
		}
	}
	expanding := map[string]bool{}
	var replace func(x lang.Expr, in *lang.Scope) lang.Expr
	replace = func(x lang.Expr, in *lang.Scope) lang.Expr {
		n, bare := x.(*lang.Name)
		at, subs := lang.At{Place: x.Span()}, []lang.Subscript(nil)
		if index, ok := x.(*lang.Index); ok {
			n, _ = index.X.(*lang.Name)
			subs = index.Subs
		}
		if n == nil || in.Find(n.Name) != nil {
			return nil
		}
		if let := f.lets[n.Name]; bare && let != nil && !expanding[n.Name] {
			expanding[n.Name] = true
			defer delete(expanding, n.Name)
			return &lang.Paren{At: at, X: lang.Rewrite(let.Value, nil, replace)}
		}
		r, own := rank[n.Name]
		if !own {
			return nil
		}
		if len(subs) > most[n.Name] {
			c.errorf(c.global, diag.Subscripts, at.Place, "`%s` has an index too many: within the follower `%s` its own variables stand for one of its kind", elab.Quote(x), f.name).Fix =
				"write `" + n.Name + "` without the follower's index"
			return nil
		}
		if bare {
			subs = slices.Repeat([]lang.Subscript{{At: at, All: true}}, r)
		}
		out := &lang.Index{At: at, X: n, Subs: f.indexSubs(n.At)}
		for _, s := range subs {
			s.Lo, s.Hi = lang.Rewrite(s.Lo, in, replace), lang.Rewrite(s.Hi, in, replace)
			out.Subs = append(out.Subs, s)
		}
		return f.upright(out, r)
	}
	f.items = nil
	for _, item := range b.Items {
		switch item := item.(type) {
		case *lang.Var:
			v, more := c.expandVar(f, item)
			f.items = append(f.items, v)
			if more != nil {
				f.items = append(f.items, &lang.SubjectTo{At: item.At, Constraints: []*lang.Constraint{more}})
			}
		case *lang.Objective:
			o := *item
			o.Value = &lang.Comprehension{At: lang.At{Place: item.Value.Span()}, Fn: lang.Ident{At: item.At, Name: "sum"},
				Binders: b.Binders, Body: lang.Rewrite(item.Value, nil, replace)}
			f.items = append(f.items, &o)
		case *lang.Let:
			if c.readOutside(b, item.Name.Name) {
				at := lang.At{Place: item.Value.Span()}
				f.items = append(f.items, &lang.Let{At: item.At, Name: item.Name, Value: &lang.Comprehension{At: at,
					Fn: lang.Ident{At: at}, Binders: b.Binders, Body: lang.Rewrite(item.Value, nil, replace)}})
			}
		case *lang.SubjectTo:
			s := *item
			s.Constraints = nil
			for _, r := range item.Constraints {
				r = lang.RewriteConstraint(r, replace)
				r.Binders = append(b.Binders[:len(b.Binders):len(b.Binders)], r.Binders...)
				s.Constraints = append(s.Constraints, r)
			}
			f.items = append(f.items, &s)
		}
	}
}

// readOutside reports that a name is used outside of a block. A let of a block with
// indices is an array over them there, one number for each follower.
func (c *checker) readOutside(block *lang.Level, name string) bool {
	reads := func(n *lang.Name, _ *lang.Scope) bool { return n.Name == name }
	return slices.ContainsFunc(c.file.Decls, func(d lang.Decl) bool { return d != lang.Decl(block) && lang.FindName(d, reads) != nil })
}

// indexSubs are the follower's own indices as subscripts.
func (f *follower) indexSubs(at lang.At) []lang.Subscript {
	return each.Of(indices(f.block.Binders), func(n lang.Ident) lang.Subscript {
		return lang.Subscript{At: at, Lo: &lang.Name{At: at, Name: n.Name}}
	})
}

// upright is a selection from an own variable of the given rank: a vector of each
// follower is a row of the matrix of them all, and a column to the follower.
func (f *follower) upright(x *lang.Index, rank int) lang.Expr {
	if rank == 1 && len(x.Subs) == 2 {
		return &lang.Transpose{At: x.At, X: x}
	}
	return x
}

// followerDim is the dimension of an index over followers: a set, or the end of
// a range from 1.
func (c *checker) followerDim(b *lang.Binder) lang.Expr {
	if b.Hi == nil {
		if c.declaredAsSet(b.Lo) != nil {
			return b.Lo
		}
	} else if one, ok := b.Lo.(*lang.Number); ok && one.Text == "1" {
		return b.Hi
	}
	c.errorf(c.global, diag.Followers, b.Span(), "the index of a follower ranges over an index set or from 1, as in `i in 1..n`")
	return nil
}

// expandVar gives a variable of a block with indices their dimensions. What
// its set says of one follower's variable has to hold for each: bounds that
// depend on the index become arrays, and the sum of a simplex a constraint.
func (c *checker) expandVar(f *follower, v *lang.Var) (*lang.Var, *lang.Constraint) {
	out := *v
	if v.Type.Kind == lang.KindBad {
		return &out, nil
	}
	out.Type = lang.TypeExpr{At: v.Type.At, Kind: lang.KindArray, Dims: append(f.dims[:len(f.dims):len(f.dims)], v.Type.Dims...)}
	if v.Set == nil {
		return &out, nil
	}
	set := *v.Set
	out.Set = &set
	if set.Name.Name == "simplex" && len(set.Args) == 1 && len(v.Type.Dims) > 0 {
		all := f.indexSubs(v.Name.At)
		for range v.Type.Dims {
			all = append(all, lang.Subscript{At: v.Name.At, All: true})
		}
		own := &lang.Index{At: v.Name.At, X: &lang.Name{At: v.Name.At, Name: v.Name.Name}, Subs: all}
		total := &lang.Call{At: set.At, Fn: lang.Ident{At: set.At, Name: "sum"}, Args: []lang.Expr{own}}
		name := lang.Ident{At: v.Name.At, Name: v.Name.Name + ".simplex"}
		row := &lang.Constraint{At: set.At, Name: &name, Binders: f.block.Binders, Terms: []lang.Expr{total, set.Args[0]}, Ops: []lang.RelOp{lang.Equal}}
		set.Name.Name, set.Args = "nonneg", nil
		return &out, row
	}
	set.Args = append([]lang.Expr(nil), set.Args...)
	for i, a := range set.Args {
		if !mentionsIndex(a, f.block.Binders) && !c.sameFor(v, a) {
			continue
		}
		binders, body := c.eachEntry(f, v, a)
		if body == nil {
			c.errorf(c.global, diag.Followers, a.Span(), "a bound of the array `%s` moves with the follower's index, and is not one number or a part of an array", v.Name.Name).Fix =
				"write it as a constraint"
			lang.FindName(a, func(n *lang.Name, _ *lang.Scope) bool {
				c.spoken = append(c.spoken, n.Name)
				return false
			})
			body = &lang.Number{At: lang.At{Place: a.Span()}, Text: "0", Int: true} // so that the index is not looked for where it is not declared
		}
		set.Args[i] = &lang.Comprehension{At: lang.At{Place: a.Span()}, Fn: lang.Ident{At: lang.At{Place: a.Span()}}, Binders: binders, Body: body}
	}
	return &out, nil
}

// eachEntry writes a bound of a follower's variable as one number for each entry of the variable that all followers together
// have: a number serves for all of the follower's entries, and of a part of an array, as cap[i, :], each has its own. nil
// where the bound is neither.
func (c *checker) eachEntry(f *follower, v *lang.Var, bound lang.Expr) (binders []lang.Binder, body lang.Expr) {
	binders = f.block.Binders[:len(f.block.Binders):len(f.block.Binders)]
	at := lang.At{Place: bound.Span()}
	var own []lang.Subscript
	for k, d := range v.Type.Dims {
		b := lang.Binder{At: at, Name: lang.Ident{At: at, Name: fmt.Sprint("entry ", k+1)}, Lo: &lang.Number{At: at, Text: "1", Value: 1, Int: true}, Hi: d} // no name that a model can have
		if n, ok := d.(*lang.Name); ok && c.declaredAsSet(d) != nil {
			b.Lo, b.Hi = n, nil
		}
		binders = append(binders, b)
		own = append(own, lang.Subscript{At: at, Lo: &lang.Name{At: at, Name: b.Name.Name}})
	}
	if c.sameFor(v, bound) {
		return binders, &lang.Index{At: at, X: bound, Subs: own}
	}
	if t, ok := bound.(*lang.Transpose); ok && len(own) == 1 { // a row of an array, as a column
		bound = t.X
	}
	part := false
	lang.Walk(bound, func(x lang.Expr) bool {
		i, ok := x.(*lang.Index)
		part = part || ok && slices.ContainsFunc(i.Subs, func(s lang.Subscript) bool { return s.All || s.Hi != nil })
		return !part
	})
	if !part {
		return binders, bound
	}
	index, ok := bound.(*lang.Index)
	if !ok {
		return nil, nil
	}
	entry := *index
	entry.Subs = slices.Clone(index.Subs)
	for k, s := range entry.Subs {
		if s.Hi != nil || s.All && len(own) == 0 {
			return nil, nil
		}
		if s.All {
			entry.Subs[k], own = own[0], own[1:]
		}
	}
	if len(own) > 0 {
		return nil, nil
	}
	return binders, &entry
}

// sameFor reports that a bound is data, or a list, with as many dimensions as the variable of one follower: it is that of each.
func (c *checker) sameFor(v *lang.Var, bound lang.Expr) bool {
	lists := !slices.ContainsFunc(v.Type.Dims, func(d lang.Expr) bool { return c.declaredAsSet(d) != nil }) // whose entries have numbers, and no names
	return len(v.Type.Dims) > 0 && c.dimensions(bound, lists) == len(v.Type.Dims)
}

// dimensions are those of data, and of lists or lets of them where lists are asked for, too; 0 for anything else.
func (c *checker) dimensions(e lang.Expr, lists bool) int {
	switch e := e.(type) {
	case *lang.ListLit:
		if lists && len(e.Elems) > 0 {
			return 1 + c.dimensions(e.Elems[0], lists)
		}
	case *lang.Name:
		for _, d := range c.file.Decls {
			switch d := d.(type) {
			case *lang.Data:
				if d.Name.Name == e.Name {
					return len(d.Type.Dims)
				}
			case *lang.Let:
				if list, ok := d.Value.(*lang.ListLit); ok && d.Name.Name == e.Name {
					return c.dimensions(list, lists)
				}
			}
		}
	}
	return 0
}

// declaredAsSet is the declaration of the index set that an expression names, or nil.
func (c *checker) declaredAsSet(e lang.Expr) *lang.IndexSet {
	n, ok := e.(*lang.Name)
	for _, d := range c.file.Decls {
		if set, is := d.(*lang.IndexSet); ok && is && set.Name.Name == n.Name {
			return set
		}
	}
	return nil
}

// labels is the number of labels of an element of a dimension, 1 where it is no set of tuples.
func (c *checker) labels(dim lang.Expr) int {
	set := c.declaredAsSet(dim)
	for range c.file.Decls { // a set that is part of itself is an error of its own
		switch {
		case set == nil:
			return 1
		case len(set.Within) > 1:
			return len(set.Within)
		case len(set.Within) == 1:
			set = c.declaredAsSet(&lang.Name{At: set.Within[0].At, Name: set.Within[0].Name})
		case set.Value != nil && len(set.Value.Binders) > 1:
			return len(set.Value.Binders)
		case set.Value != nil && len(set.Value.Binders) == 1:
			set = c.declaredAsSet(set.Value.Binders[0].Lo)
		default:
			return 1
		}
	}
	return 1
}

// indices lists those that binders declare.
func indices(binders []lang.Binder) (out []lang.Ident) {
	for i := range binders {
		out = append(out, binders[i].Names()...)
	}
	return out
}

// mentionsIndex reports whether an expression uses an index of one of the binders.
func mentionsIndex(e lang.Expr, binders []lang.Binder) bool {
	own := indices(binders)
	return lang.FindName(e, func(n *lang.Name, in *lang.Scope) bool {
		return in.Find(n.Name) == nil && slices.ContainsFunc(own, func(i lang.Ident) bool { return i.Name == n.Name })
	}) != nil
}

// combine makes the objective of the lower level of those of its followers:
// their sum, where one that is maximized counts with the other sign.
func (c *checker) combine(l *ir.LevelDecl) {
	if len(l.Followers) == 0 {
		return
	}
	maximize := !slices.ContainsFunc(l.Followers, func(f ir.Follower) bool { return f.Objective == nil || !f.Objective.Maximize })
	var sum lang.Expr
	for _, f := range l.Followers {
		o := f.Objective
		if o == nil {
			continue
		}
		term := o.Value
		at := lang.At{Place: o.Value.Span()}
		if o.Maximize != maximize {
			term = &lang.Unary{At: at, Op: lang.Neg, X: &lang.Paren{At: at, X: o.Value}}
		}
		if sum == nil {
			sum = term
		} else {
			sum = &lang.Binary{At: at, Op: lang.Add, OpPlace: at.Place, X: sum, Y: term}
		}
	}
	if sum == nil {
		l.Objective = nil
		return
	}
	l.Objective = &lang.Objective{At: l.Followers[0].Block.At, Maximize: maximize, Value: sum}
	if len(l.Followers) == 1 {
		l.Objective = l.Followers[0].Objective
	}
}

// apart checks that no follower reads another's variables, directly or through
// lets and functions.
func (c *checker) apart(l *ir.LevelDecl) {
	for i := range l.Followers {
		f := &l.Followers[i]
		own := c.lowerBlocks[f.Block].own
		indexed := f.Block.Binders != nil
		look := func(e lang.Expr) {
			if path := c.foreign(e, own, indexed); len(path) > 0 {
				c.equilibrium(f, e, path)
			}
		}
		if f.Objective != nil {
			look(f.Objective.Value)
		}
		for _, r := range f.Constraints {
			for _, t := range r.Terms {
				look(t)
			}
		}
	}
}

// equilibrium reports a follower that reads what another decides.
func (c *checker) equilibrium(f *ir.Follower, e lang.Expr, path []*lang.Name) {
	last := path[len(path)-1]
	whose := f.Name
	for _, d := range slices.Backward(c.file.Decls) { // of two that declare it, the first has it
		block, _ := d.(*lang.Level)
		if other := c.lowerBlocks[block]; other != nil && other.own[last.Name] {
			whose = other.name
		}
	}
	d := c.errorf(c.global, diag.Equilibrium, path[0].Span(), "the follower `%s` reads `%s`, which the follower `%s` decides", f.Name, last.Name, whose)
	if whose == f.Name {
		d.Summary = fmt.Sprintf("a follower `%s` reads `%s` of all the others through `%s`", f.Name, last.Name, path[0].Name)
	}
	d.Detail = "followers that depend on each other's decisions are an equilibrium, which is outside the problem class: each " +
		"follower's problem is solved apart, given the upper variables"
	d.Fix = "where they share one goal, write one lower level with the variables of both"
	d.Context = e.Span()
	for _, n := range path[1:] {
		d.Related = append(d.Related, diag.Related{Span: n.Span(), Message: "which reads `" + n.Name + "` here"})
	}
}

// foreign finds how an expression comes to read a lower variable that is not
// among a follower's own: the names that lead there. A follower with indices
// reads its own by them, so that a let of the model, which has none, is not its
// own either.
func (c *checker) foreign(e lang.Expr, own map[string]bool, indexed bool) []*lang.Name {
	return elab.Reads(e, c.program, func(_ lang.Expr, s *ir.Symbol, way []*lang.Name) bool {
		return variable(s)&expr.DependsY != 0 && (!own[s.Name] || indexed && len(way) > 0)
	})
}
