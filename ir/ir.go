// Package ir holds the two middle forms of a model and nothing that makes
// them: Program (checked, before data; made by package check) and Problem
// (bound to numbers, lowered to expression graphs and constraint rows; made
// by package bind).
package ir

import (
	"fmt"
	"strconv"
	"strings"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Program is a checked model. The syntax tree is unchanged; what the checker
// found stands beside it. A Program without errors has every name resolved,
// shapes that agree symbolically, levels that are legal (no upper constraint
// reads a lower variable), exactly one objective a level.
type Program struct {
	Name    string
	File    *lang.File
	Symbols map[string]*Symbol // every top-level and level name of the model
	Upper   *LevelDecl
	Lower   *LevelDecl
	Solve   *lang.Solve         // nil if none
	Report  *lang.Report        // nil if none
	Library map[string]*lang.Fn // the standard library, in the language itself
	Types   map[lang.Expr]Type  // of expressions outside function bodies
}

// Symbol is a declared name.
type Symbol struct {
	Name  string
	Kind  SymbolKind
	Decl  lang.Node // *lang.Param, *lang.Data, *lang.Let, *lang.Fn, *lang.Var, *lang.IndexSet
	Type  Type
	Lower bool      // variables and level lets: which block declares it
	Deps  expr.Deps // which variables its value depends on
	// Labels is how many an element of a set has.
	Labels int
}

// SymbolKind tells what a name stands for.
type SymbolKind uint8

// The kinds of names.
const (
	ParamSymbol SymbolKind = iota
	DataSymbol
	LetSymbol
	FnSymbol
	VarSymbol
	SetSymbol
)

// LevelDecl is one level with its parts sorted out. Of several followers the
// parts are put together, and Objective is the sum of theirs.
type LevelDecl struct {
	Block       *lang.Level
	Followers   []Follower // the followers that have names
	Vars        []*lang.Var
	Lets        []*lang.Let
	Objective   *lang.Objective
	Constraints []*lang.Constraint
}

// Follower is a follower by name, or one for each combination of the indices of
// its block, with its parts as they are in the LevelDecl: an own variable has the
// indices as its first dimensions, a constraint is a family over them, and the
// objective a sum.
type Follower struct {
	Name        string
	Block       *lang.Level
	Vars        []*lang.Var
	Objective   *lang.Objective
	Constraints []*lang.Constraint
}

// Type is a symbolic type: dimensions are expressions in the user's own
// names, normalised so that dy / 5 and 0.2*dy compare as the checker's
// package says.
type Type struct {
	Kind TypeKind
	Dims []Dim // len 1 for vectors, rows and sets, 2 for matrices, 3 or more for arrays
}

// TypeKind is the kind of a type. RowVector is what v' has; one-element
// vectors are not scalars.
type TypeKind uint8

// The kinds of types. AnyType is what remains unknown after an error.
const (
	AnyType TypeKind = iota
	RealType
	IntType
	BoolType
	VectorType
	RowVectorType
	MatrixType
	ArrayType // of three or more dimensions
	SetType   // an index set
	LabelType // an element of an index set, or a text
	TextType  // an array of texts; len of Dims as of an array
)

// Dim is a symbolic dimension, printed in the user's names; see package check.
type Dim interface{ String() string }

// Problem is a model bound to its data.
type Problem struct {
	Program *Program
	Name    string
	Graph   *expr.Builder // owns every node below
	Upper   Level
	Lower   Level
	X       UpperSet
	Rows    []Row       // of the lower level, A, B and Rhs row by row
	A, B    *sparse.CSR // h(x, y) = A x - B y - Rhs, without entries that are 0
	Rhs     []float64
	// Duals are the rows whose multipliers the upper objective and the report
	// read. To them they are further lower variables: entry Lower.Dim + k is the
	// multiplier of row Duals[k], >= 0 on inequalities, with the Lagrangian
	// g + lambda'h of the minimized g.
	Duals []int
	// Plain is the lower objective as the user wrote it, minimized, where
	// Lower.Objective is a regularized one; nil otherwise. See Regularized.
	Plain *expr.Node
	// Transformed is set where Lower.Objective, or Plain, stands for another objective with the same best answers.
	Transformed *Transformed
	// Combined is set where rows stand for others that nearly depend on each other.
	Combined *Combined
	// Coupled are the upper constraints that are not part of X: c <= 0 or = 0,
	// smooth in x, y and Duals. Penalized is the upper objective plus w'c with one
	// weight w an entry of Coupled: to it the weights are the last lower variables,
	// from Lower.Dim + len(Duals) on. nil where there are none.
	Coupled   []Row
	Penalized *expr.Node
	// Restated is how functions with kinks were restated; nil where there are none.
	Restated *Restated
	// Inside are the arguments of functions in the lower objective that rows keep from being below 0, where the functions are not defined.
	Inside    map[*expr.Node]bool
	Report    []NamedNode     // may depend on x, y and Duals
	Start     []float64       // starting x from `solve { start ... }`; nil where none is given
	Settings  []Setting       // the rest of the solve block
	Data      []BoundData     // params and data as bound, in declaration order
	Followers []BoundFollower // those that have names
	Sets      []BoundSet      // index sets as bound, in declaration order
	// Unbound are the constraint families and sets whose coefficients depend
	// on data that was not supplied (abstract binding only). They have no rows
	// and no bounds here.
	Unbound []*Family
	Seed    uint64
	Facts   Facts
	// Blocks are the independent followers: a partition of the entries of y
	// such that the lower objective is a sum of functions of x and one block
	// each and no row touches two; nil where there are no two. See package facts.
	Blocks [][]int
}

// Level is one level, bound.
type Level struct {
	Vars      []Variable
	Dim       int        // sum of the variables' lengths
	Objective *expr.Node // scalar, to be MINIMIZED: a maximize is negated
	Maximize  bool       // the user wrote maximize: reports undo the sign
	Span      diag.Span  // of the objective
	Lets      []NamedNode
}

// Variable is a declared variable's place in x or y.
type Variable struct {
	Name   string
	Shape  expr.Shape
	Offset int // first entry, row-major
	Span   diag.Span
	// Axes are the dimensions of an array over sets or of more than two
	// dimensions, whose Shape is that of its entries; nil for others.
	Axes []Axis
	// Hidden is set on variables that restate a kink; see Restated.
	Hidden bool
	// Integer is set on upper variables that take whole numbers only, between finite bounds (X.Lo, X.Hi).
	Integer bool
}

// Axis is one dimension of an array. Labels holds the elements of the set that
// it is over, each a label or a tuple of labels; nil where the dimension counts
// 1..Size. Names are the set's words for what stands in a label, one a part of a
// tuple: its keys, by which columns of tables go, or its own name; nil where the
// dimension is over no declared set, or that has none for each part.
type Axis struct {
	Size   int
	Labels [][]string
	Names  []string
}

// Text spells element k, from 0, as it stands in the square brackets of a
// name: 3, "Rome", or "Rome", "Oslo".
func (a Axis) Text(k int) string {
	if a.Labels == nil {
		return strconv.Itoa(k + 1)
	}
	return lang.TupleText(a.Labels[k])
}

// EntryName names entry k of a variable, from 0: cap[3], flow["Rome", "Oslo"].
func (v *Variable) EntryName(k int) string {
	if v.Axes != nil {
		return v.Name + "[" + Place(v.Axes, k) + "]"
	}
	return data.EntryName(v.Name, v.Shape.Dims(), k)
}

// EntryName names entry j of the level's vector.
func (l *Level) EntryName(j int) string {
	for i := range l.Vars {
		v := &l.Vars[i]
		if k := j - v.Offset; k >= 0 && k < v.Shape.Len() {
			return v.EntryName(k)
		}
	}
	return fmt.Sprintf("entry %d", j+1)
}

// Place spells entry k, from 0 and row-major, of an array: `"Rome", 3`.
func Place(axes []Axis, k int) string {
	parts := make([]string, len(axes))
	for i := len(axes) - 1; i >= 0; i-- {
		parts[i] = axes[i].Text(k % axes[i].Size)
		k /= axes[i].Size
	}
	return strings.Join(parts, ", ")
}

// BoundSet is an index set as bound.
type BoundSet struct {
	Name   string
	Axis   Axis
	Origin string
}

// BoundFollower is what belongs to a follower by name.
type BoundFollower struct {
	Name      string
	Maximize  bool
	Objective NamedNode // in the user's own sense, one number for each of its kind
	Vars      []string
	Families  []*Family // of the rows that are its own
}

// Family is a constraint as the user wrote it, lowered to rows.
type Family struct {
	Name  string // the user's, or the place where none is given
	Named bool
	Shape expr.Shape // of the rows' values in reports: scalar, list, list of rows
	Axes  []Axis     // where the rows have labels; nil for others
	Span  diag.Span
	// Sign of h against the user's relation: +1 where h = lhs - rhs (<= and
	// ==), -1 where h = rhs - lhs (>=).
	Sign float64
	// Hidden is set on rows that restate a kink; see Restated.
	Hidden bool
}

// EntryName names row k of the family, from 0: cap[3], supply["Rome"]. Tables, documents and messages all call it so.
func (f *Family) EntryName(k int) string {
	if f.Axes != nil {
		return f.Name + "[" + Place(f.Axes, k) + "]"
	}
	return data.EntryName(f.Name, f.Shape.Dims(), k)
}

// Row is one row of h.
type Row struct {
	Equal  bool
	Family *Family
	Index  int    // position within the family, row-major
	Name   string // "cap[3]"
	// Opposite is set on an equality that stands for two inequalities without
	// room between them: this row, and the opposite one; nil on others.
	Opposite *Opposite
	// Degree is that of a row of Coupled as a polynomial in x, y and multipliers: 0, 1, 2, or 3 for anything else.
	Degree int
}

// Opposite is the inequality h' = -Ratio h + By <= 0 that was united with an
// inequality h <= 0 to h = 0. By is 0, or how far the two cross where they do by less than their
// sides decide: the opposite one holds within that only.
type Opposite struct {
	Family *Family
	Index  int
	Name   string
	Ratio  float64
	By     float64
}

// Crossed are bounds of entry Index of x that cross by By, beside Terms that they were summed from.
type Crossed struct {
	Index     int
	By, Terms float64
}

// UpperSet is X.
type UpperSet struct {
	Lo, Hi []float64
	// Crossed are the entries whose bounds cross by less than their terms decide: one of them holds within that only.
	Crossed []Crossed
	Rows    []Row
	E       *sparse.CSR
	Rhs     []float64
	Balls   []Ball
	// Extended are rows on x and further variables, of constraints on x alone with convex
	// kinks whose own rows would be too many; nil where there are none.
	Extended *extended.Rows
	// ExtendedRows are the model's rows of Extended, in their order there.
	ExtendedRows []Row
	// Folded are the constraints on x alone whose kinks were restated, by rows or by
	// Extended.
	Folded []Folded
}

// Folded is a constraint on x alone with kinks, and what it was restated by.
type Folded struct {
	Family      *Family
	Rows, Extra int // rows, and further variables
}

// Ball is a Euclidean ball around 0 on one variable.
type Ball struct {
	Var    int // index in Upper.Vars
	Radius float64
}

// NamedNode is a named expression over the bound graph.
type NamedNode struct {
	Name string
	Node *expr.Node
	Row  bool // a row vector: reported as a list like a vector
	Span diag.Span
	Axes []Axis // as of a Variable
	// Texts are the entries of an expression that is texts (bind.Expr alone), which has no Node then.
	Texts []string
}

// Setting is one `name = value` of the solve block: a word or a number.
type Setting struct {
	Name   string
	Word   string
	Value  float64
	IsWord bool
	Span   diag.Span
}

// BoundData is a param or data as bound.
type BoundData struct {
	Name   string
	Array  *data.Array // nil of texts
	Texts  []string    // of data that are texts, row-major
	Axes   []Axis      // as of a Variable
	Origin string      // "default", "toy.json", "generator (seed 1)", ...
}

// Facts are what the compiler proved about the bound problem; see package
// curvature for the derivations. Zero values mean "not known".
type Facts struct {
	StrongConvexity float64
	Convex          bool // g(x, .) is convex for every x in X
	Smoothness      float64
	LipschitzF      float64
	SmoothnessF     float64
	QuadraticInY    bool
	FixedHessian    bool
	// JointlyQuadratic: g is quadratic in (x, y).
	JointlyQuadratic bool
	// HessianPattern is where the Hessian of g in y can be nonzero; nil where it
	// would be dense. See package analysis.
	HessianPattern *sparse.CSR
	// Roots says what is known of the roots in the upper objective and constraints; nil where one may be taken of 0 in another way than Roots says.
	Roots *Roots
}

// Roots are the roots u^p, 0 < p < 1, of the upper level: each is of a u > 0, or of a multiple of the distance of one entry of x from a bound of X. There the slope of f in that entry has no end.
type Roots struct {
	Steep []Steep
}

// Steep is a bound of X at which the slope of f has no end: entry Entry of x at its upper bound or its lower one. f Rises from there to the inside, or falls.
type Steep struct {
	Entry        int
	Upper, Rises bool
}
