package check

import "bilevelc/lang/diag"

// The codes of this package; their explanations are in package diag.
const (
	codeUnknownName      diag.Code = "E0201" // a name that is not declared
	codeUnknownFunction  diag.Code = "E0202" // a call of a function that does not exist
	codeTwice            diag.Code = "E0203" // a name declared twice
	codePrimitiveName    diag.Code = "E0204" // a declaration that takes the name of a primitive
	codeCycle            diag.Code = "E0205" // a definition that needs itself
	codeRecursion        diag.Code = "E0206" // a function that calls itself
	codeUnused           diag.Code = "E0207" // warning: a name that is never used
	codeHides            diag.Code = "E0208" // warning: an index that hides a name
	codeFunctionValue    diag.Code = "E0209" // a function read as a value, or a value called
	codeUnknownSet       diag.Code = "E0210" // a set that does not exist
	codeUnknownGenerator diag.Code = "E0211" // a generator that does not exist
	codeNotReduction     diag.Code = "E0212" // a function that does not range over indices
	codeSetDecl          diag.Code = "E0213" // a declaration of an index set that does not hold together
	codeUnknownLabel     diag.Code = "E0214" // a label that a set does not have
	codeElementwise      diag.Code = "E0301" // elementwise operands of different shapes
	codeProduct          diag.Code = "E0302" // factors that cannot be multiplied
	codeNeedsScalar      diag.Code = "E0303" // an array where a scalar is needed
	codeArity            diag.Code = "E0304" // the wrong number of arguments
	codeArgument         diag.Code = "E0305" // an argument of the wrong type
	codeDeclaredType     diag.Code = "E0306" // a value that does not have the declared type
	codeSubscripts       diag.Code = "E0307" // the wrong number of subscripts
	codeIndexRange       diag.Code = "E0308" // an index that is certainly out of range
	codeNotInteger       diag.Code = "E0309" // a number that is not an integer
	codeSize             diag.Code = "E0310" // a size that is missing, not wanted or negative
	codeList             diag.Code = "E0311" // a list that is no vector and no matrix
	codeCondition        diag.Code = "E0312" // a condition as a number, or a number as a condition
	codeBranches         diag.Code = "E0313" // branches of different shapes
	codeRelationShapes   diag.Code = "E0314" // sides of a relation of different shapes
	codeObjectiveShape   diag.Code = "E0315" // an objective that is not a scalar
	codeVaryingSize      diag.Code = "E0316" // terms of a sum of different sizes
	codeUndefined        diag.Code = "E0317" // an expression that is certainly not a number
	codeDepth            diag.Code = "E0318" // nesting beyond the limit
	codeLabelNumber      diag.Code = "E0319" // a label or a set where a number is needed
	codeWrongSet         diag.Code = "E0320" // a label of one set where one of another is needed
	codeForgottenIndex   diag.Code = "E0321" // a whole array in a family, where an entry is meant
	codeCoupled          diag.Code = "E0401" // an upper constraint that is not smooth in the lower variables
	codeNoLevel          diag.Code = "E0402" // a model without one of its levels
	codeBlockTwice       diag.Code = "E0403" // a block that is there twice
	codeNoObjective      diag.Code = "E0404" // a level without an objective
	codeObjectives       diag.Code = "E0405" // a level with two objectives
	codeNoVariable       diag.Code = "E0406" // a level without variables
	codeNotFixed         diag.Code = "E0407" // a variable where a value must be known before solving
	codeLowerBall        diag.Code = "E0408" // a lower variable in a ball
	codeStart            diag.Code = "E0409" // a start of something that is not an upper variable
	codeSettingTwice     diag.Code = "E0410" // a setting given twice
	codeFollowers        diag.Code = "E0419" // followers that are not written as they must be
	codeEquilibrium      diag.Code = "E0420" // a follower that reads another's variables
	codeSettingWord      diag.Code = "E0418" // a word of the solve block in quotes
	codeChain            diag.Code = "E0411" // a chain of relations in two directions
	codeNoModelLine      diag.Code = "E0412" // a model without a name
	codeIdleConstraint   diag.Code = "E0413" // warning: a constraint without variables
	codeIdleObjective    diag.Code = "E0414" // warning: an objective without variables
	codeEmptySet         diag.Code = "E0415" // a set that is certainly empty
	codeKind             diag.Code = "E0416" // a declaration of a kind that it cannot have
	codeDualBelow        diag.Code = "E0417" // a multiplier of the lower level that the lower level reads
	codeNotAffine        diag.Code = "E0501" // a constraint that is not affine
	codeNotSmooth        diag.Code = "E0601" // a function that is not smooth in an objective
	codeJump             diag.Code = "E0602" // a condition that depends on variables
)
