package check

import "bilevelc/ir"

// Number evaluates a size at the defaults of the params.
func Number(d ir.Dim) (int, bool) {
	v, ok := withDefaults(d.(*poly)).constant()
	if !ok || !v.IsInt() {
		return 0, false
	}
	return int(v.Num().Int64()), true
}

// SetNames are the sets that the checker knows.
func SetNames() map[string][]string { return sets }
