// Package compile makes the numeric problem, as solvers see it, of a bound one: f and g and
// what parts g falls into as compiled functions, in units for y, with rows and facts.
package compile

import (
	"math"
	"slices"
	"sync"

	"bilevelc/autodiff"
	"bilevelc/codegen"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
	"bilevelc/runtime/problem"
)

// Problem hands the compiled f and g and the rows over to the solvers.
func Problem(p *ir.Problem, f, g problem.Function) *problem.Problem {
	out := &problem.Problem{
		Name: p.Name, Dx: p.Upper.Dim, Dy: p.Lower.Dim, F: f, G: g,
		Rows:  &problem.Rows{A: p.A, B: p.B, Rhs: p.Rhs},
		X:     &problem.Set{Lo: p.X.Lo, Hi: p.X.Hi, E: p.X.E, Rhs: p.X.Rhs, Extended: p.X.Extended},
		Start: p.Start, Duals: p.Duals, Blocks: p.Blocks,
		Facts: problem.Facts{
			StrongConvexity: p.Facts.StrongConvexity, Convex: p.Facts.Convex, Smoothness: p.Facts.Smoothness,
			LipschitzF: p.Facts.LipschitzF, SmoothnessF: p.Facts.SmoothnessF,
			QuadraticInY: p.Facts.QuadraticInY, FixedHessian: p.Facts.FixedHessian,
			JointlyQuadratic: p.Facts.JointlyQuadratic,
			EqualityOnly:     true, HessianPattern: p.Facts.HessianPattern,
		},
	}
	if p.Facts.Roots != nil {
		out.Facts.Steep = each.Of(p.Facts.Roots.Steep, func(s ir.Steep) problem.Steep { return problem.Steep(s) })
	}
	out.Facts.ReadsX = make([]bool, out.Dx)
	facts.Reads(p.Graph, p.Lower.Objective, false, out.Facts.ReadsX)
	out.Facts.Free = free(p, out.Facts.ReadsX)
	for _, v := range p.Upper.Vars {
		if !v.Integer {
			continue
		}
		if out.Integer == nil {
			out.Integer = make([]bool, out.Dx)
		}
		for j := range v.Shape.Len() {
			out.Integer[v.Offset+j] = true
		}
	}
	if p.Restated != nil {
		out.Hidden = p.Lower.Dim - p.Restated.Declared
		out.Loose = p.Restated.Loose
	}
	degrees := facts.NewDegrees(p.Graph, expr.DependsX|expr.DependsY)
	out.Facts.Nonquadratic = make([]bool, out.Dx+out.Dy)
	degrees.Nonquadratic(p.Lower.Objective, out.Facts.Nonquadratic[:out.Dx], out.Facts.Nonquadratic[out.Dx:])
	if p.Facts.Convex && !p.Facts.JointlyQuadratic && !(p.Facts.StrongConvexity > 0) {
		out.Facts.Sums, out.Facts.Alone = curvature.Sums(p.Graph, p.Lower.Objective, out.Dx, out.Dy)
	}
	out.Facts.DegreeF = degrees.Of(p.Upper.Objective).Deg
	out.Facts.AffineCoupled = !slices.ContainsFunc(p.Coupled, func(row ir.Row) bool { return row.Degree > 1 })
	out.Rows.Kind, out.Rows.Name = make([]problem.Kind, 0, len(p.Rows)), make([]string, 0, len(p.Rows))
	for _, row := range p.Rows {
		kind := Kind(row)
		out.Rows.Kind = append(out.Rows.Kind, kind)
		out.Rows.Name = append(out.Rows.Name, row.Name)
		if kind == problem.AtMost {
			out.Facts.EqualityOnly = false
		}
	}
	if len(p.Coupled) > 0 {
		out.Coupled = &problem.Coupled{Weight: make([]float64, len(p.Coupled))}
		for _, row := range p.Coupled {
			out.Coupled.Kind = append(out.Coupled.Kind, Kind(row))
			out.Coupled.Name = append(out.Coupled.Name, row.Name)
			out.Facts.DegreeCoupled = append(out.Facts.DegreeCoupled, row.Degree)
		}
	}
	for _, row := range p.X.Rows {
		out.X.Kind = append(out.X.Kind, Kind(row))
		out.X.Name = append(out.X.Name, row.Name)
	}
	for _, ball := range p.X.Balls {
		v := p.Upper.Vars[ball.Var]
		out.X.Balls = append(out.X.Balls, problem.Ball{
			Start: v.Offset, End: v.Offset + v.Shape.Len(), Radius: ball.Radius, Name: v.Name,
		})
	}
	return out
}

