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
func (p *exprParser) postfix() (tree, error) {
	x, err := p.operand()
	if err != nil {
		return tree{}, err
	}
	for {
		switch {
		case p.is("'"):
			t := *p.lex.Next()
			x, err = p.grow(&lang.Transpose{At: lang.At{Place: x.Span().To(p.s.tokenSpan(t))}, X: x.Expr}, x.height)
		case p.is("["):
			x, err = p.index(x)
		default:
			return x, nil
		}
		if err != nil {
			return tree{}, err
		}
	}
}

// operand parses a number, a name, a call, a bracket or a list.
func (p *exprParser) operand() (tree, error) {
	t := p.peek()
	switch {
	case t.Type == tokenNumber:
		return p.number(*p.lex.Next())
	case t.Type == tokenText:
		p.lex.Next()
		return tree{&lang.Text{At: lang.At{Place: p.s.tokenSpan(t)}, Value: lang.Unquote(t.Value)}, 1}, nil
	case t.Type == tokenIdent:
		p.lex.Next()
		if p.is("(") {
			return p.call(t)
		}
		return tree{&lang.Name{At: lang.At{Place: p.s.tokenSpan(t)}, Name: t.Value}, 1}, nil
	case p.is("("):
		return p.paren()
	case p.is("["):
		open := *p.lex.Next()
		if p.startsBinder() {
			return p.comprehension(open, lang.Ident{At: lang.At{Place: p.s.tokenSpan(open)}}, "]")
		}
		return p.listLiteral(open)
	}
	return tree{}, p.noExpression(t)
}

// noExpression reports a token that no expression can start with.
func (p *exprParser) noExpression(t lexer.Token) error {
	at := p.s.tokenSpan(t)
	switch {
	case t.Type == tokenKeyword:
		e := p.s.fail(diag.ReservedWord, at, "expected an expression, found `%s`, a word of the language", t.Value)
		e.d.Fix = "a name that is reserved cannot be used for data or variables"
		return e
	case t.Value == "'":
		e := p.s.fail(diag.Unexpected, at, "`'` (transpose) stands behind an operand")
		e.d.Fix = "write `x'`; a label stands in double quotes"
		return e
	}
	if t.Value == ":" {
		return p.unexpected("an expression", "leave the colon out; a whole row or column is written `A[i, :]`, in square brackets")
	}
	return p.unexpected("an expression", "")
}

// number converts a literal. The scanner has checked its form.
func (p *exprParser) number(t lexer.Token) (tree, error) {
	at := lang.At{Place: p.s.tokenSpan(t)}
	v, err := strconv.ParseFloat(t.Value, 64)
	if err != nil || math.IsInf(v, 0) {
		e := p.s.fail(diag.BadNumber, at.Place, "this number is too large: the largest is about 1.8e308")
		return tree{}, e
	}
	n := &lang.Number{At: at, Text: t.Value, Value: v}
	if !strings.ContainsAny(t.Value, ".eE") {
		_, err := strconv.Atoi(t.Value)
		n.Int = err == nil
	}
	if v == 0 && strings.ContainsAny(mantissa(t.Value), "123456789") {
		e := p.s.fail(diag.BadNumber, at.Place, "this number is too small: it is not 0, but would be read as 0")
		return tree{}, e
	}
	return tree{n, 1}, nil
}

// mantissa is a literal without its exponent.
func mantissa(text string) string {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		return text[:i]
	}
	return text
}

func (p *exprParser) paren() (tree, error) {
	open := *p.lex.Next()
	x, err := p.inner()
	if err != nil {
		return tree{}, err
	}
	if p.is(",") {
		e := p.s.fail(diag.Unexpected, p.s.tokenSpan(p.peek()), "expected `)`, found `,`")
		e.d.Fix = "a vector is written in square brackets: [a, b]"
		return tree{}, e
	}
	end, err := p.expect(")", "to close this bracket")
	if err != nil {
		return tree{}, err
	}
	return p.grow(&lang.Paren{At: lang.At{Place: p.spanFrom(open, tokenEndOffset(end))}, X: x.Expr}, x.height)
}

