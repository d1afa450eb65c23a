package runtime

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
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
			d := r.Diagnostics.Errorf(diag.RunUnbounded, p.IR.Upper.Span, "%s", r.Reason)
			if ray := r.Certificate.Ray; ray == nil || slices.ContainsFunc(ray.X, func(v float64) bool { return v != 0 }) {
				d.Fix = "bound the upper variables: var x: real in box(lo, hi), or constraints under `subject to`"
			} else {
				d.Detail = "at this x F moves on with answers or multipliers of the follower between which it has no preference: no bounds of x end that"
			}
		}
	case NumericalFailure:
		for _, fn := range []*compile.Function{p.g, p.f} {
			if fault := fn.Trace(); fault != nil {
				p.label(fault)
				r.Reason += ": " + fault.Error()
				d := r.Diagnostics.Errorf(diag.RunNotFinite, fault.Node.Span, "%s", fault.Error())
				switch d.Detail = "the value is not a finite number there"; {
				case fault.Slope:
					d.Detail, d.Fix = "the follower's best answers may be where it has a kink, which no gradient shows", curvature.SmoothRoot
				case len(fault.Where) > 0:
					d.Fix = fmt.Sprintf("let bounds, as in `in box(lo, hi)`, or constraints keep %s a little inside of where this is defined", fault.Where[0].Name)
				}
				return
			}
		}
		if unbounded := (&oracle.UnboundedError{}).Error(); !r.HasPoint() && r.Reason == unbounded {
			d := r.Diagnostics.Errorf(diag.RunNoAnswer, p.IR.Lower.Span, "%s, nor at others where the run began", unbounded)
			d.Fix = "bound the lower variables: var y: real in box(lo, hi), or constraints under `subject to`; or begin where the follower has an answer, with --start"
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
	for i, u := range p.IR.Combined.Multipliers(e.Farkas) {
		if u != 0 && i < len(p.IR.Rows) {
			conflict = append(conflict, p.IR.Rows[i])
		}
	}
	p.conflict(r, "at this x the lower level has no feasible y", conflict, nil)
}

// linearRows are rows of X, linear constraints of the leader that read y, and rows of the lower level, of (x, y) and of hidden entries of x behind them; q is
// the projection of 0 on them, in the order of rows, with those of the extended X last.
func (p *Problem) linearRows() (q *qp.Problem, rows []ir.Row) {
	dx, dy := p.Numeric.Dx, p.Numeric.Dy
	rows = slices.Clone(p.IR.X.Rows)
	var entries []sparse.Entry
	var sides []float64
	add := func(m *sparse.CSR, i, row, shift int, sign float64) {
		for j, v := range m.Entries(i) {
			entries = append(entries, sparse.Entry{Row: row, Col: shift + j, Val: sign * v})
		}
	}
	for i := range rows {
		add(p.IR.X.E, i, i, 0, 1)
		sides = append(sides, p.IR.X.Rhs[i])
	}
	values, columns := p.linearCoupled()
	for i, row := range p.IR.Coupled {
		if values == nil || row.Degree > 1 {
			continue
		}
		for j, column := range columns {
			if column[i] != 0 {
				entries = append(entries, sparse.Entry{Row: len(rows), Col: j, Val: column[i]})
			}
		}
		rows, sides = append(rows, row), append(sides, -values[i])
	}
	a, b, rhs := p.IR.Own()
	for i, row := range p.IR.Rows {
		add(a, i, len(rows), 0, 1)
		add(b, i, len(rows), dx, -1)
		rows, sides = append(rows, row), append(sides, rhs[i])
	}
	e := p.IR.X.Extended
	n, m := dx+dy+e.Extra(), len(rows)+e.Len()
	q = &qp.Problem{H: qp.Identity(n), C: make([]float64, n), Lo: make([]float64, n), Hi: make([]float64, n),
		B: append(sides, make([]float64, e.Len())...), Equal: make([]bool, m)}
	copy(q.Lo, p.IR.X.Lo)
	copy(q.Hi, p.IR.X.Hi)
	for j := dx; j < n; j++ {
		q.Lo[j], q.Hi[j] = math.Inf(-1), math.Inf(1)
	}
	for i, row := range rows {
		q.Equal[i] = compile.Kind(row) == problem.Equal
	}
	for i := range e.Len() {
		for j, v := range e.E.Entries(i) {
			if j >= dx {
				j += dy
			}
			entries = append(entries, sparse.Entry{Row: len(rows) + i, Col: j, Val: v})
		}
		q.B[len(rows)+i] = e.Rhs[i]
	}
	q.A = sparse.FromEntries(m, n, entries)
	return q, rows
}

// contradiction is qp.Infeasible where linear constraints of both levels and bounds of x contradict each other for every (x, y): no x satisfies them, whatever the follower answers. Where it is qp.Solved a point satisfies them all.
func (p *Problem) contradiction() qp.Status {
	q, _ := p.linearRows()
	return qp.Solve(q, &qp.Workspace{}).Status
}

