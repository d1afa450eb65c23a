package runtime

import (
	"bilevelc/autodiff"
	"bilevelc/codegen"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/runtime/problem"
)

// lowerProblem compiles f and g and hands the rows over: the last step of
// the compiler and the only place where its output meets the solvers.
func lowerProblem(p *ir.Problem) (*problem.Problem, error) {
	f, err := compileFunction(p, p.Upper.Objective)
	if err != nil {
		return nil, err
	}
	g, err := compileFunction(p, p.Lower.Objective)
	if err != nil {
		return nil, err
	}
	out := &problem.Problem{
		Name: p.Name, Dx: p.Upper.Dim, Dy: p.Lower.Dim, F: f, G: g,
		Rows:  &problem.Rows{A: p.A, B: p.B, Rhs: p.Rhs},
		X:     &problem.Set{Lo: p.X.Lo, Hi: p.X.Hi, E: p.X.E, Rhs: p.X.Rhs},
		Start: p.Start,
		Facts: problem.Facts{
			StrongConvexity: p.Facts.StrongConvexity, Smoothness: p.Facts.Smoothness,
			LipschitzF: p.Facts.LipschitzF, SmoothnessF: p.Facts.SmoothnessF,
			QuadraticInY: p.Facts.QuadraticInY, FixedHessian: p.Facts.FixedHessian,
			EqualityOnly: true,
		},
	}
	for _, row := range p.Rows {
		kind := rowKind(row)
		out.Rows.Kind = append(out.Rows.Kind, kind)
		out.Rows.Name = append(out.Rows.Name, row.Name)
		if kind == problem.AtMost {
			out.Facts.EqualityOnly = false
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
	return out, nil
}

func rowKind(row ir.Row) problem.Kind {
	if row.Equal {
		return problem.Equal
	}
	return problem.AtMost
}

// compileFunction turns a scalar expression into a compiled function of
// (x, y) with its gradients.
func compileFunction(p *ir.Problem, root *expr.Node) (problem.Function, error) {
	graph, err := autodiff.Differentiate(p.Graph, root, p.Upper.Dim, p.Lower.Dim)
	if err != nil {
		return nil, err
	}
	program, err := codegen.Compile(graph, codegen.Options{})
	if err != nil {
		return nil, err
	}
	return compiled{program.NewEvaluator()}, nil
}

// compiled is an evaluator as the solvers' Function.
type compiled struct{ *codegen.Evaluator }

// Clone returns an independent evaluator of the same program.
func (c compiled) Clone() problem.Function { return compiled{c.Evaluator.Clone()} }
