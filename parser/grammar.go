package parser

import (
	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang"
)

// The grammar of statements. Each production is one statement, whose tokens
// have been cut out; expressions, relations and index lists are parsed by the
// functions that newStatementParser binds to their interface types.

// grammar holds every production, so that participle builds them all.
type grammar struct {
	Model      *modelLine      `parser:"@@"`
	Param      *paramDecl      `parser:"| @@"`
	Data       *dataDecl       `parser:"| @@"`
	Set        *setDecl        `parser:"| @@"`
	Follower   *followerHead   `parser:"| @@"`
	Let        *letDecl        `parser:"| @@"`
	Fn         *fnDecl         `parser:"| @@"`
	Var        *varDecl        `parser:"| @@"`
	Objective  *objective      `parser:"| @@"`
	Start      *solveItem      `parser:"| @@"`
	Report     *reportItem     `parser:"| @@"`
	Constraint *constraintLine `parser:"| @@"`
	Expr       *wholeExpr      `parser:"| @@"`
}

type name struct {
	Pos  lexer.Position
	Text string `parser:"@Ident"`
}

type modelLine struct {
	Name name `parser:"'model' @@"`
}

type paramDecl struct {
	Name    name        `parser:"'param' @@"`
	Type    writtenType `parser:"':' @@"`
	Default lang.Expr   `parser:"('=' @@)?"`
}

type dataDecl struct {
	Name    name          `parser:"'data' @@"`
	Type    writtenType   `parser:"':' @@"`
	Column  *columnName   `parser:"( 'column' @@"`
	Columns []columnRange `parser:"| 'columns' @@ (',' @@)* )?"`
	Value   lang.Expr     `parser:"( '=' @@"`
	Gen     *source       `parser:"| '~' @@ )?"`
}

// columnRange is a column of a table, or the first and the last of several. The
// words column, columns and text are not reserved.
type columnRange struct {
	Tokens []lexer.Token
	First  columnName  `parser:"@@"`
	Last   *columnName `parser:"('..' @@)?"`
}

type columnName struct {
	Tokens []lexer.Token
	Text   string `parser:"@(Ident | Text)"`
}

type source struct {
	Tokens []lexer.Token
	Name   name        `parser:"@@ '('"`
	Args   []lang.Expr `parser:"( @@ (',' @@)* )? ')'"`
}

type setDecl struct {
	Name   name         `parser:"'set' @@"`
	Keys   []columnName `parser:"('(' @@ (',' @@)* ')')?"`
	Within []name       `parser:"('within' @@ ('*' @@)*)?"`
	Value  setLiteral   `parser:"('=' @@)?"`
}

// followerHead stands between the word lower and its brace.
type followerHead struct {
	Name    name    `parser:"@@"`
	Indices indices `parser:"('[' @@ ']')?"`
}

type letDecl struct {
	Name  name      `parser:"'let' @@"`
	Value lang.Expr `parser:"'=' @@"`
}

type fnDecl struct {
	Name   name         `parser:"'fn' @@ '('"`
	Params []parameter  `parser:"( @@ (',' @@)* )? ')'"`
	Result *writtenType `parser:"(':' @@)?"`
	Body   lang.Expr    `parser:"'=' @@"`
}

type parameter struct {
	Tokens []lexer.Token
	Name   name         `parser:"@@"`
	Type   *writtenType `parser:"(':' @@)?"`
}

type writtenType struct {
	Tokens []lexer.Token
	Word   string      `parser:"( @('real' | 'int' | 'vector' | 'matrix' | 'text')"`
	Dims   []lang.Expr `parser:"  ('[' @@ (',' @@)* ']')?"`
	Array  []lang.Expr `parser:"| '[' @@ (',' @@)* ']' )"`
}

type varDecl struct {
	Name name        `parser:"'var' @@ ':'"`
	Type writtenType `parser:"( (?! 'integer' | 'binary') @@"`
	Kind *varKind    `parser:"  @@? | @@ )"`
	Set  *varSet     `parser:"('in' @@)?"`
}

