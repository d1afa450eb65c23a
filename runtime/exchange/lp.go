package exchange

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// lpLine is where lines are broken: readers of the format hold 560 characters and more.
const lpLine = 240

// WriteLP writes a program in the LP format of CPLEX, with quadratic terms in [ ] / 2 and a section SOS.
func WriteLP(to io.Writer, p *Program) error {
	w := bufio.NewWriter(to)
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	names, notes := p.spell(lpSpelling(), lpSpelling())
	for _, n := range append([]string{p.Name}, notes...) {
		line("\\ %s", strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, n))
	}
	line("%s", map[bool]string{true: "Maximize", false: "Minimize"}[p.Maximize])
	e := &lpExpression{names: names.columns}
	e.text(" " + names.objective + ":")
	for j, c := range p.Cost {
		if c != 0 {
			e.term(c, j)
		}
	}
	if p.Q != nil {
		e.text(" + [")
		for i := range p.Columns {
			for j, v := range p.Q.Entries(i) {
				switch {
				case j == i:
					e.coefficient(v)
					e.text(" " + names.columns[i] + " ^2")
				case j < i:
					e.coefficient(2 * v)
					e.text(" " + names.columns[j] + " * " + names.columns[i])
				}
			}
		}
		e.text(" ] / 2")
	}
	if p.Const != 0 {
		e.coefficient(p.Const)
	}
	if e.terms == 0 && len(p.Columns) > 0 { // an objective of 0
		e.term(0, 0)
	}
	line("%s\nSubject To", e.b.String())
	for i, r := range p.Rows {
		if infinite(r.Lo) && infinite(r.Hi) {
			continue
		}
		side := func(name, relation string, rhs float64) {
			e := &lpExpression{names: names.columns}
			e.text(" " + name + ":")
			cols, vals := p.A.Row(i)
			for t, j := range cols {
				e.term(vals[t], j)
			}
			if len(cols) == 0 {
				e.term(0, 0)
			}
			line("%s %s %s", e.b.String(), relation, number(rhs))
		}
		switch {
		case r.Lo == r.Hi:
			side(names.rows[i], "=", r.Lo)
		case r.ranged(): // two rows: not every reader takes a row between two numbers
			side(names.rows[i], ">=", r.Lo)
			side(names.above[i], "<=", r.Hi)
		case infinite(r.Hi):
			side(names.rows[i], ">=", r.Lo)
		default:
			side(names.rows[i], "<=", r.Hi)
		}
	}
	line("Bounds")
	for j, c := range p.Columns {
		name := names.columns[j]
		switch {
		case infinite(c.Lo) && infinite(c.Hi):
			line(" %s free", name)
		case c.Lo == c.Hi:
			line(" %s = %s", name, number(c.Lo))
		default:
			lo, hi := "-inf", "+inf"
			if !infinite(c.Lo) {
				lo = number(c.Lo)
			}
			if !infinite(c.Hi) {
				hi = number(c.Hi)
			}
			line(" %s <= %s <= %s", lo, name, hi)
		}
	}
	section := func(word string, want func(c *Column) bool) {
		first := true
		for j := range p.Columns {
			if !want(&p.Columns[j]) {
				continue
			}
			if first {
				line("%s", word)
			}
			first = false
			line(" %s", names.columns[j])
		}
	}
	section("General", func(c *Column) bool { return c.Integer && !c.binary() })
	section("Binary", (*Column).binary)
	if len(p.Sets) > 0 {
		line("SOS")
		for k, s := range p.Sets {
			fmt.Fprintf(w, " %s: S1::", names.sets[k])
			for t, j := range s.Columns {
				fmt.Fprintf(w, " %s:%d", names.columns[j], t+1)
			}
			line("")
		}
	}
	line("End")
	return w.Flush()
}

// lpExpression is an expression over lines of a bounded length.
type lpExpression struct {
	b     strings.Builder
	names []string
	terms int
	last  int // where the line begins
}

func (e *lpExpression) text(s string) {
	if e.b.Len()-e.last+len(s) > lpLine {
		e.b.WriteString("\n ")
		e.last = e.b.Len()
	}
	e.b.WriteString(s)
}

func (e *lpExpression) coefficient(v float64) {
	e.terms++
	if v < 0 {
		e.text(" - " + number(-v))
		return
	}
	e.text(" + " + number(v))
}

func (e *lpExpression) term(v float64, j int) {
	e.coefficient(v)
	e.text(" " + e.names[j])
}
