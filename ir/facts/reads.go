package facts

import "bilevelc/ir/expr"

// Reads marks in used the entries of a level's variables that a scalar node can depend
// on: terms with a factor that the data make 0 are left out. All of them are marked
// where the graph is too large to look at.
func Reads(graph *expr.Builder, root *expr.Node, lower bool, used []bool) {
	wrt := expr.DependsX
	if lower {
		wrt = expr.DependsY
	}
	if root == nil || root.Deps&wrt == 0 {
		return
	}
	f := follow(graph, root, wrt, len(used))
	if f != nil {
		f.backward(nil)
	}
	for j := range used {
		used[j] = used[j] || f == nil || f.used[j]
	}
}
