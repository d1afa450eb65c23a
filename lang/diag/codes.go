package diag

import "fmt"

// Code is a stable name for one kind of diagnostic, such as "E0201".
type Code string

// Error is the code: a code is an error that every diagnostic of that code is, so that
// errors.Is(err, diag.DataRagged) looks through a List.
func (c Code) Error() string { return string(c) }

// The codes, one a line: the stage that reports it, the class of its fault,
// and its title. What it means is codes/CODE.txt (see Lookup).
var (
	// Syntax.
	Unexpected      = code("E0101", SyntaxStage, ModelClass, "unexpected text")
	BadText         = code("E0102", SyntaxStage, ModelClass, "a character that is not text of the language")
	BadNumber       = code("E0103", SyntaxStage, ModelClass, "a number that cannot be read")
	Unclosed        = code("E0104", SyntaxStage, ModelClass, "a bracket that is never closed")
	Unmatched       = code("E0105", SyntaxStage, ModelClass, "a bracket that closes nothing")
	OperatorAtStart = code("E0106", SyntaxStage, ModelClass, "a line that starts with an operator")
	BadRelation     = code("E0107", SyntaxStage, ModelClass, "a constraint without a proper relation")
	TooDeep         = code("E0108", SyntaxStage, ModelClass, "a text that is nested too deeply, or too long")
	ReservedWord    = code("E0109", SyntaxStage, ModelClass, "a word of the language used as a name")
	ForeignOperator = code("E0110", SyntaxStage, ModelClass, "an operator of another language")
	WrongBlock      = code("E0111", SyntaxStage, ModelClass, "a statement in the wrong place")
	NoStatement     = code("E0112", SyntaxStage, ModelClass, "a line that starts no statement")
	ModelLine       = code("E0113", SyntaxStage, ModelClass, "the model line repeated or not first")
	MissingOperator = code("E0114", SyntaxStage, ModelClass, "an operator is missing")
	WrongDims       = code("E0115", SyntaxStage, ModelClass, "a type with the wrong number of dimensions")
	TooManyErrors   = code("E0116", SyntaxStage, ModelClass, "too many syntax errors")
	NotModel        = code("E0117", SyntaxStage, ModelClass, "a text that is no model")

	// Names.
	UnknownName      = code("E0201", CheckStage, ModelClass, "unknown name")
	UnknownFunction  = code("E0202", CheckStage, ModelClass, "unknown function")
	DeclaredTwice    = code("E0203", CheckStage, ModelClass, "declared twice")
	PrimitiveName    = code("E0204", CheckStage, ModelClass, "the name of a primitive")
	Cycle            = code("E0205", CheckStage, ModelClass, "a definition that needs itself")
	Recursion        = code("E0206", CheckStage, ModelClass, "a recursive function")
	Unused           = code("E0207", CheckStage, ModelClass, "never used")
	Hides            = code("E0208", CheckStage, ModelClass, "an index that hides a name")
	FunctionValue    = code("E0209", CheckStage, ModelClass, "a function is not a value")
	UnknownSet       = code("E0210", CheckStage, ModelClass, "unknown set")
	UnknownGenerator = code("E0211", CheckStage, ModelClass, "unknown generator")
	NotReduction     = code("E0212", CheckStage, ModelClass, "not a reduction over indices")
	IndexSet         = code("E0213", CheckStage, ModelClass, "a set that does not hold together")
	UnknownLabel     = code("E0214", CheckStage, ModelClass, "a label that the set does not have")

	// Types and shapes.
	ElementwiseShapes = code("E0301", CheckStage, ModelClass, "shapes that do not combine")
	ProductShapes     = code("E0302", CheckStage, ModelClass, "factors that cannot be multiplied")
	NeedsScalar       = code("E0303", CheckStage, ModelClass, "a scalar is needed")
	Arity             = code("E0304", CheckStage, ModelClass, "the wrong number of arguments")
	ArgumentType      = code("E0305", CheckStage, ModelClass, "an argument of the wrong type")
	DeclaredType      = code("E0306", CheckStage, ModelClass, "not the declared type")
	Subscripts        = code("E0307", CheckStage, ModelClass, "the wrong number of subscripts")
	IndexRange        = code("E0308", CheckStage, ModelClass, "an index out of range")
	NotInteger        = code("E0309", CheckStage, ModelClass, "not an integer")
	WrongSize         = code("E0310", CheckStage, ModelClass, "a wrong size")
	RaggedList        = code("E0311", CheckStage, ModelClass, "a list that is no array")
	Condition         = code("E0312", CheckStage, ModelClass, "a condition and a number mixed up")
	BranchShapes      = code("E0313", CheckStage, ModelClass, "branches of different shapes")
	RelationShapes    = code("E0314", CheckStage, ModelClass, "sides of a relation that do not go together")
	ObjectiveShape    = code("E0315", CheckStage, ModelClass, "an objective that is not a scalar")
	VaryingSize       = code("E0316", CheckStage, ModelClass, "terms of different sizes")
	NotReal           = code("E0317", CheckStage, ModelClass, "not a real number")
	NestedTooDeep     = code("E0318", CheckStage, ModelClass, "nested too deeply")
	LabelAsNumber     = code("E0319", CheckStage, ModelClass, "a label where a number is needed")
	WrongSet          = code("E0320", CheckStage, ModelClass, "a label of another set")
	ForgottenIndex    = code("E0321", CheckStage, ModelClass, "a forgotten index")

	// Levels and structure.
	CoupledNotSmooth = code("E0401", CheckStage, ModelClass, "an upper constraint that jumps with the lower variables")
	NoLevel          = code("E0402", CheckStage, ModelClass, "a level is missing")
	BlockTwice       = code("E0403", CheckStage, ModelClass, "a block is there twice")
	NoObjective      = code("E0404", CheckStage, ModelClass, "a level without an objective")
	TwoObjectives    = code("E0405", CheckStage, ModelClass, "two objectives")
	NoVariable       = code("E0406", CheckStage, ModelClass, "a level without variables")
	NotFixed         = code("E0407", CheckStage, ModelClass, "must be known before solving")
	LowerBall        = code("E0408", CheckStage, ModelClass, "a lower variable in a ball")
	NoSuchStart      = code("E0409", CheckStage, ModelClass, "not an upper variable")
	SettingTwice     = code("E0410", CheckStage, ModelClass, "a setting given twice")
	MixedChain       = code("E0411", CheckStage, ModelClass, "a chain in two directions")
	NoModelLine      = code("E0412", CheckStage, ModelClass, "a model without a name")
	IdleConstraint   = code("E0413", CheckStage, ModelClass, "a constraint without variables")
	IdleObjective    = code("E0414", CheckStage, ModelClass, "an objective without variables")
	EmptySet         = code("E0415", CheckStage, ModelClass, "an empty set")
	WrongKind        = code("E0416", CheckStage, ModelClass, "a kind that cannot be declared here")
	DualBelow        = code("E0417", CheckStage, ModelClass, "a lower level that reads its own multiplier")
	QuotedSetting    = code("E0418", CheckStage, ModelClass, "a setting in quotes")
	Followers        = code("E0419", CheckStage, ModelClass, "followers that are not told apart")
	Equilibrium      = code("E0420", CheckStage, ModelClass, "followers in equilibrium")
	IntegerFollower  = code("E0421", CheckStage, ModelClass, "a follower that decides in whole numbers")
	BinarySet        = code("E0422", CheckStage, ModelClass, "a binary variable with a set")
	LeaderRow        = code("E0423", CheckStage, ModelClass, "a lower constraint without lower variables")

	// Affine constraints.
	NotAffine = code("E0501", CheckStage, ModelClass, "a constraint that is not affine")

	// Smoothness.
	NonsmoothFunction    = code("E0601", CheckStage, ModelClass, "an objective that is not smooth")
	ConditionOnVariables = code("E0602", CheckStage, ModelClass, "a condition on variables")

	// Convexity and constraint qualification.
	NotStronglyConvex    = code("E0701", ProofStage, ModelClass, "a lower objective that is not strongly convex")
	ConvexityUnknown     = code("E0702", ProofStage, ModelClass, "strong convexity that could not be decided")
	ConvexityWeak        = code("E0703", ProofStage, ModelClass, "strong convexity along the equality rows only")
	NotSmooth            = code("E0704", ProofStage, ModelClass, "an objective that is not smooth where it is evaluated")
	SmoothnessUnknown    = code("E0705", ProofStage, ModelClass, "an objective that may not be smooth")
	RowsDependent        = code("E0706", ProofStage, ModelClass, "an equality constraint that repeats others")
	EqualityInconsistent = code("E0707", ProofStage, InfeasibleClass, "equality constraints that contradict each other")
	EqualityBindsX       = code("E0708", ProofStage, ModelClass, "equality constraints that hold for some x only")

	// Data: binding from 0801, files from 0850.
	BindNoParam      = code("E0801", BindStage, DataClass, "a param without a value")
	BindNoData       = code("E0802", BindStage, DataClass, "data that were not supplied")
	BindExtra        = code("E0803", BindStage, DataClass, "an array that the model does not declare")
	BindShape        = code("E0804", BindStage, DataClass, "an array of another size")
	BindConflict     = code("E0805", BindStage, DataClass, "arrays that do not fit together")
	BindNotInteger   = code("E0806", BindStage, DataClass, "a number that must be an integer")
	BindNotFinite    = code("E0807", BindStage, ModelClass, "a constant that is not finite")
	BindNegative     = code("E0808", BindStage, DataClass, "a negative size")
	BindTooLarge     = code("E0809", BindStage, DataClass, "a size beyond the limit")
	BindIndex        = code("E0810", BindStage, ModelClass, "an index outside its array")
	BindShapes       = code("E0811", BindStage, DataClass, "shapes that differ in numbers")
	BindNeverHolds   = code("E0812", BindStage, InfeasibleClass, "a constraint that cannot hold")
	BindAlwaysHolds  = code("E0813", BindStage, DataClass, "a constraint that always holds")
	BindEmptySet     = code("E0814", BindStage, InfeasibleClass, "a set without a point")
	BindGenerator    = code("E0815", BindStage, ModelClass, "a generator's arguments are out of range")
	BindEmptyRange   = code("E0816", BindStage, ModelClass, "the largest or smallest of nothing")
	BindVaryingSize  = code("E0817", BindStage, ModelClass, "too many parts of different sizes")
	BindLabels       = code("E0818", BindStage, DataClass, "labels that do not fit")
	BindTable        = code("E0819", BindStage, DataClass, "a table whose columns do not fit")
	BindIntegerEnds  = code("E0820", BindStage, ModelClass, "an integer variable without bounds")
	BindDefault      = code("E0821", BindStage, DataClass, "a default that data override")
	DataUnreadable   = code("E0850", DataStage, DataClass, "a data file that cannot be read")
	DataSpec         = code("E0851", DataStage, DataClass, "a --set argument that is not name=value")
	DataNoName       = code("E0852", DataStage, DataClass, "a file that does not say which array it holds")
	DataDuplicate    = code("E0853", DataStage, DataClass, "an array or an entry given twice")
	DataNotNumber    = code("E0854", DataStage, DataClass, "an entry that is not a number")
	DataNotFinite    = code("E0855", DataStage, DataClass, "an entry that is NaN or infinite")
	DataRagged       = code("E0856", DataStage, DataClass, "rows of different lengths")
	DataRank         = code("E0857", DataStage, DataClass, "a list where a number is needed")
	DataJSON         = code("E0858", DataStage, DataClass, "text that is not JSON")
	DataCSV          = code("E0859", DataStage, DataClass, "a table that cannot be read")
	DataNumPy        = code("E0860", DataStage, DataClass, "a broken .npy or .npz file")
	DataElementType  = code("E0861", DataStage, DataClass, "a file whose entries are not real numbers")
	DataMatrixMarket = code("E0862", DataStage, DataClass, "a broken MatrixMarket file")
	DataSize         = code("E0863", DataStage, DataClass, "a size that disagrees with the content")
	DataInexact      = code("E0864", DataStage, DataClass, "an integer that no double holds exactly")
	DataSheet        = code("E0865", DataStage, DataClass, "a workbook or Parquet file that cannot be read")
	DataMPS          = code("E0866", DataStage, DataClass, "a broken MPS or auxiliary file")

	// Runs and sessions.
	RunNotFinite      = code("E0901", RunStage, NumericalClass, "a value that is not a finite number")
	RunInfeasible     = code("E0902", RunStage, InfeasibleClass, "constraints that contradict each other")
	RunUnbounded      = code("E0903", RunStage, UnboundedClass, "an objective that falls without bound")
	RunInteger        = code("E0904", RunStage, ModelClass, "integer variables without the global search")
	RunExport         = code("E0905", RunStage, ModelClass, "a model that a format of other solvers cannot hold")
	RunNoAnswer       = code("E0906", RunStage, NumericalClass, "a follower without a bound wherever a run began")
	RunNoPoint        = code("E0907", RunStage, NumericalClass, "no point at which the upper level's constraints hold")
	RunSetting        = code("E0910", RunStage, ModelClass, "a setting that does not fit")
	SessionNoLevel    = code("E0911", SessionStage, ModelClass, "a level's statement before any level")
	SessionNoSolution = code("E0912", SessionStage, ModelClass, "a value of variables before there is a solution")
)

