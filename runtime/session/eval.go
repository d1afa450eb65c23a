package session

import (
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/runtime/document"
)

// withReport is the session with what its report names declared, which expressions may read too.
func (s *Session) withReport() *Session {
	next := s.Copy()
	for _, item := range s.reported() {
		next.decls = append(next.decls, item)
	}
	return next
}

// reported are the report's items, but for names that stand for something else.
func (s *Session) reported() (items []*lang.Let) {
	taken := s.Names()
	for _, d := range s.decls {
		if report, ok := d.(*lang.Report); ok {
			for _, item := range report.Items {
				if !slices.Contains(taken, item.Name.Name) {
					taken = append(taken, item.Name.Name)
					items = append(items, item)
				}
			}
		}
	}
	return items
}

// Reported lists what the report names, which expressions may read as well, for completion.
func (s *Session) Reported() []string {
	return each.Of(s.reported(), func(item *lang.Let) string { return item.Name.Name })
}

// evaluateNames gives the value of an expression: over data alone, or at the last solution where it reads variables.
func (s *Session) evaluateNames(e lang.Expr) (*Reply, error) {
	var diags diag.List
	whole, labelled := s.labelled(e)
	if e, diags = s.answered(e); diags.HasErrors() {
		return nil, diags
	}
	// Errors elsewhere in the model do not count: what the expression reads is
	// checked below, on its own.
	program, _ := check.Partial(s.file())
	typ, _, diags := check.Expr(program, e)
	if diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	reads := s.needed(e)
	file := s.file()
	file.Decls = slices.DeleteFunc(slices.Clone(s.decls), func(d lang.Decl) bool {
		switch d := d.(type) {
		case *lang.Report, *lang.Solve:
			return true
		case *lang.Level:
			return !reads[d.Word()]
		}
		return !reads[declKey(d)]
	})
	program, _ = check.Partial(file)
	bound, diags := bind.Expr(program, withoutTables(program, s.declared(program)), e, bind.Options{Seed: s.Seed, IgnoreUndeclared: true})
	if diags.HasErrors() {
		return nil, diags
	}
	item := bound.Report[0]
	if item.Texts != nil {
		texts := slices.Clone(item.Texts)
		for k := range texts {
			if len(item.Axes) > 0 {
				texts[k] = "[" + ir.Place(item.Axes, k) + "]  " + texts[k]
			}
		}
		return &Reply{Texts: texts, Type: typ.String()}, nil
	}
	node := item.Node
	var x, y []float64
	if node.Deps != 0 {
		if s.last == nil {
			diags.Errorf(diag.SessionNoSolution, e.Span(), "this reads variables, and the model as it stands has not been solved")
			return nil, diags
		}
		x, y = s.last.Upper.Variables.Entries(), s.last.Lower.Variables.Entries()
		for _, i := range bound.Duals {
			row := bound.Rows[i]
			multipliers, _ := s.last.Lower.Multipliers.Get(row.Family.Name)
			y = append(y, multipliers.Data[row.Index])
		}
	}
	a, err := expr.Eval(node, x, y)
	if err != nil {
		diags.Errorf(diag.RunNotFinite, e.Span(), "%v", err)
		return nil, diags
	}
	v := document.NewValue(answer, a, item.Axes)
	if labelled {
		v = v.Over(whole.Axes)
	}
	return &Reply{Value: &v, Type: typ.String()}, nil
}

// withoutTables leaves out the tables of which a program reads no column, which are
// for other parts of the model.
func withoutTables(program *ir.Program, set *data.Set) *data.Set {
	columns := map[string]bool{}
	for name, sym := range program.Symbols {
		columns[name] = true
		if d, ok := sym.Decl.(*lang.IndexSet); ok {
			for _, k := range d.Keys {
				columns[k.Name] = true
			}
			for _, of := range d.Within {
				columns[of.Name] = true
			}
		}
		if d, ok := sym.Decl.(*lang.Data); ok {
			if d.Column != nil {
				columns[d.Column.Name] = true
			}
			for i := range d.Columns { // a table that has the others has the ends
				columns[d.Columns[i].First.Name] = true
			}
		}
	}
	return &data.Set{Entries: each.Where(set.Entries, func(e data.Entry) bool {
		return e.Table == nil || e.Array != nil && columns[e.Name] ||
			slices.ContainsFunc(e.Table.Columns, func(c data.Column) bool { return columns[c.Name] })
	})}
}

// answer names an expression's value.
const answer = "it"

// needed are the names that expressions, or the two levels, need, through everything they
// are defined by; "upper" and "lower" stand for the blocks.
func (s *Session) needed(by ...lang.Node) map[string]bool {
	needed := map[string]bool{}
	owner := map[string]lang.Node{}
	for _, d := range lang.Declared(s.decls) {
		row := d.Kind == lang.ConstraintName && d.Level.Lower && owner[d.Name.Name] == nil // for dual(row)
		switch {
		case d.Level != nil && (row || d.IsValue()):
			owner[d.Name.Name] = d.Level
		case d.IsValue():
			owner[d.Name.Name] = d.Decl
		}
	}
	var need func(name string)
	look := func(n lang.Node) {
		lang.Inspect(n, func(e lang.Expr, in *lang.Scope) bool {
			switch e := e.(type) {
			case *lang.Name:
				if in.Find(e.Name) == nil {
					need(e.Name)
				}
			case *lang.Call:
				need(e.Fn.Name)
			}
			return true
		})
	}
	need = func(name string) {
		at := owner[name]
		if level, ok := at.(*lang.Level); ok {
			name = level.Word()
		}
		if at == nil || needed[name] {
			return
		}
		needed[name] = true
		if set, ok := at.(*lang.IndexSet); ok {
			for _, of := range set.Within {
				need(of.Name)
			}
		}
		look(at)
	}
	for _, n := range by {
		look(n)
	}
	return needed
}

// levels are the blocks of the two levels.
func (s *Session) levels() []lang.Node {
	var out []lang.Node
	for _, d := range s.decls {
		if level, ok := d.(*lang.Level); ok {
			out = append(out, level)
		}
	}
	return out
}