// call parses f(a, b) or, where the bracket starts with `i in`, a
// comprehension.
func (p *exprParser) call(fn lexer.Token) (tree, error) {
	p.lex.Next() // (
	name := lang.Ident{At: lang.At{Place: p.s.tokenSpan(fn)}, Name: fn.Value}
	if p.startsBinder() {
		return p.comprehension(fn, name, ")")
	}
	args, height, end, err := p.list(")", "or `,` in this call of `"+fn.Value+"`")
	if err != nil {
		return tree{}, err
	}
	return p.grow(&lang.Call{At: lang.At{Place: p.spanFrom(fn, tokenEndOffset(end))}, Fn: name, Args: args}, height)
}

// startsBinder reports whether the next tokens are a name, or names in ( ),
// and `in`.
func (p *exprParser) startsBinder() bool {
	mark := p.lex.MakeCheckpoint()
	defer p.lex.LoadCheckpoint(mark)
	if _, tuple := p.take("("); tuple {
		for p.peek().Type == tokenIdent {
			p.lex.Next()
			if _, more := p.take(","); !more {
				break
			}
		}
		_, closed := p.take(")")
		return closed && p.is("in")
	}
	first := *p.lex.Next()
	return first.Type == tokenIdent && p.is("in")
}

// listLiteral parses [a, b] or [a; b] behind its bracket.
func (p *exprParser) listLiteral(open lexer.Token) (tree, error) {
	lit := &lang.ListLit{}
	height := 0
	for more := !p.is("]"); more; {
		x, err := p.inner()
		if err != nil {
			return tree{}, err
		}
		lit.Elems, height = append(lit.Elems, x.Expr), max(height, x.height)
		sep := p.peek()
		if !p.is(",") && !p.is(";") {
			break
		}
		if below := sep.Value == ";"; len(lit.Elems) == 1 {
			lit.Below = below
		} else if lit.Below != below {
			e := p.s.fail(diag.Unexpected, p.s.tokenSpan(sep), "a list has either `,` or `;` between its entries")
			e.d.Fix = "a matrix is a list of its rows, `[[1, 2], [3, 4]]`; blocks are put together as in `[[A, B]; [C, D]]`"
			return tree{}, e
		}
		p.lex.Next()
	}
	if p.is("..") {
		return tree{}, p.unexpected("`]` or `,` in this list", "an array over a range names its index: `[i in 1..n: x[i]]`, a sum too: `sum(i in 1..n: x[i])`")
	}
	end, err := p.expect("]", "or `,` in this list")
	if err != nil {
		return tree{}, err
	}
	lit.Place = p.spanFrom(open, tokenEndOffset(end))
	return p.grow(lit, height)
}

func (p *exprParser) comprehension(fn lexer.Token, name lang.Ident, closing string) (tree, error) {
	indices, height, err := p.binders()
	if err != nil {
		return tree{}, err
	}
	why := "after the indices of `" + fn.Value + "`"
	if closing == "]" {
		why = "after the indices of this array"
	}
	if _, err := p.expect(":", why); err != nil {
		return tree{}, err
	}
	body, err := p.inner()
	if err != nil {
		return tree{}, err
	}
	end, err := p.expect(closing, "to close `"+strings.TrimSuffix(fn.Value, "[")+map[string]string{")": "(", "]": "["}[closing]+"`")
	if err != nil {
		return tree{}, err
	}
	return p.grow(&lang.Comprehension{
		At: lang.At{Place: p.spanFrom(fn, tokenEndOffset(end))},
		Fn: name, Binders: indices.binders, Cond: indices.cond, Body: body.Expr,
	}, max(height, body.height))
}

// indices parses the index list of a forall.
func (p *exprParser) indices() (indices, error) {
	list, _, err := p.binders()
	if err != nil {
		return nil, err
	}
	return list, nil
}

// binders parses `i in 1..n, j in S if c`.
func (p *exprParser) binders() (indexList, int, error) {
	var list indexList
	height := 0
	for {
		b, h, err := p.binder()
		if err != nil {
			return list, 0, err
		}
		list.binders, height = append(list.binders, b), max(height, h)
		if _, ok := p.take(","); !ok {
			break
		}
	}
	if _, ok := p.take("if"); ok {
		cond, err := p.expr(lang.OrLevel)
		if err != nil {
			return list, 0, err
		}
		list.cond, height = cond.Expr, max(height, cond.height)
		if p.is(",") {
			return list, 0, p.unexpected("`:` after the condition", "put the condition behind the last index: `i in 1..n, j in 1..m if c: ...`")
		}
	}
	return list, height, nil
}

