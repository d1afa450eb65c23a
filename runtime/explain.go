package runtime

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bilevelc/autodiff"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/runtime/compile"
)

// Stage is one form of a model on its way through the compiler.
type Stage struct {
	Name    string
	Summary string
	Dump    func(w io.Writer, p *Problem) error
}

// Stages lists the forms in order of the pipeline.
func Stages() []Stage {
	return []Stage{
		{"tree", "the syntax tree", func(w io.Writer, p *Problem) error {
			_, err := io.WriteString(w, lang.Tree(p.IR.Program.File))
			return err
		}},
		{"ir", "the expression graphs of f and g over the bound data", dumpIR},
		{"rows", "the constraint matrices: X, and h(x, y) = A x - B y - b", dumpRows},
		{"gradient", "the gradient graphs that Gorgonia's differentiation gives", dumpGradients},
		{"program", "the compiled programs, with the stage of every instruction and the arena's size", dumpPrograms},
	}
}

func dumpIR(w io.Writer, p *Problem) error {
	fmt.Fprintf(w, "f (minimized)\n%s\ng (minimized)\n%s", expr.Format(p.IR.Upper.Objective), expr.Format(p.IR.Lower.Objective))
	if t := p.IR.Transformed; t != nil {
		fmt.Fprintf(w, "\nthe model's own objective, an increasing function of g\n%s", expr.Format(t.Objective))
	}
	for _, item := range p.IR.Report {
		fmt.Fprintf(w, "\nreport %s\n%s", item.Name, expr.Format(item.Node))
	}
	return nil
}

func dumpGradients(w io.Writer, p *Problem) (err error) {
	defer must.Catch(&err)
	for _, part := range []struct {
		name string
		root *expr.Node
	}{{"f", p.IR.Upper.Objective}, {"g", p.IR.Lower.Objective}} {
		graph := must.Get(autodiff.Differentiate(p.IR.Graph, part.root, p.IR.Upper.Dim, p.IR.Lower.Dim+len(p.IR.Duals)))
		fmt.Fprintf(w, "%s and its gradients\n%s\n", part.name, graph)
	}
	return nil
}

func dumpPrograms(w io.Writer, p *Problem) error {
	for _, part := range []struct {
		name string
		fn   *compile.Function
	}{{"f", p.f}, {"g", p.g}} {
		fmt.Fprintf(w, "program of %s\n", part.name)
		if err := part.fn.Program().Dump(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

// dumpRows writes each row as an inequality over named entries.
func dumpRows(w io.Writer, p *Problem) error {
	xs, ys := entryNames(&p.IR.Upper), entryNames(&p.IR.Lower)
	fmt.Fprintf(w, "X, %d variables\n", len(xs))
	for j, name := range xs {
		lo, hi := p.IR.X.Lo[j], p.IR.X.Hi[j]
		if !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
			fmt.Fprintf(w, "  %s <= %s <= %s\n", Number(lo).Text(), name, Number(hi).Text())
		}
	}
	for i, row := range p.IR.X.Rows {
		fmt.Fprintf(w, "  %s: %s %s %s\n", row.Name, terms(p.IR.X.E, i, xs, 1), relation(row), Number(p.IR.X.Rhs[i]).Text())
	}
	if e := p.IR.X.Extended; e != nil {
		us := append(slices.Clone(xs), make([]string, e.Dim)...)
		for k := range e.Dim {
			us[len(xs)+k] = fmt.Sprintf("u%d", k+1)
		}
		fmt.Fprintf(w, "  %d further variables, each the larger of the left sides of its rows\n", e.Dim)
		for i, of := range e.Of {
			name := e.Name[i]
			if of >= 0 {
				name = us[len(xs)+of]
			}
			fmt.Fprintf(w, "  %s: %s <= %s\n", name, terms(e.E, i, us, 1), Number(e.Rhs[i]).Text())
		}
	}
	for _, ball := range p.IR.X.Balls {
		fmt.Fprintf(w, "  |%s| <= %s\n", p.IR.Upper.Vars[ball.Var].Name, Number(ball.Radius).Text())
	}
	a, b, rhs := p.IR.Own()
	fmt.Fprintf(w, "lower level, %d variables, %d rows: A x - B y - b, A with %d and B with %d entries\n",
		len(ys), len(p.IR.Rows), a.NNZ(), b.NNZ())
	for i, row := range p.IR.Rows {
		left := strings.TrimPrefix(terms(a, i, xs, 1)+terms(b, i, ys, -1), " + ")
		fmt.Fprintf(w, "  %s: %s - (%s) %s 0\n", row.Name, left, Number(rhs[i]).Text(), relation(row))
	}
	return nil
}

func relation(row ir.Row) string {
	if row.Equal {
		return "=="
	}
	return "<="
}

func terms(m *sparse.CSR, i int, names []string, sign float64) string {
	var b strings.Builder
	for j, a := range m.Entries(i) {
		v := sign * a
		if v == 0 {
			continue
		}
		op := " + "
		if v < 0 {
			op, v = " - ", -v
		}
		b.WriteString(op)
		if v != 1 {
			b.WriteString(Number(v).Text() + " ")
		}
		b.WriteString(names[j])
	}
	return b.String()
}

// entryNames names each entry of a level's vector: toll[1], share[2].
func entryNames(level *ir.Level) []string {
	return each.Below(level.Dim, level.EntryName)
}