// Stage tells which part of the compiler reports a code, and so how far its
// example must be taken to fail.
type Stage uint8

// The stages, in the order of the pipeline.
const (
	SyntaxStage  Stage = iota // parsing
	CheckStage                // names, shapes, levels, affinity, smoothness
	DataStage                 // reading data files
	BindStage                 // binding data, numeric shapes
	ProofStage                // convexity and constraint qualification
	RunStage                  // solving
	SessionStage              // inputs that are entered one after the other
)

// Class tells what is at fault, and so how a program ends that reports it: the
// exit code is a matter of the class alone (see status.OfClass).
type Class uint8

// The classes; of several faults the first of these counts.
const (
	ModelClass      Class = iota // the text of the model
	DataClass                    // what the model is given
	InfeasibleClass              // no point satisfies the constraints
	UnboundedClass               // an objective has no least value
	NumericalClass               // a number left the range of doubles
	Classes                      // how many there are
)

func (c Class) String() string {
	return [...]string{"model", "data", "infeasible", "unbounded", "numerical"}[c]
}

// Class is that of the list's errors; ok is false where there is none.
func (l List) Class() (class Class, ok bool) {
	for _, d := range l {
		if d.Severity != Error {
			continue
		}
		if c := table[d.Code].class; !ok || c < class {
			class, ok = c, true
		}
	}
	return class, ok
}

// row is what the table says of a code.
type row struct {
	stage Stage
	class Class
	title string
}

// table holds every code; order lists them as they are declared.
var (
	table = map[Code]row{}
	order []Code
)

// code declares a code while the package is initialised. One that is there
// already is a bug.
func code(c Code, stage Stage, class Class, title string) Code {
	if _, twice := table[c]; twice {
		panic(fmt.Sprintf("diag: code %s is declared twice", c))
	}
	table[c] = row{stage, class, title}
	order = append(order, c)
	return c
}