// infeasible finds constraints of both levels and bounds of x that contradict each other for every (x, y), by a Farkas vector of all that are linear.
// Where there is none, the constraints that read the follower's answer are what no answer meets.
func (p *Problem) infeasible(r *Result) {
	q, rows := p.linearRows()
	solution, e := qp.Solve(q, &qp.Workspace{}), p.IR.X.Extended
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
	ofX, ofCoupled := families(append(slices.Clone(p.IR.X.Rows), p.IR.X.ExtendedRows...)), families(p.IR.Coupled)
	upper, reads := true, false
	for _, row := range conflict {
		upper, reads = upper && ofX[row.Family], reads || ofCoupled[row.Family]
	}
	summary := "no x in the upper level's set leaves the lower level a feasible y"
	switch {
	case len(conflict) == 0 && p.Numeric.Integer != nil:
		span := p.IR.Lower.Span
		if rows := append(slices.Clone(p.IR.X.Rows), p.IR.Coupled...); len(rows) > 0 {
			span = rows[0].Family.Span
		}
		r.Diagnostics.Errorf(diag.RunInfeasible, span, "%s", r.Reason)
		return
	case len(conflict) == 0 && len(p.IR.Coupled) > 0:
		d := r.Diagnostics.Errorf(diag.RunInfeasible, p.IR.Coupled[0].Family.Span, "no x leaves the follower an answer with which the constraints of the upper level hold")
		p.related(d, p.IR.Coupled, "is to hold as well")
		d.Detail = "the follower chooses y, and none of its answers meets what the leader wants"
		return
	case len(conflict) == 0:
		summary = r.Reason // as the solve has it: the linear rows of both levels do not contradict each other
	case upper:
		summary = "the upper level's constraints contradict each other"
	case reads:
		summary = "no x and y satisfy the constraints of both levels"
	}
	var bounds []string
	for _, v := range p.IR.Upper.Vars {
		for k := range v.Shape.Len() {
			if j := v.Offset + k; j < len(solution.FarkasBound) && solution.FarkasBound[j] != 0 && len(conflict) > 0 {
				bounds = append(bounds, "the bounds of "+v.Name)
				break
			}
		}
	}
	p.conflict(r, summary, conflict, bounds)
}

// linearCoupled are the values at 0 of the constraints of the leader that read y, and what they change by along each entry of x and of y; those that are not linear mean nothing. nil where
// they read multipliers, or are not finite at 0, or there are none.
func (p *Problem) linearCoupled() (values []float64, columns [][]float64) {
	n := p.Numeric
	if n.Coupled == nil || len(n.Duals) > 0 || n.Dx+n.Dy > system.Largest {
		return nil, nil
	}
	gx, ga := make([]float64, n.Dx), make([]float64, n.AnswerLen())
	eval := func(dst, z []float64) {
		n.F.ValueGrad(gx, ga, z[:n.Dx], n.Answer(z[n.Dx:], nil))
		copy(dst, n.CoupledPart(ga))
	}
	values, columns, err := problem.Affine(n.Dx+n.Dy, n.Dx+n.Dy, len(n.Coupled.Kind), nil, eval)
	if err != nil {
		return nil, nil
	}
	return values, columns
}

func families(rows []ir.Row) map[*ir.Family]bool {
	out := map[*ir.Family]bool{}
	for _, row := range rows {
		out[row.Family] = true
	}
	return out
}

// related names the places of rows in a diagnostic, but for that of the first.
func (p *Problem) related(d *diag.Diagnostic, rows []ir.Row, message string) {
	seen := map[*ir.Family]bool{rows[0].Family: true}
	for _, row := range rows {
		if !seen[row.Family] {
			d.Related = append(d.Related, diag.Related{Span: row.Family.Span, Message: message})
		}
		seen[row.Family] = true
	}
}

// conflict reports rows, and bounds of variables, that contradict each other: the first row as the subject,
// the other families as related places.
func (p *Problem) conflict(r *Result, summary string, rows []ir.Row, bounds []string) {
	if len(rows) == 0 {
		r.Diagnostics.Errorf(diag.RunInfeasible, p.IR.Lower.Span, "%s", summary)
		return
	}
	d := r.Diagnostics.Errorf(diag.RunInfeasible, rows[0].Family.Span, "%s", summary)
	p.related(d, rows, "contradicts")
	names := each.Of(rows[:min(len(rows), tolerance.MostNamed)], func(row ir.Row) string { return row.Name })
	if names = append(names, bounds...); len(rows) > tolerance.MostNamed {
		names = append(names, fmt.Sprintf("and %d more rows", len(rows)-tolerance.MostNamed))
	}
	said := problem.Contradiction(names)
	d.Detail = said
	if strings.HasSuffix(summary, " contradict each other") {
		said = strings.Join(names, ", ")
	}
	r.Reason = summary + ": " + said
}
