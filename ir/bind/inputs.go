package bind

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file gives every param and data of the model its value. A param takes,
// in this order: the supplied entry of its name; the size of supplied arrays
// whose declared dimension it is, unless its default is computed; its default; the
// size of literals. Each is bound as soon as what it is
// written in is known, in whatever order the model declares them.

// supplied checks that every supplied array is one that the model declares,
// and lifts the limits to what the supplied arrays justify.
func (b *binder) supplied() {
	names := each.Of(b.declared(), func(s *ir.Symbol) string { return s.Name })
	reported := map[string]bool{}
	for _, entry := range b.set.Entries {
		// A product of supplied arrays may be of the size of their squares;
		// four times the largest and sixteen times all together leave room
		// for what models do with them.
		b.numbers += len(entry.Labels)
		if entry.Keyed != nil {
			b.budget += len(entry.Keyed.Values)
			b.numbers += len(entry.Keyed.Values)
		}
		if entry.Array != nil {
			b.numbers += len(entry.Array.Stored())
		}
		if entry.Array != nil && entry.Array.Sparse == nil {
			b.limit = max(b.limit, 4*entry.Array.Len())
			b.tuples = max(b.tuples, entry.Array.Len())
			b.budget += 16 * entry.Array.Len()
			b.products += productsPerNumber * entry.Array.Len()
		}
		s := b.symbol(entry.Name)
		if s != nil && (s.Kind == ir.ParamSymbol || s.Kind == ir.DataSymbol || s.Kind == ir.SetSymbol) || reported[entry.Name] || b.opts.IgnoreUndeclared {
			continue
		}
		reported[entry.Name] = true
		if s != nil && s.Kind == ir.VarSymbol {
			d := b.errorf(diag.BindExtra, s.Decl.(*lang.Var).Name.Span(), "%s supplies `%s`, which is a variable", entry.Origin, entry.Name)
			d.Fix = "the lower level's answer follows from the upper variables"
			if !s.Lower {
				d.Fix = fmt.Sprintf("to start from there, give `--start FILE` with a JSON object such as {\"%s\": ...}, or write `start %s = ...` in the solve block", s.Name, s.Name)
			}
			continue
		}
		d := b.errorf(diag.BindExtra, b.modelName(), "%s supplies `%s`, which the model does not declare as param or data", entry.Origin, entry.Name)
		if near := diag.Suggest(entry.Name, names); near != "" {
			if name, value, ok := strings.Cut(entry.Origin, "="); ok && strings.HasPrefix(name, "--set ") {
				near = "--set " + near + "=" + strings.TrimSpace(value)
			}
			d.Fix = fmt.Sprintf("did you mean `%s`?", near)
		} else if text := declaration(&entry); text != "" {
			d.Fix = fmt.Sprintf("declare it, as in `%s`, or give `--ignore-undeclared`", text)
		}
	}
}

// declaration is how a supplied entry could be declared; "" where its name is none.
func declaration(e *data.Entry) string {
	switch {
	case !lang.IsName(e.Name):
		return ""
	case e.Labels != nil:
		return "set " + e.Name
	case e.Array == nil:
		return ""
	case e.Array.Rank() == 0:
		return "param " + e.Name + ": real"
	case e.Array.Rank() == 1:
		return fmt.Sprintf("data %s: vector[%d]", e.Name, e.Array.Shape[0])
	case e.Array.Rank() == 2:
		return fmt.Sprintf("data %s: matrix[%d, %d]", e.Name, e.Array.Shape[0], e.Array.Shape[1])
	}
	return ""
}

// modelName is the place of the model's name.
func (b *binder) modelName() diag.Span {
	if b.prog.File.Model != nil {
		return b.prog.File.Model.Span()
	}
	return b.prog.File.Span()
}

