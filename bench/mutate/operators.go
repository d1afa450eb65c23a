package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
)

// An edit is one small change of a function's syntax tree, made and taken back
// in place.
type edit struct {
	op     string // what kind of change
	at     ast.Node
	detail string // what it makes of the node, in words
	apply  func()
	undo   func()
}

// negated relations; the boundary (< for <=) is left alone: on floating-point
// numbers it is nearly always the same program.
var negated = map[token.Token]token.Token{
	token.LSS: token.GEQ, token.LEQ: token.GTR, token.GTR: token.LEQ, token.GEQ: token.LSS,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
}

var opposite = map[string]string{"Min": "Max", "Max": "Min", "min": "max", "max": "min"}

// edits lists every change the operators make to a function:
//
//	compare  a relation, or && and ||, turned into its opposite
//	arith    + and -, * and / exchanged
//	sign     a minus left out
//	constant a number, or a named constant of the package or of package tolerance, times 1000 (a whole number: plus 1)
//	minmax   min and max exchanged
//	drop     a statement left out: a call, an assignment in place, an if that guards
func edits(fn *ast.FuncDecl, constants map[string]bool) []edit {
	var out []edit
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if to, ok := negated[n.Op]; ok {
				from := n.Op
				op := "compare"
				if from == token.ADD || from == token.SUB || from == token.MUL || from == token.QUO {
					op = "arith"
				}
				out = append(out, edit{op, n, "with " + to.String(), func() { n.Op = to }, func() { n.Op = from }})
			}
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				out = append(out, edit{"sign", n, "without its minus", func() { n.Op = token.ADD }, func() { n.Op = token.SUB }})
			}
		case *ast.BasicLit:
			if value, changed := otherNumber(n); changed != "" {
				out = append(out, edit{"constant", n, "as " + changed, func() { n.Value = changed }, func() { n.Value = value }})
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && constants[x.Name+"."+n.Sel.Name] {
				from, of := n.Sel.Name, x.Name
				out = append(out, edit{"constant", n, "times 1000", func() { x.Name, n.Sel.Name = "("+of, from+" * 1000)" }, func() { x.Name, n.Sel.Name = of, from }})
			}
			if to := opposite[n.Sel.Name]; to != "" && isName(n.X, "math") {
				from := n.Sel.Name
				out = append(out, edit{"minmax", n, "as " + to, func() { n.Sel.Name = to }, func() { n.Sel.Name = from }})
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && opposite[id.Name] != "" {
				from, to := id.Name, opposite[id.Name]
				out = append(out, edit{"minmax", n, "as " + to, func() { id.Name = to }, func() { id.Name = from }})
			}
		case *ast.Ident:
			if constants[n.Name] {
				from := n.Name
				out = append(out, edit{"constant", n, "times 1000", func() { n.Name = "(" + from + " * 1000)" }, func() { n.Name = from }})
			}
		case *ast.BlockStmt:
			out = append(out, drops(n.List)...)
		case *ast.CaseClause:
			out = append(out, drops(n.Body)...)
		}
		return true
	})
	return out
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// otherNumber is the changed form of a number, "" where it is left alone: 0
// and 1 are mostly indices and starts of loops.
func otherNumber(n *ast.BasicLit) (value, changed string) {
	switch n.Kind {
	case token.FLOAT:
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && f != 0 {
			return n.Value, strconv.FormatFloat(f*1000, 'g', -1, 64)
		}
	case token.INT:
		if k, err := strconv.Atoi(n.Value); err == nil && k >= 2 && k < 100 {
			return n.Value, strconv.Itoa(k + 1)
		}
	}
	return n.Value, ""
}

// drops leaves out one statement of a list at a time.
func drops(list []ast.Stmt) []edit {
	var out []edit
	for i, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue // what it declares is needed
			}
		case *ast.IfStmt:
			if s.Else != nil || s.Init != nil {
				continue
			}
		default:
			continue
		}
		out = append(out, edit{"drop", s, "left out",
			func() { list[i] = &ast.EmptyStmt{Semicolon: s.Pos()} }, func() { list[i] = s }})
	}
	return out
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	star := ""
	if p, ok := t.(*ast.StarExpr); ok {
		t, star = p.X, "*"
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	return fmt.Sprintf("(%s%s).%s", star, t.(*ast.Ident).Name, fn.Name.Name)
}
