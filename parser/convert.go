package parser

import (
	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Conversion of the grammar's structs to nodes of package lang. A struct may
// be partial (its statement had an error): parts that are missing become
// lang.Bad, types that are missing become lang.KindBad.

func (s *session) ident(n name) lang.Ident {
	return lang.Ident{At: s.at(n.Pos.Offset, n.Pos.Offset+len(n.Text)), Name: n.Text}
}

// orBad is x, or lang.Bad at the whole statement where x was not read.
func orBad(x lang.Expr, at lang.At) lang.Expr {
	if x == nil {
		return &lang.Bad{At: at}
	}
	return x
}

func (s *session) over(tokens []lexer.Token) lang.At {
	if len(tokens) == 0 {
		return lang.At{}
	}
	return s.at(tokens[0].Pos.Offset, tokenEndOffset(tokens[len(tokens)-1]))
}

var typeKinds = map[string]lang.TypeKind{
	"real": lang.KindReal, "int": lang.KindInt, "vector": lang.KindVector, "matrix": lang.KindMatrix,
	"text": lang.KindText,
}

// dimensions says how many each kind has, with a form for messages.
var dimensions = map[lang.TypeKind]struct {
	count int
	form  string
}{
	lang.KindReal:   {0, "real"},
	lang.KindInt:    {0, "int"},
	lang.KindVector: {1, "vector[n]"},
	lang.KindMatrix: {2, "matrix[m, n]"},
}

// typeExpr converts a written type and checks the number of its dimensions;
// only the types of a function may leave them out.
func (s *session) typeExpr(w writtenType, inFunction bool) lang.TypeExpr {
	if len(w.Tokens) == 0 { // not read to its end
		return lang.TypeExpr{Kind: lang.KindBad}
	}
	if w.Array != nil {
		return lang.TypeExpr{At: s.over(w.Tokens), Kind: lang.KindArray, Dims: w.Array}
	}
	t := lang.TypeExpr{At: s.over(w.Tokens), Kind: typeKinds[w.Word], Dims: w.Dims}
	if t.Kind == lang.KindText {
		if inFunction {
			s.errs.Errorf(diag.WrongDims, t.Place, "texts are data, which functions do not take").Fix = "leave the type out, and compare the texts where the function is called"
			t.Kind = lang.KindBad
		} else if len(t.Dims) == 0 {
			s.errs.Errorf(diag.WrongDims, t.Place, "`text` has no dimension here; its form is `text[row]`").Fix = "write `text[row]`, with the index set of the rows"
			t.Kind = lang.KindBad
		}
		return t
	}
	want := dimensions[t.Kind]
	if len(t.Dims) != want.count && !(inFunction && len(t.Dims) == 0) {
		d := s.errs.Errorf(diag.WrongDims, t.Place, "`%s` has %s; its form is `%s`", t.Kind, countDims(len(t.Dims)), want.form)
		d.Fix = "write `" + want.form + "`"
		t.Kind, t.Dims = lang.KindBad, nil
	}
	return t
}

// signatureType is the type of a function's parameter or result; nil, any
// shape, where it could not be read.
func (s *session) signatureType(w writtenType) *lang.TypeExpr {
	if t := s.typeExpr(w, true); t.Kind != lang.KindBad {
		return &t
	}
	return nil
}

func countDims(n int) string {
	switch n {
	case 0:
		return "no dimension here"
	case 1:
		return "one dimension here"
	}
	return "too many dimensions here"
}

func (s *session) paramNode(c cut) lang.Decl {
	tree, _ := parseCut[paramDecl](s, c)
	if tree.Name.Text == "" {
		return nil
	}
	at := lang.At{Place: s.cutSpan(c)}
	p := &lang.Param{At: at, Name: s.ident(tree.Name), Type: s.typeExpr(tree.Type, false), Default: tree.Default}
	if p.Type.Kind == lang.KindBad { // an int serves wherever a real does
		p.Type.Kind, p.Default = lang.KindInt, &lang.Bad{At: at}
	}
	return p
}

func (s *session) dataNode(c cut) lang.Decl {
	tree, ok := parseCut[dataDecl](s, c)
	if tree.Name.Text == "" {
		return nil
	}
	at := lang.At{Place: s.cutSpan(c)}
	d := &lang.Data{At: at, Name: s.ident(tree.Name), Type: s.typeExpr(tree.Type, false), Value: tree.Value}
	if c := tree.Column; c != nil && len(c.Tokens) > 0 {
		name := s.columnName(*c)
		d.Column = &name
	}
	for _, r := range tree.Columns {
		if len(r.First.Tokens) == 0 {
			continue // not read to its end
		}
		c := lang.ColumnRange{At: s.over(r.Tokens), First: s.columnName(r.First)}
		if r.Last != nil && len(r.Last.Tokens) > 0 {
			last := s.columnName(*r.Last)
			c.Last = &last
		}
		d.Columns = append(d.Columns, c)
	}
	if g := tree.Gen; g != nil && len(g.Tokens) > 0 {
		d.Gen = &lang.Generator{At: s.over(g.Tokens), Name: s.ident(g.Name), Args: g.Args}
	}
	if !ok {
		d.Value, d.Gen = orBad(nil, at), nil
	}
	return d
}

func (s *session) columnName(c columnName) lang.ColumnName {
	t := c.Tokens[0]
	out := lang.ColumnName{At: lang.At{Place: s.tokenSpan(t)}, Name: t.Value}
	if t.Type == tokenText {
		out.Name, out.Quoted = lang.Unquote(t.Value), true
	}
	return out
}

func (s *session) setNode(c cut) lang.Decl {
	tree, _ := parseCut[setDecl](s, c)
	if tree.Name.Text == "" {
		return nil
	}
	d := &lang.IndexSet{At: lang.At{Place: s.cutSpan(c)}, Name: s.ident(tree.Name)}
	for _, n := range tree.Keys {
		if len(n.Tokens) > 0 {
			c := s.columnName(n)
			d.Keys = append(d.Keys, lang.Ident{At: c.At, Name: c.Name})
		}
	}
	for _, n := range tree.Within {
		d.Within = append(d.Within, s.ident(n))
	}
	if tree.Value != nil {
		d.Value = tree.Value.setLiteral()
	}
	return d
}

func (s *session) letNode(c cut) *lang.Let {
	tree, _ := parseCut[letDecl](s, c)
	return s.named(c, tree.Name, tree.Value)
}

// named is a name for an expression; nil where the name is missing.
func (s *session) named(c cut, n name, value lang.Expr) *lang.Let {
	if n.Text == "" {
		return nil
	}
	at := lang.At{Place: s.cutSpan(c)}
	return &lang.Let{At: at, Name: s.ident(n), Value: orBad(value, at)}
}

func (s *session) fnNode(c cut) lang.Decl {
	tree, _ := parseCut[fnDecl](s, c)
	if tree.Name.Text == "" {
		return nil
	}
	at := lang.At{Place: s.cutSpan(c)}
	fn := &lang.Fn{At: at, Name: s.ident(tree.Name), Body: orBad(tree.Body, at)}
	for _, p := range tree.Params {
		if p.Name.Text == "" {
			continue
		}
		param := lang.FnParam{At: s.over(p.Tokens), Name: s.ident(p.Name)}
		if p.Type != nil {
			param.Type = s.signatureType(*p.Type)
		}
		fn.Params = append(fn.Params, param)
	}
	if tree.Result != nil {
		fn.Result = s.signatureType(*tree.Result)
	}
	return fn
}

func (s *session) varNode(c cut) lang.LevelItem {
	tree, _ := parseCut[varDecl](s, c)
	if tree.Name.Text == "" {
		return nil
	}
	v := &lang.Var{At: lang.At{Place: s.cutSpan(c)}, Name: s.ident(tree.Name)}
	s.varType(v, tree)
	if set := tree.Set; set != nil && len(set.Tokens) > 0 {
		v.Set = &lang.Set{At: s.over(set.Tokens), Name: s.ident(set.Name), Args: set.Args}
	}
	return v
}

// varType converts the type and kind of a variable. An int is an integer variable; without a type
// the variable is a scalar.
func (s *session) varType(v *lang.Var, tree *varDecl) {
	kind := tree.Kind
	if kind != nil && len(kind.Tokens) > 0 {
		v.Word = s.over(kind.Tokens).Place
		v.Kind = map[string]lang.VarKind{"integer": lang.IntegerVar, "binary": lang.BinaryVar}[kind.Word]
	}
	if v.Kind != lang.ContinuousVar && len(tree.Type.Tokens) == 0 {
		v.Type = lang.TypeExpr{At: lang.At{Place: v.Word}, Kind: lang.KindReal}
		return
	}
	v.Type = s.typeExpr(tree.Type, false)
	if v.Type.Kind != lang.KindInt {
		return
	}
	v.Type.Kind = lang.KindReal
	if v.Kind == lang.ContinuousVar {
		v.Kind, v.Word = lang.IntegerVar, v.Type.Place
	}
}

func (s *session) objectiveNode(c cut) lang.LevelItem {
	tree, _ := parseCut[objective](s, c)
	at := lang.At{Place: s.cutSpan(c)}
	return &lang.Objective{At: at, Maximize: c.word() == "maximize", Value: orBad(tree.Value, at)}
}

func (s *session) constraintNode(c cut) *lang.Constraint {
	tree, ok := parseCut[constraintLine](s, c)
	if !ok {
		return nil
	}
	con := &lang.Constraint{At: lang.At{Place: s.cutSpan(c)}}
	if tree.Name != nil {
		id := s.ident(*tree.Name)
		con.Name = &id
	}
	if tree.Indices != nil {
		list := tree.Indices.indices()
		con.Binders, con.Cond = list.binders, list.cond
	}
	rel := tree.Relation.relation()
	con.Terms, con.Ops = rel.terms, rel.ops
	return con
}

func (s *session) solveNode(c cut) (lang.SolveItem, bool) {
	tree, ok := parseCut[solveItem](s, c)
	if !ok {
		return lang.SolveItem{}, false
	}
	return lang.SolveItem{
		At: lang.At{Place: s.cutSpan(c)}, Start: tree.Start, Name: s.ident(tree.Name), Value: tree.Value.setting(),
	}, true
}

func (s *session) reportNode(c cut) *lang.Let {
	tree, _ := parseCut[reportItem](s, c)
	return s.named(c, tree.Name, tree.Value)
}

// wholeExpr parses a statement that is one expression.
func (s *session) wholeExpr(c cut) lang.Expr {
	at := lang.At{Place: s.cutSpan(c)}
	if c.empty() {
		s.errs.Errorf(diag.Unexpected, s.tokenSpan(c.stop), "expected an expression, found %s", s.describe(c.stop))
		return &lang.Bad{At: at}
	}
	tree, _ := parseCut[wholeExpr](s, c)
	return orBad(tree.Value, at)
}
