// Package lang is the syntax tree of the modeling language: what a model
// says, before anything is known of names, shapes or data. Every node knows
// its span; the checker keeps its results beside the tree, never in it. The
// printer (bilevelc fmt) lives here too. The reference is spec.md.
package lang

import "bilevelc/lang/diag"

// Node is any part of the tree.
type Node interface {
	Span() diag.Span
}

// At is embedded in every node and gives its span.
type At struct{ Place diag.Span }

// Span returns the node's place in its source.
func (a At) Span() diag.Span { return a.Place }

// Ident is a name at a place.
type Ident struct {
	At
	Name string
}

// Comment is one // comment, without its line end. Own reports that nothing
// but white space stands before it on its line.
type Comment struct {
	At
	Text string // with the leading //
	Own  bool
}

// File is one source: a model (Model set), a standard library piece, or REPL
// input (Model nil). Comments are kept in order of place.
type File struct {
	At
	Source   *diag.Source
	Model    *Ident
	Decls    []Decl
	Comments []Comment
}

// Decl is a declaration at the top of a file; some also stand inside levels.
type Decl interface {
	Node
	decl()
}

// TypeExpr is a written type: real, int, vector[n], matrix[m, n], an array
// over index sets and sizes, [city, hour], or one of texts, text[city]; in a
// function's parameters the dimensions of a vector or matrix may be left out.
type TypeExpr struct {
	At
	Kind TypeKind
	Dims []Expr // none, or as many as the kind has; an array has one or more
}

// TypeKind is the word of a written type.
type TypeKind uint8

// The written types.
const (
	KindReal TypeKind = iota
	KindInt
	KindVector
	KindMatrix
	KindArray // [a, b, ...]: written without a word
	KindText  // text[a, ...]: of data only
	KindBad   // the parser has reported an error here; stands for any type
)

func (k TypeKind) String() string {
	return [...]string{"real", "int", "vector", "matrix", "array", "text", "?"}[k]
}

// WrittenType is the type that a declaration or a parameter of a function is written with; nil for none.
func WrittenType(n Node) *TypeExpr {
	switch n := n.(type) {
	case *Param:
		return &n.Type
	case *Data:
		return &n.Type
	case *Var:
		return &n.Type
	case *FnParam:
		return n.Type
	}
	return nil
}

// Param declares a size or scalar that is fixed at binding.
//
//	param n: int = 5
type Param struct {
	At
	Name    Ident
	Type    TypeExpr
	Default Expr // nil if none
}

// Data declares an array that is bound from a file, a literal or a generator.
//
//	data P: matrix[m, n] ~ normal(0, 1)
//	data X: [row, feature] columns x1..x8
//	data level: [row] column "Sea level"
type Data struct {
	At
	Name    Ident
	Type    TypeExpr
	Column  *ColumnName   // of a table, where it is not called like the data; nil if none
	Columns []ColumnRange // of a table, along the last dimension; nil if none
	Value   Expr          // nil if none
	Gen     *Generator    // nil if none
}

// ColumnRange is a column of a table by name, or those from one to another.
type ColumnRange struct {
	At
	First ColumnName
	Last  *ColumnName // nil: the one column First
}

// ColumnName is a name of a column, written as it is or in double quotes.
type ColumnName struct {
	At
	Name   string
	Quoted bool
}

// Generator is a seeded random source of a data array.
type Generator struct {
	At
	Name Ident // normal, uniform
	Args []Expr
}

// IndexSet declares a set of labels that arrays and comprehensions range over.
//
//	set city = {"Rome", "Oslo"}
//	set hour = 0..23
//	set port within city
//	set arc(from, to) within city * city
//	set large = {c in city if demand[c] > 100}
type IndexSet struct {
	At
	Name   Ident
	Keys   []Ident     // names of the parts, which columns of a table go by; any text
	Within []Ident     // one: a part of that set; several: tuples of their elements
	Value  *SetLiteral // nil: supplied as data
}

