package parser

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// postfix parses an operand with what follows it: x', x[i, j], f(a).
func (p *exprParser) postfix() tree {
	x := p.operand()
	for {
		switch {
		case p.is("'"):
			t := *p.lex.Next()
			x = p.grow(&lang.Transpose{At: lang.At{Place: x.Span().To(p.s.tokenSpan(t))}, X: x.Expr}, x.height)
		case p.is("["):
			x = p.index(x)
		default:
			return x
		}
	}
}

// operand parses a number, a name, a call, a bracket or a list.
func (p *exprParser) operand() tree {
	t := p.peek()
	switch {
	case t.Type == tokenNumber:
		return p.number(*p.lex.Next())
	case t.Type == tokenText:
		p.lex.Next()
		return tree{&lang.Text{At: lang.At{Place: p.s.tokenSpan(t)}, Value: lang.Unquote(t.Value)}, 1}
	case t.Type == tokenIdent:
		p.lex.Next()
		if p.is("(") {
			return p.call(t)
		}
		return tree{&lang.Name{At: lang.At{Place: p.s.tokenSpan(t)}, Name: t.Value}, 1}
	case p.is("("):
		return p.paren()
	case p.is("["):
		open := *p.lex.Next()
		if p.startsBinder() {
			return p.comprehension(open, lang.Ident{At: lang.At{Place: p.s.tokenSpan(open)}}, "]")
		}
		return p.listLiteral(open)
	}
	panic(p.noExpression(t))
}

// noExpression reports a token that no expression can start with.
func (p *exprParser) noExpression(t lexer.Token) *syntaxError {
	at := p.s.tokenSpan(t)
	switch {
	case t.Type == tokenKeyword:
		return p.failure(diag.ReservedWord, at, "a name that is reserved cannot be used for data or variables",
			"expected an expression, found `%s`, a word of the language", t.Value)
	case t.Value == "'":
		return p.failure(diag.Unexpected, at, "write `x'`; a label stands in double quotes", "`'` (transpose) stands behind an operand")
	case t.Value == ":":
		return p.unexpected("an expression", "leave the colon out; a whole row or column is written `A[i, :]`, in square brackets")
	}
	return p.unexpected("an expression", "")
}

// number converts a literal. The scanner has checked its form.
func (p *exprParser) number(t lexer.Token) tree {
	at := lang.At{Place: p.s.tokenSpan(t)}
	v, err := strconv.ParseFloat(t.Value, 64)
	if err != nil || math.IsInf(v, 0) {
		panic(p.s.fail(diag.BadNumber, at.Place, "this number is too large: the largest is about 1.8e308"))
	}
	n := &lang.Number{At: at, Text: t.Value, Value: v}
	if !strings.ContainsAny(t.Value, ".eE") {
		_, err := strconv.Atoi(t.Value)
		n.Int = err == nil
	}
	if v == 0 && strings.ContainsAny(mantissa(t.Value), "123456789") {
		panic(p.s.fail(diag.BadNumber, at.Place, "this number is too small: it is not 0, but would be read as 0"))
	}
	return tree{n, 1}
}

// mantissa is a literal without its exponent.
func mantissa(text string) string {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		return text[:i]
	}
	return text
}

func (p *exprParser) paren() tree {
	open := *p.lex.Next()
	x := p.inner()
	if p.is(",") {
		panic(p.failure(diag.Unexpected, p.s.tokenSpan(p.peek()), "a vector is written in square brackets: [a, b]", "expected `)`, found `,`"))
	}
	end := p.expect(")", "to close this bracket")
	return p.grow(&lang.Paren{At: lang.At{Place: p.spanFrom(open, tokenEndOffset(end))}, X: x.Expr}, x.height)
}

// call parses f(a, b) or, where the bracket starts with `i in`, a
// comprehension.
func (p *exprParser) call(fn lexer.Token) tree {
	p.lex.Next() // (
	name := lang.Ident{At: lang.At{Place: p.s.tokenSpan(fn)}, Name: fn.Value}
	if p.startsBinder() {
		return p.comprehension(fn, name, ")")
	}
	args, height, end := p.list(")", "or `,` in this call of `"+fn.Value+"`")
	return p.grow(&lang.Call{At: lang.At{Place: p.spanFrom(fn, tokenEndOffset(end))}, Fn: name, Args: args}, height)
}

// startsBinder reports whether the next tokens are a name, or names in ( ),
// and `in`.
func (p *exprParser) startsBinder() bool {
	mark := p.lex.MakeCheckpoint()
	defer p.lex.LoadCheckpoint(mark)
	if p.skip("(") {
		for p.peek().Type == tokenIdent {
			if p.lex.Next(); !p.skip(",") {
				break
			}
		}
		return p.skip(")") && p.is("in")
	}
	first := *p.lex.Next()
	return first.Type == tokenIdent && p.is("in")
}

