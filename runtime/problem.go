package runtime

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/document"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Problem is a model bound to its data and compiled, ready to be evaluated
// and solved. It may be used by several goroutines at a time: each call takes
// evaluators from a pool, and gives what it gives alone.
type Problem struct {
	IR      *ir.Problem      // the bound model
	Proof   *curvature.Proof // what was proved about it
	Numeric *problem.Problem // what the solvers see: its y is that of the model over units
	// Warnings are the diagnostics that did not stop the binding.
	Warnings diag.List

	f, g  *compile.Function
	units compile.Units // of y
	ties  *ties         // nil for a strongly convex follower
	// exact is the problem with the follower as it stands, where its KKT system can be kept (exactly); nil else, and notExact says why. exactTies is the rule that such a
	// problem has.
	exact     *Problem
	notExact  string
	exactTies string
	phases    Phases // before a run
	shared    *shared
	origin    *origin // what Bind was given; nil of problems made otherwise
}

// Units are what y is divided by, entry by entry, for the y of Numeric: powers of two. nil where all are 1.
func (p *Problem) Units() Values {
	if p.units == nil {
		return nil
	}
	return named.Variables(&p.IR.Lower, p.units, 1)
}

func sense(level *ir.Level) (word string, sign float64) { return senseOf(level.Maximize) }

func senseOf(maximize bool) (word string, sign float64) {
	if maximize {
		return "maximize", -1
	}
	return "minimize", 1
}

// describe fills the parts of a result that a point of the hyperobjective
// determines; errorY bounds the error of y there.
func (p *Problem) describe(r *Result, pt *oracle.Point, errorY float64) (err error) {
	defer must.Catch(&err)
	s := pt.Lower
	active, weak := pt.Rows()
	upperSense, upperSign := sense(&p.IR.Upper)
	lowerSense, lowerSign := sense(&p.IR.Lower)
	y := p.units.Leave(s.Y)
	r.Upper = UpperResult{
		Objective: Number(upperSign*pt.F + 0), Sense: upperSense,
		Variables: named.Variables(&p.IR.Upper, pt.X, 1), AtBounds: p.atBounds(pt.X), Free: p.freeEntries(),
	}
	r.Stationarity.GradientError = Number(pt.GradError)
	switch {
	case pt.Grad == nil:
	case math.IsInf(pt.GradError, 1): // the oracle vouches for none of its digits
		r.Stationarity.GradientError = Number(math.NaN())
	default:
		r.Upper.Hypergradient = named.Variables(&p.IR.Upper, pt.Grad, upperSign)
	}
	r.Lower = LowerResult{
		Objective: Number(lowerSign*p.ownValue(s.Value, pt.X, y) + 0), Sense: lowerSense, Status: s.Status.String(), Solver: r.Lower.Solver,
		Curvature:   r.Lower.Curvature,
		Variables:   named.Variables(&p.IR.Lower, y, 1),
		Units:       p.Units(),
		Multipliers: named.Multipliers(p.IR.Rows, p.ownMultipliers(pt.X, y, s.Lambda)),
		Active:      named.RowNames(p.IR.Rows, active), Weak: named.RowNames(p.IR.Rows, weak),
		Dependent:  named.RowNames(p.IR.Rows, p.dependentRows(pt)),
		ErrorBound: Number(errorY),
	}
	if p.equivalent() {
		r.Lower.Equivalent = &Equivalent{Objective: Number(s.Value + 0), Multipliers: named.Multipliers(p.IR.Rows, s.Lambda)}
	}
	h := make([]float64, p.Numeric.Rows.Len())
	p.Numeric.Rows.Residual(h, pt.X, s.Y)
	own := make([]float64, len(h))
	rows, of := p.ownRows(s.Y)
	rows.Residual(own, pt.X, of)
	multiplier, slack := p.margins(s, active, weak, h)
	r.Lower.MinMultiplier, r.Lower.MinSlack = Number(multiplier), Number(slack)
	r.Residuals = Residuals{
		Stationarity: Number(s.Residuals.Stationarity), Primal: Number(s.Residuals.Primal),
		Dual: Number(s.Residuals.Dual), Complementarity: Number(s.Residuals.Complementarity),
		Upper: Number(p.upperViolation(pt.X)), Constraints: named.Residuals(p.IR.Rows, own),
	}
	if note := p.withinTolerance(pt, h); note != "" {
		r.Notes = append(r.Notes, note)
	}
	r.Stationarity.Strict = pt.Strict
	if p.Numeric.Coupled != nil {
		r.Upper.Residuals = named.Families(p.IR.Coupled, pt.Coupled)
	}
	must.Do(p.byFollower(r, pt.X, y))
	r.Report, err = p.report(pt.X, p.Numeric.Answer(y, s.Lambda))
	return err
}

