package report

import (
	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/runtime"
)

// StructureOf looks for order and networks in the rows of a bound model. An array is
// ordered where rows join most of its entries to the next one, with opposite signs, as
// a store's level does from hour to hour; others of the same length are then, too. It
// is a flow where each of its entries leaves one row of a constraint (coefficient
// below 0 on the left side) and enters another.
func StructureOf(p *runtime.Problem) *Structure {
	s := &Structure{Ordered: map[string]bool{}, Networks: map[string]*Graph{}}
	for name, sym := range p.IR.Program.Symbols {
		if d, ok := sym.Decl.(*lang.Var); ok && len(d.Type.Dims) > 0 && numberSet(p, d.Type.Dims[len(d.Type.Dims)-1]) {
			s.Ordered[name] = true
		}
	}
	for _, v := range p.IR.Lower.Vars {
		first, inner := split(&v)
		if first < 3 || v.Hidden {
			continue
		}
		columns := entriesOf(p, &v)
		switch g := graphOf(p, columns, first, inner); {
		case follows(&v, columns):
			s.Ordered[v.Name] = true
		case g != nil:
			s.Networks[v.Name] = g
		}
	}
	// What is over the same index is alike. Where sets do not say so the lengths do, but
	// for short ones and those of the nodes, which may be equal by chance.
	const chance = 5
	for _, level := range []*ir.Level{&p.IR.Upper, &p.IR.Lower} {
		for _, v := range level.Vars {
			n, inner := split(&v)
			for _, w := range p.IR.Lower.Vars {
				m, innerW := split(&w)
				if g := s.Networks[w.Name]; g != nil && n == m && inner == 1 && !s.Ordered[v.Name] && n > chance && n != len(g.Nodes) {
					s.Networks[v.Name] = g
				}
				if s.Ordered[w.Name] && n == m && n > chance && inner == innerW && s.Networks[v.Name] == nil {
					s.Ordered[v.Name] = true
				}
			}
		}
	}
	return s
}

// numberSet reports that a written dimension is an index set of numbers, as of hours or
// days, or a part of one.
func numberSet(p *runtime.Problem, dim lang.Expr) bool {
	n, ok := dim.(*lang.Name)
	for range p.IR.Program.Symbols { // a chain of parts is no longer than that
		if !ok {
			return false
		}
		sym := p.IR.Program.Symbols[n.Name]
		if sym == nil {
			return false
		}
		d, set := sym.Decl.(*lang.IndexSet)
		switch {
		case !set || d.Value == nil && len(d.Within) != 1:
			return false
		case len(d.Within) == 1:
			n = &lang.Name{Name: d.Within[0].Name}
		case d.Value.Lo != nil:
			return true
		case len(d.Value.Binders) == 1 && d.Value.Binders[0].Tuple == nil:
			n, ok = d.Value.Binders[0].Lo.(*lang.Name)
		default:
			return false
		}
	}
	return false
}

// split is a variable as a list of lists: the length of its first dimension, and that
// of what is left.
func split(v *ir.Variable) (first, inner int) {
	first = v.Shape.Rows
	if v.Axes != nil {
		first = v.Axes[0].Size
	} else if v.Shape.Rank == 0 {
		first = 1
	}
	if first == 0 {
		return 0, 0
	}
	return first, v.Shape.Len() / first
}

// coefficient is one entry of a variable in one row.
type coefficient struct {
	row   int
	value float64 // on the left side of the constraint as it is written
}

// entriesOf lists, for each entry of a variable, the rows it is in.
func entriesOf(p *runtime.Problem, v *ir.Variable) [][]coefficient {
	out := make([][]coefficient, v.Shape.Len())
	for i, row := range p.IR.Rows {
		if row.Family.Hidden {
			continue
		}
		for j, a := range p.Numeric.Rows.B.Entries(i) {
			if at := j - v.Offset; at >= 0 && at < len(out) && a != 0 {
				out[at] = append(out[at], coefficient{i, -row.Family.Sign * a})
			}
		}
	}
	return out
}

// follows reports that most entries of a variable are joined to the next one, along
// the last dimension, by a row that has them with opposite signs, and hardly any to
// others, as the angles of a meshed network are: a last one to the first, where there
// are more than three.
func follows(v *ir.Variable, columns [][]coefficient) bool {
	last := v.Shape.Cols
	if v.Axes != nil {
		last = v.Axes[len(v.Axes)-1].Size
	} else if v.Shape.Rank < 2 {
		last = v.Shape.Len()
	}
	if last < 2 {
		return false
	}
	rows := map[int][]coefficient{} // the entries in a row, by number
	for k, column := range columns {
		for _, c := range column {
			rows[c.row] = append(rows[c.row], coefficient{k, c.value})
		}
	}
	next, other := map[int]bool{}, map[[2]int]bool{}
	for _, row := range rows {
		if len(row) > 2 { // joins many, in no order
			continue
		}
		for i, a := range row {
			for _, b := range row[i+1:] {
				switch {
				case a.value*b.value >= 0:
				case b.row == a.row+1 && b.row%last != 0:
					next[a.row] = true
				case a.row/last == b.row/last:
					other[[2]int{a.row, b.row}] = true
				}
			}
		}
	}
	lists := len(columns) / last
	pairs, ends := lists*(last-1), 0
	if last > 3 {
		ends = lists
	}
	return pairs > 1 && 10*len(next) >= 8*pairs && len(other) <= ends
}

// graphOf is the graph on whose arcs a variable flows; nil where there is none. A
// variable of two dimensions has one flow for each element of the second, all on one
// graph.
func graphOf(p *runtime.Problem, columns [][]coefficient, arcs, inner int) *Graph {
families:
	for _, f := range familiesOf(p) {
		axis := runtime.Axis{Size: f.Shape.Rows}
		if f.Axes != nil {
			axis = f.Axes[0]
		}
		nodes := axis.Size
		if nodes < 3 || f.Shape.Len()/max(1, nodes) != inner {
			continue
		}
		g := &Graph{From: make([]int, arcs), To: make([]int, arcs)}
		whole := 0
		for arc := range arcs {
			for c := range inner {
				from, to := -1, -1
				for _, e := range columns[arc*inner+c] {
					row := p.IR.Rows[e.row]
					if row.Family != f {
						continue
					}
					node, other := row.Index/inner, row.Index%inner
					end := &to
					if e.value < 0 {
						end = &from
					}
					if *end >= 0 || other != c {
						continue families
					}
					*end = node
				}
				if c == 0 {
					g.From[arc], g.To[arc] = from, to
				} else if g.From[arc] != from || g.To[arc] != to {
					continue families
				}
			}
			if g.From[arc] >= 0 && g.To[arc] >= 0 {
				whole++
			}
		}
		if 10*whole < 6*arcs {
			continue
		}
		g.Nodes = labels(axis)
		return g
	}
	return nil
}

func familiesOf(p *runtime.Problem) []*ir.Family {
	var out []*ir.Family
	for _, row := range p.IR.Rows {
		if len(out) == 0 || out[len(out)-1] != row.Family {
			out = append(out, row.Family)
		}
	}
	return out
}