// listLiteral parses [a, b] or [a; b] behind its bracket.
func (p *exprParser) listLiteral(open lexer.Token) tree {
	lit := &lang.ListLit{}
	height := 0
	for more := !p.is("]"); more; {
		x := p.inner()
		lit.Elems, height = append(lit.Elems, x.Expr), max(height, x.height)
		sep := p.peek()
		if !p.is(",") && !p.is(";") {
			break
		}
		if below := sep.Value == ";"; len(lit.Elems) == 1 {
			lit.Below = below
		} else if lit.Below != below {
			panic(p.failure(diag.Unexpected, p.s.tokenSpan(sep), "a matrix is a list of its rows, `[[1, 2], [3, 4]]`; blocks are put together as in `[[A, B]; [C, D]]`",
				"a list has either `,` or `;` between its entries"))
		}
		p.lex.Next()
	}
	if p.is("..") {
		panic(p.unexpected("`]` or `,` in this list", "an array over a range names its index: `[i in 1..n: x[i]]`, a sum too: `sum(i in 1..n: x[i])`"))
	}
	lit.Place = p.spanFrom(open, tokenEndOffset(p.expect("]", "or `,` in this list")))
	return p.grow(lit, height)
}

func (p *exprParser) comprehension(fn lexer.Token, name lang.Ident, closing string) tree {
	indices := p.binders()
	why := "after the indices of `" + fn.Value + "`"
	if closing == "]" {
		why = "after the indices of this array"
	}
	p.expect(":", why)
	body := p.inner()
	end := p.expect(closing, "to close `"+strings.TrimSuffix(fn.Value, "[")+map[string]string{")": "(", "]": "["}[closing]+"`")
	return p.grow(&lang.Comprehension{
		At: lang.At{Place: p.spanFrom(fn, tokenEndOffset(end))},
		Fn: name, Binders: indices.binders, Cond: indices.cond, Body: body.Expr,
	}, max(indices.height, body.height))
}

// binders parses `i in 1..n, j in S if c`, the index list of a comprehension or a forall.
func (p *exprParser) binders() (list indexList) {
	list.binders = separated(p, func() lang.Binder {
		b, height := p.binder()
		list.height = max(list.height, height)
		return b
	})
	if p.skip("if") {
		cond := p.expr(lang.OrLevel)
		list.cond, list.height = cond.Expr, max(list.height, cond.height)
		if p.is(",") {
			panic(p.unexpected("`:` after the condition", "put the condition behind the last index: `i in 1..n, j in 1..m if c: ...`"))
		}
	}
	return list
}

func (p *exprParser) binder() (lang.Binder, int) {
	t := p.peek()
	switch {
	case p.is("("):
		return p.tupleBinder()
	case t.Type == tokenKeyword:
		panic(p.noExpression(t))
	case t.Type != tokenIdent:
		panic(p.unexpected("an index such as `i in 1..n`", ""))
	}
	p.lex.Next()
	b := lang.Binder{Name: lang.Ident{At: lang.At{Place: p.s.tokenSpan(t)}, Name: t.Value}}
	if p.is("=") {
		panic(p.unexpected("`in`", "write `"+t.Value+" in 1..n`"))
	}
	if !p.skip("in") {
		panic(p.unexpected("`in` after the index `"+t.Value+"`", "an index reads `"+t.Value+" in 1..n`; the list of indices ends with `:`"))
	}
	lo := p.expr(lang.SumLevel)
	b.Lo, b.Place = lo.Expr, b.Name.Place.To(lo.Span())
	height := lo.height
	if p.skip("..") {
		hi := p.expr(lang.SumLevel)
		b.Hi, b.Place = hi.Expr, b.Name.Place.To(hi.Span())
		height = max(height, hi.height)
	} else if p.is(":") && !p.colonEndsBinders() {
		panic(p.unexpected("`..`", "a range is written `lo..hi`"))
	}
	return b, height
}

// tupleBinder parses `(i, j) in S`.
func (p *exprParser) tupleBinder() (lang.Binder, int) {
	open := *p.lex.Next()
	b := lang.Binder{Tuple: separated(p, func() lang.Ident {
		t := p.peek()
		if t.Type != tokenIdent {
			panic(p.unexpected("an index", "a tuple of indices is written `(i, j) in arc`"))
		}
		p.lex.Next()
		return lang.Ident{At: lang.At{Place: p.s.tokenSpan(t)}, Name: t.Value}
	})}
	b.Name = b.Tuple[0]
	p.expect(")", "after these indices")
	p.expect("in", "after these indices")
	set := p.expr(lang.SumLevel)
	b.Lo, b.Place = set.Expr, p.s.tokenSpan(open).To(set.Span())
	return b, set.height
}

