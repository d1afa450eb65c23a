package session

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// AnswerWords are the words by which a session's expressions read the last solution, besides
// its variables and lets, each with what it gives, for help and completion: F and g, the
// objectives in the user's sense; residual(row), what a constraint misses (positive is
// violated); grad(x), the hypergradient of F with respect to an upper variable; and dual(row),
// of upper constraints too. Names that the model declares go first.
func AnswerWords() [][2]string {
	return [][2]string{
		{"F", "the upper objective at the last solution"},
		{"g", "the lower objective at the last solution"},
		{"dual(row)", "multipliers of a constraint at the last solution"},
		{"residual(row)", "left minus right side of a constraint at the last solution; positive is violated"},
		{"grad(x)", "hypergradient of F with respect to an upper variable; `grad F` gives all of them"},
	}
}

// answerNames tell which names an expression may read the last solution by.
type answerNames struct {
	declared, lowerRow map[string]bool
}

func (s *Session) answerNames() answerNames {
	n := answerNames{map[string]bool{}, map[string]bool{}}
	for _, d := range lang.Declared(s.decls) {
		n.declared[d.Name.Name] = n.declared[d.Name.Name] || d.IsValue()
		n.lowerRow[d.Name.Name] = n.lowerRow[d.Name.Name] || d.Kind == lang.ConstraintName && d.Level.Lower
	}
	return n
}

// word is the name that a call of an answer word has as its argument.
func (n answerNames) word(x lang.Expr) (call *lang.Call, name string, ok bool) {
	call, ok = x.(*lang.Call)
	if !ok || n.declared[call.Fn.Name] {
		return nil, "", false
	}
	name, ok = argumentName(call)
	switch call.Fn.Name {
	case "residual", "grad":
		return call, name, ok
	case "dual":
		return call, name, ok && !n.lowerRow[name] // the language's own
	}
	return nil, "", false
}

// inSolution is what an answer word gives by the name of its argument, and what it gives in words.
func inSolution(r *runtime.Result, word, name string) (v runtime.Value, what string, found bool, among []runtime.Values) {
	among = []runtime.Values{r.Residuals.Constraints, r.Upper.Residuals}
	what = "residual of"
	switch word {
	case "grad":
		what, among = "hypergradient with respect to", []runtime.Values{r.Upper.Hypergradient}
	case "dual":
		what, among = "multiplier of", []runtime.Values{r.Lower.Multipliers, r.Upper.Multipliers}
	}
	for _, vs := range among {
		if !found {
			v, found = vs.Get(name)
		}
	}
	return v, what + " `" + name + "`", found, among
}

// labelled is what an expression gives that is an answer word alone, where that has labels.
func (s *Session) labelled(e lang.Expr) (v runtime.Value, ok bool) {
	call, name, ok := s.answerNames().word(elab.Bare(e))
	if !ok || s.last == nil {
		return v, false
	}
	v, _, found, _ := inSolution(s.last, call.Fn.Name, name)
	return v, found && v.Axes != nil
}

