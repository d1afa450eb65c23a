// Package session is a model that is written one input at a time, as at the prompt, in a
// notebook's cells or behind an editor's hints: declarations, data, expressions, solutions.
package session

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime"
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
	last  *runtime.Result
	near  *runtime.Result // on the same model with other numbers; nil: none

	pending map[string]bool // errors that wait for another input, as told
}

// Reply is what an input led to.
type Reply struct {
	Incomplete bool           // more lines are needed
	Defined    []string       // what was declared, in words: "data c", "lower: objective"
	Value      *runtime.Value // of an expression
	Texts      []string       // of one that is texts, each with its place before it; it has no Value
	Type       string         // of an expression, in the user's names
	Warnings   diag.List
}

// Enter takes one input: declarations, items of the level entered last, or an
// expression. A param or data that is declared again without a type keeps its own. The
// error is a diag.List.
func (s *Session) Enter(name, text string) (_ *Reply, err error) {
	defer must.Catch(&err)
	text = s.typed(text)
	input, diags := parser.ParseREPL(diag.NewSource(name, text))
	if input.Incomplete {
		return &Reply{Incomplete: true}, nil
	}
	if err := diags.Err(); err != nil {
		for _, d := range diags { // an assignment to what has another word than let
			for _, old := range s.decls {
				if d.Code == diag.NoStatement && declKey(old) == d.Subject.Text() {
					d.Fix = "write `" + declWords(old) + " = ...`"
				}
			}
		}
		return nil, diags
	}
	if input.Expr != nil {
		return s.withReport().evaluateNames(input.Expr)
	}
	next := s.Copy()
	reply := &Reply{}
	if input.Model != nil {
		next.model = input.Model
		reply.Defined = append(reply.Defined, "model "+input.Model.Name)
	}
	reply.Defined = append(reply.Defined, each.Of(input.Decls, next.declare)...)
	for _, item := range input.Items {
		reply.Defined = append(reply.Defined, must.Get(next.addItem(item)))
	}
	rejected, pending := next.examine(name)
	if len(rejected) > 0 {
		return nil, rejected
	}
	reply.Warnings = pending
	next.changed(s)
	*s = *next
	return reply, nil
}

