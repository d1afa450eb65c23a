package runtime

import (
	"math"
	"slices"
	"sync"

	"bilevelc/autodiff"
	"bilevelc/codegen"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
	"bilevelc/runtime/problem"
)

// numericProblem hands the compiled f and g and the rows over to the solvers.
func numericProblem(p *ir.Problem, f, g problem.Function) *problem.Problem {
	out := &problem.Problem{
		Name: p.Name, Dx: p.Upper.Dim, Dy: p.Lower.Dim, F: f, G: g,
		Rows:  &problem.Rows{A: p.A, B: p.B, Rhs: p.Rhs},
		X:     &problem.Set{Lo: p.X.Lo, Hi: p.X.Hi, E: p.X.E, Rhs: p.X.Rhs, Extended: p.X.Extended},
		Start: p.Start, Duals: p.Duals,
		Facts: problem.Facts{
			StrongConvexity: p.Facts.StrongConvexity, Convex: p.Facts.Convex, Smoothness: p.Facts.Smoothness,
			LipschitzF: p.Facts.LipschitzF, SmoothnessF: p.Facts.SmoothnessF,
			QuadraticInY: p.Facts.QuadraticInY, FixedHessian: p.Facts.FixedHessian,
			JointlyQuadratic: p.Facts.JointlyQuadratic,
			EqualityOnly:     true, HessianPattern: p.Facts.HessianPattern,
		},
	}
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
	degrees := facts.NewDegrees(p.Graph, expr.DependsX|expr.DependsY)
	out.Facts.DegreeF = degrees.Of(p.Upper.Objective).Deg
	// Penalized is f + w'c with further variables w: of degree two or less only where c is affine.
	out.Facts.AffineCoupled = p.Penalized == nil || degrees.Of(p.Penalized).Deg <= 2
	for _, row := range p.Rows {
		kind := rowKind(row)
		out.Rows.Kind = append(out.Rows.Kind, kind)
		out.Rows.Name = append(out.Rows.Name, row.Name)
		if kind == problem.AtMost {
			out.Facts.EqualityOnly = false
		}
	}
	if len(p.Coupled) > 0 {
		out.Coupled = &problem.Coupled{Weight: make([]float64, len(p.Coupled))}
		for _, row := range p.Coupled {
			out.Coupled.Kind = append(out.Coupled.Kind, rowKind(row))
			out.Coupled.Name = append(out.Coupled.Name, row.Name)
			out.Facts.DegreeCoupled = append(out.Facts.DegreeCoupled, row.Degree)
		}
	}
	for _, row := range p.X.Rows {
		out.X.Kind = append(out.X.Kind, rowKind(row))
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

func rowKind(row ir.Row) problem.Kind {
	if row.Equal {
		return problem.Equal
	}
	return problem.AtMost
}

// compileFunction turns a scalar expression into a compiled function of
// (x, y) with its gradients; in the upper objective multipliers and the weights of
// coupled constraints follow y.
func compileFunction(p *ir.Problem, root *expr.Node, before *compiled) (*compiled, error) {
	dy := p.Lower.Dim
	if root != p.Lower.Objective {
		dy += len(p.Duals) + len(p.Coupled)
	}
	return compileObjective(p, root, dy, before)
}

// compileObjective is compileFunction where the lower variables in root are dy
// entries. before is another one, of the same operations perhaps, or nil.
func compileObjective(p *ir.Problem, root *expr.Node, dy int, before *compiled) (*compiled, error) {
	if again, err := before.again(p, root); again != nil || err != nil {
		return again, err
	}
	graph, err := autodiff.Differentiate(p.Graph, root, p.Upper.Dim, dy)
	if err != nil {
		return nil, err
	}
	program, err := codegen.Compile(graph, codegen.Options{})
	if err != nil {
		return nil, err
	}
	return &compiled{Evaluator: program.NewEvaluator(), program: program, graph: graph, root: root, faults: &faults{}}, nil
}

// compiled is an evaluator as the solvers' Function. It remembers the first
// point at which a value or a gradient was not finite, so that a failure can be traced to
// the subexpression that made it.
type compiled struct {
	*codegen.Evaluator
	program *codegen.Program
	graph   *autodiff.Graph // what it was compiled from, for Update
	root    *expr.Node
	own     *expr.Node // as the model says it, in whose y faults are explained; nil: root
	units   units
	faults  *faults // shared by clones

	slopes *curvature.Slopes // nil until one is asked for
}

// faults keeps the first point at which a function was not finite.
type faults struct {
	mu   sync.Mutex
	x, y []float64
}

func (c *compiled) note(v float64, x, y []float64) float64 {
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
func (c *compiled) Value(x, y []float64) float64 { return c.note(c.Evaluator.Value(x, y), x, y) }

// ValueGradY implements problem.Function.
func (c *compiled) ValueGradY(dst, x, y []float64) float64 {
	return c.note(c.Evaluator.ValueGradY(dst, x, y), x, y)
}

// ValueGrad implements problem.Function.
func (c *compiled) ValueGrad(dstX, dstY, x, y []float64) float64 {
	v := c.note(c.Evaluator.ValueGrad(dstX, dstY, x, y), x, y)
	c.noteSlope(dstX, x, y)
	c.noteSlope(dstY, x, y)
	return v
}

// GradX implements problem.Function.
func (c *compiled) GradX(dst, x, y []float64) {
	c.Evaluator.GradX(dst, x, y)
	c.noteSlope(dst, x, y)
}

// SlopeY implements problem.Rounded: by interval arithmetic on the expression that was compiled,
// which shares nothing with the compiled function.
func (c *compiled) SlopeY(direction, x, y []float64) (lo, hi float64, ok bool) {
	if c.slopes == nil {
		c.slopes = curvature.NewSlopes(c.graph.Builder(), c.root)
	}
	slope := c.slopes.Along(direction, x, y)
	return slope.Lo, slope.Hi, true
}

// noteSlope notes a gradient that is not finite.
func (c *compiled) noteSlope(grad, x, y []float64) {
	s := 0.0
	for _, v := range grad {
		s += v * 0
	}
	c.note(s, x, y)
}

// Clone returns an independent evaluator of the same program.
func (c *compiled) Clone() problem.Function {
	d := *c
	d.Evaluator, d.slopes = c.Evaluator.Clone(), nil
	return &d
}

// trace explains the first value or gradient that was not finite, and forgets it;
// nil where all were finite.
func (c *compiled) trace() *expr.Fault {
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

// explains makes faults those of the model's own expression, where the function is of y in
// other units.
func (c *compiled) explains(own *expr.Node, u units) { c.own, c.units = own, u }
