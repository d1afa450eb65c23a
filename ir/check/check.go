// Package check is the static checker: it takes the syntax tree of a model
// and, before any data is read, resolves names, computes symbolic types, and
// proves the structural rules of the language. It reports every error of a
// run, each with a code, a place and, where it can, a fix.
//
// Input: a lang.File, which may hold Bad nodes where the parser recovered.
// Output: an ir.Program and diagnostics. The program of a file without errors
// satisfies the invariants stated at ir.Program; with errors it is as complete
// as it can be and is good for hovering and completion only.
//
// The rules, each in a file of its own:
//
//   - names (names.go): every name is declared once, in any order, and no
//     definition depends on itself;
//   - types and shapes (operators.go, index.go, calls.go, intrinsics.go),
//     over symbolic sizes (poly.go, sizes.go);
//   - levels (levels.go): what may read which variables; sets;
//   - affine (affine.go): constraints are affine in all variables jointly;
//   - smooth (smooth.go): objectives use smooth functions only.
//
// Each expression is visited once and yields a value (value.go): its type,
// what it depends on, its degree and the places that are not smooth. The
// rules then read values. The tree is never changed.
package check

import (
	"context"

	"bilevelc/internal/await"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/stdlib"
)

// Check checks a whole model.
func Check(file *lang.File) (*ir.Program, diag.List) { return check(file, nil, true) }

// CheckContext is Check, given up when ctx ends, at the next name or expression: the
// error is then its cause, and there is no program.
func CheckContext(ctx context.Context, file *lang.File) (p *ir.Program, diags diag.List, err error) {
	err = await.Within(ctx, func(m *await.Meter) { p, diags = check(file, m, true) })
	return p, diags, err
}

// Partial checks declarations as they come in a session: what is not there
// yet (the model's name, a level, an objective) is not an error, and unused
// names are not reported.
func Partial(file *lang.File) (*ir.Program, diag.List) { return check(file, nil, false) }

func check(file *lang.File, m *await.Meter, whole bool) (*ir.Program, diag.List) {
	c := newChecker(file)
	c.meter = m
	c.run(whole)
	return c.program, c.finish()
}

// Expr checks an expression over the names of a program that has been
// checked, as a session's input or a question about a model: its type and
// the variables it depends on. The program is not changed.
func Expr(p *ir.Program, e lang.Expr) (ir.Type, expr.Deps, diag.List) {
	c := newChecker(p.File)
	c.run(false)
	c.diags = nil
	v := c.expr(c.global, e)
	return v.typ, v.deps, c.finish()
}

type checker struct {
	file    *lang.File
	program *ir.Program
	diags   diag.List

	global   *scope
	symbols  map[string]*entry // the model's names
	ordered  []*entry          // in order of declaration
	resolved []*entry          // the chain of symbols under way, for cycles
	reading  int               // how many of them read a multiplier of the constraint at hand

	reported map[string]bool
	spoken   []string // names that a bound reads which an error has left out
	memo     map[string]value
	active   map[*lang.Fn]bool
	failed   map[*lang.Fn]bool // user functions with errors of their own

	atoms   int // numbers the atoms of symbolic sizes
	scopes  int // numbers the scopes
	opaques map[string]*atom
	depth   int // of the expression under way

	meter *await.Meter // of names and expressions

	suggestions int // near names looked for

	lowerBlocks map[*lang.Level]*follower

	bounds    bool   // the bounds of a box are under way: `inf` may stand there
	row       string // what says the bound that is under way as a constraint; "" for none
	reporting bool   // an item of the report is: conditions may read variables
}

func newChecker(file *lang.File) *checker {
	c := &checker{
		file: file,
		program: &ir.Program{
			File:    file,
			Symbols: map[string]*ir.Symbol{},
			Library: map[string]*lang.Fn{},
			Types:   map[lang.Expr]ir.Type{},
		},
		symbols:  map[string]*entry{},
		reported: map[string]bool{},
		memo:     map[string]value{},
		active:   map[*lang.Fn]bool{},
		failed:   map[*lang.Fn]bool{},
		opaques:  map[string]*atom{},

		lowerBlocks: map[*lang.Level]*follower{},
	}
	for _, f := range stdlib.Functions() {
		c.program.Library[f.Name] = f.Decl
	}
	c.global = &scope{}
	return c
}

// run is the whole pass: declare, resolve, then check each part that stands
// on its own.
func (c *checker) run(whole bool) {
	c.followers()
	c.declare()
	c.structure(whole)
	for _, e := range c.ordered {
		if fn, ok := e.symbol.Decl.(*lang.Fn); ok {
			c.function(fn)
		}
	}
	for _, e := range c.ordered {
		c.resolve(e)
	}
	for _, l := range []*ir.LevelDecl{c.program.Upper, c.program.Lower} {
		if l != nil {
			c.level(l)
		}
	}
	c.solve()
	c.report()
	if whole {
		c.unused()
	}
}

func (c *checker) finish() diag.List {
	c.diags.Sort()
	return c.diags
}

// record notes the type of an expression of the model itself; the types of a
// function's body differ from call to call and are not kept.
func (c *checker) record(s *scope, e lang.Expr, t ir.Type) {
	if s.frame == nil {
		c.program.Types[e] = t
	}
}