// free marks the entries of x that nothing reads, of those that g does not; nil where what binds them is not looked at.
func free(p *ir.Problem, read []bool) []bool {
	if p.X.Extended != nil || len(p.X.Balls) > 0 || len(p.Coupled) > 0 && p.Penalized == nil {
		return nil
	}
	used := slices.Clone(read)
	facts.Reads(p.Graph, p.Upper.Objective, false, used)
	facts.Reads(p.Graph, p.Plain, false, used)
	if t := p.Transformed; t != nil {
		facts.Reads(p.Graph, t.Objective, false, used)
	}
	facts.Reads(p.Graph, p.Penalized, false, used)
	if p.A != nil {
		mark(used, p.A.Col)
	}
	if p.X.E != nil {
		mark(used, p.X.E.Col)
	}
	for j, is := range used {
		used[j] = !is
	}
	return used
}

func mark(used []bool, entries []int) {
	for _, j := range entries {
		used[j] = true
	}
}

// Kind is that of a row.
func Kind(row ir.Row) problem.Kind {
	if row.Equal {
		return problem.Equal
	}
	return problem.AtMost
}

// Objective turns a scalar expression into a compiled function of
// (x, y) with its gradients; in the upper objective multipliers and the weights of
// coupled constraints follow y.
func Objective(p *ir.Problem, root *expr.Node, before *Function) (*Function, error) {
	dy := p.Lower.Dim
	if root != p.Lower.Objective {
		dy += len(p.Duals) + len(p.Coupled)
	}
	return Scalar(p, root, dy, before)
}

// Scalar is Objective where the lower variables in root are dy
// entries. before is another one, of the same operations perhaps, or nil.
func Scalar(p *ir.Problem, root *expr.Node, dy int, before *Function) (_ *Function, err error) {
	defer must.Catch(&err)
	if again, err := before.again(p, root); again != nil || err != nil {
		return again, err
	}
	graph := must.Get(autodiff.Differentiate(p.Graph, root, p.Upper.Dim, dy))
	program := must.Get(codegen.Compile(graph, codegen.Options{}))
	return &Function{Evaluator: program.NewEvaluator(), program: program, graph: graph, root: root, faults: &faults{}}, nil
}

// Function is an evaluator as the solvers' Function. It remembers the first
// point at which a value or a gradient was not finite, so that a failure can be traced to
// the subexpression that made it.
type Function struct {
	*codegen.Evaluator
	program *codegen.Program
	graph   *autodiff.Graph // what it was compiled from, for Update
	root    *expr.Node
	own     *expr.Node // as the model says it, in whose y faults are explained; nil: root
	units   Units
	faults  *faults // shared by clones

	slopes *curvature.Slopes // nil until one is asked for
}

// faults keeps the first point at which a function was not finite.
type faults struct {
	mu   sync.Mutex
	x, y []float64
}

func (c *Function) note(v float64, x, y []float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		c.faults.mu.Lock()
		if c.faults.x == nil {
			c.faults.x, c.faults.y = slices.Clone(x), slices.Clone(y)
		}
		c.faults.mu.Unlock()
	}
	return v
}

