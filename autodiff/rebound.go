package autodiff

import "bilevelc/ir/expr"

// Rebound is the graph with other data in the same places: counterpart says which
// expression of b stands for each that the graph reads (expr.Correspond). It is what
// Differentiate makes of the new expression, but for the numbering of what commutes.
func (g *Graph) Rebound(b *expr.Builder, counterpart map[*expr.Node]*expr.Node) (again *Graph, ok bool) {
	out := *g
	out.builder = b
	out.Nodes = append([]Node(nil), g.Nodes...)
	for i := range out.Nodes {
		if n := &out.Nodes[i]; n.Op == Data {
			if n.Data = counterpart[n.Data]; n.Data == nil {
				return nil, false
			}
		}
	}
	return &out, true
}
