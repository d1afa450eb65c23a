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

func (s *session) exprs(lex *lexer.PeekingLexer) *exprParser {
	return &exprParser{s: s, lex: lex}
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
func (p *exprParser) expect(text, why string) (lexer.Token, error) {
	if t, ok := p.take(text); ok {
		return t, nil
	}
	return lexer.Token{}, p.unexpected("`"+spelling(text)+"` "+why, "")
}

func (p *exprParser) unexpected(want, fix string) error {
	t := p.peek()
	e := p.s.fail(diag.Unexpected, p.s.tokenSpan(t), "expected %s, found %s", want, p.s.describe(t))
	e.d.Fix = fix
	return e
}

func (p *exprParser) at(from, to lang.Node) lang.At {
	return lang.At{Place: from.Span().To(to.Span())}
}

// complete parses an expression that must be followed by something that can
// follow one: two operands side by side are reported here, in plain words.
func (p *exprParser) complete() (lang.Expr, error) {
	x, err := p.expr(lang.OrLevel)
	if err != nil {
		return nil, err
	}
	if err := p.noOperand(x.Expr); err != nil {
		return nil, err
	}
	return x.Expr, nil
}

// inner parses an expression within brackets, which no operand may follow.
func (p *exprParser) inner() (tree, error) {
	x, err := p.expr(lang.OrLevel)
	if err == nil {
		err = p.noOperand(x.Expr)
	}
	return x, err
}

// noOperand fails if an operand follows x without an operator.
func (p *exprParser) noOperand(x lang.Expr) error {
	t := p.peek()
	isOperand := t.Type == tokenIdent || t.Type == tokenNumber || p.is("(")
	if !isOperand {
		return nil
	}
	e := p.s.fail(diag.MissingOperator, p.s.tokenSpan(t), "expected an operator before %s", p.s.describe(t))
	left := lastOperand(x)
	leftText := left.Span().Text()
	_, leftNumber := left.(*lang.Number)
	switch {
	case t.Value == "for" || leftText == "for":
		e.d.Fix = "a family is written `forall i in 1..n: ... <= ...`, a sum `sum(i in 1..n: ...)`"
	case leftNumber && t.Type == tokenNumber:
		e.d.Fix = fmt.Sprintf("separate entries and arguments with a comma: `%s, %s`", leftText, t.Value)
	case len(leftText)+len(t.Value) < 30 && t.Value != "(":
		e.d.Fix = fmt.Sprintf("a product is written `%s*%s`; entries and arguments are separated by commas", leftText, t.Value)
	default:
		e.d.Fix = "a product is written with `*`"
	}
	return e
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
func (p *exprParser) expr(least lang.Precedence) (tree, error) {
	if p.depth >= maxNesting {
		e := p.s.fail(diag.TooDeep, p.s.tokenSpan(p.peek()), "this expression is nested more than %d deep", maxNesting)
		e.d.Fix = "name the inner parts with `let`"
		return tree{}, e
	}
	p.depth++
	defer func() { p.depth-- }()
	left, err := p.prefix()
	if err != nil {
		return tree{}, err
	}
	compared := false
	for {
		t := p.peek()
		op, ok := infixes[t.Value]
		if !ok || t.Type == tokenIdent || op.Precedence() < least {
			return left, nil
		}
		if op.Precedence() == lang.CompareLevel {
			if compared {
				e := p.s.fail(diag.Unexpected, p.s.tokenSpan(t), "comparisons in a condition do not chain")
				e.d.Fix = "write `a < b and b < c`"
				return tree{}, e
			}
			compared = true
		}
		p.lex.Next()
		right, err := p.expr(op.RightLevel())
		if err != nil {
			return tree{}, err
		}
		left, err = p.grow(&lang.Binary{
			At: p.at(left, right), Op: op, OpPlace: p.s.tokenSpan(t), X: left.Expr, Y: right.Expr,
		}, max(left.height, right.height))
		if err != nil {
			return tree{}, err
		}
	}
}

// grow puts x on top of a tree of the given height.
func (p *exprParser) grow(x lang.Expr, height int) (tree, error) {
	if height >= maxHeight {
		e := p.s.fail(diag.TooDeep, x.Span(), "this expression has more than %d operations in a row", maxHeight)
		e.d.Fix = "write a comprehension, such as `sum(i in 1..n: ...)`, over data"
		return tree{}, e
	}
	return tree{x, height + 1}, nil
}

// prefix parses -x, not x, if c then a else b, or an operand.
func (p *exprParser) prefix() (tree, error) {
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
		e := p.s.fail(diag.Unexpected, p.s.tokenSpan(t), "there is no prefix `+`")
		e.d.Fix = "leave it out"
		return tree{}, e
	}
	return p.postfix()
}

func (p *exprParser) unary(op lang.UnaryOp) (tree, error) {
	t := *p.lex.Next()
	x, err := p.expr(op.Precedence())
	if err != nil {
		return tree{}, err
	}
	return p.grow(&lang.Unary{At: lang.At{Place: p.s.tokenSpan(t).To(x.Span())}, Op: op, X: x.Expr}, x.height)
}

// ifExpr parses if c then a else b; the last part extends as far as it can.
func (p *exprParser) ifExpr() (tree, error) {
	start := *p.lex.Next()
	cond, err := p.expr(lang.OrLevel)
	if err != nil {
		return tree{}, err
	}
	if _, err := p.expect("then", "after the condition"); err != nil {
		return tree{}, err
	}
	then, err := p.expr(lang.OrLevel)
	if err != nil {
		return tree{}, err
	}
	if _, err := p.expect("else", "(an `if` always has both branches)"); err != nil {
		return tree{}, err
	}
	other, err := p.expr(lang.OrLevel)
	if err != nil {
		return tree{}, err
	}
	return p.grow(&lang.IfExpr{
		At:   lang.At{Place: p.s.tokenSpan(start).To(other.Span())},
		Cond: cond.Expr, Then: then.Expr, Else: other.Expr,
	}, max(cond.height, then.height, other.height))
}

// relations maps the relations of constraints.
var relations = map[string]lang.RelOp{"<=": lang.LessEq, ">=": lang.GreaterEq, "==": lang.Equal}

// relation parses lhs <= rhs, or a chain lo <= y <= hi.
func (p *exprParser) relation() (relation, error) {
	var c chain
	for {
		x, err := p.expr(lang.SumLevel)
		if err != nil {
			return nil, err
		}
		if err := p.noOperand(x.Expr); err != nil {
			return nil, err
		}
		c.terms = append(c.terms, x.Expr)
		t := p.peek()
		op, ok := relations[t.Value]
		switch {
		case ok:
			p.lex.Next()
			c.ops = append(c.ops, op)
		case len(c.ops) == 0 || p.is("<") || p.is(">") || p.is("=") || p.is("!="):
			return nil, p.noRelation(c, t)
		default:
			return c, nil
		}
	}
}

func (p *exprParser) noRelation(c chain, t lexer.Token) error {
	code, at := diag.BadRelation, p.s.tokenSpan(t)
	fail := func(fix, format string, args ...any) error {
		e := p.s.fail(code, at, format, args...)
		e.d.Fix = fix
		return e
	}
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
func (p *exprParser) list(closing, why string) (elems []lang.Expr, height int, end lexer.Token, err error) {
	if t, ok := p.take(closing); ok {
		return nil, 0, t, nil
	}
	for {
		x, err := p.expr(lang.OrLevel)
		if err != nil {
			return nil, 0, end, err
		}
		if err := p.noOperand(x.Expr); err != nil {
			return nil, 0, end, err
		}
		elems, height = append(elems, x.Expr), max(height, x.height)
		if _, ok := p.take(","); ok {
			continue
		}
		if n, ok := x.Expr.(*lang.Name); ok && closing == ")" && p.is("=") {
			return nil, 0, end, p.unexpected("`)` "+why, "an index is written `"+n.Name+" in 1..n`, and equality `==`")
		}
		end, err = p.expect(closing, why)
		return elems, height, end, err
	}
}

// spanFrom is the span from a token to a node's or token's end offset.
func (p *exprParser) spanFrom(t lexer.Token, end int) diag.Span {
	return p.s.span(t.Pos.Offset, end)
}