// SetLiteral is {a, b, c} (Elems), lo..hi, or {i in S if c} (Binders), whose
// elements are those of S, or tuples of an element of each of several sets.
type SetLiteral struct {
	At
	Lo, Hi  Expr
	Elems   []SetElem
	Binders []Binder
	Cond    Expr // nil if none
}

// SetElem is one element of a set: a label, or a tuple of labels, each a *Text
// or a *Number.
type SetElem struct {
	At
	Parts []Expr
}

// Let names an expression, at the top or inside a level.
type Let struct {
	At
	Name  Ident
	Value Expr
}

// Fn defines a function. A parameter without a type takes any shape.
type Fn struct {
	At
	Name   Ident
	Params []FnParam
	Result *TypeExpr // nil: inferred
	Body   Expr
	Doc    []Comment // own-line comments right above
}

// FnParam is one parameter of a function.
type FnParam struct {
	At
	Name Ident
	Type *TypeExpr // nil: any shape
}

// Level is the block `upper { }` or `lower { }`; of several followers each has a
// block with a name, `lower operator { }`, and one block may stand for many,
// `lower firm[i in 1..n] { }`.
type Level struct {
	At
	Lower   bool
	Name    *Ident   // nil if none
	Binders []Binder // nil unless the block stands for many
	Items   []LevelItem
}

// Word is the block's keyword.
func (l *Level) Word() string {
	if l.Lower {
		return "lower"
	}
	return "upper"
}

// LevelItem is what may stand in a level.
type LevelItem interface {
	Node
	levelItem()
}

// Var declares a decision variable.
//
//	var x: vector[n] in box(lo, hi)
//	var k: vector[n] integer in box(0, 5)
//	var on: binary
type Var struct {
	At
	Name Ident
	Type TypeExpr // of an integer or binary variable without indices, real, at the place of the word
	Kind VarKind
	Word diag.Span // of the word integer or binary; zero for others
	Set  *Set      // nil: free
}

// VarKind says which values a variable takes.
type VarKind uint8

// The kinds of variables.
const (
	ContinuousVar VarKind = iota
	IntegerVar            // whole numbers
	BinaryVar             // 0 and 1
)

func (k VarKind) String() string { return [...]string{"continuous", "integer", "binary"}[k] }

// Set is what a variable is declared in: box, nonneg, simplex, ball, free.
type Set struct {
	At
	Name Ident
	Args []Expr
}

// Objective is `minimize e` or `maximize e`.
type Objective struct {
	At
	Maximize bool
	Value    Expr
}

// Constraint is one relation or family under `subject to`.
//
//	cap: forall r in 1..routes if r != 2: share[r] <= 4.5
type Constraint struct {
	At
	Name    *Ident   // nil if none
	Binders []Binder // nil unless forall
	Cond    Expr     // nil unless `if`
	Terms   []Expr   // len(Ops)+1
	Ops     []RelOp  // one, or more in a chain lo <= y <= hi
}

// SubjectTo holds the constraints that follow the words `subject to`.
type SubjectTo struct {
	At
	Constraints []*Constraint
}

// RelOp is a relation of a constraint.
type RelOp uint8

// The relations.
const (
	LessEq RelOp = iota
	GreaterEq
	Equal
)

func (r RelOp) String() string { return [...]string{"<=", ">=", "=="}[r] }

// Solve is the block of defaults `solve { }`.
type Solve struct {
	At
	Items []SolveItem
}

// SolveItem is `start x = e` (Start) or `name = e`; a word such as a method's
// name is an identifier.
type SolveItem struct {
	At
	Start bool
	Name  Ident
	Value Expr
}

// Report is the block of named expressions evaluated at the solution.
type Report struct {
	At
	Items []*Let
}

func (*Param) decl()    {}
func (*Data) decl()     {}
func (*IndexSet) decl() {}
func (*Let) decl()      {}
func (*Fn) decl()       {}
func (*Level) decl()    {}
func (*Solve) decl()    {}
func (*Report) decl()   {}

