package runtime

import (
	"context"
	"fmt"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// Session is a model under construction, one input at a time: declarations
// are added and replaced by name, expressions are evaluated over what is
// there, and the model can be solved whenever it is whole. An input with an
// error changes nothing.
type Session struct {
	Seed uint64

	model *lang.Ident
	decls []lang.Decl
	data  data.Set
	level bool // a level was entered last; bare items go to it
	lower bool // which one
	last  *Result

	pending map[string]bool // errors that wait for another input, as told
}

// Reply is what an input led to.
type Reply struct {
	Incomplete bool     // more lines are needed
	Defined    []string // what was declared, in words: "data c", "lower: objective"
	Value      *Value   // of an expression
	Type       string   // of an expression, in the user's names
	Warnings   diag.List
}

// Enter takes one input: declarations, items of the level entered last, or an
// expression. The error is a diag.List.
func (s *Session) Enter(ctx context.Context, name, text string) (*Reply, error) {
	input, diags := parser.ParseREPL(diag.NewSource(name, text))
	if input.Incomplete {
		return &Reply{Incomplete: true}, nil
	}
	if err := diags.Err(); err != nil {
		return nil, diags
	}
	if input.Expr != nil {
		return s.evaluate(ctx, input.Expr)
	}
	next := s.copy()
	reply := &Reply{}
	if input.Model != nil {
		next.model = input.Model
		reply.Defined = append(reply.Defined, "model "+input.Model.Name)
	}
	for _, d := range input.Decls {
		reply.Defined = append(reply.Defined, next.declare(d))
	}
	for _, item := range input.Items {
		words, err := next.addItem(item)
		if err != nil {
			return nil, err
		}
		reply.Defined = append(reply.Defined, words)
	}
	rejected, pending := next.examine(name)
	if len(rejected) > 0 {
		return nil, rejected
	}
	reply.Warnings = pending
	next.last = nil // what was solved is another model
	*s = next
	return reply, nil
}

// examine checks the model as it stands. Errors in the input of that name
// reject it, but for names that are still to be declared; they, and what the
// input breaks elsewhere, are pending until solving, and told once.
func (s *Session) examine(input string) (rejected, pending diag.List) {
	_, found := check.Partial(s.file())
	found.Sort()
	told := map[string]bool{}
	for _, d := range found {
		if d.Severity != diag.Error {
			continue
		}
		own := d.Subject.Source != nil && d.Subject.Source.Name == input
		if own && d.Code != codeUnknownName && d.Code != codeUnknownFunction {
			rejected = append(rejected, d)
			continue
		}
		key := d.Error()
		told[key] = true
		if !s.pending[key] {
			later := *d
			later.Severity = diag.Warning
			pending = append(pending, &later)
		}
	}
	if len(rejected) == 0 {
		s.pending = told
	}
	return rejected, pending
}

// Codes of names that another input may still declare.
const (
	codeUnknownName     diag.Code = "E0201"
	codeUnknownFunction diag.Code = "E0202"
)

// Load replaces the session's model by a whole one; the data stay.
func (s *Session) Load(name, text string) (*Reply, error) {
	file, diags := parser.ParseFile(diag.NewSource(name, text))
	if diags.HasErrors() {
		return nil, diags
	}
	_, found := check.Partial(file)
	if found.HasErrors() {
		return nil, found
	}
	s.model, s.decls, s.last = file.Model, file.Decls, nil
	reply := &Reply{Warnings: found}
	for _, d := range file.Decls {
		reply.Defined = append(reply.Defined, declWords(d))
	}
	return reply, nil
}

// AddData supplies arrays; later ones of a name replace earlier ones.
func (s *Session) AddData(set *data.Set) {
	for _, e := range set.Entries {
		s.data.Entries = slices.DeleteFunc(s.data.Entries, func(old data.Entry) bool { return old.Name == e.Name })
		s.data.Entries = append(s.data.Entries, e)
	}
	s.last = nil
}

// Text is the model as one source in canonical form.
func (s *Session) Text() string { return lang.Format(s.file()) }

// Names lists what is declared, for completion.
func (s *Session) Names() []string {
	program, _ := check.Partial(s.file())
	return sortedKeys(program.Symbols)
}

// Last is the result of the last Solve of the model as it stands, or nil.
func (s *Session) Last() *Result { return s.last }

// Bind compiles the session's model and binds it to the session's data. Data
// that the model does not declare are left aside.
func (s *Session) Bind(opts BindOptions) (*Problem, error) {
	program, diags := check.Check(s.file())
	if diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	model := &Model{Program: program, Warnings: diags}
	opts.Seed = s.Seed
	return model.BindSet(s.declared(program), opts)
}

// Check proves what it can about the model with the session's data.
func (s *Session) Check() (*Checked, error) {
	program, diags := check.Check(s.file())
	if diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	model := &Model{Program: program, Warnings: diags}
	return model.Check(s.declared(program), BindOptions{Seed: s.Seed})
}

// Incomplete reports whether an input goes on in the next line.
func Incomplete(text string) bool {
	input, _ := parser.ParseREPL(diag.NewSource("input", text))
	return input.Incomplete
}

// Solve solves the model; the result serves later expressions.
func (s *Session) Solve(ctx context.Context, opts Options) (*Result, error) {
	p, err := s.Bind(BindOptions{})
	if err != nil {
		return nil, err
	}
	if opts.Seed == 0 {
		opts.Seed = s.Seed
	}
	r, err := p.Solve(ctx, opts)
	if err != nil {
		return nil, err
	}
	s.last = r
	return r, nil
}

// declared keeps the data that the program declares.
func (s *Session) declared(program *ir.Program) *data.Set {
	set := &data.Set{}
	for _, e := range s.data.Entries {
		if sym := program.Symbols[e.Name]; sym != nil && (sym.Kind == ir.DataSymbol || sym.Kind == ir.ParamSymbol) {
			set.Entries = append(set.Entries, e)
		}
	}
	return set
}

func (s *Session) copy() Session {
	next := *s
	next.decls = slices.Clone(s.decls)
	return next
}

func (s *Session) file() *lang.File {
	name := s.model
	if name == nil {
		name = &lang.Ident{Name: "session"}
	}
	return &lang.File{Source: diag.NewSource("session", ""), Model: name, Decls: s.decls}
}

// declare adds a declaration, or puts it where the one of its name stood.
func (s *Session) declare(d lang.Decl) string {
	if level, ok := d.(*lang.Level); ok {
		s.level, s.lower = true, level.Lower
	}
	key := declKey(d)
	for i, old := range s.decls {
		if declKey(old) == key {
			s.decls[i] = d
			return declWords(d) + " (replaced)"
		}
	}
	s.decls = append(s.decls, d)
	return declWords(d)
}

// declKey is the name under which a declaration replaces another.
func declKey(d lang.Decl) string {
	switch d := d.(type) {
	case *lang.Param:
		return d.Name.Name
	case *lang.Data:
		return d.Name.Name
	case *lang.Let:
		return d.Name.Name
	case *lang.Fn:
		return d.Name.Name
	}
	return declWords(d) // a block: there is one of each
}

func declWords(d lang.Decl) string {
	switch d := d.(type) {
	case *lang.Param:
		return "param " + d.Name.Name
	case *lang.Data:
		return "data " + d.Name.Name
	case *lang.Let:
		return "let " + d.Name.Name
	case *lang.Fn:
		return "fn " + d.Name.Name
	case *lang.Level:
		return d.Word() + " { }"
	case *lang.Solve:
		return "solve { }"
	}
	return "report { }"
}

// addItem adds an item to the level that was entered last; a variable, a let
// or a named constraint replaces the one of its name, an objective the
// objective.
func (s *Session) addItem(item lang.LevelItem) (string, error) {
	if let, ok := item.(*lang.Let); ok && !s.level {
		return s.declare(let), nil
	}
	if !s.level {
		var diags diag.List
		d := diags.Errorf(codeNoLevel, item.Span(), "this belongs into a level, and none has been entered")
		d.Fix = "enter upper { } or lower { } first; what follows goes to the one entered last"
		return "", diags
	}
	i := slices.IndexFunc(s.decls, func(d lang.Decl) bool {
		level, ok := d.(*lang.Level)
		return ok && level.Lower == s.lower
	})
	level := *s.decls[i].(*lang.Level) // a copy: the session changes only if all is well
	level.Items = slices.Clone(level.Items)
	s.decls[i] = &level
	return level.Word() + ": " + putItem(&level, item), nil
}

func putItem(level *lang.Level, item lang.LevelItem) string {
	switch item := item.(type) {
	case *lang.SubjectTo:
		return putConstraints(level, item)
	case *lang.Objective:
		return replaceItem(level, item, "objective", func(old lang.LevelItem) bool {
			_, same := old.(*lang.Objective)
			return same
		})
	case *lang.Var:
		return replaceItem(level, item, "var "+item.Name.Name, func(old lang.LevelItem) bool {
			v, same := old.(*lang.Var)
			return same && v.Name.Name == item.Name.Name
		})
	}
	let := item.(*lang.Let)
	return replaceItem(level, item, "let "+let.Name.Name, func(old lang.LevelItem) bool {
		l, same := old.(*lang.Let)
		return same && l.Name.Name == let.Name.Name
	})
}

func replaceItem(level *lang.Level, item lang.LevelItem, words string, same func(lang.LevelItem) bool) string {
	if i := slices.IndexFunc(level.Items, same); i >= 0 {
		level.Items[i] = item
		return words + " (replaced)"
	}
	level.Items = append(level.Items, item)
	return words
}

// putConstraints adds constraints, replacing those whose names they carry.
func putConstraints(level *lang.Level, added *lang.SubjectTo) string {
	names := map[string]bool{}
	for _, c := range added.Constraints {
		if c.Name != nil {
			names[c.Name.Name] = true
		}
	}
	for i, item := range level.Items {
		old, ok := item.(*lang.SubjectTo)
		if !ok {
			continue
		}
		kept := *old
		kept.Constraints = slices.DeleteFunc(slices.Clone(old.Constraints), func(c *lang.Constraint) bool {
			return c.Name != nil && names[c.Name.Name]
		})
		level.Items[i] = &kept
	}
	level.Items = slices.DeleteFunc(level.Items, func(item lang.LevelItem) bool {
		st, ok := item.(*lang.SubjectTo)
		return ok && len(st.Constraints) == 0
	})
	level.Items = append(level.Items, added)
	return fmt.Sprintf("%d constraint(s)", len(added.Constraints))
}

// codeNoLevel is the code of a level's item outside a level.
const codeNoLevel diag.Code = "E0911"

// evaluate gives the value of an expression: over data alone, or at the last
// solution where it reads variables.
func (s *Session) evaluate(_ context.Context, e lang.Expr) (*Reply, error) {
	program, diags := check.Partial(s.file())
	if diags.HasErrors() {
		return nil, diags
	}
	typ, _, diags := check.Expr(program, e)
	if diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	reads := s.reads(e)
	file := s.file()
	file.Decls = slices.DeleteFunc(slices.Clone(s.decls), func(d lang.Decl) bool {
		switch d := d.(type) {
		case *lang.Report, *lang.Solve:
			return true
		case *lang.Level:
			return !reads[d.Word()]
		}
		return !reads[declKey(d)]
	})
	file.Decls = append(file.Decls, s.substitutes(reads)...)
	at := lang.At{Place: e.Span()}
	file.Decls = append(file.Decls, &lang.Report{At: at, Items: []*lang.Let{
		{At: at, Name: lang.Ident{At: at, Name: answer}, Value: e}}})
	whole, diags := check.Check(file)
	if diags.HasErrors() {
		return nil, diags
	}
	bound, diags := bind.Bind(whole, s.declared(whole), bind.Options{Seed: s.Seed})
	if diags.HasErrors() {
		return nil, diags
	}
	node := bound.Report[0].Node
	var x, y []float64
	if node.Deps != 0 {
		if s.last == nil {
			diags.Errorf(codeNoSolution, e.Span(), "this reads variables, and the model as it stands has not been solved")
			return nil, diags
		}
		x, y = flatten(s.last.Upper.Variables), flatten(s.last.Lower.Variables)
	}
	a, err := expr.Eval(node, x, y)
	if err != nil {
		diags.Errorf(codeNotFinite, e.Span(), "%v", err)
		return nil, diags
	}
	v := valueOf(answer, a)
	return &Reply{Value: &v, Type: typ.String()}, nil
}

// answer names an expression's value.
const answer = "it"

// Codes of expressions that have no value.
const (
	codeNoSolution diag.Code = "E0912"
)

func flatten(vs Values) []float64 {
	var out []float64
	for _, v := range vs {
		out = append(out, v.Data...)
	}
	return out
}

// reads are the names that an expression needs, through everything it is
// defined by; "upper" and "lower" stand for the blocks.
func (s *Session) reads(e lang.Expr) map[string]bool {
	needed := map[string]bool{}
	owner := map[string]lang.Node{}
	for _, d := range s.decls {
		if level, ok := d.(*lang.Level); ok {
			for _, item := range level.Items {
				switch item := item.(type) {
				case *lang.Var:
					owner[item.Name.Name] = level
				case *lang.Let:
					owner[item.Name.Name] = level
				}
			}
			continue
		}
		owner[declKey(d)] = d
	}
	var need func(name string)
	visit := func(e lang.Expr) bool {
		switch e := e.(type) {
		case *lang.Name:
			need(e.Name)
		case *lang.Call:
			need(e.Fn.Name)
		}
		return true
	}
	need = func(name string) {
		at := owner[name]
		if level, ok := at.(*lang.Level); ok {
			name = level.Word()
		}
		if at == nil || needed[name] {
			return
		}
		needed[name] = true
		lang.Inspect(at, visit)
	}
	lang.Walk(e, visit)
	return needed
}

// substitutes are trivial levels in the place of those that an expression
// does not read, so that what it reads can be bound on its own.
func (s *Session) substitutes(reads map[string]bool) []lang.Decl {
	text := ""
	if !reads["upper"] {
		text += "upper {\n var unused_upper: real\n minimize unused_upper^2\n}\n"
	}
	if !reads["lower"] {
		text += "lower {\n var unused_lower: real\n minimize unused_lower^2\n}\n"
	}
	file, _ := parser.ParseFile(diag.NewSource("session", "model session\n"+text))
	return file.Decls
}