func (p *exprParser) binder() (lang.Binder, int, error) {
	t := p.peek()
	if p.is("(") {
		return p.tupleBinder()
	}
	if t.Type != tokenIdent {
		if t.Type == tokenKeyword {
			return lang.Binder{}, 0, p.noExpression(t)
		}
		return lang.Binder{}, 0, p.unexpected("an index such as `i in 1..n`", "")
	}
	p.lex.Next()
	b := lang.Binder{Name: lang.Ident{At: lang.At{Place: p.s.tokenSpan(t)}, Name: t.Value}}
	if p.is("=") {
		return b, 0, p.unexpected("`in`", "write `"+t.Value+" in 1..n`")
	}
	if _, ok := p.take("in"); !ok {
		return b, 0, p.unexpected("`in` after the index `"+t.Value+"`", "an index reads `"+t.Value+" in 1..n`; the list of indices ends with `:`")
	}
	lo, err := p.expr(lang.SumLevel)
	if err != nil {
		return b, 0, err
	}
	b.Lo, b.Place = lo.Expr, b.Name.Place.To(lo.Span())
	height := lo.height
	if _, ok := p.take(".."); ok {
		hi, err := p.expr(lang.SumLevel)
		if err != nil {
			return b, 0, err
		}
		b.Hi, b.Place = hi.Expr, b.Name.Place.To(hi.Span())
		height = max(height, hi.height)
	} else if p.is(":") && !p.colonEndsBinders() {
		return b, 0, p.unexpected("`..`", "a range is written `lo..hi`")
	}
	return b, height, nil
}

// tupleBinder parses `(i, j) in S`.
func (p *exprParser) tupleBinder() (lang.Binder, int, error) {
	open := *p.lex.Next()
	b := lang.Binder{}
	for {
		t := p.peek()
		if t.Type != tokenIdent {
			return b, 0, p.unexpected("an index", "a tuple of indices is written `(i, j) in arc`")
		}
		p.lex.Next()
		b.Tuple = append(b.Tuple, lang.Ident{At: lang.At{Place: p.s.tokenSpan(t)}, Name: t.Value})
		if _, more := p.take(","); !more {
			break
		}
	}
	b.Name = b.Tuple[0]
	if _, err := p.expect(")", "after these indices"); err != nil {
		return b, 0, err
	}
	if _, err := p.expect("in", "after these indices"); err != nil {
		return b, 0, err
	}
	set, err := p.expr(lang.SumLevel)
	if err != nil {
		return b, 0, err
	}
	b.Lo, b.Place = set.Expr, p.s.tokenSpan(open).To(set.Span())
	return b, set.height, nil
}

// setting parses the value of a setting: an expression, or a time as the command
// line takes it, 30s or 1m30s, which is its number of seconds.
func (p *exprParser) setting() (setting, error) {
	mark := p.lex.MakeCheckpoint()
	first := *p.lex.Next()
	unit := *p.lex.Next()
	if first.Type == tokenNumber && unit.Type == tokenIdent && unit.Pos.Offset == tokenEndOffset(first) && p.peek().EOF() {
		text := first.Value + unit.Value
		d, err := time.ParseDuration(text)
		if err != nil {
			e := p.s.fail(diag.BadNumber, p.spanFrom(first, tokenEndOffset(unit)), "`%s` is no time", text)
			e.d.Fix = "write a number of seconds, or a time such as `30s`, `5m` or `1h30m`"
			return nil, e
		}
		return settingOf{&lang.Number{At: lang.At{Place: p.spanFrom(first, tokenEndOffset(unit))}, Text: text, Value: d.Seconds()}}, nil
	}
	p.lex.LoadCheckpoint(mark)
	x, err := p.complete()
	if err != nil {
		return nil, err
	}
	return settingOf{x}, nil
}