// answered puts numbers of the last solution into an expression.
func (s *Session) answered(e lang.Expr) (lang.Expr, diag.List) {
	var diags diag.List
	names := s.answerNames()
	solution := func(at lang.Node, what string) *runtime.Result {
		if s.last == nil {
			diags.Errorf(diag.SessionNoSolution, at.Span(), "%s is of a solution, and the model as it stands has not been solved", what)
		}
		return s.last
	}
	give := func(at lang.Node, what string, v runtime.Value, found bool, names string) lang.Expr {
		if !found {
			diags.Errorf(diag.UnknownName, at.Span(), "the last solution has no %s", what).Detail = names
			return &lang.Bad{At: lang.At{Place: at.Span()}}
		}
		x, err := literal(lang.At{Place: at.Span()}, v)
		if err != nil {
			diags.Errorf(diag.RunNotFinite, at.Span(), "%s: %v", what, err)
			return &lang.Bad{At: lang.At{Place: at.Span()}}
		}
		return x
	}
	out := lang.Rewrite(e, nil, func(x lang.Expr, in *lang.Scope) lang.Expr {
		switch x := x.(type) {
		case *lang.Name:
			if in.Find(x.Name) != nil || names.declared[x.Name] || x.Name != "F" && x.Name != "g" {
				return nil
			}
			r := solution(x, x.Name)
			if r == nil {
				return &lang.Bad{At: x.At}
			}
			v := r.Upper.Objective
			if x.Name == "g" {
				v = r.Lower.Objective
			}
			return give(x, x.Name, runtime.Value{Data: []float64{float64(v)}}, true, "")
		case *lang.Index: // an entry by its labels, of what has some
			v, ok := s.labelled(x.X)
			if !ok {
				return nil
			}
			labels := each.Of(x.Subs, func(sub lang.Subscript) string { return lang.LabelOf(elab.Bare(sub.Lo)) })
			f, found := v.At(labels...)
			if !found {
				d := diags.Errorf(diag.UnknownName, x.Span(), "the last solution has no `%s`", elab.Quote(x))
				d.Detail = "entries of what has labels go by these, written out"
				return &lang.Bad{At: x.At}
			}
			return give(x, elab.Quote(x), runtime.Value{Data: []float64{f}}, true, "")
		case *lang.Call:
			call, name, ok := names.word(x)
			if !ok {
				return nil
			}
			r := solution(x, call.Fn.Name+"("+name+")")
			if r == nil {
				return &lang.Bad{At: x.At}
			}
			v, what, found, among := inSolution(r, call.Fn.Name, name)
			return give(x, what, v, found, has(among...))
		}
		return nil
	})
	return out, diags
}

// argumentName is the one argument of a call, where it is a name.
func argumentName(x *lang.Call) (string, bool) {
	if len(x.Args) == 1 {
		if n, ok := x.Args[0].(*lang.Name); ok {
			return n.Name, true
		}
	}
	return "", false
}

// has says what a result has values of, where that is not what was asked for.
func has(lists ...runtime.Values) string {
	names := each.Of(slices.Concat(lists...), func(v runtime.Value) string { return v.Name })
	if len(names) == 0 {
		return "it has none"
	}
	return "it has those of " + strings.Join(names, ", ")
}

// literal writes a value as the language does.
func literal(at lang.At, v runtime.Value) (_ lang.Expr, err error) {
	defer must.Catch(&err)
	must.Be(len(v.Shape) <= 2, "an array of more than two dimensions cannot be written as a list")
	one := func(f float64) lang.Expr {
		must.Be(!math.IsNaN(f) && !math.IsInf(f, 0), "it is %v", f)
		var x lang.Expr = &lang.Number{At: at, Text: strconv.FormatFloat(math.Abs(f), 'g', -1, 64), Value: math.Abs(f)}
		if f < 0 {
			x = &lang.Unary{At: at, Op: lang.Neg, X: x}
		}
		return x
	}
	row := func(data []float64) lang.Expr { return &lang.ListLit{At: at, Elems: each.Of(data, one)} }
	switch len(v.Shape) {
	case 0:
		return one(v.Data[0]), nil
	case 1:
		return row(v.Data), nil
	}
	return &lang.ListLit{At: at, Elems: each.Of(v.Rows(), row)}, nil
}

// changed keeps what was solved where the levels, and all they read, are as they
// were before; where only numbers have changed it stays as what to start near.
func (s *Session) changed(before *Session) {
	now, old := s.core(false), before.core(false)
	if now != old {
		s.last = nil
	}
	if now != old && s.core(true) != before.core(true) {
		s.near = nil
	}
}

// core is the text of the levels and what they need; without numbers, param and data
// stand by name and type alone.
func (s *Session) core(withoutNumbers bool) string {
	needed := s.needed(s.levels()...)
	file := s.file()
	file.Decls = nil
	for _, d := range s.decls {
		if _, level := d.(*lang.Level); !level && !needed[declKey(d)] {
			continue
		}
		if withoutNumbers {
			switch old := d.(type) {
			case *lang.Param:
				p := *old
				p.Default = nil
				d = &p
			case *lang.Data:
				p := *old
				p.Value, p.Gen = nil, nil
				d = &p
			}
		}
		file.Decls = append(file.Decls, d)
	}
	return lang.Format(file)
}
