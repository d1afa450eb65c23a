package parser

import (
	"fmt"

	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// maxNesting bounds brackets, prefix operators, powers and ifs inside each
// other. Deeper text is a mistake or an attack, and recursion must end.
const maxNesting = 500

// maxHeight bounds the height of the tree. A sum of n terms is a left-deep
// tree of height n, which later passes walk recursively; at some hundred bytes
// of stack a level this stays far below the run time's limit of 1 GB.
const maxHeight = 50_000

// infixes maps the spelling of each infix operator.
var infixes = func() map[string]lang.BinaryOp {
	m := map[string]lang.BinaryOp{}
	for op := lang.Add; op <= lang.Or; op++ {
		m[op.String()] = op
	}
	return m
}()

// tree is an expression with its height.
type tree struct {
	lang.Expr
	height int
}

// exprParser reads expressions from the tokens of one statement.
type exprParser struct {
	s     *session
	lex   *lexer.PeekingLexer
	depth int
}

// read parses by one of the functions below, which panic with a syntaxError where the text is not what they read.
func read[T any](s *session, lex *lexer.PeekingLexer, parse func(p *exprParser) T) (x T, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *syntaxError:
			err = e
		default:
			panic(e)
		}
	}()
	return parse(&exprParser{s: s, lex: lex}), nil
}

// failure is an error with what may be written instead.
func (p *exprParser) failure(code diag.Code, at diag.Span, fix, format string, args ...any) *syntaxError {
	e := p.s.fail(code, at, format, args...)
	e.d.Fix = fix
	return e
}

func (p *exprParser) peek() lexer.Token { return *p.lex.Peek() }

// is reports whether the next token is the punctuation or keyword text.
func (p *exprParser) is(text string) bool {
	t := p.lex.Peek()
	return t.Value == text && t.Type != tokenIdent && !t.EOF()
}

// take consumes the next token if it is text.
func (p *exprParser) take(text string) (lexer.Token, bool) {
	if !p.is(text) {
		return lexer.Token{}, false
	}
	return *p.lex.Next(), true
}

// expect consumes text or fails; why says in which construct it is needed.
func (p *exprParser) expect(text, why string) lexer.Token {
	t, ok := p.take(text)
	if !ok {
		panic(p.unexpected("`"+spelling(text)+"` "+why, ""))
	}
	return t
}

func (p *exprParser) unexpected(want, fix string) *syntaxError {
	t := p.peek()
	return p.failure(diag.Unexpected, p.s.tokenSpan(t), fix, "expected %s, found %s", want, p.s.describe(t))
}

// separated parses parts between commas.
func separated[T any](p *exprParser, part func() T) []T {
	out := []T{part()}
	for p.skip(",") {
		out = append(out, part())
	}
	return out
}

// skip consumes the next token if it is text.
func (p *exprParser) skip(text string) bool {
	_, ok := p.take(text)
	return ok
}

func (p *exprParser) at(from, to lang.Node) lang.At {
	return lang.At{Place: from.Span().To(to.Span())}
}

// inner parses an expression that no operand may follow without an operator: two side by side are reported here, in plain
// words.
func (p *exprParser) inner() tree {
	x := p.expr(lang.OrLevel)
	p.noOperand(x.Expr)
	return x
}

// noOperand fails if an operand follows x without an operator.
func (p *exprParser) noOperand(x lang.Expr) {
	t := p.peek()
	if t.Type != tokenIdent && t.Type != tokenNumber && !p.is("(") {
		return
	}
	left := lastOperand(x)
	leftText := left.Span().Text()
	_, leftNumber := left.(*lang.Number)
	fix := "a product is written with `*`"
	switch {
	case t.Value == "for" || leftText == "for":
		fix = "a family is written `forall i in 1..n: ... <= ...`, a sum `sum(i in 1..n: ...)`"
	case leftNumber && t.Type == tokenNumber:
		fix = fmt.Sprintf("separate entries and arguments with a comma: `%s, %s`", leftText, t.Value)
	case len(leftText)+len(t.Value) < 30 && t.Value != "(":
		fix = fmt.Sprintf("a product is written `%s*%s`; entries and arguments are separated by commas", leftText, t.Value)
	}
	panic(p.failure(diag.MissingOperator, p.s.tokenSpan(t), fix, "expected an operator before %s", p.s.describe(t)))
}

