package runtime

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// explainFailure adds to a result without a solution where in the model the
// cause is.
func (p *Problem) explainFailure(r *Result, err error) {
	var infeasible *oracle.InfeasibleError
	switch r.Status {
	case Infeasible:
		if errors.As(err, &infeasible) {
			p.infeasibleAt(r, infeasible)
		} else {
			p.infeasible(r)
		}
	case Unbounded:
		if level := &p.IR.Lower; !r.HasPoint() {
			r.Diagnostics.Errorf(diag.RunUnbounded, level.Span, "%s", r.Reason)
		} else {
			r.Diagnostics.Errorf(diag.RunUnbounded, p.IR.Upper.Span, "%s", r.Reason).Fix =
				"bound the upper variables: var x: real in box(lo, hi), or constraints under `subject to`"
		}
	case NumericalFailure:
		for _, fn := range []*compile.Function{p.g, p.f} {
			if fault := fn.Trace(); fault != nil {
				p.label(fault)
				r.Reason += ": " + fault.Error()
				d := r.Diagnostics.Errorf(diag.RunNotFinite, fault.Node.Span, "%s", fault.Error())
				d.Detail = "the value is not a finite number there, so the run cannot go on"
				return
			}
		}
	}
}

// label names the entries of variables behind a fault by their labels.
func (p *Problem) label(fault *expr.Fault) {
	for i := range fault.Where {
		w := &fault.Where[i]
		level := &p.IR.Upper
		if w.Lower {
			level = &p.IR.Lower
		}
		w.Name = level.EntryName(w.Place)
	}
}

// infeasibleAt names the rows that contradict each other at a given x.
func (p *Problem) infeasibleAt(r *Result, e *oracle.InfeasibleError) {
	conflict := make([]ir.Row, 0, len(e.Rows))
	for i, u := range e.Farkas {
		if u != 0 && i < len(p.IR.Rows) {
			conflict = append(conflict, p.IR.Rows[i])
		}
	}
	p.conflict(r, "at this x the lower level has no feasible y", conflict)
}

// infeasible finds rows of X and of the lower level that contradict each other
// for every (x, y), by a Farkas vector of them all.
func (p *Problem) infeasible(r *Result) {
	dx, dy := p.Numeric.Dx, p.Numeric.Dy
	rows := append(append([]ir.Row(nil), p.IR.X.Rows...), p.IR.Rows...)
	upper := len(p.IR.X.Rows)
	var entries []sparse.Entry
	add := func(m *sparse.CSR, i, row, shift int, sign float64) {
		cols, vals := m.Row(i)
		for k, j := range cols {
			entries = append(entries, sparse.Entry{Row: row, Col: shift + j, Val: sign * vals[k]})
		}
	}
	e := p.IR.X.Extended
	n, m := dx+dy+e.Extra(), len(rows)+e.Len()
	q := &qp.Problem{H: qp.Identity(n), C: make([]float64, n), Lo: make([]float64, n), Hi: make([]float64, n),
		B: make([]float64, m), Equal: make([]bool, m)}
	copy(q.Lo, p.IR.X.Lo)
	copy(q.Hi, p.IR.X.Hi)
	for j := dx; j < n; j++ {
		q.Lo[j], q.Hi[j] = math.Inf(-1), math.Inf(1)
	}
	for i, row := range rows {
		q.Equal[i] = compile.Kind(row) == problem.Equal
		if i < upper {
			add(p.IR.X.E, i, i, 0, 1)
			q.B[i] = p.IR.X.Rhs[i]
			continue
		}
		add(p.IR.A, i-upper, i, 0, 1)
		add(p.IR.B, i-upper, i, dx, -1)
		q.B[i] = p.IR.Rhs[i-upper]
	}
	for i := range e.Len() {
		cols, vals := e.E.Row(i)
		for k, j := range cols {
			if j >= dx {
				j += dy
			}
			entries = append(entries, sparse.Entry{Row: len(rows) + i, Col: j, Val: vals[k]})
		}
		q.B[len(rows)+i] = e.Rhs[i]
	}
	q.A = sparse.FromEntries(m, n, entries)
	solution := qp.Solve(q, &qp.Workspace{})
	var conflict []ir.Row
	for i, row := range rows {
		if i < len(solution.Farkas) && solution.Farkas[i] != 0 {
			conflict = append(conflict, row)
		}
	}
	model := 0
	for i := range e.Len() {
		if e.Of[i] >= 0 {
			continue
		}
		row := p.IR.X.ExtendedRows[model]
		if model++; len(rows)+i < len(solution.Farkas) && solution.Farkas[len(rows)+i] != 0 {
			conflict = append([]ir.Row{row}, conflict...)
		}
	}
	summary := "no x in the upper level's set leaves the lower level a feasible y"
	if len(conflict) > 0 && conflict[len(conflict)-1].Family != nil && allUpper(conflict, append(slices.Clone(p.IR.X.Rows), p.IR.X.ExtendedRows...)) {
		summary = "the upper level's constraints contradict each other"
	}
	p.conflict(r, summary, conflict)
}

func allUpper(conflict, upper []ir.Row) bool {
	families := map[*ir.Family]bool{}
	for _, row := range upper {
		families[row.Family] = true
	}
	for _, row := range conflict {
		if !families[row.Family] {
			return false
		}
	}
	return true
}

// conflict reports rows that contradict each other: the first as the subject,
// the other families as related places.
func (p *Problem) conflict(r *Result, summary string, rows []ir.Row) {
	if len(rows) == 0 {
		r.Diagnostics.Errorf(diag.RunInfeasible, p.IR.Lower.Span, "%s", summary)
		return
	}
	var names []string
	seen := map[*ir.Family]bool{}
	d := r.Diagnostics.Errorf(diag.RunInfeasible, rows[0].Family.Span, "%s", summary)
	for _, row := range rows {
		if len(names) < maxNamed {
			names = append(names, row.Name)
		}
		if !seen[row.Family] && len(seen) > 0 {
			d.Related = append(d.Related, diag.Related{Span: row.Family.Span, Message: "contradicts"})
		}
		seen[row.Family] = true
	}
	more := ""
	if len(rows) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(rows)-maxNamed)
	}
	d.Detail = fmt.Sprintf("these rows contradict each other: %s%s", strings.Join(names, ", "), more)
	const contradict = " contradict each other"
	if !strings.HasSuffix(r.Reason, contradict) { // else it names them already
		r.Reason += ": " + strings.Join(names, ", ") + more + contradict
	}
}

// maxNamed is how many contradicting rows a message names.
const maxNamed = 8
