// Package exprtest tests tables of rules that other packages keep beside the table
// of operations of package expr.
package exprtest

import "testing"

// Needed fails t unless start panics whenever one rule is gone, and only then.
func Needed[K comparable, R any](t *testing.T, rules map[K]R, start func()) {
	t.Helper()
	if !starts(start) {
		t.Fatal("the rules are not whole")
	}
	if len(rules) == 0 {
		t.Fatal("no rules")
	}
	for op, rule := range rules {
		delete(rules, op)
		if starts(start) {
			t.Errorf("the program starts without a rule for %v", op)
		}
		rules[op] = rule
	}
}

func starts(start func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	start()
	return
}