// examine checks the model as it stands. Errors in the input of that name
// reject it, but for names that are still to be declared; they, and what the
// input breaks elsewhere, are pending until solving, and told once.
func (s *Session) examine(input string) (rejected, pending diag.List) {
	_, found := check.Partial(s.file())
	found.Sort()
	told := map[string]bool{}
	levels := len(s.levels())
	for _, d := range found {
		if d.Severity != diag.Error {
			continue
		}
		own := d.Subject.Source != nil && d.Subject.Source.Name == input
		unknown := d.Code == diag.UnknownName || d.Code == diag.UnknownFunction
		if own && !unknown {
			rejected = append(rejected, d)
			continue
		}
		if unknown && levels < 2 {
			continue // the block that is to come may declare it
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
	s.model, s.decls, s.last, s.near = file.Model, file.Decls, nil, nil
	return &Reply{Warnings: found, Defined: each.Of(file.Decls, declWords)}, nil
}

// AddData supplies arrays; later ones of a name replace earlier ones. It
// returns the names that the model as it stands does not declare as param or
// data: they wait for a declaration.
func (s *Session) AddData(set *data.Set) (waiting []string) {
	program, _ := check.Partial(s.file())
	needed := s.needed(s.levels()...)
	for _, e := range set.Entries {
		if !takes(program, e) {
			waiting = append(waiting, e.Name)
		}
		if e.Table != nil || needed[e.Name] {
			s.last = nil
		}
		s.data.Entries = slices.DeleteFunc(s.data.Entries, func(old data.Entry) bool { return old.Name == e.Name })
		s.data.Entries = append(s.data.Entries, e)
	}
	return waiting
}

// Data are the arrays supplied so far. The caller must not change them.
func (s *Session) Data() *data.Set { return &s.data }

// Text is the model as one source in canonical form.
func (s *Session) Text() string { return lang.Format(s.file()) }

// Names lists what is declared, for completion.
func (s *Session) Names() []string {
	program, _ := check.Partial(s.file())
	return slices.Sorted(maps.Keys(program.Symbols))
}

// Last is the result of the last Solve of the model as it stands, or nil.
func (s *Session) Last() *runtime.Result { return s.last }

// checked is the session's model, checked; what warnings there are were told when the
// inputs were entered.
func (s *Session) checked() (*runtime.Model, error) {
	program, found := check.Check(s.file())
	found.Sort()
	return &runtime.Model{Program: program}, found.Err()
}

// Bind compiles the session's model and binds it to the session's data. Data
// that the model does not declare are left aside.
func (s *Session) Bind(opts runtime.BindOptions) (_ *runtime.Problem, err error) {
	defer must.Catch(&err)
	model := must.Get(s.checked())
	opts.Seed = s.Seed
	return model.BindSet(s.declared(model.Program), opts)
}

// Check proves what it can about the model with the session's data.
func (s *Session) Check() (_ *runtime.Checked, err error) {
	defer must.Catch(&err)
	model := must.Get(s.checked())
	return model.Check(s.declared(model.Program), runtime.BindOptions{Seed: s.Seed})
}

// Incomplete reports whether an input goes on in the next line.
func Incomplete(text string) bool {
	input, _ := parser.ParseREPL(diag.NewSource("input", text))
	return input.Incomplete
}

// BindContext is Bind, given up when ctx ends: the error is then its cause.
func (s *Session) BindContext(ctx context.Context, opts runtime.BindOptions) (*runtime.Problem, error) {
	copied := s.Copy() // what is given up goes on for a while, and the session with it
	opts.Context = ctx
	return await.Do(ctx, func() (*runtime.Problem, error) { return copied.Bind(opts) })
}

// Near is the last result of a model that differs from this one in numbers at most,
// for Options.Near; nil where there is none.
func (s *Session) Near() *runtime.Result { return s.near }

// Solve binds the model and solves it; the result serves later expressions.
func (s *Session) Solve(ctx context.Context, binding runtime.BindOptions, opts runtime.Options) (_ *runtime.Result, _ *runtime.Problem, err error) {
	defer must.Catch(&err)
	p := must.Get(s.BindContext(ctx, binding))
	opts.Seed = cmp.Or(opts.Seed, s.Seed)
	r := must.Get(p.Solve(ctx, opts))
	s.last = r
	if r.HasPoint() {
		s.near = r
	}
	return r, p, nil
}

// takes reports whether a program declares what an entry supplies; a table is
// for its columns to say.
func takes(program *ir.Program, e data.Entry) bool {
	sym := program.Symbols[e.Name]
	return e.Table != nil && e.Array == nil ||
		sym != nil && (sym.Kind == ir.DataSymbol || sym.Kind == ir.ParamSymbol || sym.Kind == ir.SetSymbol)
}

// declared keeps the data that the program declares.
func (s *Session) declared(program *ir.Program) *data.Set {
	return &data.Set{Entries: each.Where(s.data.Entries, func(e data.Entry) bool { return takes(program, e) })}
}

// Copy is the session as it stands: what is done to the one does not change the other.
func (s *Session) Copy() *Session {
	next := *s
	next.decls, next.data.Entries = slices.Clone(s.decls), slices.Clone(s.data.Entries)
	return &next
}

// Same reports that two sessions have the same model and data.
func (s *Session) Same(other *Session) bool {
	return s.Text() == other.Text() && slices.EqualFunc(s.data.Entries, other.data.Entries, func(a, b data.Entry) bool {
		return a.Name == b.Name && a.Origin == b.Origin && a.Array == b.Array && a.Table == b.Table && a.Keyed == b.Keyed &&
			slices.EqualFunc(a.Labels, b.Labels, slices.Equal[[]string])
	})
}

func (s *Session) file() *lang.File {
	return &lang.File{Source: diag.NewSource("session", ""), Model: cmp.Or(s.model, &lang.Ident{Name: "session"}), Decls: s.decls}
}
