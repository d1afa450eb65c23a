package exchange

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
)

// Names are those of the entries of x and y; rows have theirs in the problem.
type Names struct{ X, Y []string }

// errObjective says that f is none that the formats hold.
var errObjective = errors.New("the upper objective is not quadratic in what it reads")

// FromSystem is the KKT system as a single-level program in the model's units. Columns are x, y, the multiplier of each row
// of the lower level, `dual(row)`, further variables of X, and the slack of each inequality that is not y >= 0 itself, `slack(row)`. Each
// inequality has a set `pair(row)` of its slack and its multiplier, or with limits (nil: without) a binary column `side(row)` and the rows
//
//	slack <= limit side,   dual <= limit (1 - side);
//
// `grad(y)` are the rows of stationarity,
//
//	H y + G x - B'dual = -q,   B y - A x - slack = -b.
//
// The objective is the one that the relaxation of a global search minimizes: f, or what equals it at all feasible points by strong
// duality and is convex in more cases (kkt.Objective). maximize turns it.
func FromSystem(s *kkt.System, names Names, maximize bool, limits *kkt.Limits) (*Program, error) {
	if !s.Objective.Known {
		return nil, errObjective
	}
	w := &systemWriter{s: s, out: &Program{Name: s.P.Name, Maximize: maximize}}
	w.columns(names)
	w.rows(names)
	if limits != nil {
		w.binaries(limits)
	}
	w.objective()
	return w.out, nil
}

type systemWriter struct {
	s     *kkt.System
	out   *Program
	slack []int // of each row of the relaxation, the column of its slack; -1
}

// columns adds x, y, multipliers and further variables, with the relaxation's bounds.
func (w *systemWriter) columns(names Names) {
	s, p := w.s, w.s.P
	name := func(j int) string {
		switch i := j - s.Nx - s.Ny; {
		case j < s.Nx:
			return names.X[j]
		case i < 0:
			return names.Y[j-s.Nx]
		case i < s.M:
			return "dual(" + p.Rows.Name[i] + ")"
		default:
			return fmt.Sprintf("larger[%d]", i-s.M+1)
		}
	}
	for j := range s.N {
		c := Column{Name: name(j), Lo: s.Relaxation.Lo[j] * s.ColScale[j], Hi: s.Relaxation.Hi[j] * s.ColScale[j]}
		c.Integer = j < s.Nx && p.Integer != nil && p.Integer[j]
		w.out.add(c)
	}
}

// rows adds the relaxation's rows, and slacks with the sets of the pairs.
func (w *systemWriter) rows(names Names) {
	s, p, out := w.s, w.s.P, w.out
	r := s.Relaxation
	w.slack = slices.Repeat([]int{-1}, r.A.Rows)
	// A slack row of a bound that is no column by itself: side y - slack = bound.
	type bound struct {
		y     int
		at    float64
		upper bool
		slack int
		name  string
	}
	var bounds []bound
	inf := math.Inf(1)
	for _, pair := range s.Pairs {
		row := p.Rows.Name[pair.Row]
		set := Set{Name: "pair(" + row + ")"}
		switch d := pair.Slack; {
		case d.Row >= 0:
			w.slack[d.Row] = out.add(Column{Name: "slack(" + row + ")", Hi: inf})
			set.Columns = append(set.Columns, w.slack[d.Row])
		case !d.Upper && out.Columns[d.Var].Lo == 0:
			set.Columns = append(set.Columns, d.Var)
		default:
			b := bound{y: d.Var, at: out.Columns[d.Var].Lo, upper: d.Upper, name: row}
			if d.Upper {
				b.at = out.Columns[d.Var].Hi
			}
			b.slack = out.add(Column{Name: "slack(" + row + ")", Hi: inf})
			bounds = append(bounds, b)
			set.Columns = append(set.Columns, b.slack)
		}
		set.Columns = append(set.Columns, pair.Mult.Var)
		out.Sets = append(out.Sets, set)
	}
	out.A = sparse.Empty(len(out.Columns))
	for i := range s.Origin {
		row := Row{Name: w.rowName(i, names), Lo: r.RowLo[i] / s.RowScale[i], Hi: r.RowHi[i] / s.RowScale[i]}
		for j, v := range r.A.Nonzeros(i) {
			out.A.Append(j, v/s.RowScale[i]/s.ColScale[j])
		}
		if k := w.slack[i]; k >= 0 {
			out.A.Append(k, -1)
			row.Hi = row.Lo
		}
		out.A.EndRow()
		out.Rows = append(out.Rows, row)
	}
	for _, b := range bounds {
		out.A.Append(b.y, 1)
		out.A.Append(b.slack, sign(!b.upper))
		out.A.EndRow()
		out.Rows = append(out.Rows, Row{Name: b.name, Lo: b.at, Hi: b.at})
	}
}

