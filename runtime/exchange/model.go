package exchange

import (
	"fmt"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// Model is a bilevel program in the modeling language: its text, and the sets and arrays that the text leaves to data. Columns of one level and
// kind are one variable over the set of their names, and rows of one level and relation one constraint. inline puts the data into the
// text, which then stands alone.
func (b *Bilevel) Model(inline bool) (text string, set *data.Set) {
	w := &modelWriter{b: b, set: &data.Set{}, inline: inline}
	w.groups()
	w.constraints()
	var out strings.Builder
	fmt.Fprintf(&out, "model %s\n", modelName(b.Name))
	out.WriteString(w.declared.String())
	for _, lower := range []bool{false, true} {
		fmt.Fprintf(&out, "\n%s {\n%s", map[bool]string{false: "upper", true: "lower"}[lower], w.variables(lower))
		fmt.Fprintf(&out, "  %s %s\n", w.sense(lower), w.objective(lower))
		if rows := w.rows[lower].String(); rows != "" {
			out.WriteString("  subject to\n" + rows)
		}
		out.WriteString("}\n")
	}
	out.WriteString("\nsolve {\n  ties = optimistic\n}\n")
	return out.String(), w.set
}

// group is a variable of the model: the columns of one level and kind.
type group struct {
	name    string
	lower   bool
	integer bool
	columns []int
}

type modelWriter struct {
	b        *Bilevel
	set      *data.Set
	inline   bool
	declared strings.Builder
	blocks   []*group
	rows     map[bool]*strings.Builder // constraints of the levels, by lower
}

// modelName is a name of the language that is like a name of a file.
func modelName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] >= '0' && name[0] <= '9' || len(name) < 7 { // short names may be words of the language
		name = "mps_" + name
	}
	return name
}

// labels declares a set of names.
func (w *modelWriter) labels(name string, within string, elements []string) {
	fmt.Fprintf(&w.declared, "set %s", name)
	if within != "" {
		fmt.Fprintf(&w.declared, " within %s", within)
	}
	if !w.inline {
		list := each.Of(elements, func(e string) []string { return []string{e} })
		w.set.Entries = append(w.set.Entries, data.Entry{Name: name, Labels: list, Origin: w.b.Name})
		w.declared.WriteString("\n")
		return
	}
	fmt.Fprintf(&w.declared, " = {%s}\n", diag.Join(elements, ", ", func(e string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e) + `"` }))
}

// vector declares an array over a set.
func (w *modelWriter) vector(name, over string, v []float64) {
	fmt.Fprintf(&w.declared, "data %s: [%s]", name, over)
	if w.inline {
		fmt.Fprintf(&w.declared, " = %s", list(v))
	} else {
		w.set.Add(name, data.Vector(v), w.b.Name)
	}
	w.declared.WriteString("\n")
}

// matrix declares an array over two sets.
func (w *modelWriter) matrix(name, rows, columns string, m *sparse.CSR) {
	fmt.Fprintf(&w.declared, "data %s: [%s, %s]", name, rows, columns)
	if w.inline {
		lines := make([]string, m.Rows)
		dense := m.Dense()
		for i := range lines {
			lines[i] = list(dense[i*m.Cols : (i+1)*m.Cols])
		}
		fmt.Fprintf(&w.declared, " = [%s]", strings.Join(lines, ",\n  "))
	} else {
		w.set.Add(name, data.SparseMatrix(m), w.b.Name)
	}
	w.declared.WriteString("\n")
}

func list(v []float64) string {
	return "[" + diag.Join(v, ", ", number) + "]"
}

// groups sorts the columns, and declares their sets and costs.
func (w *modelWriter) groups() {
	all := []*group{{name: "x"}, {name: "k", integer: true}, {name: "y", lower: true}}
	for j, c := range w.b.Columns {
		for _, g := range all {
			if g.lower == w.b.Lower[j] && g.integer == c.Integer {
				g.columns = append(g.columns, j)
			}
		}
	}
	for _, g := range all {
		if len(g.columns) == 0 {
			continue
		}
		w.blocks = append(w.blocks, g)
		names := each.Of(g.columns, func(j int) string { return w.b.Columns[j].Name })
		w.labels("columns_"+g.name, "", names)
		w.vector("cost_"+g.name, "columns_"+g.name, g.of(w.b.Cost))
		if g.lower {
			w.vector("goal_"+g.name, "columns_"+g.name, g.of(w.b.Goal))
		}
	}
}

// of are the entries of v of the group's columns.
func (g *group) of(v []float64) []float64 {
	return each.Of(g.columns, func(j int) float64 { return v[j] })
}

func (w *modelWriter) sense(lower bool) string {
	if !lower && w.b.Maximize {
		return "maximize"
	}
	return "minimize"
}

func (w *modelWriter) objective(lower bool) string {
	var terms []string
	for _, g := range w.blocks {
		switch {
		case !lower:
			terms = append(terms, fmt.Sprintf("cost_%s' * %s", g.name, g.name))
		case g.lower:
			terms = append(terms, fmt.Sprintf("goal_%s' * %s", g.name, g.name))
		}
	}
	if !lower && w.b.Const != 0 {
		terms = append(terms, number(w.b.Const))
	}
	return strings.Join(terms, " + ")
}