// describeFor is describe, after what the error of the point's answer makes of its hypergradient is added to the error of that.
func (p *Problem) describeFor(ctx context.Context, r *Result, pt *oracle.Point, errorY float64) (err error) {
	defer must.Catch(&err)
	if pt.Grad != nil && !math.IsInf(pt.GradError, 1) {
		pt.GradError += must.Get(oracle.ErrorByAnswer(ctx, p.Numeric, pt, errorY))
	}
	return p.describe(r, pt, errorY)
}

// dependentRows are rows that hold with equality at a point whose normals depend on the others', so that multipliers are not unique: those that the solver met, and where the upper level reads
// multipliers, and no rule of ties says what is open in them, any of those that hold there.
func (p *Problem) dependentRows(pt *oracle.Point) []int {
	s := pt.Lower
	if len(p.IR.Duals) == 0 || p.tieRule() != "" || len(s.Dependent) > 0 {
		return s.Dependent
	}
	active, weak := pt.Rows()
	rows := slices.Concat(active, weak)
	slices.Sort(rows)
	dependent, _ := linalg.Independent(p.Numeric.Rows.B, slices.Compact(rows), func(int) bool { return false })
	slices.Sort(dependent)
	return dependent
}

// withinTolerance names the rows of both levels that hold at a point only within the tolerance of the solvers, or not at all: that are violated by more than the rounding of their terms, with how far.
func (p *Problem) withinTolerance(pt *oracle.Point, h []float64) string {
	x, y := pt.X, pt.Lower.Y
	type short struct {
		name string
		over float64
		part float64 // of the row's terms
	}
	var found []short
	note := func(name string, kind problem.Kind, h, terms float64) {
		if over := kind.Over(h); over > tolerance.Rounded*terms {
			found = append(found, short{name, over, over / terms})
		}
	}
	rows := p.Numeric.Rows
	rounding := p.answerRounding(x, y)
	for i, kind := range rows.Kind {
		opposite := p.IR.Rows[i].Opposite
		crossed := opposite != nil && opposite.By > 0
		if hidden(p.IR.Rows, i) || math.Abs(h[i]) <= rounding[i] && !crossed {
			continue
		}
		terms := rows.A.AddTerms(rows.B.AddTerms(math.Abs(rows.Rhs[i]), i, y), i, x)
		if math.Abs(h[i]) > rounding[i] {
			note(p.IR.Rows[i].Name, kind, h[i], terms)
		}
		if crossed {
			note(opposite.Name, problem.AtMost, opposite.By-opposite.Ratio*h[i], opposite.Ratio*terms)
		}
	}
	for _, c := range p.IR.X.Crossed {
		note("one of the bounds of "+p.IR.Upper.EntryName(c.Index), problem.AtMost, c.By, c.Terms)
	}
	set := p.Numeric.X
	for i, kind := range set.Kind {
		terms := set.E.AddTerms(math.Abs(set.Rhs[i]), i, x)
		name := fmt.Sprintf("row %d of the upper level", i+1)
		if i < len(p.IR.X.Rows) {
			name = p.IR.X.Rows[i].Name
		}
		note(name, kind, set.E.RowDot(i, x)-set.Rhs[i], terms)
	}
	for i, c := range pt.Coupled {
		if kind := p.Numeric.Coupled.Kind[i]; c > 0 || kind == problem.Equal && c != 0 {
			note(p.Numeric.Coupled.Name[i], kind, c, p.termsOfCoupled(i, c, pt))
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.SortStableFunc(found, func(a, b short) int { return cmp.Compare(b.part, a.part) })
	text := diag.Join(found[:min(len(found), tolerance.MostNamed)], ", ", func(s short) string {
		return fmt.Sprintf("%s by %s (%s of its terms)", s.name, Number(s.over).Brief(), Number(s.part).Brief())
	})
	if more := len(found) - tolerance.MostNamed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	if found[0].part > tolerance.Target {
		return "not all constraints hold at this point: " + text
	}
	return "held within the tolerance of the solvers only: " + text
}

// answerRounding is what rounding of a follower's answer leaves of each row: elimination brings to an entry of y that of the longest one of its block, as far as the entry itself may be from 0 by its rows.
// Where all terms of a row are such rounding they are no size to compare its residual with.
func (p *Problem) answerRounding(x, y []float64) []float64 {
	rows, blocks := p.Numeric.Rows, p.Numeric.Blocks
	longest, far, largest := make([]float64, len(y)), make([]float64, len(y)), linalg.NormInf(y)
	for j := range longest {
		longest[j], far[j] = largest, math.Abs(y[j])
	}
	for _, block := range blocks {
		most := each.Largest(block, func(j int) float64 { return math.Abs(y[j]) })
		for _, j := range block {
			longest[j] = most
		}
	}
	for i := range rows.Kind {
		terms := rows.A.AddTerms(math.Abs(rows.Rhs[i]), i, x)
		cols, vals := rows.B.Row(i)
		for t, j := range cols {
			terms += math.Abs(vals[t] * y[j])
		}
		for t, j := range cols {
			if vals[t] != 0 {
				far[j] = math.Max(far[j], terms/math.Abs(vals[t]))
			}
		}
	}
	out := make([]float64, len(rows.Kind))
	for i := range out {
		for j, v := range rows.B.Entries(i) {
			out[i] = math.Max(out[i], tolerance.Eliminated*math.Abs(v)*math.Min(longest[j], far[j]))
		}
	}
	return out
}

// termsOfCoupled is the size of the terms of a constraint with the value c that reads the follower: that, and what its slopes make of the entries of a point.
func (p *Problem) termsOfCoupled(i int, c float64, pt *oracle.Point) float64 {
	n := p.Numeric
	weights := make([]float64, len(n.Coupled.Kind))
	slopes := func() []float64 {
		gx, ga := make([]float64, n.Dx), make([]float64, n.AnswerLen())
		n.F.ValueGrad(gx, ga, pt.X, n.Signed(weights).Answer(pt.Lower.Y, pt.Lower.Lambda))
		return append(gx, ga[:n.Dy+len(n.Duals)]...)
	}
	without := slopes()
	weights[i] = 1
	return math.Abs(c) + sizeOfTerms(linalg.Minus(slopes(), without), slices.Concat(pt.X, n.Answer(pt.Lower.Y, pt.Lower.Lambda)))
}

// byFollower gives each follower that has a name its part of the result.
func (p *Problem) byFollower(r *Result, x, y []float64) error {
	for _, f := range p.IR.Followers {
		word, _ := senseOf(f.Maximize)
		out := FollowerResult{Name: f.Name, Sense: word}
		a, err := expr.Eval(f.Objective.Node, x, y)
		if err != nil {
			return fmt.Errorf("the objective of %s: %w", f.Name, err)
		}
		out.Objective = Values{document.NewValue(f.Name, a, f.Objective.Axes)}
		for _, name := range f.Vars {
			if v, ok := r.Lower.Variables.Get(name); ok {
				out.Variables = append(out.Variables, v)
			}
		}
		for _, family := range f.Families {
			if v, ok := r.Lower.Multipliers.Get(family.Name); ok {
				out.Multipliers = append(out.Multipliers, v)
			}
		}
		r.Lower.Followers = append(r.Lower.Followers, out)
	}
	return nil
}

// atBounds names the entries of x at a bound of X, to a few roundings of their
// interval.
func (p *Problem) atBounds(x []float64) []string {
	var names []string
	for j, v := range x {
		lo, hi := p.Numeric.X.Lo[j], p.Numeric.X.Hi[j]
		near := func(bound float64) bool {
			size := math.Max(math.Abs(bound), math.Abs(v))
			if width := hi - lo; !math.IsInf(width, 0) {
				size = math.Max(size, width)
			}
			return math.Abs(v-bound) <= tolerance.Rounded*size
		}
		switch {
		case lo == hi:
			names = append(names, p.IR.Upper.EntryName(j)+" fixed")
		case !math.IsInf(lo, 0) && near(lo):
			names = append(names, p.IR.Upper.EntryName(j)+" lower")
		case !math.IsInf(hi, 0) && near(hi):
			names = append(names, p.IR.Upper.EntryName(j)+" upper")
		}
	}
	return names
}

// upperViolation is how far x is outside X, in the max norm over its bounds,
// rows and balls.
func (p *Problem) upperViolation(x []float64) float64 {
	set := p.Numeric.X
	worst := each.LargestBelow(len(x), func(j int) float64 { return math.Max(set.Lo[j]-x[j], x[j]-set.Hi[j]) })
	worst = math.Max(worst, each.LargestBelow(len(set.Kind), func(i int) float64 { return set.Kind[i].Over(set.E.RowDot(i, x) - set.Rhs[i]) }))
	set.Extended.Each(x, func(int) float64 { return 0 }, func(_ int, excess, _ float64) { worst = math.Max(worst, excess) })
	return math.Max(worst, each.Largest(set.Balls, func(ball problem.Ball) float64 { return ball.Distance(x) - ball.Radius }))
}

// report evaluates the model's report at a point; y is the follower's answer as
// the upper objective reads it.
func (p *Problem) report(x, y []float64) (Values, error) {
	var out Values
	for _, item := range p.IR.Report {
		a, err := expr.Eval(item.Node, x, y)
		if err != nil {
			return nil, fmt.Errorf("report %s: %w", item.Name, err)
		}
		out = append(out, document.NewValue(item.Name, a, item.Axes))
	}
	return out, nil
}

// upperPoint reads the upper variables by name into x; what is wrong with them is a *UsageError of a point.
func (p *Problem) upperPoint(at Values) (_ []float64, err error) {
	defer func() {
		if err != nil {
			err = &UsageError{Err: err, Point: true}
		}
	}()
	defer must.Catch(&err)
	x := make([]float64, p.IR.Upper.Dim)
	given := map[string]bool{}
	for _, v := range at {
		decl := named.Find(&p.IR.Upper, v.Name)
		if decl == nil {
			must.Be(named.Find(&p.IR.Lower, v.Name) == nil, "%s is a variable of the lower level, which follows from the upper one", v.Name)
			names := each.Of(p.IR.Upper.Vars, func(v ir.Variable) string { return v.Name })
			return nil, fmt.Errorf("the upper level has no variable %s%s", v.Name, diag.DidYouMean(v.Name, names))
		}
		must.Be(!given[v.Name], "%s is given twice", v.Name)
		given[v.Name] = true
		v := must.Get(v.Fit(decl.Shape.Dims(), decl.Axes))
		for k, f := range v.Data {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return nil, fmt.Errorf("%s is %v", EntryName(v, k), f)
			}
			if decl.Integer && f != math.Trunc(f) {
				return nil, fmt.Errorf("%s is %v, but %s takes whole numbers only", EntryName(v, k), f, decl.Name)
			}
			x[decl.Offset+k] = f
		}
	}
	for _, decl := range p.IR.Upper.Vars {
		must.Be(given[decl.Name], "the upper variable %s is missing", decl.Name)
	}
	return x, nil
}
