package analysis

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
	nodes := expr.Reachable(root)
	all := map[*expr.Node]Terms{}
	zero := map[*expr.Node][]bool{} // entries that are 0 whatever the variables are
	work := 0.0
	for _, n := range nodes {
		own := make([]bool, n.Shape.Len())
		zero[n] = own
		if n.Deps == 0 {
			if v := Known(graph, n); v != nil {
				for e := range own {
					own[e] = entry(v, e) == 0
				}
			}
			continue
		}
		if n.Op == expr.Var {
			continue
		}
		terms := TermsOf(graph, n)
		all[n] = terms
		if work += terms.Work; work > maxWork {
			for k := range used {
				used[k] = true
			}
			return
		}
		product := Product(n.Op)
		if !product && !n.Op.Info().Linear {
			continue
		}
		left, right := zero[n.Args[0]], []bool(nil)
		if len(n.Args) > 1 {
			right = zero[n.Args[1]]
		}
		for e := range own {
			own[e] = true
			terms.Each(e, func(p, q int) bool {
				l, r := p < 0 || left[p], q < 0 || right == nil || right[q]
				if product {
					own[e] = p >= 0 && l || q >= 0 && r
				} else {
					own[e] = l && r
				}
				return own[e]
			})
		}
	}
	marked := map[*expr.Node][]bool{root: {true}}
	for i := len(nodes) - 1; i >= 0; i-- { // a node stands behind its arguments
		n := nodes[i]
		own := marked[n]
		if own == nil || n.Deps&wrt == 0 {
			continue
		}
		if n.Op == expr.Var {
			for e, is := range own {
				if n.Lower == lower {
					used[n.Offset+e] = used[n.Offset+e] || is
				}
			}
			continue
		}
		for _, a := range n.Args {
			if marked[a] == nil {
				marked[a] = make([]bool, a.Shape.Len())
			}
		}
		product := Product(n.Op)
		left, right := marked[n.Args[0]], []bool(nil)
		zeroLeft, zeroRight := zero[n.Args[0]], []bool(nil)
		if len(n.Args) > 1 {
			right, zeroRight = marked[n.Args[1]], zero[n.Args[1]]
		}
		for e, is := range own {
			if !is || zero[n][e] {
				continue
			}
			all[n].Each(e, func(p, q int) bool {
				if product && (p >= 0 && zeroLeft[p] || q >= 0 && right != nil && zeroRight[q]) {
					return true
				}
				if p >= 0 {
					left[p] = true
				}
				if q >= 0 && right != nil {
					right[q] = true
				}
				return true
			})
		}
	}
}