func (*Var) levelItem()       {}
func (*Let) levelItem()       {}
func (*Objective) levelItem() {}
func (*SubjectTo) levelItem() {}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Number is a numeric literal; Int says that it was written without point or
// exponent and fits an int.
type Number struct {
	At
	Text  string
	Value float64
	Int   bool
}

// Text is a label in double quotes.
type Text struct {
	At
	Value string // without the quotes
}

// Name is a reference by name.
type Name struct {
	At
	Name string
}

// ListLit is [a, b, c]; a list of lists is a matrix, row by row; arrays in a list
// stand side by side. [a; b] (Below) has them one below the other.
type ListLit struct {
	At
	Elems []Expr
	Below bool
}

// Unary is -x or not x.
type Unary struct {
	At
	Op UnaryOp
	X  Expr
}

// UnaryOp is a prefix operator.
type UnaryOp uint8

// The prefix operators.
const (
	Neg UnaryOp = iota
	Not
)

func (o UnaryOp) String() string { return [...]string{"-", "not"}[o] }

// Binary is x op y.
type Binary struct {
	At
	Op      BinaryOp
	OpPlace diag.Span
	X, Y    Expr
}

// BinaryOp is an infix operator.
type BinaryOp uint8

// The infix operators. Comparisons and logic stand only in conditions, over
// indices and data.
const (
	Add     BinaryOp = iota // +
	Sub                     // -
	Mul                     // *  linear-algebra product
	Div                     // /  by a scalar
	Pow                     // ^  scalar power
	ElemMul                 // .*
	ElemDiv                 // ./
	ElemPow                 // .^
	Lt
	Le
	Gt
	Ge
	Eq
	Ne
	And
	Or
)

func (o BinaryOp) String() string {
	return [...]string{"+", "-", "*", "/", "^", ".*", "./", ".^", "<", "<=", ">", ">=", "==", "!=", "and", "or"}[o]
}

// Transpose is x'.
type Transpose struct {
	At
	X Expr
}

// Index is x[i], A[i, j], A[i, :], y[2..n].
type Index struct {
	At
	X    Expr
	Subs []Subscript
}

// Subscript is one index, a range lo..hi, or all (:).
type Subscript struct {
	At
	All    bool
	Lo, Hi Expr // Hi nil: the single index Lo
}

// Call is f(a, b).
type Call struct {
	At
	Fn   Ident
	Args []Expr
}

// Comprehension is sum(i in 1..n, j in 1..i if c: e); also max, min, prod; or,
// without a name, the array [i in 1..n, j in 1..m: e].
type Comprehension struct {
	At
	Fn      Ident
	Binders []Binder
	Cond    Expr // nil if none
	Body    Expr
}

// Binder is `i in lo..hi`, or `i in S` over an index set or a vector of
// integers (Hi nil), or `(i, j) in S` over a set of tuples (Tuple). A later
// binder may use the indices of earlier ones.
type Binder struct {
	At
	Name   Ident   // of a tuple, its first
	Tuple  []Ident // nil unless it stands in ( )
	Lo, Hi Expr
}

// Names lists the indices that the binder declares.
func (b *Binder) Names() []Ident {
	if b.Tuple != nil {
		return b.Tuple
	}
	return []Ident{b.Name}
}

// IfExpr is `if c then a else b`, with c over indices and data only.
type IfExpr struct {
	At
	Cond, Then, Else Expr
}

// Paren keeps written brackets, for the printer.
type Paren struct {
	At
	X Expr
}

// Bad stands where the parser recovered from an error that it has reported.
type Bad struct{ At }

func (*Number) expr()        {}
func (*Text) expr()          {}
func (*Name) expr()          {}
func (*ListLit) expr()       {}
func (*Unary) expr()         {}
func (*Binary) expr()        {}
func (*Transpose) expr()     {}
func (*Index) expr()         {}
func (*Call) expr()          {}
func (*Comprehension) expr() {}
func (*IfExpr) expr()        {}
func (*Paren) expr()         {}
func (*Bad) expr()           {}
