package exchange

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// number is the shortest text that reads back as v; 0 has no sign.
func number(v float64) string { return strconv.FormatFloat(v+0, 'g', -1, 64) }

// WriteMPS writes a program in free MPS, in the dialect of CPLEX: sections OBJSENSE, RANGES, SOS and QUADOBJ (of 1/2 x'Q x, one
// triangle) where they are needed. The right-hand side of the objective is its constant, negated. All bounds are written.
func WriteMPS(to io.Writer, p *Program) error {
	w := bufio.NewWriter(to)
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	names, notes := p.spell(mpsSpelling(), mpsSpelling())
	for _, n := range notes {
		line("* %s", n)
	}
	line("NAME %s", mpsSpelling().of(p.Name))
	if p.Maximize {
		line("OBJSENSE\n    MAX")
	}
	line("ROWS\n N  %s", names.objective)
	for i, r := range p.Rows {
		line(" %s  %s", r.letter(), names.rows[i])
	}
	line("COLUMNS")
	at := p.A.T()
	within, markers := false, 0
	mark := func(integer bool) {
		if integer == within {
			return
		}
		kind := "'INTEND'"
		if integer {
			kind = "'INTORG'"
		}
		line("    MARKER%d 'MARKER' %s", markers, kind)
		within, markers = integer, markers+1
	}
	for j, c := range p.Columns {
		mark(c.Integer)
		cols, vals := at.Row(j)
		if p.Cost[j] != 0 || len(cols) == 0 { // a column that is nowhere has to be somewhere
			line("    %s %s %s", names.columns[j], names.objective, number(p.Cost[j]))
		}
		for t, i := range cols {
			line("    %s %s %s", names.columns[j], names.rows[i], number(vals[t]))
		}
	}
	mark(false)
	line("RHS")
	if p.Const != 0 {
		line("    RHS %s %s", names.objective, number(-p.Const))
	}
	ranges := false
	for i, r := range p.Rows {
		side := r.Lo
		if infinite(side) {
			side = r.Hi
		}
		if side != 0 && !infinite(side) {
			line("    RHS %s %s", names.rows[i], number(side))
		}
		ranges = ranges || r.ranged()
	}
	if ranges {
		line("RANGES")
		for i, r := range p.Rows {
			if r.ranged() {
				line("    RNG %s %s", names.rows[i], number(r.Hi-r.Lo))
			}
		}
	}
	line("BOUNDS")
	for j, c := range p.Columns {
		name := names.columns[j]
		switch {
		case c.binary():
			line(" BV BND %s", name)
		case c.Lo == c.Hi:
			line(" FX BND %s %s", name, number(c.Lo))
		case infinite(c.Lo) && infinite(c.Hi):
			line(" FR BND %s", name)
		default:
			if infinite(c.Lo) {
				line(" MI BND %s", name)
			} else if c.Lo != 0 || c.Integer || c.Hi < 0 {
				line(" LO BND %s %s", name, number(c.Lo))
			}
			if !infinite(c.Hi) {
				line(" UP BND %s %s", name, number(c.Hi))
			} else if c.Integer {
				line(" PL BND %s", name)
			}
		}
	}
	if len(p.Sets) > 0 {
		line("SOS")
		for k, s := range p.Sets {
			line(" S1 %s", names.sets[k])
			for t, j := range s.Columns {
				line("    %s %d", names.columns[j], t+1)
			}
		}
	}
	if p.Q != nil {
		line("QUADOBJ")
		for i := range p.Columns {
			for j, v := range p.Q.Entries(i) {
				if j <= i {
					line("    %s %s %s", names.columns[i], names.columns[j], number(v))
				}
			}
		}
	}
	line("ENDATA")
	return w.Flush()
}

// letter is the type of a row in MPS: N for one without sides.
func (r *Row) letter() string {
	switch {
	case r.Lo == r.Hi:
		return "E"
	case !infinite(r.Lo):
		return "G"
	case !infinite(r.Hi):
		return "L"
	}
	return "N"
}

// ranged reports whether a row has two sides that differ.
func (r *Row) ranged() bool { return r.Lo != r.Hi && !infinite(r.Lo) && !infinite(r.Hi) }