// binaries puts a binary column and two rows in the place of each set.
func (w *systemWriter) binaries(limits *kkt.Limits) {
	out := w.out
	for k, set := range out.Sets {
		row := w.s.P.Rows.Name[w.s.Pairs[k].Row]
		side := out.add(Column{Name: "side(" + row + ")", Hi: 1, Integer: true})
		slack, mult := limits.Slack[k], limits.Mult[k]
		for t, name := range [2]string{"slack", "dual"} {
			out.A.Append(set.Columns[t], 1)
			limit, most := -slack, 0.0
			if t == 1 {
				limit, most = mult, mult
			}
			if limit != 0 {
				out.A.Append(side, limit)
			}
			out.A.EndRow()
			out.Rows = append(out.Rows, Row{Name: "limit(" + name + "(" + row + "))", Lo: math.Inf(-1), Hi: most})
		}
	}
	out.A.Cols, out.Sets = len(out.Columns), nil
}

// rowName names row i of the relaxation.
func (w *systemWriter) rowName(i int, names Names) string {
	p, o := w.s.P, w.s.Origin[i]
	switch o.Kind {
	case kkt.Stationarity:
		return "grad(" + names.Y[o.Index] + ")"
	case kkt.LowerRow:
		return p.Rows.Name[o.Index]
	case kkt.UpperRow:
		return p.X.Name[o.Index]
	case kkt.ExtendedRow:
		if name := p.X.Extended.Name[o.Index]; name != "" {
			return name
		}
		return fmt.Sprintf("larger[%d].side[%d]", p.X.Extended.Of[o.Index]+1, o.Index+1)
	}
	return p.Coupled.Name[o.Index]
}

// objective takes the relaxed objective over, in the user's sense.
func (w *systemWriter) objective() {
	out := w.out
	q := w.s.Objective.Relaxed()
	turn := sign(out.Maximize)
	for j, c := range q.Lin {
		out.Cost[j] = turn*c + 0
	}
	out.Const = turn*q.Const + 0
	if q.Hess == nil || q.Hess.NNZ() == 0 {
		return
	}
	out.Q = sparse.Empty(len(out.Columns))
	for i := range out.Columns {
		if i < q.Hess.Rows {
			for j, v := range q.Hess.Nonzeros(i) {
				out.Q.Append(j, turn*v)
			}
		}
		out.Q.EndRow()
	}
	if out.Q.NNZ() == 0 {
		out.Q = nil
	}
	if w.s.Objective.Dual != nil {
		out.Notes = append(out.Notes, "the objective is the model's by strong duality: equal to it wherever the pairs are complementary")
	}
}

// Linear is the bilevel program of a system in the form of MibS, with the names of columns and rows as in FromSystem; or, in words,
// why it has not that form: objectives are linear, and no multiplier is read. Further variables of X are the leader's. Both levels
// minimize, as in the system.
func Linear(s *kkt.System, names Names) (b *Bilevel, why string) {
	q := &s.Objective.Quadratic
	switch {
	case !s.Objective.Known || q.Hess != nil && q.Hess.NNZ() > 0:
		return nil, "the upper objective is not linear"
	case s.H.NNZ()+s.G.NNZ() > 0:
		return nil, "the lower objective is not linear in y alone"
	case len(s.P.Duals) > 0:
		return nil, "the upper level reads multipliers"
	}
	w := &systemWriter{s: s, out: &Program{Name: s.P.Name}}
	w.columns(names)
	all := w.out
	lambda := s.Nx + s.Ny
	at := make([]int, len(all.Columns)) // of a column of the system, that of the program; -1 for multipliers
	p := &Program{Name: s.P.Name, Const: q.Const}
	b = &Bilevel{Program: p}
	for j, c := range all.Columns {
		at[j] = -1
		if j >= lambda && j < lambda+s.M {
			continue
		}
		at[j] = p.add(c)
		p.Cost[at[j]] = q.Lin[j]
		lower := j >= s.Nx && j < lambda
		goal := 0.0
		if lower {
			goal = s.Q[j-s.Nx]
		}
		b.Lower, b.Goal = append(b.Lower, lower), append(b.Goal, goal)
	}
	p.A = sparse.Empty(len(p.Columns))
	r := s.Relaxation
	for i, o := range s.Origin {
		if o.Kind == kkt.Stationarity {
			continue
		}
		for j, v := range r.A.Nonzeros(i) {
			p.A.Append(at[j], v/s.RowScale[i]/s.ColScale[j])
		}
		p.A.EndRow()
		p.Rows = append(p.Rows, Row{Name: w.rowName(i, names), Lo: r.RowLo[i] / s.RowScale[i], Hi: r.RowHi[i] / s.RowScale[i]})
		b.LowerRow = append(b.LowerRow, o.Kind == kkt.LowerRow)
	}
	return b, ""
}