// inputs binds params and data.
func (b *binder) inputs(prob *ir.Problem) {
	all := b.declared()
	tried := map[*ir.Symbol]bool{}
	before := len(b.list)
	for queue, waiting := all, map[*ir.Symbol][]*ir.Symbol{}; len(queue) > 0; {
		for ; len(queue) > 0; queue = queue[1:] {
			s := queue[0]
			switch b.missing = nil; {
			case tried[s]:
			case b.tryInput(s):
				tried[s] = true
				queue = append(queue, waiting[s]...)
				delete(waiting, s)
			case b.missing != nil:
				waiting[b.missing] = append(waiting[b.missing], s)
			}
		}
		if b.opts.Abstract {
			if queue = b.fillParams(all, tried); len(queue) == 0 {
				queue = b.fillPlaceholders(all, tried)
			}
			for _, s := range queue {
				queue = append(queue, waiting[s]...)
				delete(waiting, s)
			}
		}
	}
	var pending []*ir.Symbol // params whose default waits for another
	for _, s := range all {
		if d := b.bound[s.Name]; d != nil {
			prob.Data = append(prob.Data, *d)
			continue
		}
		if set := b.sets[s.Name]; set != nil {
			prob.Sets = append(prob.Sets, ir.BoundSet{Name: s.Name, Axis: set.axis(), Origin: set.origin})
		}
		if tried[s] {
			continue
		}
		switch d := s.Decl.(type) {
		case *lang.IndexSet:
			if d.Value == nil && b.set.Get(s.Name) == nil {
				b.errorf(diag.BindNoData, d.Name.Span(), "the elements of the set `%s` were not supplied", s.Name).Fix =
					fmt.Sprintf("give them with --data: a JSON object with the list `%s`, or a table with a column of that name; of another name: `set %s(NAME)`", s.Name, s.Name)
			}
		case *lang.Param:
			if d.Default != nil {
				pending = append(pending, s)
			} else {
				b.noValue(s, d)
			}
		case *lang.Data:
			if entry := b.set.Get(s.Name); entry != nil {
				b.sizeless(s, d, entry)
			} else if d.Value == nil && d.Gen == nil {
				b.noData(s, d)
			}
		}
	}
	// What waits for an input in error is not reported; where nothing else is
	// wrong, it is a cycle, which the checker refuses.
	if len(b.list) == before && len(pending) > 0 {
		b.unchecked(pending[0].Decl.Span())
	}
}

// noData reports data that nothing supplies.
func (b *binder) noData(s *ir.Symbol, d *lang.Data) {
	e := b.errorf(diag.BindNoData, d.Name.Span(), "`%s` was not supplied", s.Name)
	for k, dim := range d.Type.Dims {
		n, ok := dim.(*lang.Name)
		if !ok || slices.ContainsFunc(d.Type.Dims[:k], func(x lang.Expr) bool { m, ok := x.(*lang.Name); return ok && m.Name == n.Name }) {
			continue
		}
		p := b.symbol(n.Name)
		if _, known := b.known[n.Name]; p != nil && p.Kind == ir.ParamSymbol && !known {
			e.Detail += fmt.Sprintf("It also gives `%s` its value. ", n.Name)
		}
	}
	e.Detail = strings.TrimSpace(e.Detail)
	column := fmt.Sprintf("a column `%s`", s.Name)
	switch {
	case len(d.Columns) > 0:
		column = "the columns that it names"
	case d.Column != nil:
		column = "the column that it names"
	}
	e.Fix = fmt.Sprintf("give it with --data: a JSON object with the name `%s`, a table with %s, or a file of its own, `--data %s=FILE`", s.Name, column, s.Name)
	for _, t := range b.readers {
		e.Detail = strings.TrimSpace(e.Detail + fmt.Sprintf(" %s has the columns %s.", t.entry.Origin, t.columnNames()))
		switch near := diag.Suggest(s.Name, t.names()); {
		case len(d.Type.Dims) > 1 && t.wideText() != "":
			e.Fix = fmt.Sprintf("say which columns it is read from: `data %s: %s columns %s`", s.Name, elab.Quote(d.Type), t.wideText())
		case near != "":
			e.Fix = fmt.Sprintf("say which column it is read from: `data %s: %s column %s`", s.Name, elab.Quote(d.Type), columnText(near))
		}
	}
}

