package runtime

import (
	"context"
	"errors"
	"io"
	"sync"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
	"bilevelc/lang/diag"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/document"
	"bilevelc/runtime/exchange"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// ExportFormats are the formats of Export, with what each is.
var ExportFormats = [][2]string{
	{"mps", "the KKT system as a single-level program, in free MPS with SOS1 sets"},
	{"lp", "the same in the LP format of CPLEX"},
	{"mibs", "a linear bilevel program for MibS: MPS, and the auxiliary file beside it"},
	{"blv", "of an MPS file with its auxiliary file, the model in the language"},
}

// Export writes the problem for another solver: the follower replaced by its KKT conditions, with a special
// ordered set of type 1 for each pair of a slack and a multiplier, so that a mixed-integer solver finds the global
// optimum without a constant that bounds multipliers. Names are the model's. The error is a diag.List where the model
// is none that the format holds.
func (p *Problem) Export(to io.Writer, format string) error {
	return p.export(to, format, nil)
}

// ExportBinary is Export with a binary column in the place of each set, for solvers that read none: with bounds of each slack and multiplier that are
// derived from the model and hold at all points of the system. The error is a diag.List that names the row where there are none.
func (p *Problem) ExportBinary(ctx context.Context, to io.Writer, format string) error {
	return p.export(to, format, func(s *kkt.System) (*kkt.Limits, *kkt.NoLimit, error) { return s.Limits(ctx) })
}

// limitsOf finds the limits of a system's pairs.
type limitsOf func(*kkt.System) (*kkt.Limits, *kkt.NoLimit, error)

func (p *Problem) export(to io.Writer, format string, limits limitsOf) (err error) {
	defer must.Catch(&err)
	write := map[string]func(io.Writer, *exchange.Program) error{"mps": exchange.WriteMPS, "lp": exchange.WriteLP}[format]
	if write == nil {
		return &UsageError{Err: errors.New("there is no format " + format)}
	}
	return write(to, must.Get(p.singleLevel(limits)))
}

// singleLevel is the KKT system as a program, with sets for the pairs, or with binary columns where there is what finds their limits.
func (p *Problem) singleLevel(find limitsOf) (_ *exchange.Program, err error) {
	defer must.Catch(&err)
	system, names, bound := p.system()
	pairs := "in a set of type 1"
	var limits *kkt.Limits
	if find != nil {
		pairs = "with a binary column, and bounds of both that hold at all points"
		var no *kkt.NoLimit
		limits, no, err = find(system)
		if must.Do(err); no != nil {
			return nil, unlimited(bound, no)
		}
	}
	program, err := exchange.FromSystem(system, names, bound.Upper.Maximize, limits)
	if err != nil {
		return nil, notExported(bound, bound.Upper.Span, err.Error())
	}
	notes := []string{"the KKT conditions of the lower level of " + bound.Name + ", a pair of each slack and its multiplier " + pairs}
	program.Notes = append(notes, program.Notes...)
	return program, nil
}

// system is the KKT system of the problem, in the model's own units and with the follower as it stands, and the names in it; a problem without one ends what asks for it (package must).
func (p *Problem) system() (*kkt.System, exchange.Names, *ir.Problem) {
	bound := p.IR
	if p.ties != nil {
		bound = p.ties.plain
		if p.ties.rule != document.Optimistic {
			must.Do(notExported(bound, bound.Lower.Span, "the follower breaks ties by "+p.ties.rule+", and its KKT conditions allow each of its best answers"))
		}
	}
	numeric := p.plainNumeric(bound)
	if why := kkt.Applies(numeric); why != "" {
		at := bound.Upper.Span
		if !numeric.Facts.JointlyQuadratic {
			at = bound.Lower.Span
		}
		must.Do(notExported(bound, at, why))
	}
	system, err := kkt.New(numeric)
	if err != nil {
		must.Do(notExported(bound, bound.Upper.Span, err.Error()))
	}
	return system, exchange.Names{X: each.Below(numeric.Dx, bound.Upper.EntryName), Y: each.Below(numeric.Dy, bound.Lower.EntryName)}, bound
}

// unlimited says which row keeps pairs from being binary columns.
func unlimited(p *ir.Problem, no *kkt.NoLimit) error {
	row := &p.Rows[no.Row]
	var list diag.List
	d := list.Errorf(diag.RunExport, row.Family.Span, "`%s` cannot be written with binary columns for its pairs: of row %s, %s", p.Name, row.Name, no.Why)
	d.Detail = "Each slack and each multiplier needs a bound. Rows that hold with slack for all x, and bounds of the follower's variables, give them; sets of type 1 need none."
	return list
}

func notExported(p *ir.Problem, at diag.Span, why string) error {
	var list diag.List
	d := list.Errorf(diag.RunExport, at, "`%s` cannot be written as such a program: %s", p.Name, why)
	d.Detail = "A single-level program takes f that is quadratic in all that it reads, g that is in x and y together, and affine constraints; the form of MibS linear objectives."
	return list
}

// plainNumbers guards the graphs of models while functions of them are made for export.
var plainNumbers sync.Mutex

// plainNumeric is a bound problem as solvers see it, in the model's own units and with the follower as it stands.
func (p *Problem) plainNumeric(bound *ir.Problem) *problem.Problem {
	plainNumbers.Lock()
	defer plainNumbers.Unlock()
	if p.ties != nil {
		p.ties.building.Lock()
		defer p.ties.building.Unlock()
	}
	plain := *bound
	plain.A, plain.B, plain.Rhs = bound.Own()
	f, g := begin(BindOptions{}, bindProofs).functions(&plain, &Problem{})
	out := compile.Problem(&plain, f, g)
	out.Facts.JointlyQuadratic = facts.NewDegrees(plain.Graph, expr.DependsX|expr.DependsY).Of(plain.Lower.Objective).Deg <= 2
	out.Blocks = facts.Blocks(&plain)
	return out
}
