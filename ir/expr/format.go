package expr

import (
	"fmt"
	"strconv"
	"strings"

	"bilevelc/internal/each"
)

// Format is a readable dump of the graph below n: a node a line, arguments
// before their users, with the shape, what the node depends on, and its place
// in the model.
func Format(n *Node) string {
	nodes := Reachable(n)
	local := make(map[*Node]int, len(nodes))
	var out strings.Builder
	for k, m := range nodes {
		local[m] = k
		line := fmt.Sprintf("%%%-4d = %-40s : %-16s %-3s", k, describe(m, local), m.Shape, depsText(m.Deps))
		if !m.Span.IsZero() {
			line += fmt.Sprintf(" ; %s", m.Span)
		}
		out.WriteString(strings.TrimRight(line, " "))
		out.WriteByte('\n')
	}
	return out.String()
}

func depsText(d Deps) string {
	return [...]string{"", "x", "y", "xy"}[d]
}

// describe is the operation of a node over the numbers of its arguments.
func describe(n *Node, local map[*Node]int) string {
	arg := func(i int) string { return "%" + strconv.Itoa(local[n.Args[i]]) }
	switch n.Op {
	case Const:
		return describeConst(n)
	case Var:
		level := "x"
		if n.Lower {
			level = "y"
		}
		return fmt.Sprintf("var %s = %s[%d..%d]", n.Name, level, n.Offset+1, n.Offset+n.Shape.Len())
	case MatVec:
		return fmt.Sprintf("matvec %s%s %s", arg(0), mark(n.TransA), arg(1))
	case MatMul:
		return fmt.Sprintf("matmul %s%s %s%s", arg(0), mark(n.TransA), arg(1), mark(n.TransB))
	case Gather, ScatterAdd:
		return fmt.Sprintf("%s %s by %s", n.Op, arg(0), describeIndex(n.Index))
	}
	if n.Op.Info().Class == Elementwise2 && n.Op.Info().Name == "" {
		return fmt.Sprintf("%s %s %s", arg(0), n.Op, arg(1))
	}
	return n.Op.String() + " " + strings.Join(each.Below(len(n.Args), arg), " ")
}

func describeConst(n *Node) string {
	switch {
	case n.Name != "" && n.Opaque:
		return "data " + n.Name + " (not supplied)"
	case n.Name != "":
		return "data " + n.Name
	}
	if v, ok := n.Number(); ok {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	if n.Value.Sparse != nil {
		return fmt.Sprintf("const, %d nonzeros", n.Value.Sparse.NNZ())
	}
	const shown = 4 // enough to recognise a constant, short enough for a line
	var parts []string
	for k, v := range n.Value.Dense {
		if k == shown {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, strconv.FormatFloat(v, 'g', 6, 64))
	}
	return "const [" + strings.Join(parts, ", ") + "]"
}

// describeIndex writes an index list from 1, as ranges where it is one.
func describeIndex(index []int) string {
	if len(index) > 1 {
		step := index[1] - index[0]
		even := step != 0
		for k := 2; k < len(index) && even; k++ {
			even = index[k]-index[k-1] == step
		}
		if even && index[0] >= 0 && index[len(index)-1] >= 0 {
			if step == 1 {
				return fmt.Sprintf("[%d..%d]", index[0]+1, index[len(index)-1]+1)
			}
			return fmt.Sprintf("[%d..%d step %d]", index[0]+1, index[len(index)-1]+1, step)
		}
	}
	const shown = 6
	var parts []string
	for k, i := range index {
		if k == shown {
			parts = append(parts, fmt.Sprintf("... %d entries", len(index)))
			break
		}
		if i < 0 {
			parts = append(parts, "-")
		} else {
			parts = append(parts, strconv.Itoa(i+1))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