// lastOperand is the operand at the right end of x.
func lastOperand(x lang.Expr) lang.Expr {
	for {
		switch e := x.(type) {
		case *lang.Binary:
			x = e.Y
		case *lang.Unary:
			x = e.X
		default:
			return x
		}
	}
}

// expr parses an expression whose operators bind at least as tightly as least
// (precedence climbing).
func (p *exprParser) expr(least lang.Precedence) tree {
	if p.depth++; p.depth > maxNesting {
		panic(p.failure(diag.TooDeep, p.s.tokenSpan(p.peek()), "name the inner parts with `let`", "this expression is nested more than %d deep", maxNesting))
	}
	left := p.prefix()
	compared := false
	for {
		t := p.peek()
		op, ok := infixes[t.Value]
		if !ok || t.Type == tokenIdent || op.Precedence() < least {
			p.depth--
			return left
		}
		if op.Precedence() == lang.CompareLevel {
			if compared {
				panic(p.failure(diag.Unexpected, p.s.tokenSpan(t), "write `a < b and b < c`", "comparisons in a condition do not chain"))
			}
			compared = true
		}
		p.lex.Next()
		right := p.expr(op.RightLevel())
		left = p.grow(&lang.Binary{
			At: p.at(left, right), Op: op, OpPlace: p.s.tokenSpan(t), X: left.Expr, Y: right.Expr,
		}, max(left.height, right.height))
	}
}

// grow puts x on top of a tree of the given height.
func (p *exprParser) grow(x lang.Expr, height int) tree {
	if height >= maxHeight {
		panic(p.failure(diag.TooDeep, x.Span(), "write a comprehension, such as `sum(i in 1..n: ...)`, over data",
			"this expression has more than %d operations in a row", maxHeight))
	}
	return tree{x, height + 1}
}

// prefix parses -x, not x, if c then a else b, or an operand.
func (p *exprParser) prefix() tree {
	p.s.meter.Step()
	t := p.peek()
	switch {
	case p.is("-"):
		return p.unary(lang.Neg)
	case p.is("not"):
		return p.unary(lang.Not)
	case p.is("if"):
		return p.ifExpr()
	case p.is("+"):
		panic(p.failure(diag.Unexpected, p.s.tokenSpan(t), "leave it out", "there is no prefix `+`"))
	}
	return p.postfix()
}

func (p *exprParser) unary(op lang.UnaryOp) tree {
	t := *p.lex.Next()
	x := p.expr(op.Precedence())
	return p.grow(&lang.Unary{At: lang.At{Place: p.s.tokenSpan(t).To(x.Span())}, Op: op, X: x.Expr}, x.height)
}

// ifExpr parses if c then a else b; the last part extends as far as it can.
func (p *exprParser) ifExpr() tree {
	start := *p.lex.Next()
	cond := p.expr(lang.OrLevel)
	p.expect("then", "after the condition")
	then := p.expr(lang.OrLevel)
	p.expect("else", "(an `if` always has both branches)")
	other := p.expr(lang.OrLevel)
	return p.grow(&lang.IfExpr{
		At:   lang.At{Place: p.s.tokenSpan(start).To(other.Span())},
		Cond: cond.Expr, Then: then.Expr, Else: other.Expr,
	}, max(cond.height, then.height, other.height))
}

// relations maps the relations of constraints.
var relations = map[string]lang.RelOp{"<=": lang.LessEq, ">=": lang.GreaterEq, "==": lang.Equal}