// sizeless reports supplied data whose declared dimension is a param that it gives no value, as it has other dimensions.
func (b *binder) sizeless(s *ir.Symbol, d *lang.Data, entry *data.Entry) {
	shape, _ := b.shapeOf(s.Name, d, false)
	if !slices.ContainsFunc(d.Type.Dims[min(len(shape), len(d.Type.Dims)):], func(x lang.Expr) bool {
		n, ok := x.(*lang.Name)
		return ok && b.set.Get(n.Name) == nil && slices.Contains(b.sized(n.Name), s)
	}) {
		return
	}
	for _, f := range entry.Faults {
		b.list.Add(f)
	}
	if len(entry.Faults) > 0 {
		return
	}
	what := "a table"
	switch {
	case entry.Array != nil:
		what = sizeText(entry.Array.Shape)
	case entry.Keyed != nil:
		what = "numbers by label"
	case entry.Labels != nil:
		what = "texts"
	}
	e := b.errorf(diag.BindShape, d.Name.Span(), "`%s` is declared %s, but %s gives %s", s.Name, d.Type.Span().Text(), entry.Origin, what)
	if e.Fix = rowAsList(d, entry.Array); e.Fix == "" && entry.Array != nil && len(d.Type.Dims) == 1 {
		e.Fix = "give it as a list of numbers"
	}
}

// rowAsList says how to give a vector that is supplied as a matrix of one row; "" for anything else.
func rowAsList(d *lang.Data, a *data.Array) string {
	if len(d.Type.Dims) != 1 || a == nil || a.Rank() != 2 || a.Shape[0] != 1 {
		return ""
	}
	return fmt.Sprintf("give its %d numbers as one list, in a table one a line: this is a row", a.Shape[1])
}

// tryInput binds a param or data if all it needs is known, and reports whether
// it was dealt with (bound, or found in error).
func (b *binder) tryInput(s *ir.Symbol) bool {
	switch d := s.Decl.(type) {
	case *lang.IndexSet:
		return b.trySet(s, d)
	case *lang.Param:
		if entry := b.set.Get(s.Name); entry != nil {
			if entry.Array == nil {
				b.errorf(diag.BindShape, d.Name.Span(), "`%s` is a scalar param, but %s gives labels or a table", s.Name, entry.Origin).Fix = "give it as a number, or declare it as data"
				return true
			}
			b.bindParam(s, d, entry.Array, entry.Origin)
			return true
		}
		if d.Default != nil {
			if array, origin, again := b.infer(s, true); array != nil && isNumber(d.Default) {
				if d.Default.(*lang.Number).Value != array.Dense[0] && !again { // it may be a file that is an entry short
					w := b.errorf(diag.BindDefault, d.Name.Span(), "`%s` is %v by %s, not its default %s", s.Name, array.Dense[0], origin, d.Default.Span().Text())
					w.Severity, w.Context = diag.Warning, d.Span()
					w.Fix = fmt.Sprintf("give `--set %s=%v` if that is meant, or leave the default out: `param %s: int`", s.Name, array.Dense[0], s.Name)
				}
				b.bindParam(s, d, array, origin)
				return true
			}
			if !b.ready(d.Default) {
				return false
			}
			b.defaultParam(s, d)
			return true
		}
		array, origin, _ := b.infer(s, false)
		if array != nil {
			b.bindParam(s, d, array, origin)
		}
		return array != nil
	case *lang.Data:
		needs := slices.Clone(d.Type.Dims)
		if b.set.Get(s.Name) == nil {
			if d.Value != nil {
				needs = append(needs, d.Value)
			}
			if d.Gen != nil {
				needs = append(needs, d.Gen.Args...)
			}
		}
		if !b.ready(needs...) {
			return false
		}
		b.bindData(s, d)
		return true
	}
	return true
}

// ready reports whether every param, data and set that expressions lead to is bound; the
// first that is not is then what is missing.
func (b *binder) ready(all ...lang.Expr) bool {
	missing := func(s *ir.Symbol) bool {
		switch s.Kind {
		case ir.ParamSymbol, ir.DataSymbol:
			if _, known := b.known[s.Name]; !known {
				b.missing = s
			}
		case ir.SetSymbol:
			if b.sets[s.Name] == nil {
				b.missing = s
			}
		}
		return b.missing != nil
	}
	return !slices.ContainsFunc(all, func(x lang.Expr) bool { return b.reads(x, missing) })
}

