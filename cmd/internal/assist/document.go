// Package assist answers what an editor or a prompt asks about a model while it is
// being written: what a name means, what may follow, what would put an error
// right. It knows texts and offsets in bytes; protocols are for its callers.
//
// A Document is read once and never changed. Whatever the text, reading it gives
// a Document, and every question an answer, which may be that there is none.
package assist

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/runtime"
	"bilevelc/runtime/session"
	"bilevelc/stdlib"
)

// Document is a model's text and what is known of it before its data are.
type Document struct {
	Source      *diag.Source
	File        *lang.File
	Program     *ir.Program
	Names       *lang.Names
	Diagnostics diag.List // of parsing and checking, in order of place
}

// Read parses and checks a text.
func Read(name, text string) *Document {
	d := &Document{Source: diag.NewSource(name, text)}
	var found diag.List
	d.File, d.Diagnostics = parser.ParseFile(d.Source)
	d.Names = lang.NamesOf(d.File, libraryFunction)
	d.Program, found = check.Check(d.File)
	if parser.NoModel(d.Diagnostics) {
		return d
	}
	broken := d.Diagnostics.HasErrors()
	for _, e := range found {
		// What is never used may be used in a line that did not parse.
		if !broken || e.Severity == diag.Error {
			d.Diagnostics.Add(e)
		}
	}
	d.Diagnostics.Sort()
	return d
}

// libraryFunction tells the functions that need no definition in the model.
func libraryFunction(name string) bool { return functionNames()[name] }

var functionNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, f := range stdlib.Functions() {
		names[f.Name] = true
	}
	for _, b := range check.Builtins() {
		names[b.Name] = true
	}
	return names
})

// Bound is what the data add: faults of binding, and what is refuted or cannot be
// proved. It is empty where the model has errors already, and where data that the
// model needs are not at hand. It ends early, with nothing, when ctx does.
func (d *Document) Bound(ctx context.Context, set *data.Set) diag.List {
	if d.Diagnostics.HasErrors() {
		return nil
	}
	model := &runtime.Model{Program: d.Program}
	checked, err := model.Check(d.declared(set), runtime.BindOptions{Seed: 1, Context: ctx, IgnoreUndeclared: true})
	if ctx.Err() != nil {
		return nil
	}
	found, _ := err.(diag.List)
	if err == nil {
		found = checked.Warnings
	}
	var own diag.List
	for _, e := range found {
		if e.Subject.Source == d.Source && e.Code != diag.BindNoParam && e.Code != diag.BindNoData {
			own.Add(e)
		}
	}
	return own
}

// declared keeps the entries that the model declares, so that a file which serves
// several models serves this one.
func (d *Document) declared(set *data.Set) *data.Set {
	if set == nil {
		return &data.Set{}
	}
	return &data.Set{Entries: each.Where(set.Entries, func(e data.Entry) bool {
		return e.Table != nil || d.Names.Lookup(e.Name, lang.ParamName, lang.DataName, lang.SetName) != nil
	})}
}

// Value is the value of an expression over data alone, as text; "" where it has none
// that can be computed from what is at hand.
func (d *Document) Value(expression string, set *data.Set) string {
	if sym := d.Program.Symbols[expression]; sym != nil && sym.Kind != ir.LetSymbol && !d.Diagnostics.HasErrors() {
		// The size of an array that is supplied may say what a param is.
		bound, _ := bind.Bind(d.Program, d.declared(set), bind.Options{Seed: 1, IgnoreUndeclared: true})
		if bound != nil {
			for _, b := range bound.Data {
				if b.Name == expression && b.Texts != nil {
					return short(b.Texts, ", ", lang.Quote)
				}
				if b.Name == expression {
					return shortValue(&runtime.Value{Shape: b.Array.Shape, Data: b.Array.Values()})
				}
			}
		}
	}
	s := &session.Session{Seed: 1}
	if _, err := s.Load(d.Source.Name, d.Source.Text); err != nil {
		return ""
	}
	s.AddData(d.declared(set))
	reply, err := s.Enter("value", expression)
	if err != nil || reply.Value == nil {
		return ""
	}
	return shortValue(reply.Value)
}

// maxShown is how many numbers of an array a value shows.
const maxShown = 12

// short lists the first of some numbers, texts or rows.
func short[T any](list []T, separator string, text func(T) string) string {
	out := each.Of(list[:min(len(list), maxShown)], text)
	if len(list) > maxShown {
		out = append(out, "...")
	}
	return "[" + strings.Join(out, separator) + "]"
}

func shortValue(v *runtime.Value) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', 10, 64) }
	switch len(v.Shape) {
	case 0:
		return number(v.Data[0])
	case 2:
		return short(v.Rows(), ",\n ", func(row []float64) string { return short(row, ", ", number) })
	}
	return short(v.Data, ", ", number)
}