// Value implements problem.Function.
func (c *Function) Value(x, y []float64) float64 { return c.note(c.Evaluator.Value(x, y), x, y) }

// ValueGradY implements problem.Function.
func (c *Function) ValueGradY(dst, x, y []float64) float64 {
	v := c.note(c.Evaluator.ValueGradY(dst, x, y), x, y)
	c.noteSlope(dst, x, y)
	return v
}

// ValueGrad implements problem.Function.
func (c *Function) ValueGrad(dstX, dstY, x, y []float64) float64 {
	v := c.note(c.Evaluator.ValueGrad(dstX, dstY, x, y), x, y)
	c.noteSlope(dstX, x, y)
	c.noteSlope(dstY, x, y)
	return v
}

// GradX implements problem.Function.
func (c *Function) GradX(dst, x, y []float64) {
	c.Evaluator.GradX(dst, x, y)
	c.noteSlope(dst, x, y)
}

// SlopeY implements problem.Rounded: by interval arithmetic on the expression that was compiled,
// which shares nothing with the compiled function.
func (c *Function) SlopeY(direction, x, y []float64) (lo, hi float64, ok bool) {
	if c.slopes == nil {
		c.slopes = curvature.NewSlopes(c.graph.Builder(), c.root)
	}
	slope := c.slopes.Along(direction, x, y)
	return slope.Lo, slope.Hi, true
}

// noteSlope notes a gradient that is not finite.
func (c *Function) noteSlope(grad, x, y []float64) {
	s := 0.0
	for _, v := range grad {
		s += v * 0
	}
	c.note(s, x, y)
}

// Program is what an evaluator runs.
func (c *Function) Program() *codegen.Program { return c.program }

// Clone returns an independent evaluator of the same program.
func (c *Function) Clone() problem.Function {
	d := *c
	d.Evaluator, d.slopes = c.Evaluator.Clone(), nil
	return &d
}

// Trace explains the first value or gradient that was not finite, and forgets it;
// nil where all were finite.
func (c *Function) Trace() *expr.Fault {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	if c.faults.x == nil {
		return nil
	}
	x, y := c.faults.x, c.faults.y
	c.faults.x, c.faults.y = nil, nil
	if c.own == nil {
		return c.units.trace(c.root, x, y)
	}
	return c.units.trace(c.own, x, y)
}

// Explain makes faults those of the model's own expression, where the function is of y in
// other units.
func (c *Function) Explain(own *expr.Node, u Units) { c.own, c.units = own, u }

// Apart is Clone with faults of its own.
func (c *Function) Apart() *Function {
	d := *c
	d.Evaluator, d.faults = c.Evaluator.Clone(), &faults{}
	return &d
}

// Probe is Apart for problem.Probe.
func (c *Function) Probe() problem.Function { return c.Apart() }

// again is a compiled function for another expression of the same operations, without
// differentiating it; nil where it is not one, or c is nil.
func (c *Function) again(p *ir.Problem, root *expr.Node) (*Function, error) {
	if c == nil {
		return nil, nil
	}
	counterpart, ok := expr.Correspond(c.root, root)
	if !ok {
		return nil, nil
	}
	graph, ok := c.graph.Rebound(p.Graph, counterpart)
	if !ok {
		return nil, nil
	}
	next := &Function{program: c.program, graph: graph, root: root, faults: &faults{}}
	if numbers := (&expr.Comparison{}); !numbers.Same(c.root, root) {
		var err error
		if next.program, err = codegen.Compile(graph, codegen.Options{}); err != nil {
			return nil, err
		}
	}
	next.Evaluator = next.program.NewEvaluator()
	return next, nil
}

// Specialize takes native code in place of the interpreter, and reports whether it fits.
func (c *Function) Specialize(n *codegen.Native) bool {
	if n == nil || !c.program.Specialize(n) {
		return false
	}
	c.Evaluator = c.program.NewEvaluator()
	return true
}
