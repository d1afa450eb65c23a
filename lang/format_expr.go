package lang

import "slices"

// start is the offset at which a node starts.
func start(n Node) int { return n.Span().Start }

// expr prints x where an operand of at least the given level is read.
func (p *printer) expr(x Expr, least Precedence) {
	p.operand(x, needsParens(x, least))
}

// next prints x behind a space or none, or where the author has it on a line of its own.
func (p *printer) next(space string, x Expr, least Precedence) {
	p.gap(start(x), space)
	p.expr(x, least)
}

// interval prints lo..hi, or lo where there is no hi.
func (p *printer) interval(lo, hi Expr, least Precedence) {
	p.expr(lo, least)
	if hi != nil {
		p.word("..")
		p.next("", hi, least)
	}
}

func (p *printer) operand(x Expr, parens bool) {
	if parens {
		p.open("(")
		p.bare(x)
		p.shut(")")
		return
	}
	p.bare(x)
}

// bare prints x without brackets around it.
func (p *printer) bare(x Expr) {
	switch x := x.(type) {
	case *Number:
		p.word(x.Text)
	case *Text:
		p.word(Quote(x.Value))
	case *Name:
		p.word(x.Name)
	case *ListLit:
		p.separated("[", x.Elems, "]", x.Place.End, map[bool]string{false: ",", true: ";"}[x.Below])
	case *Unary:
		if x.Op == Not {
			p.word("not")
			p.next(" ", x.X, x.Op.Precedence())
		} else {
			p.word("-")
			p.next("", x.X, x.Op.Precedence())
		}
	case *Binary:
		p.binary(x)
	case *Transpose:
		p.expr(x.X, PostfixLevel)
		p.word("'")
	case *Index:
		p.expr(x.X, PostfixLevel)
		p.subscripts(x)
	case *Call:
		p.word(x.Fn.Name)
		p.args(x.Args, x.Place.End)
	case *Comprehension:
		open, shut := "(", ")"
		if x.Fn.Name == "" {
			open, shut = "[", "]"
		}
		p.word(x.Fn.Name)
		p.open(open)
		p.gap(start(x.Binders[0]), "")
		p.binders(x.Binders, x.Cond)
		p.word(":")
		p.next(" ", x.Body, OrLevel)
		p.closingGap(x.Place.End)
		p.shut(shut)
	case *IfExpr:
		p.word("if")
		p.next(" ", x.Cond, OrLevel)
		p.operator("then")
		p.next(" ", x.Then, OrLevel)
		p.operator("else")
		p.next(" ", x.Else, OrLevel)
	case *Paren:
		p.open("(")
		p.next("", x.X, OrLevel)
		p.closingGap(x.Place.End)
		p.shut(")")
	}
	p.reach(x.Span().End)
}

// binary prints x op y; a chain of operators that associate to the left is
// walked without recursion, because sums may be very long.
func (p *printer) binary(x *Binary) {
	chain := []*Binary{x}
	for left, ok := x.X.(*Binary); ok && !p.leftParens(x); left, ok = x.X.(*Binary) {
		x = left
		chain = append(chain, x)
	}
	p.operand(x.X, p.leftParens(x))
	for _, b := range slices.Backward(chain) {
		space := " "
		if b.Op == Pow {
			p.word("^")
			space = ""
		} else {
			p.operator(b.Op.String())
		}
		p.next(space, b.Y, b.Op.RightLevel())
		p.reach(b.Place.End)
	}
}

// leftParens reports whether the left operand of b needs brackets.
func (p *printer) leftParens(b *Binary) bool {
	level := b.Op.Precedence()
	least := level
	if level == PowerLevel || level == CompareLevel {
		least++ // powers associate to the right, comparisons do not chain
	}
	return needsParens(b.X, least) || swallows(b.X, level)
}

// args prints a bracketed list of arguments whose bracket ends at offset end.
func (p *printer) args(args []Expr, end int) { p.separated("(", args, ")", end, ",") }

// entry begins entry i of a list, which stands at an offset of the source.
func (p *printer) entry(i int, between string, at int) {
	if i == 0 {
		p.gap(at, "")
		return
	}
	p.word(between)
	p.gap(at, " ")
}

func (p *printer) separated(open string, elems []Expr, shut string, end int, between string) {
	p.open(open)
	for i, e := range elems {
		p.entry(i, between, start(e))
		p.expr(e, OrLevel)
	}
	p.closingGap(end)
	p.shut(shut)
}

func (p *printer) subscripts(x *Index) {
	p.open("[")
	for i, s := range x.Subs {
		p.entry(i, ",", start(s))
		if s.All {
			p.word(":")
			continue
		}
		p.interval(s.Lo, s.Hi, OrLevel)
	}
	p.closingGap(x.Place.End)
	p.shut("]")
}

func (p *printer) binders(binders []Binder, cond Expr) {
	for i, b := range binders {
		if i > 0 {
			p.word(",")
			p.gap(start(b), " ")
		}
		if b.Tuple != nil {
			for k, name := range b.Tuple {
				p.word([]string{"(", ", "}[min(k, 1)] + name.Name)
			}
			p.word(")")
		} else {
			p.word(b.Name.Name)
		}
		p.operator("in")
		p.gap(start(b.Lo), " ")
		p.interval(b.Lo, b.Hi, SumLevel)
	}
	if cond != nil {
		p.operator("if")
		p.next(" ", cond, OrLevel)
	}
}
