package lang

import "strings"

// decl prints a declaration with what stands before it.
func (p *printer) decl(d Decl) {
	switch d := d.(type) {
	case *Level:
		p.block(d.Word(), d.At, d.head(p), func() {
			for _, item := range d.Items {
				p.item(item)
			}
		})
		return
	case *Solve:
		p.block("solve", d.At, nil, func() {
			for _, item := range d.Items {
				p.lead(item.Place.Start)
				if item.Start {
					p.word("start ")
				}
				p.assignment(item.Name, item.Value)
				p.end(item.Place.End)
			}
		})
		return
	case *Report:
		p.block("report", d.At, nil, func() {
			for _, item := range d.Items {
				p.lead(item.Place.Start)
				p.assignment(item.Name, item.Value)
				p.end(item.Place.End)
			}
		})
		return
	}
	p.lead(d.Span().Start)
	switch d := d.(type) {
	case *Param:
		p.word("param " + d.Name.Name + ": ")
		p.typ(d.Type)
		p.equals(d.Default)
	case *Data:
		p.word("data " + d.Name.Name + ": ")
		p.typ(d.Type)
		if d.Column != nil {
			p.word(" column")
			p.gap(d.Column.Place.Start, " ")
			p.word(d.Column.text())
			p.reach(d.Column.Place.End)
		}
		p.columns(d.Columns)
		p.equals(d.Value)
		if d.Gen != nil {
			p.operator("~")
			p.gap(d.Gen.Place.Start, " ")
			p.word(d.Gen.Name.Name)
			p.args(d.Gen.Args, d.Gen.Place.End)
		}
	case *IndexSet:
		p.indexSet(d)
	case *Let:
		p.let(d)
	case *Fn:
		p.fn(d)
	}
	p.end(d.Span().End)
}

// head prints the name of a follower and its indices, between the word and the
// brace.
func (d *Level) head(p *printer) func() {
	if d.Name == nil {
		return nil
	}
	return func() {
		p.word(" " + d.Name.Name)
		if d.Binders != nil {
			p.open("[")
			p.binders(d.Binders, nil)
			p.shut("]")
		}
	}
}

func (p *printer) indexSet(d *IndexSet) {
	p.word("set " + d.Name.Name)
	for i, key := range d.Keys {
		name := ColumnName{Name: key.Name, Quoted: !IsName(key.Name)}
		p.word([]string{"(", ", "}[min(i, 1)] + name.text())
	}
	if len(d.Keys) > 0 {
		p.word(")")
	}
	for i, w := range d.Within {
		p.word([]string{" within ", " * "}[min(i, 1)] + w.Name)
	}
	v := d.Value
	if v == nil {
		return
	}
	p.operator("=")
	p.gap(v.Place.Start, " ")
	if v.Lo != nil {
		p.interval(v.Lo, v.Hi, SumLevel)
		return
	}
	p.open("{")
	if v.Binders != nil {
		p.gap(v.Binders[0].Place.Start, "")
		p.binders(v.Binders, v.Cond)
	}
	for i, e := range v.Elems {
		p.entry(i, ",", e.Place.Start)
		if len(e.Parts) == 1 {
			p.expr(e.Parts[0], OrLevel)
		} else {
			p.args(e.Parts, e.Place.End)
		}
		p.reach(e.Place.End)
	}
	p.closingGap(v.Place.End)
	p.shut("}")
}

// columns prints the columns of a table that data are read from.
func (p *printer) columns(list []ColumnRange) {
	for i, c := range list {
		if i == 0 {
			p.word(" columns")
		} else {
			p.word(",")
		}
		p.gap(c.Place.Start, " ")
		p.word(c.First.text())
		if c.Last != nil {
			p.word("..")
			p.gap(c.Last.Place.Start, "")
			p.word(c.Last.text())
		}
		p.reach(c.Place.End)
	}
}

func (c *ColumnName) text() string {
	if c.Quoted {
		return Quote(c.Name)
	}
	return c.Name
}

func (p *printer) let(d *Let) {
	p.word("let ")
	p.assignment(d.Name, d.Value)
}

func (p *printer) assignment(name Ident, value Expr) {
	p.word(name.Name)
	p.equals(value)
}