// setting parses the value of a setting: an expression, or a time as the command
// line takes it, 30s or 1m30s, which is its number of seconds.
func (p *exprParser) setting() setting {
	mark := p.lex.MakeCheckpoint()
	first := *p.lex.Next()
	unit := *p.lex.Next()
	if first.Type == tokenNumber && unit.Type == tokenIdent && unit.Pos.Offset == tokenEndOffset(first) && p.peek().EOF() {
		text, at := first.Value+unit.Value, p.spanFrom(first, tokenEndOffset(unit))
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(p.failure(diag.BadNumber, at, "write a number of seconds, or a time such as `30s`, `5m` or `1h30m`", "`%s` is no time", text))
		}
		return settingOf{&lang.Number{At: lang.At{Place: at}, Text: text, Value: d.Seconds()}}
	}
	p.lex.LoadCheckpoint(mark)
	return settingOf{p.inner().Expr}
}

// setLiteral parses {a, (b, c), ...} or lo..hi.
func (p *exprParser) setLiteral() setLiteral {
	open, braces := p.take(setOpen)
	if !braces {
		lo := p.expr(lang.SumLevel)
		p.expect("..", "in a set of numbers, as in `0..23`; labels stand in braces: `{\"Rome\", \"Oslo\"}`")
		hi := p.expr(lang.SumLevel)
		return literalOf{&lang.SetLiteral{At: p.at(lo, hi), Lo: lo.Expr, Hi: hi.Expr}}
	}
	lit := &lang.SetLiteral{}
	if p.startsBinder() {
		list := p.binders()
		lit.Binders, lit.Cond = list.binders, list.cond
	}
	for lit.Binders == nil && !p.is(setClose) {
		if lit.Elems = append(lit.Elems, p.setElem()); !p.skip(",") {
			break
		}
	}
	lit.Place = p.spanFrom(open, tokenEndOffset(p.expect(setClose, "or `,` in this set")))
	return literalOf{lit}
}

func (p *exprParser) setElem() lang.SetElem {
	open, tuple := p.take("(")
	if !tuple {
		x := p.setLabel()
		return lang.SetElem{At: lang.At{Place: x.Span()}, Parts: []lang.Expr{x}}
	}
	parts := separated(p, p.setLabel)
	end := p.expect(")", "or `,` in this tuple")
	return lang.SetElem{At: lang.At{Place: p.spanFrom(open, tokenEndOffset(end))}, Parts: parts}
}

// setLabel parses a label: a text, or an integer.
func (p *exprParser) setLabel() lang.Expr {
	t := p.peek()
	switch t.Type {
	case tokenIdent:
		panic(p.unexpected("a label", "a label stands in double quotes: "+lang.Quote(t.Value)))
	case tokenText, tokenNumber:
	default:
		panic(p.unexpected("a label in double quotes", ""))
	}
	x := p.operand()
	if n, ok := x.Expr.(*lang.Number); ok && !lang.IsNumberLabel(n.Text) {
		panic(p.failure(diag.BadNumber, n.Span(), "put it in double quotes: "+lang.Quote(n.Text), "a label is a text or an integer without leading zeros, not `%s`", n.Text))
	}
	return x.Expr
}

// colonEndsBinders tells `i in S: body` from the slip `i in 1:n: body`, where
// a second colon follows directly behind one operand.
func (p *exprParser) colonEndsBinders() bool {
	mark := p.lex.MakeCheckpoint()
	defer p.lex.LoadCheckpoint(mark)
	p.lex.Next()
	p.lex.Next()
	return !p.is(":") && !p.is(",")
}

// index parses [i], [i, j], [lo..hi], [i, :].
func (p *exprParser) index(x tree) tree {
	p.lex.Next() // [
	height := x.height
	subs := separated(p, func() lang.Subscript {
		sub, h := p.subscript()
		height = max(height, h)
		return sub
	})
	if p.is(":") {
		panic(p.unexpected("`..`", "a range of indices is written `lo..hi`"))
	}
	end := p.expect("]", "or `,` in this index")
	return p.grow(&lang.Index{At: lang.At{Place: x.Span().To(p.s.tokenSpan(end))}, X: x.Expr, Subs: subs}, height)
}

func (p *exprParser) subscript() (lang.Subscript, int) {
	if t, ok := p.take(":"); ok {
		return lang.Subscript{At: lang.At{Place: p.s.tokenSpan(t)}, All: true}, 0
	}
	lo := p.inner()
	sub := lang.Subscript{At: lang.At{Place: lo.Span()}, Lo: lo.Expr}
	if !p.skip("..") {
		return sub, lo.height
	}
	hi := p.expr(lang.OrLevel)
	sub.Hi, sub.Place = hi.Expr, lo.Span().To(hi.Span())
	return sub, max(lo.height, hi.height)
}