// varKind is the word of a variable that takes whole numbers only. Its words are not reserved.
type varKind struct {
	Tokens []lexer.Token
	Word   string `parser:"@('integer' | 'binary')"`
}

type varSet struct {
	Tokens []lexer.Token
	Name   name        `parser:"@@"`
	Args   []lang.Expr `parser:"( '(' ( @@ (',' @@)* )? ')' )?"`
}

type objective struct {
	Sense string    `parser:"@('minimize' | 'maximize')"`
	Value lang.Expr `parser:"@@"`
}

// solveItem is `start x = e` or `name = e`. The word start is not reserved: it
// is the keyword where another name follows it.
type solveItem struct {
	Start bool    `parser:"((?= 'start' Ident) @'start')?"`
	Name  name    `parser:"@@"`
	Value setting `parser:"'=' @@"`
}

type reportItem struct {
	Name  name      `parser:"@@"`
	Value lang.Expr `parser:"'=' @@"`
}

// constraintLine is `name: forall i in S if c: relation`, where only the
// relation is needed.
type constraintLine struct {
	Name     *name    `parser:"((?= Ident ':') @@ ':')?"`
	Indices  indices  `parser:"('forall' @@ ':')?"`
	Relation relation `parser:"@@"`
}

type wholeExpr struct {
	Value lang.Expr `parser:"@@"`
}

// indices is the list of binders of a forall, with its condition.
type indices interface{ indices() indexList }

// setting is the value of a setting: an expression, or a time such as 30s.
type setting interface{ setting() lang.Expr }

type settingOf struct{ lang.Expr }

func (s settingOf) setting() lang.Expr { return s.Expr }

// setLiteral is what a set holds, where the model says it.
type setLiteral interface{ setLiteral() *lang.SetLiteral }

type literalOf struct{ *lang.SetLiteral }

func (l literalOf) setLiteral() *lang.SetLiteral { return l.SetLiteral }

// relation is one or more relations in a chain.
type relation interface{ relation() chain }

type indexList struct {
	binders []lang.Binder
	cond    lang.Expr
	height  int // of the tree of its expressions
}

type chain struct {
	terms []lang.Expr
	ops   []lang.RelOp
}

func (l indexList) indices() indexList { return l }
func (c chain) relation() chain        { return c }

// statementParser is the parser of statements, bound to the session whose
// source its custom productions point into.
type statementParser struct {
	*participle.Parser[grammar]
	session *session
}

// statementParsers keeps parsers between sessions: building one takes longer
// than parsing a short model. A sync.Pool would lose them to the garbage of one
// key stroke in an editor.
var statementParsers = make(chan *statementParser, 4)

func takeStatementParser() *statementParser {
	select {
	case p := <-statementParsers:
		return p
	default:
		return newStatementParser()
	}
}

func (p *statementParser) giveBack() {
	p.session = nil
	select {
	case statementParsers <- p:
	default:
	}
}

// newStatementParser builds the parser. The next token decides everywhere, so
// no alternative is retried and errors are exact.
func newStatementParser() *statementParser {
	b := &statementParser{}
	b.Parser = participle.MustBuild[grammar](
		participle.Lexer(definition{}),
		participle.UseLookahead(0),
		participle.ParseTypeWith(func(lex *lexer.PeekingLexer) (lang.Expr, error) {
			return read(b.session, lex, func(p *exprParser) lang.Expr { return p.inner().Expr })
		}),
		participle.ParseTypeWith(func(lex *lexer.PeekingLexer) (relation, error) {
			return read(b.session, lex, (*exprParser).relation)
		}),
		participle.ParseTypeWith(func(lex *lexer.PeekingLexer) (indices, error) {
			return read(b.session, lex, func(p *exprParser) indices { return p.binders() })
		}),
		participle.ParseTypeWith(func(lex *lexer.PeekingLexer) (setLiteral, error) {
			return read(b.session, lex, (*exprParser).setLiteral)
		}),
		participle.ParseTypeWith(func(lex *lexer.PeekingLexer) (setting, error) {
			return read(b.session, lex, (*exprParser).setting)
		}),
	)
	return b
}