// isNumber reports a default that is written as a number: other defaults say
// how a param follows from others, which data cannot change.
func isNumber(x lang.Expr) bool {
	_, ok := x.(*lang.Number)
	return ok
}

func (b *binder) defaultParam(s *ir.Symbol, d *lang.Param) {
	e, what := b.top(), "the default of `"+s.Name+"`"
	n := e.numeric(d.Default)
	switch v, known, ok := e.fixed(n, d.Default.Span(), what); {
	case known && d.Type.Kind == lang.KindInt && math.Abs(v) < exactInt && e.rounded(n, d.Default.Span(), what):
	case known:
		b.bindParam(s, d, data.Scalar(v), "default")
	case ok && b.opts.Abstract:
		b.bindParam(s, d, data.Scalar(float64(b.filler())), "placeholder")
	}
}

// bindParam checks the value of a param and binds it.
func (b *binder) bindParam(s *ir.Symbol, d *lang.Param, a *data.Array, origin string) {
	at := d.Name.Span()
	if a.Rank() != 0 {
		b.errorf(diag.BindShape, at, "`%s` is a scalar param, but %s gives %s", s.Name, origin, sizeText(a.Shape))
		return
	}
	v := a.Dense[0]
	if math.IsNaN(v) || math.IsInf(v, 0) {
		b.errorf(diag.BindNotFinite, at, "`%s` is %v (%s)", s.Name, v, origin)
		return
	}
	switch {
	case d.Type.Kind != lang.KindInt:
		b.bind(s.Name, a, origin, unbatched(b.graph.Const(s.Name, a, at)))
	case v != math.Trunc(v) || math.Abs(v) >= exactInt:
		b.notInteger(s, d, v, origin)
	default:
		b.bind(s.Name, a, origin, scalarInt(int(v)))
	}
}

// notInteger reports an int param of a number that is none, or of a whole one that a
// double does not tell from its neighbours.
func (b *binder) notInteger(s *ir.Symbol, d *lang.Param, v float64, origin string) {
	e := b.errorf(diag.BindNotInteger, d.Name.Span(), "`%s` must be an integer, but is %v", s.Name, v)
	var detail []string
	whole := v == math.Trunc(v)
	if whole {
		e.Summary = fmt.Sprintf("`%s` overflows the integers: it is %v", s.Name, v)
		detail = append(detail, fmt.Sprintf("Integers lie between -%d and %d: beyond, not every one can be told from the next.", exactInt-1, exactInt-1))
	}
	if origin != "default" || d.Default == nil {
		detail = append(detail, fmt.Sprintf("The value comes from %s.", origin))
	} else if e.Subject, e.Context = d.Default.Span(), d.Span(); !whole {
		detail = append(detail, fmt.Sprintf("Integer arithmetic is exact: `%s` must divide without remainder.", d.Default.Span().Text()))
		lang.Walk(d.Default, func(n lang.Expr) bool {
			if name, ok := n.(*lang.Name); ok {
				if in := b.bound[name.Name]; in != nil && in.Array.Rank() == 0 {
					detail = append(detail, fmt.Sprintf("`%s` is %v (%s).", name.Name, in.Array.Dense[0], in.Origin))
				}
			}
			return true
		})
	}
	e.Detail = strings.Join(detail, " ")
}

// bind enters a param or data.
func (b *binder) bind(name string, a *data.Array, origin string, v value) {
	b.known[name] = v
	b.bound[name] = &ir.BoundData{Name: name, Array: a, Origin: origin}
}

