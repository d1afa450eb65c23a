package check

import (
	"fmt"

	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// errorf reports an error at a place. Inside the body of a user's function
// the place stays in the body and the calls that led there are related;
// inside a library function the user's call is at fault and the library's
// line is related. A place has each error once, however often it is checked.
func (c *checker) errorf(s *scope, code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: diag.Error, Code: code, Subject: at, Summary: fmt.Sprintf(format, args...)}
	for f := s.frame; f != nil; f = f.caller {
		f.failed = true
		name := f.fn.Name.Name
		switch {
		case f.call.IsZero():
			// Checked on its own, not through a call.
		case f.library:
			d.Related = append(d.Related, diag.Related{Span: d.Subject, Message: fmt.Sprintf("inside the library function `%s`", name)})
			d.Summary = fmt.Sprintf("`%s` does not take these arguments: %s", name, d.Summary)
			d.Subject = f.call
		default:
			d.Related = append(d.Related, diag.Related{Span: f.call, Message: fmt.Sprintf("in this call of `%s`", name)})
		}
	}
	c.add(d)
	return d
}

// fault reports a rule that an expression breaks, of whose operands this is left.
func (c *checker) fault(s *scope, f *elab.Fault, operands ...value) value {
	d := c.errorf(s, f.Code, f.At.Span(), "%s", f.Summary)
	d.Detail, d.Fix, d.Related = f.Detail, f.Fix, append(d.Related, f.Related...)
	return unknownOf(operands...)
}

// warnf reports a warning at a place, once.
func (c *checker) warnf(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: diag.Warning, Code: code, Subject: at, Summary: fmt.Sprintf(format, args...)}
	c.add(d)
	return d
}

// add keeps a diagnostic unless its place has one of its code.
func (c *checker) add(d *diag.Diagnostic) {
	key := fmt.Sprintf("%p %d %d %s", d.Subject.Source, d.Subject.Start, d.Subject.End, d.Code)
	if !c.reported[key] {
		c.reported[key] = true
		c.diags.Add(d)
	}
}

// names are those of one kind that were given so far, each where it was first.
type names map[string]lang.Ident

// once enters a name; one that was there is an error, whose text has the name for its %s.
func (c *checker) once(given names, key string, name lang.Ident, code diag.Code, text string) bool {
	first, twice := given[key]
	if twice {
		c.errorf(c.global, code, name.Span(), text, key).Related = []diag.Related{{Span: first.Span(), Message: "the first is here"}}
	} else {
		given[key] = name
	}
	return !twice
}

// maxSuggestions bounds the searches for a near name in one run: each looks
// at every name of the model.
const maxSuggestions = 100

// nearest finds the name that was most likely meant, or "".
func (c *checker) nearest(name string, candidates func() []string) string {
	if c.suggestions++; c.suggestions > maxSuggestions {
		return ""
	}
	return diag.Suggest(name, candidates())
}
