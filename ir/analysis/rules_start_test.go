package analysis

import (
	"testing"

	"bilevelc/ir/expr/exprtest"
)

// TestRulesAreNeeded: the program does not start when a rule is missing.
func TestRulesAreNeeded(t *testing.T) {
	exprtest.Needed(t, terms, require)
}