// equals prints `= x`, or nothing where there is no x.
func (p *printer) equals(x Expr) {
	if x != nil {
		p.operator("=")
		p.value(x)
	}
}

func (p *printer) fn(d *Fn) {
	p.word("fn " + d.Name.Name)
	p.open("(")
	for i, param := range d.Params {
		p.entry(i, ",", param.Place.Start)
		p.word(param.Name.Name)
		if param.Type != nil {
			p.word(": ")
			p.typ(*param.Type)
		}
		p.reach(param.Place.End)
	}
	p.shut(")")
	if d.Result != nil {
		p.word(": ")
		p.typ(*d.Result)
	}
	p.equals(d.Body)
}

// item prints an item of a level.
func (p *printer) item(item LevelItem) {
	if s, ok := item.(*SubjectTo); ok {
		p.subjectTo(s)
		return
	}
	p.lead(item.Span().Start)
	switch item := item.(type) {
	case *Var:
		p.word("var " + item.Name.Name + ": ")
		switch {
		case item.Kind == ContinuousVar:
			p.typ(item.Type)
		case item.Type.Kind == KindReal:
			p.word(item.Kind.String())
		default:
			p.typ(item.Type)
			p.gap(item.Word.Start, " ")
			p.word(item.Kind.String())
		}
		if item.Set != nil {
			p.operator("in")
			p.gap(item.Set.Place.Start, " ")
			p.word(item.Set.Name.Name)
			if len(item.Set.Args) > 0 {
				p.args(item.Set.Args, item.Set.Place.End)
			}
		}
	case *Let:
		p.let(item)
	case *Objective:
		word := "minimize"
		if item.Maximize {
			word = "maximize"
		}
		p.word(word)
		p.value(item.Value)
	}
	p.end(item.Span().End)
}

// subjectTo prints the words on the constraint's line where the author has a
// single constraint there, else on a line of their own.
func (p *printer) subjectTo(s *SubjectTo) {
	p.lead(s.Place.Start)
	p.word("subject to")
	p.reach(s.Place.Start + len("subject"))
	if len(s.Constraints) == 1 && p.sameLine(s.Place.Start, s.Constraints[0].Place.Start) {
		p.word(" ")
		p.constraint(s.Constraints[0])
		return
	}
	p.flush()
	p.indent += 2
	p.began = false
	for _, c := range s.Constraints {
		p.lead(c.Place.Start)
		p.constraint(c)
	}
	p.indent -= 2
	p.began = true
}

// sameLine reports whether no newline stands between two offsets.
func (p *printer) sameLine(from, to int) bool {
	return from < to && to <= len(p.text) && !strings.Contains(p.text[from:to], "\n")
}

func (p *printer) constraint(c *Constraint) {
	if c.Name != nil {
		p.word(c.Name.Name + ":")
		p.last = ":"
	}
	if c.Binders != nil {
		if c.Name != nil {
			p.gap(c.Binders[0].Place.Start, " ")
		}
		p.word("forall")
		p.gap(c.Binders[0].Place.Start, " ")
		p.binders(c.Binders, c.Cond)
		p.word(":")
	}
	if c.Name != nil || c.Binders != nil {
		p.gap(c.Terms[0].Span().Start, " ")
	} else {
		p.word("")
	}
	p.align()
	for i, t := range c.Terms {
		if i > 0 {
			p.operator(c.Ops[i-1].String())
			p.gap(start(t), " ")
		}
		last := i == len(c.Terms)-1
		p.operand(t, needsParens(t, SumLevel) || !last && swallows(t, CompareLevel))
	}
	p.end(c.Place.End)
}

// value prints an expression behind `=` or a statement's word, and aligns what
// follows on further lines with its start.
func (p *printer) value(x Expr) {
	p.gap(start(x), " ")
	p.align()
	p.expr(x, OrLevel)
}

func (p *printer) typ(t TypeExpr) {
	if t.Kind != KindArray {
		p.word(t.Kind.String())
	}
	if len(t.Dims) > 0 {
		p.open("[")
		for i, d := range t.Dims {
			if i > 0 {
				p.word(",")
				p.gap(start(d), " ")
			}
			p.expr(d, OrLevel)
		}
		p.shut("]")
	}
	p.reach(t.Place.End)
}