// infer finds a param's value as the size of an array along a dimension that
// is written as the param alone: of the supplied arrays first, then, unless
// suppliedOnly, of literals. The other arrays, which again says there are, are checked
// against it when they are bound.
func (b *binder) infer(s *ir.Symbol, suppliedOnly bool) (size *data.Array, origin string, again bool) {
	for _, literals := range []bool{false, true} {
		if literals && suppliedOnly {
			break
		}
		for _, t := range b.sized(s.Name) {
			d := t.Decl.(*lang.Data)
			shape, from := b.shapeOf(t.Name, d, literals)
			for k, dim := range d.Type.Dims {
				name, ok := dim.(*lang.Name)
				switch {
				case !ok || name.Name != s.Name || k >= len(shape):
				case size != nil:
					return size, origin, true
				default:
					size, origin = data.Scalar(float64(shape[k])), fmt.Sprintf("the size of `%s` (%s)", t.Name, from)
				}
			}
		}
	}
	return size, origin, false
}

// shapeOf is the shape of a supplied array, or of a literal.
func (b *binder) shapeOf(name string, d *lang.Data, literals bool) ([]int, string) {
	entry := b.set.Get(name)
	if !literals {
		if entry == nil {
			return nil, ""
		}
		if entry.Array == nil && entry.Labels != nil && d.Type.Kind == lang.KindText {
			return []int{len(entry.Labels)}, entry.Origin
		}
		if entry.Array == nil {
			return nil, ""
		}
		a := entry.Array
		if dims := len(d.Type.Dims); a.Rank() != dims && a.Len() > 0 && !(dims == 1 && a.Rank() == 2 && a.Shape[1] == 1) {
			return nil, "" // it does not fit, whatever the sizes are
		}
		return a.Shape, entry.Origin
	}
	list, ok := d.Value.(*lang.ListLit)
	if !ok || entry != nil {
		return nil, ""
	}
	shape := []int{len(list.Elems)}
	if len(list.Elems) > 0 {
		if row, ok := list.Elems[0].(*lang.ListLit); ok {
			shape = append(shape, len(row.Elems))
		}
	}
	return shape, "the model"
}

// noValue reports a param that nothing gives a value. A param that a missing
// array would give its value is left to the message about that array.
func (b *binder) noValue(s *ir.Symbol, p *lang.Param) {
	for _, t := range b.sized(s.Name) {
		if decl := t.Decl.(*lang.Data); decl.Value == nil && decl.Gen == nil {
			return
		}
	}
	b.errorf(diag.BindNoParam, p.Name.Span(), "`%s` has no value", s.Name).Fix =
		fmt.Sprintf("give it with `--set %s=...`, in a data file, or as a default", s.Name)
}

// sized are the data along whose dimensions a name stands as it is.
func (b *binder) sized(name string) []*ir.Symbol {
	if b.bySize == nil {
		b.bySize = map[string][]*ir.Symbol{}
		for _, t := range b.declared() {
			d, ok := t.Decl.(*lang.Data)
			if !ok {
				continue
			}
			for _, dim := range d.Type.Dims {
				if n, ok := dim.(*lang.Name); ok && (len(b.bySize[n.Name]) == 0 || b.bySize[n.Name][len(b.bySize[n.Name])-1] != t) {
					b.bySize[n.Name] = append(b.bySize[n.Name], t)
				}
			}
		}
	}
	return b.bySize[name]
}

// filler is the next placeholder size: each param without a value gets
// another one, so that sizes that need not agree do not.
func (b *binder) filler() int {
	b.fillers++
	return b.step * b.fillers
}

// fillParams gives the params without a value placeholders, and returns them.
func (b *binder) fillParams(all []*ir.Symbol, tried map[*ir.Symbol]bool) (filled []*ir.Symbol) {
	for _, s := range all {
		p, ok := s.Decl.(*lang.Param)
		if !ok || tried[s] || p.Default != nil {
			continue
		}
		tried[s] = true
		if p.Type.Kind == lang.KindInt {
			n := b.filler()
			b.bind(s.Name, data.Scalar(float64(n)), "placeholder", scalarInt(n))
		} else {
			b.known[s.Name] = unbatched(b.graph.Opaque(s.Name, expr.ScalarShape(), p.Name.Span()))
		}
		filled = append(filled, s)
	}
	return filled
}