// variables are the declarations of a level. Bounds that are not there for all of a variable are in constraints (bounds).
func (w *modelWriter) variables(lower bool) string {
	var out strings.Builder
	for _, g := range w.blocks {
		if g.lower != lower {
			continue
		}
		fmt.Fprintf(&out, "  var %s: [columns_%s]", g.name, g.name)
		if g.integer {
			out.WriteString(" integer")
		}
		switch g.box(w.b) {
		case "box":
			fmt.Fprintf(&out, " in box(lower_%s, upper_%s)", g.name, g.name)
		case "nonneg":
			out.WriteString(" in nonneg")
		}
		out.WriteString("\n")
	}
	return out.String()
}

// box is the set that a variable is in: box, nonneg, or "" for free.
func (g *group) box(b *Bilevel) string {
	finite, nonneg := true, true
	for _, j := range g.columns {
		c := b.Columns[j]
		finite = finite && !infinite(c.Lo) && !infinite(c.Hi)
		nonneg = nonneg && c.Lo == 0
	}
	switch {
	case finite:
		return "box"
	case nonneg:
		return "nonneg"
	}
	return ""
}

// constraints declares what bounds and rows need, and writes them.
func (w *modelWriter) constraints() {
	w.rows = map[bool]*strings.Builder{false: {}, true: {}}
	for _, g := range w.blocks {
		lo, hi := make([]float64, len(g.columns)), make([]float64, len(g.columns))
		for k, j := range g.columns {
			lo[k], hi[k] = w.b.Columns[j].Lo, w.b.Columns[j].Hi
		}
		switch g.box(w.b) {
		case "box":
			w.vector("lower_"+g.name, "columns_"+g.name, lo)
			w.vector("upper_"+g.name, "columns_"+g.name, hi)
		case "nonneg":
			w.bounds(g, "upper", "<=", hi)
		default:
			w.bounds(g, "lower", ">=", lo)
			w.bounds(g, "upper", "<=", hi)
		}
	}
	for _, lower := range []bool{false, true} {
		level := map[bool]string{false: "leader", true: "follower"}[lower]
		for _, c := range []struct {
			name, relation string
			side           func(r Row) (float64, bool)
		}{
			{"equal", "==", func(r Row) (float64, bool) { return r.Lo, r.Lo == r.Hi }},
			{"most", "<=", func(r Row) (float64, bool) { return r.Hi, r.Lo != r.Hi && !infinite(r.Hi) }},
			{"least", ">=", func(r Row) (float64, bool) { return r.Lo, r.Lo != r.Hi && !infinite(r.Lo) }},
		} {
			w.family(lower, level+"_"+c.name, c.relation, c.side)
		}
	}
}

// bounds writes the finite ones among the bounds of a variable as a constraint over the part of its set that has them.
func (w *modelWriter) bounds(g *group, side, relation string, v []float64) {
	var names []string
	var finite []float64
	for k, j := range g.columns {
		if !infinite(v[k]) {
			names, finite = append(names, w.b.Columns[j].Name), append(finite, v[k])
		}
	}
	if len(names) == 0 {
		return
	}
	part := "with_" + side + "_" + g.name
	w.labels(part, "columns_"+g.name, names)
	w.vector(side+"_"+g.name, part, finite)
	fmt.Fprintf(w.rows[g.lower], "    %s_of_%s: forall j in %s: %s[j] %s %s_%s[j]\n", side, g.name, part, g.name, relation, side, g.name)
}

// family writes the rows of a level with one relation as one constraint.
func (w *modelWriter) family(lower bool, name, relation string, side func(Row) (float64, bool)) {
	var names []string
	var rhs []float64
	at := make([]int, len(w.b.Rows)) // the row's place in the family; -1 for others
	for i, r := range w.b.Rows {
		at[i] = -1
		if v, ok := side(r); ok && w.b.LowerRow[i] == lower {
			at[i] = len(names)
			names, rhs = append(names, r.Name), append(rhs, v)
		}
	}
	if len(names) == 0 {
		return
	}
	w.labels("rows_"+name, "", names)
	w.vector("side_"+name, "rows_"+name, rhs)
	var terms []string
	for _, g := range w.blocks {
		place := map[int]int{}
		for k, j := range g.columns {
			place[j] = k
		}
		var entries []sparse.Entry
		for i, k := range at {
			if k < 0 {
				continue
			}
			for j, v := range w.b.A.Entries(i) {
				if c, ok := place[j]; ok && v != 0 {
					entries = append(entries, sparse.Entry{Row: k, Col: c, Val: v})
				}
			}
		}
		if len(entries) == 0 {
			continue
		}
		m := "matrix_" + name + "_" + g.name
		w.matrix(m, "rows_"+name, "columns_"+g.name, sparse.FromEntries(len(names), len(g.columns), entries))
		terms = append(terms, m+" * "+g.name)
	}
	if len(terms) == 0 { // rows without variables
		terms = append(terms, "0 * side_"+name)
	}
	fmt.Fprintf(w.rows[lower], "    %s: %s %s side_%s\n", name, strings.Join(terms, " + "), relation, name)
}
