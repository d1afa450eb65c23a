package bind

import "bilevelc/lang/diag"

// Codes of the checker for what it refuses before binding. They are reported
// here again for programs that were bound although they were not checked in
// full, and where only numbers decide.
const (
	codeUnknownName     diag.Code = "E0201"
	codeUnknownFunction diag.Code = "E0202"
	codeCycle           diag.Code = "E0205"
	codeRecursion       diag.Code = "E0206"
	codeNotReduction    diag.Code = "E0212"
	codeArity           diag.Code = "E0304"
	codeCondition       diag.Code = "E0312"
	codeNoLevel         diag.Code = "E0402"
	codeNoObjective     diag.Code = "E0404"
	codeNotFixed        diag.Code = "E0407"
	codeStart           diag.Code = "E0409"
	codeNotAffine       diag.Code = "E0501"
)