// relation parses lhs <= rhs, or a chain lo <= y <= hi.
func (p *exprParser) relation() relation {
	var c chain
	for {
		x := p.expr(lang.SumLevel)
		p.noOperand(x.Expr)
		c.terms = append(c.terms, x.Expr)
		t := p.peek()
		op, ok := relations[t.Value]
		switch {
		case ok:
			p.lex.Next()
			c.ops = append(c.ops, op)
		case len(c.ops) == 0 || p.is("<") || p.is(">") || p.is("=") || p.is("!="):
			panic(p.noRelation(c, t))
		default:
			return c
		}
	}
}

func (p *exprParser) noRelation(c chain, t lexer.Token) *syntaxError {
	code, at := diag.BadRelation, p.s.tokenSpan(t)
	fail := func(fix, format string, args ...any) *syntaxError { return p.failure(code, at, fix, format, args...) }
	switch t.Value {
	case "=":
		if name, ok := c.terms[0].(*lang.Name); ok && len(c.terms) == 1 {
			p.lex.Next()
			if p.is("forall") {
				return fail(fmt.Sprintf("write `%s: forall ...`", name.Name), "a constraint's name is followed by `:`, not `=`")
			}
		}
		return fail("write `==`", "a constraint says that two sides are equal with `==`, not `=`")
	case "<", ">":
		return fail(fmt.Sprintf("write `%s=`", t.Value), "`%s` is not a relation of a constraint: the feasible set must be closed", t.Value)
	case "!=":
		return fail("", "`!=` is not a relation of a constraint: the feasible set must be convex")
	}
	name, isName := c.terms[0].(*lang.Name)
	label, _ := c.terms[0].(*lang.Text)
	switch _, isIf := c.terms[0].(*lang.IfExpr); {
	case isIf && t.EOF():
		at = c.terms[0].Span()
		return fail("put the `if` in ( ): what follows `else` belongs to it, as far as it goes",
			"a constraint needs a relation `<=`, `>=` or `==`")
	case isName && t.Value == "forall":
		return fail(fmt.Sprintf("write `%s: forall ...`", name.Name), "expected `:` after the name of a constraint, found `forall`")
	case t.Value == ":" && label != nil:
		at = label.Span()
		return fail(unquoted(label.Value), "the name of a constraint is no label")
	case t.Value == ":" && indexed(c.terms) != "":
		return fail(fmt.Sprintf("write `%s: forall ...`", indexed(c.terms)), "a family of constraints has one name, without indices, ahead of its `forall`")
	case !t.EOF():
		return fail("", "expected a relation `<=`, `>=` or `==`, found %s", p.s.describe(t))
	}
	at = c.terms[0].Span().To(c.terms[len(c.terms)-1].Span())
	return fail("write a relation such as `... <= ...`; a relation that goes on to the next line ends its first line in an operator",
		"a constraint needs a relation `<=`, `>=` or `==`")
}

// indexed is the name that the only one of some terms is an entry of; "" for others.
func indexed(terms []lang.Expr) string {
	if index, ok := terms[0].(*lang.Index); ok && len(terms) == 1 {
		if name, ok := index.X.(*lang.Name); ok {
			return name.Name
		}
	}
	return ""
}

// list parses `@@ ("," @@)*` up to a closing bracket, which it consumes.
func (p *exprParser) list(closing, why string) (elems []lang.Expr, height int, end lexer.Token) {
	if t, ok := p.take(closing); ok {
		return nil, 0, t
	}
	for _, x := range separated(p, p.inner) {
		elems, height = append(elems, x.Expr), max(height, x.height)
	}
	if n, ok := elems[len(elems)-1].(*lang.Name); ok && closing == ")" && p.is("=") {
		panic(p.unexpected("`)` "+why, "an index is written `"+n.Name+" in 1..n`, and equality `==`"))
	}
	return elems, height, p.expect(closing, why)
}

// spanFrom is the span from a token to a node's or token's end offset.
func (p *exprParser) spanFrom(t lexer.Token, end int) diag.Span {
	return p.s.span(t.Pos.Offset, end)
}
