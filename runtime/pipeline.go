package runtime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/curvature"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime/compile"
)

// The story of a model. Compile, Bind and Check are all told here, each as far as
// it goes:
//
//	parse    a text is a syntax tree          package parser
//	check    the tree is a program            names, shapes, levels: ir/check
//	bind     with data it is a problem        one graph, rows of numbers: ir/bind
//	simplify g gives way to an h with the same best answers: transformed.go, ir/curvature; equations that nearly depend on others to combinations: combined.go
//	ties     a follower with many best answers takes one of them: ties.go
//	prove    what is true of the problem      smoothness, moduli, ranks: ir/curvature
//	split    followers that do not meet       ir/facts
//	compile  f and g become functions         autodiff, codegen
//
// A step takes what the one before has made, and trusts it; one that reports an
// error is the last. What solvers make of the result is in solve.go.

// checked checks a file of which unread could not be parsed.
func checked(ctx context.Context, file *lang.File, unread diag.List) *Model {
	if parser.NoModel(unread) {
		must.Do(unread)
	}
	program, found, err := check.CheckContext(ctx, file)
	must.Do(err)
	if program.Solve != nil {
		found = append(found, noSettings(program.Solve)...)
	}
	diags := unread
	for _, d := range found {
		// Names and shapes of what parsed are checked even where something did not, so
		// that one run reports every error (the checker skips what is broken). Warnings
		// are then left out: what is never used may be used in a line that is not read.
		if d.Severity == diag.Error || !unread.HasErrors() {
			diags = append(diags, d)
		}
	}
	diags.Sort()
	must.Do(diags.Err())
	return &Model{Program: program, Warnings: diags}
}

// steps takes a checked model on, and collects what is reported on the way.
type steps struct {
	strict bool
	limits curvature.Options // of the proofs; with the context that ends them
	before *Problem          // of the same model, for what has not changed; nil without one
	diags  diag.List
	phases Phases
	watch  stopwatch
}

func begin(opts BindOptions, limits curvature.Options) *steps {
	if limits.Context = opts.Context; limits.Context == nil {
		limits.Context = context.Background()
	}
	return &steps{strict: opts.Strict, limits: limits, watch: stopwatch{last: time.Now()}}
}

// report adds diagnostics; they are the error where one of them is.
func (s *steps) report(found diag.List) error {
	s.diags = append(s.diags, found...)
	if s.diags.HasErrors() {
		s.diags.Sort()
	}
	return s.diags.Err()
}

// bind gives a program its data, and its follower the simplest objective.
func (s *steps) bind(program *ir.Program, set *data.Set, opts bind.Options) (_ *ir.Problem, err error) {
	defer must.Catch(&err)
	bound, found, err := bind.BindContext(s.limits.Context, program, set, opts)
	s.phases.Bind += s.watch.lap()
	must.Do(err)
	must.Do(s.report(found))
	bound = combined(must.Get(s.untransformed(bound)))
	s.phases.Prove += s.watch.lap()
	return bound, nil
}

// ended is the cause of the end of the context, for what is not to begin then.
func (s *steps) ended() error {
	return context.Cause(s.limits.Context)
}

// breakTies replaces the lower objective by one with a single best answer, where
// the model says which it is. With abstract data nothing can be measured, and the
// units are 1.
func (s *steps) breakTies(bound *ir.Problem, abstract bool) (*ir.Problem, *ties, error) {
	rule, tau, err := tiesOf(bound)
	if err != nil || rule == "" {
		return bound, nil, err
	}
	t := &ties{rule: rule, tau: tau, plain: bound, cost: 1, profit: 1, reach: 1, building: &sync.Mutex{}}
	if !abstract {
		if err := t.measure(); err != nil {
			return nil, nil, fmt.Errorf("the regularized follower: %w", err)
		}
	}
	return t.at(tau), t, nil
}

// proven is a bound problem with what is true of it, and as it is solved: in units for y.
type proven struct {
	proof *curvature.Proof
	in    *ir.Problem
	units compile.Units
}

// prove finds what is true of a problem, and notes it there, with the followers
// that it splits into.
func (s *steps) prove(bound *ir.Problem) (_ *proven, err error) {
	defer must.Catch(&err)
	limits := s.limits
	limits.Earlier = s.before.earlier()
	proof := curvature.Prove(bound, limits)
	must.Do(s.ended())
	in, u := compile.InUnits(bound, proof, limits)
	must.Do(s.ended())
	must.Do(s.report(proof.Diagnostics(s.strict)))
	bound.Facts, bound.Blocks = proof.Facts(), facts.Blocks(bound)
	in.Blocks = bound.Blocks
	s.phases.Prove += s.watch.lap()
	return &proven{proof, in, u}, nil
}

// compile makes the functions and matrices that solvers see.
func (s *steps) compile(bound *ir.Problem, known *proven) *Problem {
	before := s.before
	if before == nil {
		before = &Problem{}
	}
	f, g := s.functions(known.in, before)
	f.Explain(objectiveOf(bound), known.units)
	g.Explain(bound.Lower.Objective, known.units)
	numeric := compile.Problem(known.in, f, g)
	s.phases.Compile += s.watch.lap()
	return &Problem{IR: bound, Proof: known.proof, Numeric: numeric, units: known.units, Warnings: s.diags, f: f, g: g, phases: s.phases, shared: &shared{}}
}

// functions compiles both objectives of a bound problem, but for what an earlier one has.
func (s *steps) functions(p *ir.Problem, before *Problem) (f, g *compile.Function) {
	f, err := compile.Objective(p, objectiveOf(p), before.f)
	must.Be(err == nil, "compiling the upper objective: %w", err)
	must.Do(s.ended())
	g, err = compile.Objective(p, p.Lower.Objective, before.g)
	must.Be(err == nil, "compiling the lower objective: %w", err)
	must.Do(s.ended())
	return f, g
}

// objectiveOf is the leader's objective, with weights of the coupled constraints where there are any.
func objectiveOf(p *ir.Problem) *expr.Node {
	if p.Penalized != nil {
		return p.Penalized
	}
	return p.Upper.Objective
}

// finish proves and compiles a bound problem.
func (s *steps) finish(bound *ir.Problem) (_ *Problem, err error) {
	defer must.Catch(&err)
	return s.compile(bound, must.Get(s.prove(bound))), nil
}