// setLiteral parses {a, (b, c), ...} or lo..hi.
func (p *exprParser) setLiteral() (setLiteral, error) {
	open, braces := p.take(setOpen)
	if !braces {
		lo, err := p.expr(lang.SumLevel)
		if err != nil {
			return nil, err
		}
		if _, err := p.expect("..", "in a set of numbers, as in `0..23`; labels stand in braces: `{\"Rome\", \"Oslo\"}`"); err != nil {
			return nil, err
		}
		hi, err := p.expr(lang.SumLevel)
		if err != nil {
			return nil, err
		}
		return literalOf{&lang.SetLiteral{At: p.at(lo, hi), Lo: lo.Expr, Hi: hi.Expr}}, nil
	}
	lit := &lang.SetLiteral{}
	if p.startsBinder() {
		list, _, err := p.binders()
		if err != nil {
			return nil, err
		}
		lit.Binders, lit.Cond = list.binders, list.cond
	}
	for lit.Binders == nil && !p.is(setClose) {
		e, err := p.setElem()
		if err != nil {
			return nil, err
		}
		lit.Elems = append(lit.Elems, e)
		if _, more := p.take(","); !more {
			break
		}
	}
	end, err := p.expect(setClose, "or `,` in this set")
	if err != nil {
		return nil, err
	}
	lit.Place = p.spanFrom(open, tokenEndOffset(end))
	return literalOf{lit}, nil
}

func (p *exprParser) setElem() (lang.SetElem, error) {
	open, tuple := p.take("(")
	if !tuple {
		x, err := p.setLabel()
		if err != nil {
			return lang.SetElem{}, err
		}
		return lang.SetElem{At: lang.At{Place: x.Span()}, Parts: []lang.Expr{x}}, nil
	}
	var e lang.SetElem
	for {
		x, err := p.setLabel()
		if err != nil {
			return e, err
		}
		e.Parts = append(e.Parts, x)
		if _, more := p.take(","); !more {
			break
		}
	}
	end, err := p.expect(")", "or `,` in this tuple")
	e.Place = p.spanFrom(open, tokenEndOffset(end))
	return e, err
}

// setLabel parses a label: a text, or an integer.
func (p *exprParser) setLabel() (lang.Expr, error) {
	t := p.peek()
	if t.Type == tokenIdent {
		return nil, p.unexpected("a label", "a label stands in double quotes: "+lang.Quote(t.Value))
	}
	if t.Type != tokenText && t.Type != tokenNumber {
		return nil, p.unexpected("a label in double quotes", "")
	}
	x, err := p.operand()
	if n, ok := x.Expr.(*lang.Number); ok && !lang.IsNumberLabel(n.Text) {
		e := p.s.fail(diag.BadNumber, n.Span(), "a label is a text or an integer without leading zeros, not `%s`", n.Text)
		e.d.Fix = "put it in double quotes: " + lang.Quote(n.Text)
		return nil, e
	}
	return x.Expr, err
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
func (p *exprParser) index(x tree) (tree, error) {
	p.lex.Next() // [
	var subs []lang.Subscript
	height := x.height
	for {
		sub, h, err := p.subscript()
		if err != nil {
			return tree{}, err
		}
		subs, height = append(subs, sub), max(height, h)
		if _, ok := p.take(","); !ok {
			break
		}
	}
	if p.is(":") {
		return tree{}, p.unexpected("`..`", "a range of indices is written `lo..hi`")
	}
	end, err := p.expect("]", "or `,` in this index")
	if err != nil {
		return tree{}, err
	}
	return p.grow(&lang.Index{
		At: lang.At{Place: x.Span().To(p.s.tokenSpan(end))}, X: x.Expr, Subs: subs,
	}, height)
}

func (p *exprParser) subscript() (lang.Subscript, int, error) {
	if t, ok := p.take(":"); ok {
		return lang.Subscript{At: lang.At{Place: p.s.tokenSpan(t)}, All: true}, 0, nil
	}
	lo, err := p.expr(lang.OrLevel)
	if err != nil {
		return lang.Subscript{}, 0, err
	}
	if err := p.noOperand(lo.Expr); err != nil {
		return lang.Subscript{}, 0, err
	}
	sub := lang.Subscript{At: lang.At{Place: lo.Span()}, Lo: lo.Expr}
	height := lo.height
	if _, ok := p.take(".."); ok {
		hi, err := p.expr(lang.OrLevel)
		if err != nil {
			return sub, 0, err
		}
		sub.Hi, sub.Place = hi.Expr, lo.Span().To(hi.Span())
		height = max(height, hi.height)
	}
	return sub, height, nil
}
